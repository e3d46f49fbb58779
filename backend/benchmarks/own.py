"""The audit's own images: the label is a word of their prompt, or a label that was imported with them."""

from __future__ import annotations

from functools import partial

from backend.benchmarks.base import Data, Item, Loaded, Task
from backend.benchmarks.folder import with_classes
from backend.importers.columns import listed
from backend.records import SUBSETS, UNSPECIFIED
from backend.spec import Key, SpecError

KEYS = {"subset": Key(str, "", choices=("", *SUBSETS))}
NOT_OF = {
    "professions": "its prompt is not one of a profession",
    "identities": "its prompt is not one of a gender, ethnicity or tone",
    "neutral": "its prompt is not one of a neutral person",
}
"""What is said of an image of another subset."""
COLUMNS = ("gender", "ethnicity", "tone", "profession", "adjective", "action", "system")


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
    columns = [table[column].astype(str).tolist() for column in (task.label, *task.groups)]
    facts = [table[column].astype(str).tolist() for column in ("id", "sha256", "subset")]
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
    return with_classes(task, loaded, f"{task.label} of {name}")


def _bytes(audit, row: int) -> bytes:
    return audit.image(row)[0]
