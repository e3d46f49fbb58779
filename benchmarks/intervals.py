"""Bootstrap intervals of the diversity of 150 professions x 3 systems, against a plain loop over resamples."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np

from backend.metrics.bootstrap import DRAWS, cumulated_draws
from backend.metrics.diversity import diversity_intervals
from benchmarks import _report
from benchmarks._report import Figure, milliseconds, spread

ROWS, IMAGES, REGIONS = 150 * 3, 210, 48
LOOPED = 3


def made(rows: int) -> np.ndarray:
    """Counts over regions as uneven as real ones: shape (rows, 48), 210 images a row."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(REGIONS, 0.3), rows)
    return np.stack([rng.multinomial(IMAGES, row) for row in shares])


def plain_interval(counts: list[int], seed: int) -> tuple[float, float]:
    """The same interval of one row as one would write it first: draw each image, count, take logarithms, sort."""
    rng, labels = random.Random(seed), [region for region, n in enumerate(counts) for _ in range(n)]
    n, found = len(labels), []

    def entropy(numbers: list[int]) -> float:
        return -sum(k / n * math.log2(k / n) for k in numbers if k)

    for _ in range(DRAWS):
        drawn = [0] * len(counts)
        for _ in range(n):
            drawn[labels[rng.randrange(n)]] += 1
        found.append(entropy(drawn))
    found.sort()
    return 2 * entropy(counts) - found[int(0.975 * DRAWS)], 2 * entropy(counts) - found[int(0.025 * DRAWS)]


def run(size: int, repeats: int) -> list[Figure]:
    """Time both; the plain loop on a few rows, scaled to all. Raises RuntimeError where the two disagree."""
    counts = made(size)
    low, high = diversity_intervals(counts)
    for row in range(min(LOOPED, size)):
        one, other = plain_interval(counts[row].tolist(), row)
        if max(abs(low[row] - one), abs(high[row] - other)) > 0.1:
            raise RuntimeError(f"the two intervals of row {row} differ by more than 0.1 bits")
    ours, plain = [], []
    for repeat in range(repeats):
        cumulated_draws.cache_clear()
        ours.append(milliseconds(lambda: diversity_intervals(counts)) / 1000)
        row = counts[repeat % size].tolist()
        plain.append(milliseconds(lambda row=row: plain_interval(row, 0)) / 1000 * size)
    middle = statistics.median(ours)
    times = statistics.median(plain) / middle
    what = f"intervals: {size} rows of {IMAGES} images, {REGIONS} regions, {DRAWS:,} resamples"
    cells = what, spread(ours, "s", 2), spread(plain, "s"), f"{times:.0f}x"
    return [Figure(*cells, "at least 50x, at most 10 s", times >= 50 and middle <= 10)]


if __name__ == "__main__":
    _report.main(run, __doc__, size=ROWS, repeats=5)
