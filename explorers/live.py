"""Live: a prompt of the visitor's own, drawn now, or a question put to a model now; one line for both."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gradio as gr

from backend.installed import lacking
from backend.live import GUIDANCE, HIGHEST_SEED, IMAGES, LONGEST_PROMPT, STEPS, Live, LiveError, News
from backend.spec import SpecError
from backend.starter.captions import known_words, profession_prompt
from backend.starter.words import PROFESSIONS
from backend.store import Audit
from backend.waiting import Line
from explorers._live import WELCOME, drawn_html, news_html, problem_html
from explorers._live_ask_controls import QUERY, Panel
from explorers._live_ask_links import ASK
from explorers._shared import ASSETS, Params, View, address, escape, first

SLUG = "live"
TITLE = "Live"
SPEC = ASSETS / "specs" / "starter.toml"
DEFAULTS = {"images": 8, "seed": 1, "steps": 20, "guidance": 2.0}
DRAW = "draw"
MODES = [("Draw pictures", DRAW), ("Ask a model", ASK)]
__all__ = ["QUERY", "SLUG", "TITLE", "build"]
AT_ONCE = 16
"""Visitors whose wishes Gradio lets come to backend.live, which lets fewer than that wait."""

INTRO = """
<h2>Draw it now</h2><p class="lk-reading">Choose a profession or write a prompt; a system draws it on this machine.
The starter's systems were made for this tool: they draw emoji-like figures, know some 60 words, and were taught a
planted bias: whom to draw when a prompt names only a profession. Nothing is kept: the pictures go to this page
alone.</p>
"""
HOW = """
Picture 1 has the seed that you gave, picture 2 the next one, and so on: the same seed, prompt and settings give the
same pictures. **Guidance** says how strongly the prompt pulls, **steps** how often the picture is improved.

The answers come from a small model that was taught on such drawings. They are what it answered, with the probability
that it gave to that answer, and no fact about anybody: nobody is pictured.
Sixteen pictures are few: the interval says how far the share of other seeds may lie.

The words that the starter's systems were taught: {words}.
"""


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    line = Line()
    mode = gr.Radio(MODES, value=DRAW, label="What to do here", elem_id="lk-live-mode", elem_classes="lk-modes")
    with gr.Column() as drawing:
        live, inputs, profession = _draw(address_bar, line)
    with gr.Column(visible=False) as asking:
        panel = Panel(stores, address_bar, line, {"concurrency_limit": AT_ONCE, "concurrency_id": SLUG})

    def switched(chosen: Any, *values: Any) -> list[Any]:
        asks = chosen == ASK
        shown = panel.address(values[len(inputs) :]) or address(SLUG, do=ASK)
        return [*_shown(asks), shown if asks else _address(live, values[: len(inputs)])]

    quiet = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    own = panel.outputs[: len(panel.inputs)]
    mode.input(switched, [mode, *inputs, *own], [drawing, asking, address_bar], **quiet)

    def opened(params: Params) -> list[Any]:
        asks = first(params, "do") == ASK
        drawn = _open(live, params) if live else []
        return [ASK if asks else DRAW, *_shown(asks), *drawn, *panel.open(params)]

    more = [profession] if live else []
    return View([mode, drawing, asking, *inputs, *more, *panel.outputs], opened, line.close)


def _shown(asks: bool) -> list[gr.Column]:
    return [gr.Column(visible=not asks), gr.Column(visible=asks)]


def _address(live: Live | None, values: Sequence[Any]) -> str:
    """The address of what the controls of drawing hold; of the panel alone where that cannot be drawn."""
    try:
        return address(SLUG, **asdict(live.wish(*values))) if live else address(SLUG)
    except LiveError:
        return address(SLUG)


def _draw(address_bar: gr.HTML, line: Line) -> tuple[Live | None, list[Any], Any]:
    """The panel that draws: what it draws with, its inputs, and the list of professions."""
    try:
        live = Live(Path(os.environ.get("LIKENESS_SYSTEMS") or SPEC), line)
    except SpecError as error:
        print(f"Error: Live: {error}", file=sys.stderr)
        gr.HTML(f'<h2>Draw it now</h2><p class="lk-problem" role="alert">{escape(error)}</p>')
        return None, [], None
    intro = INTRO + "".join(map(problem_html, lacking(live.systems.values())))
    gr.HTML(intro, elem_classes="lk-board", apply_default_css=False)
    inputs, profession = _controls(live)
    with gr.Row(elem_classes="lk-buttons"):
        draw = gr.Button("Draw", variant="primary", size="sm", min_width=160, elem_id="lk-live-draw")
        cancel = gr.Button("Cancel", size="sm", min_width=120, elem_id="lk-live-cancel")
    board = gr.HTML(WELCOME, elem_id="lk-live-board", elem_classes="lk-board", min_height=240, apply_default_css=False)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW.format(words=", ".join(known_words())))

    def drawing(system, prompt, images, seed, steps, guidance, request: gr.Request):
        yield from run(live, [system, prompt, images, seed, steps, guidance], str(request.session_hash))

    def stop(request: gr.Request) -> None:
        live.cancel(str(request.session_hash))

    quiet = {"show_progress": "hidden", "api_visibility": "private"}
    for event in (draw.click, inputs[1].submit):
        event(drawing, inputs, [board, address_bar], concurrency_limit=AT_ONCE, concurrency_id=SLUG, **quiet)
    cancel.click(stop, None, None, queue=False, **quiet)
    profession.input(_prompt_of, profession, inputs[1], queue=False, **quiet)
    return live, inputs, profession


def _controls(live: Live) -> tuple[list[Any], gr.Dropdown]:
    with gr.Row():
        names = list(live.systems)
        system = gr.Dropdown(names, value=names[0], label="System", min_width=160, elem_id="lk-live-system")
        jobs = {"label": "Profession", "min_width": 160, "elem_id": "lk-live-profession"}
        profession = gr.Dropdown(list(PROFESSIONS), value="firefighter", **jobs)
        prompt = gr.Textbox(
            profession_prompt("firefighter"),
            label="Prompt",
            max_length=LONGEST_PROMPT,
            min_width=320,
            scale=2,
            elem_id="lk-live-prompt",
        )
    with gr.Accordion("Pictures, seed, steps and guidance", open=False), gr.Row():
        images = gr.Slider(*IMAGES, DEFAULTS["images"], step=4, label="Pictures", min_width=160)
        bounds = {"minimum": 0, "maximum": HIGHEST_SEED, "precision": 0}
        seed = gr.Number(DEFAULTS["seed"], label="Seed of the first", min_width=120, **bounds)
        steps = gr.Slider(*STEPS, DEFAULTS["steps"], step=1, label="Steps", min_width=160)
        guidance = gr.Slider(*GUIDANCE, DEFAULTS["guidance"], step=0.5, label="Guidance", min_width=160)
    return [system, prompt, images, seed, steps, guidance], profession


def run(live: Live, values: Sequence[Any], visitor: str) -> Iterator[tuple[Any, Any]]:
    """Draw for one visitor: (the board's HTML, the view's address) again and again. The values are a browser's."""
    try:
        wish = live.wish(*values)
        yield news_html(wish, None), address(SLUG, **asdict(wish))
        for news in live.draw(wish, visitor):
            yield (news_html(wish, news) if isinstance(news, News) else drawn_html(news)), gr.skip()
    except LiveError as error:
        yield problem_html(str(error)), gr.skip()


def _prompt_of(profession: Any) -> Any:
    return profession_prompt(profession) if profession in list(PROFESSIONS) else gr.skip()


def _open(live: Live, params: Params) -> list[Any]:
    """The controls as an address says; values that they cannot hold are left as they are."""
    values = [first(params, name) for name in ("system", "prompt", *DEFAULTS)]
    system = values[0] if values[0] in live.systems else next(iter(live.systems))
    numbers = []
    for text, default in zip(values[2:], DEFAULTS.values(), strict=True):
        try:
            numbers.append(type(default)(text))
        except ValueError:
            numbers.append(default)
    try:
        wish = live.wish(system, values[1] or profession_prompt("firefighter"), *numbers)
    except LiveError:
        wish = live.wish(system, profession_prompt("firefighter"), *DEFAULTS.values())
    named = next((name for name in PROFESSIONS if profession_prompt(name) == wish.prompt), None)
    return [wish.system, wish.prompt, wish.images, wish.seed, wish.steps, wish.guidance, named]
