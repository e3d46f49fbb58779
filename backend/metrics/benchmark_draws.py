"""Items drawn anew: what every interval of a benchmark rests on.

An item is a picture with one question. Items that agree in truth, group and answers are drawn together as one cell of
a multinomial, which is the same as drawing items and needs no loop. Where two conditions are compared, an item keeps
its answers of both (paired).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.metrics.bootstrap import CONFIDENCE, DRAWS, quantiles
from backend.metrics.intervals import wilson
from backend.metrics.neutrality import Measure

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
LARGEST = 5_000_000
"""Numbers of a table of resamples that are held at a time."""


@dataclass(frozen=True)
class Figure(Measure):
    """A measure with its interval and n (NaN where it has none); `why` says why there is no value, or what it omits."""

    why: str = ""


def codes(values: Sequence[str], words: Sequence[str]) -> Codes:
    """The place of every value among the words; their number where it is none.

    >>> codes(["b", "a", "?"], ["a", "b"]).tolist()
    [1, 0, 2]
    """
    places = {word: place for place, word in enumerate(words)}
    return np.array([places.get(value, len(words)) for value in values], np.int64)


class Resampled:
    """Items as rows of codes, and `draws` resamples of them.

    By hand: two items alike cannot be drawn otherwise.

    >>> items = Resampled([np.array([0, 0]), np.array([1, 1])], draws=3)
    >>> ((whole, drawn),) = items.tables(([0, 1], (2, 3)))
    >>> whole.tolist(), drawn.shape, bool((drawn == whole).all())
    ([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]], (3, 2, 3), True)
    """

    def __init__(self, columns: Sequence[Codes], draws: int = DRAWS, seed: int = 0) -> None:
        rows = np.stack(columns, axis=1)
        self.n, self.draws, self._seed = len(rows), draws, seed
        self.cells, self.counts = np.unique(rows, axis=0, return_counts=True)

    def tables(self, *wanted: tuple[Sequence[int], tuple[int, ...]]) -> list[tuple[Floats, Floats]]:
        """For every (columns, shape) the counts by those columns: of all items, and of each resample (draws, ...). All
        of them come from the same resamples."""
        parts = zip(*self.blocks(*wanted), strict=True)
        drawn = [np.concatenate(some) for some in parts]
        return [(self.whole(*one), some) for one, some in zip(wanted, drawn, strict=True)]

    def whole(self, columns: Sequence[int], shape: tuple[int, ...]) -> Floats:
        """Counts of all items by some of the columns."""
        return self._counted(self.counts[None], columns, shape)[0]

    def blocks(self, *wanted: tuple[Sequence[int], tuple[int, ...]]) -> Iterator[list[Floats]]:
        """The tables of the resamples, so many draws at a time that no block has more than LARGEST numbers."""
        rng = np.random.default_rng([self._seed, self.n])
        largest = max(len(self.counts), *(int(np.prod(shape)) for _, shape in wanted))
        step = max(1, LARGEST // largest)
        for start in range(0, self.draws, step):
            count = min(step, self.draws - start)
            drawn = rng.multinomial(self.n, self.counts / max(1, self.n), size=count) if self.n else None
            yield [self._counted(drawn, *one, draws=count) for one in wanted]

    def _counted(self, drawn: Codes | None, columns: Sequence[int], shape: tuple[int, ...], draws: int = 1) -> Floats:
        found = np.zeros((draws, int(np.prod(shape))))
        if self.n:
            flat = np.ravel_multi_index(tuple(self.cells[:, column] for column in columns), shape)
            order = np.argsort(flat, kind="stable")
            places, starts = np.unique(flat[order], return_index=True)
            found[:, places] = np.add.reduceat(drawn[:, order], starts, axis=1)
        return found.reshape(draws, *shape)


class Grouped:
    """Items by group, label and answer, with resamples of them, and draws in which all groups are answered alike.

    By hand: two groups of one item of each label, all answered "0": no resample can be otherwise.

    >>> items = Grouped([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.zeros(4, int)], (2, 2, 3), draws=2)
    >>> items.designed, [bool((part == items.whole).all()) for part in next(items.chunks())]
    (True, [True, True, True])

    `columns` and `shape` are those of groups, labels and answers. Where the labels are as evenly spread over groups as
    chance would not have it (chi-square below its 5 % quantile), that is how the data were made, and it is kept: items
    are drawn within each group and label, n - 1 of n (Rao and Wu 1988), and alike are groups whose items of a label
    have the same shares. Else items are drawn from all of them, and alike are groups with the same shares of labels and
    answers, or, for the odds, of answers to each label.
    """

    def __init__(self, columns: Sequence[Codes], shape: tuple[int, int, int], draws: int = DRAWS, seed: int = 0):
        self.items, self._asked = Resampled(columns, draws, seed), (range(3), shape)
        self.whole = self.items.whole(*self._asked)
        self.rng, self.draws = np.random.default_rng([seed, self.items.n, 1]), draws
        self.sizes = self.whole.sum(axis=-1).astype(np.int64)
        self.designed = _designed(self.sizes)

    def chunks(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Resamples, alike, alike for the odds, some draws at a time: shape (draws, groups, labels, answers)."""
        if self.designed:
            fewer = np.where(self.sizes > 1, self.sizes - 1, self.sizes)
            scale = (self.sizes / np.maximum(fewer, 1))[..., None]
            step = max(1, LARGEST // self.whole.size)
            for start in range(0, self.draws, step):
                count = min(step, self.draws - start)
                odds = self._within(self.sizes, self.whole.sum(axis=0), count)
                yield self._within(fewer, self.whole, count) * scale, odds, odds
            return
        every = self.whole.sum(axis=0).ravel()
        for (drawn,) in self.items.blocks(self._asked):
            odds = self._within(self.sizes, self.whole.sum(axis=0), len(drawn))
            sizes, shares = self.sizes.sum(axis=1), every / max(1, every.sum())
            alike = self.rng.multinomial(sizes, shares, size=(len(drawn), len(sizes)))
            yield drawn, alike.reshape(drawn.shape), odds

    def _within(self, sizes: Codes, cells: Floats, count: int) -> Codes:
        """So many items of every group and label, drawn from the shares of `cells`."""
        total = cells.sum(axis=-1, keepdims=True)
        shares = np.where(total > 0, cells, 1) / np.where(total > 0, total, cells.shape[-1])
        return self.rng.multinomial(sizes, shares, size=(count, *sizes.shape))


def _designed(sizes: Codes) -> bool:
    """Whether labels (columns) are spread over groups (rows) more evenly than chance would have them."""
    from scipy.special import chdtri

    table = sizes[sizes.sum(axis=1) > 0][:, sizes.sum(axis=0) > 0]
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    if freedom < 1:
        return False
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return bool(((table - expected) ** 2 / expected).sum() < chdtri(freedom, 0.95))


def figure(value: float, drawn: Floats, n: int, shifted: bool = False, why: str = "") -> Figure:
    """A measure with the interval of its resamples.

    Plain quantiles; `shifted`: for measures that chance moves one way (even groups never come out quite even), the two
    corrected intervals of `neutrality.measures`, joined, within 0 and 1. One item, or no defined resample: no interval.
    """
    known = drawn[np.isfinite(drawn)]
    if not np.isfinite(value) or n < 2 or not len(known):
        return Figure(float(value), np.nan, np.nan, n, why)
    low, high = quantiles(known, CONFIDENCE)
    if shifted:
        move = 2 * (value - known.mean())
        low, high = min(2 * value - high, low + move), max(2 * value - low, high + move)
        low, high = max(0.0, min(low, value)), min(1.0, max(high, value))
    return Figure(float(value), float(low), float(high), n, why)


def comparable(sizes: Floats) -> bool:
    """Whether enough items have a label that other groups have, too, to tell groups from labels; `sizes` by group and
    label.

    By hand: where label and group are one, none; where one item in two lies in the smaller group of its label, all.

    >>> comparable(np.array([[9, 0], [0, 9]])), comparable(np.array([[9, 9], [9, 9]]))
    (False, True)

    Counted are the items outside of the group that has most of their label, against those that would be where labels
    were spread alike; 15 % are enough.
    """
    total = sizes.sum()
    spread = total - sizes.sum(axis=1).max()
    return bool(total and spread and (sizes.sum(axis=0) - sizes.max(axis=0)).sum() >= 0.15 * spread)


def as_uneven(held: Floats, alike: Floats, sizes: Floats) -> float:
    """How often groups that are answered alike come out at least as uneven as these: a p-value, 1 / (draws + 1) to 1.

    `held` has a share for each group (and class), `alike` the same of draws, first axis, `sizes` the groups' items. By
    hand: 98 of 100 draws have 0.5 in both groups, two 0.4 and 0.6, as far apart as these: with these 3 of 101.

    >>> alike = np.array([[0.4, 0.6], [0.6, 0.4], *[[0.5, 0.5]] * 98])
    >>> round(as_uneven(np.array([0.6, 0.4]), alike, np.array([9, 9])), 4)
    0.0297

    Compared is the sum of squared deviations from what the groups come to on average when alike, less the deviation
    that all have in common, each in standard deviations of the draws: near a chi-square test of homogeneity, but also
    for small groups, and for data that were made with as many of each.
    """
    spread, centre = alike.std(axis=0), alike.mean(axis=0)
    weights = (sizes / sizes.sum()).reshape(-1, *[1] * (held.ndim - 1))
    there = np.isfinite(spread) & (spread > 0)

    def far(shares: Floats) -> Floats:
        off = shares - centre
        off = off - (off * weights).sum(axis=-held.ndim, keepdims=True)
        return ((off[..., there] / spread[there]) ** 2).sum(axis=-1)

    return float((1 + (far(alike) >= far(held) - 1e-9).sum()) / (len(alike) + 1))


def share(chosen: float, n: float) -> Figure:
    """A share of items, with Wilson's interval: it says something of 60 right of 60, too, where no resample differs.

    >>> found = share(60, 60)
    >>> found.value, round(found.low, 3), found.high, found.n
    (1.0, 0.94, 1.0, 60)
    """
    if n < 1:
        return Figure(np.nan, np.nan, np.nan, 0)
    low, high = wilson(int(chosen), int(n), CONFIDENCE)
    return Figure(float(chosen / n), float(low), float(high), int(n))


def some_of(names: Sequence[str], most: int = 5) -> str:
    """Names in a sentence, at most so many.

    >>> some_of("abc"), some_of("abcdefg", 3)
    ('a, b, c', 'a, b, c and 4 more')
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def mean_of(values: Floats) -> Floats:
    """The mean over the last axis of what is defined; NaN where nothing is."""
    known = np.isfinite(values)
    number = known.sum(axis=-1)
    return np.divide(
        np.where(known, values, 0).sum(axis=-1), number, out=np.full(number.shape, np.nan), where=number > 0
    )


def checked(labels: Sequence[str], answers: Sequence[str], classes: Sequence[str]) -> None:
    """Raise ValueError where lengths differ, there are too few classes, or a label is none of them."""
    if len(labels) != len(answers):
        raise ValueError("as many labels as answers are needed")
    if len({*classes}) < len(classes) or len(classes) < 2:
        raise ValueError("two classes or more are needed, and they must differ")
    strange = sorted({*labels} - {*classes})
    if strange:
        raise ValueError(f"the label {strange[0]!r} is none of the classes {', '.join(classes)}")
