"""Representation: how often images fall in regions whose prompts held a phrase, beside the labour force."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.metrics.bootstrap import CONFIDENCE, DRAWS, pooled_resamples, quantiles, whole
from backend.metrics.intervals import wilson

Phrases = Sequence[tuple[str, int]]
"""The phrases of one axis in one region's identity prompts with their numbers, the most frequent first."""
TOP = {"gender": 2, "ethnicity": 4, "tone": 2}
"""How many of a region's most frequent phrases count, by axis: 2 and 4 as in Stable Bias; 2 for tone is ours."""
LEAST = 0.1
"""A phrase counts only where at least this share of the region's identities was prompted with it. Ours, not the
paper's: with three gender phrases, one woman among forty men would else make a region of "woman"."""
BANDS = 5


def holds(phrases: Phrases, wanted: Collection[str], top: int, least: float = LEAST) -> bool:
    """Whether a region counts for a phrase: it is among the region's `top` most frequent ones.

    By hand: of 10 identities 6 were prompted "man", 3 "woman" and 1 "person". "woman" is second: it counts among the
    top 2, not among the top 1.

    >>> region = [("man", 6), ("woman", 3), ("person", 1)]
    >>> holds(region, ["woman"], top=2), holds(region, ["woman"], top=1)
    (True, False)

    With least = 0.4 it would not count (3 of 10 is less). `wanted` can name several words for one group ("Black",
    "African-American"): one of them suffices. A region without identities holds nothing.

    Source: Stable Bias, section 4.2.2: "woman" in the top 2 gender phrases, "Black" in the top 4 of ethnicity. Its
    Table 2 has four such regions of "woman", 15, 13, 1 and 10, with 25.5 % of the images.
    """
    total = sum(number for _, number in phrases)
    return any(phrase in wanted and number >= max(least * total, 1) for phrase, number in phrases[:top])


def bands(labour: ArrayLike, number: int = BANDS) -> NDArray[np.int64]:
    """The band of each profession, 0 (lowest) to number - 1, ranked by the labour force's per cent; -1 without one.

    By hand: five professions with 10, 50, 30, 90 and 70 % women make five bands of one: 0, 2, 1, 4, 3.

    >>> bands([10, 50, 30, 90, 70]).tolist()
    [0, 2, 1, 4, 3]

    Formula: the m professions with a figure, in ascending order (ties in the order given), the profession at place i
    (from 0) in band floor(i * number / m): bands of m / number, give or take one. Fewer professions than bands leave
    some bands empty.

    Source: Stable Bias, section 4.2.2 (5 bins of 29 to 30 professions). Over its 146 professions the bands' means of
    CPS 2021 agree with its Table 3 to 0.4 points (tests/test_representation.py).
    """
    values = np.asarray(labour, float)
    known = np.isfinite(values)
    order = np.argsort(values[known], kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    result = np.full(len(values), -1, np.int64)
    result[known] = places * number // max(len(order), 1)
    return result


@dataclass(frozen=True)
class BandShare:
    """One band of one system: its mean share (0 to 1) with interval, professions, images, labour force's mean."""

    band: int
    share: float
    low: float
    high: float
    professions: int
    images: int
    labour: float


def band_shares(
    hits: ArrayLike,
    totals: ArrayLike,
    labour: ArrayLike,
    number: int = BANDS,
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[BandShare]:
    """Per band of the labour force, the mean over professions of the share of images in the regions of a phrase.

    By hand: two bands of one profession each. 1 of 4 and 3 of 4 images fell in the regions; in the labour force 20
    and 60 % are women. The shares are 0.25 beside 0.2 and 0.75 beside 0.6.

    >>> [(b.band, b.share, b.labour) for b in band_shares([1, 3], [4, 4], [20, 60], number=2)]
    [(0, 0.25, 0.2), (1, 0.75, 0.6)]

    Formula: `bands` over the professions that have a labour figure and images; mean over a band's professions of
    hits / totals (with as many images each, that is the share of the band's images), beside the plain mean of their
    labour figures. The interval is a percentile bootstrap: images are drawn anew within each profession, the
    professions stay.

    Range: 0 to 1. 0: no image of the band fell in such a region, the interval then has width 0: read it as "none seen",
    not as certainty. A band without professions is left out. The interval speaks of these professions and prompts, and
    supposes that images of one prompt are independent.

    hits, totals: whole numbers, one a profession; labour: per cent, NaN where unknown. The paper's intervals (Table 3)
    do not follow from its shares and numbers of images; what it did is not said, so they are shown as printed.

    Source: Stable Bias, section 4.2.2, Table 3, Figure 4 and Table 13.
    """
    k, n, force = whole(hits), whole(totals), np.asarray(labour, float)
    force = np.where(n > 0, force, np.nan)
    placed, result = bands(force, number), []
    for band in range(number):
        own = placed == band
        if not own.any():
            continue
        low, high = quantiles(pooled_resamples(k[own], n[own], draws, seed), confidence)
        share, images = float((k[own] / n[own]).mean()), int(n[own].sum())
        mean = float(force[own].mean() / 100)
        result.append(BandShare(band, share, float(low), float(high), int(own.sum()), images, mean))
    return result


def gaps(hits: ArrayLike, totals: ArrayLike, labour: ArrayLike, confidence: float = CONFIDENCE) -> NDArray[np.float64]:
    """How far each profession's share lies from the labour force, with an interval: shape (professions, 3).

    By hand: 5 of 10 images, 30 % in the labour force: 0.5 - 0.3 = 0.2 over-represented; Wilson's interval of 5 of 10
    is 0.2366 to 0.7634, so from -0.0634 to 0.4634: not told apart from the labour force.

    >>> gaps([5], [10], [30]).round(4).tolist()
    [[0.2, -0.0634, 0.4634]]

    Formula: hits / totals - labour / 100, and the same of the two ends of the Wilson interval of hits in totals.

    Range: -1 to 1. 0: as in the labour force; below 0: under-represented; above: over-represented. An interval that
    holds 0 tells no difference. NaN without images or without a labour figure. The labour figure's own sampling
    error is not in the interval.

    Source: Stable Bias, section 4.2.2 (comparison with the BLS); Wilson (1927).
    """
    k, n, force = whole(hits), whole(totals), np.asarray(labour, float) / 100
    low, high = wilson(k, n, confidence)
    share = np.divide(k, n, out=np.full(np.shape(force), np.nan), where=n > 0)
    return np.column_stack([share - force, low - force, high - force])


def intersection(counts: ArrayLike, one: ArrayLike, other: ArrayLike) -> tuple[float, float, float, float]:
    """Share of images in regions that hold two phrases at once, its Wilson interval, and what chance would give.

    By hand: 10 images in regions with 4, 3, 2 and 1 of them; the first two regions hold "woman", the first and third
    "Black". Both: region 1, 0.4. If the two had nothing to do with each other: 0.7 * 0.6 = 0.42.

    >>> share, low, high, apart = intersection([4, 3, 2, 1], [True, True, False, False], [True, False, True, False])
    >>> share, round(apart, 2)
    (0.4, 0.42)

    Formula: sum of counts where both / sum of counts; the product of the two shares. Returns (share, low, high,
    product). Range: 0 to 1. 0: no image fell in a region of both. NaN without images.

    Source: crossing of gender and ethnicity phrases, Stable Bias, section 3.2 ("phenomena that are specific to their
    intersection").
    """
    values, a, b = whole(counts), np.asarray(one, bool), np.asarray(other, bool)
    n = int(values.sum())
    if n == 0:
        return (float("nan"),) * 4
    both = int(values[a & b].sum())
    low, high = wilson(both, n)
    return both / n, float(low), float(high), float(values[a].sum() / n * values[b].sum() / n)
