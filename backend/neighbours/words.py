"""One picture -> visual words, and many pictures' words -> weights. Pure functions; nothing here knows an audit.

Stable Bias, section 4.3: SIFT features, a codebook by k-means, TF-IDF, nearest neighbours by a graph. The paper gives
no sizes; those here are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SIDE = 256
"""Pictures are brought down to so many pixels on their longer side; smaller ones stay as they are."""
KEYPOINTS = 300
"""The most of a picture, those of highest contrast."""
WORDS = 1000
MOST_WORDS = 20_000
SAMPLE_IMAGES = 2000
SAMPLE_A_WORD = 100
"""Descriptors that the codebook is made of: so many for a word, of so many images at most."""
LEAST_A_WORD = 10
"""An audit with fewer descriptors than so many for each word gets fewer words."""
NEIGHBOURS = 30
"""Neighbours that the graph keeps of every image."""
EXACT_ROWS = 1000
"""Up to so many images the graph is found by comparing all pairs."""
SEED = 0
PARAMETERS = {"version": 1, "side": SIDE, "keypoints": KEYPOINTS, "descriptor": "rootsift", "neighbours": NEIGHBOURS}
NONE = np.empty((0, 128), np.uint8)
"""The descriptors of a picture without keypoints."""
RECALL_ROWS = 500
RECALL_AT = 10


def descriptors(grey: np.ndarray) -> np.ndarray:
    """The SIFT descriptors of a picture: uint8 (n, 128), n from 0 (a picture without keypoints) to KEYPOINTS.

    grey: uint8 (height, width). Source: Lowe, "Distinctive image features from scale-invariant keypoints" (2004), as
    OpenCV has it, whose descriptors are whole numbers from 0 to 255.
    """
    import cv2

    _, found = cv2.SIFT_create(nfeatures=KEYPOINTS).detectAndCompute(np.ascontiguousarray(grey), None)
    if found is None:
        return NONE
    return found[:KEYPOINTS].astype(np.uint8)  # OpenCV keeps what ties with the last


def rooted(found: np.ndarray) -> np.ndarray:
    """Descriptors (n, 128) as float32 of length 1 whose distance is the Hellinger distance of the originals.

    >>> (rooted(np.array([[1, 3] + [0] * 126], np.uint8))[0, :2] ** 2).round(2).tolist()
    [0.25, 0.75]

    Source: Arandjelović and Zisserman, "Three things everyone should know to improve object retrieval" (2012). Of the
    ten nearest of each of 492 portraits 31 % had the same profession with it, 28 % without (9 % by chance).
    """
    values = found.astype(np.float32)
    return np.sqrt(values / np.maximum(values.sum(axis=1, keepdims=True), 1))


def make_codebook(sample: np.ndarray, words: int) -> np.ndarray:
    """The centres of k-means over descriptors: float32 (words, 128), fewer where the sample is small.

    sample: uint8 (n, 128), n at least 1. Mini-batches of a fixed seed, on one thread, so that the bits do not depend
    on the number of cores. Source: Sculley, "Web-scale k-means clustering" (2010).
    """
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    words = max(1, min(words, len(sample) // LEAST_A_WORD))
    with threadpool_limits(1):
        model = MiniBatchKMeans(words, random_state=SEED, batch_size=4096, n_init=1, max_iter=20)
        return model.fit(rooted(sample)).cluster_centers_.astype(np.float32)


def count_words(found: np.ndarray, codebook: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A picture's words, in order and each once, and how often it has each: int64 (n,) twice.

    found: uint8 (keypoints, 128); codebook: float32 (words, 128). A descriptor's word is the nearest centre, of all
    descriptors at once by one matrix product.
    """
    if not len(found):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    nearest = (rooted(found) @ codebook.T - (codebook * codebook).sum(axis=1) / 2).argmax(axis=1)
    return np.unique(nearest, return_counts=True)


def inverse_frequencies(words: np.ndarray, rows: int, size: int) -> np.ndarray:
    """How much each of `size` words weighs: ln((1 + rows) / (1 + rows that have it)) + 1, float64 (size,).

    Of three images all have word 0, one has word 1:

    >>> inverse_frequencies(np.array([0, 0, 1, 0]), rows=3, size=2).round(3).tolist()
    [1.0, 1.693]

    words: the words of all rows, each once a row. Source: Sivic and Zisserman, "Video Google" (2003), smoothed as in
    scikit-learn's TfidfTransformer, so that no image with keypoints is left without weights.
    """
    return np.log((1 + rows) / (1 + np.bincount(words, minlength=size))) + 1


def weighted(offsets: np.ndarray, words: np.ndarray, counts: np.ndarray, frequencies: np.ndarray) -> Any:
    """Counts times inverse frequencies, each row brought to length 1: a scipy.sparse.csr_array, float32 (rows, words).

    offsets: int64 (rows + 1,), where each row's words begin and end. A row without words stays 0.
    """
    from scipy.sparse import csr_array

    values = counts * frequencies[words]
    rows = len(offsets) - 1
    sums = np.bincount(np.repeat(np.arange(rows), np.diff(offsets)), values * values, rows)
    values /= np.sqrt(np.repeat(sums, np.diff(offsets)))
    places = (words.astype(np.int32), offsets.astype(np.int64 if len(words) > 2**31 - 1 else np.int32))
    return csr_array((values.astype(np.float32), *places), shape=(rows, len(frequencies)))


def query_vector(words: np.ndarray, counts: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """One picture's row of `weighted`, dense: float32 (size,)."""
    vector = np.zeros(len(frequencies))
    vector[words] = counts * frequencies[words]
    return (vector / max(np.linalg.norm(vector), 1e-300)).astype(np.float32)


def graph(matrix: Any) -> tuple[np.ndarray, bool]:
    """The NEIGHBOURS nearest of every row by cosine, int32 (rows, NEIGHBOURS), and whether they are certain.

    matrix: `weighted`. Rows without words neither have neighbours nor are any; -1 fills what is left. Up to EXACT_ROWS
    all pairs are compared, above that the graph is found by descent (one thread, fixed seed: the bits do not depend on
    the number of cores). Source: Dong, Moses and Li, "Efficient k-nearest neighbor graph construction for generic
    similarity measures" (2011), as pynndescent has it.
    """
    there = np.flatnonzero(np.diff(matrix.indptr))
    found = np.full((matrix.shape[0], NEIGHBOURS), -1, np.int32)
    if len(there) < 2:
        return found, True
    exact = len(there) <= EXACT_ROWS
    near = _all_pairs(matrix[there]) if exact else _descended(matrix[there])
    found[there, : near.shape[1]] = np.where(near < 0, -1, there[near])
    return found, exact


def _all_pairs(matrix: Any) -> np.ndarray:
    cosine = (matrix @ matrix.T).toarray()
    np.fill_diagonal(cosine, -1)
    return np.argsort(-cosine, axis=1, kind="stable")[:, : min(NEIGHBOURS, len(cosine) - 1)]


def _descended(matrix: Any) -> np.ndarray:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba warns of its own threads
        from pynndescent import NNDescent

        found = NNDescent(matrix, metric="cosine", n_neighbors=NEIGHBOURS + 1, random_state=SEED, n_jobs=1)
        near = found.neighbor_graph[0]
    itself = near == np.arange(len(near))[:, None]
    itself[~itself.any(axis=1), -1] = True  # where a row has not found itself its last goes
    order = np.argsort(itself, axis=1, kind="stable")[:, :-1]
    return np.take_along_axis(near, order, axis=1)


def recall(matrix: Any, near: np.ndarray) -> tuple[float, int]:
    """Of the true RECALL_AT nearest of some rows, the share that a graph has; and of how many rows.

    matrix: `weighted`; near: `graph`. A neighbour counts where it is as near as the last of the true ones, so that
    ties do not. The rows: at most RECALL_ROWS of those with words, a fixed sample.
    """
    there = np.flatnonzero(np.diff(matrix.indptr))
    rows = np.sort(np.random.default_rng(SEED).permutation(there)[:RECALL_ROWS])
    right = wanted = 0
    for row in rows:
        cosine = matrix @ matrix[[row]].toarray()[0]
        cosine[row] = -1
        count = min(RECALL_AT, len(there) - 1)
        found = near[row][near[row] >= 0]
        best = np.sort(cosine[found])[::-1][:count]
        if count:
            right += int((best >= np.partition(cosine, -count)[-count] - 1e-6).sum())
        wanted += count
    return (right / wanted if wanted else 1.0), len(rows)
