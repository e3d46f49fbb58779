"""The charts of Neutrality: models and published models, wording and order of options, and the heatmap for its PNG."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from backend.metrics.neutrality import NEUTRAL
from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_published as published
from explorers import _neutrality_view as state
from explorers import _neutrality_words as words
from explorers._charts import GREY, SYSTEM_COLOURS, SYSTEM_GLYPHS, SYSTEM_SYMBOLS, axis_style
from explorers._neutrality import Heat
from explorers._neutrality_measures import SHARES, Cell
from explorers._neutrality_published import Published
from explorers._neutrality_view import STYLES, Asked, NeutralityView

MOST_SPREAD = 6


def styles_shown(audit: Audit, view: NeutralityView) -> list[str]:
    """The styles whose marks the first chart holds."""
    return [view.style] if view.style != state.COMPARE else state.styles_of(audit, view.direction)


def comparable(audit: Audit, view: NeutralityView) -> bool:
    """Whether the paper asked about the view's classes, in their order."""
    return published.CLASSES.get(view.attribute) == state.classes_of(audit, view)


def published_of(audit: Audit, view: NeutralityView) -> list[Published]:
    """The published figures beside a view, where they are wanted."""
    if not view.published or not comparable(audit, view):
        return []
    measure = state.measure_of(audit, view)
    return [
        one
        for style in styles_shown(audit, view)
        for one in published.figures(view.direction, style, view.attribute, measure)
    ]


def plot_text(text: str, lines: int = 2, width: int = 22) -> str:
    """Text for Plotly's labels, which know a few tags and few entities: escaped, on lines of so many letters, cut.

    >>> plot_text("a <b> language model of many words, and more")
    'a &lt;b&gt; language model<br>of many words, and …'
    """
    broken = textwrap.wrap(" ".join(text.split()), width, max_lines=lines, placeholder=" …") or [""]
    return "<br>".join(html.escape(line, quote=False) for line in broken)


@dataclass(frozen=True)
class Mark:
    """One mark of the chart of models: its row, its style, its value and interval, its words, and whether it is
    published."""

    row: int
    style: str
    value: float
    low: float
    high: float
    text: str
    hollow: bool


def models_figure(audit: Audit, view: NeutralityView, shown: Heat | None) -> go.Figure:
    """A row a model, own ones first: one mark a style, with its interval; published ones are hollow."""
    measure, labels = state.measure_of(audit, view), []
    marks = _own_marks(audit, view, shown, labels) if shown else []
    marks += _published_marks(audit, view, labels)
    drawn = go.Figure()
    for style in styles_shown(audit, view):
        for hollow in (False, True):
            own = [mark for mark in marks if (mark.style, mark.hollow) == (style, hollow)]
            if own:
                _marks(drawn, own, styles_shown(audit, view), 100 if measure in SHARES else 1)
    if shown and shown.sign:
        _labour(drawn, shown, labels)
    axes(drawn, labels, measure, state.classes_of(audit, view))
    return drawn


def axes(drawn: go.Figure, labels: Sequence[str], measure: str, classes: tuple[str, ...]) -> None:
    """A row a label (safe for Plotly already) and the axis of a measure, its ends in words; AG's zero is a line."""
    title = "<br>".join(plot_text(end, 1, 40) for end in words.ends_of(measure, classes))
    span = [-1.06, 1.06] if measure == "ag" else [-3, 103] if measure in SHARES else [-0.03, 1.03]
    axis_style(drawn, ["" for _ in labels], title, span, " %" if measure in SHARES else "")
    tall = 36 if any("<br>" in label for label in labels) else 30
    drawn.update_layout(height=max(tall * len(labels), 60) + 90, yaxis={"ticktext": list(labels)}, margin={"t": 68})
    if measure == "ag":
        drawn.add_vline(x=0, line={"color": GREY, "width": 1})


def _own_marks(audit: Audit, view: NeutralityView, shown: Heat, labels: list[str]) -> list[Mark]:
    rows: dict[tuple[str, str], int] = {}
    found = []
    for asked in shown.columns:
        culture = asked.culture if view.culture == state.COMPARE else ""
        if (asked.model, culture) not in rows:
            rows[asked.model, culture] = len(labels)
            title = words.title_of(audit, asked.model) + (f", {culture}" if culture else "")
            labels.append(plot_text(title))
        cell = data.total(audit, asked, shown.measure)
        text = plot_text(words.cell_words(cell, shown.measure), 4, 60)
        if not cell.few:
            row = rows[asked.model, culture]
            found.append(Mark(row, asked.style, cell.value, cell.low, cell.high, text, False))
    return found


def _published_marks(audit: Audit, view: NeutralityView, labels: list[str]) -> list[Mark]:
    theirs, measure = published_of(audit, view), state.measure_of(audit, view)
    if not theirs:
        return []
    labels.append("<b>Published</b>")
    rows = {name: len(labels) + at for at, name in enumerate(dict.fromkeys(one.model for one in theirs))}
    labels += rows
    found = []
    for one in theirs:
        told = words.interval(one.low, one.high, measure) if one.low == one.low else "no interval is known"
        value = f"{words.SHORT[measure]} {words.number(one.value, measure)}"
        text = plot_text(f"{value} ({told}), {published_n(one)}", 4, 60)
        found.append(Mark(rows[one.model], one.style, one.value, one.low, one.high, text, True))
    return found


def _marks(drawn: go.Figure, own: Sequence[Mark], styles: Sequence[str], scale: int) -> None:
    """Marks of one style, own or published."""
    style, hollow = own[0].style, own[0].hollow
    place, shift = STYLES.index(style), 0.16 * (styles.index(style) - (len(styles) - 1) / 2)
    colour = GREY if hollow and len(styles) == 1 else SYSTEM_COLOURS[place]
    middle = [scale * mark.value for mark in own]
    symbol = SYSTEM_SYMBOLS[place] + ("-open" if hollow else "")
    drawn.add_scatter(
        x=middle,
        y=[mark.row + shift for mark in own],
        mode="markers",
        name=style + (" (published)" if hollow else ""),
        showlegend=len(styles) > 1,
        marker={"color": colour, "symbol": symbol, "size": 9, "line": {"width": 1.6 if hollow else 0, "color": colour}},
        error_x=_whiskers(middle, [scale * mark.low for mark in own], [scale * mark.high for mark in own]),
        customdata=[mark.text for mark in own],
        hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
    )


def _whiskers(middle: Sequence[float], low: Sequence[float], high: Sequence[float]) -> dict:
    """Plotly's error bars; none where there is no interval."""
    return {
        "type": "data",
        "array": [max(h - m, 0) if h == h else None for m, h in zip(middle, high, strict=True)],
        "arrayminus": [max(m - w, 0) if w == w else None for m, w in zip(middle, low, strict=True)],
        "symmetric": False,
        "thickness": 1.4,
        "width": 0,
    }


def _labour(drawn: go.Figure, shown: Heat, labels: list[str]) -> None:
    """The labour force's mean over the professions asked about, as a row of its own."""
    value = shown.labour(shown.rows[0])
    if value != value:
        return
    labels.append("US labour force")
    drawn.add_scatter(
        x=[value],
        y=[len(labels) - 1],
        mode="markers",
        name="US labour force",
        showlegend=False,
        marker={"symbol": "line-ns-open", "size": 16, "color": GREY, "line": {"width": 3, "color": GREY}},
        hovertemplate="mean over these professions: %{x:.2f}, CPS 2021<extra>US labour force</extra>",
    )


def published_n(one: Published) -> str:
    """What a published figure rests on."""
    chose = f", {sum(one.counts[:-2]):,} of which chose" if one.counts else ""
    about = "about " if one.counts and one.table in ("Table 2", "Table 7") else ""
    return f"n = 1,016 inputs{chose.replace(', ', f', {about}', 1)}; {one.table}"


def spread_figure(audit: Audit, view: NeutralityView, shown: Heat) -> go.Figure:
    """A measure by wording and by the option that came first: one mark a column of the view, beside that of all."""
    labels, numbers = turn_labels(audit, view, shown)
    drawn, measure = go.Figure(), shown.measure
    columns = shown.columns[:MOST_SPREAD]
    scale = 100 if measure in SHARES else 1
    for index, asked in enumerate(columns):
        found = [(0, data.total(audit, asked, measure))]
        for name, own in data.turns(audit, asked, measure).items():
            found += [(numbers.index((name, number)), cell) for number, cell in own]
        found = [(at, cell) for at, cell in found if not cell.few and cell.value == cell.value]
        middle = [scale * cell.value for _, cell in found]
        shift = 0.5 * ((index + 0.5) / len(columns) - 0.5)
        drawn.add_scatter(
            x=middle,
            y=[at + shift for at, _ in found],
            mode="markers",
            name=plot_text(words.column_title(audit, view, asked), 1, 40),
            marker={"color": SYSTEM_COLOURS[index % 8], "symbol": SYSTEM_SYMBOLS[index % 8], "size": 8},
            error_x=_whiskers(middle, [scale * c.low for _, c in found], [scale * c.high for _, c in found]),
            customdata=[plot_text(words.cell_words(cell, measure), 4, 60) for _, cell in found],
            hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
        )
    axes(drawn, labels, measure, state.classes_of(audit, view))
    drawn.update_layout(height=max(30, 10 * len(columns)) * len(labels) + 90)
    return drawn


def turn_labels(audit: Audit, view: NeutralityView, shown: Heat) -> tuple[list[str], list[tuple[str, int]]]:
    """The rows of the spread chart: all, each wording, each first option; and which turn each row is."""
    options = (*state.classes_of(audit, view), NEUTRAL)
    numbers: dict[tuple[str, int], None] = {("all", 0): None}
    for name in ("paraphrase", "rotation"):
        found = {n for asked in shown.columns[:MOST_SPREAD] for n, _ in data.turns(audit, asked, shown.measure)[name]}
        numbers |= dict.fromkeys((name, number) for number in sorted(found))
    said = {"paraphrase": lambda n: f"Wording {n + 1}", "rotation": lambda n: f"“{options[n % len(options)]}” first"}
    return ["<b>All</b>", *(plot_text(said[name](n)) for name, n in list(numbers)[1:])], list(numbers)


def column_legend(audit: Audit, view: NeutralityView, columns: Sequence[Asked]) -> list[tuple[str, str, str]]:
    """Mark, colour and words of each column of the spread chart."""
    return [
        (SYSTEM_GLYPHS[i % 8], SYSTEM_COLOURS[i % 8], words.column_title(audit, view, asked))
        for i, asked in enumerate(columns)
    ]


def heat_figure(audit: Audit, view: NeutralityView, shown: Heat) -> go.Figure:
    """The heatmap as a figure: its PNG is drawn from it. What has no value to show is white and says why."""
    names = [plot_text(words.column_title(audit, view, asked), 3, 16) for asked in shown.columns]
    table = [[shown.cells[row.key, asked.column] for asked in shown.columns] for row in shown.rows]
    if shown.sign:
        names.append("US labour<br>force")
        for cells, row in zip(table, shown.rows, strict=True):
            few = "" if row.women == row.women else "–"
            cells.append(Cell(shown.labour(row), float("nan"), float("nan"), 0, (), few))
    bar = {"title": {"text": words.SHORT[shown.measure]}, "thickness": 12, "len": 220, "lenmode": "pixels"}
    drawn = go.Figure(
        go.Heatmap(
            z=[[None if cell.few else cell.value for cell in cells] for cells in table],
            colorscale=words.SCALES.get(shown.measure, "Cividis"),
            zmin=-1 if shown.measure == "ag" else 0,
            zmax=1,
            xgap=2,
            ygap=1,
            colorbar={**bar, "y": 1, "yanchor": "top"},
        )
    )
    spots = [(x, y, cell) for y, cells in enumerate(table) for x, cell in enumerate(cells)]
    inks = ["#666666" if cell.few else words.shade(cell.value, shown.measure)[1] for _, _, cell in spots]
    drawn.add_scatter(
        x=[x for x, _, _ in spots],
        y=[y for _, y, _ in spots],
        text=[cell.few or words.number(cell.value, shown.measure) for _, _, cell in spots],
        mode="text",
        textfont={"color": inks, "size": 11},
        showlegend=False,
    )
    _heat_axes(drawn, names, shown)
    return drawn


def _heat_axes(drawn: go.Figure, names: Sequence[str], shown: Heat) -> None:
    still = {"ticks": "", "showgrid": False, "zeroline": False}
    said = [plot_text(row.label, 1, 36) for row in shown.rows]
    labels = [f"<b>{text}</b>" if row.kind != shown.kind else text for text, row in zip(said, shown.rows, strict=True)]
    rows = len(labels)
    drawn.update_layout(
        height=max(22 * rows, 220) + 120,
        margin={"l": 240, "r": 60, "t": 70, "b": 10},
        xaxis={**still, "side": "top", "tickvals": list(range(len(names))), "ticktext": list(names)},
        yaxis={**still, "range": [rows - 0.5, -0.5], "tickvals": list(range(rows)), "ticktext": labels},
    )
