"""Writing captions and answers: range by range, so that a killed description goes on where it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from backend.store.files import NEXT, StoreError, commit, sync
from backend.store.reader import Audit
from backend.store.stages import StageWriter, list_stage
from backend.store.texts import SCHEMA, TextSource, read_source, read_texts, text_columns, text_values

RANGE = 64
"""Images that a kill can cost: each may have been slow, or paid for."""


class TextWriter(StageWriter):
    """Writes one describer's texts. `parameters` hold what changes them, beside those of `source`."""

    def __init__(self, audit: Audit, source: TextSource, parameters: Mapping[str, Any]) -> None:
        super().__init__(audit, f"text-{source.name}", {**source.parameters(), **parameters})
        self.source = source

    def ranges(self) -> list[tuple[int, int, str]]:
        """First row, end row and name of the ranges that are described and kept one by one."""
        return [
            (first, min(first + RANGE, end), f"{shard[:32]}-{first - start}")
            for start, end, shard in self.audit.shards()
            for first in range(start, end, RANGE)
        ]

    def earlier(self) -> tuple[int, pd.DataFrame] | None:
        """The texts of a stale result that still hold, and how many rows they cover, or None."""
        entry = self.still_holds()
        if entry is None:
            return None
        return entry["rows"], read_texts(self.audit.folder, self.stage, entry["rows"], self.source.questions)

    def _part(self, shard: str) -> Path:
        return self.folder / f"{shard}.parquet"

    def load(self, shard: str, rows: int) -> pd.DataFrame | None:
        """The finished texts of a range from an interrupted run (rows counted from its start), or None."""
        try:
            table = pq.read_table(self._part(shard))
        except (OSError, ValueError, pa.ArrowException):
            return None
        if text_columns(table.schema) or text_values(table, rows, self.source.questions):
            return None
        return table.to_pandas()

    def save(self, shard: str, values: pd.DataFrame) -> None:
        """Keep the finished texts of a range, its rows counted from its start."""
        path = self._part(shard)
        pq.write_table(as_table(values), path.with_suffix(NEXT))
        sync(path.with_suffix(NEXT))
        os.replace(path.with_suffix(NEXT), path)

    def finish(self, values: pd.DataFrame, seconds: float, versions: Mapping[str, str]) -> None:
        """Make the texts of all rows part of the audit, listed in its manifest; the parts go."""
        table = as_table(values)
        wrong = text_values(table, len(self.audit), self.source.questions)
        if wrong:
            raise StoreError(f"stage {self.stage}: {wrong}")
        read_source(self.source.name, self.parameters)
        target = self.audit.folder / (self.file + NEXT)
        target.parent.mkdir(exist_ok=True)
        pq.write_table(table, target)
        list_stage(self.audit, self.stage, self.parameters, self.inputs(), seconds, versions)
        commit(self.audit.folder, self.audit.manifest, [self.file])
        shutil.rmtree(self.folder, ignore_errors=True)


def as_table(values: pd.DataFrame) -> pa.Table:
    """Texts in the columns and types in which they are stored."""
    columns = []
    for field in SCHEMA:
        column = values[field.name].astype(object)
        columns.append(pa.array(column.where(column.notna(), None).tolist(), field.type))
    return pa.table(columns, schema=SCHEMA)


def write_texts(audit: Audit, source: TextSource, values: pd.DataFrame, parameters: Mapping[str, Any]) -> None:
    """Texts that came from elsewhere, as a source of the audit. The caller holds the lock."""
    TextWriter(audit, source, parameters).finish(values, 0.0, {})
