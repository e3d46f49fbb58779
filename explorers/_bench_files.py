"""What Benchmarks hands out: every figure of a task, and its wrong answers, as tables for CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from backend.metrics.benchmark_draws import Figure
from backend.metrics.benchmark_summary import Line
from backend.store import Audit
from explorers import _bench as data
from explorers import _bench_published as published
from explorers import _bench_view as state
from explorers._bench_errors import wrong_table
from explorers._bench_view import SLUG, BenchView
from explorers._shared import Params, first

COLUMNS = [
    *("source", "model", "title", "task", "condition", "variant", "measure", "attribute", "group", "answer"),
    *("value", "low95", "high95", "n", "if_alike", "if_alike_low95", "if_alike_high95", "why"),
]


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """A view as a table for download: every figure of its task and models, with the published rows where they are
    shown; or (of=wrong) the listed wrong answers. No rows where the address names what is not here: those of another
    task would be taken for it. Its name as a file is in `attrs`."""
    view = state.from_params(stores, params)
    audit, wrong = stores[view.audit], first(params, "of") == "wrong"
    made = wrong_table(audit, view) if wrong else figures_table(audit, view)
    name = [SLUG, view.task, "wrong" if wrong else "figures"]
    name += [state.wrong_model(audit, view), view.condition] if wrong else []
    if state.missed(stores, params):
        made, name = made.iloc[:0], [SLUG, name[2]]
    made.attrs["name"] = "-".join(map(state.file_name, filter(None, name)))
    return made


def figures_table(audit: Audit, view: BenchView) -> pd.DataFrame:
    """A row a figure, of all attributes."""
    rows = []
    for model in state.shown_models(audit, view):
        found = data.summary_of(audit, model, view.task)
        who = {"source": "this audit", "model": model, "title": data.title_of(audit, model), "task": view.task}
        for line in found.lines:
            where = {**who, "condition": line.condition, "variant": line.variant}
            rows += [{**where, **row} for row in _line(line)]
        for key, value in found.chance.items():
            rows.append({**who, "condition": "even draw, expected", "measure": key, "value": value})
        for key, one in found.effectiveness.items():
            rows.append({**who, "condition": "image less text", "measure": key, **_figure(one)})
        if found.misled is not None:
            rows.append({**who, "condition": "adversarial less plain", "measure": "accuracy", **_figure(found.misled)})
    return pd.DataFrame([*rows, *(_published(view) if view.published else ())], columns=COLUMNS)


def _figure(found: Figure) -> dict[str, Any]:
    return {"value": found.value, "low95": found.low, "high95": found.high, "n": found.n, "why": found.why}


def _line(line: Line) -> Iterator[dict[str, Any]]:
    """Every figure of a condition."""
    for key in ("accuracy", "macro_f1", "unparsed"):
        yield {"measure": key, **_figure(line.performance[key])}
    for name, one in line.performance["f1"].items():
        yield {"measure": "f1", "answer": name, **_figure(one)}
    for by, fair in line.fairness.items():
        for key, one in fair.figures.items():
            even = fair.even.get(key)
            alike = {"if_alike": even.value, "if_alike_low95": even.low, "if_alike_high95": even.high} if even else {}
            yield {"measure": key, "attribute": by, **_figure(one), **alike}
        for name, one in fair.chance.items():
            yield {"measure": f"p of {name} as uneven by chance", "attribute": by, "value": one}
        for name, held in fair.by_class.items():
            for key, one in held.items():
                yield {"measure": key, "attribute": by, "answer": name, **_figure(one)}
        for group in fair.groups:
            where = {"attribute": by, "group": group.value}
            yield {"measure": "accuracy", **where, **_figure(group.accuracy)}
            for name, one in group.rates.items():
                yield {"measure": "selection rate", **where, "answer": name, **_figure(one)}
    if line.resolution is not None:
        for job, one in (("", line.resolution[0]), *line.resolution[1].items()):
            yield {"measure": "resolution bias", "group": job, **_figure(one)}
    for category, one in line.stereotypes.items():
        yield {"measure": "VLBS", "group": category, **_figure(one)}


def _published(view: BenchView) -> Iterator[dict[str, Any]]:
    """The published rows of a task, all attributes."""
    for row in published.parity_rows(view.task):
        who = {"source": published.SOURCE, "model": row.model, "task": view.task, "condition": row.condition}
        yield {**who, "measure": "macro_f1", "attribute": row.group, "value": row.macro_f1}
        why = "printed as infinite" if row.infinite else ""
        yield {**who, "measure": "dpr", "attribute": row.group, "value": row.dpr, "why": why}
    for one in published.pronoun_rows(view.task).itertuples():
        who = {"source": published.SOURCE, "model": one.model, "task": view.task, "condition": "image"}
        yield {**who, "measure": "accuracy", "value": one.accuracy_pct / 100}
        yield {**who, "measure": "resolution bias", "value": -one.resolution_bias, "why": "printed with the other sign"}
        yield {**who, "variant": "adversarial", "measure": "accuracy", "value": one.counterfactual_accuracy_pct / 100}
    for one in published.stereotype_rows(view.task).itertuples():
        who = {"source": published.SOURCE, "model": one.model, "task": view.task}
        condition = "image" if one.input == "with image" else "text"
        yield {**who, "condition": condition, "measure": "VLBS", "group": one.category, "value": one.vlbs_pct / 100}
