"""The images of an audit that are most like one of them, or like a picture from outside, in one of several ways."""

from __future__ import annotations

import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from backend.neighbours import finders
from backend.neighbours.finders import Finder
from backend.neighbours.parts import Found, Kind, NeighbourError, Query
from backend.store import Audit, stage_parts

MOST = 1000
"""Neighbours that one search returns at most."""


class _Loaded:
    """What was loaded of one audit. Whoever comes while it loads waits."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.finders: dict[str, Finder] = {}


_AUDITS: WeakKeyDictionary[Audit, _Loaded] = WeakKeyDictionary()
_LOCK = threading.Lock()


def kinds(audit: Audit) -> list[Kind]:
    """The ways in which this audit's images can be compared, those that are not ready included."""
    embeddings = [name for kind, name, _ in map(stage_parts, audit.manifest["stages"]) if kind == "embed"]
    return [
        finders.colour_kind(audit),
        finders.colourfulness_kind(audit),
        finders.words_kind(audit),
        *(finders.content_kind(audit, name) for name in embeddings),
    ]


def finder(audit: Audit, kind: str) -> Finder:
    """A kind's search, loaded on first use and kept as long as the audit. Raises NeighbourError, StoreError."""
    with _LOCK:
        loaded = _AUDITS.setdefault(audit, _Loaded())
    if isinstance(kind, str) and kind in loaded.finders:
        return loaded.finders[kind]
    known = {entry.name: entry for entry in kinds(audit)}
    if not isinstance(kind, str) or kind not in known:
        raise NeighbourError(f"{audit.name} has no neighbours by {str(kind)[:60]!r}: choose one of {', '.join(known)}")
    if not known[kind].ready:
        raise NeighbourError(f"{known[kind].title}: {known[kind].why}")
    with loaded.lock:
        if kind not in loaded.finders:
            loaded.finders[kind] = _loader(kind)(audit)
        return loaded.finders[kind]


def _loader(kind: str) -> Callable[[Audit], Finder]:
    if kind.startswith("embedding-"):
        return lambda audit: finders.Content(audit, kind.removeprefix("embedding-"))
    return {"colour": finders.Colours, "colourfulness": finders.Colourfulness, "words": finders.Structure}[kind]


def search(audit: Audit, kind: str, query: int | Query, k: int, rows: np.ndarray | None = None) -> Found:
    """The k images of an audit that are most like the query, nearest first.

    `query`: a row of the audit, which is never among its own results, or what `query_of` made. `rows`: only these can
    be found, and the filter is part of the search: min(k, rows other than the query) results come back, none where
    there is no such row. Raises NeighbourError with a sentence, and StoreError where a file is damaged.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= MOST:
        raise NeighbourError(f"a search returns 1 to {MOST:,} images")
    found = finder(audit, kind)
    if isinstance(query, Query):
        same = query.kind == kind and query.made_for == audit.manifest["sha256"]
        if not same or query.vector.shape != (found.width,):
            raise NeighbourError("the picture was read for another search: give it again")
        vector, itself = query.vector, None
    else:
        if isinstance(query, bool) or not isinstance(query, int | np.integer) or not 0 <= query < len(audit):
            raise NeighbourError(f"{audit.name} has no row {str(query)[:40]}: its rows go from 0 to {len(audit) - 1:,}")
        vector, itself = found.of_row(int(query)), int(query)
    return found.nearest(vector, int(k), None if rows is None else _rows(audit, rows), itself)


def _rows(audit: Audit, rows: np.ndarray) -> np.ndarray:
    """Row numbers, each once and in order."""
    rows = np.asarray(rows)
    if not rows.size:
        return np.empty(0, np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(audit):
        raise NeighbourError(f"rows must be whole numbers from 0 to {len(audit) - 1:,}")
    return np.unique(rows).astype(np.int64)
