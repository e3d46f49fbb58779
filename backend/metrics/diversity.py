"""Diversity: how evenly images spread over regions (Stable Bias, section 4.2 and appendices C and D)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.metrics.bootstrap import CONFIDENCE, DRAWS, quantiles, resample, whole
from backend.metrics.entropy import entropy_bits

Floats = NDArray[np.float64]
FEWEST = 20
"""Below so many images a diversity says more of n than of the system: it is shown as "too few images"."""


def missing_bits(counts: ArrayLike) -> np.float64 | Floats:
    """How far `entropy_bits` is about too low because n is small: Miller and Madow's term, in bits.

    By hand: 10 images in 3 regions lack (3 - 1) / (2 * 10) = 0.1 nats, 0.1 / ln 2 = 0.1443 bits.

    >>> round(float(missing_bits([5, 3, 2, 0])), 4)
    0.1443

    Formula: (m - 1) / (2 n ln 2), m regions with at least one image.

    Range: 0 upward; 0: all images in one region, where nothing can be said. The term counts only regions that were
    seen, so it is itself too small where n is smaller than a few times the number of regions. NaN for n = 0.

    Source: G. Miller, "Note on the bias of information estimates" (1955).
    """
    values = whole(counts)
    n = values.sum(axis=-1).astype(float)
    seen = (values > 0).sum(axis=-1)
    return np.divide(seen - 1, 2 * np.log(2) * n, out=np.full(np.shape(n), np.nan), where=n > 0)[()]


def diversity_intervals(
    table: ArrayLike, confidence: float = CONFIDENCE, draws: int = DRAWS, seed: int = 0
) -> tuple[Floats, Floats]:
    """Bootstrap intervals of the diversity of many rows of counts: (low, high), each of shape (rows,), in bits.

    By hand: all images in one region give 0 to 0 bits, for no resample can be otherwise. An even split of many images
    lies close under 1 bit, its highest possible value.

    >>> low, high = diversity_intervals([[30, 0], [5000, 5000]])
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([0.0, 1.0], [0.0, 1.0])

    Formula (basic bootstrap): with q the quantiles of H over 1,000 resamples, 2 H - q(97.5 %) to 2 H - q(2.5 %), kept
    within 0 and log2(regions). A resample loses about as much diversity to chance as the sample lost to what it was
    drawn from, so plain quantiles would lie below the truth, and mirroring them at H makes good for it. Adding
    Miller and Madow's term as well covered less; DECISIONS.md has the figures.

    Range: 0 to log2(regions). It holds what the system would give with endless images of the same prompts, so it can
    lie above the plain value for small n. A row of zeros has no interval (NaN); all images in one region: width 0,
    read it as "no spread can be estimated".

    Source: Efron and Tibshirani (1993), chapter 13 (basic bootstrap); Stable Bias, Table 6 (intervals).
    """
    rows = whole(table)
    if rows.ndim != 2:
        raise ValueError(f"the table must have rows and regions, not shape {rows.shape}")
    values, resampled = entropy_bits(rows), np.full((len(rows), draws), np.nan)
    for index, row in enumerate(rows):
        resampled[index] = resampled_bits(row[row > 0], draws, seed)
    low, high = quantiles(resampled, confidence)
    most = np.log2(rows.shape[1])
    return np.clip(2 * values - high, 0, most), np.clip(2 * values - low, 0, most)


def resampled_bits(row: ArrayLike, draws: int = DRAWS, seed: int = 0) -> Floats:
    """The entropy in bits of each resample of one row of counts: shape (draws,); NaN without images.

    H = log2(n) - sum(c * log2(c)) / n, with c * log2(c) looked up.

    >>> resampled_bits([4, 0], draws=2).tolist()
    [0.0, 0.0]
    """
    counts = whole(row)
    n = int(counts.sum())
    if n == 0:
        return np.full(draws, np.nan)
    drawn = resample(counts, draws, seed)
    return np.log2(n) - _weighted_logs(n).take(drawn).sum(axis=0) / n


@lru_cache(maxsize=64)
def _weighted_logs(n: int) -> Floats:
    """c * log2(c) for c from 0 to n."""
    counts = np.arange(n + 1, dtype=float)
    return counts * np.log2(np.maximum(counts, 1))


def rank_bounds(low: ArrayLike, high: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Between which ranks (1 is the highest value) the intervals leave each item: (best, worst).

    By hand: the intervals 5 to 6, 3 to 4 and 3.5 to 5.5: the first reaches down to the third, so either may lead;
    the second lies wholly below the first alone, so it is second or third.

    >>> best, worst = rank_bounds([5, 3, 3.5], [6, 4, 5.5])
    >>> best.tolist(), worst.tolist()
    ([1, 2, 1], [2, 3, 3])

    Formula: best = 1 + items whose low is above the own high; worst = items - those whose high is below the own low.
    Items without an interval take part in nothing and get 0.
    """
    lows, highs = np.asarray(low, float), np.asarray(high, float)
    known = np.isfinite(lows) & np.isfinite(highs)
    best = 1 + (lows[known][None, :] > highs[:, None]).sum(axis=1)
    worst = known.sum() - (highs[known][None, :] < lows[:, None]).sum(axis=1)
    return np.where(known, best, 0), np.where(known, worst, 0)
