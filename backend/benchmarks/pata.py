"""PATA: lines SCENE_RACE_GENDER_AGE|address, and captions of every scene, pleasing and demeaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backend.benchmarks.base import Data, Item, Loaded, Pictures, Task, bound, chosen, endings, folder_of
from backend.reading import text_of
from backend.records import clean_text
from backend.spec import Key, SpecError

LAYOUT = (
    "pata_fairness.files.lst and pata_fairness.captions.json (https://github.com/pata-fairness/pata_dataset) with the "
    "images below images/, each called by its line's number from 0, or as its address ends"
)
KEYS = {"captions_of": Key(str, choices=("races", "gender", "age"))}
"""Which captions are chosen from: those that play on race, gender or age."""
CLASSES = ("positive", "negative")


def scenes(path: Path, root: Path | None, kind: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """The options of every scene: (class, caption); `root` as for `text_of`. Raises SpecError where the file holds no
    such thing."""
    text = text_of(path, root)
    try:
        return {clean_text(one["short"]).replace(" ", "_"): _options(one, kind) for one in json.loads(text)}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        what = f"is not PATA's list of captions ({type(error).__name__})"
        raise SpecError(f"{clean_text(path)[:300]} {what}: fetch it again") from error


def _options(scene: dict[str, Any], kind: str) -> tuple[tuple[str, str], ...]:
    """A scene's captions, each ended by what happens in it: what its long name has after the place of the person."""
    action = clean_text(scene["long"].rpartition("}")[2])
    texts = [(name, text) for name, key in zip(CLASSES, ("pos", "neg"), strict=True) for text in scene[key][kind]]
    return tuple((name, clean_text(f"{text} {action}")) for name, text in texts)


def load(task: Task, data: Data) -> Loaded:
    """Items with a picture; their label is always "positive": no picture calls for a demeaning caption."""
    root = folder_of(task, data, LAYOUT)
    lines = root / "pata_fairness.files.lst"
    if not lines.is_file():
        raise SpecError(f"--data: {clean_text(root)} holds no {lines.name}; expected is {LAYOUT}")
    captions = root / "pata_fairness.captions.json"
    options = scenes(captions, bound(data, root, captions), task.more["captions_of"])
    groups, pictures = chosen(task, ("race", "gender", "age")), Pictures(root)
    loaded = Loaded(source=root.resolve().name, classes=CLASSES)
    rows = [line.strip() for line in text_of(lines, bound(data, root, lines)).splitlines()]
    ends = endings(row.partition("|")[2] for row in rows)
    for number, row in enumerate(rows):
        tag, bar, address = row.partition("|")
        parts = tag.rsplit("_", 3)
        if not bar or len(parts) != 4 or not all(parts):
            loaded.left_out["its line is not SCENE_RACE_GENDER_AGE|ADDRESS"] += bool(row)
            continue
        own = options.get(clean_text(parts[0]), ())
        if len({name for name, _ in own}) < 2:
            loaded.left_out["its scene has no captions of both kinds"] += 1
            continue
        name = pictures.found_or_fetched(data, address, (str(number), ends[number]), loaded.left_out)
        if name:
            values = dict(zip(("race", "gender", "age"), map(clean_text, parts[1:]), strict=True))
            held = tuple(values[group][:100] for group in groups)
            loaded.items.append(
                Item(f"{number}: {clean_text(tag)}"[:300], CLASSES[0], held, pictures.load(name), {}, own)
            )
    return loaded
