"""The map's points as typed binary: server time and payload, for the starter's images repeated to some size."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace

import numpy as np

from backend.spec import ROOT
from backend.store import Audit
from benchmarks import _report
from benchmarks._report import Figure, milliseconds, spread
from explorers._regions_map import FIELDS, points

MOST_MS, MOST_MB = 300, 4.0


class Repeated:
    """What the map reads of an audit, its rows taken again and again; it is its own `vectors`."""

    def __init__(self, audit: Audit, rows: np.ndarray) -> None:
        self.name, self.vectors, self._audit, self._rows = audit.name, self, audit, rows
        self.generations = audit.generations.iloc[rows].reset_index(drop=True)

    def __len__(self) -> int:
        return len(self._rows)

    def map(self, embedding: str) -> np.ndarray:
        return self._audit.vectors.map(embedding)[self._rows]


def plain(audit: Repeated, regions) -> str:
    """The same values as lists of JSON."""
    columns = {name: audit.generations[name].astype(str).tolist() for name in ("id", *FIELDS) if name != "region"}
    place = audit.map(regions.embedding).tolist()
    return json.dumps({**columns, "region": regions.region.tolist(), "place": place})


def run(size: int, repeats: int) -> list[Figure]:
    """Take turns: the binary, uncached, and the lists."""
    audit = Audit.open(ROOT / "cache", "starter")
    rows = np.arange(size) % len(audit)
    name, k = audit.vectors.choices()[0]
    regions = audit.vectors.regions(name, k)
    many, regions = Repeated(audit, rows), replace(regions, region=regions.region[rows])
    turns = [
        (milliseconds(lambda: points.__wrapped__(many, regions)), milliseconds(lambda: plain(many, regions)))
        for _ in range(max(1, repeats))
    ]
    ours, theirs = ([turn[place] for turn in turns] for place in (0, 1))
    megabytes, lists = len(points.__wrapped__(many, regions)) / 1e6, len(plain(many, regions)) / 1e6
    ratio = statistics.median(theirs) / statistics.median(ours)
    return [
        Figure(
            f"map: {size:,} points as typed binary, against lists of JSON (server time)",
            spread(ours, "ms", 0),
            spread(theirs, "ms", 0),
            f"{ratio:.1f}x",
            f"at most {MOST_MS} ms",
            statistics.median(ours) <= MOST_MS,
        ),
        Figure(
            f"map: payload of {size:,} points",
            f"{megabytes:.2f} MB",
            f"{lists:.2f} MB",
            f"{lists / megabytes:.1f}x",
            f"at most {MOST_MB:.0f} MB",
            megabytes <= MOST_MB,
        ),
    ]


if __name__ == "__main__":
    _report.main(run, __doc__, size=94_500, repeats=5)
