"""Writing what models answered: batch by batch, so that a killed run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.store.answers import picture_inputs
from backend.store.checks import stage_files
from backend.store.files import NEXT, StoreError, commit, sync
from backend.store.probes import (
    DIRECTIONS,
    KEYS,
    LONGEST_NOTE,
    OUTCOMES,
    SCHEMA,
    STYLES,
    ProbeSource,
    probe_values,
    read_source,
)
from backend.store.reader import Audit
from backend.store.stages import list_stage

SAID = ("answer", "outcome", "text", "probabilities")
"""What a model adds to a prompt."""
PART = pa.schema([("key", pa.string()), *(SCHEMA.field(name) for name in SAID)])
MOST_NOTES = 10
DIGITS = 4
"""Decimal places that are kept of a probability: more say nothing, and do not compress."""


@dataclass
class Kept:
    """Key of a prompt -> what was answered (the values SAID); what the model had to say of it, a sentence each; what
    tells this model from others of its name; and the seconds it took."""

    answers: dict[str, dict[str, Any]]
    notes: list[str]
    mark: str = ""
    seconds: float = 0.0


class ProbeWriter:
    """Writes one model's answers. The caller holds the audit's lock."""

    KIND = "probe"

    def __init__(self, audit: Audit, name: str) -> None:
        self.audit = audit
        self.stage = f"{self.KIND}-{name}"
        self.file = stage_files(self.stage)[0]
        self.folder = (audit.folder / self.file).with_suffix(".parts")

    def earlier(self) -> tuple[ProbeSource, pd.DataFrame] | None:
        """The source and answers of a finished run, or None. Those about pictures that have changed are left out."""
        name = self.stage.removeprefix("probe-")
        source = self.audit.probes.sources.get(name)
        return None if source is None else (source, self.audit.probes.table(name))

    def kept(self, mark: str | None = None) -> Kept:
        """What interrupted runs of a model with this mark have kept (None: of any). What cannot be read is none."""
        found = Kept({}, [])
        for path in sorted(self.folder.glob("*.parquet")):
            part = _part(path)
            if mark is None or part.mark == mark:
                found.answers.update(part.answers)
                found.notes.extend(note for note in part.notes if note not in found.notes)
                found.seconds += part.seconds
        return found

    def keep(self, keys: Sequence[str], batch: Kept) -> None:
        """Keep a batch, its answers in the order of the keys."""
        said = pd.DataFrame([batch.answers[key] for key in keys], columns=list(SAID))
        table = as_table(said.assign(key=list(keys)), PART)
        told = {"mark": batch.mark, "notes": json.dumps(batch.notes[:MOST_NOTES]), "seconds": str(batch.seconds)}
        name = hashlib.sha256("\n".join([batch.mark, *keys]).encode()).hexdigest()[:32]
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.parquet"
        pq.write_table(table.replace_schema_metadata(told), path.with_suffix(NEXT))
        sync(path.with_suffix(NEXT))
        os.replace(path.with_suffix(NEXT), path)

    def drop(self, keys: Iterable[str]) -> None:
        """Remove the batches of which every answer is among `keys`, and what no run could read."""
        gone = set(keys)
        for path in sorted(self.folder.glob("*")):
            if path.suffix != ".parquet" or set(_part(path).answers) <= gone:
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


def _part(path: Path) -> Kept:
    """A kept batch; an empty one where the file is no such batch."""
    nothing = Kept({}, [])
    try:
        table = pq.read_table(path)
        told = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        notes, seconds, mark = json.loads(told["notes"]), float(told["seconds"]), told["mark"]
    except (OSError, ValueError, KeyError, RecursionError, pa.ArrowException):
        return nothing
    right = table.schema.remove_metadata().equals(PART) and not any(column.null_count for column in table.columns)
    right = right and set(pc.unique(table.column("outcome")).to_pylist()) <= set(OUTCOMES)
    right = right and isinstance(notes, list) and all(isinstance(note, str) for note in notes)
    if not right or not 0 <= seconds < 1e9:
        return nothing
    answers = {row.pop("key"): row for row in table.to_pylist()}
    return Kept(answers, [note[:LONGEST_NOTE] for note in notes[:MOST_NOTES]], mark, seconds)


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
