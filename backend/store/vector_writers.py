"""Writing embeddings, regions and maps. Whoever writes holds the audit's lock."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from backend.store.arrays import mapped, npy_head
from backend.store.checks import stage_files
from backend.store.files import NEXT, commit
from backend.store.reader import Audit
from backend.store.stages import StageWriter, list_stage
from backend.store.summaries import to_json
from backend.store.vectors import Regions


class EmbeddingWriter(StageWriter):
    """Writes one embedding shard by shard; `parameters` must have its "width"."""

    DTYPE = "float16"

    def __init__(self, audit: Audit, embedding: str, parameters: Mapping[str, Any]) -> None:
        super().__init__(audit, f"embed-{embedding}", parameters)

    def shape(self, rows: int) -> tuple[int, ...]:
        return (rows, self.parameters["width"])

    def earlier(self) -> np.ndarray | None:
        """The vectors of an audit that had fewer images, memory-mapped; None where there are none of this kind."""
        entry = self.still_holds()
        return mapped(self.audit.folder / self.file, self.shape(entry["rows"]), self.DTYPE) if entry else None

    def write(self, parts: Iterator[np.ndarray], versions: Mapping[str, str]) -> None:
        """Make the vectors of all rows, given in order and in pieces of any length, part of the audit; what `save` kept
        goes. Regions and maps of the vectors before are stale from then on."""
        path, started = self.audit.folder / (self.file + NEXT), time.perf_counter()
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            file.write(npy_head(self.shape(len(self.audit)), self.DTYPE))
            for part in parts:
                file.write(np.ascontiguousarray(part, self.DTYPE).data)
        mapped(path, self.shape(len(self.audit)), self.DTYPE)
        seconds = time.perf_counter() - started
        list_stage(self.audit, self.stage, self.parameters, self.inputs(), seconds, versions)
        commit(self.audit.folder, self.audit.manifest, [self.file])
        shutil.rmtree(self.folder, ignore_errors=True)


def write_regions(
    audit: Audit,
    found: list[Regions],
    parameters: Mapping[int, Mapping[str, Any]],
    seconds: float,
    versions: Mapping[str, str],
) -> None:
    """Make regions of one embedding, of one or several k, part of the audit at once. `parameters` go by k."""
    (audit.folder / "regions").mkdir(exist_ok=True)
    changed = []
    for regions in found:
        stage = f"regions-{regions.embedding}-{regions.k}"
        table, centroids, summary = stage_files(stage)
        columns = {
            "region": pa.array(regions.region, pa.int16()),
            "margin": pa.array(regions.margin, pa.float32()),
            "member": pa.array(regions.member, pa.int16()),
        }
        pq.write_table(pa.table(columns), audit.folder / (table + NEXT))
        _write_array(audit, centroids, regions.centroids)
        (audit.folder / (summary + NEXT)).write_bytes(to_json(regions.summary))
        inputs, note = audit.vectors.inputs(regions.embedding), " ".join(regions.summary.notes)[:1000]
        list_stage(audit, stage, parameters[regions.k], inputs, seconds, versions, note)
        changed += [table, centroids, summary]
    commit(audit.folder, audit.manifest, changed)


def write_map(
    audit: Audit,
    embedding: str,
    points: np.ndarray,
    parameters: Mapping[str, Any],
    seconds: float,
    versions: Mapping[str, str],
    note: str = "",
) -> None:
    """Make a map, float32 of shape (rows, 2), part of the audit."""
    stage = f"map-{embedding}"
    (audit.folder / "map").mkdir(exist_ok=True)
    _write_array(audit, stage_files(stage)[0], points)
    list_stage(audit, stage, parameters, audit.vectors.inputs(embedding), seconds, versions, note)
    commit(audit.folder, audit.manifest, stage_files(stage))


def _write_array(audit: Audit, name: str, values: np.ndarray) -> None:
    with (audit.folder / (name + NEXT)).open("wb") as file:
        file.write(npy_head(values.shape, "float32"))
        file.write(np.ascontiguousarray(values, "float32").data)
