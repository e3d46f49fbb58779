"""The Bias explorer: the generations of two or more systems or prompts side by side (Stable Bias, section 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers import _browse
from explorers._browse import MOST_COLUMNS, SIZES, BrowseView, to_address
from explorers._grid import ANY, Choice, sorts_of
from explorers._shared import Params, View, escape
from explorers._wiring import QUIET

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
Each column is one system and one profession (or another prompt subject). Read the prompt above the pictures first:
systems that were given different prompts are not compared like with like. Then compare columns, not single pictures:
how alike are the pictures in a column, and what changes between columns?

Where images came with labels, a bar and a table count them: whoever made the data set gave the labels, and its own
documentation says by which rule. Bar and table count every image of the column, also where a filter hides some. Shares
have 95 % Wilson intervals; where two intervals overlap, the columns may not differ. The figures of the labour force are
estimates of a survey, printed there without an interval.

With the keyboard: Tab reaches the pictures, the arrow keys move among them, Enter opens one.
"""

CANNOT = """
A pictured person has no gender and no ethnicity: nobody was there. Labels are impressions of annotators. A few images
of one system say little about the system: read the interval, not the percentage. The labour force is that of the United
States in 2021; other places and years differ.
"""


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        gr.HTML(EMPTY)
        return View([], lambda params: [])
    parts = _components(stores)
    inputs = [parts.audit, parts.sort, parts.size, parts.labels, parts.state, *parts.boxes]
    outputs = [*inputs, parts.heading, parts.said, *parts.columns, *parts.grids, parts.where]
    outputs += [parts.back, parts.on, parts.more, parts.fewer]

    def handler(act: Callable[[Audit, BrowseView], tuple[BrowseView, str]]) -> Callable[..., list[Any]]:
        def handle(*values: Any) -> list[Any]:
            view = _read(stores, values)
            view, notice = act(stores[view.audit], view)
            return [*_updates(stores[view.audit], view, notice), to_address(view)]

        return handle

    def other_audit(name: str) -> list[Any]:
        view = _browse.from_params(stores, {"audit": [str(name)]})
        return [*_updates(stores[view.audit], view), to_address(view)]

    def open_view(params: Params) -> list[Any]:
        view = _browse.from_params(stores, params)
        return _updates(stores[view.audit], view)

    for box in (parts.sort, parts.size, parts.labels, *parts.boxes):
        changed = handler(lambda audit, view: (replace(view, page=1), ""))
        box.input(changed, inputs, [*outputs, address_bar], trigger_mode="always_last", **QUIET)
    parts.audit.input(other_audit, parts.audit, [*outputs, address_bar], **QUIET)
    clicks = (
        (parts.same, _browse.shared),
        (parts.more, lambda audit, view: (replace(view, columns=(*view.columns, _browse.another(audit, view))), "")),
        (parts.fewer, lambda audit, view: (replace(view, columns=view.columns[:-1] or view.columns), "")),
        (parts.back, lambda audit, view: (replace(view, page=max(1, view.page - 1)), "")),
        (parts.on, lambda audit, view: (replace(view, page=view.page + 1), "")),
    )
    for button, act in clicks:
        button.click(handler(act), inputs, [*outputs, address_bar], **QUIET)
    return View(outputs, open_view)


def _components(stores: Mapping[str, Audit]) -> SimpleNamespace:
    """Lay the tab out. `state` holds the page and the number of columns ("2,3"): part of the view, seen by nobody."""
    made = SimpleNamespace(columns=[], boxes=[], grids=[])
    made.audit = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-audit")
    made.heading = gr.HTML(elem_id="lk-heading", min_height=64, apply_default_css=False)
    with gr.Row(elem_classes="lk-buttons"):
        made.same = gr.Button("Same profession in every system", variant="primary", size="sm", min_width=250)
    with gr.Accordion("Columns, sort, filter and page size", open=False):
        with gr.Row(elem_classes="lk-buttons"):
            made.more = gr.Button("Add a column", size="sm", min_width=120)
            made.fewer = gr.Button("Remove a column", size="sm", min_width=130)
        with gr.Row():
            made.sort = gr.Dropdown(label="Sort by", min_width=160, elem_id="lk-sort")
            words = "Only images with imported label"
            made.labels = gr.Dropdown(label=words, multiselect=True, min_width=220, elem_id="lk-labels")
            made.size = gr.Dropdown(list(SIZES), label="Images a page and column", min_width=160, elem_id="lk-size")
    made.said = gr.HTML(elem_id="lk-said", visible=False, apply_default_css=False)
    with gr.Row(elem_classes="lk-columns"):
        for number in range(1, MOST_COLUMNS + 1):
            with gr.Column(min_width=280, visible=number <= 2, elem_classes="lk-column") as column:
                with gr.Group(), gr.Row(elem_classes="lk-choice"):
                    for name, words in (("system", "System"), ("subject", "Profession"), ("adjective", "Adjective")):
                        made.boxes.append(gr.Dropdown(label=words, elem_id=f"lk-{name}-{number}", min_width=190))
                board = {"elem_classes": "lk-board", "min_height": 400, "apply_default_css": False}
                made.grids.append(gr.HTML(elem_id=f"lk-grid-{number}", **board))
            made.columns.append(column)
    with gr.Row(elem_classes="lk-pager"):
        made.back = gr.Button("Previous page", size="sm", min_width=120)
        made.where = gr.HTML(elem_id="lk-where")
        made.on = gr.Button("Next page", size="sm", min_width=120)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW)
    with gr.Accordion("What this cannot show", open=False):
        gr.Markdown(CANNOT)
    made.state = gr.Textbox("1,2", visible="hidden", label="Page and columns", elem_id="lk-state")
    return made


def _read(stores: Mapping[str, Audit], values: Sequence[Any]) -> BrowseView:
    """The view that the components hold. Their values come from a browser: they are read like an address."""
    audit, sort, size, labels, state, *boxes = values
    page, _, wide = str(state).partition(",")
    wide = int(wide) if wide in map(str, range(1, MOST_COLUMNS + 1)) else 2
    texts = ["" if value is None else str(value) for value in boxes[: 3 * wide]]
    params = {"audit": [str(audit)], "sort": [str(sort)], "size": [str(size)], "n": [page]}
    params["label"] = [str(label) for label in labels] if isinstance(labels, list) else []
    view = _browse.from_params(stores, params | {"s": texts[0::3], "p": texts[1::3], "a": texts[2::3]})
    return view


def _updates(audit: Audit, view: BrowseView, notice: str = "") -> list[Any]:
    """One update per component of `outputs` in build, in their order."""
    last = _browse.pages(audit, view)
    view = replace(view, page=min(view.page, last), columns=view.columns[:MOST_COLUMNS])
    wide = len(view.columns)
    filters = _browse.label_choices(audit)
    orders = [(words, name) for name, words in sorts_of(audit).items()]
    said = _browse.state_html(audit, view, notice)
    boxes, grids = [], []
    for index in range(MOST_COLUMNS):
        if index < wide:
            boxes += _boxes(audit, view, view.columns[index])
            grids.append(_browse.column_html(audit, view, view.columns[index]))
        else:
            boxes += [gr.skip()] * 3
            grids.append("")
    return [
        view.audit,
        gr.Dropdown(orders, value=view.sort),
        view.size,
        gr.Dropdown(filters, value=list(view.labels), multiselect=True, visible=bool(filters)),
        f"{view.page},{wide}",
        *boxes,
        _browse.heading_html(view),
        gr.HTML(said, visible=bool(said)),
        *[gr.Column(visible=index < wide) for index in range(MOST_COLUMNS)],
        *grids,
        f'<p role="status">Page {view.page:,} of {last:,}. {_download(view)}</p>',
        gr.Button(interactive=view.page > 1),
        gr.Button(interactive=view.page < last),
        gr.Button(interactive=wide < MOST_COLUMNS),
        gr.Button(interactive=wide > 1),
    ]


def _download(view: BrowseView) -> str:
    return f'<a href="csv/{SLUG}?{escape(to_address(view))}" download>Download this list (CSV)</a>'


def _boxes(audit: Audit, view: BrowseView, choice: Choice) -> list[Any]:
    subjects = _browse.subjects_of(audit, choice.system, view.labels)
    total = sum(number for _, number in subjects)
    named = [(f"every prompt ({total:,})", ""), *((f"{name} ({number:,})", name) for name, number in subjects)]
    adjectives = _browse.adjectives_of(audit)
    words = [("any adjective, or none", ANY), *((name or "no adjective", name) for name in adjectives)]
    return [
        gr.Dropdown(_browse.systems_of(audit), value=choice.system),
        gr.Dropdown(named, value=choice.subject),
        gr.Dropdown(words, value=choice.adjective, visible=adjectives != [""]),
    ]
