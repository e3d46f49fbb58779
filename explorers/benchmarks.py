"""Benchmarks: do they measure bias, and is the model fair on them? ("Mapping Bias in VLMs", sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers import _bench as data
from explorers import _bench_asked as asking
from explorers import _bench_errors as errors
from explorers import _bench_files as files
from explorers import _bench_html as parts
from explorers import _bench_published as published
from explorers import _bench_published_html as theirs
from explorers import _bench_scatter as scatter
from explorers import _bench_verdict as verdicts
from explorers import _bench_view as state
from explorers import _bench_words as words
from explorers._bench_view import BenchView
from explorers._charts import finish, png_html, unbroken
from explorers._missed import missed_html
from explorers._neutrality_charts import plot_text
from explorers._shared import View
from explorers._wiring import BOARD, NO_AUDIT_PUBLISHED, chart, drawer, steps, wire, without_audit

SLUG = state.SLUG
TITLE = "Benchmarks"
table = files.table


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        return without_audit(NO_AUDIT_PUBLISHED)
    made = _components(stores)
    inputs = [made.audit, made.task, made.models, made.by, made.published, made.wrong, made.condition]
    return wire(stores, address_bar, made, inputs, read=_params, state=state, updates=_updates, missed=state.missed)


def _params(values: tuple[Any, ...]) -> dict[str, list[str]]:
    """What the components hold, read like an address: both come from a browser. A page of wrong answers is left."""
    names = ("audit", "task", "m", "by", "published", "wrong", "condition", "address")
    held = dict(zip(names, values, strict=True))
    held.pop("address")
    found = {name: [value] for name, value in held.items() if isinstance(value, str)}
    found["m"] = [str(one) for one in held["m"]] if isinstance(held["m"], list) else []
    found["published"] = ["1" if held["published"] is True else "0"]
    return found


def _components(stores: Mapping[str, Audit]) -> SimpleNamespace:
    """Lay the tab out. `shown` are the parts that a view fills, in the order of `_updates`."""
    made = SimpleNamespace(steps=steps("lk-bench", SLUG))
    made.audit = gr.Dropdown(list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-bench-audit")
    heading = gr.HTML(words.heading_html(), min_height=64, elem_id="lk-bench-heading", **BOARD)
    drawer("lk-bench-controls", "Choose task and models")
    with gr.Column(elem_id="lk-bench-controls"), gr.Row():
        made.task = _box("Task", "task", 240)
        made.models = gr.Dropdown(
            label="Models (none: all)", multiselect=True, elem_id="lk-bench-models", min_width=200
        )
        made.by = _box("Compare groups of", "by", 160)
        made.published = gr.Checkbox(True, label="Published models too", min_width=160)
    sentence = gr.HTML(min_height=60, **BOARD)
    conditions, added = gr.HTML(**BOARD), gr.HTML(**BOARD)
    tradeoff = chart("lk-bench-chart")
    groups, scores, others = gr.HTML(**BOARD), gr.HTML(**BOARD), gr.HTML(**BOARD)
    with gr.Column() as for_errors:
        gr.HTML("<h3>Where is it wrong?</h3>", **BOARD)
        with gr.Row():
            made.wrong = _box("Wrong answers of", "wrong", 240)
            made.condition = _box("Asked", "condition", 160)
        listed = gr.HTML(**BOARD)
    asked = gr.HTML(**BOARD)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(asking.HOW)
    with gr.Accordion("What this cannot show", open=False):
        gr.Markdown(asking.CANNOT)
    made.shown = [heading, sentence, conditions, added, *tradeoff, groups, scores, others, for_errors, listed, asked]
    return made


def _box(label: str, name: str, width: int) -> gr.Dropdown:
    return gr.Dropdown(label=label, elem_id=f"lk-bench-{name}", min_width=width)


def _choices(audit: Audit, view: BenchView) -> list[Any]:
    """The updates of the controls; those that have nothing to choose from are not shown."""
    models, groups = state.models_of(audit, view.task), state.attributes_of(audit, view.task)
    named = [(data.title_of(audit, name), name) for name in models]
    shown = [(title, name) for title, name in named if name in state.shown_models(audit, view)]
    runs = [(said, name) for name, said in state.CONDITIONS.items() if name != "random"]
    return [
        view.audit,
        gr.Dropdown(_titled(audit), value=view.task),
        gr.Dropdown(named, value=list(view.models), multiselect=True, visible=len(named) > 1),
        gr.Dropdown(groups, value=view.by or None, visible=len(groups) > 1),
        gr.Checkbox(value=view.published, visible=_beside(audit, view.task)),
        gr.Dropdown(shown, value=state.wrong_model(audit, view) or None, visible=len(shown) > 1),
        gr.Dropdown(runs, value=view.condition),
    ]


def _beside(audit: Audit, task: str) -> bool:
    """Whether there are both the audit's own figures and published ones."""
    return published.any_of(task) and not state.published_only(audit, task)


def _titled(audit: Audit) -> list[tuple[str, str]]:
    """The tasks with their titles, and their own names where two titles would be the same; which are published only."""
    titles = state.titles(audit)
    said = list(titles.values())
    return [
        (
            (f"{title} ({name})" if said.count(title) > 1 else title)
            + (" (published only)" if state.published_only(audit, name) else ""),
            name,
        )
        for name, title in titles.items()
    ]


def _updates(audit: Audit, view: BenchView, missed: str = "") -> list[Any]:
    """One update per component of `outputs` in build, in their order. `missed` says what an address names in vain."""
    alone = state.published_only(audit, view.task)
    filled = [
        words.heading_html(),
        missed_html(missed) + (_without(audit, view) if alone else verdicts.state_html(audit, view)),
        parts.conditions_html(audit, view),
        parts.added_html(audit, view),
        *_chart(audit, view),
        parts.groups_html(audit, view),
        parts.scores_html(audit, view),
        theirs.published_html(audit, view),
        gr.Column(visible=not alone),
        errors.errors_html(audit, view),
        asking.asked_html(audit, view),
    ]
    return [*_choices(audit, view), *map(unbroken, filled)]


def _without(audit: Audit, view: BenchView) -> str:
    """Where the audit has no answers to the task: what to run, and first of all where it has none to any."""
    nothing = "" if audit.benchmarks.sources else words.without_html(audit)
    return nothing + words.published_only_html(audit, view)


def _chart(audit: Audit, view: BenchView) -> list[Any]:
    """The chart of performance against fairness, with its words and buttons."""
    figure = scatter.scatter_figure(audit, view)
    if not figure.data:
        return ["", gr.Plot(visible=False), ""]
    shown = state.shown_models(audit, view)
    who = f", {data.title_of(audit, shown[0])}" if len(shown) == 1 else ""
    about = plot_text(f"{state.titles(audit)[view.task]}{who}: performance and evenness", 1, 80)
    drawn = finish(figure, about, scatter.source_text(audit, view))
    below = png_html("lk-bench-chart", f"{SLUG}-{state.file_name(view.task)}-tradeoff")
    return [scatter.scatter_html(audit, view), gr.Plot(drawn, visible=True), below]
