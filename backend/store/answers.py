"""Tables of answers, one a model: what those of captions, probes, benchmarks and dialogues have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from backend.store.checks import stage_parts

OFF_ONE = 0.01
"""How far from 1 the sum of an answer's probabilities can be."""
OPEN = 8
"""Tables that are held in memory."""
Source = TypeVar("Source")


def chances_problem(table: pa.Table, wanted: np.ndarray, of: str) -> str:
    """What is wrong with the column of probabilities: each answer has `wanted` (one for each `of`), adding up to 1, or
    none. "" where nothing is."""
    held = table.column("probabilities").combine_chunks()
    flat = pc.list_flatten(held).to_numpy(zero_copy_only=False).astype("float64")
    if not ((flat >= 0) & (flat <= 1)).all():  # so is what is no number
        return "a probability is not from 0 to 1"
    lengths = pc.list_value_length(held).to_numpy(zero_copy_only=False)
    if ((lengths != 0) & (lengths != wanted)).any():
        return f"probabilities are not one for each {of}"
    totals = np.bincount(pc.list_parent_indices(held).to_numpy(), flat, minlength=len(table))[lengths > 0]
    return "" if (np.abs(totals - 1) <= OFF_ONE).all() else "probabilities do not add up to 1"


def picture_inputs(manifest: Mapping[str, Any]) -> list[str]:
    """What answers about pictures rest on: the shards, whose order is that of the rows."""
    return [entry["sha256"] for entry in manifest["shards"].values()]


class Answers(ABC, Generic[Source]):
    """The sources of one kind of stage in an opened audit; every table is checked when the audit is opened.

    `KIND` is how the names of these stages begin. `sources` holds them by name.
    """

    KIND: str

    def __init__(self, folder: Path, manifest: Mapping[str, Any], rows: int) -> None:
        self._folder, self._manifest, self._rows = folder, manifest, rows
        stages = ((stage_parts(name), entry) for name, entry in manifest["stages"].items())
        self.sources: dict[str, Source] = {
            parts[1]: self._source(parts[1], entry["parameters"]) for parts, entry in stages if parts[0] == self.KIND
        }
        self._open = lru_cache(maxsize=OPEN)(self._table)
        for name in self.sources:
            self._open(name)

    def table(self, name: str) -> pd.DataFrame:
        """What a source of `sources` said, sorted and checked; see the module's SCHEMA."""
        return self._open(name)

    @abstractmethod
    def _source(self, name: str, parameters: Mapping[str, Any]) -> Source:
        """A source from what the manifest holds of it. Raises StoreError."""

    @abstractmethod
    def _table(self, name: str) -> pd.DataFrame:
        """Its table, read and checked. Raises StoreError."""

    def _stage(self, name: str) -> dict[str, Any]:
        return self._manifest["stages"][f"{self.KIND}-{name}"]


class PictureAnswers(Answers[Source]):
    """Answers of which some are about the audit's own pictures (column `row`, -1 for all others).

    Those are left out where the audit's pictures are no longer the ones asked about (`current`).
    """

    def current(self, name: str) -> bool:
        """Whether the pictures of a source's answers are still the audit's; images that came later change nothing."""
        inputs = self._stage(name)["inputs"]
        return picture_inputs(self._manifest)[: len(inputs)] == inputs

    def _still(self, name: str, table: pd.DataFrame) -> pd.DataFrame:
        return table if self.current(name) else table[table["row"] < 0].reset_index(drop=True)
