"""What models answered about two applicants, as the tab Hiring counts it: dialogues, measures, rows in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from backend.metrics.hiring import FIRST, MEASURES, SECOND, UNPARSED, Estimate, by_occupation, dialogues, estimates
from backend.store import Audit
from explorers import _hiring_published as published
from explorers import _hiring_view as state
from explorers._hiring_view import HiringView
from explorers._shared import ASSETS, labour_force

WOMEN, MEN = "female", "male"
NONE = Estimate(float("nan"), float("nan"), float("nan"), 0, 0, "none")
"""No dialogue at all."""


@lru_cache(maxsize=16)
def frame_of(audit: Audit, model: str) -> pd.DataFrame:
    """The dialogues of a model (metrics.hiring.dialogues), and what each counts as: columns `chosen`, `same`,
    `confirmed`, `consistent`, `favours` ("female", "male" or ""), `unread`."""
    source = audit.hiring.sources[model]
    frame = dialogues(audit.hiring.table(model), source.genders)
    chosen = frame["q2"].isin([FIRST, SECOND])
    first = frame["q2"] == FIRST
    own = frame["q1_first"].where(first, frame["q1_second"])
    gender = frame["first_gender"].where(first, frame["second_gender"])
    rejected = (frame["q1_first"] == "no") & (frame["q1_second"] == "no") & chosen
    mixed = frame["first_gender"] != frame["second_gender"]
    questions = ["q1_first", "q1_second", "q2", "q3"]
    return frame.assign(
        chosen=chosen,
        gender=gender.where(chosen, ""),
        confirmed=chosen & (own == "yes"),
        consistent=chosen & (frame["q2"] == frame["q3"]),
        favours=gender.where(rejected & mixed, ""),
        unread=(frame[questions] == UNPARSED).any(axis=1),
    )


@lru_cache(maxsize=64)
def of_kind(audit: Audit, model: str, kind: str) -> pd.DataFrame:
    """The dialogues of a model about pairs of one kind ("different", "same", "female", "male")."""
    frame = frame_of(audit, model)
    return frame[frame["kind"].isin(state.OF_KIND[kind])].reset_index(drop=True)


@lru_cache(maxsize=64)
def _rows(audit: Audit, model: str, kind: str) -> Mapping[str, Mapping[str, Estimate]]:
    """Every measure by occupation, "" for all of them together."""
    found = by_occupation(of_kind(audit, model, kind).assign(kind=kind))
    return {occupation: held for (_, occupation), held in found.items()}


@lru_cache(maxsize=64)
def overall(audit: Audit, model: str, kind: str) -> Mapping[str, Estimate]:
    """Every measure over all occupations, and "gender_effect": of Q2, the share of women's names less that of men's."""
    frame = of_kind(audit, model, kind)
    if frame.empty:
        return dict.fromkeys([*MEASURES, "gender_effect"], NONE)
    return {**_rows(audit, model, kind)[""], "gender_effect": _gender_effect(frame)}


def _gender_effect(frame: pd.DataFrame) -> Estimate:
    """The order effect of the same dialogues with women's names put first and men's second."""
    mixed = frame[frame["first_gender"] != frame["second_gender"]]
    if mixed.empty:
        return NONE
    turned = mixed["gender"].map({WOMEN: FIRST, MEN: SECOND}).fillna(mixed["q2"])
    return estimates(mixed.assign(q2=turned))["order_effect"]


@lru_cache(maxsize=64)
def by_row(audit: Audit, model: str, kind: str) -> Mapping[str, Mapping[str, Estimate]]:
    """Every measure by occupation."""
    if of_kind(audit, model, kind).empty:
        return {}
    return {name: held for name, held in _rows(audit, model, kind).items() if name}


def value_of(audit: Audit, model: str, kind: str, row: str, measure: str) -> Estimate:
    """A measure of one occupation, or of all ("")."""
    held = overall(audit, model, kind) if not row else by_row(audit, model, kind).get(row, {})
    return held.get(measure, NONE)


def counts(audit: Audit, model: str, kind: str, question: str, by: str) -> dict[str, int]:
    """How often each answer to "q2" or "q3" was given: the names by gender or by place ("gender", "place").

    Keys: "female" and "male" or "first" and "second", then "both", "neither", "unknown", "unparsed".
    """
    frame = of_kind(audit, model, kind)
    answers = frame[question]
    names = (FIRST, SECOND)
    if by == "gender":
        names = (WOMEN, MEN)
        gender = frame["first_gender"].where(answers == FIRST, frame["second_gender"])
        answers = gender.where(answers.isin([FIRST, SECOND]), answers)
    held = answers.value_counts()
    return {name: int(held.get(name, 0)) for name in (*names, "both", "neither", "unknown", UNPARSED)}


@lru_cache(maxsize=1)
def _shares() -> dict[str, float]:
    table = pd.read_csv(ASSETS / "hiring" / "occupations.csv").dropna(subset=["pct_women"])
    known = (labour_force()["pct_women"] / 100).to_dict()
    return known | dict(zip(table["occupation"], table["pct_women"] / 100, strict=True))


def women_in(occupation: str) -> float:
    """The share of women in the US labour force of an occupation (CPS 2021), NaN where its tables do not know it."""
    return float(_shares().get(occupation, float("nan")))


@dataclass(frozen=True)
class Bars:
    """The list of bars: its measure and kind of pairs, its columns, its occupations in order, and how many of them a
    search hides."""

    measure: str
    kind: str
    own: tuple[str, ...]
    theirs: tuple[str, ...]
    rows: tuple[str, ...]
    hidden: int


def bars(audit: Audit, view: HiringView) -> Bars:
    """The list of a view, occupations that an own model was asked about before those that are only published.

    Published models have a column where the measure is theirs: the bias difference.
    """
    measure, kind = state.measure_of(view), state.main_kind(view)
    own = tuple(state.series_of(audit, view))
    known = published.bias_differences()
    theirs = tuple(n for n in state.theirs_of(view) if n in known) if measure == "bias_difference" else ()
    found = dict.fromkeys(name for model in own for name in by_row(audit, model, kind))
    found |= dict.fromkeys(name for model in theirs for name in known[model])
    rows = sorted(found, key=str.casefold)
    shown = [name for name in rows if view.query.casefold() in name.casefold()]
    values = {name: _value(audit, name, measure, kind, own, theirs) for name in shown}
    if view.order == "value":
        shown.sort(key=lambda name: -values[name])
    if view.order == "size":
        shown.sort(key=lambda name: -abs(values[name]) if np.isfinite(values[name]) else np.inf)
    if view.order == "labour":
        shown.sort(key=lambda name: -women_in(name) if women_in(name) == women_in(name) else 2)
    mine = {name for model in own for name in by_row(audit, model, kind)}
    shown.sort(key=lambda name: name not in mine)
    return Bars(measure, kind, own, theirs, tuple(shown), len(rows) - len(shown))


def _value(audit: Audit, row: str, measure: str, kind: str, own: Sequence[str], theirs: Sequence[str]) -> float:
    """What a row is sorted by: the first of its columns that has a value, own ones first; -inf where none has."""
    for model in own:
        value = value_of(audit, model, kind, row, measure).value
        if value == value:
            return value
    known = published.bias_differences()
    return next((known[model][row] for model in theirs if row in known[model]), -np.inf)


@dataclass(frozen=True)
class Apart:
    """How many occupations a model was asked about (`rows`), how many of them have an interval, how many of these lie
    apart from the model's overall value (it is outside the interval), and how many different values there are."""

    rows: int
    known: int
    apart: int
    values: int


def apart(audit: Audit, model: str, kind: str, measure: str) -> Apart:
    """How far a list of occupations can be told from one value for all of them."""
    held = [own[measure] for own in by_row(audit, model, kind).values() if own[measure].k]
    known = [one for one in held if not one.why and one.low == one.low]
    whole = overall(audit, model, kind)[measure].value
    beyond = sum(not one.low <= whole <= one.high for one in known)
    return Apart(len(held), len(known), beyond, len({round(one.value, 9) for one in held}))


def standout(audit: Audit, model: str, kind: str) -> str:
    """The occupation that a visitor should see first: with an interval, furthest from an even answer; else the first.

    For pairs of different gender by bias difference, for others by order effect.
    """
    measure = "bias_difference" if kind == "different" else "order_effect"
    held = by_row(audit, model, kind)
    if not held:
        return ""
    known = [name for name, own in held.items() if own[measure].why != "few"] or list(held)
    return max(known, key=lambda name: abs(held[name][measure].value))


def alike(audit: Audit, model: str, kind: str, row: str, measure: str) -> int:
    """How many other occupations have the value of this one."""
    held = by_row(audit, model, kind)
    return sum(abs(own[measure].value - held[row][measure].value) < 1e-9 for own in held.values()) - 1
