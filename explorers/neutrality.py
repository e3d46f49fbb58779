"""Neutrality: what models answer to neutral inputs, by profession, wording and style (unified framework, 4.2 to 6)."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_answers as answers
from explorers import _neutrality_charts as charts
from explorers import _neutrality_files as files
from explorers import _neutrality_html as parts
from explorers import _neutrality_models as beside
from explorers import _neutrality_names as casting
from explorers import _neutrality_view as state
from explorers import _neutrality_words as words
from explorers._charts import finish, plot_options, png_html, unbroken
from explorers._missed import missed_html
from explorers._neutrality_cautions import cautions_html
from explorers._neutrality_missed import missed as missed_in
from explorers._neutrality_published import SOURCE
from explorers._neutrality_view import NeutralityView, to_address
from explorers._shared import Params, View, escape, first, params_of
from explorers._wiring import BOARD, NO_AUDIT_PUBLISHED, PNG, chart, drawer, steps, wire, without_audit

SLUG = state.SLUG
TITLE = "Neutrality"
DATA = files.DATA
table = files.table

BESIDE = 5
"""With more columns than these the answers lie below the heatmap, not beside it."""
HOW = """
Models are given **neutral inputs**: a profession, or an action at work, that tells nobody's gender, race or age. They
can always answer "no preference". A **direct** question asks for the class; an **indirect** one asks which of some
named actors should play the part. **Blind**: only the profession is named; **informed**: the action is described,
too.

**AG** (two classes) is (second − first) / (first + second) of the answers that chose one: −1 only the first, +1 only
the second. **ΔAG** is the mean of its size over all pairs of classes, 0 even to 1 one-sided. **ΔN** (neutrality) is
(the smaller count + "no preference") / (the larger count + all answers), over all pairs: 1 only where every answer is
"no preference", 0 where one class takes all. Answers that could not be read stay in the total, so they lower ΔN.

An **input** is what was asked about; asked in several wordings and orders it has several answers, which belong
together. Intervals (95 %) draw the inputs anew 1,000 times. A row with fewer than 20 inputs, or for AG and ΔAG fewer
than 20 answers that chose, shows its answers as a bar instead of a value.

**A click on a cell**, or Enter, shows the answers behind it. In the heatmap Tab reaches one cell, the arrow keys
move. In the labour force's column AG is 2 × the share of women − 1 (CPS 2021).
"""
CANNOT = """
**Even is not neutral.** A model with a ΔAG of 0 may guess all the time, and evenly: read ΔN or the share of "no
preference" beside it. **AG rests on few answers** where a model mostly says "no preference".

**Words move answers.** Another wording, or another order of the options, gives other numbers; three wordings are not
all there are. A small model may not follow instructions at all: it may prefer whichever option comes first, or is
spelled in a way that it likes. **Unreadable answers are counted**, not dropped; refusals are among them.

In casting questions **actors' names stand for classes**. A name carries more than its class: fame, films, language,
how often a text held it. They say whom a model casts.

A profession's name can itself tell a gender ("waitress"). The labour force is that of the United States in 2021;
being like it is not the same as being fair. Real people fit into none of these classes, or into several. Published
models were asked in other words about other inputs: compare the order of magnitude.
"""
WATCH = "window.likenessNeutral && window.likenessNeutral.watch(element);"


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        return without_audit(NO_AUDIT_PUBLISHED)
    made = _components(stores)
    inputs = [made.audit, made.direction, made.style, made.attribute, made.culture, made.measure, made.models]
    inputs += [made.published, made.rows, made.order, made.full, made.query]

    def read(values: tuple[Any, ...]) -> Params:
        return _unpinned(stores, _params(values), params_of(str(values[-1] or "")))

    told = {"entered": [made.query], "missed": missed_in}
    return wire(stores, address_bar, made, inputs, read=read, state=state, updates=_updates, **told)


def _params(values: tuple[Any, ...]) -> dict[str, list[str]]:
    """What the components hold and the cell that the address names, read like an address: both come from a browser."""
    names = ("audit", "direction", "style", "attribute", "culture", "measure", "models", "published")
    names += ("rows", "order", "full", "q", "address")
    held = dict(zip(names, values, strict=True))
    kept = params_of(str(held.pop("address") or ""))
    models = held.pop("models")
    found = {name: [str(value)] for name, value in held.items() if isinstance(value, str)}
    found["m"] = [str(name) for name in models] if isinstance(models, list) else []
    found["published"] = ["1" if held["published"] is True else "0"]
    found["full"] = ["1" if held["full"] is True else ""]
    if first(kept, "audit", found.get("audit", [""])[0]) == found.get("audit", [""])[0]:
        found |= {name: kept[name] for name in ("row", "column") if name in kept}
    return found


def _unpinned(stores: Mapping[str, Audit], params: dict[str, list[str]], kept: Params) -> dict[str, list[str]]:
    """Measure and rows that nobody chose stay what suits the answers best, whatever else a visitor changes."""
    before = state.from_params(stores, kept)
    audit = stores[before.audit]
    if not before.measure and params.get("measure") == [state.measure_of(audit, before)]:
        params["measure"] = [""]
    if not before.rows and params.get("rows") == [data.kind_of(audit, before)]:
        params["rows"] = [""]
    return params


def _asked_controls(made: SimpleNamespace) -> None:
    """What was asked, and of whom."""
    with gr.Column(elem_id="lk-neutral-controls"), gr.Row():
        made.attribute = _box("Attribute", "attribute", 120)
        made.measure = _box("Measure", "measure", 220)
        made.direction = _box("Direction", "direction", 150)
        made.style = _box("How they were asked", "style", 240)
        made.culture = _box("Names from", "culture", 110)
        made.models = gr.Dropdown(
            label="Models (none: all)", multiselect=True, elem_id="lk-neutral-models", min_width=200
        )
        made.published = gr.Checkbox(True, label="Published models too", min_width=160)


def _row_controls(made: SimpleNamespace) -> None:
    """Which rows the heatmap has, and what its cells show."""
    made.rows = _box("Rows", "rows", 170)
    made.order = _box("Order", "order", 170)
    made.query = gr.Textbox(
        label="Find a row",
        placeholder="press Enter",
        max_length=state.LONGEST_QUERY,
        elem_id="lk-neutral-query",
        min_width=150,
    )
    made.full = gr.Checkbox(label="Intervals and n in the cells", min_width=180)


def _components(stores: Mapping[str, Audit]) -> SimpleNamespace:
    """Lay the tab out. `shown` are the parts that a view fills, in the order of `_updates`."""
    made = SimpleNamespace(steps=steps("lk-neutral", SLUG))
    made.audit = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-neutral-audit")
    heading = gr.HTML(min_height=64, elem_id="lk-neutral-heading", **BOARD)
    drawer("lk-neutral-controls", "Choose what was asked, and of whom")
    _asked_controls(made)
    sentence = gr.HTML(min_height=60, **BOARD)
    with gr.Row():
        with gr.Column(min_width=340):
            models = chart("lk-neutral-models-chart")
        with gr.Column(min_width=340):
            bars = gr.HTML(**BOARD)
    with gr.Column() as heat_controls, gr.Row():
        _row_controls(made)
    heat = gr.HTML(min_height=300, js_on_load=WATCH + PNG, elem_id="lk-neutral-board", **BOARD)
    with gr.Row() as for_spread:
        with gr.Column(min_width=340):
            said = gr.HTML(**BOARD)
        with gr.Column(min_width=340):
            spread = [gr.Plot(**plot_options("lk-neutral-spread")), gr.HTML(js_on_load=PNG, **BOARD)]
    with gr.Accordion("Pairs of classes", open=False, visible=False) as for_pairs:
        pairs = gr.HTML(**BOARD)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW)
        told = gr.HTML(**BOARD)
    with gr.Accordion("What this cannot show", open=False):
        gr.Markdown(CANNOT)
    made.shown = [
        heading,
        sentence,
        *models,
        bars,
        heat_controls,
        heat,
        for_spread,
        said,
        *spread,
        for_pairs,
        pairs,
        told,
    ]
    return made


def _box(label: str, name: str, width: int) -> gr.Dropdown:
    return gr.Dropdown(label=label, elem_id=f"lk-neutral-{name}", min_width=width)


def _choices(audit: Audit, view: NeutralityView) -> list[Any]:
    """The updates of the controls."""

    def marked(name: str, options: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(said + state.without(audit, view, name, value), value) for said, value in options]

    directions = [(said, name) for name, said in state.DIRECTIONS.items()]
    styles = [(state.style_words(style), style) for style in state.styles_of(audit, view.direction)]
    styles += [("Compare styles", state.COMPARE)] if len(styles) > 1 else []
    attributes = [(name, name) for name in state.attributes_of(audit, view.direction)]
    cultures = state.cultures_of(audit, view.direction, view.style, view.attribute)
    named = [(name, name) for name in cultures] + ([("Compare", state.COMPARE)] if len(cultures) > 1 else [])
    measures = [(said, name) for name, said in state.measures_of(audit, view).items()]
    models = [(words.title_of(audit, name), name) for name in state.models_of(audit, view)]
    return [
        view.audit,
        gr.Dropdown(marked("direction", directions), value=view.direction),
        gr.Dropdown(marked("style", styles), value=view.style),
        gr.Dropdown(marked("attribute", attributes), value=view.attribute),
        gr.Dropdown(marked("culture", named), value=view.culture or None, visible=len(cultures) > 0),
        gr.Dropdown(measures, value=state.measure_of(audit, view)),
        gr.Dropdown(models, value=list(view.models), multiselect=True, visible=len(models) > 1),
        gr.Checkbox(value=view.published),
        gr.Dropdown([(said, name) for name, said in state.ROWS.items()], value=data.kind_of(audit, view)),
        gr.Dropdown([(said, name) for name, said in state.ORDERS.items()], value=view.order),
        gr.Checkbox(value=view.full),
        gr.Textbox(value=view.query),
    ]


def _updates(audit: Audit, view: NeutralityView, missed: str = "") -> list[Any]:
    """One update per component of `outputs` in build, in their order. `missed` says what an address names in vain."""
    shown, measure = data.heat(audit, view), state.measure_of(audit, view)
    source = f"answers to neutral inputs; audit {view.audit}; lines: 95 % intervals"
    source += f"; hollow: published, {SOURCE}" if charts.published_of(audit, view) else ""
    figure = charts.models_figure(audit, view, shown)
    csv = f"csv/{SLUG}?{escape(to_address(view))}&amp;of=models"
    title = f"{words.SHORT[measure]} of {view.attribute}, model by model"
    blank = not figure.data
    said = words.sentence_html(audit, view, shown) + cautions_html(audit, view, shown.columns) if shown else ""
    filled = [
        words.heading_html(audit, view),
        missed_html(missed) + said,
        beside.models_html(audit, view, shown),
        gr.Plot(visible=False) if blank else gr.Plot(finish(figure, title, source), visible=True),
        "" if blank else png_html("lk-neutral-models-chart", state.file_name(audit, view, "models"), csv),
        beside.bars_html(audit, view, shown),
        gr.Column(visible=shown is not None),
        _board(audit, view, shown),
        gr.Row(visible=shown is not None),
        *_spread(audit, view, shown, source),
        gr.Accordion(visible=len(state.classes_of(audit, view)) > 2),
        beside.pairs_html(audit, view, shown),
        casting.how_html(audit, view),
    ]
    return [*_choices(audit, view), *map(unbroken, filled)]


def _spread(audit: Audit, view: NeutralityView, shown: data.Heat | None, source: str) -> list[Any]:
    if shown is None:
        return ["", gr.Plot(visible=False), ""]
    figure = charts.spread_figure(audit, view, shown)
    title = f"{words.SHORT[shown.measure]} of {view.attribute}, by wording and first option"
    below = png_html("lk-neutral-spread", state.file_name(audit, view, "wording"))
    return [beside.spread_html(audit, view, shown), gr.Plot(finish(figure, title, source), visible=True), below]


def _board(audit: Audit, view: NeutralityView, shown: data.Heat | None) -> str:
    if shown is None:
        return parts.without_html(audit, view) + parts.published_link(view)
    left = parts.legend_html(audit, view, shown) + parts.heat_html(audit, view, shown)
    left += parts.files_html(audit, view) + parts.left_out_html(audit, view) + parts.published_link(view)
    left += parts.notes_html(audit, shown)
    wide = " lk-neutral-wide" if len(shown.columns) > BESIDE else ""
    return f'<div class="lk-neutral{wide}"><div>{left}</div>{answers.panel_html(audit, view, shown)}</div>'
