"""The panel "Compare two applicants" of the tab Live: its controls, the prompts that they make, and asking."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import gradio as gr

from backend.hiring_texts import LONGEST_PERSON
from backend.live_ask import Asking, AskNews
from backend.live_hire import BOTH, FIELDS, ONE, WISHED, Applicants
from backend.spec import SpecError
from backend.waiting import LiveError
from explorers._charts import unbroken
from explorers._live import problem_html
from explorers._live_ask import news_html
from explorers._live_hire import WELCOME, compared_html, from_params, prompt_html, to_address
from explorers._shared import Params, escape
from explorers._wiring import BOARD

INTRO = """
<h2>Compare two applicants now</h2><p class="lk-reading">Write two names and choose an occupation. A model is asked
which skills each has, whether each is qualified (Q1), who is more qualified (Q2) and who held the position (Q3).
It is told only their names, their order, and the skills that it said itself each has. Nothing is kept: the answers
go to this page alone.</p>
"""
HOW = """
**Both orders** asks everything twice, the second time with the two names exchanged and all else the same. Where the
same name is chosen both times, the choice followed the **name**; where whoever is named first (or second) is chosen
both times, it followed the **place**.

Skills, knowledge and abilities come first: 15 of an occupation, each asked of each name. What was affirmed is told
again in Q1 to Q3; so a later answer can differ because an earlier one did.

A model that runs here gives every option a **probability**: the likelihood of its words after the prompt, for one token
on average. A model behind an endpoint answers in words; where no option can be read in them, or it refused, that is
shown as it came.

Nobody is asked for the gender of a name, and none is guessed. What a pair of a woman's and a man's name counts as is
counted in the tab Hiring, over many pairs.
"""
NO_MODELS = "No model that reads text can be asked, or what is asked cannot be read: the server's log says why."
BOXES = [("Both orders of the names", BOTH), ("As typed only", ONE)]


class HirePanel:
    """The panel's components and events. `outputs` and `open` are as in `_shared.View`; `asking` holds the models of
    "Ask a model" (None: there are none)."""

    def __init__(self, asking: Asking | None, address_bar: gr.HTML, at_once: Mapping[str, Any]) -> None:
        self.inputs, self.outputs = [], []
        self.applicants = _applicants(asking)
        if self.applicants is None:
            gr.HTML(f"{INTRO}{problem_html(NO_MODELS)}", elem_classes="lk-board", apply_default_css=False)
            return
        made = self.made = _components(self.applicants)
        self.inputs = [made.model, made.first, made.second, made.occupation, made.orders]
        self.outputs = [*self.inputs, made.prompt]
        quiet = {"show_progress": "hidden", "api_visibility": "private"}
        self._connect(address_bar, {"queue": False, **quiet})

        def ask(model, first, second, occupation, orders, request: gr.Request):
            said = named([model, first, second, occupation, orders])
            yield from run(self.applicants, said, str(request.session_hash))

        for event in (made.ask.click, made.first.submit, made.second.submit):
            event(ask, self.inputs, [made.board, address_bar], **quiet, **at_once)

    def _connect(self, address_bar: gr.HTML, quiet: Mapping[str, Any]) -> None:
        made, after = self.made, [self.made.prompt, address_bar]
        last = {"trigger_mode": "always_last", **quiet}
        for box in (made.model, made.occupation, made.orders):
            box.input(self._changed, self.inputs, after, **last)
        for box in (made.first, made.second):
            box.change(self._typed, self.inputs, made.prompt, **last)
            box.blur(self._changed, self.inputs, after, **last)

        def stop(request: gr.Request) -> None:
            self.applicants.cancel(str(request.session_hash))

        made.cancel.click(stop, None, None, **quiet)

    def open(self, params: Params) -> list[Any]:
        """One update per component of `outputs`, as an address says."""
        if self.applicants is None:
            return []
        wish = from_params(self.applicants, params)
        return [wish.model, wish.first, wish.second, wish.occupation, wish.orders, self._prompt(asdict(wish))]

    def address(self, values: Sequence[Any]) -> str:
        """The address of what the controls hold; "" where nobody can be asked."""
        return to_address(self.applicants.settled(named(values))) if self.applicants else ""

    def _changed(self, *values: Any) -> tuple[Any, str]:
        return self._typed(*values), self.address(values)

    def _typed(self, *values: Any) -> Any:
        if not all(isinstance(value, str) for value in values):
            return gr.skip()  # told before the page has filled its controls
        return self._prompt(named(values))

    def _prompt(self, values: Mapping[str, Any]) -> str:
        """How many prompts and the first, or why there is none."""
        try:
            wish = self.applicants.checked(values)
        except LiveError as error:
            return f'<p class="lk-problem" role="status">{escape(error)}</p>'
        return prompt_html(self.applicants.known[wish.model], self.applicants.plan(wish), wish)


def named(values: Sequence[Any]) -> dict[str, Any]:
    """What the controls hold, by name; an empty dropdown holds None."""
    return dict(zip(WISHED, values, strict=False))


def _applicants(asking: Asking | None) -> Applicants | None:
    if asking is None:
        return None
    try:
        applicants = Applicants(asking)
    except SpecError as error:
        print(f"Error: Live: {error}", file=sys.stderr)
        return None
    return applicants if applicants.known else None


def run(applicants: Applicants, values: Mapping[str, Any], visitor: str) -> Iterator[tuple[Any, Any]]:
    """Ask for one visitor: (the board's HTML, the view's address) again and again. The values are a browser's."""
    try:
        wish = applicants.checked(values)
        title = applicants.known[wish.model].spec.title
        yield news_html(title, None), to_address(wish)
        for news in applicants.ask(wish, visitor):
            done = news_html(title, news) if isinstance(news, AskNews) else unbroken(compared_html(news))
            yield done, gr.skip()
    except LiveError as error:
        yield problem_html(str(error)), gr.skip()


def _components(applicants: Applicants) -> SimpleNamespace:
    made = SimpleNamespace()
    gr.HTML(INTRO, **BOARD)
    wish = applicants.settled(dict(zip(("first", "second"), applicants.usual, strict=True)))
    models = [
        (one.spec.title + (" (not available)" if one.lacking else ""), name) for name, one in applicants.known.items()
    ]
    with gr.Row():
        made.model = gr.Dropdown(models, value=wish.model, label="Model", elem_id="lk-hire-live-model", min_width=220)
        made.first = _name(FIELDS["first"], wish.first, "first")
        made.second = _name(FIELDS["second"], wish.second, "second")
        jobs = {"label": "Occupation", "elem_id": "lk-hire-live-occupation", "min_width": 160}
        made.occupation = gr.Dropdown(list(applicants.occupations), value=wish.occupation, **jobs)
    orders = {"label": "Orders of the names", "elem_id": "lk-hire-live-orders"}
    made.orders = gr.Radio(BOXES, value=wish.orders, elem_classes="lk-modes", **orders)
    made.prompt = gr.HTML(min_height=180, elem_id="lk-hire-live-prompt", **BOARD)
    with gr.Row(elem_classes="lk-buttons"):
        made.ask = gr.Button("Ask", variant="primary", size="sm", min_width=160, elem_id="lk-hire-live-ask")
        made.cancel = gr.Button("Cancel", size="sm", min_width=120, elem_id="lk-hire-live-cancel")
    made.board = gr.HTML(WELCOME, min_height=240, elem_id="lk-hire-live-board", **BOARD)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW)
    return made


def _name(label: str, value: str, name: str) -> gr.Textbox:
    shown = {"label": label, "max_length": LONGEST_PERSON, "min_width": 160, "elem_id": f"lk-hire-live-{name}"}
    return gr.Textbox(value, **shown)
