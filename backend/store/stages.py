"""Writing the row-aligned results of stages: a killed build goes on where it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from backend.store.arrays import npy_head
from backend.store.checks import stage_files
from backend.store.files import NEXT, StoreError, commit, sync
from backend.store.reader import Audit, read_measure


class StageWriter:
    """Writes one row-aligned measure range by range, so that a killed build goes on where it was."""

    DTYPE = "float64"

    def __init__(self, audit: Audit, stage: str, parameters: Mapping[str, Any]) -> None:
        self.audit = audit
        self.stage = stage
        self.parameters = dict(parameters)
        self.file = stage_files(stage)[0]
        self.folder = (audit.folder / self.file).with_suffix(".parts")

    def shape(self, rows: int) -> tuple[int, ...]:
        """The shape of the results of so many rows."""
        return (rows,)

    def inputs(self) -> list[str]:
        return [shard for _, _, shard in self.audit.shards()]

    def state(self) -> str:
        """ "done", "stale" (other parameters, or images that came later) or "missing"."""
        entry = self.audit.manifest["stages"].get(self.stage)
        if entry is None:
            return "missing"
        same = entry["parameters"] == self.parameters and entry["inputs"] == self.inputs()
        return "done" if same else "stale"

    def still_holds(self) -> dict[str, Any] | None:
        """The manifest's entry of this stage where its results hold: for the shards that it names, all unchanged."""
        entry = self.audit.manifest["stages"].get(self.stage)
        if entry is None or entry["parameters"] != self.parameters:
            return None
        return entry if self.inputs()[: len(entry["inputs"])] == entry["inputs"] else None

    def earlier(self) -> np.ndarray | None:
        """The values of a stale result that still hold: those of the shards that have not changed."""
        return read_measure(self.audit.folder, self.stage) if self.still_holds() else None

    def _part(self, shard: str) -> Path:
        return self.folder / f"{shard[:32]}.npy"

    def load(self, shard: str, rows: int) -> np.ndarray | None:
        """The finished values of a range from an interrupted run, or None."""
        head, count = npy_head(self.shape(rows), self.DTYPE), int(np.prod(self.shape(rows)))
        try:
            data = self._part(shard).read_bytes()
        except OSError:  # none there
            return None
        whole = len(data) == len(head) + count * np.dtype(self.DTYPE).itemsize and data.startswith(head)
        return np.frombuffer(data, self.DTYPE, offset=len(head)).reshape(self.shape(rows)) if whole else None

    def save(self, shard: str, values: np.ndarray) -> None:
        """Keep the finished values of a range."""
        path = self._part(shard)
        with path.with_suffix(NEXT).open("wb") as file:
            np.save(file, values.astype(self.DTYPE, order="C"))
        sync(path.with_suffix(NEXT))
        os.replace(path.with_suffix(NEXT), path)

    def start(self) -> None:
        """Make room for parts; those of other parameters are removed first. The caller holds the lock."""
        note = self.folder / "parameters.txt"
        text = repr(sorted(self.parameters.items())).encode()
        if not note.is_file() or note.read_bytes() != text:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            note.write_bytes(text)

    def finish(self, values: np.ndarray, seconds: float, versions: Mapping[str, str]) -> None:
        """Make the values of all rows part of the audit, listed in its manifest; the parts go."""
        if len(values) != len(self.audit):
            raise StoreError(f"stage {self.stage}: {len(values)} values for {len(self.audit)} rows")
        table = pa.table({self.stage: pa.array(values, pa.float64())})
        pq.write_table(table, self.audit.folder / (self.file + NEXT))
        list_stage(self.audit, self.stage, self.parameters, self.inputs(), seconds, versions)
        commit(self.audit.folder, self.audit.manifest, [self.file])
        shutil.rmtree(self.folder)


def list_stage(
    audit: Audit,
    stage: str,
    parameters: Mapping[str, Any],
    inputs: list[str],
    seconds: float,
    versions: Mapping[str, str],
    note: str = "",
) -> None:
    """Put a stage that has run on all rows into an audit's manifest, which is not written yet."""
    audit.manifest["stages"][stage] = {
        "parameters": dict(parameters),
        "inputs": inputs,
        "rows": len(audit),
        "seconds": round(seconds, 1),
        "versions": dict(versions),
        "files": stage_files(stage),
        **({"note": note} if note else {}),
    }
