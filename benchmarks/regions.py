"""Regions: Ward's method with three cuts against scikit-learn's single fit, and the nearest of 48 centroids."""

from __future__ import annotations

import statistics

import numpy as np

from backend.regioning import KS
from backend.regions import assign, cut, means, merges, unit_rows
from benchmarks import _report
from benchmarks._report import Figure, milliseconds, spread

WIDTH = 768
IDENTITIES = 2040
FACTOR = 1.2
MOST = 1000


def cloud(count: int, seed: int) -> np.ndarray:
    """Vectors about 60 directions, float16 as an audit keeps them."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(60, WIDTH))
    rows = centres[random.integers(0, 60, count)] + 0.8 * random.normal(size=(count, WIDTH))
    return unit_rows(rows).astype("float16")


def three_cuts(rows: np.ndarray, ks: tuple[int, ...]) -> dict[int, np.ndarray]:
    joined = merges(unit_rows(rows))
    return {k: cut(joined, k) for k in ks}


def run(size: int, repeats: int) -> list[Figure]:
    """The figures for `size` generations."""
    from sklearn.cluster import AgglomerativeClustering

    count = min(IDENTITIES, size)
    ks = tuple(k for k in KS if k <= count)
    identities, everything = cloud(count, 0), cloud(size, 1)
    ready = unit_rows(identities)
    labels = three_cuts(identities, ks)[ks[-1]]
    centroids = means(ready, labels, ks[-1])
    ours, theirs, nearest = [], [], []
    for turn in range(repeats + 1):
        pair = (
            milliseconds(lambda: three_cuts(identities, ks)),
            milliseconds(lambda: AgglomerativeClustering(ks[-1]).fit(ready)),
            milliseconds(lambda: assign(everything, centroids)),
        )
        if turn:  # the first one warms up
            for values, value in zip((ours, theirs, nearest), pair, strict=True):
                values.append(value)
    ratio = statistics.median(ours) / statistics.median(theirs)
    middle = statistics.median(nearest)
    return [
        Figure(
            f"regions: Ward, {len(ks)} cuts of {count:,} x {WIDTH} (baseline: one AgglomerativeClustering fit)",
            spread(ours, "ms", 0),
            spread(theirs, "ms", 0),
            f"{ratio:.2f}x as long",
            f"at most {FACTOR}x",
            ratio <= FACTOR,
        ),
        Figure(
            f"regions: nearest of {ks[-1]} centroids for {size:,} x {WIDTH}, and the margin",
            spread(nearest, "ms", 0),
            "",
            "",
            f"at most {MOST:,} ms",
            middle <= MOST,
        ),
    ]


if __name__ == "__main__":
    _report.main(run, __doc__, size=94_500, repeats=5)
