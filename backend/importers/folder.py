"""Folders of images: with metadata (the `datasets` imagefolder convention), or laid out SYSTEM/PROFESSION/*.png."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path

from backend.importers.metadata import METADATA, Row, inside, metadata_files, read_rows
from backend.pictures import MAX_BYTES
from backend.records import Item, LeftOut, SourceError, clean_text, regular

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".avif")


def natural(text: str) -> list[object]:
    """A sort key by which image_2 comes before image_10."""
    parts = re.split(r"(\d{1,18})", text)
    return [int(part) if place % 2 else part.casefold() for place, part in enumerate(parts)]


def image_files(root: Path) -> tuple[list[str], list[LeftOut]]:
    """Every file below `root` that can be an image, as a path relative to it, in natural order; and the folders
    that cannot be listed.

    Hidden files and folders are passed over; links to folders are not followed.
    """
    found, closed = [], []

    def refuse(error: OSError) -> None:
        name = clean_text(os.path.relpath(error.filename, root))
        closed.append(LeftOut(name, f"the folder cannot be listed ({error.strerror}); make it readable"))

    for folder, folders, files in os.walk(root, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and name.casefold() not in METADATA:
                found.append(os.path.relpath(os.path.join(folder, name), root))
    return sorted(found, key=natural), closed


def read_file(root: Path, name: str) -> bytes:
    """The bytes of a file inside `root`. Raises OSError with a sentence where it lies outside, is no regular file,
    is missing or is too large."""
    try:
        path = Path(os.path.realpath(root / name))
        if not inside(root, path):
            raise OSError("the file lies outside the folder; copy it into the folder")
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError, UnicodeEncodeError):
        raise OSError("no such file in the folder; remove the row or add the file") from None
    if not stat.S_ISREG(status.st_mode):
        raise OSError("no regular file; put the image itself in its place")
    if status.st_size > MAX_BYTES:
        raise OSError(f"the file has {status.st_size:,} bytes, more than the limit of {MAX_BYTES:,}; scale it down")
    return path.read_bytes()


def read(root: Path, system: str, names: Mapping[str, str]) -> tuple[int, Iterator[Item | LeftOut]]:
    """How many items a folder has, and the items. Raises SourceError where it has none or its columns do not do."""
    files, closed = image_files(root)
    tables = metadata_files(root)
    if not files and not tables and not closed:
        raise SourceError(f"{root} is empty: it holds no image and no metadata.csv. Give the folder of the images")
    if not tables:
        return len(files) + len(closed), chain(closed, _laid_out(root, files, system))
    rows = [(path, number, row) for path in tables for number, row in read_rows(root, path, system, names)]
    named = {
        os.path.normpath(os.path.relpath(path.parent / row["file_name"], root))
        for path, _, row in rows
        if not isinstance(row, LeftOut)
    }
    strays = [name for name in files if os.path.normpath(name) not in named]
    return len(rows) + len(strays) + len(closed), chain(closed, _listed(root, rows, strays))


def _laid_out(root: Path, files: list[str], system: str) -> Iterator[Item | LeftOut]:
    for name in files:
        parts = Path(name).parts
        raw: dict[str, object] = {}
        shown = clean_text(name)
        if not name.casefold().endswith(SUFFIXES):
            yield LeftOut(shown, f"no image by its name; images end in {', '.join(SUFFIXES)}")
            continue
        if len(parts) == 2 and system:
            raw = {"system": system, "profession": parts[0]}
        elif len(parts) == 3:
            raw = {"system": parts[0], "profession": parts[1]}
        else:
            reason = "lies neither at SYSTEM/PROFESSION/ nor, with --system NAME, at PROFESSION/"
            yield LeftOut(shown, f"{reason}; move it there or add a metadata.csv")
            continue
        yield _item(name, raw, partial(read_file, root, name))


def _listed(root: Path, rows: list[tuple[Path, int, Row]], strays: list[str]) -> Iterator[Item | LeftOut]:
    for path, number, row in rows:
        if isinstance(row, LeftOut):
            yield row
            continue
        given = row.pop("file_name")
        inside = os.path.relpath(path.parent / given, root)
        if not given:
            name = f"{path.name}, {'row' if path.suffix == '.parquet' else 'line'} {number}"
            yield LeftOut(name, "the row has no file_name; fill it or remove the row")
        elif os.path.isabs(given):
            reason = "file_name is an absolute path; give it relative to the metadata's folder"
            yield LeftOut(clean_text(given), reason)
        else:
            yield _item(row.pop("item", "") or inside, row, partial(read_file, root, inside))
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
