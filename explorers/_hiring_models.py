"""Bias differences model by model: a dot an occupation, own ones filled, published ones hollow."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from backend.metrics.hiring import Estimate
from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_published as published
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._charts import GREY, SYSTEM_COLOURS, axis_style
from explorers._hiring_view import HiringView
from explorers._neutrality_charts import plot_text

MEASURE = "bias_difference"
STEP, SPREAD = 0.03, 0.11
"""Dots nearer than STEP stand above one another, SPREAD of a row apart."""


def stacked(values: Sequence[float]) -> list[float]:
    """How far each dot is moved up or down, so that those at one place do not hide each other; within half a row.

    >>> stacked([0.5, 0.5, -0.2, 0.5])
    [0.0, 0.11, 0.0, -0.11]
    """
    seen: dict[int, int] = {}
    found = []
    for value in values:
        place = round(value / STEP)
        at = seen.get(place, 0)
        seen[place] = at + 1
        found.append(round(min(0.4, SPREAD * ((at + 1) // 2)) * (1 if at % 2 else -1) + 0.0, 3))
    return found


def models_figure(audit: Audit, view: HiringView) -> go.Figure:
    """A row a model: its occupations as dots, and for own models all of them together with the interval."""
    drawn, labels = go.Figure(), []
    for at, model in enumerate(state.series_of(audit, view)):
        held = {name: own[MEASURE] for name, own in data.by_row(audit, model, "different").items()}
        if not held:
            continue
        texts = [f"{name}: {words.words_of(one, MEASURE)}" for name, one in held.items()]
        colour = SYSTEM_COLOURS[at % 8]
        _dots(drawn, len(labels), [one.value for one in held.values()], texts, colour, hollow=False)
        _whole(drawn, len(labels), data.overall(audit, model, "different")[MEASURE], colour)
        labels.append(plot_text(words.title_of(audit, model), 2, 18))
    known = published.bias_differences()
    theirs = [name for name in state.theirs_of(view) if name in known]
    if theirs:
        labels.append("<b>Published</b>")
    for name in theirs:
        texts = [f"{row}: bias difference {words.number(value, MEASURE)}" for row, value in known[name].items()]
        _dots(drawn, len(labels), list(known[name].values()), texts, GREY, hollow=True)
        labels.append(name)
    if drawn.data:
        axis_style(drawn, labels, "← men’s names | women’s names →", [-1.06, 1.06], "")
        tall = 40 * len(labels) + 80
        drawn.update_layout(height=tall, yaxis={"ticktext": labels}, margin={"t": 56, "l": 140})
        drawn.add_vline(x=0, line={"color": GREY, "width": 1})
    return drawn


def _dots(drawn: go.Figure, row: int, values: Sequence[float], texts: Sequence[str], colour: str, hollow: bool) -> None:
    drawn.add_scatter(
        x=list(values),
        y=[row + moved for moved in stacked(values)],
        mode="markers",
        showlegend=False,
        marker={
            "symbol": "circle-open" if hollow else "circle",
            "color": colour,
            "size": 7,
            "opacity": 0.75,
            "line": {"width": 1.6 if hollow else 0, "color": colour},
        },
        customdata=[plot_text(text, 4, 60) for text in texts],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _whole(drawn: go.Figure, row: int, found: Estimate, colour: str) -> None:
    known = found.low == found.low
    drawn.add_scatter(
        x=[found.value],
        y=[row],
        mode="markers",
        showlegend=False,
        marker={"symbol": "line-ns-open", "color": colour, "size": 22, "line": {"width": 3, "color": colour}},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [found.high - found.value if known else 0],
            "arrayminus": [found.value - found.low if known else 0],
            "thickness": 3,
            "width": 0,
        },
        customdata=[plot_text(f"All occupations: {words.words_of(found, MEASURE)}", 4, 60)],
        hovertemplate="%{customdata}<extra></extra>",
    )


def models_html(audit: Audit, view: HiringView) -> str:
    """What stands above the chart."""
    said = ["Bias difference: a dot an occupation, moved up or down where dots would hide each other."]
    if state.series_of(audit, view):
        said.append("Upright line: all occupations, with their 95 % interval.")
    if state.theirs_of(view):
        said.append(
            "Hollow: published (Tables 1 and 2), only the occupations that the paper prints, which are those furthest "
            "from 0; without n or intervals."
        )
    return f'<h3>Whom does each model favour, occupation by occupation?</h3><p class="lk-reading">{" ".join(said)}</p>'
