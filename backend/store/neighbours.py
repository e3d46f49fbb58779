"""What an audit holds for finding images that are like another, read and checked when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backend.store.arrays import mapped, numbers
from backend.store.checks import stage_files, stage_parts
from backend.store.files import StoreError
from backend.store.vectors import Vectors

DESCRIPTOR = 128
MOST_COLOUR = 10
MOST_WORDS = 65_536
MOST_LEVELS = 6
"""FAISS gives no row more levels at 32 links a row."""
_REPAIR = "Restore the folder from a copy, or import the images again and run `python -m backend build` on them."


@dataclass(frozen=True, eq=False)
class Words:
    """The visual words of all images.

    `codebook`: float32 (size, DESCRIPTOR); row i has the words `words[offsets[i]:offsets[i + 1]]`, in order and each
    once, `counts` times (int64, int32, int32); `graph`: int32 (rows, neighbours), the rows most like each, nearest
    first, filled up with -1.
    """

    codebook: np.ndarray
    offsets: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    graph: np.ndarray

    def problem(self) -> str:
        """What is wrong with the numbers, or "" where all is well."""
        ends, rows = self.offsets, len(self.offsets) - 1
        within = ends.min() >= 0 and ends[0] == 0 and ends[-1] == len(self.words)
        if not within or (np.diff(ends) < 0).any():
            return "its rows do not begin and end where words do"
        if not ((self.codebook >= 0) & (self.codebook <= 1)).all():
            return "its codebook holds what is no number from 0 to 1"
        if len(self.words) and (self.words.max() >= len(self.codebook) or self.counts.min() < 1):
            return "it names a word that is not in the codebook"
        rising = np.diff(self.words) > 0
        begins = ends[(ends > 0) & (ends < len(self.words))]
        rising[begins - 1] = True
        return "a row has a word twice" if not rising.all() else graph_problem(self.graph, rows)


def graph_problem(graph: np.ndarray, rows: int) -> str:
    """What is wrong with lists of rows, int32 (rows, neighbours), that end in -1."""
    if graph.size and not (graph.min() >= -1 and graph.max() < rows):
        return "its graph names a row that is not there"
    ordered = np.sort(graph, axis=1)
    twice = ((np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] >= 0)).any()
    if twice or (graph == np.arange(len(graph))[:, None]).any():
        return "its graph names a row twice, or a row as its own neighbour"
    return "its graph has gaps" if ((graph[:, :-1] < 0) & (graph[:, 1:] >= 0)).any() else ""


@dataclass(frozen=True, eq=False)
class Links:
    """A graph (HNSW) over an embedding's rows: `levels`, uint8 (rows,), on how many levels each row is; `links`, int32,
    the rows that each row has links to, level by level, 2 * m on the lowest and m on each other, filled up with -1;
    `entry`, the row where searches begin."""

    levels: np.ndarray
    links: np.ndarray
    entry: int

    def problem(self, m: int) -> str:
        """What is wrong with the numbers, or "": whoever follows these links never leaves the rows."""
        levels, links, rows = self.levels, self.links, len(self.levels)
        if levels.min() < 1 or levels.max() > MOST_LEVELS:
            return "a row of its graph is on no possible number of levels"
        slots = np.concatenate([[0], m * np.arange(2, MOST_LEVELS + 2)])  # of a row on so many levels
        begins = np.concatenate([[0], np.cumsum(slots[levels])])
        if begins[-1] != len(links):
            return "its graph and its levels differ in size"
        if links.min() < -1 or links.max() >= rows:
            return "its graph names a row that is not there"
        if not 0 <= self.entry < rows or levels[self.entry] != levels.max():
            return "its graph does not begin at its highest level"
        for level in range(1, int(levels.max())):
            above = np.flatnonzero(levels > level)
            led = links[begins[above][:, None] + np.arange(slots[level], slots[level + 1])]
            if (levels[led[led >= 0]] <= level).any():
                return "its graph leads to a row on a level where that row is not"
        return ""


class Neighbours:
    """The stages `neighbours-colour`, `neighbours-words` and `neighbours-embedding-NAME` of one audit, read-only."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], rows: int, vectors: Vectors) -> None:
        self._folder, self._manifest, self._rows, self._vectors = folder, manifest, rows, vectors

    def inputs(self, kind: str) -> list[str]:
        """What a kind is computed from: the hashes of the images' shards, or of an embedding and the table."""
        if kind.startswith("embedding-"):
            return self._vectors.inputs(kind.removeprefix("embedding-"))
        return [entry["sha256"] for entry in self._manifest["shards"].values()]

    def parameters(self, kind: str) -> dict[str, Any]:
        """What the manifest says of how a kind was made; empty where it was not."""
        return self._manifest["stages"].get(f"neighbours-{kind}", {}).get("parameters", {})

    def state(self, kind: str, wanted: Mapping[str, Any]) -> str:
        """ "done", "stale" (made from other images or vectors, or with other parameters than `wanted`) or "missing"."""
        entry = self._manifest["stages"].get(f"neighbours-{kind}")
        if entry is None:
            return "missing"
        same = all(entry["parameters"].get(name) == value for name, value in wanted.items())
        return "done" if same and entry["rows"] == self._rows and entry["inputs"] == self.inputs(kind) else "stale"

    def kinds(self) -> list[str]:
        """The kinds that the manifest lists."""
        parts = (stage_parts(name) for name in self._manifest["stages"])
        return [name for kind, name, _ in parts if kind == "neighbours"]

    def _number(self, kind: str, name: str, most: int) -> int:
        """A parameter that must be a whole number from 1."""
        value = self.parameters(kind).get(name)
        if type(value) is not int or not 1 <= value <= most:
            raise StoreError(f"{self._folder}: the neighbours by {kind} have no possible {name!r}. {_REPAIR}")
        return value

    def _files(self, kind: str) -> list[Path]:
        return [self._folder / name for name in stage_files(f"neighbours-{kind}")]

    def colour(self, width: int) -> np.ndarray:
        """The colours of every image, float32 of shape (rows, width), from 0 to MOST_COLOUR. Raises StoreError."""
        path = self._files("colour")[0]
        values = numbers(path, (self._rows, width), "float32")
        if values.min() < 0 or values.max() > MOST_COLOUR:
            raise StoreError(f"{path} holds what is no number from 0 to {MOST_COLOUR}. {_REPAIR}")
        return values

    def words(self) -> Words:
        """The visual words of every image. Raises StoreError where a file is not what it must be."""
        size = self._number("words", "codebook", MOST_WORDS)
        length = self._number("words", "postings", 2**40)
        neighbours = self._number("words", "neighbours", 1000)
        codebook, offsets, postings, graph = self._files("words")
        pairs = np.asarray(mapped(postings, (length, 2), "uint16"), np.int32)
        found = Words(
            np.array(mapped(codebook, (size, DESCRIPTOR), "float32")),
            np.array(mapped(offsets, (self._rows + 1,), "int64")),
            pairs[:, 0].copy(),
            pairs[:, 1].copy(),
            np.array(mapped(graph, (self._rows, neighbours), "int32")),
        )
        problem = found.problem()
        if problem:
            raise StoreError(f"{postings.parent} holds no visual words of this audit: {problem}. {_REPAIR}")
        return found

    def links(self, embedding: str, m: int) -> Links:
        """The graph over an embedding's rows, of m links. Raises StoreError where a file is not what it must be."""
        kind = f"embedding-{embedding}"
        length, entry = self._number(kind, "links", 2**40), self.parameters(kind).get("entry")
        levels, links = self._files(kind)
        found = Links(
            np.array(mapped(levels, (self._rows,), "uint8")),
            np.array(mapped(links, (length,), "int32")),
            entry if type(entry) is int else -1,
        )
        problem = found.problem(m)
        if problem:
            raise StoreError(f"{levels.parent} holds no graph of the embedding {embedding}: {problem}. {_REPAIR}")
        return found
