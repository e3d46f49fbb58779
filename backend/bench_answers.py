"""Answers to a benchmark as an audit keeps them: which prompts are alike, whose they are, and what is kept of each."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from backend.bench_plan import IMAGE, RANDOM, Asked, Plan
from backend.benchmarks import Item
from backend.metrics.neutrality import UNPARSED
from backend.pictures import MOST_MEGAPIXELS, PictureError, read_facts
from backend.probe_answers import settings_of
from backend.probes.ask import Answer, Model
from backend.probes.base import ANSWERED
from backend.records import clean_text
from backend.store import BenchmarkSource, BenchmarkTask
from backend.store.benchmarks import GROUPS, LONGEST, LONGEST_NOTE

SAID = ("answer", "outcome", "text", "probabilities")


def seen_items(items: Iterable[Item]) -> tuple[dict[str, str], Counter[str]]:
    """The hash of every item's picture by the item's name, read once, and why others have none: reason -> count."""
    digests: dict[str, str] = {}
    broken: Counter[str] = Counter()
    for item in items:
        try:
            if not item.sha256:
                data = item.load()
                read_facts(data, MOST_MEGAPIXELS * 1_000_000)
                digests[item.name] = hashlib.sha256(data).hexdigest()
            else:
                digests[item.name] = item.sha256
        except (OSError, PictureError) as error:
            broken[unreadable(str(error))] += 1
    return digests, broken


def unreadable(words: str) -> str:
    """Why an item is left out, in words for a count."""
    return f"its image cannot be read: {clean_text(words)}"[:300]


def keyed(planned: Plan, digests: dict[str, str]) -> dict[str, list[Asked]]:
    """Prompts by the hash of all that the model is given. What it is given twice, it is asked once."""
    found: dict[str, list[Asked]] = {}
    for one in planned.asked:
        if one.item.name in digests:
            shown = digests[one.item.name] if one.condition == IMAGE else "grey" if planned.grey else ""
            found.setdefault(one.key(shown), []).append(one)
    return found


def answered(earlier: tuple[BenchmarkSource, pd.DataFrame] | None) -> dict[str, dict[str, Any]]:
    """What finished runs hold, by the hash of what was asked."""
    if earlier is None:
        return {}
    table = earlier[1]
    table = table[table["condition"] != RANDOM]
    return {row["key"]: {key: row[key] for key in SAID} for row in table[["key", *SAID]].to_dict("records")}


def counted(source: BenchmarkSource, name: str, table: pd.DataFrame) -> BenchmarkSource:
    """The source with the task's items, and values of its groups, as the whole table has them."""
    mine = table[table["task"].astype(str) == name]
    task = source.tasks[name]
    values = tuple(tuple(sorted({*mine[column].astype(str)} - {""})) for column in GROUPS[: len(task.groups)])
    task = replace(task, items=mine["item"].nunique(), values=values)
    return replace(source, tasks={**source.tasks, name: task})


def joined(first: str, second: str) -> str:
    """Two notes as one, neither of them twice."""
    return (second if first in second else first if second in first else f"{first} {second}")[:LONGEST_NOTE]


def source_of(model: Model, planned: Plan, fingerprint: str) -> BenchmarkSource:
    """How a model, and what it is asked, is called in an audit. A path is told by its last part only."""
    spec = model.spec
    named = str(spec.options.get("model", spec.name)).rstrip("/")
    if named.startswith(("/", "~", ".")) or named.count("/") > 1:
        named = Path(named).name
    tasks: dict[str, BenchmarkTask] = {planned.name: planned.task}
    return BenchmarkSource(
        spec.name, spec.kind, spec.title, named[:200], tasks, fingerprint[:200], settings=settings_of(model)
    )


def said(one: Asked, answer: Answer, classes: Sequence[str]) -> dict[str, Any]:
    """What is kept of an answer: the class, the outcome, the text where it is no option, and the probability of every
    class, the sum over its options."""
    chances: list[float] = []
    if answer.probabilities:
        chances = [0.0] * len(classes)
        for name, chance in zip(one.classes, answer.probabilities, strict=True):
            chances[classes.index(name)] += chance
    right = answer.outcome == ANSWERED and answer.option is not None
    return {
        "answer": one.classes[answer.option] if right else UNPARSED,
        "outcome": answer.outcome,
        "text": "" if right else clean_text(answer.text or answer.reason)[: LONGEST["text"]],
        "probabilities": [min(1.0, chance) for chance in chances],
    }
