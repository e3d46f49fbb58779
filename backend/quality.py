"""How far regions can be trusted: do a prompt's images lie together, and would other images give the same regions?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from backend.metrics.entropy import entropy_bits
from backend.regions import cut, merges

RESAMPLES = 2000
REFITS = 20
MOST_ROWS = 4000
"""Rows that a refit is given at most: 20 refits of so many take about half a minute on one core."""
SEED = 0


def prompt_entropy(prompts: np.ndarray, regions: np.ndarray, k: int) -> tuple[float, float, float, int]:
    """Mean entropy in bits of the regions of each identity prompt's images: (mean, low, high, prompts).

    Two prompts of two images: one's images lie in one region (0 bits), the other's in two (1 bit): 0.5 bits.

    >>> prompt_entropy(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), 2)
    (0.5, 0.0, 1.0, 2)

    prompts: whole numbers, which prompt each of n images had (systems pooled); regions: from 0 to k - 1. Range: 0 to
    log2 k; lower says that a prompt's images look alike to the embedding. It grows with k and with the images a prompt
    has, so compare embeddings at one k on one audit. low and high: 95 % percentile bootstrap over prompts (RESAMPLES,
    fixed seed); Stable Bias gives 99 % intervals. Raises ValueError for no image.

    Source: Stable Bias, appendix B, Table 5.
    """
    if not len(prompts):
        raise ValueError("there is no image")
    _, which = np.unique(prompts, return_inverse=True)
    counts = np.bincount(which * k + regions, minlength=(which.max() + 1) * k).reshape(-1, k)
    each = entropy_bits(counts)
    drawn = np.random.default_rng(SEED).integers(0, len(each), (RESAMPLES, len(each)))
    low, high = np.quantile(each[drawn].mean(axis=1), (0.025, 0.975))
    return float(each.mean()), float(low), float(high), len(each)


def stability(rows: np.ndarray, labels: dict[int, np.ndarray]) -> dict[int, tuple[float, float, float]]:
    """For each k the adjusted Rand index of refits on resampled rows against the labels: (mean, lowest, highest).

    rows: float64 (n, width), of length 1; labels: k -> (n,). Each of REFITS refits draws n rows with replacement (fixed
    seed), keeps those that differ (about 63 %, at most MOST_ROWS of them), clusters them by Ward's method, cuts at
    each k that they allow, and is compared with the labels of the same rows. Range: 1 (the same parts), about 0 (as by
    chance), down to -0.5. Where a draw has fewer rows than k, that k gets no value from it; a k without any is
    left out.

    Sources: Hubert and Arabie, "Comparing partitions" (1985), as scikit-learn's `adjusted_rand_score`; bootstrap
    refits as in Hennig, "Cluster-wise assessment of cluster stability" (2007).
    """
    from sklearn.metrics import adjusted_rand_score

    random = np.random.default_rng(SEED)
    found: dict[int, list[float]] = {k: [] for k in labels}
    for _ in range(REFITS):
        drawn = np.unique(random.integers(0, len(rows), len(rows)))
        if len(drawn) > MOST_ROWS:
            drawn = np.sort(random.choice(drawn, MOST_ROWS, replace=False))
        fitting = [k for k in labels if k <= len(drawn)]
        joined = merges(rows[drawn]) if fitting and len(drawn) > 1 else None
        for k in fitting if joined is not None else ():
            found[k].append(adjusted_rand_score(labels[k][drawn], cut(joined, k)))
    return {k: (float(np.mean(v)), min(v), max(v)) for k, v in found.items() if v}


def prompt_numbers(columns: Sequence[np.ndarray]) -> np.ndarray:
    """One whole number for each combination of values in some columns of equal length: (n,).

    >>> prompt_numbers([np.array(["man", "man", "woman"]), np.array(["", "Black", ""])]).tolist()
    [0, 1, 2]
    """
    codes = np.stack([np.unique(np.asarray(column, str), return_inverse=True)[1] for column in columns], axis=1)
    return np.unique(codes, axis=0, return_inverse=True)[1].ravel()
