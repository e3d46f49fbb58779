"""PATA: lines SCENE_RACE_GENDER_AGE|address, and captions of every scene, pleasing and demeaning."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from backend.benchmarks.base import Data, Item, Loaded, Pictures, Task, chosen, folder_of
from backend.records import clean_text
from backend.spec import Key, SpecError

LAYOUT = (
    "pata_fairness.files.lst and pata_fairness.captions.json (https://github.com/pata-fairness/pata_dataset) with the "
    "images below images/, each called by its line's number from 0, or as its address ends"
)
KEYS = {"captions_of": Key(str, choices=("races", "gender", "age"))}
"""Which captions are chosen from: those that play on race, gender or age."""
CLASSES = ("positive", "negative")


def scenes(path: Path, kind: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """The options of every scene: (class, caption). Raises SpecError where the file holds no such thing."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = {clean_text(one["short"]).replace(" ", "_"): _options(one, kind) for one in data}
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror or error}): fetch it from PATA's page") from error
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise SpecError(f"{path} is not PATA's list of captions ({type(error).__name__}): fetch it again") from error
    return found


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
        raise SpecError(f"--data: {root} holds no {lines.name}; expected is {LAYOUT}")
    options = scenes(root / "pata_fairness.captions.json", task.more["captions_of"])
    groups, pictures = chosen(task, ("race", "gender", "age")), Pictures(root)
    loaded = Loaded(source=root.resolve().name, classes=CLASSES)
    for number, line in enumerate(lines.read_text(encoding="utf-8", errors="replace").splitlines()):
        tag, bar, address = line.strip().partition("|")
        parts = tag.rsplit("_", 3)
        if not bar or len(parts) != 4 or not all(parts):
            loaded.left_out["its line is not SCENE_RACE_GENDER_AGE|ADDRESS"] += bool(line.strip())
            continue
        own = options.get(clean_text(parts[0]), ())
        if len({name for name, _ in own}) < 2:
            loaded.left_out["its scene has no captions of both kinds"] += 1
            continue
        wanted = (str(number), PurePosixPath(_path(address)).name)
        name = pictures.found_or_fetched(data, address, wanted, loaded.left_out)
        if name:
            values = dict(zip(("race", "gender", "age"), map(clean_text, parts[1:]), strict=True))
            held = tuple(values[group][:100] for group in groups)
            loaded.items.append(
                Item(f"{number}: {clean_text(tag)}"[:300], CLASSES[0], held, pictures.load(name), {}, own)
            )
    return loaded


def _path(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:  # no address at all
        return ""
