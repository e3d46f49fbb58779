"""Hiring: are two applicants judged alike when only their skills are known? ("Hire Me or Not?", sections 3 to 5)."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_answers as answers
from explorers import _hiring_bars as bars
from explorers import _hiring_dialogue as dialogue
from explorers import _hiring_files as files
from explorers import _hiring_html as parts
from explorers import _hiring_models as beside
from explorers import _hiring_published as published
from explorers import _hiring_scatter as scatter
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._charts import finish, png_html, unbroken
from explorers._hiring_dialogue import Opened
from explorers._hiring_missed import missed as missed_in
from explorers._hiring_view import HiringView, to_address
from explorers._live_ask_links import hire_html
from explorers._missed import missed_html
from explorers._shared import Params, View, escape, first, params_of
from explorers._wiring import BOARD, NO_AUDIT_PUBLISHED, PNG, chart, drawer, steps, wire, without_audit

SLUG = state.SLUG
TITLE = "Hiring"
DATA = files.DATA
table = files.table

MOST_PAIRS = 1000
"""Dialogues that the chooser lists; the buttons reach the others."""
WATCH = "window.likenessHiring && window.likenessHiring.watch(element);"
PANEL = "window.likenessHiring && window.likenessHiring.panel(element);"


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        return without_audit(NO_AUDIT_PUBLISHED)
    made = _components(stores)
    inputs = [made.audit, made.models, made.kind, made.published, made.theirs, made.measure, made.order, made.query]
    inputs += [made.occupation, made.pair]

    def read(values: tuple[Any, ...]) -> Params:
        return _unpinned(stores, _params(values), params_of(str(values[-1] or "")))

    told = {"entered": [made.query], "missed": missed_in}
    return wire(stores, address_bar, made, inputs, read=read, state=state, updates=_updates, **told)


def _params(values: tuple[Any, ...]) -> dict[str, list[str]]:
    """What the components hold and the rest of the address, read like an address: both come from a browser."""
    names = ("audit", "m", "kind", "published", "pm", "measure", "order", "q", "row", "pair", "address")
    held = dict(zip(names, values, strict=True))
    kept = params_of(str(held.pop("address") or ""))
    found = {name: [str(value)] for name, value in held.items() if isinstance(value, str)}
    for name in ("m", "pm"):
        found[name] = [str(one) for one in held[name]] if isinstance(held[name], list) else []
    found["published"] = ["1" if held["published"] is True else "0"]
    one, _, other = found.pop("pair", [""])[0].partition("|")
    found |= {"first": [one], "second": [other]}
    if first(kept, "audit", first(found, "audit")) == first(found, "audit"):
        found |= {name: kept[name] for name in ("column", "only", "control") if name in kept}
    return found


def _unpinned(stores: Mapping[str, Audit], params: dict[str, list[str]], kept: Params) -> dict[str, list[str]]:
    """An occupation and a pair that nobody chose stay what stands out, whatever else a visitor changes."""
    before = state.from_params(stores, kept)
    shown = dialogue.opened(stores[before.audit], before)
    if shown is not None:
        if not before.row and first(params, "row") == shown.occupation:
            params["row"] = [""]
        pair = [shown.row["first"], shown.row["second"]] if shown.at >= 0 else ["", ""]
        if not before.first and [first(params, "first"), first(params, "second")] == pair:
            params |= {"first": [""], "second": [""]}
    return params


def _components(stores: Mapping[str, Audit]) -> SimpleNamespace:
    """Lay the tab out. `shown` are the parts that a view fills, in the order of `_updates`."""
    made = SimpleNamespace(steps=steps("lk-hire", SLUG))
    made.audit = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-hire-audit")
    heading = gr.HTML(min_height=64, elem_id="lk-hire-heading", **BOARD)
    drawer("lk-hire-controls", "Choose models and pairs")
    with gr.Column(elem_id="lk-hire-controls"), gr.Row():
        made.models = _many("Models (none: all)", "models")
        made.kind = _box("Pairs of names", "kind", 330)
        made.published = gr.Checkbox(True, label="Published models too", min_width=160)
        made.theirs = _many("Published models (none: all)", "theirs")
    sentence = gr.HTML(min_height=60, **BOARD)
    with gr.Row():
        with gr.Column(min_width=340):
            marks = gr.HTML(js_on_load=WATCH + PNG, elem_id="lk-hire-marks", **BOARD)
            models = chart("lk-hire-models")
        with gr.Column(min_width=340):
            answered = gr.HTML(js_on_load=PNG, **BOARD)
            order = gr.HTML(**BOARD)
    bars_head = gr.HTML(**BOARD)
    with gr.Row():
        made.measure = _box("Measure", "measure", 320)
        made.order = _box("Order", "order", 170)
        made.query = gr.Textbox(
            label="Find an occupation",
            placeholder="press Enter",
            max_length=state.LONGEST_QUERY,
            elem_id="lk-hire-query",
            min_width=150,
        )
    with gr.Row():
        with gr.Column(min_width=340, scale=8):
            listed = gr.HTML(js_on_load=WATCH + PNG, elem_id="lk-hire-board", **BOARD)
        with gr.Column(min_width=340, scale=5) as for_dialogue:
            with gr.Row():
                made.occupation = _box("Occupation", "occupation", 150)
                made.pair = _box("Applicants, first named first", "pair", 200)
            panel = gr.HTML(js_on_load=PANEL, **BOARD)
    asked = gr.HTML(**BOARD)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(parts.HOW)
    with gr.Accordion("What this cannot show", open=False):
        gr.Markdown(parts.CANNOT)
    made.shown = [heading, sentence, marks, order, *models, answered, bars_head, listed, for_dialogue, panel, asked]
    return made


def _box(label: str, name: str, width: int) -> gr.Dropdown:
    return gr.Dropdown(label=label, elem_id=f"lk-hire-{name}", min_width=width)


def _many(label: str, name: str) -> gr.Dropdown:
    return gr.Dropdown(label=label, multiselect=True, elem_id=f"lk-hire-{name}", min_width=200)


def _choices(audit: Audit, view: HiringView, shown: Opened | None) -> list[Any]:
    """The updates of the controls."""
    models = [(words.title_of(audit, name), name) for name in audit.hiring.sources]
    rows, pairs, pair = [], [], None
    if shown is not None:
        rows = sorted(data.by_row(audit, shown.model, state.open_kind(view)), key=str.casefold)
        cut = shown.listed.iloc[:MOST_PAIRS]
        pairs = [
            (f"{one}, {other}", dialogue.pair_key(one, other))
            for one, other in zip(cut["first"], cut["second"], strict=True)
        ]
        if shown.at >= 0:
            pair = dialogue.pair_key(shown.row["first"], shown.row["second"])
            pairs += [] if shown.at < MOST_PAIRS else [(pair.replace("|", ", "), pair)]
    return [
        view.audit,
        gr.Dropdown(models, value=list(view.models), multiselect=True, visible=len(models) > 1),
        gr.Dropdown([(said, name) for name, said in state.KINDS.items()], value=view.kind, visible=bool(models)),
        gr.Checkbox(value=view.published),
        gr.Dropdown(list(published.MODELS), value=list(view.theirs), multiselect=True, visible=view.published),
        gr.Dropdown([(said, n) for n, said in state.measures_of(view).items()], value=state.measure_of(view)),
        gr.Dropdown([(said, name) for name, said in state.ORDERS.items()], value=view.order),
        gr.Textbox(value=view.query),
        gr.Dropdown(rows, value=shown.occupation if shown else None),
        gr.Dropdown(pairs, value=pair),
    ]


def _updates(audit: Audit, view: HiringView, missed: str = "") -> list[Any]:
    """One update per component of `outputs` in build, in their order. `missed` says what an address names in vain."""
    shown, listed = dialogue.opened(audit, view), data.bars(audit, view)
    opened = (shown.occupation, shown.model) if shown and not view.control else ("", "")
    board = bars.legend_html(listed, audit) + bars.bars_html(audit, view, listed, opened) + bars.files_html(view)
    filled = [
        words.heading_html() + hire_html("Try it with two names of your own"),
        missed_html(missed) + (words.state_html(audit, view) or parts.without_html(audit)),
        scatter.scatter_html(audit, view),
        answers.order_html(audit, view),
        *_models(audit, view),
        answers.answers_html(audit, view),
        parts.bars_head_html(audit, view, listed),
        board,
        gr.Column(visible=shown is not None),
        dialogue.panel_html(audit, view, shown),
        parts.asked_html(audit, view),
    ]
    return [*_choices(audit, view, shown), *map(unbroken, filled)]


def _models(audit: Audit, view: HiringView) -> list[Any]:
    """The chart of bias differences model by model, with its words and buttons."""
    figure = beside.models_figure(audit, view)
    if not figure.data:
        return ["", gr.Plot(visible=False), ""]
    source = f"audit {view.audit}; upright lines: all occupations, 95 % intervals"
    source += f"<br>hollow: published, {published.SOURCE}, Tables 1 and 2" if state.theirs_of(view) else ""
    drawn = finish(figure, "Bias difference by occupation, model by model", source)
    below = png_html(
        "lk-hire-models", state.file_name(view, "models"), f"csv/{SLUG}?{escape(to_address(view))}&amp;of=bars"
    )
    return [beside.models_html(audit, view), gr.Plot(drawn, visible=True), below]
