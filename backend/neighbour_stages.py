"""The stages that neighbours need: which an audit lacks, and making them. build.py chains them.

Every function here takes an audit whose lock the caller holds, and writes through the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from backend.neighbours import colour, graphs, words
from backend.pictures import PictureError, read_grey, read_pixels
from backend.store import Audit, ColourWriter, Links, StoreError, Words, WordsWriter, write_links
from backend.vector_stages import versions

Progress = Callable[[int], object]


class WordsError(StoreError):
    """An audit in which no visual words can be found. The message says why."""


def parameters(audit: Audit, kind: str, size: int = 0) -> dict[str, Any]:
    """What a kind's stage must have been made with. `size`: how many visual words; 0 leaves what there is, or the
    usual number."""
    if kind != "words":
        return colour.PARAMETERS if kind == "colour" else graphs.PARAMETERS
    there = audit.neighbours.parameters("words").get("words")
    kept = there if type(there) is int and 2 <= there <= words.MOST_WORDS else words.WORDS
    return {**words.PARAMETERS, "words": size or kept}


def state(audit: Audit, kind: str, size: int = 0) -> str:
    """ "done", "stale" or "missing"."""
    return audit.neighbours.state(kind, parameters(audit, kind, size))


def wanted(audit: Audit) -> list[str]:
    """The kinds that an audit must have a stage for."""
    large = audit.vectors.embeddings() if len(audit) > graphs.MOST_EXACT else []
    return ["colour", "words", *(f"embedding-{name}" for name in large)]


def lacking(audit: Audit, size: int = 0) -> list[str]:
    """The kinds of `wanted` that are missing or stale."""
    return [kind for kind in wanted(audit) if state(audit, kind, size) != "done"]


def _colours(audit: Audit, row: int) -> np.ndarray:
    try:
        return colour.features(read_pixels(audit.image(row)[0], max_pixels=10**9))
    except PictureError:
        return np.zeros(colour.WIDTH, "float32")  # in no bin: what cannot be read


def measure_colours(audit: Audit, workers: int, progress: Progress = lambda rows: None) -> None:
    """The colours of every image, shard by shard: what an interrupted run has finished, and what an earlier one did for
    images that were there already, is kept."""
    writer = ColourWriter(audit, colour.PARAMETERS)
    writer.start()
    earlier = writer.earlier()

    def parts(pool: ThreadPoolExecutor) -> Iterator[np.ndarray]:
        for start, end, shard in audit.shards():
            part = (
                earlier[start:end] if earlier is not None and end <= len(earlier) else writer.load(shard, end - start)
            )
            if part is None:
                part = np.stack(list(pool.map(partial(_colours, audit), range(start, end))))
                writer.save(shard, part)
            progress(end - start)
            yield part

    with ThreadPoolExecutor(workers) as pool:
        writer.write(parts(pool), versions(("numpy", "pillow")))


def _descriptors(audit: Audit, row: int) -> np.ndarray:
    try:
        return words.descriptors(read_grey(audit.image(row)[0], words.SIDE, max_pixels=10**9))
    except PictureError:
        return words.NONE


def _sampled(audit: Audit, size: int, pool: ThreadPoolExecutor) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """A codebook, and the descriptors of the images that it was made of, by row. Raises WordsError."""
    random = np.random.default_rng(words.SEED)
    rows = np.sort(random.permutation(len(audit))[: words.SAMPLE_IMAGES]).tolist()
    found = dict(zip(rows, pool.map(partial(_descriptors, audit), rows), strict=True))
    everything = np.concatenate(list(found.values()))
    if not len(everything):
        raise WordsError("no visual words were found: the images looked at have no keypoints, being of one colour each")
    chosen = np.sort(random.permutation(len(everything))[: size * words.SAMPLE_A_WORD])
    return words.make_codebook(everything[chosen], size), found


def _shard_words(found: Iterable[np.ndarray], codebook: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
    """The words of a shard's images, given their descriptors: int32 (n, 3) of row, word and count."""
    counted = list(pool.map(partial(words.count_words, codebook=codebook), found))
    rows = np.repeat(np.arange(len(counted)), [len(each) for each, _ in counted])
    columns = [rows, *(np.concatenate([pair[place] for pair in counted]) for place in (0, 1))]
    return np.stack(columns, axis=1).astype(np.int32)


def find_words(audit: Audit, size: int, workers: int, progress: Progress = lambda rows: None) -> None:
    """The visual words of every image and the graph of those most alike; an interrupted run goes on with its codebook
    and its finished shards. Raises WordsError where the images have no keypoints."""
    from threadpoolctl import threadpool_limits

    writer, started = WordsWriter(audit, parameters(audit, "words", size)), time.perf_counter()
    writer.start()
    parts, known = [], {}

    def look(row: int) -> np.ndarray:
        return known[row] if row in known else _descriptors(audit, row)

    with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
        codebook = writer.load_codebook()
        if codebook is None:
            try:
                codebook, known = _sampled(audit, writer.parameters["words"], pool)
            except WordsError:
                writer.drop()
                raise
            writer.save_codebook(codebook)
        for start, end, shard in audit.shards():
            part = writer.load(shard, end - start, len(codebook))
            if part is None:
                part = _shard_words(pool.map(look, range(start, end)), codebook, pool)
                writer.save(shard, part)
            parts.append(part + np.array([start, 0, 0], np.int32))
            progress(end - start)
    found = np.concatenate(parts)
    offsets = np.searchsorted(found[:, 0], np.arange(len(audit) + 1)).astype(np.int64)
    frequencies = words.inverse_frequencies(found[:, 1], len(audit), len(codebook))
    matrix = words.weighted(offsets, found[:, 1], found[:, 2], frequencies)
    near, exact = words.graph(matrix)
    share, rows = words.recall(matrix, near)
    measured = {"recall": round(share, 4), "recall_rows": rows, "exact": exact}
    packages = versions(("opencv-python-headless", "scikit-learn", "pynndescent", "scipy", "numpy", "pillow"))
    seconds = time.perf_counter() - started
    writer.finish(Words(codebook, offsets, found[:, 1], found[:, 2], near), measured, seconds, packages)


def link_vectors(audit: Audit, name: str, workers: int, progress: Progress = lambda rows: None) -> None:
    """The graph by which a large embedding is searched. One that is interrupted begins again."""
    started, vectors = time.perf_counter(), audit.vectors.embedding(name)
    index = graphs.build(vectors, workers, progress)
    share, rows = graphs.recall(index, vectors)
    measured = {**graphs.PARAMETERS, "recall": round(share, 4), "recall_rows": rows}
    seconds = time.perf_counter() - started
    write_links(audit, name, Links(*graphs.arrays(index)), measured, seconds, versions(("faiss-cpu", "numpy")))


def make(audit: Audit, kind: str, workers: int, progress: Progress = lambda rows: None, size: int = 0) -> None:
    """Make the stage of one kind. Raises WordsError where the audit has no visual words, NeighbourError where a vector
    is not of length 1."""
    if kind == "colour":
        measure_colours(audit, workers, progress)
    elif kind == "words":
        find_words(audit, size, workers, progress)
    else:
        link_vectors(audit, kind.removeprefix("embedding-"), workers, progress)
