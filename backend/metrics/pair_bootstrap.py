"""Bootstrap intervals of ratios over few pairs: every pair is drawn anew with all that it adds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from backend.metrics.bootstrap import SHARED_UP_TO, drawn_sums

Floats = NDArray[np.float64]
FEWEST = 5
"""Below so many pairs a measure has no interval."""
CONFIDENCE, DRAWS = 0.95, 4000
FEW, ALIKE = "few", "alike"


@dataclass(frozen=True)
class Estimate:
    """A measure: its value, its interval (NaN where there is none; `why`), n pairs and k dialogues it rests on.

    `why`: "" with an interval; "few" for fewer than FEWEST pairs; "alike" where all pairs agree, so that drawing them
    anew says nothing of the spread.
    """

    value: float
    low: float
    high: float
    n: int
    k: int
    why: str = ""


def estimate(value: float, sums: Floats, k: int, confidence: float = CONFIDENCE, draws: int = DRAWS) -> Estimate:
    """A ratio's estimate from what each pair adds to it: `sums` has a row a pair, its part and its whole (above 0).

    By hand: of five pairs one has 0 of 2 and four have 2 of 2: 8 / 10, and no resample can be above 1.

    >>> found = estimate(0.8, np.array([[0, 2], [2, 2], [2, 2], [2, 2], [2, 2]]), k=10)
    >>> found.value, found.high, found.n, estimate(1.0, np.array([[2, 2]] * 5), k=10).why
    (0.8, 1.0, 5, 'alike')

    Formula and source: see `hiring.estimates`. Resamples without a whole are left out.
    """
    n, nan = len(sums), float("nan")
    if n < FEWEST:
        return Estimate(value, nan, nan, n, k, FEW)
    if np.allclose(sums[:, 0] / sums[:, 1], value, rtol=0, atol=1e-12):
        return Estimate(value, nan, nan, n, k, ALIKE)
    parts, wholes = (_weights(n, draws) @ sums if n <= SHARED_UP_TO else drawn_sums(sums, draws)).T
    drawn = parts[wholes > 0] / wholes[wholes > 0]
    tail = _tail(n, confidence)
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), n, k)


@lru_cache(maxsize=16)
def _weights(n: int, draws: int) -> NDArray[np.int64]:
    """How often each of n pairs is drawn, in each resample: shape (draws, n)."""
    found = np.random.default_rng([0, n]).multinomial(n, np.full(n, 1 / n), size=draws)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=256)
def _tail(n: int, confidence: float) -> float:
    """The quantile at which an interval of n pairs begins.

    >>> round(_tail(1000, 0.95), 4), round(_tail(5, 0.95), 4)
    (0.0248, 0.001)
    """
    from scipy.special import stdtrit

    return NormalDist().cdf(-float(stdtrit(n - 1, (1 + confidence) / 2)) * (n / (n - 1)) ** 0.5)
