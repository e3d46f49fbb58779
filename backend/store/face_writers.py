"""Writing detections and average faces. Whoever writes holds the audit's lock."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from backend.store.checks import stage_files
from backend.store.face_tables import AVERAGES, DETECTIONS, average_values, detection_values
from backend.store.faces import averages_stage, read_detections
from backend.store.files import NEXT, StoreError, commit
from backend.store.reader import Audit
from backend.store.stages import StageWriter, list_stage

ROW_GROUP = 256


def detection_row(
    faces: int = 0,
    score: float = np.nan,
    box: ArrayLike = (np.nan,) * 4,
    cut: bool = False,
    points: ArrayLike = (np.nan,) * 8,
    presence: float = np.nan,
    sharpness: float = np.nan,
) -> np.ndarray:
    """One row as FaceWriter takes it: float32 in the order of DETECTIONS. Without arguments: no face. Raises ValueError
    for numbers that no face has."""
    corners, centres = (np.asarray(values, float).ravel() for values in (box, points))
    row = np.array([faces, score, *corners, cut, *centres, presence, sharpness], "float32")
    wrong = _wrong(row[None])
    if wrong:
        raise ValueError(wrong)
    return row


class FaceWriter(StageWriter):
    """Writes the detections shard by shard: float32 of shape (rows, columns of DETECTIONS), which holds all of them
    exactly."""

    DTYPE = "float32"

    def __init__(self, audit: Audit, parameters: Mapping[str, Any]) -> None:
        super().__init__(audit, "faces", parameters)

    def shape(self, rows: int) -> tuple[int, ...]:
        return (rows, len(DETECTIONS))

    def load(self, shard: str, rows: int) -> np.ndarray | None:
        """The finished values of a shard, where they are ones that can be."""
        values = super().load(shard, rows)
        return None if values is None or _wrong(values) else values

    def earlier(self) -> np.ndarray | None:
        """The values of an audit that had fewer images; None where there are none of this kind."""
        entry = self.still_holds()
        return read_detections(self.audit.folder, entry["rows"]).to_numpy(self.DTYPE) if entry else None

    def finish(self, values: np.ndarray, seconds: float, versions: Mapping[str, str]) -> None:
        """Make the detections of all rows part of the audit, listed in its manifest; the parts go."""
        wrong = _wrong(values) if len(values) == len(self.audit) else f"{len(values)} rows of {len(self.audit)}"
        if wrong:
            raise StoreError(f"stage {self.stage}: {wrong}")
        path = self.audit.folder / (self.file + NEXT)
        path.parent.mkdir(exist_ok=True)
        pq.write_table(_detections(values), path)
        list_stage(self.audit, self.stage, self.parameters, self.inputs(), seconds, versions)
        commit(self.audit.folder, self.audit.manifest, [self.file])
        shutil.rmtree(self.folder, ignore_errors=True)


def _detections(values: np.ndarray) -> pa.Table:
    columns = [
        pa.array(values[:, place].astype(field.type.to_pandas_dtype()), field.type)
        for place, field in enumerate(DETECTIONS)
    ]
    return pa.table(columns, schema=DETECTIONS)


def _wrong(values: np.ndarray) -> str:
    whole = values[:, [DETECTIONS.get_field_index(name) for name in ("faces", "cut")]]
    if not np.isfinite(values[:, 0]).all() or not ((whole >= 0) & (whole < 2**15) & (whole == np.floor(whole))).all():
        return "a number of faces is none"
    return detection_values(_detections(values))


def write_averages(
    audit: Audit,
    averages: pd.DataFrame,
    parameters: Mapping[str, Any],
    seconds: float,
    versions: Mapping[str, str],
    embedding: str = "",
    k: int = 0,
    note: str = "",
) -> None:
    """Make average faces (the columns of AVERAGES) part of the audit: of all images, or of each of k regions."""
    columns = [pa.array(averages[field.name].tolist(), field.type, from_pandas=False) for field in AVERAGES]
    table = pa.table(columns, schema=AVERAGES)
    wrong = average_values(table, k, audit.generations[["system", "subject"]].drop_duplicates(), len(audit))
    if wrong:
        raise StoreError(f"average faces: {wrong}")
    stage = averages_stage(embedding, k)
    (audit.folder / "faces").mkdir(exist_ok=True)
    target = audit.folder / (stage_files(stage)[0] + NEXT)
    texts = ["system", "subject"]
    pq.write_table(table, target, row_group_size=ROW_GROUP, use_dictionary=texts, compression="none")
    list_stage(audit, stage, parameters, audit.faces.inputs(embedding, k), seconds, versions, note)
    commit(audit.folder, audit.manifest, stage_files(stage))
