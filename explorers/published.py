"""Published results: two tables of two papers as figures, each with its n, its intervals and its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import gradio as gr
import pandas as pd

from explorers import _published_markers as markers
from explorers import _published_neutrality as neutrality
from explorers import _published_neutrality_words as answers
from explorers._charts import finish
from explorers._published_markers import PALETTE, colour
from explorers._shared import Params, View, address, escape, first

__all__ = ["FILES", "PALETTE", "SLUG", "TITLE", "build", "colour"]

SLUG = "published"
TITLE = "Published results"
FILES = markers.FILES | neutrality.FILES
OPTIONS: dict[str, dict[str, str]] = {  # control -> value in the address -> label; the first is the default
    "figure": {"markers": "Gender words in captions", "neutrality": "Neutral answers of models"},
    "text": {"caption": "Captions", "vqa": "Short answers (VQA)"},
    "rows": {"top": f"{markers.TOP} widest mean gaps", "all": "All 150"},
    "order": {"gap": "Mean gap", "labour": "Labour force", "name": "Name"},
    "measure": {"neutrality": "Neutrality", "ag": "AG (balance of guesses)"},
    "direction": {**neutrality.DIRECTIONS, "both": "Both"},
}
LABELS = {
    "figure": "Result",
    "text": "Words counted in",
    "rows": "Professions",
    "order": "Sort by",
    "measure": "Measure",
    "direction": "Direction",
}
INFO = {
    "text": "Captions: a model describes the image. Short answers: a model is asked a question about the image "
    "(visual question answering, VQA).",
    "order": "Mean gap: how far a profession’s marks lie from the labour force, averaged over the systems.",
    "measure": "Neutrality: how rarely a model guesses. AG: where its guesses fall.",
    "direction": "What the model is given: an image or a text. It answers in text.",
}
SOURCES = {
    "markers": "Luccioni et al. 2023, Table 18, n = 210 images per mark, lines: Wilson 95 % or wider; CPS 2021",
    "neutrality": "Sathe et al. 2024, Tables 2, 3, 7 and 8, n = 1,016 inputs per cell (AG: only the answers that chose)"
    "<br>No intervals drawn: for gender, image to text, they are in the table; the other counts are not published",
}
STYLE = """<style>
#published-plot { max-width: 60rem; min-height: 18rem; }
#published-plot svg :is(.xtick, .x2tick, .ytick, .cbaxis) text,
#published-plot svg :is(.xtitle, .x2title, .cbtitle, .legendtext, .annotation-text)
  { fill: var(--body-text-color) !important; }
.published-words { max-width: 60rem; line-height: 1.5; }
.published-words h2 { font-size: 1.35rem; font-weight: 600; line-height: 1.3; margin: .5rem 0; }
.published-words .note { color: var(--body-text-color); opacity: .85; font-size: .92em; margin-top: .5rem; }
.published-words p { margin: .35rem 0; }
.published-words a { text-decoration: underline; }
.published-legend { display: flex; flex-wrap: wrap; gap: .4rem 1.25rem; padding: 0; margin: .5rem 0; font-size: .92em; }
.published-legend li { list-style: none; margin: 0; }
.published-legend .scale { display: inline-block; width: 9rem; height: 1.1em; vertical-align: -.15em;
  color: #000; text-align: center; line-height: 1.1; font-size: .9em; border-radius: .2em; }
.published-files { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; }
.published-files :is(a, button) { min-height: 2.25rem; padding: .4rem .8rem; font: inherit; cursor: pointer;
  color: var(--body-text-color); background: transparent; text-decoration: none; border-radius: .4rem;
  border: 1px solid var(--border-color-primary); }
.published-files :is(a, button):hover { border-color: currentColor; }
.published-files :is(a, button):focus-visible, .published-table:focus-visible
  { outline: 3px solid #0072B2; outline-offset: 2px; }
.published-table { overflow: auto; max-height: 30rem; }
.published-table table { border-collapse: collapse; font-variant-numeric: tabular-nums; min-width: 34rem; }
.published-table :is(th, td) { padding: .25rem .75rem; border-bottom: 1px solid var(--border-color-primary);
  text-align: left; font-size: .92em; }
</style>"""
ELSEWHERE = (
    '<div class="published-words"><p>More published figures stand beside an audit’s own: those of “Hire Me or Not?” '
    'in <a class="lk-view" href="?tab=hiring">Hiring</a>, of “Mapping Bias in Vision Language Models” in '
    '<a class="lk-view" href="?tab=benchmarks&amp;task=utkface-race">Benchmarks</a>, and all of Sathe and others in '
    '<a class="lk-view" href="?tab=neutrality">Neutrality</a>.</p></div>'
)
# The PNG is drawn in the browser from the same figure, on white, with its question and source written on it.
DRAW_PNG = """
element.addEventListener('click', async (event) => {
  const button = event.target.closest('button[data-png]');
  const chart = document.querySelector('#published-plot .js-plotly-plot');
  if (!button || !chart || !window.Plotly) return;
  const layout = JSON.parse(JSON.stringify(chart.layout));
  const {question, source, height} = layout.meta;
  Object.assign(layout, {paper_bgcolor: '#ffffff', plot_bgcolor: '#ffffff', autosize: false, width: 900});
  const data = JSON.parse(JSON.stringify(chart.data));
  const extra = layout.legend ? 80 : 50;
  const below = 24 + 16 * source.split('<br>').length;
  layout.margin.t += extra;
  layout.margin.b += below;
  layout.height = height + extra + below;  // Gradio resizes the chart, and Plotly then drops layout.height
  layout.title = {text: question, x: 0.02, xanchor: 'left', y: 1, yref: 'container', yanchor: 'top',
                  pad: {t: 18}, font: {size: 18}};
  if (layout.legend) {
    layout.showlegend = true;
    layout.legend.y = 1 - 50 / layout.height;
  } else {
    layout.margin.r += 130;
    data.filter((trace) => trace.type === 'heatmap').forEach((trace) => { trace.showscale = true; });
  }
  layout.annotations = (layout.annotations || []).concat([{text: 'Source: ' + source, align: 'left', showarrow: false,
    x: 0, xref: 'paper', xanchor: 'left', xshift: -layout.margin.l + 18, y: 0, yref: 'paper', yanchor: 'bottom',
    yshift: -layout.margin.b + 10, font: {size: 12}}]);
  const size = {format: 'png', width: 900, height: layout.height, scale: 2};
  const link = document.createElement('a');
  link.href = await window.Plotly.toImage({data: data, layout: layout}, size);
  link.download = button.dataset.png;
  link.click();
});
"""
# Gradio gives a chart no name and a radio's fieldset no legend: both are named here, from words on the page.
NAME_PARTS = """
const panel = element.closest('[role=tabpanel]') || document.body;
const name = () => {
  const chart = panel.querySelector('#published-plot');
  if (chart && !chart.hasAttribute('role')) {
    chart.setAttribute('role', 'img');
    chart.setAttribute('aria-labelledby', 'published-chart-name');
  }
  panel.querySelectorAll('#published-plot svg:not([aria-hidden])').forEach((part) => {
    part.setAttribute('aria-hidden', 'true');
  });
  panel.querySelectorAll('fieldset:not([aria-label])').forEach((group) => {
    const title = group.querySelector('[data-testid=block-info]');
    if (title) group.setAttribute('aria-label', title.textContent.trim());
  });
};
name();
new MutationObserver(name).observe(panel, {childList: true, subtree: true});
"""


@lru_cache(maxsize=2)
def notes(figure: str) -> tuple[str, str, str]:
    """How to read a figure, what it cannot show, and its sources: the three parts of its Markdown file."""
    text = (markers.ASSETS / "published" / f"{figure}.md").read_text(encoding="utf-8")
    how, cannot, source = (part.split("\n", 1)[1].strip() for part in text.split("## ")[1:])
    return how, cannot, source


def chosen(params: Params) -> dict[str, Any]:
    """The controls' values that an address names; what it does not name, or names wrongly, is the default."""
    state: dict[str, Any] = {}
    for name, options in OPTIONS.items():
        value = first(params, name)
        state[name] = value if value in options else next(iter(options))
    wanted = set(params.get("p", []))
    return state | {"p": [name for name in markers.names() if name in wanted]}


def to_address(state: Mapping[str, Any]) -> str:
    """The address of a view: only what differs from the default."""
    named = {name: "" if state[name] == next(iter(OPTIONS[name])) else state[name] for name in OPTIONS}
    return address(SLUG, **named, p=list(state["p"]))


def table_html(table: pd.DataFrame, label: str, note: str = "") -> str:
    """A table that scrolls inside itself and can be reached by keyboard, under a note about its numbers."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.itertuples(index=False)
    )
    return (
        f'<div class="published-words"><p class="note">{_joined(note)}</p></div>'
        f'<div class="published-table" role="region" tabindex="0" aria-label="{escape(label)}"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def files_html(table: pd.DataFrame, figure: str) -> str:
    """The downloads: what is shown as CSV (inside the link, so nothing is kept), as PNG, and the whole table."""
    shown = "data:text/csv;charset=utf-8," + quote(table.to_csv(index=False))
    whole = next(iter((markers if figure == "markers" else neutrality).FILES))
    return (
        f'<div class="published-files"><a href="{shown}" download="likeness-{figure}.csv">Download CSV</a>'
        f'<button type="button" data-png="likeness-{figure}.png">Download PNG</button>'
        f'<a href="files/{SLUG}/{whole}" download>Whole published table (CSV)</a></div>'
    )


def _joined(text: str) -> str:
    """Escaped text in which a number and its per cent sign stay on one line."""
    return escape(text.replace(" %", "\u00a0%"))


def heading_html(question: str, intro: Sequence[str], legend: str, height: int) -> str:
    """The question, what a mark is, and the legend, which stands outside the chart so that it can wrap.

    It also holds the chart's name for screen readers, and keeps as much room for the chart as its rows need.
    """
    return (
        f"<style>#published-plot {{ min-height: {height}px; }}</style>"
        f'<div class="published-words"><h2>{escape(question)}</h2>'
        f"{''.join(f'<p>{_joined(line)}</p>' for line in intro)}"
        f'<p id="published-chart-name" hidden>Chart: {escape(question)} Its numbers are in the table below.</p>'
        f'<ul class="published-legend">{legend}</ul></div>'
    )


def words_html(sentence: str, note: str) -> str:
    """The sentence that reads the figure, then its n."""
    lead, small = _joined(sentence), _joined(note)
    return f'<div class="published-words"><p><strong>{lead}</strong></p><p class="note">{small}</p></div>'


def show(state: Mapping[str, Any]) -> list[Any]:
    """Everything that a view shows, in the order of `build`'s outputs after the controls."""
    if state["figure"] == "markers":
        text = state["text"]
        shown = markers.pick(text, state["rows"], state["order"], state["p"])
        question, drawn = markers.question(text), markers.figure(shown, text)
        words = words_html(markers.sentence(shown, text), markers.note(shown, text))
        intro, legend, remark = markers.intro(text), markers.legend(), markers.table_note(text)
        table, csv = markers.numbers(shown), markers.download(shown)
    else:
        measure = state["measure"]
        shown = neutrality.pick(state["direction"])
        question, drawn = neutrality.QUESTIONS[measure], neutrality.figure(shown, measure)
        words = words_html(answers.sentence(shown, measure), answers.note(shown))
        intro, legend, remark = answers.intro(measure), neutrality.legend(measure), answers.WITHOUT
        table, csv = answers.numbers(shown, measure), answers.download(shown)
    figure = state["figure"]
    return [
        gr.update(visible=figure == "markers"),
        gr.update(visible=figure == "neutrality"),
        heading_html(question, intro, legend, drawn.layout.height),
        finish(drawn, question, SOURCES[figure]),
        words,
        files_html(csv, figure),
        table_html(table, f"The numbers: {question}", remark),
        *notes(figure),
    ]


def _radio(name: str) -> gr.Radio:
    choices = [(label, value) for value, label in OPTIONS[name].items()]
    return gr.Radio(choices, value=choices[0][1], label=LABELS[name], info=INFO.get(name), min_width=260)


def build(stores: Mapping[str, Any], address_bar: gr.HTML) -> View:
    """The tab: a choice of result, its controls, the figure, its words. Published figures need no audit."""
    gr.HTML(STYLE, padding=False, visible="hidden")
    controls = {"figure": _radio("figure")}
    with gr.Column(elem_id="published-markers") as for_markers:
        with gr.Row():
            controls |= {name: _radio(name) for name in ("text", "rows", "order")}
        controls["p"] = gr.Dropdown(
            markers.names(), multiselect=True, label="Name professions to see only these", filterable=True
        )
    with gr.Column(visible=False, elem_id="published-neutrality") as for_neutrality, gr.Row():
        controls |= {name: _radio(name) for name in ("measure", "direction")}
    heading = gr.HTML(padding=False, apply_default_css=False)
    plot = gr.Plot(show_label=False, container=False, elem_id="published-plot")
    words = gr.HTML(padding=False, apply_default_css=False)
    files = gr.HTML(padding=False, apply_default_css=False, js_on_load=DRAW_PNG + NAME_PARTS)
    with gr.Accordion("The numbers as a table", open=False):
        table = gr.HTML(padding=False, apply_default_css=False)
    with gr.Accordion("How to read this", open=False):
        how = gr.Markdown()
    with gr.Accordion("What this cannot show", open=False):
        cannot = gr.Markdown()
    source = gr.Markdown()
    if stores:
        gr.HTML(ELSEWHERE, padding=False, apply_default_css=False)
    shown = [for_markers, for_neutrality, heading, plot, words, files, table, how, cannot, source]

    def change(*values: Any) -> list[Any]:
        state = dict(zip(controls, values, strict=True))
        return [*show(state), to_address(state)]

    def restore(params: Params) -> list[Any]:
        state = chosen(params)
        return [*(gr.update(value=state[name]) for name in controls), *show(state)]

    inputs = list(controls.values())
    for control in inputs:
        control.input(
            change, inputs, [*shown, address_bar], queue=False, show_progress="hidden", api_visibility="private"
        )
    return View([*inputs, *shown], restore)
