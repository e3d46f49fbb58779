"""Representation: who is pictured, how diverse, beside the labour force (Stable Bias, section 4.2.2, appendix D)."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers import _regions_groups as groups
from explorers import _representation as data
from explorers import _representation_calibration as calibration
from explorers import _representation_charts as charts
from explorers import _representation_view as state
from explorers import _representation_words as words
from explorers._charts import finish, legend_html, plot_options, png_html, unbroken
from explorers._representation_view import SORTS, RepresentationView, to_address
from explorers._shared import ASSETS, Params, View, escape
from explorers._wiring import BOARD, QUIET, chart, without_audit

SLUG = state.SLUG
TITLE = "Representation"
table = data.table
FILES = {"stable_bias_quintiles.csv": ASSETS / "published" / "stable_bias_quintiles.csv"}

PUBLISHED = "Show the 14 published systems (Stable Bias, Tables 3 and 13)"
HOW = """
Everything here counts in which *identity regions* images fell (see that tab); nobody labelled them. A region counts
for a phrase where the phrase is among the most frequent of its identity prompts: the top 2 of gender and tone, the
top 4 of ethnicity, and in at least a tenth of the prompts.

**Shares** cut each bar by the first phrase of the regions. **Diversity** is the entropy of the share over all
regions, in bits. **Bands** rank the professions by the labour force's share, cut them into five, and take the mean
share over the professions of each band; the dashed line is the labour force's mean over the same professions. Choose
systems and professions to see only these; up to twelve professions are drawn one by one.

Shares have Wilson's 95 % intervals, bands and diversity bootstrap intervals: images are drawn anew within each
profession, the professions stay. With few images diversity is too low on average; its interval makes good for that,
so it can lie to the right of its mark.
"""
CANNOT = """
A share counts images in regions whose *prompts* said a phrase. It does not say how many people of a group were
pictured: nobody was. The labour force is that of the United States in 2021, by the categories of its survey; being
like it is not the same as being fair. A wide interval says nothing in favour of a system. Skin tones stand for no
ethnicity, so nothing of the labour force is set beside them. The published systems were measured with other images
and other regions: compare shapes, not heights.
"""


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        return without_audit()
    parts = _components(stores)
    inputs = [parts.audit, parts.embedding, parts.k, parts.one, parts.other]
    inputs += [parts.systems, parts.professions, parts.published, parts.sort]
    outputs = [*inputs, parts.heading, parts.body, *parts.shown]

    def show(view: RepresentationView) -> list[Any]:
        return _updates(stores[view.audit], view)

    def changed(*values: Any) -> list[Any]:
        view = state.from_params(stores, _params(values))
        return [*show(view), to_address(view)]

    def open_view(params: Params) -> list[Any]:
        return show(state.from_params(stores, params))

    for box in inputs[:-1]:
        box.input(changed, inputs, [*outputs, address_bar], trigger_mode="always_last", **QUIET)
    return View(outputs, open_view)


def _params(values: tuple[Any, ...]) -> dict[str, list[str]]:
    """What the components hold, read like an address: it comes from a browser."""
    audit, embedding, k, one, other, systems, professions, published, sort = values
    lists = {"s": systems, "p": professions}
    return {
        "audit": [str(audit)],
        "embedding": [str(embedding)],
        "k": [str(k)],
        "one": [str(one)],
        "other": [str(other)],
        **{name: [str(v) for v in value] if isinstance(value, list) else [] for name, value in lists.items()},
        "published": ["1" if published is True else ""],
        "sort": [str(sort)],
    }


def _components(stores: Mapping[str, Audit]) -> SimpleNamespace:
    """Lay the tab out. `shown` are the parts that a view fills, in the order of `_updates`."""
    made = SimpleNamespace()
    png = {**BOARD, "js_on_load": "window.likenessCharts && window.likenessCharts.png(element);"}
    made.audit = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-repr-audit")
    with gr.Row():
        made.one = gr.Dropdown(label="Regions of the phrase", elem_id="lk-repr-one", min_width=160)
        made.other = gr.Dropdown(label="and of the phrase", elem_id="lk-repr-other", min_width=160)
        made.systems = gr.Dropdown(
            label="Systems (none: all)", multiselect=True, elem_id="lk-repr-systems", min_width=220
        )
        label = "Professions (none: all)"
        made.professions = gr.Dropdown(label=label, multiselect=True, elem_id="lk-repr-professions", min_width=220)
    made.heading = gr.HTML(min_height=64, **BOARD)
    with gr.Column() as made.body:
        with gr.Row():
            stack = _chart("lk-repr-stack")
            diversity = _chart("lk-repr-diversity")
        made.published = gr.Checkbox(label=PUBLISHED, elem_id="lk-repr-published", container=False)
        with gr.Row():
            one = _chart("lk-repr-band-one")
            other = _chart("lk-repr-band-other")
        files = gr.HTML(**BOARD)
        both, professions = gr.HTML(**BOARD), gr.HTML(**BOARD)
        with gr.Accordion("Adjectives", open=False):
            adjectives = gr.HTML(**BOARD)
        with gr.Accordion("Calibration: how far can the regions be trusted?", open=False):
            checked = gr.HTML(**png)
            truth = gr.Plot(visible=False, **plot_options("lk-repr-truth"))
        with gr.Accordion("Embedding and number of regions", open=False), gr.Row():
            made.embedding = gr.Dropdown(label="Embedding", elem_id="lk-repr-embedding", min_width=160)
            made.k = gr.Dropdown(label="Number of regions", elem_id="lk-repr-k", min_width=160)
        with gr.Accordion("How to read this", open=False):
            gr.Markdown(HOW)
        with gr.Accordion("What this cannot show", open=False):
            gr.Markdown(CANNOT)
    made.sort = gr.Textbox("-diversity", visible="hidden", label="Order of the tables", elem_id="lk-repr-sort")
    made.shown = [*stack, *diversity, *one, *other, files, both, professions, adjectives, checked, truth]
    return made


def _chart(name: str) -> tuple[gr.HTML, gr.Plot, gr.HTML]:
    with gr.Column(min_width=340):
        return chart(name)


def _choices(view: RepresentationView, audit: Audit) -> list[Any]:
    """The updates of the controls."""
    regions = state.regions_of(audit, view)
    phrases = [(f"{axis}: {phrase}", f"{axis}:{phrase}") for axis, phrase in groups.phrases_of(regions)]
    professions = state.professions_of(audit)
    return [
        view.audit,
        gr.Dropdown(groups.embeddings_of(audit), value=view.embedding),
        gr.Dropdown([str(k) for k in groups.sizes_of(audit, view.embedding)], value=str(view.k)),
        gr.Dropdown(phrases, value=":".join(view.one), visible=bool(phrases)),
        gr.Dropdown(phrases, value=":".join(view.other), visible=bool(phrases)),
        gr.Dropdown(state.systems_of(audit), value=list(view.systems), multiselect=True, visible=True),
        gr.Dropdown(professions, value=list(view.professions), multiselect=True, visible=True),
        gr.Checkbox(value=view.published),
        view.sort if view.sort.removeprefix("-") in SORTS else "-diversity",
    ]


def _updates(audit: Audit, view: RepresentationView) -> list[Any]:
    """One update per component of `outputs` in build, in their order."""
    if not view.k or not state.systems_of(audit):
        hidden = [gr.Dropdown(visible=False)] * 6
        why = groups.missing_html(audit) or "<p>This audit has no images of profession prompts to compare.</p>"
        text = f'<h2 class="lk-question">{TITLE}</h2>{why}'
        blank = ["", None, ""] * 4 + ["", "", "", "", "", gr.Plot(visible=False)]
        return [view.audit, *hidden, False, view.sort, text, gr.Column(visible=False), *blank]
    source = f"{view.k} regions of {view.embedding}; audit {view.audit}; lines: 95 % intervals; CPS 2021"
    bands = f"csv/{SLUG}?{escape(to_address(view))}&amp;of=bands"
    plots = [
        ("stack", words.stack_html(audit, view), charts.stack_figure(audit, view), "Shares by group of regions"),
        ("diversity", words.diversity_html(audit, view), charts.diversity_figure(audit, view), "Diversity in bits"),
    ]
    for name, phrase in (("band-one", view.one), ("band-other", view.other)):
        title = f"Images in regions of {phrase[1]}, by band of the labour force"
        plots.append((name, words.band_html(audit, view, phrase), charts.band_figure(audit, view, phrase), title))
    shown: list[Any] = []
    for name, above, figure, title in plots:
        csv = bands if name.startswith("band") else ""
        shown += [above, finish(figure, title, source), png_html(f"lk-repr-{name}", f"{SLUG}-{name}", csv)]
    link = f'<a class="lk-button" href="files/{SLUG}/stable_bias_quintiles.csv" download>Published bands (CSV)</a>'
    filled = [
        words.heading_html(audit, view),
        gr.Column(visible=True),
        *shown,
        f'<p class="lk-actions">{link}</p>' if view.published else "",
        words.both_html(audit, view),
        f"<h3>Professions</h3>{words.summary_html(audit, view)}",
        words.summary_html(audit, view, "adjective"),
        *_calibration(audit, view, source),
    ]
    return [*_choices(view, audit), *map(unbroken, filled)]


def _calibration(audit: Audit, view: RepresentationView, source: str) -> list[Any]:
    """The panel's words, and its chart where something was planted."""
    if calibration.planted(audit, *view.one).empty:
        return [calibration.labels_html(audit, view), gr.Plot(visible=False)]
    figure = finish(calibration.truth_figure(audit, view), f"Planted and recovered shares of {view.one[1]}", source)
    text = calibration.truth_html(audit, view) + legend_html(state.systems_of(audit)[: state.MOST_SYSTEMS])
    return [text + png_html("lk-repr-truth", f"{SLUG}-calibration"), gr.Plot(value=figure, visible=True)]
