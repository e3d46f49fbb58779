"""Nearest neighbours: which images are most like one, by colour, structure or content (Stable Bias, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers import _neighbours, _neighbours_html, _neighbours_picture
from explorers._charts import unbroken
from explorers._neighbours import SIZES, SUBSETS, NearView, to_address
from explorers._shared import Params, View, params_of
from explorers._wiring import BOARD, QUIET, listen_to_steps, steps, without_audit

SLUG = "neighbours"
TITLE = "Look-alikes"
QUERY = _neighbours_picture.QUERY
table = _neighbours.table

HOW = """
Start from an image and walk: each picture opens larger, and *Walk here* makes it the next to start from. The steps
stand above, as a way back. What recurs along a walk (a colour, a dress, a pose, a background) may be a stereotype
of a system: look for it in Browse, and count it.

The bars compare the neighbourhood with all images that were searched. A share far from the mark says that such images
lie together, and where the interval holds the mark, that no difference can be told. The intervals (Wilson, 95 %) take
the neighbours for independent draws, which images of one prompt are not: they are too narrow rather than too wide.

Distances can be compared within one way of comparing, never across two.
"""
CANNOT = """
Alike in colour or structure is not alike in meaning: a red suit and a red sofa are near each other by colour. Content
is what one model's numbers hold; the model has biases of its own, and another would find other neighbours. The nearest
images may be near because they share a prompt or a seed. Nothing here says who a pictured person is: nobody was there.
An uploaded picture is compared with the images of this audit alone, and always has neighbours, however unlike.
"""
UPLOAD = """
<div class="lk-near-upload"><label class="lk-button">Upload an image
<input type="file" accept="image/*" class="lk-near-file"></label>
<p class="lk-reading">or paste or drop one. It goes to this app alone and is kept nowhere.</p>
<button type="button" class="lk-button" data-again hidden>Back to your picture</button>
<p class="lk-near-problem" role="alert"></p></div>
"""
WATCH = "window.likenessNear && window.likenessNear.watch(element);"
STEP = """
window.likeness.connect(() => {
  const here = window.likenessNear.shown();
  if (here) trigger('submit');
  return here;
}, 'neighbours');
"""
ASK = "(audit, system, subject, subset, k) => [audit, system, subject, subset, k, location.search]"


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        return without_audit()
    made = _components(stores)
    inputs = [made.audit, made.system, made.subject, made.subset, made.size]
    outputs = [*inputs, made.heading, made.query, made.board, made.notes]

    def changed(audit: str, system: str, subject: str, subset: str, size: str, query: str) -> list[Any]:
        kept = params_of(str(query))
        view = _neighbours.from_params(stores, {**kept, "audit": [str(audit)]})
        if kept.get("audit", [view.audit])[0] == view.audit:  # another audit has other names
            asked = {"system": [str(system)], "subject": [str(subject)], "subset": [str(subset)]}
            view = _neighbours.from_params(stores, {**kept, **asked, "audit": [view.audit], "k": [str(size)]})
        return [*_updates(stores[view.audit], view), to_address(view)]

    def open_view(params: Params) -> list[Any]:
        view = _neighbours.from_params(stores, params)
        return _updates(stores[view.audit], view, _neighbours.missed(stores, params))

    for box in inputs:
        box.input(changed, [*inputs, address_bar], [*outputs, address_bar], js=ASK, **QUIET)
    listen_to_steps(made.steps, address_bar, SLUG, outputs, open_view)
    return View(outputs, open_view)


def _components(stores: Mapping[str, Audit]) -> SimpleNamespace:
    made = SimpleNamespace(steps=steps("lk-near", SLUG, STEP))
    made.audit = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-near-audit")
    with gr.Row(elem_classes="lk-near-top"):
        made.heading = gr.HTML(min_height=100, elem_id="lk-near-heading", **BOARD)
        gr.HTML(UPLOAD, js_on_load=WATCH, elem_id="lk-near-upload", **BOARD)
    with gr.Accordion("Filters and number of neighbours", open=False), gr.Row():
        made.system = gr.Dropdown(label="System", min_width=160, elem_id="lk-near-system")
        made.subject = gr.Dropdown(label="Profession or other prompt", min_width=220, elem_id="lk-near-subject")
        made.subset = gr.Dropdown(label="Kind of prompt", min_width=160, elem_id="lk-near-subset")
        made.size = gr.Dropdown([str(k) for k in SIZES], label="Neighbours", min_width=120, elem_id="lk-near-k")
    with gr.Row(elem_classes="lk-near"):
        with gr.Column(scale=1, min_width=260, elem_classes="lk-near-left"):
            made.query = gr.HTML(js_on_load=WATCH, min_height=300, elem_id="lk-near-query", **BOARD)
        with gr.Column(scale=3, min_width=320, elem_classes="lk-near-right"):
            made.board = gr.HTML(js_on_load=WATCH, min_height=400, elem_id="lk-near-board", **BOARD)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW)
        made.notes = gr.HTML(**BOARD)
    with gr.Accordion("What this cannot show", open=False):
        gr.Markdown(CANNOT)
    return made


def _updates(audit: Audit, view: NearView, missed: str = "") -> list[Any]:
    """One update per component of `outputs` in build, in their order."""
    filled = [
        view.audit,
        _box(audit, view, "system", "every system"),
        _box(audit, view, "subject", "every prompt"),
        _box(audit, view, "subset", "every kind"),
        str(view.k),
        _neighbours_html.heading_html(audit, view, missed),
        _neighbours_html.query_html(audit, view),
        _neighbours_html.board_html(audit, view),
        _neighbours_html.notes_html(audit),
    ]
    return [*map(unbroken, filled)]


def _box(audit: Audit, view: NearView, name: str, everything: str) -> gr.Dropdown:
    """The choices of a filter with the number of images that the other filters leave; what has none is not offered."""
    rows = _neighbours.allowed(audit, replace(view, **{name: ""}))
    column = audit.generations[name] if rows is None else audit.generations[name].iloc[rows]
    counts = column.value_counts()
    own = getattr(view, name)
    named = [(str(value), int(number)) for value, number in counts.items() if number or value == own]
    named.sort(key=lambda pair: (-pair[1], pair[0].casefold()) if name == "subject" else pair[0].casefold())
    words = SUBSETS if name == "subset" else {}
    choices = [(f"{words.get(value, value)} ({number:,})", value) for value, number in named]
    return gr.Dropdown([(everything, ""), *choices], value=own)
