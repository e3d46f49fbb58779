"""The audit's own images: the label is a word of their prompt, or a label that was imported with them."""

from __future__ import annotations

from functools import partial

import pandas as pd

from backend.benchmarks.base import Data, Item, Loaded, Task
from backend.benchmarks.folder import with_classes
from backend.importers.columns import listed
from backend.records import SUBSETS, UNSPECIFIED
from backend.spec import Key, SpecError

KEYS = {"subset": Key(str, "", choices=("", *SUBSETS)), "once_per": Key(list, ())}
"""`once_per`: columns; of images that are alike in all of them one counts. Systems that are variants of one another may
draw nearly the same picture from one prompt and seed: as items of their own these would make intervals too narrow."""
NOT_OF = {
    "professions": "its prompt is not one of a profession",
    "identities": "its prompt is not one of a gender, ethnicity or tone",
    "neutral": "its prompt is not one of a neutral person",
}
"""What is said of an image of another subset."""
COLUMNS = ("gender", "ethnicity", "tone", "profession", "adjective", "action", "system")
TELLING = ("prompt", "seed", "number", *COLUMNS)
"""What `once_per` can name."""
_UNKNOWN = ("", UNSPECIFIED)


def load(task: Task, data: Data) -> Loaded:
    """Items of every image whose prompt, or row, has the label. Raises SpecError."""
    table, name = data.audit.generations, data.audit.name
    offered = [*COLUMNS, *(column for column in table if column.startswith(("label_", "extra_")))]
    if not task.label:
        raise SpecError(f"--label: say what is asked about: {name} has {listed(offered)}")
    for flag, column in (("--label", task.label), *(("--group", group) for group in task.groups)):
        if column not in offered:
            raise SpecError(f"{flag}: {column[:60]!r} is no column of {name}; it has {listed(offered)}")
    loaded, skip = Loaded(), {"", UNSPECIFIED, *task.skip}
    columns = [_texts(table, column) for column in (task.label, *task.groups)]
    facts = [_texts(table, column) for column in ("id", "sha256", "subset")]
    for row, (identity, digest, subset) in enumerate(zip(*facts, strict=True)):
        label, *groups = (column[row] for column in columns)
        if task.more["subset"] and subset != task.more["subset"]:
            loaded.left_out[NOT_OF[task.more["subset"]]] += 1
        elif label in skip:
            loaded.left_out[f"nothing says its {task.label}"] += 1
        else:
            values = tuple("" if value == UNSPECIFIED else value[:100] for value in groups)
            read = partial(_bytes, data.audit, row)
            loaded.items.append(Item(identity, label, values, read, row=row, sha256=digest))
    return _once(task, table, with_classes(task, loaded, f"{task.label} of {name}"))


def _once(task: Task, table: pd.DataFrame, loaded: Loaded) -> Loaded:
    """One item of those that are alike in the columns of `once_per`: in turn the first, the second and so on, sorted by
    label and groups, so that every system has its share of each. Items of which one of these columns is not known
    stay. Raises SpecError."""
    names = task.more["once_per"]
    strange = [name for name in names if name not in TELLING]
    if strange:
        raise SpecError(f"task {task.name!r}: once_per: {str(strange[0])[:60]!r} is none of {', '.join(TELLING)}")
    if not names:
        return loaded
    columns = [_texts(table, name) for name in names]
    alike: dict[tuple[str, ...], list[Item]] = {}
    for item in loaded.items:
        key = tuple(column[item.row] for column in columns)
        alike.setdefault((item.name,) if set(key) & set(_UNKNOWN) else key, []).append(item)
    ordered = sorted(alike.items(), key=lambda pair: (pair[1][0].label, pair[1][0].groups, pair[0]))
    kept = [items[place % len(items)] for place, (_, items) in enumerate(ordered)]
    lost = len(loaded.items) - len(kept)
    loaded.left_out.update({f"another image with the same {' and '.join(names)} stands for it": lost} if lost else {})
    loaded.items = sorted(kept, key=lambda item: item.row)
    return loaded


def _texts(table: pd.DataFrame, name: str) -> list[str]:
    """A column as texts, "" where a value is missing."""
    return table[name].astype("string").fillna("").tolist()


def _bytes(audit, row: int) -> bytes:
    return audit.image(row)[0]
