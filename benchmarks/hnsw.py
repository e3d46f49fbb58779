"""Nearest vectors in a large made-up embedding: the graph against comparing all. Alone: `python -m benchmarks.hnsw`.

Building the graph of 1,000,000 vectors takes many minutes, so `python -m benchmarks` leaves this one out. The vectors,
256 wide and of length 1, lie about 2,000 random centres, each spread out in one of 64 random subspaces of 24 dimensions
(0.8 of a centre's length) with a little noise in all dimensions; queries are drawn likewise and are not among them.
"""

from __future__ import annotations

import os
import statistics
import time

import numpy as np

from backend.neighbours import graphs
from backend.neighbours.vectors import search_index
from benchmarks import _report
from benchmarks._report import Figure, milliseconds, spread

WIDTH = 256
CENTRES, SUBSPACES, INNER = 2000, 64, 24
QUERIES = 200
MOST, LEAST = 5.0, 0.97
BLOCK = 8192


def cloud(count: int) -> np.ndarray:
    """Clustered vectors of length 1, float16 as an audit keeps them."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(CENTRES, WIDTH)).astype("float32")
    bases = random.normal(size=(SUBSPACES, INNER, WIDTH)).astype("float32") / np.sqrt(INNER)
    found = np.empty((count, WIDTH), "float16")
    for first in range(0, count, BLOCK):
        rows = min(BLOCK, count - first)
        which = random.integers(0, CENTRES, rows)
        inner = random.normal(size=(rows, INNER)).astype("float32")
        moved = np.einsum("ij,ijk->ik", inner, bases[which % SUBSPACES])
        vectors = centres[which] + 0.8 * moved + 0.15 * random.normal(size=(rows, WIDTH)).astype("float32")
        found[first : first + rows] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def run(size: int, repeats: int) -> list[Figure]:
    """The figures for `size` vectors."""
    everything = cloud(size + QUERIES)
    vectors, asked = everything[:size], everything[size:].astype("float32")
    started = time.perf_counter()
    built = graphs.build(vectors, os.cpu_count() or 1)
    seconds = time.perf_counter() - started
    kept = graphs.arrays(built)
    started = time.perf_counter()
    index = graphs.restored(vectors, *kept)
    opened, flat = time.perf_counter() - started, graphs.storage_of(index)
    some = np.sort(np.random.default_rng(1).permutation(size)[: size // 10])
    ours, plain, filtered, found = [], [], [], 0
    for turn in range(repeats):
        for vector in asked:
            ours.append(milliseconds(lambda vector=vector: graphs.search(index, vector, graphs.RECALL_AT)))
            if turn == 0:
                true = search_index(flat, vector, graphs.RECALL_AT, None, None)[0]
                found += len(np.intersect1d(true, graphs.search(index, vector, graphs.RECALL_AT)[0]))
        for vector in asked[:20]:
            plain.append(milliseconds(lambda vector=vector: search_index(flat, vector, 10, None, None)))
            filtered.append(milliseconds(lambda vector=vector: search_index(flat, vector, 10, some, None)))
    recall = found / (len(asked) * graphs.RECALL_AT)
    ratio, middle = statistics.median(plain) / statistics.median(ours), statistics.median(ours)
    what = f"embedding {size:,} x {WIDTH}"
    return [
        Figure(
            f"{what}: the 10 nearest by the graph, recall@10 {recall:.4f} (baseline: all compared)",
            spread(ours, "ms", 2),
            spread(plain, "ms", 1),
            f"{ratio:.0f}x",
            f"at most {MOST:.0f} ms, recall at least {LEAST}",
            middle <= MOST and recall >= LEAST,
        ),
        Figure(f"{what}: the 10 nearest of a tenth of the rows, exact", spread(filtered, "ms", 1)),
        Figure(f"{what}: building the graph, once", f"{seconds:,.0f} s"),
        Figure(f"{what}: opening it from plain arrays ({kept[1].nbytes / 1e6:,.0f} MB), once", f"{opened:.1f} s"),
    ]


if __name__ == "__main__":
    _report.main(run, __doc__, size=1_000_000, repeats=3)
