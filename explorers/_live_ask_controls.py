"""The panel "Ask a model" of the tab Live: its controls, the prompt that they make, and asking."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.live_ask import Asked, Asking, AskNews, scaled, sent
from backend.live_questions import IMAGE, MODELS, names_action
from backend.pictures import PictureError
from backend.probes.actions import LONGEST_ACTION
from backend.spec import SpecError
from backend.store import Audit, StoreError
from backend.waiting import Line, LiveError
from explorers._charts import unbroken
from explorers._live import problem_html
from explorers._live_ask import WELCOME, asked_html, news_html, portrait_html, prompt_html
from explorers._live_ask_view import AskView, from_params, other_picture, to_address, view_of
from explorers._neutrality_view import DIRECTIONS, style_words
from explorers._shared import Params, escape
from explorers._wiring import BOARD

INTRO = """
<h2>Ask a model now</h2><p class="lk-reading">Put a neutral input to a model, in every wording and every order of the
options, and see what it chooses. It can always answer “no preference”. Nothing is kept: the answers go to this page
alone.</p>
"""
HOW = """
A **neutral input** is a profession, or an action at work, that tells nobody's gender, race or age. A **direct**
question asks for the class; a **casting task** asks which of some named actors should play the part, and the names
stand for the classes. With the **profession only** the model is not told what happens.

A model that runs here gives every option a **probability**: the likelihood of its words after the prompt, for one
token on average, so that they add up to 100 % over the options. A model behind an endpoint answers in words; then the
bars are shares of the prompts.

The two lines under a bar are not errors of measurement: they are how far the answer moves when only the **wording**, or
only the **order** of the options, is another. Where a line is long, a single prompt would have told little.

An action of your own holds `<subject>` once, in the place of the person: “A <subject> is closing the shop”. It has at
most 20 words.

One input says nothing about a model as a whole. The tab Neutrality has many.
"""
UPLOAD = """
<div class="lk-ask-upload"><div class="lk-actions"><label class="lk-button">Use a picture of yours<input type="file"
accept="image/*" class="lk-near-file" aria-describedby="lk-ask-upload-note"></label>
<button type="button" class="lk-button" data-ask-back hidden>Back to the audit’s picture</button></div>
<p class="lk-reading" id="lk-ask-upload-note">or paste or drop one. It is scaled to at most 512 pixels, goes to this app
and the model alone, and is kept nowhere.</p><p class="lk-near-problem" role="alert"></p>
<figure class="lk-figure lk-ask-own" hidden></figure></div>
"""
SHOW = "window.likenessAsk && window.likenessAsk.show();"
SEND = "(...values) => [...values.slice(0, -1), window.likenessAsk ? window.likenessAsk.picture() : '']"


def picture(stores: Mapping[str, Audit], params: Params, body: bytes) -> tuple[bytes, str] | str:
    """A visitor's picture, checked and scaled to what is asked about; a sentence where it is none."""
    try:
        return scaled(body)
    except PictureError as error:
        words = str(error).replace("scale it down or raise --max-megapixels", "scale it down")
        return f"{words[:1].upper()}{words[1:]}."


QUERY = {"picture": picture}


class Panel:
    """The panel's components and events. `outputs` and `open` are as in `_shared.View`."""

    def __init__(
        self, stores: Mapping[str, Audit], address_bar: gr.HTML, line: Line, at_once: Mapping[str, Any]
    ) -> None:
        self.stores, self.inputs, self.outputs = stores, [], []
        self.asking = _asking(line)
        if self.asking is None:
            gr.HTML(f"{INTRO}{problem_html(NO_MODELS)}", elem_classes="lk-board", apply_default_css=False)
            return
        made = self.made = _components(stores)
        self.inputs = [made.model, made.direction, made.style, made.attribute, made.culture, made.profession]
        self.inputs += [made.action, made.audit, made.of]
        self.outputs = [*self.inputs, made.listed, made.pictures, made.portrait, made.prompt]
        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        self._connect(address_bar, {"queue": False, **quiet})

        def ask(model, direction, style, attribute, culture, profession, action, audit, of, own, request: gr.Request):
            said = _named([model, direction, style, attribute, culture, profession, action, audit, of])
            yield from run(self.asking, stores, said, own, str(request.session_hash))

        shown = [made.board, address_bar]
        made.ask.click(ask, [*self.inputs, address_bar], shown, js=SEND, **quiet, **at_once)

    def _connect(self, address_bar: gr.HTML, quiet: Mapping[str, Any]) -> None:
        made, after = self.made, [*self.outputs, address_bar]
        named = {"model": made.model, "profession": made.profession}
        for box in (made.model, made.direction, made.style, made.attribute, made.culture, made.profession, made.audit):
            name = next((name for name, one in named.items() if one is box), "")
            box.input(self._changed(name), self.inputs, after, trigger_mode="always_last", **quiet)
        made.of.submit(self._changed(), self.inputs, after, trigger_mode="always_last", **quiet)
        made.other.click(self._changed("other"), self.inputs, after, trigger_mode="always_last", **quiet)
        listed = [*self.inputs, made.listed]
        made.listed.input(self._changed("listed"), listed, after, trigger_mode="always_last", **quiet)
        made.action.change(self._typed, self.inputs, made.prompt, trigger_mode="always_last", **quiet)
        made.action.blur(self._left, self.inputs, [made.prompt, address_bar], trigger_mode="always_last", **quiet)

        def stop(request: gr.Request) -> None:
            self.asking.cancel(str(request.session_hash))

        made.cancel.click(stop, None, None, **quiet)

    def open(self, params: Params) -> list[Any]:
        """One update per component of `outputs`, as an address says."""
        return self._updates(from_params(self.stores, self.asking.known, params)) if self.asking else []

    def address(self, values: Sequence[Any]) -> str:
        """The address of what the controls hold."""
        return to_address(self.asking.known, self._view(_named(values))) if self.asking else ""

    def _view(self, values: Mapping[str, Any]) -> AskView:
        return view_of(self.stores, self.asking.known, values)

    def _changed(self, what: str = "") -> Callable[..., list[Any]]:
        def changed(*values: Any) -> list[Any]:
            known, said = self.asking.known, _named(values)
            one = known.get(str(said["model"]))
            if what == "model" and one and said["profession"] not in one.actions:
                own = not any(said["profession"] in other.actions for other in known.values())
                said |= {} if own else {"profession": "", "action": ""}
            if what == "profession" and one and said["profession"] in one.actions:
                said["action"] = ""  # the first of its own
            if what == "listed":
                said["action"] = values[-1]
            view = self._view(said)
            view = other_picture(self.stores, view) if what == "other" else view
            return [*self._updates(view), to_address(known, view)]

        return changed

    def _typed(self, *values: Any) -> Any:
        if not all(isinstance(value, str) for value in values[:4]):
            return gr.skip()  # told before the page has filled its controls
        return self._prompt(_named(values), self._view(_named(values)))

    def _left(self, *values: Any) -> tuple[Any, str]:
        return self._typed(*values), self.address(values)

    def _prompt(self, values: Mapping[str, Any], view: AskView) -> str:
        """The first prompt, or why there is none."""
        try:
            question = self.asking.question(dict(values))
            return prompt_html(self.asking.known[question.model], self.asking.probes(question), view)
        except LiveError as error:
            return f'<p class="lk-problem" role="status">{escape(error)}</p>'

    def _updates(self, view: AskView) -> list[Any]:
        question, known = view.question, self.asking.known
        one = known[question.model]
        styles = one.styles_of(question.direction)
        style = styles.get(question.style)
        cultures = one.cultures(style, question.attribute) if style else []
        acts = bool(style) and names_action(style)
        listed = one.actions.get(question.profession, ())
        models = [(_title(other), name) for name, other in known.items()]
        shown = [(text.replace("<subject>", "person"), text) for text in listed]
        return [
            gr.Dropdown(models, value=question.model),
            gr.Dropdown([(DIRECTIONS[name], name) for name in one.directions()], value=question.direction),
            gr.Dropdown([(style_words(name), name) for name in styles], value=question.style),
            gr.Dropdown(one.attributes(style) if style else [], value=question.attribute),
            gr.Dropdown([c for c in cultures if c], value=question.culture or None, visible=any(cultures)),
            gr.Dropdown(list(one.actions), value=question.profession),
            gr.Textbox(value=question.action, visible=acts),
            gr.Dropdown(value=view.audit or None, visible=view.about_picture and len(self.stores) > 1),
            gr.Textbox(value=view.of),
            gr.Dropdown(
                shown, value=question.action if question.action in listed else None, visible=acts and bool(listed)
            ),
            gr.Column(visible=view.about_picture),
            portrait_html(self.stores, view) if view.about_picture else "",
            self._prompt(asdict(question), view),
        ]


NO_MODELS = "The file of models cannot be used, so nobody can be asked: the server's log says why."
_NAMES = ("model", "direction", "style", "attribute", "culture", "profession", "action", "audit", "of")


def _named(values: Sequence[Any]) -> dict[str, Any]:
    """What the controls hold, by name; an empty dropdown holds None."""
    return dict(zip(_NAMES, values, strict=False))


def _title(known: Any) -> str:
    return known.spec.title + (" (not available)" if known.lacking else "")


def _asking(line: Line) -> Asking | None:
    path = Path(os.environ.get("LIKENESS_PROBES") or MODELS)
    try:
        asking = Asking(path, line)
    except SpecError as error:
        print(f"Error: Live: {str(error).replace(str(path), path.name)}", file=sys.stderr)
        return None
    return asking if asking.known else None


def run(
    asking: Asking, stores: Mapping[str, Audit], values: Mapping[str, Any], own: Any, visitor: str
) -> Iterator[tuple[Any, Any]]:
    """Ask for one visitor: (the board's HTML, the view's address) again and again. The values are a browser's."""
    try:
        question = asking.question(dict(values))
        view = view_of(stores, asking.known, {**values, **asdict(question)})
        mine = sent(own) if question.direction == IMAGE else None
        title = asking.known[question.model].spec.title
        yield news_html(title, None), to_address(asking.known, view)
        for news in asking.ask(question, mine or _stored(stores, view), visitor):
            if isinstance(news, AskNews):
                yield news_html(title, news), gr.skip()
            else:
                yield unbroken(_done(stores, news, view, mine, own)), gr.skip()
    except LiveError as error:
        yield problem_html(str(error)), gr.skip()


def _done(stores: Mapping[str, Audit], asked: Asked, view: AskView, mine: bytes | None, own: Any) -> str:
    kind = str(own)[5:].partition(";")[0]
    return asked_html(stores, asked, view, (mine, kind) if mine else None)


def _stored(stores: Mapping[str, Audit], view: AskView) -> bytes | None:
    """The audit's picture of a view. Raises LiveError where it cannot be read."""
    audit = stores.get(view.audit)
    row = audit.row_of(view.of) if audit else None
    if row is None:
        return None
    try:
        return audit.image(row)[0]
    except StoreError as error:
        raise LiveError("Picture: this audit is damaged; python -m backend status says where.") from error


def _components(stores: Mapping[str, Audit]) -> SimpleNamespace:
    made = SimpleNamespace()
    gr.HTML(INTRO, **BOARD)
    with gr.Row(elem_classes="lk-ask"):
        with gr.Column(scale=2, min_width=320):
            with gr.Row():
                made.model = _box("Model", "model", 200)
                made.direction = _box("Direction", "direction", 130)
            made.style = _box("How to ask", "style", 240)
            with gr.Row():
                made.attribute = _box("Attribute", "attribute", 120)
                made.culture = _box("Names from", "culture", 120)
            made.profession = _box("Profession (choose, or type one)", "profession", 200, allow_custom_value=True)
            made.listed = _box("One of its actions", "listed", 200)
            made.action = gr.Textbox(
                label="Action, <subject> for the person (yours or from the list)",
                max_length=LONGEST_ACTION,
                lines=2,
                elem_id="lk-ask-action",
            )
            _pictures(made, stores)
            made.prompt = gr.HTML(min_height=180, elem_id="lk-ask-prompt", **BOARD)
            with gr.Row(elem_classes="lk-buttons"):
                made.ask = gr.Button("Ask", variant="primary", size="sm", min_width=160, elem_id="lk-ask-ask")
                made.cancel = gr.Button("Cancel", size="sm", min_width=120, elem_id="lk-ask-cancel")
        with gr.Column(scale=3, min_width=320):
            made.board = gr.HTML(WELCOME, min_height=300, elem_id="lk-ask-board", **BOARD)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW)
    return made


def _pictures(made: SimpleNamespace, stores: Mapping[str, Audit]) -> None:
    with gr.Column(visible=False, elem_id="lk-ask-pictures") as made.pictures:
        gr.HTML(UPLOAD, js_on_load=SHOW, elem_id="lk-ask-upload", **BOARD)
        made.audit = _box("Audit", "audit", 160, choices=list(stores))
        with gr.Row(elem_classes="lk-ask-portrait"):
            made.portrait = gr.HTML(min_height=140, elem_id="lk-ask-portrait", **BOARD)
            with gr.Column(min_width=180):
                made.of = gr.Textbox(label="Picture of the audit (id, then Enter)", max_length=64, elem_id="lk-ask-of")
                made.other = gr.Button("Another picture", size="sm", elem_id="lk-ask-other")


def _box(label: str, name: str, width: int, **more: Any) -> gr.Dropdown:
    return gr.Dropdown(label=label, elem_id=f"lk-ask-{name}", min_width=width, **more)
