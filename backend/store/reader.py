"""An audit opened for reading: its table in memory, its images by row from the memory map."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from backend.records import AXES, LATER_AXES, MIME, UNSPECIFIED
from backend.store.benchmarks import Benchmarks
from backend.store.checks import (
    GENERATIONS,
    REPORT,
    generations_columns,
    generations_values,
    measure_columns,
    measure_file,
    report_columns,
    report_values,
    stage_parts,
)
from backend.store.faces import Faces
from backend.store.files import StoreError, audit_folder, check_files, read_manifest
from backend.store.frames import read_frame
from backend.store.hiring import Hiring
from backend.store.neighbours import Neighbours
from backend.store.probes import Probes
from backend.store.shards import Shard
from backend.store.texts import Texts
from backend.store.vectors import Vectors

OPEN_SHARDS = 64
LARGE = ("embeddings/", "neighbours/")
"""Folders whose files are not hashed when an audit is opened."""
RETRIES = 5
"""How often an audit that another process is just committing is read anew."""


def read_report(folder: Path) -> pd.DataFrame:
    """The import report in an audit's folder: columns REPORT_COLUMNS, as strings."""
    return read_frame(folder / REPORT, report_columns, report_values).astype("str")


def read_measure(folder: Path, name: str) -> np.ndarray:
    """The numbers of a stage that the manifest lists."""
    return read_frame(folder / measure_file(name), partial(measure_columns, name))[name].to_numpy(dtype="float64")


def with_axes(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a column for every axis: audits from before an axis came say "unspecified" on it."""
    for axis in LATER_AXES:
        if axis not in table:
            values = pd.Categorical.from_codes(np.zeros(len(table), "int8"), [UNSPECIFIED])
            table.insert(table.columns.get_loc("seed"), axis, values)
    return table


def subjects(table: pd.DataFrame) -> pd.Series:
    """What each row's prompt was about, as people choose it: a profession, identity phrases, or an action."""
    keys = table[["subset", "profession", "action", *AXES]].drop_duplicates()

    def name(row: Mapping[str, Any]) -> str:
        if row["subset"] == "professions":
            return str(row["profession"])
        phrases = [str(row[axis]) for axis in AXES if row[axis] != UNSPECIFIED]
        if row["subset"] == "identities":
            return "identity prompt: " + (" + ".join(phrases) or "no phrase")
        return "neutral prompt: " + (str(row["action"]) or "no action")

    keys = keys.assign(subject=[name(row) for row in keys.to_dict("records")])
    merged = table[list(keys.columns[:-1])].merge(keys, how="left", on=list(keys.columns[:-1]))
    return merged["subject"].astype("category")


class Audit:
    """One audit, read-only. Row i of every table, shard and array is generation i.

    `generations` is the table of records.DTYPES and label_* / extra_* columns, with `subject` beside it;
    `manifest` is the parsed manifest, `vectors` holds embeddings, regions and maps, `faces` detections and average
    faces. Opening checks the size of every file, the hash of all but images, embeddings and neighbours, and that they
    are what checks.py says; `check()` reads every byte. What `neighbours` hands out is checked when it is asked for.
    """

    def __init__(self, folder: Path) -> None:
        manifest = read_manifest(folder)
        for _ in range(RETRIES):
            if manifest is None:
                raise StoreError(
                    f"{folder} holds no audit: make one with `python -m backend import SOURCE {folder.name}`"
                )
            try:
                self._read(folder, manifest)
                return
            except StoreError:
                read, manifest = manifest["sha256"], read_manifest(folder)
                if manifest is None or manifest["sha256"] == read:
                    raise
        raise StoreError(f"{folder} is being written: try again in a moment")

    def _read(self, folder: Path, manifest: dict[str, Any]) -> None:
        large = {name: entry for name, entry in manifest["files"].items() if name.startswith(LARGE)}
        small = {name: entry for name, entry in manifest["files"].items() if name not in large}
        wrong = check_files(folder, {"files": small, "shards": {}}, full=True)
        wrong += check_files(folder, {"files": large, "shards": manifest["shards"]}, full=False)
        if wrong:
            raise StoreError(
                f"{wrong[0]}{f' (and {len(wrong) - 1} more)' if wrong[1:] else ''}. "
                "Restore the folder from a copy, or delete it and import again."
            )
        self.folder = folder
        self.name = folder.name
        self.manifest = manifest
        self._shards = list(manifest["shards"])
        self._ends = np.cumsum([entry["rows"] for entry in manifest["shards"].values()])
        path, rows = folder / GENERATIONS, int(self._ends[-1])
        self.generations = with_axes(read_frame(path, generations_columns, generations_values, rows))
        self.generations["subject"] = subjects(self.generations)
        self.report()
        self.vectors = Vectors(folder, manifest, rows)
        self.texts = Texts(folder, manifest, rows)
        self.probes = Probes(folder, manifest, rows)
        self.benchmarks = Benchmarks(folder, manifest, rows)
        self.hiring = Hiring(folder, manifest, rows)
        self.neighbours = Neighbours(folder, manifest, rows, self.vectors)
        self.faces = Faces(folder, manifest, self.vectors, self.generations)
        for name, entry in manifest["stages"].items():
            if stage_parts(name)[0] == "measure" and len(read_measure(folder, name)) != entry["rows"]:
                raise StoreError(f"{folder / measure_file(name)} does not have a number for every row. Import again.")
        self._index = pd.Index(self.generations["id"])
        self._shard = lru_cache(maxsize=OPEN_SHARDS)(lambda i: Shard(folder / self._shards[i]))

    @classmethod
    def open(cls, cache: Path, name: str) -> Audit:
        """Open `cache/name`. Raises StoreError with a sentence."""
        return cls(audit_folder(cache, name))

    def __len__(self) -> int:
        return len(self.generations)

    def row_of(self, generation_id: str) -> int | None:
        """The row of a generation, or None where the audit has no such id."""
        try:
            return int(self._index.get_loc(generation_id))
        except KeyError:
            return None

    def image(self, row: int) -> tuple[bytes, str]:
        """The original bytes of a row and their media type. Raises StoreError where the shard is damaged."""
        return self._bytes("image", row), MIME[str(self.generations["format"].iat[row])]

    def thumbnail(self, row: int) -> bytes:
        """The WebP thumbnail of a row."""
        return self._bytes("thumbnail", row)

    def _bytes(self, column: str, row: int) -> bytes:
        index = int(np.searchsorted(self._ends, row, side="right"))
        try:
            return self._shard(index).bytes_of(column, row - (int(self._ends[index - 1]) if index else 0))
        except (OSError, pa.ArrowException, IndexError, KeyError) as error:
            raise StoreError(
                f"{self.folder / self._shards[index]} is damaged ({str(error)[:80]}). "
                "Restore the folder from a copy, or delete it and import again."
            ) from error

    def shards(self) -> list[tuple[int, int, str]]:
        """First row, end row and hash of each shard: the ranges over which stages work."""
        ends = [int(end) for end in self._ends]
        hashes = [entry["sha256"] for entry in self.manifest["shards"].values()]
        return list(zip([0, *ends[:-1]], ends, hashes, strict=True)) if ends else []

    def codes(self, column: str, values: str | Collection[str]) -> np.ndarray:
        """A mask of the rows whose `column` (a categorical) is one of `values`."""
        values = [values] if isinstance(values, str) else list(values)
        series = self.generations[column].cat
        wanted = series.categories.get_indexer(values)
        wanted = wanted[wanted >= 0]
        codes = series.codes.to_numpy()
        return codes == wanted[0] if len(wanted) == 1 else np.isin(codes, wanted)

    def rows(self, **equals: str | Collection[str]) -> np.ndarray:
        """Row numbers, in storage order, where every named column is the value (or one of the values) given.

        `audit.rows(system="A", adjective="")`; an unknown value matches nothing; no argument gives all rows.
        """
        mask = np.ones(len(self), dtype=bool)
        for column, values in equals.items():
            mask &= self.codes(column, values)
        return np.flatnonzero(mask)

    def measure(self, name: str) -> np.ndarray | None:
        """A stage's float64 number for every row (NaN where it has none), or None before the stage ran on all rows."""
        entry = self.manifest["stages"].get(name)
        if entry is None or entry["rows"] != len(self) or stage_parts(name)[0] != "measure":
            return None
        values = read_measure(self.folder, name)
        return values[: len(self)] if len(values) >= len(self) else None  # longer where an import came since

    def report(self) -> pd.DataFrame:
        """What imports left out or changed: columns REPORT_COLUMNS, as strings."""
        return read_report(self.folder)

    def check(self) -> list[str]:
        """Read every byte and return what is wrong, a sentence each; empty where all is well."""
        return check_files(self.folder, self.manifest, full=True)
