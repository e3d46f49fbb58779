"""The view of Neutrality and its address: what was asked of whom, the measure, the open cell. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from backend.store import Audit
from explorers import _neutrality_published as published
from explorers._file_names import file_stem
from explorers._neutrality_measures import MEASURES
from explorers._published_neutrality import PROBES
from explorers._shared import Params, address, first, params_of

SLUG = "neutrality"
DIRECTIONS = {
    "text-to-text": "Text to text",
    "image-to-text": "Image to text",
    "text-to-image": "Text to image",
    "image-to-image": "Image to image",
}
STYLES = ("informed-direct", "blind-direct", "informed-indirect", "blind-indirect")
COMPARE = "compare"
ROWS = {"profession": "Professions", "group": "Occupation groups", "band": "Fifths of the labour force"}
ORDERS = {
    "value": "Value, highest first",
    "name": "Name",
    "labour": "Women in the labour force",
    "group": "Occupation group",
    "alike": "Alike rows together",
}
MOST_SERIES = 12
"""So many columns are shown; what is more has to be chosen."""
LONGEST_QUERY = 100


class Asked(NamedTuple):
    """What one model was asked in one way: the key of a part of its answers."""

    model: str
    direction: str
    style: str
    attribute: str
    culture: str

    @property
    def column(self) -> str:
        """What names it within a view: "smollm2/informed-direct/"."""
        return f"{self.model}/{self.style}/{self.culture}"

    @property
    def draws(self) -> bool:
        """Whether a picture was asked for: then no options were shown, and a rotation counts drawings."""
        return self.direction.endswith("to-image")


@dataclass(frozen=True)
class NeutralityView:
    """Everything the tab shows, and all that its address holds.

    `rows` and `measure` may be "": what suits the answers best. `row` and `column` name the cell whose answers are
    shown, "" for the one that stands out; `answer` keeps one kind of answer, `page` is a page of them.
    """

    audit: str
    direction: str
    style: str
    attribute: str
    culture: str = ""
    measure: str = ""
    models: tuple[str, ...] = ()
    published: bool = True
    rows: str = ""
    order: str = "value"
    query: str = ""
    full: bool = False
    row: str = ""
    column: str = ""
    answer: str = ""
    page: int = 1


@lru_cache(maxsize=32)
def asked_of(audit: Audit) -> tuple[Asked, ...]:
    """Every model, direction, style, attribute and culture that an audit has answers of, in a fixed order."""
    found: list[Asked] = []
    for name, source in audit.probes.sources.items():
        table = audit.probes.table(name)
        have = table[["direction", "style", "attribute", "culture"]].drop_duplicates()
        known = [tuple(map(str, row)) for row in have.itertuples(index=False)]
        cultures, attributes = ("", *source.cultures), tuple(source.classes)
        known.sort(key=lambda k: (_at(DIRECTIONS, k[0]), _at(STYLES, k[1]), _at(attributes, k[2]), _at(cultures, k[3])))
        found += [Asked(name, *row) for row in known]
    return tuple(found)


def _at(known: Sequence[str] | Mapping[str, str], value: str) -> int:
    return list(known).index(value) if value in known else len(known)


def _unique(values) -> list[str]:
    return list(dict.fromkeys(values))


def styles_of(audit: Audit, direction: str) -> list[str]:
    """The styles of a direction that the audit, or the paper, asked in."""
    own = {one.style for one in asked_of(audit) if one.direction == direction}
    return [style for style in STYLES if style in own or style in published.styles(direction)]


def attributes_of(audit: Audit, direction: str) -> list[str]:
    """The attributes that were asked about in a direction: the audit's, then the paper's."""
    own = [one.attribute for one in asked_of(audit) if one.direction == direction]
    return _unique([*own, *published.ATTRIBUTES])


def cultures_of(audit: Audit, direction: str, style: str, attribute: str) -> list[str]:
    """The cultures whose names stood for the classes, where there are any."""
    own = [one for one in asked_of(audit) if (one.direction, one.attribute) == (direction, attribute)]
    found = {one.culture for one in own if one.culture and style in (one.style, COMPARE)}
    order = _unique(culture for source in audit.probes.sources.values() for culture in source.cultures)
    return [culture for culture in order if culture in found]


def classes_of(audit: Audit, view: NeutralityView) -> tuple[str, ...]:
    """The classes of the view's attribute: those of the first model shown, else the paper's."""
    for one in _asked(audit, view):
        return audit.probes.sources[one.model].classes[view.attribute]
    return published.CLASSES.get(view.attribute, ("one", "other"))


def measures_of(audit: Audit, view: NeutralityView) -> dict[str, str]:
    """The measures that suit the attribute's classes: AG is for two."""
    two = len(classes_of(audit, view)) == 2
    return {name: words for name, words in MEASURES.items() if two or name != "ag"}


def measure_of(audit: Audit, view: NeutralityView) -> str:
    """The measure that a view shows: its own, else AG for two classes, delta N for more."""
    have = measures_of(audit, view)
    if view.measure == "ag" and "ag" not in have:
        return "delta_ag"
    return view.measure if view.measure in have else "ag" if "ag" in have else "delta_neutrality"


def models_of(audit: Audit, view: NeutralityView) -> list[str]:
    """The models with answers for a view, whichever of them are chosen."""
    return _unique(one.model for one in _asked(audit, view, every=True))


def _asked(audit: Audit, view: NeutralityView, every: bool = False) -> list[Asked]:
    """What a view compares before it is cut to comparable classes and MOST_SERIES."""
    found = [
        one
        for one in asked_of(audit)
        if (one.direction, one.attribute) == (view.direction, view.attribute)
        and view.style in (one.style, COMPARE)
        and (every or not view.models or one.model in view.models)
    ]
    return [one for one in found if view.culture in (one.culture, COMPARE) or one.culture == ""]


def series_of(audit: Audit, view: NeutralityView) -> list[Asked]:
    """The columns of a view: models by style and culture, those with the first one's classes, at most MOST_SERIES."""
    classes = classes_of(audit, view)
    sources = audit.probes.sources
    found = [one for one in _asked(audit, view) if sources[one.model].classes[one.attribute] == classes]
    return found[:MOST_SERIES]


def left_out(audit: Audit, view: NeutralityView) -> list[Asked]:
    """What a view would compare, but does not show: other classes, or too many columns."""
    shown = set(series_of(audit, view))
    return [one for one in _asked(audit, view) if one not in shown]


def from_params(stores: Mapping[str, Audit], params: Params) -> NeutralityView:
    """The view that an address asks for. What it names and nothing has falls back to the default, without error."""
    with_probes = (audit for audit in stores.values() if audit.probes.sources)
    audit = stores.get(first(params, "audit")) or next(with_probes, None) or next(iter(stores.values()))
    own = asked_of(audit)
    direction = first(params, "direction")
    direction = direction if direction in DIRECTIONS else own[0].direction if own else "text-to-text"
    mine = [one for one in own if one.direction == direction]
    styles, style = styles_of(audit, direction), first(params, "style")
    usual = next((one.style for one in mine), styles[0])
    style = style if style in styles or (style == COMPARE and len(styles) > 1) else usual
    attributes, attribute = attributes_of(audit, direction), first(params, "attribute")
    attribute = attribute if attribute in attributes else attributes[0]
    cultures, culture = cultures_of(audit, direction, style, attribute), first(params, "culture")
    known = culture in cultures or (culture == COMPARE and len(cultures) > 1)
    culture = culture if known else cultures[0] if cultures else ""
    asked = {name: first(params, name) for name in ("measure", "rows", "order", "q", "row", "column", "answer", "n")}
    view = NeutralityView(
        audit.name,
        direction,
        style,
        attribute,
        culture,
        asked["measure"] if asked["measure"] in MEASURES else "",
        published=first(params, "published", "1") != "0",
        rows=asked["rows"] if asked["rows"] in ROWS else "",
        order=asked["order"] if asked["order"] in ORDERS else "value",
        query=asked["q"].strip()[:LONGEST_QUERY],
        full=first(params, "full") == "1",
        row=asked["row"][:300],
        column=asked["column"][:300],
        answer=asked["answer"][:300],
        page=_whole(asked["n"]),
    )
    wanted = set(params.get("m", [])[:100])
    return replace(view, models=tuple(name for name in models_of(audit, view) if name in wanted))


@lru_cache(maxsize=512)
def without(audit: Audit, view: NeutralityView, name: str, value: str) -> str:
    """What a view lacks where another direction, style, attribute or culture is chosen (`name`): " (no answers)" where
    nothing at all would be shown, " (published only)", " (other models)" where those chosen were not asked, or ""."""
    chosen = from_params({audit.name: audit}, params_of(to_address(replace(view, **{name: value}))))
    if series_of(audit, chosen):
        return " (other models)" if view.models and not chosen.models else ""
    every = styles_of(audit, chosen.direction) if chosen.style == COMPARE else [chosen.style]
    known = any(published.known(chosen.direction, style, chosen.attribute) for style in every)
    return " (published only)" if known else " (no answers)"


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 and int(text) > 0 else 1


def to_address(view: NeutralityView) -> str:
    """The query string that restores a view."""
    return address(
        SLUG,
        audit=view.audit,
        direction=view.direction,
        style=view.style,
        attribute=view.attribute,
        culture=view.culture,
        measure=view.measure,
        m=list(view.models),
        published="" if view.published else "0",
        rows=view.rows,
        order=view.order if view.order != "value" else "",
        q=view.query,
        full="1" if view.full else "",
        row=view.row,
        column=view.column,
        answer=view.answer,
        n=view.page if view.page > 1 else "",
    )


def file_name(audit: Audit, view: NeutralityView, of: str = "") -> str:
    """What a download of a view is called, without "likeness-" and its ending; `of` is the table or chart."""
    measure = measure_of(audit, view) if of != "answers" else ""
    return file_stem(SLUG, of, view.direction, view.style, view.attribute, view.culture, measure)


def style_words(style: str) -> str:
    """A style in words, with the paper's name for it."""
    return f"{PROBES[style]} ({style})"
