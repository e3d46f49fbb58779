"""What the tabs around a store have in common: parts that lie in all of them, and the events between an address and a
page. A tab gives its components, how they are read, and what fills them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers._charts import plot_options
from explorers._shared import Params, View, first, params_of

BOARD = {"elem_classes": "lk-board", "apply_default_css": False, "padding": False}
"""Of a gr.HTML that holds words, tables and pictures."""
QUIET = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
"""Of an event that only shows what is stored."""
NO_AUDIT = "<p>No audit is open. The tab Browse says how to make one.</p>"
NO_AUDIT_PUBLISHED = "<p>No audit is open. The tab Browse says how to make one; Published results need none.</p>"
PNG = "window.likenessCharts && window.likenessCharts.png(element);"
"""What lets a button download the chart above it."""
_HERE = """
window.likeness.connect(() => {
  const board = document.querySelector('#HEADING');
  const here = Boolean(board && board.checkVisibility());
  if (here) trigger('submit');
  return here;
}, 'SLUG');
"""


def without_audit(words: str = NO_AUDIT) -> View:
    """A tab where no audit is open: only how to come by one."""
    gr.HTML(words)
    return View([], lambda params: [])


def drawer(controls: str, words: str) -> None:
    """On a narrow screen, the button that opens and closes the controls of that id (assets/app.js)."""
    button = '<button type="button" class="lk-button" aria-expanded="false"'
    gr.HTML(f'<p class="lk-drawer">{button} aria-controls="{controls}">{words}</button></p>', **BOARD)


def chart(name: str) -> tuple[gr.HTML, gr.Plot, gr.HTML]:
    """A chart with the words above it and its buttons below."""
    return gr.HTML(**BOARD), gr.Plot(**plot_options(name)), gr.HTML(js_on_load=PNG, **BOARD)


def steps(prefix: str, slug: str, script: str = "") -> gr.HTML:
    """The unseen component that is told of a step to another address within the tab; it answers where the tab's heading
    (`prefix`-heading) is seen, or as `script` says."""
    script = script or _HERE.replace("HEADING", f"{prefix}-heading").replace("SLUG", slug)
    return gr.HTML("", html_template="", js_on_load=script, visible="hidden", elem_id=f"{prefix}-steps")


def wire(
    stores: Mapping[str, Audit],
    address_bar: gr.HTML,
    made: Any,
    inputs: Sequence[Any],
    *,
    read: Callable[[tuple[Any, ...]], Params],
    state: Any,
    updates: Callable[..., list[Any]],
    entered: Sequence[Any] = (),
    missed: Callable[[Mapping[str, Audit], Params], str] | None = None,
) -> View:
    """The events of a tab: a changed control fills the page and the address, a new address fills the page.

    `made` has the components `shown`, which `updates(audit, view)` fills after the inputs, and `steps`. `read(values)`
    makes an address of what the inputs hold and, last, of the query string before the change. `state` is the module
    with `from_params` and `to_address`. `entered` are inputs that count once Enter is pressed. Where `missed(stores,
    params)` says what an address names in vain, `updates` is given that, too. All values come from a browser: hostile.
    """
    outputs = [*inputs, *made.shown]

    def changed(*values: Any) -> list[Any]:
        before, _, at = str(values[-1] or "").partition("\n")
        view = state.from_params(stores, read((*values[:-1], before)))
        at = f"\n{at}" if at.isdecimal() and len(at) < 10 else ""  # the page drops an answer that comes too late
        return [*updates(stores[view.audit], view), state.to_address(view) + at]

    def open_view(params: Params) -> list[Any]:
        view = state.from_params(stores, params)
        said = () if missed is None else (missed(stores, params),)
        return updates(stores[view.audit], view, *said)

    asked, filled = [*inputs, address_bar], [*outputs, address_bar]
    script = f"(...values) => [...values.slice(0, {len(inputs)}), location.search + '\\n' + window.likeness.at()]"
    for box in inputs:
        listen = box.submit if any(box is one for one in entered) else box.input
        listen(changed, asked, filled, js=script, trigger_mode="always_last", **QUIET)
    listen_to_steps(made.steps, address_bar, state.SLUG, outputs, open_view)
    return View(outputs, open_view)


def listen_to_steps(
    told: gr.HTML, address_bar: gr.HTML, slug: str, outputs: Sequence[Any], show: Callable[[Params], Sequence[Any]]
) -> None:
    """Show what the address names by the time that a step is answered: one that comes while another is under way waits
    for it. Nothing is done where the visitor has left the tab meanwhile."""

    def stepped(query: str) -> Sequence[Any]:
        params = params_of(str(query))
        return show(params) if first(params, "tab") == slug else [gr.skip()] * len(outputs)

    here = {"js": "() => [location.search]", "trigger_mode": "always_last", **QUIET}
    told.submit(stepped, [address_bar], outputs, **here)
