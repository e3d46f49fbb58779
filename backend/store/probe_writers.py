"""Writing what models answered: batch by batch, so that a killed run goes on where it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.store.checks import stage_files
from backend.store.files import NEXT, StoreError, commit, sync
from backend.store.probes import (
    DIRECTIONS,
    KEYS,
    OUTCOMES,
    SCHEMA,
    STYLES,
    ProbeSource,
    picture_inputs,
    probe_values,
    read_source,
)
from backend.store.reader import Audit
from backend.store.stages import list_stage

SAID = ("answer", "outcome", "text", "probabilities")
"""What a model adds to a prompt."""
PART = pa.schema([("key", pa.string()), *(SCHEMA.field(name) for name in SAID)])
DIGITS = 4
"""Decimal places that are kept of a probability: more say nothing, and do not compress."""


class ProbeWriter:
    """Writes one model's answers. The caller holds the audit's lock."""

    def __init__(self, audit: Audit, name: str) -> None:
        self.audit = audit
        self.stage = f"probe-{name}"
        self.file = stage_files(self.stage)[0]
        self.folder = (audit.folder / self.file).with_suffix(".parts")

    def earlier(self) -> tuple[ProbeSource, pd.DataFrame] | None:
        """The source and answers of a finished run, or None. Those about pictures that have changed are left out."""
        name = self.stage.removeprefix("probe-")
        source = self.audit.probes.sources.get(name)
        return None if source is None else (source, self.audit.probes.table(name))

    def kept(self) -> dict[str, dict[str, object]]:
        """Key -> what was answered, of every batch that an interrupted run has kept. What cannot be read is none."""
        found: dict[str, dict[str, object]] = {}
        for path in sorted(self.folder.glob("*.parquet")):
            found.update(_part(path))
        return found

    def keep(self, keys: Iterable[str], said: pd.DataFrame) -> None:
        """Keep a batch: its keys, and the columns SAID."""
        table = as_table(said.assign(key=list(keys)), PART)
        name = hashlib.sha256("\n".join(table.column("key").to_pylist()).encode()).hexdigest()[:32]
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.parquet"
        pq.write_table(table, path.with_suffix(NEXT))
        sync(path.with_suffix(NEXT))
        os.replace(path.with_suffix(NEXT), path)

    def drop(self, keys: Iterable[str]) -> None:
        """Remove the batches of which every answer is among `keys`, and what no run could read."""
        gone = set(keys)
        for path in sorted(self.folder.glob("*")):
            if path.suffix != ".parquet" or set(_part(path)) <= gone:
                path.unlink()
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def finish(self, source: ProbeSource, values: pd.DataFrame, seconds: float, versions: Mapping[str, str]) -> None:
        """Make the answers part of the audit, listed in its manifest. Raises StoreError where they are none."""
        table = as_table(_sorted(values, source), SCHEMA)
        read_source(source.name, source.parameters())
        wrong = probe_values(table, len(self.audit), source)
        if wrong:
            raise StoreError(f"stage {self.stage}: {wrong}")
        target = self.audit.folder / (self.file + NEXT)
        target.parent.mkdir(exist_ok=True)
        pq.write_table(table, target, compression="zstd")
        shown = bool(len(values)) and int(values["row"].max()) >= 0
        inputs = picture_inputs(self.audit.manifest) if shown else []
        list_stage(self.audit, self.stage, source.parameters(), inputs, seconds, versions)
        commit(self.audit.folder, self.audit.manifest, [self.file])


def _part(path: Path) -> dict[str, dict[str, object]]:
    """The answers of a kept batch by their keys; none where the file is no such batch."""
    try:
        table = pq.read_table(path)
    except (OSError, ValueError, pa.ArrowException):
        return {}
    if not table.schema.remove_metadata().equals(PART) or any(column.null_count for column in table.columns):
        return {}
    if len(table) and not set(pc.unique(table.column("outcome")).to_pylist()) <= set(OUTCOMES):
        return {}
    return {row.pop("key"): row for row in table.to_pylist()}


def _sorted(values: pd.DataFrame, source: ProbeSource) -> pd.DataFrame:
    """Answers in the order in which they are stored: words in that of their lists, texts in that of the alphabet."""
    order = {"direction": DIRECTIONS, "style": STYLES, "attribute": tuple(source.classes)}
    ranks = pd.DataFrame(index=values.index)
    for name in KEYS:
        column = values[name].astype(object) if isinstance(values[name].dtype, pd.CategoricalDtype) else values[name]
        ranks[name] = column.map({word: place for place, word in enumerate(order[name])}) if name in order else column
    return values.loc[ranks.sort_values(list(KEYS), kind="stable").index]


def as_table(values: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Answers in the columns and types in which they are stored."""
    columns = []
    for field in schema:
        column = values[field.name].astype(object).tolist()
        if field.name == "probabilities":
            column = [[round(float(chance), DIGITS) for chance in chances] for chances in column]
        columns.append(pa.array(column, field.type))
    return pa.table(columns, schema=schema)


def write_probes(audit: Audit, source: ProbeSource, values: pd.DataFrame) -> None:
    """Answers that came from elsewhere, as a model of the audit. The caller holds the lock."""
    ProbeWriter(audit, source.name).finish(source, values, 0.0, {})
