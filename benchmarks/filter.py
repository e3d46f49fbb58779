"""Filtering an audit by system, profession and adjective, against a plain pandas mask on object columns."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from contextvars import copy_context

import gradio as gr
import numpy as np
import pandas as pd
from gradio.context import LocalContext

from backend.store import Audit
from benchmarks import _report
from benchmarks._audit import ADJECTIVES
from benchmarks._process import ran, workplace
from benchmarks._report import Figure, milliseconds, spread
from explorers import browse
from explorers._browse import BrowseView, column_html, from_params
from explorers._grid import Choice, rows_of

ROUND = 50
"""A repeat is this many different choices; its figure is their median."""
MOST = 20


def choices(audit: Audit, seed: int) -> list[Choice]:
    """Choices of a system, a profession and an adjective, drawn at random."""
    draw = random.Random(seed)
    systems, professions = (list(audit.generations[c].cat.categories) for c in ("system", "profession"))
    return [Choice(*map(draw.choice, (systems, professions, ADJECTIVES))) for _ in range(ROUND)]


def plain(table: pd.DataFrame, choice: Choice) -> np.ndarray:
    """The baseline: what a first version would do."""
    mask = (table["system"] == choice.system) & (table["profession"] == choice.subject)
    return np.flatnonzero(mask & (table["adjective"] == choice.adjective))


def params(audit: Audit, choice: Choice) -> dict[str, list[str]]:
    """The address of two columns: a choice, and the same prompt in another system."""
    systems = list(audit.generations["system"].cat.categories)
    other = systems[systems.index(choice.system) - 1]
    asked = {"s": [choice.system, other], "p": [choice.subject] * 2, "a": [choice.adjective] * 2}
    return {"audit": [audit.name], "tab": ["browse"], **asked}


def columns(stores: dict[str, Audit], asked: dict[str, list[str]]) -> list[str]:
    """An address read, and the HTML of its columns."""
    view: BrowseView = from_params(stores, asked)
    return [column_html(stores[view.audit], view, choice) for choice in view.columns]


def rounds(work: Callable[[Choice], object], drawn: list[list[Choice]]) -> list[float]:
    """The median milliseconds of each round."""
    return [statistics.median(milliseconds(lambda c=choice: work(c)) for choice in part) for part in drawn]


def measure(audit: Audit, repeats: int) -> dict[str, list[float]]:
    """Milliseconds of each kind of work, a value per repeat."""
    stores = {audit.name: audit}
    plain_table = audit.generations[["system", "profession", "adjective"]].astype(object)
    with gr.Blocks():
        view = browse.build(stores, gr.HTML())
    LocalContext.in_event_listener.set(True)  # as in a handler: gr.Dropdown(...) is an update there, no new component
    drawn = [choices(audit, seed) for seed in range(repeats + 1)]
    for choice in drawn[0]:
        if not np.array_equal(plain(plain_table, choice), rows_of(audit, choice)):
            raise RuntimeError(f"other rows than the baseline's for {choice}")
        columns(stores, params(audit, choice))
    return {
        "plain": rounds(lambda choice: plain(plain_table, choice), drawn[1:]),
        "rows": rounds(lambda choice: rows_of(audit, choice), drawn[1:]),
        "columns": rounds(lambda choice: columns(stores, params(audit, choice)), drawn[1:]),
        "tab": rounds(lambda choice: view.open(params(audit, choice)), drawn[1:]),
    }


def run(size: int, repeats: int) -> list[Figure]:
    """Make the audit, then time a round of choices per repeat."""
    with workplace() as folder:
        ran("-m", "benchmarks._audit", folder, "bench", size)
        audit = Audit.open(folder, "bench")
        took = copy_context().run(measure, audit, repeats)
    names = {
        "rows": "rows_of: the rows alone",
        "columns": "from_params and column_html of two columns",
        "tab": "the whole update of the tab, two columns",
    }
    base = statistics.median(took["plain"])
    figures = []
    for name, words in names.items():
        middle = statistics.median(took[name])
        ratio = f"{base / middle:.2f}x"
        cells = spread(took[name], "ms", 2), spread(took["plain"], "ms", 2)
        figures.append(
            Figure(f"filter {len(audit):,} rows: {words}", *cells, ratio, f"at most {MOST} ms", middle <= MOST)
        )
    return figures


if __name__ == "__main__":
    _report.main(run, __doc__, size=94_500, repeats=5)
