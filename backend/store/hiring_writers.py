"""Writing what models answered about two applicants; batches of a killed run are kept as those of probes are."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pyarrow.parquet as pq

from backend.hiring_texts import KINDS, STEPS
from backend.store.files import NEXT, StoreError, commit
from backend.store.hiring import HiringSource, read_source, values_problem
from backend.store.hiring_checks import KEYS, SCHEMA
from backend.store.probe_writers import ProbeWriter, as_table
from backend.store.reader import Audit
from backend.store.stages import list_stage


class HiringWriter(ProbeWriter):
    """Writes one model's answers. The caller holds the audit's lock."""

    KIND = "hire"

    def earlier(self) -> tuple[HiringSource, pd.DataFrame] | None:
        """The source and answers of a finished run, or None."""
        name = self.stage.removeprefix("hire-")
        source = self.audit.hiring.sources.get(name)
        return None if source is None else (source, self.audit.hiring.table(name))

    def finish(self, source: HiringSource, values: pd.DataFrame, seconds: float, versions: Mapping[str, str]) -> None:
        """Make the answers part of the audit, listed in its manifest. Raises StoreError where they are none."""
        table = as_table(_sorted(values), SCHEMA)
        read_source(source.name, source.parameters())
        wrong = values_problem(table, source)
        if wrong:
            raise StoreError(f"stage {self.stage}: {wrong}")
        target = self.audit.folder / (self.file + NEXT)
        target.parent.mkdir(exist_ok=True)
        pq.write_table(table, target, compression="zstd")
        list_stage(self.audit, self.stage, source.parameters(), [], seconds, versions)
        commit(self.audit.folder, self.audit.manifest, [self.file])


def _sorted(values: pd.DataFrame) -> pd.DataFrame:
    """Answers in the order in which they are stored: kinds and steps in that of their lists, texts by the alphabet."""
    order = {"kind": KINDS, "step": STEPS}
    ranks = pd.DataFrame(index=values.index)
    for name in KEYS:
        column = values[name].astype(object)
        ranks[name] = column.map({word: place for place, word in enumerate(order[name])}) if name in order else column
    return values.loc[ranks.sort_values(list(KEYS), kind="stable").index]


def write_hiring(audit: Audit, source: HiringSource, values: pd.DataFrame) -> None:
    """Answers that came from elsewhere, as a model of the audit. The caller holds the lock."""
    HiringWriter(audit, source.name).finish(source, values, 0.0, {})
