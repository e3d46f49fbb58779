"""The rows of images that are on their way into an audit: as tables, and as the parts that outlive a kill."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from backend.records import AXES, DTYPES, LATER_AXES, UNSPECIFIED
from backend.store.checks import arrow_type, generations_columns, generations_values
from backend.store.files import audit_folder, refuse_links

PENDING = "pending"
SIZES = ("rows", "image_bytes", "thumbnail_bytes")


def table_of(rows: list[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table with the columns of DTYPES, in order, then label_* and extra_* columns; missing text is ""."""
    names = sorted({name for row in rows for name in row if name not in DTYPES})
    columns = {name: [row.get(name) for row in rows] for name in [*DTYPES, *names]}
    return typed(pa.table({name: pa.array(values, arrow_type(name)) for name, values in columns.items()}))


def typed(table: pa.Table) -> pa.Table:
    """The columns in their order, with "" for text that a row does not have, and "unspecified" on an axis."""
    for axis in LATER_AXES:
        if axis not in table.column_names:  # an audit from before the axis
            table = table.append_column(axis, pa.nulls(len(table), pa.string()))
    names = [*DTYPES, *sorted(name for name in table.column_names if name not in DTYPES)]
    columns = {name: table.column(name) for name in names}
    for name, column in columns.items():
        if pa.types.is_string(column.type):
            columns[name] = column.fill_null(UNSPECIFIED if name in AXES else "")
    return pa.table(columns)


def numbered(table: pa.Table) -> pa.Table:
    """Give rows without a number the next one of their prompt and system, in storage order, from 1."""
    missing = table.column("number").is_null().to_numpy()
    if not missing.any():
        return table
    keys = ["subset", "system", "profession", "adjective", "action", *AXES]
    groups = table.select(keys).to_pandas().groupby(keys, sort=False).ngroup()
    given = pd.Series(table.column("number").fill_null(0).to_numpy())
    highest = given.groupby(groups).transform("max")
    order = pd.Series(missing).astype("int64").groupby(groups).cumsum()
    numbers = given.mask(missing, highest + order)
    index = table.column_names.index("number")
    return table.set_column(index, "number", pa.array(numbers, pa.int64()))


def read_part(path: Path) -> tuple[dict[str, str], pd.DataFrame] | None:
    """What is noted in the rows of a finished shard, and their ids; None where the file is no such thing."""
    try:
        table = pq.read_table(path)
        table.validate(full=True)
        notes = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    except (OSError, ValueError, pa.ArrowException):
        return None
    sizes = all(re.fullmatch("[0-9]{1,15}", notes.get(name, "")) for name in SIZES)
    if not sizes or int(notes["rows"]) != len(table):
        return None
    if generations_columns(table.schema) or generations_values(table, numbered=False):
        return None
    return notes, table.select(["id", "source", "animated"]).replace_schema_metadata().to_pandas()


def interrupted(cache: Path, name: str, source: str) -> list[str]:
    """The names of the items that an interrupted run of a source has finished; nothing is changed."""
    folder = audit_folder(cache, name)
    refuse_links(folder)
    parts = [read_part(path) for path in sorted((folder / PENDING).glob("part-*.parquet"))]
    return [str(item) for part in parts if part and part[0].get("source") == source for item in part[1]["source"]]
