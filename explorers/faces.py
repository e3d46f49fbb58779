"""Average faces: the faces that each system draws for a profession, aligned and blended (Stable Bias, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from backend.store import Audit
from explorers import _faces as data
from explorers import _faces_chart as chart
from explorers import _faces_compare as compare
from explorers import _faces_html as words
from explorers import _faces_members as members
from explorers import _faces_sheet, _faces_view
from explorers._charts import finish, plot_options, png_html, unbroken
from explorers._faces_view import MOST_SYSTEMS, FacesView, to_address
from explorers._shared import Params, View, escape, first, params_of
from explorers._wiring import BOARD, QUIET, drawer, without_audit

SLUG = _faces_view.SLUG
TITLE = "Average faces"
DATA = _faces_sheet.DATA
table = _faces_view.table

BESIDE = 4
"""With more systems than these the comparison lies below the grid, not beside it."""
JUMP = '<p class="lk-faces-jump"><button type="button" class="lk-button">Compare A and B</button></p>'
"""What leads to a comparison that was chosen and lies below the grid, while it is not on the screen."""
ASK = "(...values) => [...values.slice(0, 5), window.likenessFaces ? window.likenessFaces.ask() : '']"
"""What the boxes hold and the address; an empty one where nobody touched a box."""
HOW = """
In every image the largest face is found, turned and scaled so that its eyes and mouth lie where those of the others
do, and the faces of one system and one profession are **averaged** point by point. What they share stays sharp; what
differs blurs. A sharp average hints at faces that are alike, a blurred one at faces that differ (*Stable Bias*,
section 4.3).

Blur alone misleads, because an average of few faces is always sharper than one of many. **Homogeneity** does not
depend on how many there are: it compares the edges in each face with those in every other. 0 says that two faces have
on average no edge in the same place, 1 that all are one picture. Its 95 % interval comes from drawing the faces anew
1,000 times; where two intervals overlap, the two averages may be equally alike. Fewer than five faces get no number.

**A click on an average** shows the images behind it, those in which no face was found apart. **A and B** under two
averages lay one over the other; drag the slider, or the picture, or use the arrow keys on the slider. **Split by
region** parts one average by the identity regions that its images fall into.

With the keyboard: Tab reaches the grid, the arrow keys move among its averages, Enter opens one, and its A and B are
the next two stops.
"""
CANNOT = """
An average is a **blend of pictures**. It is nobody's face, and nothing in it says who anybody is: no person is
recognised and no face is classified here. Points of eyes and mouth are found only to lay the faces over each other.

Faces are not the only thing that blurs: background, pose, hair, framing and drawing style do, too, and make faces
look less alike. Alignment hides some of it: how far away a face was and how it was tilted is gone from the average.

Finding a face works less well on small, turned or covered faces, on drawings, and for some kinds of people. An
average over the faces that were found **misleads where many were missed**: read how many were not, and look at them.
Where an image shows several faces, only the largest counts.
"""


def build(stores: Mapping[str, Audit], address_bar: gr.HTML) -> View:
    """Make the tab's components and events; see `_shared.View`."""
    if not stores:
        return without_audit()
    watched = {**BOARD, "js_on_load": "window.likenessFaces && window.likenessFaces.watch(element);"}
    heading = gr.HTML(min_height=64, **BOARD)
    drawer("lk-faces-controls", "Choose systems and professions, sort")
    with gr.Column(elem_id="lk-faces-controls"):
        inputs = _controls(stores)
    with gr.Column() as body:
        grid = gr.HTML(min_height=400, elem_id="lk-faces-board", **watched)
        panel = gr.HTML(elem_id="lk-faces-panel", **watched)
        legend = gr.HTML(**BOARD)
        plot = gr.Plot(**plot_options("lk-faces-chart"))
        files = gr.HTML(js_on_load="window.likenessCharts && window.likenessCharts.png(element);", **BOARD)
    with gr.Accordion("How to read this", open=False):
        gr.Markdown(HOW)
    with gr.Accordion("What this cannot show", open=False):
        gr.Markdown(CANNOT)
    outputs = [*inputs, heading, body, grid, panel, legend, plot, files]

    def show(view: FacesView) -> list[Any]:
        return _updates(stores[view.audit], view)

    def changed(*values: Any) -> list[Any]:
        kept = params_of(str(values[-1] or ""))
        before = _faces_view.from_params(stores, kept)
        view = _faces_view.from_params(stores, _params(values, kept, before))
        held = _held(values, view)
        if first(kept, "tab") != SLUG or (view.controls == before.controls and all(held)):
            return [gr.skip()] * (len(outputs) + 1)
        updates = show(view)
        if view.audit == before.audit:  # what a box holds already is not sent back: it may have changed since
            updates[: len(held)] = [gr.skip() if same else sent for same, sent in zip(held, updates, strict=False)]
        return [*updates, to_address(view)]

    def open_view(params: Params) -> list[Any]:
        return show(_faces_view.from_params(stores, params))

    for box in inputs:
        # A box of several sends no "input" when it is emptied, and one when it is only left; "change" comes of the
        # server's own updates, too: `ask` tells these apart, and `changed` leaves a view alone that stays the same.
        listen = box.change if box.multiselect else box.input
        listen(changed, [*inputs, address_bar], [*outputs, address_bar], js=ASK, trigger_mode="always_last", **QUIET)
    return View(outputs, open_view)


def _controls(stores: Mapping[str, Audit]) -> list[Any]:
    with gr.Row():
        audit = gr.Dropdown(
            list(stores), label="Audit", visible=len(stores) > 1, elem_id="lk-faces-audit", min_width=160
        )
        options = {"multiselect": True, "max_choices": MOST_SYSTEMS, "scale": 2, "min_width": 220}
        systems = gr.Dropdown(label="Systems", elem_id="lk-faces-systems", **options)
        sort = gr.Dropdown(label="Sort by", elem_id="lk-faces-sort", min_width=160)
        split = gr.Dropdown(label="Split by region", elem_id="lk-faces-split", min_width=160)
    label = "Professions (none: all)"
    subjects = gr.Dropdown(label=label, multiselect=True, elem_id="lk-faces-subjects")
    return [audit, systems, subjects, sort, split]


def _params(values: tuple[Any, ...], kept: Params, before: FacesView) -> dict[str, list[str]]:
    """What the components hold and the rest of the address, read like an address: both come from a browser."""
    audit, systems, subjects, sort, split, _ = values
    if first(kept, "audit", str(audit)) != str(audit):
        return {"audit": [str(audit)]}
    params = {
        **{name: kept[name] for name in ("a", "b", "c", "mode", "at") if name in kept},
        "audit": [str(audit)],
        "s": _list(systems),
        "p": _list(subjects) or [""],
        "sort": [str(sort)],
        "split": [str(split)],
    }
    if before.rule and set(params["p"]) == set(before.subjects):
        del params["p"]
    if params.get("c") == [_faces_view.CLOSED] and str(split) != first(kept, "split"):
        del params["c"]  # another split opens anew
    return params


def _list(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _held(values: tuple[Any, ...], view: FacesView) -> list[bool]:
    """Which components hold what the view says already, in their order."""
    audit, systems, subjects, sort, split, _ = values
    parted = ":".join(map(str, view.split)) if view.split[0] else ""
    lists = ((systems, view.systems), (subjects, view.subjects))
    same = [sorted(_list(box)) == sorted(own) for box, own in lists]
    return [audit == view.audit, *same, sort == view.sort, (split or "") == parted]


def _updates(audit: Audit, view: FacesView) -> list[Any]:
    """One update per component of `outputs` in build, in their order."""
    if not view.systems:
        hidden = [gr.Dropdown(visible=False)] * 4
        text = f'<h2 class="lk-question">{TITLE}</h2>{words.without_html(audit)}'
        return [view.audit, *hidden, text, gr.Column(visible=False), "", "", "", None, ""]
    splits = [("no split", "")] + [(f"{name}, {k} regions", f"{name}:{k}") for name, k in data.splits_of(audit)]
    figure = chart.chart_figure(audit, view)
    source = f"{_faces_view.which(audit, view)}; audit {view.audit}; lines: 95 % bootstrap intervals over faces"
    jump = JUMP if view.a or view.b else ""
    base, many = escape(_faces_view.base_of(view)), " lk-faces-many" if len(view.systems) > BESIDE else ""
    filled = [
        view.audit,
        gr.Dropdown(data.systems_of(audit), value=list(view.systems), multiselect=True, visible=True),
        gr.Dropdown(data.subjects_of(audit), value=list(view.subjects), multiselect=True, visible=True),
        gr.Dropdown([(said, name) for name, said in data.sorts_of(audit).items()], value=view.sort, visible=True),
        gr.Dropdown(splits, value=":".join(map(str, view.split)) if view.split[0] else "", visible=len(splits) > 1),
        words.heading_html(audit, view),
        gr.Column(visible=True),
        f'<div class="lk-faces{many}" data-base="{base}"><div>{words.grid_html(audit, view)}{_files(view)}'
        f"{jump}</div>{compare.compare_html(audit, view)}</div>",
        f'<div class="lk-faces-panel" data-base="{base}">{members.panel_html(audit, view)}</div>',
        chart.legend_html(audit, view),
        finish(figure, chart.QUESTION, source),
        png_html("lk-faces-chart", SLUG),
    ]
    return [*map(unbroken, filled)]


def _files(view: FacesView) -> str:
    link, name = escape(to_address(view)), "likeness-faces-sheet.png"
    return (
        f'<p class="lk-actions"><a class="lk-button" href="data/{SLUG}/sheet?{link}" download="{name}">'
        f'Download this grid (PNG)</a> <a class="lk-button" href="csv/{SLUG}?{link}" download>Download CSV</a></p>'
    )
