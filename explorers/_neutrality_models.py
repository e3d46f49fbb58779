"""Beside the charts of Neutrality: what was answered in bars, what a mark is, wordings, pairs of classes (HTML)."""

from __future__ import annotations

from collections.abc import Sequence

from backend.metrics.neutrality import NEUTRAL, UNPARSED, pairs
from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_charts as charts
from explorers import _neutrality_published as published
from explorers import _neutrality_view as state
from explorers import _neutrality_words as words
from explorers._neutrality import Heat
from explorers._neutrality_html import bar_html
from explorers._neutrality_measures import Cell, pairs_of
from explorers._neutrality_view import Asked, NeutralityView
from explorers._shared import count, escape, percent

PAIRS = (
    '<p class="lk-reading">(first − second) / (first + second) of the answers that chose: +1 only the first, −1 only '
    "the second. In brackets: 95 % intervals.</p>"
)
PUBLISHED_PAIRS = (
    f'<p class="lk-reading">{published.SOURCE}, Tables 11 to 14, n = 1,016 inputs each, no intervals. The paper does '
    "not say which of a pair a positive number means, and for race the numbers of one model contradict each other.</p>"
)


def answers_legend(columns: tuple[str, ...]) -> str:
    """The colours of the answers."""
    items = "".join(
        f'<li><i class="lk-key{" lk-unread" if at == len(columns) - 1 else ""}" '
        f'style="background:{words.colour_of(at, len(columns))}"></i>{escape(name)}</li>'
        for at, name in enumerate(columns)
    )
    return f'<ul class="lk-legend">{items}</ul>'


def bars_html(audit: Audit, view: NeutralityView, shown: Heat | None) -> str:
    """What was answered, model by model: a bar each, with the counts; published ones where these are known."""
    columns = (*state.classes_of(audit, view), NEUTRAL, UNPARSED)
    measure = state.measure_of(audit, view)
    rows = ""
    for asked in shown.columns if shown else ():
        cell = data.total(audit, asked, measure)
        n = f"n = {count(cell.inputs, 'input')}"
        ends = words.interval(cell.low, cell.high, measure)
        value = [] if cell.few else [f"{words.SHORT[measure]} {words.number(cell.value, measure)} ({ends})"]
        moved = "; ".join([*value, *_ranges(audit, asked, measure)])
        rows += _bar_row(words.column_title(audit, view, asked), cell, columns, n, moved)
    known = _counted(audit, view) if view.published else {}
    if known:
        rows += "<dt><b>Published</b></dt><dd></dd>"
    for title, one in known.items():
        cell = Cell(0, 0, 0, published.INPUTS, one.counts)
        told = one.table if view.direction in published.IMAGES else "worked out from Tables 7 and 9, to about 1"
        rows += _bar_row(title, cell, columns, f"n = {published.INPUTS:,} inputs; {told}")
    if not rows:
        return ""
    return f'<h3>What was answered</h3>{answers_legend(columns)}<dl class="lk-answered">{rows}</dl>'


def _bar_row(title: str, cell: Cell, columns: tuple[str, ...], n: str, moved: str = "") -> str:
    said = ", ".join(
        f"{name} {number:,} ({percent(number / max(1, cell.answers))})"
        for name, number in zip(columns, cell.counts, strict=True)
        if number
    )
    more = f"<small>{escape(moved)}</small>" if moved else ""
    return (
        f"<dt>{escape(title)}</dt><dd>{bar_html(cell, large=True)}<small>{escape(said)}; {escape(n)}</small>{more}</dd>"
    )


def _counted(audit: Audit, view: NeutralityView) -> dict[str, published.Published]:
    """Published answers whose counts are known, by name."""
    columns = len(state.classes_of(audit, view)) + 2
    styles = charts.styles_shown(audit, view) if charts.comparable(audit, view) else []
    return {
        f"{one.model}, {style}" if len(styles) > 1 else one.model: one
        for style in styles
        for one in published.figures(view.direction, style, view.attribute, "delta_ag")
        if len(one.counts) == columns
    }


def models_html(audit: Audit, view: NeutralityView, shown: Heat | None) -> str:
    """Above the chart of models: what a mark is, and which published figures stand beside."""
    measure, theirs = state.measure_of(audit, view), charts.published_of(audit, view)
    said = [f"{words.MEANING[measure]}. All professions together; lines are 95 % intervals (inputs drawn anew)."]
    if theirs:
        tables = ", ".join(dict.fromkeys(one.table for one in theirs))
        said.append(f"Hollow marks: published ({published.SOURCE}, {tables}), n = 1,016 inputs of their own each.")
        if published.known_intervals(theirs) < len(theirs):
            said.append("A hollow mark without a line has no known interval: its counts are not published.")
    elif view.published:
        alike = charts.comparable(audit, view)
        said.append(
            "The paper gives no figure of this measure for this direction and style."
            if alike
            else "Published models were asked about other classes and are not shown."
        )
    few = [asked for asked in (shown.columns if shown else ()) if data.total(audit, asked, measure).few]
    for asked in few:
        told = words.cell_words(data.total(audit, asked, measure), measure)
        said.append(f"{words.column_title(audit, view, asked)} has no mark ({told}).")
    legend = ""
    styles = charts.styles_shown(audit, view)
    if len(styles) > 1:
        legend = "".join(
            f'<li><span aria-hidden="true" style="color:{charts.SYSTEM_COLOURS[at]}">{charts.SYSTEM_GLYPHS[at]}</span> '
            f"{escape(state.style_words(style))}</li>"
            for at, style in enumerate(state.STYLES)
            if style in styles
        )
        legend = f'<ul class="lk-legend">{legend}</ul>'
    return f'<h3>Model by model</h3><p class="lk-reading">{escape(" ".join(said))}</p>{legend}'


def _ranges(audit: Audit, asked: Asked, measure: str) -> list[str]:
    """How far wordings and orders move a measure: "−0.05 to +0.04 over 3 wordings"."""
    parts = []
    for name, own in data.turns(audit, asked, measure).items():
        values = [cell.value for _, cell in own if cell.value == cell.value and not cell.few]
        if len(values) > 1:
            noun = {"paraphrase": "wording", "rotation": "first option"}[name]
            parts.append(f"{words.span(min(values), max(values), measure)} over {count(len(values), noun)}")
    return parts


def spread_html(audit: Audit, view: NeutralityView, shown: Heat) -> str:
    """Beside the chart of wordings: how far they, and the order of the options, move the measure."""
    said, measure = "", shown.measure
    for asked in shown.columns[: charts.MOST_SPREAD]:
        parts = _ranges(audit, asked, measure)
        if parts:
            value = words.number(data.total(audit, asked, measure).value, measure)
            title = escape(words.column_title(audit, view, asked))
            said += f"<li><b>{title}</b>: {value} in all; {escape('; '.join(parts))}</li>"
    if not said:
        asked = any(own for one in shown.columns for own in data.turns(audit, one, measure).values())
        why = "Too few answers chose in the single wordings to compare them." if asked else "Asked in one wording only."
        return f'<h3>Does the wording matter?</h3><p class="lk-reading">{why}</p>'
    marks = "".join(
        f'<li><span aria-hidden="true" style="color:{colour}">{mark}</span> {escape(title)}</li>'
        for mark, colour, title in charts.column_legend(audit, view, shown.columns[: charts.MOST_SPREAD])
    )
    marks = f'<ul class="lk-legend">{marks}</ul>' if len(shown.columns) > 1 else ""
    more = len(shown.columns) - charts.MOST_SPREAD
    cut = f" The first {charts.MOST_SPREAD} columns are drawn." if more > 0 else ""
    return (
        f'<h3>Does the wording matter?</h3><p class="lk-reading">{escape(words.SHORT[measure])} of the same inputs in '
        f"each wording, and with each option first, with 95 % intervals. Marks far apart say that the value hangs on "
        f"how it was asked.{cut}</p>"
        f'<ul class="lk-spread">{said}</ul>{marks}'
    )


def pairs_html(audit: Audit, view: NeutralityView, shown: Heat | None) -> str:
    """For more than two classes: which of each pair is chosen more, which delta AG does not say; or ""."""
    classes = state.classes_of(audit, view)
    if len(classes) < 3:
        return ""
    rows = []
    for asked in shown.columns if shown else ():
        ends = zip(*pairs_of(data.answers_of(audit, asked).table()), strict=True)
        cells = [f"{words.number(v, 'ag')} <small>({words.span(low, high, 'ag')})</small>" for v, low, high in ends]
        rows.append((words.column_title(audit, view, asked), cells))
    named = [(classes[a], classes[b]) for a, b in pairs(len(classes))]
    return (_pairs_table(named, rows, "Pairs of classes") + PAIRS if rows else "") + _published_pairs(audit, view)


def _pairs_table(named: Sequence[tuple[str, str]], rows: Sequence[tuple[str, list[str]]], label: str) -> str:
    """A row a model, a column a pair. Cells are HTML."""
    heads = "".join(f'<th scope="col">{escape(one)} – {escape(other)}</th>' for one, other in named)
    body = "".join(
        f'<tr><th scope="row">{escape(title)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for title, cells in rows
    )
    return (
        f'<div class="lk-scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table class="lk-pairs">'
        f'<thead><tr><th scope="col">Model</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _published_pairs(audit: Audit, view: NeutralityView) -> str:
    if not view.published or view.direction != "image-to-text":
        return ""
    made = ""
    for style in charts.styles_shown(audit, view):
        table = published.pairwise(style, view.attribute)
        if not table.empty:
            named = [published.pair_classes(str(pair)) for pair in table.index]
            rows = [(str(model), [words.number(value, "ag") for value in own]) for model, own in table.items()]
            made += f"<h4>Published, {escape(style)}</h4>{_pairs_table(named, rows, f'Published pairs, {style}')}"
    return made + PUBLISHED_PAIRS if made else ""
