"""The heatmap of Neutrality as a table of links, its legend, what was answered in bars, pairs of classes (HTML)."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote_plus

from plotly.colors import sample_colorscale

from backend.metrics.neutrality import FEWEST
from backend.records import clean_text
from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_published as published
from explorers import _neutrality_view as state
from explorers import _neutrality_words as words
from explorers._neutrality import Heat, Row
from explorers._neutrality_measures import Cell
from explorers._neutrality_view import SLUG, Asked, NeutralityView, to_address
from explorers._shared import address, count, escape, percent


def link_to(base: str, row: Row, asked: Asked) -> str:
    """The address of a view, whose own is `base` without an open cell, with the answers behind one cell."""
    return f"{base}&row={quote_plus(row.key)}&column={quote_plus(asked.column)}"


def heat_html(audit: Audit, view: NeutralityView, shown: Heat) -> str:
    """The heatmap: a table whose cells are links to the answers behind them. One cell is a stop for Tab, the arrow
    keys move among them (assets/neutrality.js)."""
    heads = "".join(f'<th scope="col">{_head(audit, view, asked)}</th>' for asked in shown.columns)
    if shown.sign:
        heads += '<th scope="col"><span>US labour force</span></th>'
    chosen = data.open_cell(shown, view)
    base = to_address(replace(view, row="", column="", answer="", page=1))
    body = "".join(_row_html(view, shown, row, chosen, base) for row in shown.rows)
    first = {
        "profession": "Profession",
        "group": "Occupation group",
        "band": "Professions, by women in the labour force",
    }
    label = f"{words.SHORT[shown.measure]} by {first[shown.kind].lower()} and model"
    hidden = f"{shown.hidden:,} more are not shown: " if shown.hidden else ""
    hidden += ("they do not match the search." if view.query else "search for them.") if shown.hidden else ""
    return (
        f'<div class="lk-heat-box" role="region" aria-label="{escape(label)}"><table class="lk-heat"><thead><tr>'
        f'<th scope="col"><span>{first[shown.kind]}</span></th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
        f"{f'<p class=lk-reading>{hidden}</p>' if hidden else ''}"
    )


def _head(audit: Audit, view: NeutralityView, asked: Asked) -> str:
    """A column's head: the model, then what sets its columns apart."""
    more = ", ".join(words.apart(view, asked))
    return (
        f"<span>{escape(words.title_of(audit, asked.model))}</span>{f'<small>{escape(more)}</small>' if more else ''}"
    )


def _row_html(view: NeutralityView, shown: Heat, row: Row, chosen: tuple[Row, Asked], base: str) -> str:
    links = [(asked, link_to(base, row, asked)) for asked in shown.columns]
    cells = "".join(_cell_html(view, shown, row, asked, link, (row, asked) == chosen) for asked, link in links)
    if shown.sign:
        cells += _labour_html(shown, row)
    pooled = ' class="lk-heat-pooled"' if row.kind != shown.kind else ""
    return f'<tr{pooled}><th scope="row"><span>{escape(row.label)}</span></th>{cells}</tr>'


def _cell_html(view: NeutralityView, shown: Heat, row: Row, asked: Asked, to: str, current: bool) -> str:
    cell = shown.cells[row.key, asked.column]
    title = f"{row.label}: {words.cell_words(cell, shown.measure)}"
    link = f'class="lk-view" href="?{escape(to)}" title="{escape(title)}" tabindex="-1"'
    link += ' aria-current="true"' if current else ""
    if not cell.inputs:
        return f'<td class="lk-heat-none">{cell.few}</td>'
    if cell.few:
        return f'<td class="lk-heat-few"><a {link}>{bar_html(cell)}<small>{cell.few}</small></a></td>'
    ground, ink = words.shade(cell.value, shown.measure)
    more = ""
    if view.full:
        ends = "all agree" if cell.low == cell.high else words.span(cell.low, cell.high, shown.measure)
        more = f"<small>{ends}<br>n = {cell.inputs:,}</small>"
    text = words.number(cell.value, shown.measure)
    return f'<td style="background:{ground};color:{ink}"><a {link}>{text}{more}</a></td>'


def _labour_html(shown: Heat, row: Row) -> str:
    value = shown.labour(row)
    if value != value:
        return '<td class="lk-heat-none" title="not in the labour statistics">–</td>'
    ground, ink = words.shade(value, "ag")
    title = f"{row.label}: {percent(row.women)} women in the US labour force (CPS 2021)"
    return f'<td style="background:{ground};color:{ink}" title="{escape(title)}">{words.number(value, "ag")}</td>'


def bar_html(cell: Cell, large: bool = False) -> str:
    """The answers of a cell as a bar of one line, for the eye alone."""
    parts = "".join(
        f'<i style="width:{100 * number / cell.answers:.2f}%;background:{words.colour_of(at, len(cell.counts))}"></i>'
        for at, number in enumerate(cell.counts)
        if number
    )
    return f'<span class="lk-shares{" lk-shares-large" if large else ""}" aria-hidden="true">{parts}</span>'


def legend_html(audit: Audit, view: NeutralityView, shown: Heat) -> str:
    """The colour scale with its ends (zero marked where it is signed), and what a hatched cell is."""
    measure = shown.measure
    shades = ", ".join(sample_colorscale(words.SCALES.get(measure, "Cividis"), [step / 8 for step in range(9)]))
    one, other = words.ends_of(measure, state.classes_of(audit, view))
    middle = "0" if measure == "ag" else ""
    few = any(cell.few for cell in shown.cells.values())
    hatched = (
        '<li><span class="lk-heat-key lk-heat-few"></span> too few inputs, or answers that chose (under '
        f"{FEWEST}): the bar is the answers themselves</li>"
        if few
        else ""
    )
    return (
        f'<ul class="lk-legend"><li>{escape(words.SHORT[measure])}: {escape(one)} <span class="lk-scale" '
        f'style="background:linear-gradient(90deg, {shades})">{middle}</span> {escape(other)}</li>{hatched}</ul>'
    )


def without_html(audit: Audit, view: NeutralityView) -> str:
    """Instead of the heatmap where no model of the audit was asked this: what to run."""
    name = escape(audit.name)
    asked = "" if state.asked_of(audit) else "No model was asked about this audit yet. "
    more = ""
    if state.asked_of(audit):
        more = f" --directions {view.direction}"
        more += f" --styles {view.style}" if view.style != state.COMPARE else ""
        asked = "No model of this audit was asked in this way. "
    model = "smollm2" if view.direction == "text-to-text" else "starter-vqa"
    if view.direction in published.IMAGES:
        model = "NAME"
    return (
        f'<div class="lk-empty"><p>{asked}Ask one, then start the app again:</p>'
        f"<pre>.venv/bin/python -m backend probe {name} --model {model}{more}</pre>"
        "<p>The models that can be asked, and how to add others, are in <code>assets/probes</code>. Published figures "
        "are shown meanwhile.</p></div>"
    )


def left_out_html(audit: Audit, view: NeutralityView) -> str:
    """Which columns a view would hold, but does not show."""
    out = state.left_out(audit, view)
    if not out:
        return ""
    names = ", ".join(
        f"{words.title_of(audit, one.model)} ({one.style}{', ' + one.culture if one.culture else ''})"
        for one in out[:10]
    )
    why = "They have other classes, or are too many; choose models."
    return f'<p class="lk-reading">Not shown: {escape(names)}. {why}</p>'


def notes_html(audit: Audit, shown: Heat) -> str:
    """What a view's models are, what their answers rest on, and whether some are left out. What they were shown stands
    above already, where pictures play a part (`cautions_html`)."""
    items = ""
    told = any(asked.direction != "text-to-text" for asked in shown.columns)
    for name in dict.fromkeys(asked.model for asked in shown.columns):
        source = audit.probes.sources[name]
        said = f"{source.model} ({source.kind})"
        said += f"; at most {count(source.limit, 'input')} were allowed" if source.limit else ""
        said += f". {clean_text(source.note)}" if source.note and not told else "."
        if not audit.probes.current(name):
            said += " Its answers about pictures are left out: the audit's pictures changed since. Run its probe again."
        items += f"<li><b>{escape(words.title_of(audit, name))}</b>: {escape(said)}</li>"
    return f'<h3>Who was asked</h3><ul class="lk-spread">{items}</ul>'


def files_html(audit: Audit, view: NeutralityView) -> str:
    """The downloads of the heatmap."""
    link, name = escape(to_address(view)), f"likeness-{state.file_name(audit, view)}"
    return (
        f'<p class="lk-actions"><a class="lk-button" href="csv/{SLUG}?{link}" download="{name}.csv">Download CSV</a> '
        f'<button type="button" class="lk-button" data-figure="data/{SLUG}/heatmap?{link}" '
        f'data-png="{name}.png">Download PNG</button></p>'
    )


def published_link(view: NeutralityView) -> str:
    """A link to the published figures by themselves."""
    if view.direction in published.IMAGES:
        return ""
    query = address(
        "published", figure="neutrality", direction=view.direction if view.direction != "image-to-text" else ""
    )
    return (
        f'<p class="lk-reading"><a class="lk-view" href="?{escape(query)}">All published answers in one picture</a></p>'
    )
