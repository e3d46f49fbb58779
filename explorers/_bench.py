"""What models answered in benchmarks, as the tab Benchmarks counts it: every figure of a task, and wrong answers."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

import numpy as np
import pandas as pd

from backend.metrics.benchmark_summary import Summary, summarise
from backend.store import Audit
from explorers._bench_view import LONGEST

__all__ = ["answers_of", "summary_of", "title_of", "wrong_answers"]
LONGEST_TITLE = 60


@lru_cache(maxsize=16)
def answers_of(audit: Audit, model: str, task: str) -> pd.DataFrame:
    """The answers of a model to one task, as stored."""
    table = audit.benchmarks.table(model)
    return table[table["task"].astype(str) == task].reset_index(drop=True)


def summary_of(audit: Audit, model: str, task: str) -> Summary:
    """Every figure of a model's answers to one task. Computed once; only who asks for the same waits meanwhile."""
    return _once(audit, model, task).summary()


@lru_cache(maxsize=64)
def _once(audit: Audit, model: str, task: str) -> _Once:
    return _Once(audit, model, task)


class _Once:
    """A summary that is computed when it is first asked for."""

    def __init__(self, audit: Audit, model: str, task: str) -> None:
        self._of, self._lock, self._found = (audit, model, task), Lock(), None

    def summary(self) -> Summary:
        if self._found is None:
            with self._lock:
                self._found = self._found or self._made()
        return self._found

    def _made(self) -> Summary:
        audit, model, task = self._of
        asked, table = audit.benchmarks.sources[model].tasks[task], answers_of(audit, model, task)
        return summarise(table, asked.classes, asked.groups, asked.positive, asked.family == "pronoun", asked.chance)


@lru_cache(maxsize=32)
def wrong_answers(audit: Audit, model: str, task: str, condition: str) -> pd.DataFrame:
    """The answers of a condition that are not the label, those that the model held for surest first.

    Columns as stored, and `sure`: the probability given to the answer, NaN where none is stored. Adversarial questions
    are left out.
    """
    table = answers_of(audit, model, task)
    plain = (table["condition"].astype(str) == condition) & (table["variant"].astype(str) == "")
    some = table[plain & (table["answer"].astype(str) != table["label"].astype(str))]
    classes = list(audit.benchmarks.sources[model].tasks[task].classes)
    sure = [
        float(held[classes.index(answer)]) if len(held) == len(classes) and answer in classes else np.nan
        for held, answer in zip(some["probabilities"], some["answer"].astype(str), strict=True)
    ]
    return some.assign(sure=sure).sort_values("sure", ascending=False, kind="stable").reset_index(drop=True)


def title_of(audit: Audit, model: str) -> str:
    """A model's name for people, cut, with its own name where two would be the same."""
    titles = {name: source.title[:LONGEST_TITLE] or name for name, source in audit.benchmarks.sources.items()}
    same = list(titles.values()).count(titles[model]) > 1
    return (f"{titles[model]} ({model})" if same else titles[model])[:LONGEST]
