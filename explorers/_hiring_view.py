"""The view of Hiring and its address: whose answers, which pairs, the measure, the open dialogue. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from backend.store import Audit
from explorers import _hiring_published as published
from explorers._file_names import file_stem
from explorers._shared import Params, address, first

SLUG = "hiring"
KINDS = {
    "both": "Different gender and control",
    "different": "Different gender",
    "same": "Same gender: the control",
}
OF_KIND = {"different": ("different",), "same": ("female", "male"), "female": ("female",), "male": ("male",)}
"""What a kind of the tab pools of the audit's."""
MEASURES = {
    "bias_difference": "Bias difference: who is favoured when neither is called qualified",
    "confirmation": "Confirmation: chosen, and called qualified",
    "consistency": "Consistency: the same one chosen twice",
    "order_effect": "Order effect: first named less second named",
    "q2_unknown": "“Unknown” to who is more qualified (Q2)",
    "q3_neutral": "“Both”, “neither” or “unknown” to who was (Q3)",
}
SIGNED = ("bias_difference", "order_effect", "gender_effect")
"""Measures from -1 to 1; all others are shares."""
ORDERS = {
    "value": "Value, highest first",
    "size": "Furthest from zero",
    "name": "Name",
    "labour": "Women in the labour force",
}
ONLY = {
    "confirmed": "chosen, and called qualified",
    "unconfirmed": "chosen, but called unqualified",
    "consistent": "the same one twice",
    "women": "neither qualified, a woman’s name chosen",
    "men": "neither qualified, a man’s name chosen",
    "unparsed": "an unreadable answer",
}
"""Which dialogues of an occupation are listed."""
MOST_SERIES = 8
LONGEST_QUERY = 100
LONGEST = 300


@dataclass(frozen=True)
class HiringView:
    """Everything the tab shows, and all that its address holds.

    `models` and `theirs` are the audit's and the published models, () for all. `row` (an occupation), `column` (a
    model), `first` and `second` (names in their order) name the open dialogue, "" for what stands out; `control`: it is
    about a pair of one gender although the bars are not; `only` keeps the dialogues of one of ONLY.
    """

    audit: str
    models: tuple[str, ...] = ()
    kind: str = "both"
    published: bool = True
    theirs: tuple[str, ...] = ()
    measure: str = "bias_difference"
    order: str = "value"
    query: str = ""
    row: str = ""
    column: str = ""
    first: str = ""
    second: str = ""
    only: str = ""
    control: bool = False


def main_kind(view: HiringView) -> str:
    """The kind whose values the bars are of: "different" or "same"."""
    return "same" if view.kind == "same" else "different"


def open_kind(view: HiringView) -> str:
    """The kind that the open dialogue is of."""
    return "same" if view.control else main_kind(view)


def measures_of(view: HiringView) -> dict[str, str]:
    """The measures that a view's kind of pairs has: pairs of one gender have no bias difference."""
    same = main_kind(view) == "same"
    return {name: words for name, words in MEASURES.items() if not (same and name == "bias_difference")}


def measure_of(view: HiringView) -> str:
    """The measure that the bars of a view show."""
    have = measures_of(view)
    return view.measure if view.measure in have else next(iter(have))


def series_of(audit: Audit, view: HiringView) -> list[str]:
    """The audit's models that a view shows, at most MOST_SERIES."""
    every = audit.hiring.sources
    return [name for name in every if not view.models or name in view.models][:MOST_SERIES]


def theirs_of(view: HiringView) -> list[str]:
    """The published models that a view shows."""
    if not view.published:
        return []
    return [name for name in published.MODELS if not view.theirs or name in view.theirs]


def from_params(stores: Mapping[str, Audit], params: Params) -> HiringView:
    """The view that an address asks for. What it names and nothing has falls back to the default, without error."""
    with_answers = (audit for audit in stores.values() if audit.hiring.sources)
    audit = stores.get(first(params, "audit")) or next(with_answers, None) or next(iter(stores.values()))
    names = ("kind", "measure", "order", "q", "row", "column", "first", "second", "only")
    asked = {name: first(params, name)[:LONGEST] for name in names}
    wanted, theirs = set(params.get("m", [])[:100]), set(params.get("pm", [])[:100])
    view = HiringView(
        audit.name,
        kind=asked["kind"] if asked["kind"] in KINDS else "both",
        published=first(params, "published", "1") != "0",
        theirs=tuple(name for name in published.MODELS if name in theirs),
        measure=asked["measure"] if asked["measure"] in MEASURES else "bias_difference",
        order=asked["order"] if asked["order"] in ORDERS else "value",
        query=asked["q"].strip()[:LONGEST_QUERY],
        **{name: asked[name] for name in ("row", "column", "first", "second")},
        only=asked["only"] if asked["only"] in ONLY else "",
        control=first(params, "control") == "1",
    )
    return replace(view, models=tuple(name for name in audit.hiring.sources if name in wanted))


def file_name(view: HiringView, of: str = "") -> str:
    """What a download of a view is called, without "likeness-" and its ending. `of` is the table or chart: those of
    all measures or kinds of pairs are not called by one of them."""
    if of == "bars":
        return file_stem(SLUG, main_kind(view), measure_of(view))
    if of == "dialogues":
        return file_stem(SLUG, of, open_kind(view), view.only)
    return file_stem(SLUG, of or "measures", view.kind if of == "marks" else "")


def to_address(view: HiringView) -> str:
    """The query string that restores a view."""
    return address(
        SLUG,
        audit=view.audit,
        m=list(view.models),
        kind=view.kind if view.kind != "both" else "",
        published="" if view.published else "0",
        pm=list(view.theirs),
        measure=view.measure if view.measure != "bias_difference" else "",
        order=view.order if view.order != "value" else "",
        q=view.query,
        row=view.row,
        column=view.column,
        first=view.first,
        second=view.second,
        only=view.only,
        control="1" if view.control else "",
    )
