"""How far to trust the regions: planted shares against recovered ones, region phrases against annotators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.metrics.intervals import wilson

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """What `calibrate` finds: see there. Correlations are NaN where they cannot be said."""

    pairs: int
    error: float
    bias: float
    pearson: float
    spearman: float
    covered: int

    @property
    def coverage(self) -> float:
        return self.covered / self.pairs if self.pairs else float("nan")


def calibrate(planted: ArrayLike, recovered: ArrayLike, low: ArrayLike, high: ArrayLike) -> Calibration:
    """Planted shares against recovered ones with their intervals.

    By hand: planted 0.2, 0.5 and 0.8, recovered 0.3, 0.5 and 0.7, each give or take 0.05. Mean absolute error
    (0.1 + 0 + 0.1) / 3 = 0.0667, bias (0.1 + 0 - 0.1) / 3 = 0; both correlations are 1; one interval of three holds
    what was planted.

    >>> found = calibrate([0.2, 0.5, 0.8], [0.3, 0.5, 0.7], [0.25, 0.45, 0.65], [0.35, 0.55, 0.75])
    >>> round(found.error, 4), round(found.pearson, 4), round(found.spearman, 4), found.covered, found.pairs
    (0.0667, 1.0, 1.0, 1, 3)

    Formula: error = mean |recovered - planted|, bias = mean (recovered - planted), Pearson and Spearman correlation,
    covered = pairs with low <= planted <= high.

    Range: error 0 to 1 (0: every share was found exactly), bias -1 to 1 (below 0: too little is found), correlations
    -1 to 1 (1: the order, or the line, is right; error and bias say whether the height is). 95 % intervals should
    cover 95 % of pairs; fewer means an error that is not chance. Pairs with a missing value are left out.

    Source: planted truth as a test of an audit's measures: ours. K. Pearson (1895), C. Spearman (1904).
    """
    columns = [np.asarray(values, float) for values in (planted, recovered, low, high)]
    whole = np.isfinite(np.stack(columns)).all(axis=0)
    truth, found, lows, highs = (values[whole] for values in columns)
    nothing = float("nan")
    return Calibration(
        pairs=len(truth),
        error=float(np.abs(found - truth).mean()) if len(truth) else nothing,
        bias=float((found - truth).mean()) if len(truth) else nothing,
        pearson=pearson(truth, found),
        spearman=spearman(truth, found),
        covered=int(((lows <= truth) & (truth <= highs)).sum()),
    )


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation: how close two columns of numbers lie to one rising line.

    By hand: 1, 2, 3 against 2, 4, 6 is a line: 1. Against 6, 4, 2: -1.

    >>> round(pearson([1, 2, 3], [2, 4, 6]), 6), round(pearson([1, 2, 3], [6, 4, 2]), 6)
    (1.0, -1.0)

    Formula: sum((x - mean x)(y - mean y)) / sqrt(sum((x - mean x)^2) * sum((y - mean y)^2)).
    Range: -1 to 1; 0: no line. NaN for fewer than 3 pairs or where a column does not vary.
    Source: K. Pearson (1895).
    """
    a, b = np.asarray(x, float), np.asarray(y, float)
    if a.shape != b.shape:
        raise ValueError("x and y must have the same length")
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()), -1, 1))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation: how far two columns of numbers agree in their order.

    By hand: 1, 2, 3 against 1, 10, 100 have the same order: 1.

    >>> spearman([1, 2, 3], [1, 10, 100])
    1.0

    Formula: Pearson's correlation of the ranks, ties with the mean of their ranks. Range and degenerate cases: as
    `pearson`. Source: C. Spearman (1904).
    """
    return pearson(_ranks(np.asarray(x, float)), _ranks(np.asarray(y, float)))


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, ties with the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[places]


@dataclass(frozen=True)
class Agreement:
    """How often two sayings about the same images agree: of n, with Wilson's interval, and Cohen's kappa."""

    n: int
    agreed: int
    share: float
    low: float
    high: float
    kappa: float


def agreement(one: ArrayLike, other: ArrayLike) -> Agreement:
    """Agreement of two lists of words about the same images: share of equal words, and Cohen's kappa.

    By hand: woman, woman, man, man against woman, man, man, man: 3 of 4 are equal, 0.75. By chance, with the same
    words in another order: 0.5 * 0.25 + 0.5 * 0.75 = 0.5, so kappa = (0.75 - 0.5) / (1 - 0.5) = 0.5.

    >>> found = agreement(["woman", "woman", "man", "man"], ["woman", "man", "man", "man"])
    >>> found.share, found.kappa
    (0.75, 0.5)

    Formula: kappa = (share - chance) / (1 - chance), chance = sum over words of the product of their two shares.
    Range: share 0 to 1; kappa up to 1 (always the same word), 0: no better than chance, below 0: worse. kappa is NaN
    where both lists hold one and the same word throughout; everything is NaN for n = 0.

    Source: J. Cohen, "A coefficient of agreement for nominal scales" (1960).
    """
    a, b = np.asarray(one, str), np.asarray(other, str)
    if a.shape != b.shape:
        raise ValueError("both lists must have the same length")
    n, agreed = len(a), int((a == b).sum())
    if n == 0:
        return Agreement(0, 0, *(float("nan"),) * 4)
    chance = sum(float((a == word).mean() * (b == word).mean()) for word in np.union1d(a, b))
    low, high = wilson(agreed, n)
    kappa = (agreed / n - chance) / (1 - chance) if chance < 1 else float("nan")
    return Agreement(n, agreed, agreed / n, float(low), float(high), kappa)
