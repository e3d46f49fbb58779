"""Folders of images: with metadata (the `datasets` imagefolder convention), or laid out SYSTEM/PROFESSION/*.png."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from backend.importers.columns import assign, listed
from backend.pictures import MAX_BYTES
from backend.records import Item, LeftOut, SourceError, clean_text, regular

METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".avif")
LARGEST_METADATA = 1_000_000_000
Row = dict[str, str] | LeftOut
Rows = Iterator[tuple[int, Row]]


def metadata_files(root: Path) -> list[Path]:
    """The metadata files of a folder: those at its top, else those of folders below."""
    top = [root / name for name in METADATA if (root / name).is_file()]
    return top or sorted(path for name in METADATA for path in root.rglob(name) if path.is_file())


def natural(text: str) -> list[object]:
    """A sort key by which image_2 comes before image_10."""
    return [int(part) if part.isdigit() else part.casefold() for part in re.split(r"(\d{1,18})", text)]


def image_files(root: Path) -> list[str]:
    """Every file below `root` that can be an image, as a path relative to it, in natural order.

    Hidden files and folders are passed over; links to folders are not followed.
    """
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and name.casefold() not in METADATA:
                found.append(os.path.relpath(os.path.join(folder, name), root))
    return sorted(found, key=natural)


def read_file(root: Path, name: str) -> bytes:
    """The bytes of a file inside `root`. Raises OSError with a sentence where it lies outside, is no regular file,
    is missing or is too large."""
    path = Path(os.path.realpath(root / name))
    if not path.is_relative_to(os.path.realpath(root)):
        raise OSError("the file lies outside the folder; copy it into the folder")
    try:
        status = path.stat()
    except FileNotFoundError:
        raise OSError("no such file in the folder; remove the row or add the file") from None
    if not stat.S_ISREG(status.st_mode):
        raise OSError("no regular file")
    if status.st_size > MAX_BYTES:
        raise OSError(f"the file has {status.st_size:,} bytes, more than the limit of {MAX_BYTES:,}")
    return path.read_bytes()


def read(root: Path, system: str, names: Mapping[str, str]) -> tuple[int, Iterator[Item | LeftOut]]:
    """How many items a folder has, and the items. Raises SourceError where it has none or its columns do not do."""
    files = image_files(root)
    tables = metadata_files(root)
    if not files and not tables:
        raise SourceError(f"{root} is empty: it holds no image and no metadata.csv")
    if not tables:
        return len(files), _laid_out(root, files, system)
    rows = [(path.parent, number, row) for path in tables for number, row in _rows(path, system, names)]
    named = {
        os.path.normpath(os.path.relpath(parent / row["file_name"], root))
        for parent, _, row in rows
        if not isinstance(row, LeftOut)
    }
    strays = [name for name in files if os.path.normpath(name) not in named]
    return len(rows) + len(strays), _listed(root, rows, strays)


def _laid_out(root: Path, files: list[str], system: str) -> Iterator[Item | LeftOut]:
    for name in files:
        parts = Path(name).parts
        raw: dict[str, object] = {}
        if not name.casefold().endswith(SUFFIXES):
            yield LeftOut(name, f"no image by its name; images end in {', '.join(SUFFIXES)}")
            continue
        if len(parts) == 2 and system:
            raw = {"system": system, "profession": parts[0]}
        elif len(parts) == 3:
            raw = {"system": parts[0], "profession": parts[1]}
        else:
            reason = "lies neither at SYSTEM/PROFESSION/ nor, with --system NAME, at PROFESSION/"
            yield LeftOut(name, f"{reason}; move it there or add a metadata.csv")
            continue
        yield _item(name, raw, partial(read_file, root, name))


def _listed(root: Path, rows: list[tuple[Path, int, Row]], strays: list[str]) -> Iterator[Item | LeftOut]:
    for parent, number, row in rows:
        if isinstance(row, LeftOut):
            yield row
            continue
        given = row.pop("file_name")
        name = clean_text(os.path.relpath(parent / given, root) if given else "") or f"row {number}"
        if not given:
            yield LeftOut(name, "the row has no file_name; fill it or remove the row")
        elif os.path.isabs(given):
            yield LeftOut(name, "file_name is an absolute path; give it relative to the metadata's folder")
        else:
            inside = os.path.relpath(parent / given, root)
            yield _item(row.pop("item", "") or name, row, partial(read_file, root, inside))
    for name in strays:
        if name.casefold().endswith(SUFFIXES):
            yield LeftOut(clean_text(name), "no row of the metadata names this file; add one")
        else:
            yield LeftOut(clean_text(name), "no row of the metadata names this file, and it is no image by its name")


def _item(name: str, raw: Mapping[str, object], load) -> Item | LeftOut:
    name = clean_text(name)
    try:
        values, notes = regular(raw)
    except ValueError as error:
        return LeftOut(name, str(error))
    return Item(name, values, load, notes)


def _rows(path: Path, system: str, names: Mapping[str, str]) -> Rows:
    """The rows of one metadata file in our columns, with their line or row number."""
    if path.stat().st_size > LARGEST_METADATA:
        raise SourceError(f"{path} is larger than {LARGEST_METADATA:,} bytes: split it")
    columns, rows = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}[path.suffix.lower()](path)
    ours = assign(columns, names, str(path))
    if "file_name" not in ours.values():
        raise SourceError(
            f"{path} has no column 'file_name'; it has {listed(columns)}. "
            "Rename the column that holds the files' names, or say --map COLUMN=file_name"
        )
    if "system" not in ours.values() and not system:
        raise SourceError(
            f"{path} has no column 'system'; it has {listed(columns)}. "
            "Add it, say which it is with --map COLUMN=system, or name the one system with --system NAME"
        )
    ours = {column: "extra_image" if name == "image" else name for column, name in ours.items()}
    for number, row in rows:
        if isinstance(row, LeftOut):
            yield number, row
            continue
        values = {name: row.get(column, "") for column, name in ours.items()}
        values["system"] = values.get("system") or system
        values["file_name"] = str(values["file_name"] or "").strip().replace("\x00", "")
        yield number, values


def _csv(path: Path) -> tuple[list[str], Rows]:
    data = path.read_bytes()
    notes = []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        notes = [LeftOut(path.name, "the file is not UTF-8; it was read as Latin-1", "noted")]
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=head.count)
    csv.field_size_limit(10_000_000)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [name.strip() for name in next(reader)]
    except StopIteration:
        raise SourceError(f"{path} is empty: its first line must name the columns") from None
    repeated = sorted({name for name in columns if columns.count(name) > 1})
    if repeated:
        raise SourceError(f"{path} names the column {repeated[0]!r} twice: rename one")

    def rows() -> Rows:
        yield from ((0, note) for note in notes)
        try:
            for cells in reader:
                if len(cells) > len(columns):
                    reason = f"{len(cells)} cells for {len(columns)} columns; quote cells that hold a {delimiter!r}"
                    yield reader.line_num, LeftOut(f"{path.name}, line {reader.line_num}", reason)
                elif any(cell.strip() for cell in cells):
                    yield reader.line_num, dict(zip(columns, cells, strict=False))
        except csv.Error as error:
            raise SourceError(f"{path}, line {reader.line_num}: {error}. Mend the line") from error

    return columns, rows()


def _jsonl(path: Path) -> tuple[list[str], Rows]:
    rows: list[tuple[int, Row]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").split("\n"), start=1):
        name = f"{path.name}, line {number}"
        try:
            row = json.loads(line) if line.strip() else {}
        except (json.JSONDecodeError, RecursionError) as error:
            row = LeftOut(name, f"no JSON ({str(error)[:80]}); mend the line")
        if not isinstance(row, dict | LeftOut):
            row = LeftOut(name, "no JSON object; write {...}")
        if row:
            rows.append((number, row))
    columns = list(dict.fromkeys(name for _, row in rows if isinstance(row, dict) for name in row))
    return columns, iter(rows)


def _parquet(path: Path) -> tuple[list[str], Rows]:
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be read as Parquet: {error}") from error
    records = frame.astype("object").where(frame.notna(), "").to_dict("records")
    return list(frame.columns), iter(enumerate(records, start=1))
