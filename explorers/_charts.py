"""What the charts of several tabs share: colours, axes of rows, Gradio's chart from a figure, and its PNG button."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from gradio.components.plot import PlotData

from explorers._shared import escape

GREY = "#7f7f7f"
# Okabe and Ito's colours, those first that keep a contrast of 3 to 1 on white and near-black; a symbol doubles each.
SYSTEM_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C6BB1", "#7f7f7f")
SYSTEM_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star", "hexagon", "x")
SYSTEM_GLYPHS = ("●", "■", "◆", "✚", "▲", "★", "⬢", "✖")


def finish(drawn: go.Figure, question: str, source: str) -> PlotData:
    """A figure as Gradio's chart: fonts, no own background, no tool bar, still when swiped, words for its PNG."""
    drawn.update_layout(
        font={"family": "system-ui, sans-serif", "size": 12, "color": "#222222"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hoverlabel={"align": "left"},
        template="none",
        meta={"question": question, "source": source, "height": drawn.layout.height},
    )
    return PlotData(type="plotly", plot=go.Figure(drawn).to_json()[:-1] + ',"config":{"displayModeBar":false}}')


def axis_style(drawn: go.Figure, labels: Sequence[str], title: str, span: Sequence[float], unit: str = " %") -> None:
    """One labelled row each (the first on top), and the axis of values above. `labels` are escaped already."""
    drawn.update_layout(
        height=max(30 * len(labels), 60) + 90,
        xaxis={
            "range": list(span),
            "ticksuffix": unit,
            "nticks": 6,
            "side": "top",
            "ticks": "",
            "fixedrange": True,
            "gridcolor": "rgba(127,127,127,0.3)",
            "zeroline": False,
            "title": {"text": title, "font": {"size": 12}, "standoff": 6},
        },
        yaxis={
            "range": [len(labels) - 0.4, -0.6],
            "tickvals": list(range(len(labels))),
            "ticktext": [label if len(label) <= 20 else broken(label) for label in labels],
            "ticks": "",
            "fixedrange": True,
            "gridcolor": "rgba(127,127,127,0.2)",
            "zeroline": False,
        },
        margin={"l": 150, "r": 16, "t": 70, "b": 12},
        showlegend=False,
        legend={"orientation": "h", "x": 0, "xref": "container", "yref": "container", "yanchor": "top"},
    )


def broken(label: str, width: int = 22) -> str:
    """A label on two lines at the space nearest its middle; what is longer still ends in an ellipsis."""
    spaces = [at for at, letter in enumerate(label) if letter == " "]
    if not spaces:
        return label
    at = min(spaces, key=lambda space: max(space, len(label) - space - 1))
    return "<br>".join(
        p if len(p) <= width or "&" in p else p[: width - 1] + "…" for p in (label[:at], label[at + 1 :])
    )


def legend_html(names: Sequence[str], more: str = "") -> str:
    """A legend that wraps with the page: each system's mark, in its fixed order; `more` are further items (HTML)."""
    items = "".join(
        f'<li><span aria-hidden="true" style="color:{SYSTEM_COLOURS[i % 8]}">{SYSTEM_GLYPHS[i % 8]}</span> '
        f"{escape(name)}</li>"
        for i, name in enumerate(names)
    )
    return f'<ul class="lk-legend">{items}{more}</ul>'


def png_html(chart: str, name: str, csv: str = "") -> str:
    """The buttons under a chart: its PNG, drawn by the page (assets/charts.js), and a table where `csv` names one."""
    link = f'<a class="lk-button" href="{csv}" download>Download CSV</a> ' if csv else ""
    return (
        f'<p class="lk-actions">{link}<button type="button" class="lk-button" data-chart="{chart}" '
        f'data-png="likeness-{name}.png">Download PNG</button></p>'
    )


def unbroken(part: Any) -> Any:
    """HTML in which a number and its per cent sign stay on one line; whatever is no text stays as it is."""
    return part.replace(" %", "\u00a0%") if isinstance(part, str) else part


def plot_options(name: str) -> dict[str, Any]:
    """How a gr.Plot stands in a tab."""
    return {"show_label": False, "container": False, "elem_id": name, "elem_classes": "lk-plot"}
