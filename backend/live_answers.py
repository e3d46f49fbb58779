"""Answers to one question in many wordings and orders, summed up: means and how far they spread. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.metrics.bootstrap import DRAWS, quantiles
from backend.probes.base import ANSWERED, Answer
from backend.probes.prompts import Probe


@dataclass(frozen=True)
class Spread:
    """One class: its mean over all prompts, and the least and most of the means by wording, and by order."""

    name: str
    mean: float
    wordings: tuple[float, float]
    orders: tuple[float, float]
    chosen: int
    """How many prompts it was chosen in."""


@dataclass(frozen=True)
class Summary:
    """What came of all prompts: a Spread for each class and, last, for "no preference".

    `scored`: the means are of probabilities, over the `rested` prompts that have them; else they are shares of all
    prompts. `lost` counts outcomes that are no answer; `first` the prompts whose first option was chosen.
    """

    spreads: tuple[Spread, ...]
    scored: bool
    rested: int
    prompts: int
    lost: dict[str, int]
    first: int


def span_of_means(values: ArrayLike, groups: Sequence[int]) -> NDArray[np.float64]:
    """The least and the most of the means of groups, column by column: shape (2, columns) from (rows, columns).

    By hand: rows 0.2, 0.4 and 0.9 in the groups 0, 0 and 1 have the means 0.3 and 0.9.

    >>> span_of_means([[0.2], [0.4], [0.9]], [0, 0, 1]).round(6).tolist()
    [[0.3], [0.9]]

    Formula: min and max over g of the mean of the rows of group g. Both lie around the mean of all rows, and are equal
    to it where there is one group. No rows give NaN. ValueError where rows and groups differ in number.
    """
    rows, of = np.asarray(values, float), np.asarray(groups)
    if len(rows) != len(of):
        raise ValueError("each row needs its group")
    if not len(rows):
        return np.full((2, rows.shape[1] if rows.ndim == 2 else 0), np.nan)
    means = np.array([rows[of == group].mean(axis=0) for group in np.unique(of)])
    return np.array([means.min(axis=0), means.max(axis=0)])


def share_intervals(table: ArrayLike, draws: int = DRAWS, seed: int = 0) -> NDArray[np.float64]:
    """The shares of answers and their 95 % intervals: rows share, low, high; a column for each of the table's.

    By hand: two inputs of two answers each, one all in the first column and one all in the second: 0.5, and a resample
    may hold only one of them.

    >>> share_intervals([[2, 0], [0, 2]]).tolist()
    [[0.5, 0.5], [0.0, 0.0], [1.0, 1.0]]

    `table` has a row an input and a column a kind of answer (backend.metrics.neutrality.tally). Formula: inputs are
    drawn anew with replacement, each with all its answers, as in backend.metrics.neutrality.measures; low and high are
    the 2.5 % and 97.5 % quantiles of the shares. Range 0 to 1. No answers give NaN; one input has no interval (NaN).
    """
    rows = np.asarray(table, float)
    total = rows.sum()
    if not total:
        return np.full((3, rows.shape[1]), np.nan)
    share = rows.sum(axis=0) / total
    if len(rows) < 2:
        return np.array([share, *np.full((2, rows.shape[1]), np.nan)])
    weights = np.random.default_rng([seed, len(rows)]).multinomial(len(rows), np.full(len(rows), 1 / len(rows)), draws)
    drawn = weights @ rows
    held = drawn.sum(axis=1, keepdims=True)
    shares = np.divide(drawn, held, out=np.zeros_like(drawn), where=held > 0)[held[:, 0] > 0]
    return np.array([share, *quantiles(shares.T)])


def summary(probes: Sequence[Probe], answers: Sequence[Answer]) -> Summary:
    """Answers to all prompts of one question, summed up.

    By hand: two orders of two options, of which the first shown is chosen each time, are one answer each.

    >>> from backend.metrics.neutrality import NEUTRAL
    >>> from backend.probes.base import Prompt
    >>> probe = lambda turn, classes: Probe("a", "a", "", "g", "", "s", 0, turn, False, classes, Prompt("?", classes))
    >>> two = [probe(0, ("m", NEUTRAL)), probe(1, (NEUTRAL, "m"))]
    >>> found = summary(two, [Answer(ANSWERED, 0)] * 2)
    >>> [(one.name, one.mean, one.orders, one.chosen) for one in found.spreads], found.first
    ([('m', 0.5, (0.0, 1.0), 1), ('no preference', 0.5, (0.0, 1.0), 1)], 2)

    Where any answer has probabilities the means are over those that have; else each prompt counts 1 for the class that
    was chosen, and a prompt without an answer counts for none. ValueError where probes and answers differ in number.
    """
    unturned = next(probe for probe in probes if not probe.rotation)
    names = unturned.classes
    scored = any(answer.probabilities for answer in answers)
    said = [probe.answered(answer.option) for probe, answer in zip(probes, answers, strict=True)]
    if scored:
        pairs = [(probe, a.probabilities) for probe, a in zip(probes, answers, strict=True) if a.probabilities]
        rows = [[dict(zip(probe.classes, held, strict=True))[name] for name in names] for probe, held in pairs]
        rested = [probe for probe, _ in pairs]
    else:
        rows, rested = [[float(one == name) for name in names] for one in said], list(probes)
    values = np.array(rows, float).reshape(len(rows), len(names))
    wordings = span_of_means(values, [probe.paraphrase for probe in rested])
    orders = span_of_means(values, [probe.rotation for probe in rested])
    spreads = tuple(
        Spread(name, values[:, at].mean().item(), _ends(wordings, at), _ends(orders, at), said.count(name))
        for at, name in enumerate(names)
    )
    lost = [answer.outcome for answer in answers if answer.outcome != ANSWERED]
    kinds = {outcome: lost.count(outcome) for outcome in dict.fromkeys(lost)}
    first = sum(answer.option == 0 for answer in answers)
    return Summary(spreads, scored, len(rested), len(probes), kinds, first)


def _ends(spans: NDArray[np.float64], at: int) -> tuple[float, float]:
    return spans[0, at].item(), spans[1, at].item()
