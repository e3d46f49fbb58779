"""Each kind of neighbours: whether an audit is ready for it, and its search. search.py is what others call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from backend.neighbours import colour, graphs, vectors, words
from backend.neighbours.parts import Found, Kind, NeighbourError, nearest_of
from backend.store import Audit

EXACT = "Exact: no nearer image was passed over."


class Finder(ABC):
    """One kind of neighbours of one audit, loaded. Searches may run in several threads."""

    distance_name: str

    def __init__(self, width: int) -> None:
        self.width = width

    @abstractmethod
    def of_row(self, row: int) -> np.ndarray:
        """The features of a row. Raises NeighbourError where it has none."""

    @abstractmethod
    def nearest(self, vector: np.ndarray, k: int, rows: np.ndarray | None, itself: int | None) -> Found:
        """The k nearest, of `rows` alone where they are given, without `itself`."""

    def found(self, rows: np.ndarray, distance: np.ndarray, k: int, recall: float | None = None) -> Found:
        rows, distance = nearest_of(np.maximum(distance, 0.0), rows, k)
        return Found(rows, distance, recall is None, recall, self.distance_name)


class Colours(Finder):
    """Colours: Euclidean distance of `colour.features`."""

    distance_name = "difference in colours (0: the same; 1: no colour in common, equally colourful)"

    def __init__(self, audit: Audit) -> None:
        super().__init__(colour.WIDTH)
        values = audit.neighbours.colour(colour.WIDTH)
        there = np.flatnonzero(values[:, 1:].any(axis=1))
        self._unread = None if len(there) == len(values) else np.setdiff1d(np.arange(len(values)), there)
        self._values = values
        self._index = vectors.colour_index(values)

    def of_row(self, row: int) -> np.ndarray:
        if self._unread is not None and row in self._unread:
            raise NeighbourError("this image could not be read, so it has no neighbours by colour")
        return self._values[row]

    def nearest(self, vector: np.ndarray, k: int, rows: np.ndarray | None, itself: int | None) -> Found:
        if self._unread is not None:
            rows = np.setdiff1d(np.arange(len(self._values)) if rows is None else rows, self._unread)
        found, squares = vectors.search_index(self._index, vector, k, rows, itself)
        return self.found(found, np.sqrt(np.maximum(squares, 0)), k)


class Colourfulness(Finder):
    """Colourfulness alone: the difference of two numbers."""

    distance_name = "difference in colourfulness (M3 of Hasler and Suesstrunk)"

    def __init__(self, audit: Audit) -> None:
        super().__init__(1)
        values = audit.measure("colourfulness")
        if values is None:
            raise NeighbourError(f"there is no colourfulness yet. {remedy(audit)}")
        self._values = values
        self._there = np.flatnonzero(np.isfinite(values))

    def of_row(self, row: int) -> np.ndarray:
        if not np.isfinite(self._values[row]):
            raise NeighbourError("this image could not be read, so it has no colourfulness")
        return self._values[row : row + 1]

    def nearest(self, vector: np.ndarray, k: int, rows: np.ndarray | None, itself: int | None) -> Found:
        rows = self._there if rows is None else rows[np.isfinite(self._values[rows])]
        rows = rows[rows != (-1 if itself is None else itself)]
        return self.found(rows, np.abs(self._values[rows] - vector[0]), k)


class Structure(Finder):
    """Visual words: 1 less the cosine of two images' TF-IDF weights."""

    distance_name = "cosine distance (0: the same visual words; 1: none in common)"
    NARROW = 4
    """Where at most one row in so many may be found, only those are compared."""

    def __init__(self, audit: Audit) -> None:
        found, told = audit.neighbours.words(), audit.neighbours.parameters("words")
        super().__init__(len(found.codebook))
        self.codebook = found.codebook
        self.frequencies = words.inverse_frequencies(found.words, len(audit), self.width)
        self._matrix = words.weighted(found.offsets, found.words, found.counts, self.frequencies)
        self._graph = found.graph
        self._recall = None if told.get("exact") is True else share(told.get("recall"))

    def of_row(self, row: int) -> np.ndarray:
        begin, end = self._matrix.indptr[row : row + 2]
        if begin == end:
            raise NeighbourError("this image has no keypoints (it is too even), so it has no visual words to compare")
        vector = np.zeros(self.width, np.float32)
        vector[self._matrix.indices[begin:end]] = self._matrix.data[begin:end]
        return vector

    def nearest(self, vector: np.ndarray, k: int, rows: np.ndarray | None, itself: int | None) -> Found:
        if rows is None and itself is not None and k <= int((self._graph[itself] >= 0).sum()):
            near = self._graph[itself][:k].astype(np.int64)
            return self.found(near, self._distance(self._matrix[near] @ vector), k, self._recall)
        count = self._matrix.shape[0]
        rows = np.arange(count) if rows is None else rows
        rows = rows[rows != (-1 if itself is None else itself)]
        few = len(rows) * self.NARROW <= count
        cosine = self._matrix[rows] @ vector if few else (self._matrix @ vector)[rows]
        return self.found(rows, self._distance(cosine), k)

    @staticmethod
    def _distance(cosine: np.ndarray) -> np.ndarray:
        distance = 1 - cosine.astype("float64")
        return np.where(distance < 1e-6, 0.0, distance)  # the same words, to the precision of float32


class Content(Finder):
    """An embedding: 1 less the dot product of two vectors, which are of length 1."""

    distance_name = "cosine distance (0: the same direction; 1: nothing in common)"

    def __init__(self, audit: Audit, name: str) -> None:
        self._vectors = audit.vectors.embedding(name)
        super().__init__(self._vectors.shape[1])
        self._graph, self._recall = None, 0.0
        if len(audit) > graphs.MOST_EXACT:
            told, found = audit.neighbours.parameters(f"embedding-{name}"), audit.neighbours.links(name, graphs.M)
            self._graph = graphs.restored(self._vectors, found.levels, found.links, found.entry)
            self._recall = share(told.get("recall"))
        self._index = vectors.unit_index(self._vectors) if self._graph is None else graphs.storage_of(self._graph)

    def of_row(self, row: int) -> np.ndarray:
        return np.asarray(self._vectors[row], "float32")

    def nearest(self, vector: np.ndarray, k: int, rows: np.ndarray | None, itself: int | None) -> Found:
        if self._graph is not None and rows is None:
            found, products = graphs.search(self._graph, vector, k + (itself is not None))
            others = found != (-1 if itself is None else itself)
            if others.sum() >= k:
                return self.found(found[others], 1 - products[others], k, self._recall)
        found, products = vectors.search_index(self._index, vector, k, rows, itself)
        return self.found(found, 1 - products, k)


def share(value: Any) -> float:
    """A recall as a manifest says it; 0 where that is no share."""
    return float(value) if type(value) in (int, float) and 0 <= value <= 1 else 0.0


def whole(told: Mapping[str, Any], name: str) -> str:
    """A whole number that a manifest says, for people; "?" where it is none."""
    return f"{told[name]:,}" if type(told.get(name)) is int else "?"


def recalled(told: Mapping[str, Any]) -> str:
    """What a graph was found to hold when it was built."""
    return f"{share(told.get('recall')):.1%} of the true ten nearest (n = {whole(told, 'recall_rows')} images)"


def remedy(audit: Audit) -> str:
    return f"Run `python -m backend build {audit.name}`."


WORDS_TITLE = "Visual words (structure)"
STALE = {
    "missing": "Not made yet.",
    "stale": "Made for other images than there are now, or by another version of Likeness.",
}


def kind_of(audit: Audit, name: str, title: str, state: str, note: str) -> Kind:
    return Kind(name, title, state == "done", "" if state == "done" else f"{STALE[state]} {remedy(audit)}", note)


def colour_kind(audit: Audit) -> Kind:
    note = (
        "Pictures are compared by how colourful they are and by a histogram of their colours in CIE Lab. Where in the "
        f"picture a colour lies does not count. {EXACT}"
    )
    return kind_of(audit, "colour", "Colours", audit.neighbours.state("colour", colour.PARAMETERS), note)


def colourfulness_kind(audit: Audit) -> Kind:
    entry: dict[str, Any] = audit.manifest["stages"].get("colourfulness", {})
    current = entry.get("inputs") == audit.neighbours.inputs("colour") and audit.measure("colourfulness") is not None
    state = "done" if current else "stale" if entry else "missing"
    note = f"One number a picture, as in Stable Bias: which colours they are does not count. {EXACT}"
    return kind_of(audit, "colourfulness", "Colourfulness alone", state, note)


def words_kind(audit: Audit) -> Kind:
    told = audit.neighbours.parameters("words")
    state = audit.neighbours.state("words", words.PARAMETERS)
    if state == "missing" and audit.neighbours.state("colour", colour.PARAMETERS) == "done":  # a build was here
        why = "Not made: the build was stopped, or found no keypoints (images are too even); run again, it says which."
        return Kind("words", WORDS_TITLE, False, f"{why} {remedy(audit)}", "")
    searched = EXACT
    if told.get("exact") is not True:
        searched = (
            f"The {words.NEIGHBOURS} nearest of each image were found by a graph, which holds {recalled(told)}. A "
            "search with a filter, for more images or for a picture of your own compares every image."
        )
    note = (
        "Pictures are compared by their visual words: small grey patterns (SIFT), sorted into "
        f"{whole(told, 'codebook')} kinds, rare ones weighing more (TF-IDF). Colour does not count. {searched}"
    )
    return kind_of(audit, "words", WORDS_TITLE, state, note if state == "done" else "")


def content_kind(audit: Audit, name: str) -> Kind:
    state, searched = "done" if name in audit.vectors.embeddings() else "stale", EXACT
    if state == "done" and len(audit) > graphs.MOST_EXACT:
        told = audit.neighbours.parameters(f"embedding-{name}")
        state = audit.neighbours.state(f"embedding-{name}", graphs.PARAMETERS)
        searched = (
            f"A graph (HNSW) is searched, which finds {recalled(told)}. A search with a filter compares every image."
        )
    note = f"Pictures are compared by the vectors that a model made of them (embedding {name}). {searched}"
    return kind_of(audit, f"embedding-{name}", f"Content ({name})", state, note if state == "done" else "")
