"""Reading the Parquet tables of an audit."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from backend.reading import unpacked
from backend.store.files import StoreError

_PLAIN = ("id", "sha256", "source")
_ALWAYS, _RATIO = 64_000_000, 100
"""A table may unpack to so many bytes, and beyond them to so many times its file: ours are some five times theirs."""


def read_frame(
    path: Path,
    wrong_columns: Callable[[pa.Schema], str],
    wrong_values: Callable[[pa.Table], str] = lambda table: "",
    rows: int | None = None,
    most: int | None = None,
) -> pd.DataFrame:
    """A Parquet table of ours as a frame: repeated texts and bytes become categories, 64-bit numbers stay whole where
    some are missing. What the file says of pandas is not used.

    Raises StoreError where it cannot be read, where it does not have as many `rows` or has more than `most`, or
    where one of the two functions (of checks.py) finds something wrong.
    """
    try:
        data = path.read_bytes()
        with pq.ParquetFile(io.BytesIO(data)) as file:
            schema, count, size = file.schema_arrow, file.metadata.num_rows, unpacked(file.metadata)
        wrong = wrong_columns(schema)
        if not wrong and size > _ALWAYS + _RATIO * len(data):
            wrong = f"its {len(data):,} bytes unpack to {size:,}"
        if not wrong and rows not in (None, count):
            wrong = "it and the shards differ in rows"
        if not wrong and most is not None and count > most:
            wrong = f"it has {count:,} rows, more than the {most:,} that it can have"
        if not wrong:
            kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
            texts = [f.name for f in schema if any(fits(f.type) for fits in kinds)]
            table = pq.read_table(io.BytesIO(data), read_dictionary=[t for t in texts if t not in _PLAIN])
            table.validate(full=True)
            wrong = wrong_values(table)
            if not wrong:
                return table.replace_schema_metadata().to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StoreError(f"{path} cannot be read ({error}). Restore it from a copy or import again.") from error
    raise StoreError(f"{path} is no such table of an audit: {wrong}. Restore it from a copy or import again.")
