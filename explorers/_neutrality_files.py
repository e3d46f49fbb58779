"""What Neutrality hands out: tables for CSV, and the heatmap as a figure for its PNG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from backend.metrics.neutrality import NEUTRAL, UNPARSED
from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_answers as answers
from explorers import _neutrality_charts as charts
from explorers import _neutrality_published as published
from explorers import _neutrality_view as state
from explorers import _neutrality_words as words
from explorers._charts import finish
from explorers._neutrality_view import NeutralityView
from explorers._shared import Params, Served, first


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """A view as a table for download: the heatmap's cells, or (of=models) its columns and the published figures, or
    (of=answers) the answers behind the open cell."""
    view = state.from_params(stores, params)
    audit, of = stores[view.audit], first(params, "of")
    shown = data.heat(audit, view)
    if of == "answers" and shown is not None:
        made = answers.answers_table(audit, view, shown)
    elif of == "models" or shown is None:
        made, of = _models_table(audit, view, shown), "models"
    else:
        made, of = _cells_table(audit, view, shown), ""
    made.attrs["name"] = state.file_name(audit, view, of)
    return made


def _cells_table(audit: Audit, view: NeutralityView, shown: data.Heat) -> pd.DataFrame:
    columns = (*state.classes_of(audit, view), NEUTRAL, UNPARSED)
    rows = [
        {"row": row.label, "rows": row.kind, **_values(audit, view, asked, shown.cells[row.key, asked.column], columns)}
        | {"labour_force_ag": shown.labour(row), "labour_force_women": row.women, "professions": len(row.professions)}
        for row in shown.rows
        for asked in shown.columns
    ]
    return pd.DataFrame(rows)


def _values(
    audit: Audit, view: NeutralityView, asked: state.Asked, cell: Any, columns: tuple[str, ...]
) -> dict[str, Any]:
    counts = {f"answers_{name}": number for name, number in zip(columns, cell.counts, strict=True)}
    return {
        "model": asked.model,
        "title": audit.probes.sources[asked.model].title,
        **{name: getattr(asked, name) for name in ("direction", "style", "attribute", "culture")},
        "measure": state.measure_of(audit, view),
        "value": cell.value if not cell.few else np.nan,
        "low95": cell.low,
        "high95": cell.high,
        "without_a_value": cell.few,
        "inputs": cell.inputs,
        "answers": cell.answers,
        **counts,
    }


def _models_table(audit: Audit, view: NeutralityView, shown: data.Heat | None) -> pd.DataFrame:
    measure, columns = state.measure_of(audit, view), (*state.classes_of(audit, view), NEUTRAL, UNPARSED)
    rows = [
        {**_values(audit, view, asked, data.total(audit, asked, measure), columns), "source": "this audit"}
        for asked in (shown.columns if shown else ())
    ]
    for one in charts.published_of(audit, replace(view, published=True)):
        held = {"model": one.model, "direction": view.direction, "style": one.style, "attribute": view.attribute}
        held |= {"measure": measure, "value": one.value, "low95": one.low, "high95": one.high}
        rows.append(held | {"inputs": published.INPUTS, "source": f"{published.SOURCE}, {one.table}"})
    return pd.DataFrame(rows if rows else [{"measure": measure}])


def heatmap(stores: Mapping[str, Audit], params: Params) -> Served | None:
    """The heatmap of a view as a Plotly figure (JSON), from which the page draws its PNG; None where there is none."""
    view = state.from_params(stores, params)
    audit = stores[view.audit]
    shown = data.heat(audit, view)
    if shown is None:
        return None
    question = f"{words.SHORT[shown.measure]} of {view.attribute} in answers to neutral inputs"
    source = (
        f"audit {view.audit}, {view.direction}, {view.style}; n and 95 % intervals: in the CSV beside it; grey words: "
    )
    source += "under 20 inputs, or answers that chose" + ("; US labour force: CPS 2021" if shown.sign else "")
    made = finish(charts.heat_figure(audit, view, shown), question, source)
    return Served(str(made.plot).encode(), "application/json")


DATA = {"heatmap": heatmap}
