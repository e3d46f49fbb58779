"""The measures of neutrality for many cells at once: backend.metrics.neutrality.measures without a loop over cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from backend.metrics import bootstrap
from backend.metrics.bootstrap import DRAWS, quantiles
from backend.metrics.neutrality import (
    FEWEST,
    average_gender,
    delta_ag,
    delta_neutrality,
    neutral_accuracy,
    pairwise,
)

Floats = NDArray[np.float64]
MEASURES = {
    "ag": "AG (balance)",
    "delta_ag": "ΔAG (unevenness)",
    "delta_neutrality": "ΔN (neutrality)",
    "neutral_accuracy": "“No preference”",
    "unparsed": "Unreadable",
}
SHARES = ("neutral_accuracy", "unparsed")
CHOSEN = ("ag", "delta_ag")
"""Measures that rest on the answers which chose a class."""
IN_CACHE = 160_000
"""Numbers that cells worked on together hold: more is slower, as they leave the processor's cache."""


@dataclass(frozen=True)
class Cell:
    """One measure of one cell: its value, its interval (NaN: none), and the counts behind it.

    `counts` are the answers by class, then "no preference", then unparsed. `few` says why there is no value to show.
    """

    value: float
    low: float
    high: float
    inputs: int
    counts: tuple[int, ...]
    few: str = ""

    @property
    def answers(self) -> int:
        return sum(self.counts)

    @property
    def chosen(self) -> int:
        return sum(self.counts[:-2])


def of_sums(sums: NDArray, measure: str) -> Floats:
    """A measure of summed tables, shape (..., classes + 2). Raises KeyError for a name that is none of MEASURES."""
    counts, neutral, total = sums[..., :-2], sums[..., -2], sums.sum(axis=-1)
    if measure == "ag":
        return average_gender(counts[..., 0], counts[..., 1])
    if measure == "delta_ag":
        return np.where(total > 0, delta_ag(counts), np.nan)
    if measure == "delta_neutrality":
        return delta_neutrality(counts, neutral, total)
    return neutral_accuracy({"neutral_accuracy": neutral, "unparsed": sums[..., -1]}[measure], total)


@lru_cache(maxsize=32)
def _weights(n: int) -> NDArray[np.uint8]:
    """How often each of n inputs is drawn in each resample: those of `measures`, seed 0. Not to be written to.

    No input is drawn 256 times: even of 2,000 draws that has a probability below 1e-300.
    """
    drawn = np.random.default_rng([0, n]).multinomial(n, np.full(n, 1 / n), size=DRAWS).astype(np.uint8)
    drawn.setflags(write=False)
    return drawn


def resampled(tables: NDArray) -> Floats:
    """Summed resamples of tables of equal shape (cells, inputs, columns): shape (cells, draws, columns).

    Tables with the same number of inputs share their draws; each cell's own interval is exact for that. Those of more
    than SHARED_UP_TO inputs are drawn one by one, as `measures` draws them.
    """
    cells, n, columns = tables.shape
    if n > bootstrap.SHARED_UP_TO:
        return np.stack([bootstrap.drawn_sums(table) for table in tables])
    wide = tables.transpose(1, 0, 2).reshape(n, cells * columns).astype(np.float32)
    return (_weights(n).astype(np.float32) @ wide).reshape(DRAWS, cells, columns).transpose(1, 0, 2).astype(float)


def ends(value: Floats, drawn: Floats, shifted: bool) -> tuple[Floats, Floats]:
    """The 95 % intervals of cells from their resamples (cells, draws), as `measures` makes them."""
    known = np.isfinite(drawn)
    whole = known.all(axis=1)
    low, high, mean = (np.full(len(value), np.nan) for _ in range(3))
    if whole.any():
        low[whole], high[whole] = quantiles(drawn[whole])
        mean[whole] = drawn[whole].mean(axis=1)
    for at in np.flatnonzero(~whole & known.any(axis=1)):
        low[at], high[at] = quantiles(drawn[at][known[at]])
        mean[at] = drawn[at][known[at]].mean()
    if not shifted:
        return low, high
    move = 2 * (value - mean)
    return np.maximum(0, np.minimum(2 * value - high, low + move)), np.minimum(
        1, np.maximum(2 * value - low, high + move)
    )


def cells_of(tables: Sequence[NDArray], measure: str, fewest: int = FEWEST) -> list[Cell]:
    """One cell for each `tally` table (inputs, classes + 2): its measure, its interval, or why neither is shown.

    By hand: 30 inputs, all answered "no preference", are neutrality 1 without spread; one input is too few.

    >>> import numpy as np
    >>> many = np.tile([0, 0, 1, 0], (30, 1))
    >>> [(cell.value, cell.low, cell.few) for cell in cells_of([many, many[:1]], "delta_neutrality")]
    [(1.0, 1.0, ''), (1.0, nan, 'too few inputs')]

    `fewest`: below so many inputs, or answers that chose a class where the measure rests on these, there is no
    interval, and `few` says so. Formula, range and source: backend.metrics.neutrality.measures.
    """
    found: list[Cell | None] = [None] * len(tables)
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for at, table in enumerate(tables):
        sums = table.sum(axis=0)
        value = float(of_sums(sums, measure)) if len(table) else np.nan
        few = _few(sums, len(table), measure, fewest)
        found[at] = Cell(value, np.nan, np.nan, len(table), tuple(int(v) for v in sums), few)
        if not few and len(table) > 1:
            alike[table.shape].append(at)
    for (n, columns), own in alike.items():
        step = max(1, IN_CACHE // (DRAWS * columns))
        for start in range(0, len(own), step):
            part = own[start : start + step]
            drawn = of_sums(resampled(np.stack([tables[at] for at in part])), measure)
            value = np.array([found[at].value for at in part])
            low, high = ends(value, drawn, measure.startswith("delta"))
            for at, one, other in zip(part, low, high, strict=True):
                found[at] = Cell(found[at].value, float(one), float(other), n, found[at].counts)
    return [cell for cell in found if cell is not None]


def _few(sums: NDArray, inputs: int, measure: str, fewest: int) -> str:
    if inputs == 0:
        return "not asked"
    if inputs < fewest:
        return "too few inputs"
    chosen = int(sums[:-2].sum())
    if measure in CHOSEN and chosen < fewest:
        return "too few choices" if chosen else "none chosen"
    return ""


def pairs_of(table: NDArray) -> tuple[Floats, Floats, Floats]:
    """Every pair of classes of one table: the signed difference, and the ends of its 95 % interval, each (pairs,)."""
    value = pairwise(table.sum(axis=0)[:-2])
    if len(table) < FEWEST:
        return value, np.full(len(value), np.nan), np.full(len(value), np.nan)
    low, high = ends(value, pairwise(resampled(table[None])[0, :, :-2]).T, False)
    return value, low, high
