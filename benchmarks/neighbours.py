"""Neighbours: building visual words against a plain loop with OpenCV, and searches against scikit-learn's.

The plain loop does what OpenCV's BOWKMeansTrainer (3 attempts, k-means++) and BOWImgDescriptorExtractor with a
brute-force matcher do, which OpenCV 5 no longer has: the same pictures, working size, keypoints and number of words; it
clusters all descriptors.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from backend.neighbour_stages import find_words
from backend.neighbours import query_of, search, vectors, words
from backend.neighbours.search import finder
from backend.store import Audit, writing
from benchmarks import _images, _report
from benchmarks._process import ran, workplace
from benchmarks._report import Figure, milliseconds, spread
from benchmarks.regions import WIDTH, cloud

LOOP = 300
"""Images that the plain loop is given at most: a minute and a half for 300, so that a run stays within minutes."""
QUERIES = 200
NEAREST = 10


def plain_words(files: list[Path], size: int) -> np.ndarray:
    """A bag of visual words as a short script with OpenCV would make it: counts (images, size)."""
    import cv2

    sift, found = cv2.SIFT_create(nfeatures=words.KEYPOINTS), []
    for file in files:
        grey = Image.open(file).convert("L")
        grey.thumbnail((words.SIDE, words.SIDE))
        found.append(sift.detectAndCompute(np.asarray(grey), None)[1])
    everything = np.concatenate([each for each in found if each is not None])
    _, _, centres = cv2.kmeans(everything, size, None, (0, 0, 0.0), 3, cv2.KMEANS_PP_CENTERS)
    matcher, counts = cv2.BFMatcher(), np.zeros((len(files), size), int)
    for row, each in enumerate(found):
        for match in matcher.match(each, centres) if each is not None else ():
            counts[row, match.trainIdx] += 1
    return counts


def made(folder: Path, count: int, name: str) -> tuple[Path, list[Path]]:
    """An audit of `count` images without neighbours, and the files it was imported from."""
    source = folder / f"source-{name}"
    _images.make(source, count)
    ran("-m", "backend", "import", source, name, "--cache", folder)
    return folder / name, sorted(source.rglob("*.jpg"))


def ours(folder: Path) -> None:
    """The stage `neighbours-words` as a build makes it."""
    with writing(folder):
        find_words(Audit(folder), 0, os.cpu_count() or 1)


def building(folder: Path, size: int, repeats: int) -> list[Figure]:
    """Building visual words: the stage at full size, and both at a size that the plain loop can do."""
    few = min(size, LOOP)
    small, files = made(folder, few, "small")
    large, _ = made(folder, size, "large")
    ours(small)  # compiles the search for the graph, which is kept on the disk
    both = [
        (milliseconds(lambda: ours(small)) / 1000, milliseconds(lambda: plain_words(files, words.WORDS)) / 1000)
        for _ in range(max(1, repeats // 3))
    ]
    whole = [milliseconds(lambda: ours(large)) / 1000 for _ in range(repeats)]
    ratio = statistics.median(b for _, b in both) / statistics.median(a for a, _ in both)
    return [
        Figure(
            f"visual words of {few:,} images of 512 px, {words.WORDS:,} words, against a plain loop with OpenCV",
            spread([a for a, _ in both], "s"),
            spread([b for _, b in both], "s"),
            f"{ratio:.1f}x",
            "at least 5x",
            ratio >= 5,
        ),
        Figure(f"visual words of {size:,} images of 512 px, graph and recall included", spread(whole, "s")),
    ]


def searching(folder: Path, repeats: int) -> list[Figure]:
    """Searches by visual words in the audit that `building` has made."""
    audit = Audit(folder)
    random, rows = np.random.default_rng(0), len(audit)
    asked = random.integers(0, rows, min(QUERIES, rows)).tolist()
    half = np.flatnonzero(random.random(rows) < 0.5)
    finder(audit, "words")
    right, by_graph, exact, filtered, uploads = 0, [], [], [], []
    for row in asked * repeats:
        by_graph.append(milliseconds(lambda row=row: search(audit, "words", row, NEAREST)))
        exact.append(milliseconds(lambda row=row: search(audit, "words", row, NEAREST, np.arange(rows))))
        filtered.append(milliseconds(lambda row=row: search(audit, "words", row, NEAREST, half)))
    for row in asked:
        true = search(audit, "words", row, NEAREST, np.arange(rows)).distance[-1] + 1e-6
        right += int((search(audit, "words", row, NEAREST).distance <= true).sum())
    for row in asked[:20] * repeats:
        data = audit.image(row)[0]
        uploads.append(milliseconds(lambda data=data: search(audit, "words", query_of(audit, "words", data), NEAREST)))
    recall, middle = right / (len(asked) * NEAREST), statistics.median(by_graph)
    return [
        Figure(
            f"visual words: the {NEAREST} nearest of {rows:,} by the graph, recall@10 {recall:.3f} (baseline: exact)",
            spread(by_graph, "ms", 2),
            spread(exact, "ms", 2),
            f"{statistics.median(exact) / middle:.1f}x",
            "at most 10 ms, recall at least 0.95",
            middle <= 10 and recall >= 0.95,
        ),
        Figure(f"visual words: the {NEAREST} nearest of half of {rows:,}, exact", spread(filtered, "ms", 2)),
        Figure("visual words: a picture of 512 px from outside, decoded and searched", spread(uploads, "ms", 1)),
    ]


def exact_vectors(size: int, repeats: int) -> list[Figure]:
    """An exact search in an embedding against scikit-learn's brute force with cosine distances."""
    from sklearn.neighbors import NearestNeighbors

    kept = cloud(size, 1)
    asked = cloud(20, 2).astype("float32")
    index = vectors.unit_index(kept)
    plain = NearestNeighbors(n_neighbors=NEAREST, algorithm="brute", metric="cosine").fit(kept.astype("float32"))
    half = np.flatnonzero(np.random.default_rng(0).random(size) < 0.5)
    found, filtered, theirs = [], [], []
    for vector in np.tile(asked, (repeats, 1)):
        found.append(milliseconds(lambda v=vector: vectors.search_index(index, v, NEAREST, None, None)))
        filtered.append(milliseconds(lambda v=vector: vectors.search_index(index, v, NEAREST, half, None)))
        theirs.append(milliseconds(lambda v=vector: plain.kneighbors(v[None])))
    for vector in asked:
        near = np.sort(vectors.search_index(index, vector, NEAREST, None, None)[1])[::-1]
        if not np.allclose(1 - plain.kneighbors(vector[None])[0][0], near, atol=2e-3):
            raise RuntimeError("the two do not find the same")
    middle, ratio = statistics.median(found), statistics.median(theirs) / statistics.median(found)
    return [
        Figure(
            f"embedding: the {NEAREST} nearest of {size:,} x {WIDTH}, exact (baseline: scikit-learn, brute, cosine)",
            spread(found, "ms", 1),
            spread(theirs, "ms", 1),
            f"{ratio:.1f}x",
            "at most 15 ms and faster",
            middle <= 15 and ratio > 1,
        ),
        Figure(f"embedding: the {NEAREST} nearest of half of {size:,} x {WIDTH}, exact", spread(filtered, "ms", 1)),
    ]


def run(size: int, repeats: int) -> list[Figure]:
    """The figures for `size` images with visual words; an embedding has 94,500 rows for 2,000 images."""
    with workplace() as folder:
        figures = building(folder, size, repeats)
        print("built", file=sys.stderr, flush=True)
        return figures + searching(folder / "large", repeats) + exact_vectors(round(size * 47.25), repeats)


if __name__ == "__main__":
    _report.main(run, __doc__, size=2_000, repeats=3)
