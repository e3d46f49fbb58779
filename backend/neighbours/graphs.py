"""Approximate nearest vectors for large embeddings: a graph (HNSW) kept as plain arrays, built and searched by FAISS.

FAISS's own files are never read: they may come from a stranger, and it trusts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend.neighbours.vectors import BLOCK, checked, one_thread

MOST_EXACT = 200_000
"""Up to so many images every search of an embedding compares all of them."""
M = 32
CONSTRUCTION = 80
SEARCH = 128
"""Links of a row (twice as many on the lowest level), and how many candidates building and searching keep."""
SEED = 0
RECALL_ROWS = 500
RECALL_AT = 10
PARAMETERS = {"version": 1, "m": M, "construction": CONSTRUCTION, "search": SEARCH}


def _empty(width: int) -> Any:
    import faiss

    index = faiss.IndexHNSWSQ(width, faiss.ScalarQuantizer.QT_fp16, M, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = CONSTRUCTION
    return index


def build(vectors: np.ndarray, workers: int, progress: Callable[[int], object] = lambda rows: None) -> Any:
    """A FAISS index with the graph of some vectors. vectors: float16 (rows, width) of length 1.

    With more than one of `workers` the links differ a little from one time to the next. Source: Malkov and Yashunin,
    "Efficient and robust approximate nearest neighbor search using hierarchical navigable small world graphs" (2018).
    """
    import faiss

    index, before = _empty(vectors.shape[1]), faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(workers)
    try:
        for first in range(0, len(vectors), BLOCK):
            part = checked(vectors[first : first + BLOCK], first)
            index.add(part)
            progress(len(part))
    finally:
        faiss.omp_set_num_threads(before)
    return index


def arrays(index: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """What of an index is the graph: each row's number of levels, uint8 (rows,); the rows that each row has links to,
    level by level and filled up with -1, int32; and the row where searches begin."""
    import faiss

    graph = index.hnsw
    levels = faiss.vector_to_array(graph.levels).astype(np.uint8)
    return levels, faiss.vector_to_array(graph.neighbors).astype(np.int32), int(graph.entry_point)


def restored(vectors: np.ndarray, levels: np.ndarray, links: np.ndarray, entry: int) -> Any:
    """The index that `arrays` was taken from. What it is given must have been checked (store/neighbours.py): FAISS
    follows links without looking where they lead."""
    import faiss

    index = _empty(vectors.shape[1])
    storage = faiss.downcast_index(index.storage)
    for first in range(0, len(vectors), BLOCK):
        storage.add(checked(vectors[first : first + BLOCK], first))
    graph, slots = index.hnsw, faiss.vector_to_array(index.hnsw.cum_nneighbor_per_level)
    offsets = np.concatenate([[0], np.cumsum(slots[levels], dtype=np.uint64)]).astype(np.uint64)
    for array, vector in ((levels.astype(np.int32), graph.levels), (offsets, graph.offsets), (links, graph.neighbors)):
        faiss.copy_array_to_vector(array, vector)
    index.ntotal = len(vectors)
    graph.entry_point, graph.max_level = entry, int(levels.max()) - 1
    return index


def storage_of(index: Any) -> Any:
    """The part of an index that compares a query with every row."""
    import faiss

    return faiss.downcast_index(index.storage)


def search(index: Any, vector: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """At most k rows near a vector, and their dot products: the graph may give fewer."""
    import faiss

    options = faiss.SearchParametersHNSW(efSearch=max(SEARCH, k))
    with one_thread():
        values, found = index.search(
            np.ascontiguousarray(vector[None], "float32"), min(k, index.ntotal), params=options
        )
    there = found[0] >= 0
    return found[0][there], values[0][there].astype("float64")


def recall(index: Any, vectors: np.ndarray) -> tuple[float, int]:
    """Of the true RECALL_AT nearest of some rows (a fixed sample), the share that searches find; and of how many rows.
    What is as near as the last of the true ones counts."""
    rows = np.sort(np.random.default_rng(SEED).permutation(len(vectors))[:RECALL_ROWS])
    count = min(RECALL_AT, len(vectors) - 1)
    right = 0
    for row in rows:
        vector = np.asarray(vectors[row], "float32")
        with one_thread():
            values = storage_of(index).search(vector[None], count + 1)
        true = np.sort(values[0][0][values[1][0] != row])[::-1][:count]
        found, products = search(index, vector, count + 1)
        best = np.sort(products[found != row])[::-1][:count]
        right += int((best >= true[-1] - 1e-6).sum()) if count else 0
    return (right / (count * len(rows)) if count else 1.0), len(rows)
