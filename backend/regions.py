"""Vectors -> regions: Ward's method on the identities, and the nearest region of every generation.

Pure functions of arrays; nothing here knows an audit. Stable Bias (Luccioni et al. 2023), sections 3.2 and 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

MOST_IDENTITIES = 20_000
"""Ward's method needs 8 bytes for every pair, twice: 3.2 GB for so many. Above it, a fixed random sample is used."""
SAMPLE_SEED = 0
BLOCK = 8192
CENTRAL = 24


class RegionError(Exception):
    """Vectors in which no regions can be found. The message says why and what to do."""


@dataclass(frozen=True)
class Assigned:
    """Every row's nearest centroid: `region` int16, and `margin` float32, its dot product less the second highest."""

    region: np.ndarray
    margin: np.ndarray


def unit_rows(vectors: np.ndarray, dtype: str = "float64") -> np.ndarray:
    """Vectors of shape (n, width) at length 1. Raises RegionError where one is not finite or has no length."""
    rows = np.asarray(vectors, dtype)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise RegionError("the embedding holds what is no finite number: embed the images again")
    if (lengths == 0).any():
        raise RegionError("the embedding holds vectors of length 0: embed the images again")
    return rows / lengths


def distances(rows: np.ndarray) -> np.ndarray:
    """Euclidean distances of all pairs of rows (float64, length 1) in scipy's condensed order: n (n - 1) / 2 numbers.

    From dot products, |a - b|^2 = 2 - 2 a.b, which one matrix product gives; equal rows may be 1e-8 apart.
    """
    count = len(rows)
    condensed = np.empty(count * (count - 1) // 2)
    place = 0
    for start in range(0, count, 1024):
        products = rows[start : start + 1024] @ rows[start:].T
        for offset, line in enumerate(products):
            rest = line[offset + 1 :]
            condensed[place : place + len(rest)] = rest
            place += len(rest)
    np.maximum(2 - 2 * condensed, 0, out=condensed)
    return np.sqrt(condensed, out=condensed)


def merges(rows: np.ndarray) -> np.ndarray:
    """Ward's linkage of unit rows (n, width): the pairs of clusters in the order in which they join, int64 (n - 1, 2).

    Row i joins two clusters into cluster n + i; clusters below n are single rows. One thread: the same bits each time.
    Source: Ward 1963, by the nearest-neighbour chain of scipy's `linkage`; the Euclidean distance of unit vectors is
    the "dot product" of Stable Bias, section 3.2.
    """
    from scipy.cluster.hierarchy import linkage
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return linkage(distances(rows), "ward")[:, :2].astype(np.int64)


def cut(joined: np.ndarray, k: int) -> np.ndarray:
    """The cluster of every row when a linkage is cut into k, numbered by size (the largest is 0; of equal ones that
    with the smallest row comes first): int16 (n,).

    Rows 0 and 1 join first, then 2 joins them; 3 stays alone when two are left:

    >>> cut(np.array([[0, 1], [2, 4], [3, 5]]), 2).tolist()
    [0, 0, 0, 1]
    """
    count = len(joined) + 1
    above = np.arange(2 * count - 1)
    for number, pair in enumerate(joined[: count - k]):
        above[pair] = count + number
    for node in range(2 * count - 2, -1, -1):  # a parent's number is higher: it is final before its children
        above[node] = above[above[node]]
    _, first, labels, sizes = np.unique(above[:count], return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    numbers = np.empty(k, np.int16)
    numbers[order] = np.arange(k)
    return numbers[labels]


def check_identities(rows: np.ndarray, k: int) -> None:
    """Raise RegionError where rows (n, width) cannot make k regions: none, too few, or too few that differ."""
    if len(rows) == 0:
        raise RegionError(
            "the audit has no identities (images whose prompt names a gender, an ethnicity or a tone, and no "
            "profession): generate some with [identities] in a spec, or borrow regions with --regions-from AUDIT"
        )
    if len(rows) < k:
        raise RegionError(f"{len(rows):,} identities cannot make {k} regions: generate more, or give --k {len(rows)}")
    different = len({row.tobytes() for row in np.ascontiguousarray(rows)})
    if different < k:
        words = "all alike" if different == 1 else f"only {different:,} different ones"
        raise RegionError(
            f"the identities' vectors are {words}, too few for {k} regions: look whether the images differ, "
            "and embed them with another model"
        )


def sample(count: int) -> tuple[np.ndarray, str]:
    """Which of so many identities are clustered, in order, and the sentence that says so where it is not all."""
    if count <= MOST_IDENTITIES:
        return np.arange(count), ""
    chosen = np.random.default_rng(SAMPLE_SEED).choice(count, MOST_IDENTITIES, replace=False)
    return np.sort(chosen), (
        f"The regions were formed from a fixed random sample of {MOST_IDENTITIES:,} of the {count:,} identities, "
        "as the memory of Ward's method grows with the square of their number."
    )


def means(rows: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Each cluster's mean at length 1: rows (n, width), labels from 0 to k - 1; float32 (k, width).

    Raises RegionError where vectors of a cluster cancel each other out.
    """
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(k))
    return unit_rows(np.add.reduceat(rows[order].astype("float64"), starts)).astype("float32")


def blocks(count: int) -> Iterator[slice]:
    """Ranges of rows that are worked on at once."""
    return (slice(start, start + BLOCK) for start in range(0, count, BLOCK))


def assign(vectors: np.ndarray, centroids: np.ndarray) -> Assigned:
    """The nearest centroid of every vector by dot product, of equal ones the first, and the margin to the second.

    vectors: (n, width), of any float type, also memory-mapped: read in blocks of BLOCK rows, each brought to length 1
    in float32. centroids: float32 (k, width), k at least 1; with one region the margin is its dot product itself.

    >>> found = assign(np.array([[1, 0], [3, 4]]), np.array([[1, 0], [0, 1]], "float32"))
    >>> found.region.tolist(), [round(float(margin), 1) for margin in found.margin]
    ([0, 1], [1.0, 0.2])
    """
    region, margin = np.empty(len(vectors), np.int16), np.empty(len(vectors), np.float32)
    turned = np.ascontiguousarray(centroids.T)
    for block in blocks(len(vectors)):
        rows = np.asarray(vectors[block], np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            unit_rows(rows)
        products = rows @ turned
        best = products.argmax(axis=1)
        each = np.arange(len(rows))
        highest = products[each, best]
        if products.shape[1] > 1:
            products[each, best] = -np.inf
            highest = highest - products.max(axis=1)
        region[block], margin[block] = best, highest / lengths
    return Assigned(region, margin)


def central(vectors: np.ndarray, rows: np.ndarray, labels: np.ndarray, centroids: np.ndarray) -> list[list[int]]:
    """For each region the CENTRAL of its rows that lie nearest its centroid, the nearest first, of equals the earlier.

    `rows` are numbers of vectors, `labels` their regions.
    """
    near = np.empty(len(rows))
    for block in blocks(len(rows)):
        some = np.asarray(vectors[rows[block]], np.float64)
        near[block] = np.einsum("ij,ij->i", some, centroids[labels[block]]) / np.linalg.norm(some, axis=1)
    order = np.lexsort((rows, -near, labels))
    starts = np.searchsorted(labels[order], np.arange(len(centroids) + 1))
    return [rows[order[a:b]][:CENTRAL].tolist() for a, b in pairwise(starts)]


def top(values: Sequence[str] | np.ndarray) -> tuple[tuple[str, int], ...]:
    """Values with their counts, the most frequent first, of equals in alphabetical order.

    >>> top(["man", "woman", "woman"])
    (('woman', 2), ('man', 1))
    """
    names, counts = np.unique(np.asarray(values, str), return_counts=True)
    order = np.lexsort((names, -counts))
    return tuple((str(names[place]), int(counts[place])) for place in order)
