"""Performance and fairness of a benchmark's answers, each figure with its interval over items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from backend.metrics.benchmark_draws import (
    Figure,
    Floats,
    Grouped,
    Resampled,
    as_uneven,
    checked,
    codes,
    comparable,
    figure,
    mean_of,
    share,
    some_of,
)
from backend.metrics.benchmarks import (
    SMALL,
    accuracy,
    class_f1,
    macro_f1,
    odds_difference,
    parity_difference,
    parity_ratio,
    selection_rates,
)

FAIRNESS = ("dpr", "dpr_worst", "dpd_worst", "eod", "eod_worst")
"""Demographic parity ratio, mean and lowest over classes; its difference, highest; equalised odds, mean and highest."""
ACCURACY_GAP = "accuracy_gap"
"""The highest less the lowest accuracy of the groups: whom errors fall on, which shares of answers alone can hide."""
_ONE = "fewer than two groups have items"


@dataclass(frozen=True)
class Group:
    """One group of an attribute: its items, how often they are answered rightly, and with which class how often."""

    value: str
    accuracy: Figure
    rates: dict[str, Figure]
    small: bool


@dataclass(frozen=True)
class Fairness:
    """How far the groups of one attribute are treated alike.

    `figures` and `even` have the keys FAIRNESS and ACCURACY_GAP; `even` is what the same figure comes to, on average
    and in 95 of 100 draws, where groups of these sizes are answered alike. `by_class` holds each judged class's "dpr",
    "dpd" and "eod". `chance` says how often groups come out at least as uneven as these that are answered alike:
    "accuracy", where items of a label are answered alike in all groups; "answers" (how often each judged class is
    given), where labels and answers are; "answers given labels", where answers to each label are, so that groups may
    differ in their labels. P-values of `as_uneven`; NaN where there are fewer than two groups, and, for the first and
    the last, where labels follow groups (`comparable`). `unknown` items have no value of the attribute and no part.
    """

    figures: dict[str, Figure]
    even: dict[str, Figure] = field(default_factory=dict)
    by_class: dict[str, dict[str, Figure]] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    unknown: int = 0
    chance: dict[str, float] = field(default_factory=dict)


def performance(labels: Sequence[str], answers: Sequence[str], classes: Sequence[str], seed: int = 0) -> dict[str, Any]:
    """Accuracy, Macro-F1 and the share of unparsed answers of one condition, and the F1 of every class.

    By hand: all of 30 items right is accuracy 1, with Wilson's interval from 1 / (1 + 1.96^2 / 30) = 0.886.

    >>> found = performance(["a", "b"] * 15, ["a", "b"] * 15, ["a", "b"])
    >>> found["accuracy"].value, round(found["accuracy"].low, 3), found["macro_f1"].value, found["accuracy"].n
    (1.0, 0.886, 1.0, 30)

    Keys: accuracy, macro_f1, unparsed, and f1 (a dictionary by class). Source: see backend.metrics.benchmarks.
    """
    checked(labels, answers, classes)
    k = len(classes)
    items = Resampled([codes(labels, classes), codes(answers, classes)], seed=seed)
    ((whole, drawn),) = items.tables(([0, 1], (k, k + 1)))
    n = len(labels)
    each, resampled = class_f1(whole), class_f1(drawn)
    return {
        "accuracy": share(np.trace(whole), n),
        "macro_f1": figure(macro_f1(whole), macro_f1(drawn), n),
        "unparsed": share(whole[:, -1].sum(), n),
        "f1": {
            name: figure(each[c], resampled[:, c], n, why="" if whole[c].sum() else "the label of no item")
            for c, name in enumerate(classes)
        },
    }


def fairness(
    labels: Sequence[str],
    answers: Sequence[str],
    groups: Sequence[str],
    classes: Sequence[str],
    positive: str = "",
    seed: int = 0,
) -> Fairness:
    """How alike the groups of one attribute are answered; one class against the rest, over classes mean and worst.

    By hand: group x is taken for "a" 2 of 2 times, group y 1 of 2: DPR 0.5 for "a"; for "b" it is 0 of 2 over 1 of 2,
    0; their mean is 0.25, the worst 0.

    >>> found = fairness(["a", "b"] * 2, ["a", "a", "a", "b"], ["x", "x", "y", "y"], ["a", "b"])
    >>> found.figures["dpr"].value, found.figures["dpr_worst"].value, found.by_class["a"]["dpr"].value
    (0.25, 0.0, 0.5)

    `groups` has each item's group, "" where it is not known. `positive` is the one class that is judged (yes of yes and
    no); without it every class is, against the rest. A class with an undefined ratio is left out of mean and worst, and
    `why` names it; where all are, there is no value. Range 0 to 1; dpr higher, the others lower is fairer. In the
    example group x is right 1 of 2 times, group y 2 of 2: an accuracy gap of 0.5.

    Chance alone makes groups look uneven: the more and the smaller, the more so (five groups of 24 that are answered
    alike have a mean DPR of some 0.6). So `even` says what groups of these sizes come to when alike (`Grouped`), and
    intervals are corrected for the shift (`figure`) and reach to equality (1, or 0) where at least 1 in 20 such draws
    is as uneven. Source: see backend.metrics.benchmarks.
    """
    checked(labels, answers, classes)
    if len(groups) != len(labels) or (positive and positive not in classes):
        raise ValueError("a group for every item is needed, and a positive class that is one of the classes")
    known = [place for place, value in enumerate(groups) if value]
    values = sorted({groups[place] for place in known})
    if not values:
        nothing = Figure(np.nan, np.nan, np.nan, 0, "no item has a group")
        return Fairness(dict.fromkeys((*FAIRNESS, ACCURACY_GAP), nothing), unknown=len(labels))
    columns = [codes([row[place] for place in known], words) for row, words in ((groups, values), (labels, classes))]
    said, shape = codes([answers[place] for place in known], classes), (len(values), len(classes), len(classes) + 1)
    items = Grouped([*columns, said], shape, seed=seed)
    judged = [list(classes).index(positive)] if positive else list(range(len(classes)))
    resampled, alike = _drawn(items, judged)
    figures, by_class, even = _fair(items.whole, resampled, alike, {c: classes[c] for c in judged})
    shown = tuple(_group(value, items.whole[g], classes) for g, value in enumerate(values))
    mixed = not comparable(items.sizes)
    figures[ACCURACY_GAP], even[ACCURACY_GAP] = _gap(items, resampled[ACCURACY_GAP], alike[ACCURACY_GAP], shown, mixed)
    chances = _chances(items, alike, judged, mixed)
    return Fairness(figures, even, by_class, shown, len(labels) - len(known), chances)


def _gap(
    items: Grouped, resampled: Floats, alike: Floats, groups: Sequence[Group], mixed: bool
) -> tuple[Figure, Figure]:
    """The accuracy gap and what it comes to in groups that are alike; `mixed`: groups cannot be told from labels, so
    that nothing is known of the latter."""
    one, n = len(groups) < 2, items.items.n
    found = _widened(figure(_accuracy_gap(items.whole), resampled, n, True, _ONE if one else ""), groups)
    found = found if mixed else _reaching(found, alike, ACCURACY_GAP)
    return found, figure(np.nan if mixed or one else alike.mean(), alike, n)


def _chances(items: Grouped, alike: dict[str, Floats], judged: Sequence[int], mixed: bool) -> dict[str, float]:
    """`Fairness.chance`."""
    told = {"accuracy": accuracy(items.whole), "answers": selection_rates(items.whole.sum(axis=-2))[:, judged]}
    told["answers given labels"] = told["answers"]
    lost = set(told) if len(items.sizes) < 2 else {"accuracy", "answers given labels"} if mixed else set()
    sizes = items.sizes.sum(axis=1)
    return {name: np.nan if name in lost else as_uneven(held, alike[name], sizes) for name, held in told.items()}


def _drawn(items: Grouped, judged: Sequence[int]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The measures of every judged class, shape (draws, judged), of resamples and of draws where groups are alike; of
    these also every group's "accuracy" (draws, groups) and "answers" (draws, groups, judged), these once more of draws
    where groups are alike in their answers to each label."""
    resampled: dict[str, list[Floats]] = {}
    alike: dict[str, list[Floats]] = {}
    for drawn, even, odds in items.chunks():
        for name, part in {**_by_class(drawn, judged), ACCURACY_GAP: _accuracy_gap(drawn)}.items():
            resampled.setdefault(name, []).append(part)
        same = {"eod": _by_class(odds, judged)["eod"], ACCURACY_GAP: _accuracy_gap(odds), "accuracy": accuracy(odds)}
        same["answers"] = selection_rates(even.sum(axis=-2))[..., judged]
        same["answers given labels"] = selection_rates(odds.sum(axis=-2))[..., judged]
        for name, part in {**_by_class(even, judged), **same}.items():
            alike.setdefault(name, []).append(part)
    return tuple({name: np.concatenate(parts) for name, parts in one.items()} for one in (resampled, alike))


def _fair(
    whole: Floats, resampled: dict[str, Floats], alike: dict[str, Floats], judged: dict[int, str]
) -> tuple[dict[str, Figure], dict[str, dict[str, Figure]], dict[str, Figure]]:
    """The figures over classes, those of each class, and what chance alone gives where groups are alike."""
    at, n, one = _by_class(whole, list(judged)), int(whole.sum()), (whole.sum(axis=(-2, -1)) > 0).sum() < 2
    by_class: dict[str, dict[str, Figure]] = {}
    for place, called in enumerate(judged.values()):
        by_class[called] = {
            name: _reaching(
                figure(at[name][place], resampled[name][:, place], n, True, _why(name, at[name][place], one)),
                alike[name][:, place],
                name,
            )
            for name in at
        }
    lost = [called for place, called in enumerate(judged.values()) if not np.isfinite(at["dpr"][place])]
    why = _ONE if one else f"answered for nobody: {some_of(lost)}" if lost else ""
    figures, even = {}, {}
    for key in FAIRNESS:
        name, _, worst = key.partition("_")
        extreme = np.fmin.reduce if name == "dpr" else np.fmax.reduce
        value, spread, chance = (
            (extreme(v, axis=-1) if worst else mean_of(v)) for v in (at[name], resampled[name], alike[name])
        )
        said = why if name == "dpr" else _why(name, value, one)
        figures[key] = _reaching(figure(value, spread, n, True, said), chance, name)
        known = chance[np.isfinite(chance)]
        even[key] = figure(known.mean() if len(known) and not one else np.nan, chance, n)
    return figures, by_class, even


def _reaching(found: Figure, chance: Floats, name: str) -> Figure:
    """The interval reaches to equality where 1 in 20 groupings that are alike would come out as uneven by chance."""
    known = chance[np.isfinite(chance)]
    if not np.isfinite(found.low) or not len(known):
        return found
    if name == "dpr":
        return replace(found, high=1.0) if found.value >= np.quantile(known, 0.05) else found
    return replace(found, low=0.0) if found.value <= np.quantile(known, 0.95) else found


def _by_class(tables: Floats, judged: Sequence[int]) -> dict[str, Floats]:
    """Each measure of every judged class: shape (..., judged) from (..., groups, classes, answers)."""
    rates = selection_rates(tables.sum(axis=-2))
    return {
        "dpr": np.stack([parity_ratio(rates[..., c]) for c in judged], axis=-1),
        "dpd": np.stack([parity_difference(rates[..., c]) for c in judged], axis=-1),
        "eod": np.stack([odds_difference(tables, c) for c in judged], axis=-1),
    }


def _accuracy_gap(tables: Floats) -> Floats:
    """The highest less the lowest accuracy of the groups that have items: shape (...) from (..., groups, classes,
    answers); NaN for fewer than two."""
    right = accuracy(tables)
    there = np.isfinite(right).sum(axis=-1)
    return np.where(there > 1, np.fmax.reduce(right, axis=-1) - np.fmin.reduce(right, axis=-1), np.nan)[()]


def _widened(gap: Figure, groups: Sequence[Group]) -> Figure:
    """The gap with Newcombe's interval of the difference of its two groups joined: resamples of few items, or of groups
    all right or all wrong, differ too little. R. Newcombe, "Interval estimation for the difference between independent
    proportions" (1998), method 10."""
    held = [group.accuracy for group in groups if group.accuracy.n]
    if len(held) < 2:
        return gap
    low, high = (pick(held, key=lambda one: one.value) for pick in (min, max))
    ends = (
        gap.value - np.hypot(high.value - high.low, low.high - low.value),
        gap.value + np.hypot(high.high - high.value, low.value - low.low),
    )
    known = ends if gap.low != gap.low else (min(gap.low, ends[0]), max(gap.high, ends[1]))
    return replace(gap, low=float(max(0.0, known[0])), high=float(min(1.0, known[1])))


def _why(name: str, value: float, one: bool) -> str:
    if np.isfinite(value):
        return ""
    if one:
        return _ONE
    return "answered for nobody" if name == "dpr" else "no two groups have items of this class, or of the others"


def _group(value: str, whole: Floats, classes: Sequence[str]) -> Group:
    n, said = whole.sum(), whole.sum(axis=0)
    rates = {name: share(said[c], n) for c, name in enumerate(classes)}
    return Group(value, share(np.trace(whole), n), rates, n < SMALL)
