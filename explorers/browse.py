"""The Bias explorer: the generations of two or more systems or prompts side by side (Stable Bias, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers import _browse
from explorers._browse import MOST_COLUMNS, SIZES, BrowseView, to_address
from explorers._grid import ANY, Choice, sorts_of
from explorers._shared import Params, View, escape

SLUG = _browse.SLUG
TITLE = "Browse"
table = _browse.table

EMPTY = """
<div class="lk-welcome"><h2>No audit is open yet</h2>
<p>Likeness shows the pictures of an <b>audit</b>: a folder under <code>cache/</code> made from images that you have.
Make one from a folder laid out <code>SYSTEM/PROFESSION/*.png</code>, from a folder with a <code>metadata.csv</code>,
from Parquet files, or from a Hugging Face data set:</p>
<pre>.venv/bin/python -m backend import path/to/images my-audit
.venv/bin/python -m backend build my-audit
.venv/bin/python app.py my-audit</pre>
<p>Until then, the tab <a class="lk-view" href="?tab=published">Published results</a> shows figures of two papers.</p>
</div>
"""

HOW = """
Each column is one system and one prompt subject. Compare columns, not single pictures: look at how alike the pictures
in a column are, and at what changes between columns. The bar above the pictures counts labels that came with the audit
(people or programs gave them; About names the source), with the number of images and a 95 % Wilson interval.
"""

CANNOT = """
A pictured person has no gender and no ethnicity: nobody was there. Labels are impressions of annotators. A few images
of one system say little about the system: read the interval, not the percentage. The labour force is that of the United
States in 2021; other places and years differ.
"""


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        return View([gr.HTML(EMPTY)], lambda params: [gr.skip()])
    audit_box = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-audit")
    heading = gr.HTML(elem_id="lk-heading", min_height=64, apply_default_css=False)
    with gr.Row(elem_classes="lk-buttons"):
        same = gr.Button("Same prompt in every system", variant="primary", size="sm", min_width=200)
    with gr.Accordion("Columns, sort, filter and page size", open=False):
        with gr.Row(elem_classes="lk-buttons"):
            more = gr.Button("Add a column", size="sm", min_width=120)
            fewer = gr.Button("Remove a column", size="sm", min_width=130)
        with gr.Row():
            sort = gr.Dropdown(label="Sort by", min_width=160, elem_id="lk-sort")
            words = "Only images with imported label"
            labels = gr.Dropdown(label=words, multiselect=True, min_width=220, elem_id="lk-labels")
            size = gr.Dropdown(list(SIZES), label="Images a page and column", min_width=160, elem_id="lk-size")
    columns, boxes, grids = [], [], []
    with gr.Row(elem_classes="lk-columns"):
        for number in range(1, MOST_COLUMNS + 1):
            with gr.Column(min_width=280, visible=number <= 2, elem_classes="lk-column") as column:
                with gr.Group(), gr.Row():
                    for name, words in (("system", "System"), ("subject", "Profession"), ("adjective", "Adjective")):
                        boxes.append(gr.Dropdown(label=words, elem_id=f"lk-{name}-{number}", min_width=170))
                grids.append(
                    gr.HTML(
                        elem_classes="lk-board", elem_id=f"lk-grid-{number}", min_height=400, apply_default_css=False
                    )
                )
            columns.append(column)
    with gr.Row(elem_classes="lk-pager"):
        back = gr.Button("Previous page", size="sm", min_width=120)
        where = gr.HTML(elem_id="lk-where")
        on = gr.Button("Next page", size="sm", min_width=120)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW)
    with gr.Accordion("What this cannot show", open=False):
        gr.Markdown(CANNOT)
    # The page and the number of columns are no component that people see, but part of the view.
    state = gr.State((1, 2))
    inputs = [audit_box, sort, size, labels, state, *boxes]
    outputs = [*inputs, heading, *columns, *grids, where, back, on, more, fewer]

    def read(values: Sequence[Any]) -> BrowseView:
        audit, order, number, chosen, (page, wide), *rest = values
        choices = [Choice(*rest[3 * i : 3 * i + 3]) for i in range(min(wide, MOST_COLUMNS))]
        params = _params(audit, order, number, chosen, page, choices)
        return _browse.from_params(stores, params)

    def show(view: BrowseView) -> list[Any]:
        return [*_updates(stores[view.audit], view), to_address(view)]

    def changed(*values: Any) -> list[Any]:
        view = read(values)
        if view.audit != values[0]:  # another audit's columns mean nothing here
            view = _browse.default_view(stores[view.audit])
        return show(replace(view, page=1))

    def other_audit(name: str) -> list[Any]:
        return show(_browse.from_params(stores, {"audit": [name]}))

    def turn(step: int):
        return lambda *values: show(replace(view := read(values), page=max(1, view.page + step)))

    def widen(*values: Any) -> list[Any]:
        view = read(values)
        extra = _browse.second(stores[view.audit], view.columns[-1])
        return show(replace(view, columns=(*view.columns, extra)[:MOST_COLUMNS]))

    def narrow(*values: Any) -> list[Any]:
        view = read(values)
        return show(replace(view, columns=view.columns[:-1] or view.columns))

    def everywhere(*values: Any) -> list[Any]:
        view = read(values)
        return show(_browse.shared(stores[view.audit], view))

    quiet = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    for box in (sort, size, labels, *boxes):
        box.input(changed, inputs, [*outputs, address_bar], trigger_mode="always_last", **quiet)
    audit_box.input(other_audit, audit_box, [*outputs, address_bar], **quiet)
    clicks = ((same, everywhere), (more, widen), (fewer, narrow), (back, turn(-1)), (on, turn(1)))
    for button, handler in clicks:
        button.click(handler, inputs, [*outputs, address_bar], **quiet)
    return View(outputs, lambda params: show(_browse.from_params(stores, params))[:-1])


def _params(audit: str, sort: str, size: int, labels: Sequence[str], page: int, choices: Sequence[Choice]) -> Params:
    return {
        "audit": [audit or ""],
        "sort": [sort or "number"],
        "size": [str(size)],
        "n": [str(page)],
        "label": list(labels or []),
        "s": [choice.system or "" for choice in choices],
        "p": [choice.subject or "" for choice in choices],
        "a": [ANY if choice.adjective is None else choice.adjective for choice in choices],
    }


def _updates(audit: Audit, view: BrowseView) -> list[Any]:
    """One update per component of `outputs` in build, in their order."""
    last = _browse.pages(audit, view)
    view = replace(view, page=min(view.page, last))
    wide = len(view.columns)
    filters = _browse.label_choices(audit)
    orders = [(words, name) for name, words in sorts_of(audit).items()]
    boxes, grids = [], []
    for index in range(MOST_COLUMNS):
        if index < wide:
            boxes += _boxes(audit, view.columns[index])
            grids.append(_browse.column_html(audit, view, view.columns[index]))
        else:
            boxes += [gr.skip()] * 3
            grids.append("")
    words = f'<p role="status">Page {view.page:,} of {last:,}. {_download(view)}</p>'
    return [
        view.audit,
        gr.Dropdown(orders, value=view.sort),
        view.size,
        gr.Dropdown(filters, value=list(view.labels), visible=bool(filters)),
        (view.page, wide),
        *boxes,
        _browse.heading_html(view),
        *[gr.Column(visible=index < wide) for index in range(MOST_COLUMNS)],
        *grids,
        words,
        gr.Button(interactive=view.page > 1),
        gr.Button(interactive=view.page < last),
        gr.Button(interactive=wide < MOST_COLUMNS),
        gr.Button(interactive=wide > 1),
    ]


def _download(view: BrowseView) -> str:
    return f'<a href="csv/{SLUG}?{escape(to_address(view))}" download>Download this list (CSV)</a>'


def _boxes(audit: Audit, choice: Choice) -> list[Any]:
    subjects = [(f"{name} ({number:,})", name) for name, number in _browse.subjects_of(audit, choice.system)]
    adjectives = _browse.adjectives_of(audit)
    total = len(audit.rows(system=choice.system))
    words = [("any adjective, or none", ANY), *((name or "no adjective", name) for name in adjectives)]
    return [
        gr.Dropdown(_browse.systems_of(audit), value=choice.system),
        gr.Dropdown([(f"every prompt ({total:,})", ""), *subjects], value=choice.subject),
        gr.Dropdown(words, value=choice.adjective, visible=adjectives != [""]),
    ]
