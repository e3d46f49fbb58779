"""Confirmation against Consistency: a mark an occupation, model and kind of pairs, as links (HTML) and for its PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from backend.metrics.hiring import Estimate
from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._charts import GREY, SYSTEM_COLOURS, SYSTEM_SYMBOLS
from explorers._hiring_html import edges_html
from explorers._hiring_view import SLUG, HiringView, to_address
from explorers._neutrality_charts import plot_text
from explorers._shared import count, escape

X, Y = "consistency", "confirmation"
SHAPES = (
    "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0Z",
    "M-5.4-5.4H5.4V5.4H-5.4Z",
    "M0-7.4L7.4 0L0 7.4L-7.4 0Z",
    "M-2.3-6.6H2.3V-2.3H6.6V2.3H2.3V6.6H-2.3V2.3H-6.6V-2.3H-2.3Z",
    "M0-6.8L6.8 5.4H-6.8Z",
    "M0-7.6L2.1-2.6L7.4-2.3L3.3 1.1L4.7 6.4L0 3.5L-4.7 6.4L-3.3 1.1L-7.4-2.3L-2.1-2.6Z",
    "M-3.3-6H3.3L6.7 0L3.3 6H-3.3L-6.7 0Z",
    "M-6.2-4.2L-4.2-6.2L0-2L4.2-6.2L6.2-4.2L2 0L6.2 4.2L4.2 6.2L0 2L-4.2 6.2L-6.2 4.2L-2 0Z",
)
"""Those of SYSTEM_SYMBOLS, around (0, 0)."""
CORNER = "Low-bias corner: chooses whom it called qualified, and not the same one twice"
MOST_NAMED = 8
MOST_LARGE = 80
"""With more marks than these they are drawn smaller."""


@dataclass(frozen=True)
class Mark:
    """One place of the chart: its series (a model's number and a kind), and the occupations that lie there."""

    series: int
    model: str
    kind: str
    x: float
    y: float
    rows: tuple[str, ...]
    text: str


def kinds_of(view: HiringView) -> tuple[str, ...]:
    """The kinds of pairs that have marks by occupation."""
    return ("different", "same") if view.kind == "both" else (view.kind,)


def marks(audit: Audit, view: HiringView) -> list[Mark]:
    """The marks of a view. Occupations of one model and kind with the same two values share a mark."""
    found = []
    for series, model in enumerate(state.series_of(audit, view)):
        for kind in kinds_of(view):
            places: dict[tuple[float, float], list[str]] = {}
            for name, held in data.by_row(audit, model, kind).items():
                places.setdefault((round(held[X].value, 3), round(held[Y].value, 3)), []).append(name)
            for (x, y), rows in places.items():
                text = _text(audit, model, kind, rows)
                found.append(Mark(series, model, kind, x, y, tuple(rows), text))
    return found


def _text(audit: Audit, model: str, kind: str, rows: Sequence[str]) -> str:
    """What a mark says: its occupations, model, kind, both values with their intervals, and n."""
    named = ", ".join(rows[:MOST_NAMED]) + (f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else "")
    named = named if len(rows) == 1 else f"{count(len(rows), 'occupation')} ({named})"
    held = data.by_row(audit, model, kind)
    return f"{named}, {words.title_of(audit, model)}, {words.KIND_WORDS[kind]}: {_values([held[n] for n in rows])}"


def _values(found: Sequence) -> str:
    """Both values of some occupations, which are alike; their intervals are told where there is one occupation."""
    one = found[0]
    parts = [f"{words.SHORT[m]} {words.number(one[m].value, m)}" for m in (Y, X)]
    if len(found) > 1:
        return f"{' and '.join(parts)} each"
    parts = [f"{part} ({words.interval(one[m], m)})" for part, m in zip(parts, (Y, X), strict=True)]
    return f"{', '.join(parts)}; {words.n_words(one[Y])}"


def scatter_html(audit: Audit, view: HiringView) -> str:
    """The chart with its words, or what to say instead."""
    own = state.series_of(audit, view)
    head = "<h3>Does it choose whom it called qualified, and does it stay with that choice?</h3>"
    if not own:
        return (
            f'{head}<p class="lk-reading">No own answers yet. The paper shows Confirmation and Consistency of single '
            "occupations as pictures only and prints no numbers, so there are no published marks here.</p>"
        )
    made = marks(audit, view)
    drawn = "".join(_mark_html(one, view) for one in sorted(made, key=lambda m: (m.x, m.y)))
    crosses = "".join(
        _cross_html(audit, series, model, kind) for series, model in enumerate(own) for kind in _overall()
    )
    return (
        f'{head}<p class="lk-reading">Each mark is an occupation. Up: more often it chose somebody whom it had called '
        "qualified (Confirmation). Right: more often it named the same one again when “both” and “neither” were "
        "offered (Consistency). The paper gives no numbers of single occupations to stand beside these.</p>"
        f"{edges_html(audit, own, kinds_of(view))}{_legend(audit, view, own)}"
        f"{_board(drawn, crosses, len(made) > MOST_LARGE)}"
        '<p class="lk-hire-readout" aria-hidden="true">Point at a mark, or move with the arrow keys, to read it.</p>'
        f"{_totals(audit, own)}{_files(view)}"
    )


def _totals(audit: Audit, own: Sequence[str]) -> str:
    """The large marks in words."""
    items = ""
    for model in own:
        for kind in _overall():
            found = data.overall(audit, model, kind)
            if found[X].k:
                who = f"{words.title_of(audit, model)}, {words.KIND_WORDS[kind]}"
                items += f"<li><b>{escape(who)}</b>: {escape(_values([found]))}</li>"
    return f'<ul class="lk-spread">{items}</ul>'


def _overall() -> tuple[str, ...]:
    return ("different", "same")


def _board(drawn: str, crosses: str, dense: bool) -> str:
    ticks = "".join(
        f'<i class="lk-hire-x" style="left:{at}%"><b>{at}{" %" if at == 100 else ""}</b></i>'
        f'<i class="lk-hire-y" style="bottom:{at}%"><b>{at}{" %" if at == 100 else ""}</b></i>'
        for at in (0, 25, 50, 75, 100)
    )
    return (
        f'<div class="lk-hire-plot{" lk-hire-dense" if dense else ""}" role="group" aria-label="Confirmation (up) and '
        'Consistency (to the right) by occupation"><div class="lk-hire-area">'
        f'<div class="lk-hire-ticks" aria-hidden="true">{ticks}<span class="lk-hire-corner">{CORNER}</span></div>'
        f"{drawn}{crosses}</div>"
        '<span class="lk-hire-up" aria-hidden="true">Confirmation →</span>'
        '<span class="lk-hire-right" aria-hidden="true">Consistency →</span></div>'
    )


def _mark_html(mark: Mark, view: HiringView) -> str:
    control = mark.kind == "same" and view.kind != "same"
    to = replace(view, row=mark.rows[0], column=mark.model, first="", second="", only="", control=control)
    current = view.row in mark.rows and view.column == mark.model and state.open_kind(view) == mark.kind
    link = f'href="?{escape(to_address(to))}" title="{escape(mark.text)}" tabindex="-1"'
    link += ' aria-current="true"' if current else ""
    many = len(mark.rows) > 1
    number = f'<text y="3.4">{len(mark.rows)}</text>' if many and mark.kind != "same" else ""
    hollow = " lk-hollow" if mark.kind == "same" else ""
    return (
        f'<a class="lk-view lk-hire-mark{hollow}" {link} '
        f'style="left:{100 * mark.x:.1f}%;bottom:{100 * mark.y:.1f}%;color:{SYSTEM_COLOURS[mark.series % 8]}">'
        f'<svg viewBox="-10 -10 20 20" aria-hidden="true"{" class=lk-many" if many else ""}>'
        f'<path d="{SHAPES[mark.series % 8]}"/>{number}</svg><span class="lk-hire-said">{escape(mark.text)}</span></a>'
    )


def _cross_html(audit: Audit, series: int, model: str, kind: str) -> str:
    """The mark of all occupations of a model: a larger one with its two intervals."""
    found = data.overall(audit, model, kind)
    x, y = found[X], found[Y]
    if not x.k:
        return ""
    colour = SYSTEM_COLOURS[series % 8]
    lines = _line(x, "left", "width", f"bottom:{100 * y.value:.1f}%") + _line(
        y, "bottom", "height", f"left:{100 * x.value:.1f}%"
    )
    said = f"All occupations, {words.title_of(audit, model)}, {words.KIND_WORDS[kind]}: {_values([found])}"
    hollow = " lk-hollow" if kind == "same" else ""
    return (
        f'<span class="lk-hire-all{hollow}" style="color:{colour}" role="img" aria-label="{escape(said)}">{lines}'
        f'<span class="lk-hire-mark lk-hire-whole" title="{escape(said)}" style="left:{100 * x.value:.1f}%;'
        f'bottom:{100 * y.value:.1f}%"><svg viewBox="-10 -10 20 20" aria-hidden="true">'
        f'<path d="{SHAPES[series % 8]}"/></svg></span></span>'
    )


def _line(found: Estimate, side: str, size: str, across: str) -> str:
    if found.low != found.low:
        return ""
    ends = f"{side}:{100 * found.low:.1f}%;{size}:{100 * (found.high - found.low):.1f}%"
    return f'<i class="lk-hire-{size}" style="{ends};{across}"></i>'


def _legend(audit: Audit, view: HiringView, own: Sequence[str]) -> str:
    def key(series: int, hollow: bool) -> str:
        return (
            f'<svg class="lk-hire-key{" lk-hollow" if hollow else ""}" viewBox="-10 -10 20 20" aria-hidden="true" '
            f'style="color:{SYSTEM_COLOURS[series % 8]}"><path d="{SHAPES[series % 8]}"/></svg>'
        )

    items = [f"{key(at, False)} {escape(words.title_of(audit, model))}" for at, model in enumerate(own)]
    items.append(f"{key(0, False)} filled: {words.KIND_WORDS['different']}")
    items.append(f"{key(0, True)} hollow: {words.KIND_WORDS['same']}, the control")
    items.append("large, with lines: all occupations and their 95 % intervals")
    items.append("larger, a number: so many occupations at one place")
    return f'<ul class="lk-legend">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _files(view: HiringView) -> str:
    link, name = escape(to_address(view)), f"likeness-{state.file_name(view)}.csv"
    return (
        f'<p class="lk-actions"><a class="lk-button" href="csv/{SLUG}?{link}" download="{name}">'
        "Download CSV</a> "
        f'<button type="button" class="lk-button" data-figure="data/{SLUG}/scatter?{link}" '
        f'data-png="likeness-{state.file_name(view, "marks")}.png">Download PNG</button></p>'
    )


def scatter_figure(audit: Audit, view: HiringView) -> go.Figure:
    """The chart as a figure: its PNG is drawn from it."""
    drawn, own, made = go.Figure(), state.series_of(audit, view), marks(audit, view)
    for series, model in enumerate(own):
        title, colour, symbol = words.title_of(audit, model), SYSTEM_COLOURS[series % 8], SYSTEM_SYMBOLS[series % 8]
        for kind in _overall():
            name = plot_text(f"{title}, {words.KIND_WORDS[kind]}", 1, 70)
            symbols = symbol + ("-open" if kind == "same" else "")
            some = [mark for mark in made if (mark.model, mark.kind) == (model, kind)]
            if some:
                _trace(drawn, name, symbols, colour, some)
            found = data.overall(audit, model, kind)
            if found[X].k:
                _whole(drawn, name, symbols, colour, found)
    axis = {
        "range": [-4, 104],
        "ticksuffix": " %",
        "zeroline": False,
        "gridcolor": "rgba(127,127,127,0.3)",
        "ticks": "",
    }
    drawn.update_layout(
        height=620,
        margin={"l": 80, "r": 20, "t": 20 + 18 * max(0, 2 * len(own) - 2), "b": 60},
        xaxis={**axis, "title": {"text": "Consistency: Q2 and Q3 name the same one"}},
        yaxis={**axis, "title": {"text": "Confirmation: Q2 chooses whom Q1 called qualified"}},
        legend={"orientation": "h"},
    )
    drawn.add_annotation(
        x=1,
        y=98,
        text=CORNER,
        showarrow=False,
        xanchor="left",
        yanchor="top",
        font={"size": 11, "color": "#555555"},
    )
    return drawn


def _trace(drawn: go.Figure, name: str, symbol: str, colour: str, some: Sequence[Mark]) -> None:
    sizes = [8 + min(14, 3 * (len(mark.rows) - 1)) for mark in some]
    drawn.add_scatter(
        x=[100 * mark.x for mark in some],
        y=[100 * mark.y for mark in some],
        mode="markers+text",
        text=[str(len(mark.rows)) if len(mark.rows) > 1 else "" for mark in some],
        textposition="top center",
        name=name,
        marker={"symbol": symbol, "color": colour, "size": sizes, "opacity": 0.8},
    )


def _whole(drawn: go.Figure, name: str, symbol: str, colour: str, found) -> None:
    x, y = found[X], found[Y]

    def ends(one: Estimate) -> dict:
        known = one.low == one.low
        held = {"array": [100 * (one.high - one.value)], "arrayminus": [100 * (one.value - one.low)]} if known else {}
        return {"type": "data", "symmetric": False, "thickness": 1.6, "width": 0, **held}

    drawn.add_scatter(
        x=[100 * x.value],
        y=[100 * y.value],
        mode="markers",
        name=f"All: {name}",
        showlegend=False,
        marker={"symbol": symbol, "color": colour, "size": 17, "line": {"color": GREY, "width": 1}},
        error_x=ends(x),
        error_y=ends(y),
    )
