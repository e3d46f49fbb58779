"""Everything that is said of one task's answers, from their table: performance, fairness, effectiveness, scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from backend.metrics.benchmark_draws import Figure
from backend.metrics.benchmark_figures import Fairness, fairness, performance
from backend.metrics.benchmark_scores import effectiveness, resolution, resolution_gap, stereotype_gap, stereotypes
from backend.metrics.benchmarks import chance_f1, crosstab

STEREOTYPE = "stereotype"
GROUPS = ("group_1", "group_2", "group_3")


@dataclass(frozen=True)
class Line:
    """One condition and variant: its items, the figures of `performance`, and `fairness` by attribute.

    `resolution` is the resolution bias, overall and by occupation (pronoun tasks), `stereotypes` the vision-language
    bias score, overall ("") and by category (tasks with stereotypical captions).
    """

    condition: str
    variant: str
    items: int
    performance: dict[str, Any]
    fairness: dict[str, Fairness] = field(default_factory=dict)
    resolution: tuple[Figure, dict[str, Figure]] | None = None
    stereotypes: dict[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """All lines of a task, what the image adds (`effectiveness`), what the wrong description takes (`misled`: the
    accuracy gap, adversarial less plain, with the image), and what an even draw is expected to reach."""

    lines: tuple[Line, ...]
    effectiveness: dict[str, Figure]
    misled: Figure | None
    chance: dict[str, float]

    def line(self, condition: str, variant: str = "") -> Line | None:
        """The line of a condition and variant."""
        return next((one for one in self.lines if (one.condition, one.variant) == (condition, variant)), None)


def summarise(
    answers: pd.DataFrame,
    classes: Sequence[str],
    groups: Sequence[str] = (),
    positive: str = "",
    pronouns: bool = False,
    chance: float = float("nan"),
) -> Summary:
    """All figures of one task.

    `answers` has the columns item, condition, variant, label, answer and, for `groups` (attributes, in their order),
    group_1, group_2, ... By hand: two items, both right with the image, one without: the gap is 0.5.

    >>> rows = [("i", "image", "a", "a"), ("i", "text", "a", "a"), ("j", "image", "b", "b"), ("j", "text", "b", "a")]
    >>> table = pd.DataFrame(rows, columns=["item", "condition", "label", "answer"]).assign(variant="")
    >>> found = summarise(table, ["a", "b"])
    >>> found.line("text").performance["accuracy"].value, found.effectiveness["accuracy"].value
    (0.5, 0.5)

    With `pronouns` the first group is the occupation, and the first two classes are men and women; its fairness is the
    resolution bias. Categories of stereotypes are no groups of people, and have their own score. `chance` is the
    accuracy of an even draw. Source: see backend.metrics.benchmarks.
    """
    table = answers.astype({name: str for name in answers.columns if name not in ("row", "probabilities")})
    columns = dict(zip(groups, GROUPS, strict=False))
    judged = {} if STEREOTYPE in classes else dict(list(columns.items())[1 if pronouns else 0 :])
    lines = [
        _line(str(condition), str(variant), some, classes, columns, judged, positive, pronouns)
        for (condition, variant), some in table.groupby(["condition", "variant"], sort=False)
    ]
    truth = table[(table["condition"] == "image") & (table["variant"] == "")]
    seen = table[table["condition"] == "image"]
    pair = _paired(seen[seen["variant"] == "adversarial"], seen[seen["variant"] == ""])
    misled = None
    if len(pair):
        misled = effectiveness(*(pair[name].tolist() for name in ("label", "answer", "other")), classes, {})["accuracy"]
    expected = {"accuracy": chance}
    if len(truth):
        expected["macro_f1"] = chance_f1(crosstab(truth["label"].tolist(), [""] * len(truth), classes))
    return Summary(tuple(lines), _added(table, classes, judged, positive, pronouns), misled, expected)


def _added(
    table: pd.DataFrame, classes: Sequence[str], judged: dict[str, str], positive: str, pronouns: bool
) -> dict[str, Figure]:
    """What the image adds to the text alone."""
    plain = table[table["variant"] == ""]
    both = _paired(plain[plain["condition"] == "image"], plain[plain["condition"] == "text"])
    labels, seen, blind = (both[name].tolist() for name in ("label", "answer", "other"))
    held = {name: both[column].tolist() for name, column in judged.items()}
    found = effectiveness(labels, seen, blind, classes, held, positive)
    if pronouns and len(both):
        men, women = list(classes)[:2]
        found["resolution bias"] = resolution_gap(labels, seen, blind, both[GROUPS[0]].tolist(), men, women)
    if STEREOTYPE in classes and len(both):
        found["VLBS"] = stereotype_gap(seen, blind, STEREOTYPE)
    return found


def _line(
    condition: str,
    variant: str,
    some: pd.DataFrame,
    classes: Sequence[str],
    columns: dict[str, str],
    judged: dict[str, str],
    positive: str,
    pronouns: bool,
) -> Line:
    labels, said = some["label"].tolist(), some["answer"].tolist()
    fair = {name: fairness(labels, said, some[column].tolist(), classes, positive) for name, column in judged.items()}
    jobs = resolution(labels, said, some[GROUPS[0]].tolist(), *list(classes)[:2]) if pronouns else None
    typical = _stereotypes(some, columns) if STEREOTYPE in classes else {}
    return Line(condition, variant, len(some), performance(labels, said, classes), fair, jobs, typical)


def _paired(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Items that both have, with the second's answer as `other`."""
    return first.merge(second[["item", "answer"]].rename(columns={"answer": "other"}), on="item", validate="1:1")


def _stereotypes(some: pd.DataFrame, columns: dict[str, str]) -> dict[str, Figure]:
    found = {"": stereotypes(some["answer"].tolist(), STEREOTYPE)}
    for value, mine in some.groupby(next(iter(columns.values()), "label"), sort=True):
        if not str(value):
            continue  # items without a category count in "" with all the others
        found[str(value)] = stereotypes(mine["answer"].tolist(), STEREOTYPE)
    return found
