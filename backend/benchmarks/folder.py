"""Any folder of images with a metadata file: one of its columns is the label, others are groups."""

from __future__ import annotations

import os
from pathlib import Path

from backend.benchmarks.base import Data, Item, Loaded, Pictures, Task, folder_of
from backend.importers.columns import listed
from backend.importers.metadata import Row, inside, metadata_files, read_rows
from backend.metrics.neutrality import UNPARSED
from backend.reading import MOST_BYTES
from backend.records import LeftOut, clean_text
from backend.spec import SpecError

LAYOUT = "a folder of images with a metadata.csv, .jsonl or .parquet whose column file_name names them"
KEYS = {}
FEWEST, MOST, LONGEST = 2, 50, 100
"""Classes that a label can have, and characters of one."""
_KEPT = ("label_", "extra_")
"""How importers begin the names of columns that are no field of ours."""
_OURS = ("file_name", "item")


def find_column(name: str, columns: list[str], flag: str, where: Path) -> str:
    """The importers' name of a column, by that or by its name in the file. Raises SpecError listing what is there."""
    for found in (name, *(start + name for start in _KEPT)):
        if found in columns and found not in _OURS:
            return found
    known = [column.removeprefix("extra_") for column in columns if column not in _OURS]
    raise SpecError(f"{flag}: {clean_text(name)[:60]!r} is no column of {clean_text(where)}; it has {listed(known)}")


def load(task: Task, data: Data) -> Loaded:
    """Items of every row with a label; its picture lies exactly where the row says. Raises SpecError."""
    root = folder_of(task, data, LAYOUT)
    tables = metadata_files(root)
    if not tables:
        raise SpecError(f"--data: {clean_text(root)} holds no metadata file; expected is {LAYOUT}")
    pictures, loaded = Pictures(root), Loaded(source=root.resolve().name)
    skip = {text.casefold() for text in task.skip}
    for path in tables:
        rows = _rows(root, path)
        whole = [row for row in rows if not isinstance(row, LeftOut)]
        columns = list(dict.fromkeys(name for row in whole for name in row))
        if not whole:
            raise SpecError(f"{clean_text(path)} has no row: name the images and their labels in it")
        if not task.label:
            known = listed(name.removeprefix("extra_") for name in columns if name not in _OURS)
            raise SpecError(f"--label: say which column holds the labels: {clean_text(path)} has {known}")
        label = find_column(task.label, columns, "--label", path)
        groups = [find_column(name, columns, "--group", path) for name in task.groups]
        for row in rows:
            reason = row.reason if isinstance(row, LeftOut) and row.outcome != "noted" else ""
            if isinstance(row, LeftOut):
                loaded.left_out.update([reason] if reason else [])
                continue
            given, value = row["file_name"], clean_text(row.get(label, ""))
            name = pictures.at(os.path.normpath(os.path.relpath(path.parent / given, root))) if given else ""
            reason = "" if value else "it has no label"
            reason = (
                f"its label is {value[:40]!r}, which says that nobody can tell" if value.casefold() in skip else reason
            )
            reason = reason or ("" if name else "its image is not in the folder")
            if reason:
                loaded.left_out[reason] += 1
            else:
                values = tuple(clean_text(row.get(group, ""))[:100] for group in groups)
                loaded.items.append(Item(clean_text(name)[:300], value, values, pictures.load(name)))
    return with_classes(task, loaded, f"the column {task.label!r} of {clean_text(root)}")


def _rows(root: Path, path: Path) -> list[Row]:
    """The rows of a metadata file inside the folder. Raises SourceError."""
    shown = clean_text(path)
    try:
        if path.suffix != ".parquet" and inside(root, path) and path.stat().st_size > MOST_BYTES:
            raise SpecError(f"{shown} is larger than {MOST_BYTES:,} bytes: split it")
        return [row for _, row in read_rows(root, path, "folder", {})]
    except OSError as error:
        raise SpecError(f"{shown} cannot be read ({error.strerror or error}): make it readable") from error
    except RecursionError as error:
        raise SpecError(f"{shown} holds a value that is nested too deep: remove it") from error


def with_classes(task: Task, loaded: Loaded, where: str) -> Loaded:
    """The items whose label is a class; the classes are the task's, or else all labels that there are. Raises
    SpecError where those are no classes."""
    kept = []
    for item in loaded.items:
        reason = f"its label is {UNPARSED!r}, which stands for an answer that names no class: write it otherwise"
        if len(item.label) > LONGEST:
            reason = f"its label has more than {LONGEST} characters"
        if item.label == UNPARSED or len(item.label) > LONGEST:
            loaded.left_out[reason] += 1
        else:
            kept.append(item)
    loaded.items, found = kept, sorted({item.label for item in kept})
    loaded.classes = tuple(task.classes) or tuple(found)
    if not task.classes and not FEWEST <= len(found) <= MOST:
        shown = f": {', '.join(found[:5])}" if found else ""
        raise SpecError(f"--label: {where} has {len(found)} different labels{shown}; a label needs {FEWEST} to {MOST}")
    for item in [item for item in loaded.items if item.label not in loaded.classes]:
        loaded.left_out[f"its label is {item.label[:40]!r}, which is no class of the task"] += 1
    loaded.items = [item for item in loaded.items if item.label in loaded.classes]
    return loaded
