"""The chart of homogeneity: a row a profession, a mark a system, with intervals."""

from __future__ import annotations

import plotly.graph_objects as go

from backend.store import Audit
from explorers import _faces as data
from explorers import _faces_view as state
from explorers._charts import SYSTEM_COLOURS, SYSTEM_GLYPHS, SYSTEM_SYMBOLS, axis_style
from explorers._faces import FEWEST, Average, Cell
from explorers._faces_view import FacesView
from explorers._shared import escape

QUESTION = "Homogeneity of faces, by profession and system"


def chart_figure(audit: Audit, view: FacesView) -> go.Figure:
    """The homogeneity of each average of this page that has faces enough, with its 95 % interval."""
    subjects, drawn = state.on_page(audit, view), go.Figure()
    have, colours = data.averages(audit), data.systems_of(audit)
    for place, system in enumerate(view.systems):
        found = [(row, have.get(Cell(system, subject))) for row, subject in enumerate(subjects)]
        own = [(row, one) for row, one in found if one is not None and one.enough]
        offset = 0.5 * (place - (len(view.systems) - 1) / 2) / max(len(view.systems), 1)
        index = colours.index(system) % 8
        drawn.add_scatter(
            x=[one.homogeneity for _, one in own],
            y=[row + offset for row, _ in own],
            name=escape(system),
            mode="markers",
            marker={"color": SYSTEM_COLOURS[index], "symbol": SYSTEM_SYMBOLS[index], "size": 8},
            error_x=_whiskers([one for _, one in own]),
            customdata=[[one.low, one.high, one.n, one.total] for _, one in own],
            hovertemplate="%{x:.2f} (95 % interval %{customdata[0]:.2f} to %{customdata[1]:.2f})<br>"
            "%{customdata[2]:,} faces in %{customdata[3]:,} images<extra>%{fullData.name}</extra>",
        )
    axis_style(drawn, [escape(name) for name in subjects], "homogeneity, 0 to 1", [0, 1], "")
    drawn.update_layout(margin={"t": 44}, height=drawn.layout.height - 26)
    return drawn


def _whiskers(own: list[Average]) -> dict:
    return {
        "type": "data",
        "array": [max(0.0, one.high - one.homogeneity) for one in own],
        "arrayminus": [max(0.0, one.homogeneity - one.low) for one in own],
        "symmetric": False,
        "thickness": 1.2,
        "width": 0,
    }


def legend_html(audit: Audit, view: FacesView) -> str:
    """The chart's heading, how to read it, and its marks."""
    colours = data.systems_of(audit)
    items = "".join(
        f'<li><span aria-hidden="true" style="color:{SYSTEM_COLOURS[i % 8]}">{SYSTEM_GLYPHS[i % 8]}</span> '
        f"{escape(name)}</li>"
        for i, name in enumerate(colours)
        if name in view.systems
    )
    return (
        f"<h3>{QUESTION}</h3><p class='lk-reading'>{escape(state.which(audit, view))}. "
        f"A mark is one average of the grid, its line the 95 % interval "
        f"(bootstrap over faces). Where two lines overlap, the two may be equally alike. Averages of fewer than "
        f'{FEWEST} faces have no mark.</p><ul class="lk-legend">{items}</ul>'
    )
