"""Intervals: how far a share, or a number made from counts, could move by chance alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def wilson(
    successes: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> tuple[np.float64 | Floats, np.float64 | Floats]:
    """Wilson score interval of a share: (low, high), both between 0 and 1.

    By hand, 5 of 10 with z = 1.96: z2 = 3.8416, centre = (0.5 + z2 / 20) / (1 + z2 / 10) = 0.5,
    half = 1.96 / (1 + z2 / 10) * sqrt(0.5 * 0.5 / 10 + z2 / 400) = 0.2634, so 0.2366 to 0.7634.

    >>> low, high = wilson(5, 10)
    >>> round(float(low), 4), round(float(high), 4)
    (0.2366, 0.7634)

    Formula, with p = successes / n and z the normal quantile of (1 + confidence) / 2:
    (p + z2 / 2n -+ z * sqrt(p (1 - p) / n + z2 / 4n2)) / (1 + z2 / n).

    Range: 0 <= low <= p <= high <= 1; never wider than 0 to 1, never of width 0.
    Degenerate cases: n = 0 or a missing value gives (NaN, NaN); 0 of n starts at exactly 0, n of n ends at
    exactly 1. Successes need not be whole, because a published share of n is often rounded.
    Arrays broadcast. It supposes independent trials, so it is too narrow for repeats of one prompt.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22 (1927).
    """
    k, size = np.broadcast_arrays(np.asarray(successes, float), np.asarray(n, float))
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if (size < 0).any() or (k < 0).any() or (k > size).any():
        raise ValueError("successes must lie between 0 and n")
    size = np.where(size > 0, size, np.nan)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = k / size
    spread = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2))
    centre, scale = share + z**2 / (2 * size), 1 + z**2 / size
    low = np.where(k == 0, 0.0 * share, np.maximum((centre - spread) / scale, 0))
    high = np.where(k == size, share, np.minimum((centre + spread) / scale, 1))
    return low[()], high[()]


def multinomial_interval(
    counts: Sequence[float],
    statistic: Callable[[Floats], Floats],
    confidence: float = 0.95,
    draws: int = 4000,
    seed: int = 0,
) -> tuple[float, float]:
    """Parametric bootstrap interval of any number made from class counts: (low, high).

    By hand: counts [50, 50] and the statistic "share of the first class" give about 0.40 to 0.60,
    because 100 fair coins fall between 40 and 60 heads 95 times in 100.

    >>> multinomial_interval([50, 50], lambda c: c[:, 0] / c.sum(axis=1))
    (0.4, 0.6)

    Formula: draw the counts anew `draws` times from the multinomial with their own total (rounded) and
    shares, apply `statistic` (rows of counts -> one number per row), take the (1 -+ confidence) / 2 quantiles,
    leaving out rows where the statistic has no value. The seed is fixed: the same counts, the same interval.

    Range: that of the statistic. Degenerate cases: a total of 0 or a missing count gives (NaN, NaN), and so
    does a statistic without any value. A class with count 0 stays at 0 in every draw, so all answers in one
    class give an interval of width 0: read it as "no spread can be estimated", not as certainty.

    Source: B. Efron and R. Tibshirani, "An Introduction to the Bootstrap" (1993), section 6.5.
    """
    weights = np.asarray(counts, float)
    total = weights.sum()
    if not np.isfinite(total) or total <= 0:
        return float("nan"), float("nan")
    drawn = np.random.default_rng(seed).multinomial(round(total), weights / total, size=draws).astype(float)
    values = statistic(drawn)
    values = values[np.isfinite(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
