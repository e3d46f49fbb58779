"""UTKFace: what a face's file is called says its age, gender and race."""

from __future__ import annotations

import re
from pathlib import Path

from backend.benchmarks.base import Data, Item, Loaded, Pictures, Task, chosen, folder_of
from backend.records import clean_text
from backend.spec import SpecError

LAYOUT = "a folder of UTKFace's files, AGE_GENDER_RACE_DATE.jpg (https://susanqq.github.io/UTKFace)"
KEYS = {}
GENDERS, RACES = ("Male", "Female"), ("White", "Black", "Asian", "Indian", "Others")
AGES = ((20, "Child"), (40, "Young"), (60, "Middle-Aged"), (200, "Senior"))
"""The first age above each bin: 20 is Young. Source: Mapping Bias, section 3.1.3 (0-20, 20-40, 40-60, 60-)."""
OLDEST = 116
"""Ages are from 0 to 116, as the data set's page says."""
_NAME = re.compile(r"(\d{1,4})_(\d{1,3})_(\d{1,3})_\d+\.")


def read_name(name: str) -> dict[str, str] | str:
    """Age, gender and race of a file by its name; why it has none, as a text, where it breaks the convention.

    >>> read_name("26_1_2_20170104023102422.jpg.chip.jpg")
    {'age': 'Young', 'gender': 'Female', 'race': 'Asian'}
    >>> read_name("61_1_20170109142408075.jpg.chip.jpg"), read_name("200_0_0_2017.jpg")
    ('its name is not AGE_GENDER_RACE_DATE', 'the age in its name is above 116')
    """
    match = _NAME.match(name)
    if match is None:
        return "its name is not AGE_GENDER_RACE_DATE"
    age, gender, race = map(int, match.groups())
    if age > OLDEST:
        return f"the age in its name is above {OLDEST}"
    if gender >= len(GENDERS) or race >= len(RACES):
        return "the gender or race in its name is none that UTKFace has"
    return {"age": next(word for end, word in AGES if age < end), "gender": GENDERS[gender], "race": RACES[race]}


def load(task: Task, data: Data) -> Loaded:
    """Items of a folder. Raises SpecError where none of its files is called so."""
    root = folder_of(task, data, LAYOUT)
    pictures, loaded = Pictures(root), Loaded(source=root.resolve().name)
    if task.label not in ("age", "gender", "race"):
        raise SpecError(f"task {task.name!r}: label: {task.label[:60]!r} is none of age, gender, race")
    groups = chosen(task, [name for name in ("age", "gender", "race") if name != task.label])
    seen: set[str] = set()
    for name in pictures.names:
        file = Path(name).name
        read = read_name(file)
        if isinstance(read, str):
            loaded.left_out[read] += 1
        elif file in seen:
            loaded.left_out["another image in the folder has its name"] += 1
        else:
            seen.add(file)
            values = tuple(read[group] for group in groups)
            loaded.items.append(Item(name, read[task.label], values, pictures.load(name)))
    if not loaded.items:
        raise SpecError(f"--data: {clean_text(root)} holds no image called as UTKFace calls them; expected is {LAYOUT}")
    return loaded
