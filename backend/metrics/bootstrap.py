"""Resampling counts over regions, many rows at once, without a loop over resamples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

DRAWS = 1000
CONFIDENCE = 0.95
SHARED_UP_TO = 2000
"""Rows of up to so many images share one table of draws; longer ones are drawn region by region. Likewise tables of up
to so many rows are drawn row by row, longer ones by their distinct rows."""
IN_BLOCK = 2_000_000
"""Numbers that `drawn_sums` holds at a time, beside its table."""
FASTER = 8
"""So many rows are drawn one by one in the time in which a multinomial draws one kind of row."""

Counts = NDArray[np.int64]


@lru_cache(maxsize=64)
def cumulated_draws(n: int, draws: int = DRAWS, seed: int = 0) -> NDArray[np.int32]:
    """How often the first j of n images are drawn, for j from 0 to n: shape (n + 1, draws), not to be written to.

    Each column is one resample of n images with replacement, summed from the first image on. Two images and one
    resample that took the first of them twice give the column 0, 2, 2.

    >>> table = cumulated_draws(2, draws=4)
    >>> table[0].tolist(), table[-1].tolist()
    ([0, 0, 0, 0], [2, 2, 2, 2])
    """
    drawn = np.random.default_rng([seed, n]).multinomial(n, np.full(n, 1 / n), size=draws)
    table = np.zeros((n + 1, draws), np.int32)
    np.cumsum(drawn.T, axis=0, out=table[1:])
    table.setflags(write=False)
    return table


def resample(counts: ArrayLike, draws: int = DRAWS, seed: int = 0) -> Counts:
    """Bootstrap resamples of one row of counts: shape (regions, draws), every column with the same total.

    By hand: all 3 images in the first of two regions can only be drawn there again.

    >>> resample([3, 0], draws=2).tolist()
    [[3, 3], [0, 0]]

    Formula: the total n is kept; n images are drawn with replacement from the n there are, which is a multinomial draw
    with the row's own shares. The images are thought to lie in the order of their regions, so a region's count is the
    difference of two rows of `cumulated_draws`: rows with the same n share their draws. Each row's own interval is
    exact for that; numbers made from several rows at once must not be taken from these draws (see `pooled_resamples`).

    Raises ValueError for a negative count or one that is not whole. A row of zeros gives zeros.

    Source: B. Efron and R. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 6; used by Stable Bias for
    its Tables 3 and 6.
    """
    row = whole(counts)
    n = int(row.sum())
    if n <= SHARED_UP_TO:
        ends = np.concatenate(([0], np.cumsum(row)))
        return np.diff(cumulated_draws(n, draws, seed)[ends], axis=0).astype(np.int64)
    return np.random.default_rng([seed, n]).multinomial(n, row / n, size=draws).T


def pooled_resamples(hits: ArrayLike, totals: ArrayLike, draws: int = DRAWS, seed: int = 0) -> NDArray[np.float64]:
    """Resampled mean share over several groups, each resampled within itself: shape (draws,).

    By hand: two professions, 2 of 2 and 0 of 2 images in a region, cannot be drawn otherwise; the mean share is 0.5.

    >>> pooled_resamples([2, 0], [2, 2], draws=3).tolist()
    [0.5, 0.5, 0.5]

    Formula: for each group a binomial draw with its own n and share, independent of the others, divided by n; then
    the mean over the groups. Groups without images are left out; without any group the result is NaN.
    """
    k, n = whole(hits), whole(totals)
    if k.shape != n.shape or (k > n).any():
        raise ValueError("hits and totals must have the same length, and no hit may exceed its total")
    k, n = k[n > 0], n[n > 0]
    if not len(n):
        return np.full(draws, np.nan)
    drawn = np.random.default_rng(seed).binomial(n[:, None], (k / n)[:, None], size=(len(n), draws))
    return (drawn / n[:, None]).mean(axis=0)


def drawn_sums(table: ArrayLike, draws: int = DRAWS, seed: int = 0) -> NDArray[np.float64]:
    """Sums of resampled rows: shape (draws, columns) from numbers of shape (rows, columns).

    By hand: three equal rows can only be drawn again.

    >>> drawn_sums([[1, 2]] * 3, draws=2).tolist()
    [[3.0, 6.0], [3.0, 6.0]]

    Formula: as many rows as there are, drawn with replacement, are summed. Of more than SHARED_UP_TO rows, equal ones
    are drawn together (a multinomial over the distinct rows), or each by itself, resample by resample, where few are
    equal: the same distribution by other random numbers, in less time. Memory: IN_BLOCK numbers, and a few for each
    row. No rows give zeros. Source: Efron and Tibshirani (1993), chapter 6.
    """
    rows = np.asarray(table, float)
    n = len(rows)
    if not n:
        return np.zeros((draws, rows.shape[1]))
    rng = np.random.default_rng([seed, n])
    if n <= SHARED_UP_TO:
        return rng.multinomial(n, np.full(n, 1 / n), draws) @ rows
    distinct, of, times = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    most, place = len(distinct), of.ravel()
    if most * FASTER > n:
        drawn = (np.bincount(place[rng.integers(n, size=n)], minlength=most) @ distinct for _ in range(draws))
        return np.array(list(drawn))
    step = max(1, IN_BLOCK // most)
    sizes = [min(step, draws - start) for start in range(0, draws, step)]
    return np.concatenate([rng.multinomial(n, times / n, size) @ distinct for size in sizes])


def quantiles(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> NDArray[np.float64]:
    """The lower and upper quantile of resampled values along their last axis; NaN where there is no value.

    >>> quantiles(np.arange(101.0), confidence=0.9).round(6).tolist()
    [5.0, 95.0]
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    return np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2], axis=-1)


def whole(counts: ArrayLike) -> Counts:
    """Counts as whole numbers. Raises ValueError where one is negative, missing or not whole."""
    values = np.asarray(counts, float)
    if not np.isfinite(values).all() or (values < 0).any() or (values % 1).any():
        raise ValueError("counts must be whole numbers from 0 upward")
    return values.astype(np.int64)
