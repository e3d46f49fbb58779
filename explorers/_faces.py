"""Average faces as plain data: the averages by cell, whose images they blend, and orders. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from backend.store import Audit
from explorers._shared import labour_force

FIRST = 8
"""Professions that the first view shows: half of them those that are most alike, half those that are least."""
FEWEST = 5
"""Fewer faces than these have no homogeneity worth printing."""
SORTS = {"alike": "Most alike first", "unlike": "Least alike first", "name": "Name", "women": "Women in labour force"}
MODES = ("wipe", "blend")


@dataclass(frozen=True)
class Cell:
    """One average: a system and a subject, of all images (region -1) or of those in one region."""

    system: str
    subject: str
    region: int = -1


@dataclass(frozen=True)
class Average:
    """What the store says of a cell. `n` of `total` images gave a face; `several` showed more than one."""

    cell: Cell
    place: int
    total: int
    n: int
    several: int
    homogeneity: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float

    @property
    def enough(self) -> bool:
        """Whether its homogeneity can be printed: at least FEWEST faces, and an interval."""
        return self.n >= FEWEST and not np.isnan([self.homogeneity, self.low, self.high]).any()


Averages = Mapping[Cell, Average]


def has_faces(audit: Audit) -> bool:
    """Whether an audit has averages, and the detections that they were made from."""
    return audit.faces.averages() is not None and audit.faces.detections() is not None


@lru_cache(maxsize=64)
def averages(audit: Audit, split: tuple[str, int] = ("", 0)) -> Averages:
    """Every average of an audit by its cell; empty where there are none."""
    frame = audit.faces.averages(*split)
    if frame is None:
        return {}
    found = {}
    for place, row in enumerate(frame.to_dict("records")):
        cell = Cell(str(row["system"]), str(row["subject"]), int(row["region"]))
        counts = (int(row[name]) for name in ("total", "n", "several"))
        values = ("homogeneity", "homogeneity_low", "homogeneity_high", "ratio", "ratio_low", "ratio_high")
        found[cell] = Average(cell, place, *counts, *(float(row[name]) for name in values))
    return found


@lru_cache(maxsize=32)
def systems_of(audit: Audit) -> list[str]:
    """The systems with averages, by name. A system's place in this list is that of its colour."""
    return sorted({cell.system for cell in averages(audit)}, key=str.casefold)


@lru_cache(maxsize=32)
def subjects_of(audit: Audit) -> list[str]:
    """The subjects with averages: professions by name, then what else was prompted."""
    have = {cell.subject for cell in averages(audit)}
    return sorted(have, key=lambda name: (name not in professions_of(audit), name.casefold()))


@lru_cache(maxsize=32)
def professions_of(audit: Audit) -> frozenset[str]:
    """The subjects that are professions; where an audit has none, all."""
    rows = audit.rows(subset="professions")
    names = audit.generations["subject"].iloc[rows if len(rows) else slice(None)].unique()
    return frozenset(map(str, names))


def splits_of(audit: Audit) -> list[tuple[str, int]]:
    """The regions that averages were made for, and that are still there."""
    have = set(audit.vectors.choices())
    return [(str(name), int(k)) for name, k in audit.faces.choices() if (name, k) in have]


def mean_alike(audit: Audit, systems: Sequence[str], subject: str) -> float:
    """The mean homogeneity of a subject over systems, of those with faces enough; NaN where none has."""
    found = [averages(audit).get(Cell(system, subject)) for system in systems]
    values = [one.homogeneity for one in found if one is not None and one.enough]
    return sum(values) / len(values) if values else float("nan")


@lru_cache(maxsize=128)
def first_subjects(audit: Audit, systems: tuple[str, ...]) -> tuple[str, ...]:
    """The first view's professions: those most alike and those least alike, by their mean over the systems.

    They are chosen among those that most systems have faces enough of, or where these are few, nearly as many.
    """
    have = averages(audit)

    def systems_with(name: str) -> int:
        return sum((one := have.get(Cell(system, name))) is not None and one.enough for system in systems)

    counts = {name: systems_with(name) for name in subjects_all(audit)}
    kept: list[str] = []
    for least in range(len(systems), -1, -1):
        if len(kept) < FIRST:
            kept += [name for name, number in counts.items() if number == least]
    order = in_order(audit, systems, tuple(kept), "alike")
    return order[: FIRST // 2] + order[FIRST // 2 :][-FIRST // 2 :]


@lru_cache(maxsize=128)
def in_order(audit: Audit, systems: tuple[str, ...], subjects: tuple[str, ...], sort: str) -> tuple[str, ...]:
    """Subjects in the order `sort`, a key of SORTS; those without the value last, by name."""
    names = sorted(subjects, key=str.casefold)
    if sort == "name":
        return tuple(names)
    if sort == "women":
        column = labour_force()["pct_women"]
        values = {name: -float(column.get(name, np.nan)) for name in names}
    else:
        sign = -1 if sort == "alike" else 1
        values = {name: sign * mean_alike(audit, systems, name) for name in names}
    return tuple(sorted(names, key=lambda name: np.inf if np.isnan(values[name]) else values[name]))


@lru_cache(maxsize=128)
def found_of(audit: Audit, systems: tuple[str, ...], subjects: tuple[str, ...]) -> tuple[Average, ...]:
    """The averages that there are of these subjects and systems, subject by subject."""
    have = averages(audit)
    cells = (Cell(system, subject) for subject in subjects for system in systems)
    return tuple(have[cell] for cell in cells if cell in have)


def sorts_of(audit: Audit) -> dict[str, str]:
    """The orders that an audit can be put in: by the labour force only where it counts one of the professions."""
    counted = labour_force()["pct_women"].dropna().index
    known = any(name in counted for name in subjects_of(audit))
    return {name: words for name, words in SORTS.items() if name != "women" or known}


def subjects_all(audit: Audit) -> tuple[str, ...]:
    """What no choice of subjects means: every profession."""
    return tuple(name for name in subjects_of(audit) if name in professions_of(audit))


def women_in(subject: str) -> str:
    """The share of women in a profession's labour force in words; "" where it is not counted."""
    women = float(labour_force()["pct_women"].get(subject, np.nan))
    return "" if np.isnan(women) else f"{women:.0f} % women in the US labour force"


def apart(one: Average, other: Average) -> bool:
    """Whether the intervals of two averages do not overlap."""
    return one.low > other.high or other.low > one.high


@lru_cache(maxsize=32)
def faced(audit: Audit) -> np.ndarray:
    """Which rows gave a face that is in their average: bool of shape (rows,)."""
    found = audit.faces.detections()
    return (found["faces"].to_numpy() > 0) & ~np.isnan(found["sharpness"].to_numpy(dtype="float64"))
