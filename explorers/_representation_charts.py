"""The charts of Representation: stacked shares, diversity, and bands of the labour force."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from backend.metrics.diversity import FEWEST, diversity_intervals
from backend.metrics.entropy import entropy_bits
from backend.store import Audit
from explorers import _representation as data
from explorers._charts import GREY, SYSTEM_COLOURS, SYSTEM_SYMBOLS, axis_style
from explorers._representation import FEWEST_BAND
from explorers._representation_view import MOST_PROFESSIONS, Phrase, RepresentationView, regions_of
from explorers._shared import escape

STACKS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6BB1", "#999999")
BANDS = ("lowest fifth", "second", "third", "fourth", "highest fifth")


def stack_figure(audit: Audit, view: RepresentationView) -> go.Figure:
    """Each bar's images by group of regions: those whose first phrase of an axis is the same."""
    bars, regions = data.pooled(audit, view), regions_of(audit, view)
    names, group = data.stacks(regions, view.one[0])
    drawn = go.Figure()
    for index, name in enumerate(names):
        hits = np.array([counts[group == index].sum() for _, counts in bars])
        n = np.array([max(counts.sum(), 1) for _, counts in bars])
        drawn.add_bar(
            x=(100 * hits / n).tolist(),
            y=list(range(len(bars))),
            orientation="h",
            name=escape(name),
            marker={"color": STACKS[index % 8], "line": {"color": "#ffffff", "width": 1}},
            customdata=np.column_stack([hits, n]).tolist(),
            hovertemplate="%{customdata[0]:,} of %{customdata[1]:,} images (%{x:.0f} %)<extra>%{fullData.name}</extra>",
        )
    axis_style(drawn, [escape(name) for name, _ in bars], "% of images, by the regions’ first phrase", [0, 100])
    drawn.update_layout(barmode="stack", bargap=0.35)
    return drawn


def diversity_figure(audit: Audit, view: RepresentationView) -> go.Figure:
    """The diversity of each bar in bits with its interval; of systems also that of their identity prompts."""
    kinds = [("professions", data.pooled(audit, view), 0)]
    if not 0 < len(view.professions) <= MOST_PROFESSIONS:
        kinds.append(("identities", data.identity_bars(audit, view), 1))
    drawn, k = go.Figure(), regions_of(audit, view).k
    for kind, bars, index in kinds:
        table = np.stack([counts for _, counts in bars]) if bars else np.zeros((0, k), int)
        enough = table.sum(axis=1) >= FEWEST
        bits, (low, high) = entropy_bits(table), diversity_intervals(table)
        drawn.add_scatter(
            x=bits[enough].tolist(),
            y=(np.arange(len(bars)) + (0.18 * (2 * index - 1) if len(kinds) > 1 else 0))[enough].tolist(),
            name=f"{kind} prompts".replace("professions", "profession").replace("identities", "identity"),
            mode="markers",
            marker={"color": SYSTEM_COLOURS[index], "symbol": SYSTEM_SYMBOLS[index], "size": 9},
            error_x=_whiskers(bits[enough], low[enough], high[enough]),
            customdata=np.column_stack([table.sum(axis=1), low, high])[enough].tolist(),
            hovertemplate="%{x:.2f} bits (95 % interval %{customdata[1]:.2f} to %{customdata[2]:.2f})<br>"
            "n = %{customdata[0]:,} images<extra>%{fullData.name}</extra>",
        )
    title = f"bits; 0: one region, {np.log2(k):.2f}: all {k} alike"
    axis_style(drawn, [escape(name) for name, _ in kinds[0][1]], title, [-0.05, np.log2(k) * 1.03], "")
    return drawn


def _whiskers(middle: np.ndarray, low: np.ndarray, high: np.ndarray) -> dict:
    """Plotly's error bars; an interval that lies wholly above its value (few images) starts at it."""
    return {
        "type": "data",
        "array": np.maximum(high - middle, 0).tolist(),
        "arrayminus": np.maximum(middle - low, 0).tolist(),
        "symmetric": False,
        "thickness": 1.4,
        "width": 0,
    }


def band_figure(audit: Audit, view: RepresentationView, phrase: Phrase) -> go.Figure:
    """Per band of the labour force, each system's share in a phrase's regions, beside the labour force's mean."""
    drawn, bands = go.Figure(), data.bands_of(audit, view, phrase)
    if view.published:
        _published(drawn, phrase)
    if phrase in data.LABOUR and bands:
        longest = max(bands.values(), key=len)
        drawn.add_scatter(
            x=[band.band for band in longest],
            y=[100 * band.labour for band in longest],
            name="US labour force",
            mode="lines+markers",
            line={"color": GREY, "width": 3, "dash": "dash"},
            marker={"symbol": "line-ew-open", "size": 14, "color": GREY},
            hovertemplate="%{y:.1f} %<extra>US labour force</extra>",
        )
    for index, (system, own) in enumerate(bands.items()):
        kept = [band for band in own if band.images >= FEWEST_BAND]
        drawn.add_scatter(**_line(system, kept, index, len(bands)))
    _band_axes(drawn, phrase)
    return drawn


def _line(system: str, kept: list, index: int, systems: int) -> dict:
    share, low, high = (np.array([100 * getattr(b, name) for b in kept]) for name in ("share", "low", "high"))
    shift = 0.08 * (index - (systems - 1) / 2)
    return {
        "x": [band.band + shift for band in kept],
        "y": share.tolist(),
        "name": escape(system),
        "mode": "lines+markers",
        "line": {"color": SYSTEM_COLOURS[index % 8], "width": 1.5},
        "marker": {"color": SYSTEM_COLOURS[index % 8], "symbol": SYSTEM_SYMBOLS[index % 8], "size": 9},
        "error_y": _whiskers(share, low, high),
        "customdata": [[band.images, band.professions, 100 * band.low, 100 * band.high] for band in kept],
        "hovertemplate": "%{y:.0f} % (95 % interval %{customdata[2]:.0f} to %{customdata[3]:.0f})<br>"
        "%{customdata[0]:,} images of %{customdata[1]} professions<extra>%{fullData.name}</extra>",
    }


def _published(drawn: go.Figure, phrase: Phrase) -> None:
    """The 14 systems of Stable Bias as thin lines, where the phrase is one of its two."""
    table = data.published_bands()
    for system, own in table[table.axis == data.PUBLISHED_AXES.get(phrase, "")].groupby("system", sort=False):
        drawn.add_scatter(
            x=own.band.tolist(),
            y=own.pct_in_clusters.tolist(),
            name=f"{escape(system)} (published)",
            mode="lines",
            line={"color": "rgba(127,127,127,0.55)", "width": 1},
            showlegend=False,
            hovertemplate="%{y:.1f} %<extra>%{fullData.name}</extra>",
        )


def _band_axes(drawn: go.Figure, phrase: Phrase) -> None:
    ranked = "women" if phrase not in data.LABOUR or phrase[0] == "gender" else phrase[1]
    ranked = "men" if phrase == ("gender", "man") else ranked
    grid = {"gridcolor": "rgba(127,127,127,0.3)", "zeroline": False, "fixedrange": True, "ticks": ""}
    drawn.update_layout(
        height=360,
        xaxis={
            **grid,
            "range": [-0.4, 4.4],
            "tickvals": list(range(5)),
            "ticktext": [words.replace(" ", "<br>") for words in BANDS],
            "title": {"text": f"professions by the labour force’s % {escape(ranked)}", "font": {"size": 12}},
        },
        yaxis={**grid, "range": [-3, 103], "ticksuffix": " %", "nticks": 6},
        margin={"l": 52, "r": 12, "t": 12, "b": 72},
        showlegend=False,
        legend={"orientation": "h", "x": 0, "xref": "container", "yref": "container", "yanchor": "top"},
    )
