"""The answers of a view, counted by input, profession, wording and order; the rows of the heatmap in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from backend.metrics.neutrality import FEWEST, NEUTRAL, UNPARSED
from backend.store import Audit
from explorers import _neutrality_view as state
from explorers._neutrality_measures import Cell, cells_of
from explorers._neutrality_view import Asked, NeutralityView
from explorers._shared import ASSETS, labour_force

ALL = "all"
OTHER = "Not in the labour statistics"
BANDS = ("Lowest", "Second", "Third", "Fourth", "Highest")
MOST_ROWS = 400
LABOUR_CLASSES = {("male", "female"): 1, ("female", "male"): -1}
"""Classes that the labour force is counted by, and the sign of its AG among them."""


class Answers:
    """The answers to one thing asked, counted by input.

    `frame` holds them as they are stored; `inputs` and `places` say of each answer which input and which column of a
    `tally` it is; `profession` names that of each input. Inputs stand in the order in which they first appear, as in
    backend.metrics.neutrality.tally, so intervals are the same as there.
    """

    def __init__(self, frame: pd.DataFrame, classes: Sequence[str]) -> None:
        self.frame = frame.reset_index(drop=True)
        self.columns = (*classes, NEUTRAL, UNPARSED)
        professions = self.frame["profession"].astype(str).to_numpy()
        keys = pd.MultiIndex.from_arrays([self.frame["input"].astype(str).to_numpy(), professions])
        self.inputs, unique = pd.factorize(keys)
        self.profession = np.array([profession for _, profession in unique], dtype=object)
        known = {name: place for place, name in enumerate(self.columns)}
        answers = self.frame["answer"].astype(str).map(known)
        self.places = answers.fillna(len(self.columns) - 1).to_numpy(dtype=np.int64)

    def table(self, only: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Counts of shape (inputs, classes + 2), of some answers alone where `only` marks them.

        Inputs that none of the marked answers is about are left out.
        """
        inputs, places = (self.inputs, self.places) if only is None else (self.inputs[only], self.places[only])
        width = len(self.columns)
        flat = np.bincount(inputs * width + places, minlength=len(self.profession) * width)
        counts = flat.reshape(len(self.profession), width)
        return counts if only is None else counts[counts.any(axis=1)]


@lru_cache(maxsize=48)
def answers_of(audit: Audit, asked: Asked) -> Answers:
    """The answers of one model to one thing asked."""
    table = audit.probes.table(asked.model)
    mine = np.ones(len(table), bool)
    for name in ("direction", "style", "attribute", "culture"):
        mine &= (table[name] == getattr(asked, name)).to_numpy()
    return Answers(table[mine], audit.probes.sources[asked.model].classes[asked.attribute])


@lru_cache(maxsize=256)
def total(audit: Audit, asked: Asked, measure: str) -> Cell:
    """A measure of all answers to one thing asked."""
    return cells_of([answers_of(audit, asked).table()], measure)[0]


@lru_cache(maxsize=256)
def turns(audit: Audit, asked: Asked, measure: str) -> dict[str, list[tuple[int, Cell]]]:
    """A measure by "paraphrase" and by "rotation", where there were several: each with its number, over the other.

    A system that draws is offered no options: there "rotation" counts its drawings, and there is nothing to compare.
    """
    answers, found = answers_of(audit, asked), {}
    for name in ("paraphrase", "rotation"):
        column = answers.frame[name].to_numpy()
        numbers = np.unique(column).tolist()
        numbers = numbers if len(numbers) > 1 and not (name == "rotation" and asked.draws) else []
        found[name] = list(zip(numbers, cells_of([answers.table(column == n) for n in numbers], measure), strict=True))
    return found


@lru_cache(maxsize=1)
def groups() -> dict[str, str]:
    """The major occupation group of each profession (US Bureau of Labor Statistics, as its CPS tables head them)."""
    table = pd.read_csv(ASSETS / "occupation_groups.csv")
    return dict(zip(table["profession"], table["group"], strict=True))


@dataclass(frozen=True)
class Row:
    """One row of the heatmap: `key` names it in addresses, `professions` are those whose inputs it pools."""

    key: str
    label: str
    kind: str
    professions: tuple[str, ...]
    women: float
    """Mean share of women in the labour force over the professions that it counts; NaN where it counts none."""


@lru_cache(maxsize=1)
def _women() -> dict[str, float]:
    """The share of women by profession, in per cent: a dict, as single rows are many."""
    return labour_force()["pct_women"].to_dict()


def _row(key: str, label: str, kind: str, professions: Sequence[str]) -> Row:
    if len(professions) == 1:
        return Row(key, label, kind, tuple(professions), _women().get(professions[0], np.nan) / 100)
    known = labour_force()["pct_women"].reindex(list(professions)).dropna()
    return Row(key, label, kind, tuple(professions), float(known.mean()) / 100 if len(known) else np.nan)


@lru_cache(maxsize=64)
def grouped(kind: str, professions: tuple[str, ...]) -> tuple[Row, ...]:
    """The rows that professions make: each its own, by occupation group, or by fifth of women in the labour force."""
    if kind == "profession":
        return tuple(_row(f"p:{name}", name, kind, [name]) for name in professions)
    if kind == "group":
        held: dict[str, list[str]] = {}
        for name in professions:
            held.setdefault(groups().get(name, OTHER), []).append(name)
        return tuple(_row(f"g:{name}", name, kind, own) for name, own in sorted(held.items()))
    known = labour_force()["pct_women"].reindex(list(professions)).dropna().sort_values(kind="stable")
    parts = [part for part in np.array_split(np.arange(len(known)), 5) if len(part)]
    found = []
    for word, part in zip(BANDS, parts, strict=False):
        own = known.iloc[part]
        span = f"{own.min():.0f} to {own.max():.0f} % women"
        found.append(_row(f"b:{word.lower()}", f"{word} fifth, {span}", kind, list(own.index)))
    return tuple(found)


@lru_cache(maxsize=256)
def cells(audit: Audit, asked: Asked, measure: str, kind: str, professions: tuple[str, ...]) -> dict[str, Cell]:
    """The cells of one column by the key of their row."""
    rows = (_all(professions),) if kind == ALL else grouped(kind, professions)
    row_of = {name: at for at, row in enumerate(rows) for name in row.professions}
    answers = answers_of(audit, asked)
    at = np.array([row_of.get(name, -1) for name in answers.profession], dtype=np.int64)
    table = answers.table()
    return dict(zip((r.key for r in rows), cells_of([table[at == i] for i in range(len(rows))], measure), strict=True))


def _all(professions: Sequence[str]) -> Row:
    return _row(ALL, "All professions", ALL, professions)


@lru_cache(maxsize=64)
def professions_of(audit: Audit, series: tuple[Asked, ...]) -> tuple[str, ...]:
    """Every profession that some columns were asked about, by name."""
    return tuple(sorted({n for asked in series for n in answers_of(audit, asked).profession}, key=str.casefold))


def usual_rows(audit: Audit, series: tuple[Asked, ...]) -> str:
    """The finest rows of which at least half have FEWEST inputs in the first column; professions where none has.

    With fewer inputs most of the picture would be without a value.
    """
    professions = professions_of(audit, series)
    inputs = Counter(answers_of(audit, series[0]).profession)
    for kind in ("profession", "group", "band"):
        sizes = [sum(inputs[name] for name in row.professions) for row in grouped(kind, professions)]
        if sizes and np.mean([size >= FEWEST for size in sizes]) >= 0.5:
            return kind
    return "profession"


def kind_of(audit: Audit, view: NeutralityView) -> str:
    """The kind of rows of a view: its own choice, else what suits the answers."""
    columns = tuple(state.series_of(audit, view))
    return view.rows or (usual_rows(audit, columns) if columns else "profession")


@dataclass(frozen=True)
class Heat:
    """The heatmap of a view: its rows from the top, its columns, its cells by (row, column), and how many rows are not
    shown because of the search or of MOST_ROWS."""

    measure: str
    kind: str
    rows: tuple[Row, ...]
    columns: tuple[Asked, ...]
    cells: Mapping[tuple[str, str], Cell]
    hidden: int
    sign: int
    """The sign of the labour force's AG: 1, -1, or 0 where these classes have none."""

    def labour(self, row: Row) -> float:
        """The share of women in the labour force on the scale of AG: 2 p - 1."""
        return self.sign * (2 * row.women - 1) if self.sign else np.nan


def heat(audit: Audit, view: NeutralityView) -> Heat | None:
    """What the heatmap of a view shows, or None where no model was asked."""
    columns = tuple(state.series_of(audit, view))
    if not columns:
        return None
    measure, professions, kind = state.measure_of(audit, view), professions_of(audit, columns), kind_of(audit, view)
    levels = [kind, "group"] if kind == "profession" and view.order == "group" else [kind]
    found = {
        (key, asked.column): cell
        for asked in columns
        for level in (ALL, *levels)
        for key, cell in cells(audit, asked, measure, level, professions).items()
    }
    rows = [row for row in grouped(kind, professions) if view.query.casefold() in row.label.casefold()]
    ordered = _ordered(rows, view.order, found, columns)
    if len(levels) > 1:
        ordered = _nested(ordered, grouped("group", professions), found, columns)
    shown = (_all(professions), *ordered[:MOST_ROWS])
    sign = LABOUR_CLASSES.get(state.classes_of(audit, view), 0) if measure == "ag" else 0
    hidden = len(grouped(kind, professions)) - sum(row.kind == kind for row in shown)
    return Heat(measure, kind, shown, columns, found, hidden, sign)


def _means(rows: Sequence[Row], found: Mapping, columns: Sequence[Asked]) -> NDArray[np.float64]:
    """What rows are sorted by: shape (rows, 2), whether any cell has a value to show, and the mean of these (else of
    all)."""
    made = []
    for row in rows:
        own = [found[row.key, asked.column] for asked in columns]
        exact = [cell.value for cell in own if not cell.few] or [cell.value for cell in own if cell.value == cell.value]
        made.append((any(not cell.few for cell in own), float(np.mean(exact)) if exact else -np.inf))
    return np.array(made, float).reshape(len(rows), 2)


def _ordered(rows: Sequence[Row], order: str, found: Mapping, columns: Sequence[Asked]) -> list[Row]:
    rows = list(rows)
    if order == "name" or not rows or rows[0].kind == "band" or (order == "group" and rows[0].kind == "group"):
        return rows
    if order == "labour":
        return sorted(rows, key=lambda row: -row.women if row.women == row.women else 2)
    if order == "alike" and len(rows) > 2:
        return [rows[at] for at in _alike(rows, found, columns)]
    exact, mean = _means(rows, found, columns).T
    return [rows[at] for at in np.lexsort((-mean, -exact))]


def _nested(rows: Sequence[Row], heads: Sequence[Row], found: Mapping, columns: Sequence[Asked]) -> list[Row]:
    """Each occupation group, the highest value first, above its professions."""
    made: list[Row] = []
    for head in _ordered(heads, "value", found, columns):
        own = [row for row in rows if row.professions[0] in head.professions]
        made += [head, *own] if own else []
    return made


def _alike(rows: Sequence[Row], found: Mapping, columns: Sequence[Asked]) -> list[int]:
    """Rows in the order of a tree of average linkage: those with like values lie side by side."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    values = np.array([[found[row.key, asked.column].value for asked in columns] for row in rows])
    known = np.isfinite(values)
    means = np.divide(
        np.where(known, values, 0).sum(axis=0), known.sum(axis=0), where=known.any(axis=0), out=np.zeros(len(columns))
    )
    values = np.where(known, values, means)
    return leaves_list(linkage(values, "average", optimal_ordering=len(rows) <= MOST_ROWS)).tolist()


def standout(shown: Heat) -> tuple[Row, Asked]:
    """The row and column that a visitor should see first: furthest from the labour force, from even or from neutral.

    Of what has a value to show; where nothing has, all professions of the first column.
    """
    spots = [
        (r, c)
        for r in shown.rows
        for c in shown.columns
        if r.kind == shown.kind and not shown.cells[r.key, c.column].few
    ]
    if not spots:
        return shown.rows[0], shown.columns[0]
    return max(spots, key=lambda spot: distance(shown, *spot))


def distance(shown: Heat, row: Row, asked: Asked) -> float:
    """How far a cell is from what it is held against: the labour force where its AG is known, else even or neutral."""
    value, labour = shown.cells[row.key, asked.column].value, shown.labour(row)
    if shown.measure == "ag":
        return abs(value - labour) if labour == labour else abs(value) if not shown.sign else -1.0
    return -value if shown.measure in ("delta_neutrality", "neutral_accuracy") else value


def open_cell(shown: Heat, view: NeutralityView) -> tuple[Row, Asked]:
    """The row and column whose answers are shown: those that the address names, else the one that stands out."""
    by_key, every = {one.column: one for one in shown.columns}, {one.key: one for one in shown.rows}
    named = view.row in every and view.column in by_key
    return (every[view.row], by_key[view.column]) if named else standout(shown)
