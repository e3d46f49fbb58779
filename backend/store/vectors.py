"""What an audit holds of its embeddings, the regions in them, and their maps, opened for reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from backend.store.arrays import mapped, numbers
from backend.store.checks import GENERATIONS, region_columns, region_values, stage_files, stage_parts
from backend.store.files import StoreError
from backend.store.frames import read_frame
from backend.store.summaries import Summary, from_json

WIDEST = 65_536
OPEN_REGIONS = 16


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of one embedding and k. Arrays are aligned with the audit's rows.

    `region`: int16 from 0 to k - 1, whose centroid is nearest (dot product); `margin`: float32, that product less the
    second highest, 0 or more; `member`: int16, the region that Ward's method put an identity into, -1 for rows that it
    was not given; `centroids`: float32 (k, width), of length 1. `summary` describes each region.
    """

    embedding: str
    k: int
    region: np.ndarray
    margin: np.ndarray
    member: np.ndarray
    centroids: np.ndarray
    summary: Summary


class Vectors:
    """Embeddings, regions and maps of one audit, read-only; all are checked when the audit is opened.

    What was computed for fewer images than there are now, or from vectors that have changed, is not here.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any], rows: int) -> None:
        self._folder = folder
        self._manifest = manifest
        self._rows = rows
        self._parts = {name: stage_parts(name) for name in manifest["stages"]}
        self._open = lru_cache(maxsize=OPEN_REGIONS)(self._read_regions)
        for name in self.embeddings():
            self.embedding(name)
            self.map(name)
        for name, k in self.choices():
            self.regions(name, k)

    def inputs(self, embedding: str) -> list[str]:
        """What regions and a map are computed from: the hashes of the vectors and of the table."""
        files = self._manifest["files"]
        return [files[name]["sha256"] for name in (*stage_files(f"embed-{embedding}"), GENERATIONS)]

    def current(self, stage: str) -> bool:
        """Whether a stage was computed from the images, and the vectors, that there are now."""
        entry = self._manifest["stages"].get(stage)
        if entry is None or entry["rows"] != self._rows:
            return False
        kind, embedding, _ = self._parts[stage]
        return kind == "embed" or (self.current(f"embed-{embedding}") and entry["inputs"] == self.inputs(embedding))

    def embeddings(self) -> list[str]:
        """The names of embeddings that have a vector for every row, in the order in which they came."""
        return [part[1] for stage, part in self._parts.items() if part[0] == "embed" and self.current(stage)]

    def parameters(self, embedding: str) -> dict[str, Any]:
        """What the manifest says of how an embedding was made: "kind", "model", "fingerprint", "width" and more."""
        if embedding not in self.embeddings():
            raise StoreError(f"{self._folder} has no embedding {embedding[:40]!r} of all its images")
        return self._manifest["stages"][f"embed-{embedding}"]["parameters"]

    def embedding(self, embedding: str) -> np.memmap:
        """The vectors, float16 of shape (rows, width), each of length 1 to half precision; memory-mapped."""
        width = self.parameters(embedding).get("width")
        if type(width) is not int or not 1 <= width <= WIDEST:
            raise StoreError(f"{self._folder}: the embedding {embedding} has no possible width. Embed it again.")
        return mapped(self._folder / stage_files(f"embed-{embedding}")[0], (self._rows, width), "float16")

    def choices(self) -> list[tuple[str, int]]:
        """The embeddings and numbers of regions that there are, by name and number."""
        found = [part for stage, part in self._parts.items() if part[0] == "regions" and self.current(stage)]
        return sorted((embedding, k) for _, embedding, k in found)

    def regions(self, embedding: str, k: int) -> Regions:
        """The regions of an embedding. Raises StoreError where there are none, or a file is not what it must be."""
        if (embedding, k) not in self.choices():
            raise StoreError(f"{self._folder} has no {k} regions of the embedding {embedding[:40]!r}")
        return self._open(embedding, k)

    def _read_regions(self, embedding: str, k: int) -> Regions:
        table, centroids, summary = (self._folder / name for name in stage_files(f"regions-{embedding}-{k}"))
        frame = read_frame(table, region_columns, partial(region_values, k=k), self._rows)
        width = self.embedding(embedding).shape[1]
        try:
            read = from_json(summary.read_bytes(), k, self._rows)
        except (OSError, ValueError) as error:
            raise StoreError(f"{summary} describes no regions: {error}. Restore it from a copy.") from error
        columns = {name: frame[name].to_numpy() for name in ("region", "margin", "member")}
        return Regions(embedding, k, **columns, centroids=numbers(centroids, (k, width), "float32"), summary=read)

    def map(self, embedding: str) -> np.ndarray | None:
        """Every row's place on the map, float32 of shape (rows, 2), or None where there is no map."""
        if f"map-{embedding}" not in self._parts or not self.current(f"map-{embedding}"):
            return None
        return numbers(self._folder / stage_files(f"map-{embedding}")[0], (self._rows, 2), "float32")
