"""The list of bars of Hiring: a measure by occupation, own and published models, beside the labour force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import plotly.graph_objects as go

from backend.metrics.hiring import Estimate
from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_published as published
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._charts import GREY, SYSTEM_COLOURS
from explorers._hiring import Bars
from explorers._hiring_view import SLUG, HiringView, to_address
from explorers._neutrality_charts import plot_text
from explorers._shared import escape, percent

WOMEN, MEN = words.COLOURS[data.WOMEN], words.COLOURS[data.MEN]
COLOURS = {"bias_difference": (MEN, WOMEN), "order_effect": (words.COLOURS["second"], words.COLOURS["first"])}


def bars_html(audit: Audit, view: HiringView, shown: Bars, opened: tuple[str, str]) -> str:
    """The list: a table whose own cells are links to their dialogues. One is a stop for Tab; the arrow keys move among
    them (assets/hiring.js). `opened` are the occupation and the model whose dialogue is open."""
    if not shown.own and not shown.theirs:
        return f'<p class="lk-reading">Published models have no {escape(words.SHORT[shown.measure])} by occupation.</p>'
    heads = "".join(_head(words.title_of(audit, name), "this audit") for name in shown.own)
    heads += '<th scope="col" class="lk-hire-labour"><span>Women, US labour force</span><small>CPS 2021</small></th>'
    heads += "".join(_head(name, f"published, {published.TABLES[name]}", " lk-hire-brief") for name in shown.theirs)
    body = "".join(_row(audit, view, shown, row, opened) for row in ("", *shown.rows))
    label = f"{words.SHORT[shown.measure]} by occupation and model"
    hidden = f'<p class="lk-reading">{shown.hidden:,} more do not match the search.</p>' if shown.hidden else ""
    kind = "lk-hire-bars" + ("" if shown.own else " lk-hire-theirs-only")
    return (
        f'<div class="lk-hire-box" role="region" tabindex="0" aria-label="{escape(label)}"><table class="{kind}">'
        f'<thead><tr><th scope="col">Occupation</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>{hidden}'
    )


def _head(title: str, where: str, kind: str = "") -> str:
    """A column's head: the model and where it is from."""
    return f'<th scope="col" class="lk-hire-own{kind}"><span>{escape(title)}</span><small>{escape(where)}</small></th>'


def _row(audit: Audit, view: HiringView, shown: Bars, row: str, opened: tuple[str, str]) -> str:
    cells = "".join(_own_cell(audit, view, shown, row, name, (row, name) == opened) for name in shown.own)
    cells += _labour_cell(row) + "".join(_their_cell(row, name) for name in shown.theirs)
    pooled = "" if row else ' class="lk-hire-pooled"'
    return f'<tr{pooled}><th scope="row"><span>{escape(row or "All")}</span></th>{cells}</tr>'


def _own_cell(audit: Audit, view: HiringView, shown: Bars, row: str, model: str, current: bool) -> str:
    found = data.value_of(audit, model, shown.kind, row, shown.measure)
    if not found.k:
        return '<td class="lk-hire-none">not asked</td>'
    said = f"{row or 'All occupations'}: {words.words_of(found, shown.measure)}"
    inside = _bar(found, shown.measure)
    inside += f'<span class="lk-hire-num">{words.number(found.value, shown.measure)}'
    inside += f"<small>{words.span(found, shown.measure)}</small></span>"
    if not row:
        return f'<td title="{escape(said)}"><span class="lk-hire-cell">{inside}</span></td>'
    link = to_address(replace(view, row=row, column=model, first="", second="", only="", control=False))
    told = f'href="?{escape(link)}" title="{escape(said)}"' + (' aria-current="true"' if current else "")
    return f'<td><a class="lk-view lk-hire-cell" {told} tabindex="-1">{inside}</a></td>'


def _bar(found: Estimate, measure: str, hollow: bool = False) -> str:
    """A bar from zero, and the interval as a line; hatched where the pairs are too few."""
    signed = measure in state.SIGNED
    place = (lambda value: 50 + 50 * value) if signed else (lambda value: 100 * value)
    zero, end = place(0.0), place(found.value)
    low, high = min(zero, end), max(zero, end)
    colour = COLOURS.get(measure, (SYSTEM_COLOURS[0],) * 2)[int(found.value >= 0)]
    kind = " lk-hollow" if hollow else " lk-hire-few" if found.why == "few" else ""
    ends = f"left:{low:.1f}%;width:{high - low:.1f}%;color:{colour}"
    fill = f'<i class="lk-hire-fill{kind}" style="{ends}"></i>'
    line = ""
    if not found.why and found.low == found.low:
        ends = f"left:{place(found.low):.1f}%;width:{place(found.high) - place(found.low):.1f}%"
        line = f'<i class="lk-hire-line" style="{ends}"></i>'
    return f'<span class="lk-hire-track{" lk-hire-zero" if signed else ""}" aria-hidden="true">{fill}{line}</span>'


def _their_cell(row: str, model: str) -> str:
    if not row:
        return '<td class="lk-hire-none" title="the paper prints single occupations only">–</td>'
    value = published.bias_differences()[model].get(row)
    if value is None:
        why = f"not printed: the paper prints differences beyond {published.THRESHOLDS[model]} only"
        return f'<td class="lk-hire-none" title="{why}">not printed</td>'
    nan = float("nan")
    said = f"{row}: published bias difference {words.number(value, 'bias_difference')}, n and interval not published"
    inside = _bar(Estimate(value, nan, nan, 0, 0), "bias_difference", hollow=True)
    inside += f'<span class="lk-hire-num">{words.number(value, "bias_difference")}</span>'
    return f'<td title="{escape(said)}"><span class="lk-hire-cell">{inside}</span></td>'


def _labour_cell(row: str) -> str:
    share = data.women_in(row) if row else float("nan")
    if share != share:
        return f'<td class="lk-hire-none" title="{"not in the labour statistics" if row else ""}">–</td>'
    said = f"{row}: {percent(share)} women in the US labour force (CPS 2021)"
    return (
        f'<td title="{escape(said)}"><span class="lk-hire-cell"><span class="lk-hire-track lk-hire-half" '
        f'aria-hidden="true"><i class="lk-hire-fill lk-hire-grey" style="left:0;width:{100 * share:.1f}%"></i></span>'
        f'<span class="lk-hire-num">{percent(share)}</span></span></td>'
    )


def legend_html(shown: Bars, audit: Audit) -> str:
    """What a bar, its line and a pale or hatched one are; how many pairs an occupation rests on."""
    items = []
    if shown.measure in COLOURS:
        for side, name, colour in zip(
            ("left", "right"), words.SIDES[shown.measure], COLOURS[shown.measure], strict=True
        ):
            items.append(f'<i class="lk-key" style="background:{colour}"></i>to the {side}: {name} favoured')
    items += ["line: 95 % interval"] if shown.own else []
    if shown.theirs:
        items.append('<i class="lk-key lk-hire-outlined"></i>outlined: published, without n or interval')
    found = [data.value_of(audit, m, shown.kind, row, shown.measure) for m in shown.own for row in shown.rows]
    if any(one.why == "few" for one in found):
        items.append('<i class="lk-key lk-hire-few"></i>hatched: too few pairs for an interval')
    sizes = sorted({one.n for one in found if one.k})
    if sizes:
        span = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
        items.append(f"n = {span} pairs for each occupation, asked in both orders of the names")
    return f'<ul class="lk-legend">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def files_html(view: HiringView) -> str:
    link, name = escape(to_address(view)), f"likeness-{state.file_name(view, 'bars')}"
    return (
        f'<p class="lk-actions"><a class="lk-button" href="csv/{SLUG}?{link}&amp;of=bars" download="{name}.csv">'
        "Download CSV</a> "
        f'<button type="button" class="lk-button" data-figure="data/{SLUG}/bars?{link}" '
        f'data-png="{name}.png">Download PNG</button></p>'
    )


def bars_figure(audit: Audit, shown: Bars) -> go.Figure:
    """The list as a figure: its PNG is drawn from it. Columns are series; published ones are outlined."""
    rows = ("", *shown.rows)
    labels = [plot_text(row or "All occupations", 1, 30) for row in rows]
    drawn, nan = go.Figure(), float("nan")
    for at, name in enumerate((*shown.own, *shown.theirs)):
        own = at < len(shown.own)
        known: Mapping[str, float] = {} if own else published.bias_differences()[name]
        found = [
            data.value_of(audit, name, shown.kind, row, shown.measure)
            if own
            else Estimate(known.get(row, nan), nan, nan, 0, 0)
            for row in rows
        ]
        title = words.title_of(audit, name) if own else f"{name} (published)"
        _series(drawn, plot_text(title, 1, 60), found, SYSTEM_COLOURS[at % 8], own)
    signed = shown.measure in state.SIGNED
    one, other = words.SIDES.get(shown.measure, ("", ""))
    title = f"← {one}     {other} →" if signed else words.SHORT[shown.measure]
    tall = max(20, 11 * len(drawn.data))
    drawn.update_layout(
        height=tall * len(rows) + 110,
        barmode="group",
        margin={"l": 170, "r": 20, "t": 70, "b": 10},
        xaxis={
            "range": [-1.02, 1.02] if signed else [0, 1.02],
            "side": "top",
            "title": {"text": title},
            "zeroline": True,
        },
        yaxis={"range": [len(rows) - 0.4, -0.6], "tickvals": list(range(len(rows))), "ticktext": labels, "ticks": ""},
    )
    return drawn


def _series(drawn: go.Figure, title: str, found: Sequence[Estimate], colour: str, own: bool) -> None:
    drawn.add_bar(
        x=[None if one.value != one.value else one.value for one in found],
        y=list(range(len(found))),
        orientation="h",
        name=title,
        marker={"color": colour if own else "rgba(0,0,0,0)", "line": {"color": colour, "width": 1.4}},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [one.high - one.value if one.high == one.high else 0 for one in found],
            "arrayminus": [one.value - one.low if one.low == one.low else 0 for one in found],
            "color": GREY,
            "thickness": 1.4,
            "width": 0,
        },
    )
