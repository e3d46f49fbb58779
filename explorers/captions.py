"""Captions and answers: what models and people say of the images, against the labour force (Stable Bias, 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pandas as pd

from backend.store import Audit
from explorers import _captions_gap as gap
from explorers import _captions_words as words
from explorers._charts import finish, legend_html, plot_options, png_html
from explorers._shared import Params, View, address, count, escape, first
from explorers._texts import choices_of, flags_of, text_keys, texts_of
from explorers._wiring import QUIET

SLUG = "captions"
TITLE = "Captions and answers"
SHOWS = {
    "gap": "Against the labour force",
    "words": "Words that set apart",
    "search": "Search",
    "agreement": "Agreement",
}
SOURCE = "Words by assets/lexicon.csv; US labour force: CPS 2021; published: Luccioni et al. 2023, Table 18"
HOW = """
A model describes each image in a sentence (a caption) or answers a question about it. Words for a woman and words for a
man are counted, whole words only, after the profession's own name is taken out (so that "waitress" does not count as a
word for a woman where a waitress was asked for). A text with both kinds counts as both. % woman words is their share of
both; a profession whose texts hold neither has no value, which is not 0.

The gap is that share minus the share of women in the US labour force, in points. Log-odds say how much likelier a word
is in one group than in the other, drawn towards the words of all texts so that rare ones do not win by chance (Monroe
and others, 2008). A question with fixed answers gets the likeliest of them, with its share of the likelihood.
"""
CANNOT = """
A text says what a model reads into a picture; the model has biases of its own, and was shown a picture of nobody. Few
models say "person", so what they say is gendered more than what is drawn. A word list misses words that are not in it,
and other languages than its own. The labour force is that of the United States in 2021.
"""


@dataclass(frozen=True)
class CaptionsView:
    """Everything the tab shows, and all that its address holds."""

    audit: str
    text: str
    show: str = "gap"
    order: str = "gap"
    everything: bool = False
    published: bool = True
    by: str = "system"
    a: str = ""
    b: str = ""
    query: str = ""
    page: int = 1


def from_params(stores: Mapping[str, Audit], params: Params) -> CaptionsView:
    """The view that an address asks for; what it names and no audit has falls back to the default."""
    named = first(params, "audit")
    described = (audit for audit in stores.values() if text_keys(audit))
    audit = stores.get(named) or next(described, None) or next(iter(stores.values()))
    keys = text_keys(audit)
    text = first(params, "text")
    text = text if text in keys else next(iter(keys), "")
    show, order, by, page = (first(params, name) for name in ("show", "order", "by", "n"))
    by = by if by in words.GROUPS else "system"
    groups = words.groups_of(audit, text, by) if text else []
    a, b = first(params, "a"), first(params, "b")
    a = a if a in groups else next(iter(groups), "")
    b = b if b in groups and b != a else next((name for name in groups if name != a), a)
    return CaptionsView(
        audit.name,
        text,
        show if show in SHOWS else "gap",
        order if order in gap.ORDERS else "gap",
        first(params, "all") == "1",
        first(params, "published", "1") != "0",
        by,
        a,
        b,
        first(params, "q")[: words.LONGEST_QUERY],
        int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 6 and int(page) > 0 else 1,
    )


def to_address(view: CaptionsView) -> str:
    """The query string that restores a view."""
    pair = view.show == "words"
    return address(
        SLUG,
        audit=view.audit,
        text=view.text,
        show=view.show if view.show != "gap" else "",
        order=view.order if view.order != "gap" else "",
        all="1" if view.everything else "",
        published="" if view.published else "0",
        by=view.by if pair else "",
        a=view.a if pair else "",
        b=view.b if pair else "",
        q=view.query if view.show == "search" else "",
        n=view.page if view.page > 1 and view.show == "search" else "",
    )


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """A view as a table for download: the chart's marks, the words, or all texts with their markers."""
    view = from_params(stores, params)
    audit = stores[view.audit]
    if not view.text:
        return pd.DataFrame({"text": []})
    if view.show == "words":
        return words.compared(audit, view.text, view.by, view.a, view.b).reset_index(names="word")
    if view.show == "gap":
        return gap.picked(audit, view.text, view.order, view.everything, view.published).drop(columns="place")
    texts = texts_of(audit, view.text)
    texts = pd.concat([texts, flags_of(audit, view.text)], axis=1)
    ids = audit.generations["id"].iloc[texts["row"].to_numpy()].to_numpy()
    texts.insert(0, "id", ids)
    return texts.iloc[words.found(audit, view.text, view.query)] if view.show == "search" else texts


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        gr.HTML('<p class="lk-empty">No audit is open. The tab Browse says how to make one.</p>')
        return View([], lambda params: [])
    parts = _components(stores)
    inputs = [parts.audit, parts.text, parts.show, parts.order, parts.everything, parts.published]
    inputs += [parts.by, parts.a, parts.b, parts.query, parts.page]
    outputs = [*inputs, parts.for_gap, parts.for_words, parts.for_search, parts.pager]
    outputs += [parts.heading, parts.plot, parts.board, parts.back, parts.on]

    def read(values: tuple[Any, ...], step: int = 0) -> CaptionsView:
        audit, text, show, order, everything, published, by, a, b, query, page = map(str, values)
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 6 else 1
        params = {"audit": audit, "text": text, "show": show, "order": order, "by": by, "a": a, "b": b, "q": query}
        params |= {"all": "1" if everything == "True" else "", "published": "1" if published == "True" else "0"}
        params["n"] = str(max(1, number + step) if step else 1)
        return from_params(stores, {name: [value] for name, value in params.items()})

    def changed(*values: Any) -> list[Any]:
        view = read(values)
        return [*_updates(stores[view.audit], view), to_address(view)]

    def stepped(step: int):
        def go(*values: Any) -> list[Any]:
            view = read(values, step)
            return [*_updates(stores[view.audit], view), to_address(view)]

        return go

    def open_view(params: Params) -> list[Any]:
        view = from_params(stores, params)
        return _updates(stores[view.audit], view)

    for box in inputs[:-2]:
        box.input(changed, inputs, [*outputs, address_bar], trigger_mode="always_last", **QUIET)
    parts.query.submit(changed, inputs, [*outputs, address_bar], **QUIET)
    parts.back.click(stepped(-1), inputs, [*outputs, address_bar], **QUIET)
    parts.on.click(stepped(1), inputs, [*outputs, address_bar], **QUIET)
    return View(outputs, open_view)


def _components(stores: Mapping[str, Audit]) -> SimpleNamespace:
    made = SimpleNamespace()
    made.audit = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-captions-audit")
    made.heading = gr.HTML(elem_classes="lk-board", min_height=64, apply_default_css=False)
    with gr.Row():
        shows = [(label, value) for value, label in SHOWS.items()]
        made.show = gr.Radio(shows, value="gap", label="Show", min_width=300, elem_id="lk-captions-show")
        made.text = gr.Dropdown(label="Texts", min_width=300, elem_id="lk-captions-text")
    with gr.Row() as made.for_gap:
        orders = [(label, value) for value, label in gap.ORDERS.items()]
        made.order = gr.Radio(orders, value="gap", label="Sort by", min_width=300)
        with gr.Column(min_width=280):
            made.published = gr.Checkbox(True, label="Published systems too")
            made.everything = gr.Checkbox(False, label=f"All professions, not the {gap.TOP} widest gaps")
    with gr.Row(visible=False) as made.for_words:
        pairs = [(label, value) for value, label in words.GROUPS.items()]
        made.by = gr.Radio(pairs, value="system", label="Compare", min_width=240)
        made.a = gr.Dropdown(label="One", min_width=180, elem_id="lk-captions-a")
        made.b = gr.Dropdown(label="Another", min_width=180, elem_id="lk-captions-b")
    with gr.Row(visible=False) as made.for_search:
        made.query = gr.Textbox(
            label="Words that a text must hold",
            info="Whole words, in any order; press Enter",
            max_length=200,
            elem_id="lk-captions-query",
        )
    made.plot = gr.Plot(**plot_options("lk-captions-plot"))
    made.board = gr.HTML(elem_classes="lk-board", apply_default_css=False)
    with gr.Row(visible=False, elem_classes="lk-pager") as made.pager:
        made.back = gr.Button("Previous page", size="sm", min_width=120)
        made.on = gr.Button("Next page", size="sm", min_width=120)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW)
    with gr.Accordion("What this cannot show", open=False):
        gr.Markdown(CANNOT)
    made.page = gr.Textbox("1", visible="hidden", label="Page")
    return made


def _updates(audit: Audit, view: CaptionsView) -> list[Any]:
    """One update per component of `outputs` in build, in their order."""
    keys = text_keys(audit)
    last = -(-len(words.found(audit, view.text, view.query)) // words.PAGE) if view.text else 1
    page = min(view.page, max(last, 1))
    heading, plot, board = _content(audit, view, page) if view.text else (_none_html(audit), gr.Plot(visible=False), "")
    groups = words.groups_of(audit, view.text, view.by) if view.text else []
    searching = bool(view.text) and view.show == "search"
    return [
        view.audit,
        gr.Dropdown([(title, key) for key, title in keys.items()], value=view.text or None, visible=bool(keys)),
        gr.Radio(value=view.show, visible=bool(keys)),
        view.order,
        view.everything,
        view.published,
        view.by,
        gr.Dropdown(groups, value=view.a or None),
        gr.Dropdown(groups, value=view.b or None),
        view.query,
        str(page),
        gr.Row(visible=bool(view.text) and view.show == "gap"),
        gr.Row(visible=bool(view.text) and view.show == "words"),
        gr.Row(visible=searching),
        gr.Row(visible=searching and last > 1),
        heading,
        plot,
        board,
        gr.Button(interactive=page > 1),
        gr.Button(interactive=page < last),
    ]


def _content(audit: Audit, view: CaptionsView, page: int) -> tuple[str, Any, str]:
    """The heading, the chart and what stands under it."""
    noun = "caption" if view.text.endswith(":caption") else "answer"
    csv = f"csv/{SLUG}?{escape(to_address(view))}"
    download = f'<p class="lk-actions"><a class="lk-button" href="{csv}" download>Download CSV</a></p>'
    hidden = gr.Plot(visible=False)
    if view.show == "words":
        question = f"Which words set the {noun}s of {view.a} and {view.b} apart?"
        board = words.words_html(audit, view.text, view.by, view.a, view.b)
        return _heading(audit, view, question), hidden, board + download
    if view.show == "search":
        board = words.search_html(audit, view.text, view.query, page, to_address(view))
        return _heading(audit, view, f"Of which images does the {noun} say this?"), hidden, board + download
    if view.show == "agreement":
        question = "Do models and labels say the same of an image?"
        return _heading(audit, view, question), hidden, words.agreement_html(audit) + download
    question = f"When {'a' if noun == 'caption' else 'an'} {noun} mentions a woman or a man, how often is it a woman?"
    shown = gap.picked(audit, view.text, view.order, view.everything, view.published)
    if shown.empty:
        return _heading(audit, view, question), hidden, gap.summary_html(audit, view.text)
    systems = words.groups_of(audit, view.text, "system")
    starred = gap.gendered(audit, view.text, list(shown["profession"].unique()))
    drawn = gap.figure(shown, systems, starred)
    lead = f'<p class="lk-state">{escape(gap.sentence(shown, noun))}</p>{legend_html(systems, gap.legend_more(shown))}'
    below = f'<p class="lk-reading">{escape(gap.note(shown, starred))}</p>'
    below += png_html("lk-captions-plot", f"captions-{view.text.split(':')[1]}", csv) + gap.summary_html(
        audit, view.text
    )
    plot = gr.Plot(finish(drawn, question, SOURCE), visible=True)
    return _heading(audit, view, question) + lead, plot, below


def _heading(audit: Audit, view: CaptionsView, question: str) -> str:
    texts = texts_of(audit, view.text)
    said = f"{count(len(texts), 'text')} about {count(len(audit), 'image')}"
    choices = choices_of(audit, view.text)
    if choices:
        outside = int((~texts["answer"].isin(choices)).sum())
        said += f"; allowed answers: {', '.join(choices[:20])}; {outside:,} outside them"
    if len(texts) < len(audit):
        said += f"; {count(len(audit) - len(texts), 'image')} without one"
    term = '<p class="lk-term">Text markers</p>'
    return f'{term}<h2 class="lk-question">{escape(question)}</h2><p class="lk-count">{escape(said)}.</p>'


def _none_html(audit: Audit) -> str:
    """What an audit without texts says: the commands that make them."""
    name = escape(audit.name)
    return (
        f"<h2>What do captions say of these images?</h2><p>{name} has no captions and no answers yet. Make them with "
        "the models of Stable Bias, with others (<code>assets/describers</code>), or take your own from a CSV file:</p>"
        f"<pre>.venv/bin/python -m backend describe {name} assets/describers/stable-bias.toml\n"
        f".venv/bin/python -m backend import-texts {name} captions.csv</pre>"
        "<p>A column <code>label_caption</code> of the images' own table is read without a command. Then start the app "
        "again.</p>"
    )
