"""What an audit holds for finding images that are like another, read and checked when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from backend.store.arrays import numbers
from backend.store.checks import stage_files, stage_parts
from backend.store.vectors import Vectors


class Neighbours:
    """The stages `neighbours-colour`, `neighbours-words` and `neighbours-embedding-NAME` of one audit, read-only."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], rows: int, vectors: Vectors) -> None:
        self._folder, self._manifest, self._rows, self._vectors = folder, manifest, rows, vectors

    def inputs(self, kind: str) -> list[str]:
        """What a kind is computed from: the hashes of the images' shards, or of an embedding and the table."""
        if kind.startswith("embedding-"):
            return self._vectors.inputs(kind.removeprefix("embedding-"))
        return [entry["sha256"] for entry in self._manifest["shards"].values()]

    def parameters(self, kind: str) -> dict[str, Any]:
        """What the manifest says of how a kind was made; empty where it was not."""
        return self._manifest["stages"].get(f"neighbours-{kind}", {}).get("parameters", {})

    def state(self, kind: str, wanted: Mapping[str, Any]) -> str:
        """ "done", "stale" (made from other images or vectors, or with other parameters than `wanted`) or "missing"."""
        entry = self._manifest["stages"].get(f"neighbours-{kind}")
        if entry is None:
            return "missing"
        same = all(entry["parameters"].get(name) == value for name, value in wanted.items())
        return "done" if same and entry["rows"] == self._rows and entry["inputs"] == self.inputs(kind) else "stale"

    def _file(self, kind: str, number: int = 0) -> Path:
        return self._folder / stage_files(f"neighbours-{kind}")[number]

    def kinds(self) -> list[str]:
        """The kinds that the manifest lists."""
        parts = (stage_parts(name) for name in self._manifest["stages"])
        return [name for kind, name, _ in parts if kind == "neighbours"]

    def colour(self, width: int) -> np.ndarray:
        """The colours of every image, float32 of shape (rows, width). Raises StoreError."""
        return numbers(self._file("colour"), (self._rows, width), "float32")
