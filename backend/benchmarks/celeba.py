"""CelebA: a table of 40 attributes, 1 or -1 each, and folders of aligned faces."""

from __future__ import annotations

import re
from pathlib import Path

from backend.benchmarks.base import (
    Data,
    Item,
    Loaded,
    Pictures,
    Task,
    bound,
    chosen,
    column,
    folder_of,
    table_of,
)
from backend.reading import text_of
from backend.records import clean_text
from backend.spec import Key, SpecError

LAYOUT = (
    "CelebA's list_attr_celeba.txt (or .csv), with list_eval_partition.txt (or .csv) beside it and the images below "
    "(https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html)"
)
KEYS = {"partition": Key(int, 2, low=-1, high=2)}
"""Which part: 0 training, 1 validation, 2 test, -1 all."""
GROUPS = {"gender": ("Male", {"1": "Male", "-1": "Female"}), "age": ("Young", {"1": "Young", "-1": "Not young"})}
"""What groups can be, their attribute, and the names of its values: what annotators said of a picture."""


def rows_of(path: Path, root: Path | None) -> tuple[list[str], list[list[str]]]:
    """Columns (the file's name first) and rows of a list of CelebA's: CSV, or text whose head may hold a count. `root`
    as for `text_of`. Raises SpecError."""
    if path.suffix.casefold() == ".csv":
        columns, rows = table_of(path, root)
        return columns, [[row.get(name, "") for name in columns] for row in rows]
    rows = [line.split() for line in text_of(path, root).splitlines() if line.strip()]
    rows = rows[1:] if rows and len(rows[0]) == 1 and rows[0][0].isdecimal() else rows
    named = bool(rows) and not re.search(r"\.\w+$", rows[0][0])
    return ["file", *rows[0]] if named else [], rows[1:] if named else rows


def list_file(root: Path, stem: str) -> Path | None:
    """A list below the folder, as text or CSV; the former where both are there."""
    found = sorted(path for path in root.rglob(f"{stem}.*") if path.suffix.casefold() in (".txt", ".csv"))
    return min(found, key=lambda path: path.suffix.casefold() == ".csv", default=None)


def load(task: Task, data: Data) -> Loaded:
    """Items of the wanted part; the label is an attribute: its 1 is the task's first class. Raises SpecError."""
    if len(task.classes) < 2:
        raise SpecError(f"task {task.name!r}: classes: give two, first the one of 1 in CelebA's list, then that of -1")
    root = folder_of(task, data, LAYOUT)
    listed = list_file(root, "list_attr_celeba")
    if listed is None:
        raise SpecError(f"--data: {clean_text(root)} holds no list_attr_celeba; expected is {LAYOUT}")
    columns, rows = rows_of(listed, bound(data, root, listed))
    at = columns.index(column(columns, listed, task.label))
    groups = [GROUPS[name] for name in chosen(task, GROUPS)]
    places = [columns.index(column(columns, listed, attribute)) for attribute, _ in groups]
    parts, pictures = partition(data, root, task.more["partition"]), Pictures(root)
    loaded, (yes, no) = Loaded(source=root.resolve().name), tuple(task.classes)[:2]
    for row in rows:
        if parts is not None and row[0] not in parts:
            continue
        label = {"1": yes, "-1": no}.get(row[at] if len(row) == len(columns) else "")
        name, reason = pictures.find(row[0])
        if label is None:
            loaded.left_out["its line in list_attr_celeba has a label that is neither 1 nor -1"] += 1
        elif reason:
            loaded.left_out[reason] += 1
        else:
            values = tuple(words.get(row[place], "") for place, (_, words) in zip(places, groups, strict=True))
            loaded.items.append(Item(clean_text(row[0])[:300], label, values, pictures.load(name)))
    return loaded


def partition(data: Data, root: Path, wanted: int) -> set[str] | None:
    """The names of a part's files; None where all are wanted. Raises SpecError where no list says which they are."""
    if wanted < 0:
        return None
    listed = list_file(root, "list_eval_partition")
    if listed is None:
        raise SpecError(
            f"--data: {clean_text(root)} holds no list_eval_partition.txt, which says which images are the test set: "
            "add it, or set partition = -1 in a task of your own (--tasks)"
        )
    return {row[0] for row in rows_of(listed, bound(data, root, listed))[1] if row[1:2] == [str(wanted)]}
