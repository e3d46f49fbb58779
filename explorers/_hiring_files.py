"""What Hiring hands out: tables for CSV, and its figures for their PNG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from backend.metrics.hiring import Estimate
from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_answers as answers
from explorers import _hiring_bars as bars
from explorers import _hiring_published as published
from explorers import _hiring_scatter as scatter
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._charts import finish
from explorers._hiring_dialogue import dialogues_table
from explorers._hiring_view import HiringView
from explorers._shared import Params, Served, first

KINDS = ("different", "same", "female", "male")


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """A view as a table for download: every measure by model, kind of pairs and occupation; or (of=bars) the list of
    bars, (of=answers) what was answered to Q2 and Q3, (of=dialogues) the listed dialogues of the open occupation."""
    view = state.from_params(stores, params)
    kinds = {"bars": bars_table, "answers": answers_table, "dialogues": dialogues_table}
    of = first(params, "of") if first(params, "of") in kinds else ""
    made = kinds.get(of, measures_table)(stores[view.audit], view)
    made.attrs["name"] = state.file_name(view, of)
    return made


def _estimate(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "low95": found.low,
        "high95": found.high,
        "without_an_interval": {"few": "too few pairs", "alike": "all pairs agree"}.get(found.why, found.why),
        "pairs": found.n,
        "dialogues": found.k,
    }


def measures_table(audit: Audit, view: HiringView) -> pd.DataFrame:
    """A row for each model, kind of pairs, occupation ("": all) and measure."""
    rows = []
    for model in state.series_of(audit, view):
        for kind in KINDS:
            if data.of_kind(audit, model, kind).empty:
                continue
            every = {"": data.overall(audit, model, kind), **data.by_row(audit, model, kind)}
            who = {"model": model, "title": audit.hiring.sources[model].title, "kind": kind}
            rows += [
                {**who, "occupation": name, "measure": measure, **_estimate(found)}
                for name, held in every.items()
                for measure, found in held.items()
            ]
    return pd.DataFrame(rows if rows else [], columns=None if rows else ["model", "kind", "occupation", "measure"])


def bars_table(audit: Audit, view: HiringView) -> pd.DataFrame:
    """A row for each occupation and column of the list."""
    shown, rows = data.bars(audit, view), []
    for row in ("", *shown.rows):
        labour = {"labour_force_women": data.women_in(row) if row else np.nan}
        about = {"occupation": row, "measure": shown.measure, "kind": shown.kind}
        for model in shown.own:
            found = data.value_of(audit, model, shown.kind, row, shown.measure)
            rows.append({**about, "model": model, "source": "this audit", **_estimate(found), **labour})
        for model in shown.theirs:
            value = published.bias_differences()[model].get(row)
            if value is not None:
                source = f"{published.SOURCE}, {published.TABLES[model]}"
                rows.append({**about, "model": model, "source": source, "value": value, **labour})
    return pd.DataFrame(rows if rows else [], columns=None if rows else ["occupation", "measure"])


def answers_table(audit: Audit, view: HiringView) -> pd.DataFrame:
    """A row for each model, kind of pairs, question and answer."""
    rows = [
        {
            "model": bar.title,
            "kind": bar.kind,
            "question": question.upper(),
            "answer": words.NAMED.get(name, name),
            "share": share,
            "dialogues": bar.total or np.nan,
            "pairs": bar.neutral.n if bar.neutral else np.nan,
            "source": f"{published.SOURCE}, {bar.source}" if bar.source else "this audit",
        }
        for question in answers.QUESTIONS
        for bar in answers.bars_of(audit, view, question)
        for name, share in bar.shares.items()
    ]
    return pd.DataFrame(rows if rows else [], columns=None if rows else ["model", "question", "answer"])


def _served(make: Callable[[Audit, HiringView], tuple[go.Figure, str, str]]):
    """A function of DATA: a figure as JSON, from which the page draws its PNG."""

    def serve(stores: Mapping[str, Audit], params: Params) -> Served:
        view = state.from_params(stores, params)
        figure, question, source = make(stores[view.audit], view)
        return Served(str(finish(figure, question, source).plot).encode(), "application/json")

    return serve


def _scatter(audit: Audit, view: HiringView) -> tuple[go.Figure, str, str]:
    source = f"audit {view.audit}; a mark an occupation, numbers: so many at one place; crosses: all, 95 % intervals"
    return scatter.scatter_figure(audit, view), "Confirmation and Consistency by occupation", source


def _bars(audit: Audit, view: HiringView) -> tuple[go.Figure, str, str]:
    shown = data.bars(audit, view)
    source = f"audit {view.audit}, {words.KIND_WORDS[shown.kind]}; lines: 95 % intervals; n: in the CSV"
    source += (
        f"<br>outlined: published, {published.SOURCE}, Tables 1 and 2, without n or intervals" if shown.theirs else ""
    )
    return bars.bars_figure(audit, shown), f"{words.SHORT[shown.measure].capitalize()} by occupation", source


def _answers(audit: Audit, view: HiringView) -> tuple[go.Figure, str, str]:
    source = f"audit {view.audit}; n and intervals: in the CSV"
    source += f"; published: {published.SOURCE}, Table 3" if state.theirs_of(view) else ""
    return answers.answers_figure(audit, view), "What was answered to Q2 and Q3", source


DATA = {"scatter": _served(_scatter), "bars": _served(_bars), "answers": _served(_answers)}
