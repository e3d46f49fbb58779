"""Exact nearest vectors by FAISS, in memory: filters are applied inside the search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from backend.neighbours.parts import NeighbourError

BLOCK = 8192
LENGTH = 0.01
"""Vectors of an embedding must be of length 1 to this."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Searches of FAISS on the calling thread alone; other threads keep their number. A single query is not shared out
    among threads, which are woken all the same: 0.5 ms against 7 ms for 20,000 vectors on two cores."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def colour_index(vectors: np.ndarray) -> Any:
    """An index that finds the least Euclidean distance. vectors: float32 (rows, width)."""
    import faiss

    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    return index


def checked(part: np.ndarray, first: int = 0) -> np.ndarray:
    """Vectors (rows, width) as float32. Raises NeighbourError where one is not finite or not of length 1."""
    rows = np.asarray(part, "float32")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    wrong = np.flatnonzero(~(np.abs(lengths - 1) <= LENGTH))
    if len(wrong):
        raise NeighbourError(
            f"the vector of row {first + wrong[0]:,} is not of length 1: embed the images again "
            "(`python -m backend embed`, or import-embedding)"
        )
    return rows


def unit_index(vectors: np.ndarray) -> Any:
    """An index that finds the greatest dot product. vectors: float16 (rows, width) of length 1, as an audit keeps them;
    held as float16 too, so half the memory of float32 is read by a search, and nothing is lost."""
    import faiss

    index = faiss.IndexScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    for first in range(0, len(vectors), BLOCK):
        index.add(checked(vectors[first : first + BLOCK], first))
    return index


def search_index(
    index: Any, vector: np.ndarray, k: int, rows: np.ndarray | None, itself: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of an index: rows and what the index measures (squared distance, or dot product).

    vector: float32 (width,); rows: only these can be found (None: all); `itself` cannot.
    """
    import faiss

    options = None
    if rows is not None:
        allowed = np.zeros(index.ntotal, bool)
        allowed[rows] = True
        if itself is not None:
            allowed[itself] = False
        k = min(k, int(allowed.sum()))
        options = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little")))
    else:
        k = min(k + (itself is not None), index.ntotal)
    if not k:
        return np.empty(0, np.int64), np.empty(0)
    with one_thread():
        values, found = index.search(np.ascontiguousarray(vector[None], "float32"), k, params=options)
    there = (found[0] >= 0) & (found[0] != (-1 if itself is None else itself))
    return found[0][there], values[0][there].astype("float64")
