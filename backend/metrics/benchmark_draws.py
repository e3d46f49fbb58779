"""Items drawn anew: what every interval of a benchmark rests on.

An item is a picture with one question. Items that agree in truth, group and answers are drawn together as one cell of
a multinomial, which is the same as drawing items and needs no loop. Where two conditions are compared, an item keeps
its answers of both (paired).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.metrics.bootstrap import CONFIDENCE, DRAWS, quantiles
from backend.metrics.neutrality import Measure

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


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
    >>> whole, drawn = items.table([0, 1], (2, 3))
    >>> whole.tolist(), drawn.shape, bool((drawn == whole).all())
    ([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]], (3, 2, 3), True)
    """

    def __init__(self, columns: Sequence[Codes], draws: int = DRAWS, seed: int = 0) -> None:
        rows = np.stack(columns, axis=1)
        self.n = len(rows)
        self.cells, self.counts = np.unique(rows, axis=0, return_counts=True)
        rng = np.random.default_rng([seed, self.n])
        self.drawn = rng.multinomial(self.n, self.counts / max(1, self.n), size=draws) if self.n else None
        self.draws = draws

    def table(self, columns: Sequence[int], shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Counts by some of the columns, of that shape: of all items, and of every resample (draws, ...)."""
        size = int(np.prod(shape))
        whole, drawn = np.zeros(size), np.zeros((self.draws, size))
        if self.n:
            flat = np.ravel_multi_index(tuple(self.cells[:, column] for column in columns), shape)
            order = np.argsort(flat, kind="stable")
            places, starts = np.unique(flat[order], return_index=True)
            whole[places] = np.add.reduceat(self.counts[order], starts)
            drawn[:, places] = np.add.reduceat(self.drawn[:, order], starts, axis=1)
        return whole.reshape(shape), drawn.reshape(self.draws, *shape)


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
        low, high = max(0.0, min(2 * value - high, low + move)), min(1.0, max(2 * value - low, high + move))
    return Figure(float(value), float(low), float(high), n, why)


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
