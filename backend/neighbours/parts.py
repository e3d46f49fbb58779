"""What every kind of neighbours shares: its errors, a query, what was found, and the order of what is equally near."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from backend.store import StoreError


class NeighbourError(StoreError):
    """A search that cannot be made. The message says why, and what to do."""


@dataclass(frozen=True)
class Kind:
    """A way in which images can be like each other.

    `name`: "colour", "colourfulness", "words" or "embedding-NAME"; `why` says, where it is not `ready`, what makes it;
    `note` says how it searches (for "How to read this").
    """

    name: str
    title: str
    ready: bool
    why: str
    note: str


@dataclass(frozen=True, eq=False)
class Query:
    """The features of a picture that is no row of the audit, for searches of one kind in the audit as it was then
    (`made_for`: the hash of its manifest)."""

    kind: str
    vector: np.ndarray
    made_for: str


@dataclass(frozen=True, eq=False)
class Found:
    """Rows of the audit, nearest first, and how far each is: float64, 0 or more.

    `exact`: whether no nearer row was missed for certain; where not, `recall` is the share of the true ten nearest that
    such searches found when the index was built. `distance_name` says what the numbers are.
    """

    rows: np.ndarray
    distance: np.ndarray
    exact: bool
    recall: float | None
    distance_name: str


def nearest_of(distance: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k of some rows that are nearest, in order; of rows as near as each other the first in the audit.

    >>> nearest_of(np.array([0.5, 0.1, 0.5, 0.9]), np.array([7, 8, 3, 1]), 2)
    (array([8, 3]), array([0.1, 0.5]))
    """
    k = min(k, len(rows))
    if not k:
        return rows[:0], distance[:0]
    within = np.flatnonzero(distance <= np.partition(distance, k - 1)[k - 1])
    order = within[np.lexsort((rows[within], distance[within]))[:k]]
    return rows[order], distance[order]
