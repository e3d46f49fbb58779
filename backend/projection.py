"""Vectors -> a map: UMAP fitted on the identities and applied to every generation. Pure functions of arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

MOST_FITTED = 20_000
NEIGHBOURS = 100
LEAST = 10
BLOCK = 8192
SEED = 0
PARAMETERS: dict[str, Any] = {
    "version": 1,
    "neighbours": NEIGHBOURS,
    "spread": 1.0,
    "min_dist": 0.3,
    "metric": "euclidean",
    "init": "pca",
    "seed": SEED,
}


class ProjectionError(Exception):
    """Vectors of which no map can be made. The message says why and what to do."""


def fitted_rows(identities: np.ndarray) -> tuple[np.ndarray, str]:
    """The identities on which a map is fitted (row numbers, in order), and a sentence where it is not all of them.

    Raises ProjectionError where there are fewer than LEAST.
    """
    if len(identities) < LEAST:
        raise ProjectionError(
            f"a map needs at least {LEAST} identities, and there are {len(identities)}: generate some with "
            "[identities] in a spec"
        )
    if len(identities) <= MOST_FITTED:
        return identities, ""
    chosen = np.sort(np.random.default_rng(SEED).choice(identities, MOST_FITTED, replace=False))
    return chosen, (
        f"The map was fitted on a fixed random sample of {MOST_FITTED:,} of the {len(identities):,} identities."
    )


def project(
    vectors: np.ndarray, fitted: np.ndarray, progress: Callable[[int], object] = lambda rows: None
) -> np.ndarray:
    """The place of every vector on the map: float32 (n, 2), about the origin; distances have no unit.

    vectors: (n, width), finite, also memory-mapped; fitted: numbers of the rows on which UMAP is fitted, at least
    LEAST. The others are placed among those, in blocks of BLOCK rows. One thread and a fixed seed: the same bits each
    time on one machine. `progress(n)` is called as n more rows are placed. Raises ProjectionError where all fitted
    vectors are equal.

    Source: McInnes, Healy and Melville, "UMAP" (2018); Stable Bias, Figure 9, which took "all neighbors" and spread 20:
    here NEIGHBOURS, as time grows with them, and spread 1, as the library cannot fit its curve to 20 without warnings.
    """
    rows = np.asarray(vectors[fitted], np.float32)
    if (rows == rows[0]).all():
        raise ProjectionError("the identities' vectors are all alike: look whether the images differ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # that Tensorflow is not there, which nothing here needs
        from umap import UMAP

    options = {name: value for name, value in PARAMETERS.items() if name in ("spread", "min_dist", "metric", "init")}
    umap = UMAP(n_neighbors=min(NEIGHBOURS, len(rows) - 1), random_state=SEED, n_jobs=1, **options).fit(rows)
    points = np.empty((len(vectors), 2), np.float32)
    points[fitted] = umap.embedding_
    progress(len(fitted))
    others = np.setdiff1d(np.arange(len(vectors)), fitted)
    for start in range(0, len(others), BLOCK):
        some = others[start : start + BLOCK]
        points[some] = umap.transform(np.asarray(vectors[some], np.float32))
        progress(len(some))
    return points - points[fitted].mean(axis=0)
