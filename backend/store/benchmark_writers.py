"""Writing what models answered in benchmarks: batch by batch, so that a killed run goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pyarrow.parquet as pq

from backend.store.answers import picture_inputs
from backend.store.benchmarks import (
    CONDITIONS,
    SCHEMA,
    VARIANTS,
    BenchmarkSource,
    benchmark_values,
    read_source,
)
from backend.store.checks import stage_files
from backend.store.files import NEXT, StoreError, commit
from backend.store.probe_writers import ProbeWriter, as_table
from backend.store.reader import Audit
from backend.store.stages import list_stage


class BenchmarkWriter(ProbeWriter):
    """Writes one model's answers; its batches are kept as those of probes are. The caller holds the audit's lock."""

    def __init__(self, audit: Audit, name: str) -> None:
        self.audit = audit
        self.name = name
        self.stage = f"bench-{name}"
        self.file = stage_files(self.stage)[0]
        self.folder = (audit.folder / self.file).with_suffix(".parts")

    def earlier(self) -> tuple[BenchmarkSource, pd.DataFrame] | None:
        """The source and answers of finished runs, or None. Those about pictures that have changed are left out."""
        source = self.audit.benchmarks.sources.get(self.name)
        return None if source is None else (source, self.audit.benchmarks.table(self.name))

    def finish(
        self, source: BenchmarkSource, values: pd.DataFrame, seconds: float, versions: Mapping[str, str]
    ) -> None:
        """Make the answers part of the audit, listed in its manifest. Raises StoreError where they are none."""
        table = as_table(_sorted(values, source), SCHEMA)
        read_source(source.name, source.parameters())
        wrong = benchmark_values(table, len(self.audit), source)
        if wrong:
            raise StoreError(f"stage {self.stage}: {wrong}")
        target = self.audit.folder / (self.file + NEXT)
        target.parent.mkdir(exist_ok=True)
        pq.write_table(table, target, compression="zstd")
        own = bool(len(values)) and int(values["row"].max()) >= 0
        inputs = picture_inputs(self.audit.manifest) if own else []
        list_stage(self.audit, self.stage, source.parameters(), inputs, seconds, versions)
        commit(self.audit.folder, self.audit.manifest, [self.file])


def _sorted(values: pd.DataFrame, source: BenchmarkSource) -> pd.DataFrame:
    """Answers in the order in which they are stored: by task, condition and variant, then item."""
    order = {"task": tuple(source.tasks), "condition": CONDITIONS, "variant": VARIANTS}
    ranks = pd.DataFrame(index=values.index)
    for name in ("task", "condition", "variant"):
        ranks[name] = values[name].astype(object).map({word: place for place, word in enumerate(order[name])})
    ranks["item"] = values["item"].astype(object)
    return values.loc[ranks.sort_values(["task", "condition", "variant", "item"], kind="stable").index]


def write_benchmarks(audit: Audit, source: BenchmarkSource, values: pd.DataFrame) -> None:
    """Answers that came from elsewhere, as a model of the audit. The caller holds the lock."""
    BenchmarkWriter(audit, source.name).finish(source, values, 0.0, {})
