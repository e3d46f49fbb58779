"""Metadata files of a folder of images (CSV, JSONL or Parquet) -> rows in our columns."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from backend.importers.columns import as_text, assign, listed
from backend.reading import inside, unpacked
from backend.records import LeftOut, SourceError

METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
LARGEST_METADATA, MOST_CELLS = 1_000_000_000, 100_000_000
"""Bytes of a metadata file, packed and unpacked, and values of its table: a Parquet file has many in few bytes."""
LONGEST_CELL = 10_000_000
Row = dict[str, str] | LeftOut
Rows = Iterator[tuple[int, Row]]


def metadata_files(root: Path) -> list[Path]:
    """The metadata files of a folder: those at its top, else those of folders below."""
    top = [root / name for name in METADATA if (root / name).is_file()]
    return top or sorted(path for name in METADATA for path in root.rglob(name) if path.is_file())


def read_rows(root: Path, path: Path, system: str, names: Mapping[str, str]) -> Rows:
    """The rows of one metadata file of the folder `root` in our columns, with their line or row number. Raises
    SourceError where the file cannot be read, is a link that leads out, or names no file or system."""
    if not inside(root, path):
        raise SourceError(f"{path} is a link that leads out of the folder, and is not followed: copy the file into it")
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
        values = {name: as_text(row.get(column)) for column, name in ours.items()}
        values["system"] = values.get("system") or system
        values["file_name"] = values["file_name"].strip().replace("\x00", "")
        yield number, values


def _decoded(path: Path) -> tuple[str, list[LeftOut]]:
    """The text of a file in UTF-8, in UTF-16 with its mark, or else in Latin-1, and a note where it was that."""
    data = path.read_bytes()
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16"), []
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return data.decode("latin-1"), [LeftOut(path.name, "the file is not UTF-8; it was read as Latin-1", "noted")]


def _check_columns(path: Path, columns: list[str]) -> None:
    repeated = sorted(name for name, number in Counter(columns).items() if number > 1)
    if repeated == [""]:
        raise SourceError(f"{path} has {columns.count('')} columns without a name: name them or remove them")
    if repeated:
        raise SourceError(f"{path} names the column {repeated[-1]!r} twice: rename one")


def _csv(path: Path) -> tuple[list[str], Rows]:
    text, notes = _decoded(path)
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=head.count)
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [name.strip() for name in next(reader)]
    except (StopIteration, csv.Error):
        raise SourceError(f"{path} is empty or no CSV: its first line must name the columns") from None
    _check_columns(path, columns)

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
    text, notes = _decoded(path)
    rows: list[tuple[int, Row]] = [(0, note) for note in notes]
    for number, line in enumerate(text.split("\n"), start=1):
        name = f"{path.name}, line {number}"
        try:
            row = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError) as error:  # ValueError: no JSON, or a number of thousands of digits
            row = LeftOut(name, f"no JSON ({str(error)[:80]}); mend the line")
        if not isinstance(row, dict | LeftOut):
            row = LeftOut(name, "no JSON object; write {...}")
        if row:
            rows.append((number, row))
    columns = list(dict.fromkeys(name for _, row in rows if isinstance(row, dict) for name in row))
    return columns, iter(rows)


def _parquet(path: Path) -> tuple[list[str], Rows]:
    try:
        with pq.ParquetFile(path) as file:
            held = file.metadata
            size = unpacked(held)
        if size > LARGEST_METADATA or held.num_rows * max(1, held.num_columns) > MOST_CELLS:
            wrong = f"{held.num_rows:,} rows of {size:,} bytes"
            raise SourceError(f"{path} unpacks to {wrong}: more than can be names and labels of images. Split it")
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"{path} cannot be read as Parquet ({error}): fetch it again") from error
    _check_columns(path, table.column_names)
    columns = {}
    for name in table.column_names:
        try:
            columns[name] = table.column(name).to_pylist()
        except (OverflowError, ValueError, KeyError, pa.ArrowException) as error:  # a date in the year 300,000, say
            reason = f"holds what cannot be read ({str(error)[:80]})"
            raise SourceError(f"{path}: the column {name!r} {reason}. Mend the column or leave it out") from error
    rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    return table.column_names, enumerate(rows, start=1)
