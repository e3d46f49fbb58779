"""Identity regions: what identity prompts span in the image space, and where all images fall (Stable Bias, 4.2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import gradio as gr

from backend.store import Audit
from explorers import _regions, _regions_groups, _regions_map
from explorers._charts import finish, legend_html, plot_options, png_html, unbroken
from explorers._regions import MOST_SYSTEMS, RegionsView, to_address
from explorers._shared import Params, View, escape, first
from explorers._wiring import BOARD, QUIET, without_audit

SLUG = _regions.SLUG
TITLE = "Identity regions"
DATA = _regions_map.DATA
table = _regions.table

HOW = """
Each image is turned into numbers (an *embedding*) by a model that was asked about the person's appearance. Images of
*identity prompts*, which name a gender, an ethnicity or a tone, are grouped by likeness (Ward's method) into *regions*.
Every other image then counts for the region whose centre it lies nearest to. Nobody labels anything: a region is
described by what the prompts of its identity images said.

**The map** puts like images near each other (UMAP, fitted on the identity images). Only neighbourhood means something;
the axes and the distances between far groups do not. Drag with the lasso or the box to see the images; a click shows
one. The cards show each region without the map.

**The chart** has a row for each region and a mark for each system: the share of its images that fell there, with
Wilson's 95 % interval. Where two intervals overlap, the systems may not differ.

**Which embedding and number to trust**: compare rows of the quality table with the same number of regions. Little
entropy within a prompt and a stability near 1 are good; a stability under about 0.5 means that another draw of identity
images would have given other regions.
"""
CANNOT = """
A region is no gender, no ethnicity and nobody's identity: a generated person has none. A region can gather by clothes,
background, age or style as well; look at its pictures before believing its phrases. Its phrases tell which prompts led
there, not what the images of other prompts show. An image always gets a region, even if it resembles none.
"""


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        return without_audit()
    with gr.Row():
        audit = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-regions-audit")
        embedding = gr.Dropdown(label="Embedding", elem_id="lk-regions-embedding", min_width=160)
        number = gr.Dropdown(label="Number of regions", elem_id="lk-regions-k", min_width=160)
    heading = gr.HTML(min_height=64, **BOARD)
    with gr.Column() as body:
        chart_map = gr.HTML(js_on_load="window.likenessCharts && window.likenessCharts.watch(element);", **BOARD)
        legend = gr.HTML(**BOARD)
        chart = gr.Plot(**plot_options("lk-regions-chart"))
        files = gr.HTML(js_on_load="window.likenessCharts && window.likenessCharts.png(element);", **BOARD)
        cards = gr.HTML(**BOARD)
        with gr.Accordion("Which embedding and how many regions?", open=False):
            quality = gr.HTML(**BOARD)
        with gr.Accordion("How to read this", open=False):
            gr.Markdown(HOW)
        with gr.Accordion("What this cannot show", open=False):
            gr.Markdown(CANNOT)
    inputs = [audit, embedding, number]
    outputs = [*inputs, heading, body, chart_map, legend, chart, files, cards, quality]

    def show(view: RegionsView) -> list[Any]:
        return _updates(stores[view.audit], view)

    def changed(name: str, which: str, k: str, query: str) -> list[Any]:
        kept = parse_qs(str(query).lstrip("?")[:20_000], max_num_fields=500) if query else {}
        params = {"audit": [str(name)], "embedding": [str(which)], "k": [str(k)], "colour": [first(kept, "colour")]}
        view = _regions.from_params(stores, params)
        return [*show(view), to_address(view)]

    def open_view(params: Params) -> list[Any]:
        return show(_regions.from_params(stores, params))

    for box in inputs:
        script = "(audit, embedding, k) => [audit, embedding, k, location.search]"
        box.input(changed, [*inputs, address_bar], [*outputs, address_bar], js=script, **QUIET)
    return View(outputs, open_view)


def _updates(audit: Audit, view: RegionsView) -> list[Any]:
    """One update per component of `outputs` in build, in their order."""
    if not view.k:
        hidden = [gr.Dropdown(visible=False)] * 2
        text = f'<h2 class="lk-question">{TITLE}</h2>{_regions_groups.missing_html(audit)}'
        return [view.audit, *hidden, text, gr.Column(visible=False), "", "", None, "", "", ""]
    regions = _regions.regions_of(audit, view)
    drawn = _regions.share_figure(audit, regions)
    question = "Share of each system’s images by region"
    source = f"{view.k} regions of {view.embedding}; audit {view.audit}; lines: Wilson 95 % intervals"
    csv = f"csv/{SLUG}?{escape(to_address(view))}"
    more = audit.generations["system"].nunique() - MOST_SYSTEMS
    rest = f"<p>The first {MOST_SYSTEMS} systems are drawn; the CSV has {more} more.</p>" if more > 0 else ""
    filled = [
        view.audit,
        gr.Dropdown(_regions_groups.embeddings_of(audit), value=view.embedding, visible=True),
        gr.Dropdown([str(k) for k in _regions_groups.sizes_of(audit, view.embedding)], value=str(view.k), visible=True),
        _regions.heading_html(audit, regions),
        gr.Column(visible=True),
        _regions_map.map_html(audit, regions, view),
        f"<h3>{question}</h3>{_regions.reading_html(audit, regions)}{legend_html(_regions.systems_of(audit))}{rest}",
        finish(drawn, question, source),
        png_html("lk-regions-chart", SLUG, csv),
        _regions.cards_html(audit, regions, view),
        _regions.quality_html(audit, regions),
    ]
    return [*map(unbroken, filled)]
