"""What an audit holds of the faces in its images, opened for reading: where they lie, and average faces of groups."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from backend.store.checks import GENERATIONS, stage_files, stage_parts
from backend.store.face_tables import average_columns, average_values, detection_columns, detection_values
from backend.store.files import StoreError
from backend.store.frames import read_frame
from backend.store.vectors import Vectors

OPEN_AVERAGES = 8


def averages_stage(embedding: str = "", k: int = 0) -> str:
    """The name of a stage of average faces: of all images, or of those of each region."""
    return f"averages-{embedding}-{k}" if k else "averages"


def read_detections(folder: Path, rows: int) -> pd.DataFrame:
    """The table of the stage `faces`, which covers so many rows."""
    return read_frame(folder / stage_files("faces")[0], detection_columns, detection_values, rows)


class Faces:
    """Detections and average faces of one audit, read-only; all are checked when the audit is opened.

    What was computed for other images than there are now, or from regions that have changed, is not here.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any], vectors: Vectors, generations: pd.DataFrame) -> None:
        self._folder = folder
        self._manifest = manifest
        self._vectors = vectors
        self._rows = len(generations)
        self._groups = generations[["system", "subject"]].drop_duplicates()
        self._read = lru_cache(maxsize=1)(self._detections)
        self._open = lru_cache(maxsize=OPEN_AVERAGES)(self._averages)
        self.detections()
        for embedding, k in [("", 0), *self.choices()]:
            self.averages(embedding, k)

    def inputs(self, embedding: str = "", k: int = 0) -> list[str]:
        """What averages are computed from: the hashes of the detections, of the table and, for those by region, of the
        regions."""
        files = [*stage_files("faces"), GENERATIONS, *(stage_files(f"regions-{embedding}-{k}")[:1] if k else [])]
        return [self._manifest["files"][name]["sha256"] for name in files]

    def current(self, stage: str) -> bool:
        """Whether a stage was computed from the images, the detections and the regions that there are now."""
        entry = self._manifest["stages"].get(stage)
        if entry is None or entry["rows"] != self._rows:
            return False
        kind, embedding, k = stage_parts(stage)
        if kind == "faces":
            return entry["inputs"] == [shard["sha256"] for shard in self._manifest["shards"].values()]
        if not self.current("faces") or (k and not self._vectors.current(f"regions-{embedding}-{k}")):
            return False
        return entry["inputs"] == self.inputs(embedding, k)

    def detections(self) -> pd.DataFrame | None:
        """A row for every generation, in their order, or None before the stage ran on all of them.

        `faces` says how many were found; the others are of the largest: `score` and `presence` (the two models' own,
        0 to 1), its box `x0, y0, x1, y1` and points `left_eye_x` ... `mouth_y` (pixels of the upright original, where
        "left" is left in the picture), `cut` (the box reaches the picture's edge) and `sharpness` of the aligned
        face. NaN where there is no face.
        """
        return self._read() if self.current("faces") else None

    def _detections(self) -> pd.DataFrame:
        return read_detections(self._folder, self._rows)

    def choices(self) -> list[tuple[str, int]]:
        """The embeddings and numbers of regions that have averages by region."""
        parts = {name: stage_parts(name) for name in self._manifest["stages"]}
        return sorted(
            part[1:] for name, part in parts.items() if part[0] == "averages" and part[2] and self.current(name)
        )

    def averages(self, embedding: str = "", k: int = 0) -> pd.DataFrame | None:
        """A row for every group: system and subject, and region where an embedding and its k are named (else -1).

        `total` images, `n` faces in the average, `several` images with more than one face; `sharpness` of the average,
        `members` the mean of theirs, `ratio` of the two and `homogeneity`, each from 0 to 1 with its interval; NaN
        where it cannot be said. None where there are none.
        """
        if not self.current(averages_stage(embedding, k)):
            return None
        return self._open(embedding, k)[0]

    def picture(self, place: int, embedding: str = "", k: int = 0) -> bytes:
        """The average face of row `place` of `averages`, a WebP of 256 x 256; b"" where no face is in it."""
        if not self.current(averages_stage(embedding, k)):
            raise StoreError(f"{self._folder} has no averages for {k} regions of the embedding {embedding[:40]!r}")
        return self._open(embedding, k)[1].iloc[place]

    def _averages(self, embedding: str, k: int) -> tuple[pd.DataFrame, pd.Series]:
        path = self._folder / stage_files(averages_stage(embedding, k))[0]
        values = partial(average_values, k=k, groups=self._groups, rows=self._rows)
        frame = read_frame(path, average_columns, values, most=self._rows)
        pictures = frame.pop("picture")
        return frame.astype({"system": "str", "subject": "str"}), pictures
