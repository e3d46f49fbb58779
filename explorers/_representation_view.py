"""The view of Representation and its address: which systems, professions and phrases. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from backend.store import Audit, Regions
from explorers import _regions_groups as groups
from explorers._shared import Params, address, first

SLUG = "representation"
MOST_SYSTEMS = 8
MOST_PROFESSIONS = 12
"""So many chosen professions are drawn one by one; with more, or none, each system's are pooled."""
SORTS = ("profession", "system", "n", "diversity", "one", "gap", "labour", "other")
Phrase = tuple[str, str]


@dataclass(frozen=True)
class RepresentationView:
    """Everything the tab shows, and all that its address holds. `one` and `other` are (axis, phrase)."""

    audit: str
    embedding: str = ""
    k: int = 0
    one: Phrase = ("", "")
    other: Phrase = ("", "")
    systems: tuple[str, ...] = ()
    professions: tuple[str, ...] = ()
    published: bool = False
    sort: str = "-diversity"


def from_params(stores: Mapping[str, Audit], params: Params) -> RepresentationView:
    """The view that an address asks for. What it names and no audit has falls back to the default, without error."""
    audit = groups.audit_of(stores, params)
    regions = groups.picked(audit, params)
    if regions is None:
        return RepresentationView(audit.name)
    one, other = default_phrases(regions)
    sort = first(params, "sort", "-diversity")
    return RepresentationView(
        audit.name,
        regions.embedding,
        regions.k,
        phrase_in(regions, first(params, "one"), one),
        phrase_in(regions, first(params, "other"), other),
        _known(params, "s", systems_of(audit))[:MOST_SYSTEMS],
        _known(params, "p", professions_of(audit)),
        first(params, "published") == "1",
        sort if sort.removeprefix("-") in SORTS else "-diversity",
    )


def _known(params: Params, name: str, have: Sequence[str]) -> tuple[str, ...]:
    asked = set(params.get(name, [])[:500])
    return tuple(value for value in have if value in asked)


def phrase_in(regions: Regions, text: str, default: Phrase) -> Phrase:
    """ "gender:woman" as (axis, phrase) where the regions' prompts said it, else the default."""
    axis, _, phrase = text.partition(":")
    return (axis, phrase) if (axis, phrase) in groups.phrases_of(regions) else default


def default_phrases(regions: Regions) -> tuple[Phrase, Phrase]:
    """The paper's two, woman and Black, where prompts said them; else a phrase of the first axis and one of another."""
    have = groups.phrases_of(regions)
    one = next((p for p in (("gender", "woman"),) if p in have), have[0] if have else ("", ""))
    others = [p for p in have if p[0] != one[0]] or [p for p in have if p != one] or [one]
    wanted = (("ethnicity", "Black"), ("ethnicity", "African-American"), ("tone", "dark"))
    return one, next((p for p in wanted if p in have), others[-1])


def to_address(view: RepresentationView) -> str:
    """The query string that restores a view."""
    return address(
        SLUG,
        audit=view.audit,
        embedding=view.embedding,
        k=view.k or "",
        one=":".join(view.one) if view.one[0] else "",
        other=":".join(view.other) if view.other[0] else "",
        s=list(view.systems),
        p=list(view.professions),
        published=1 if view.published else "",
        sort=view.sort if view.sort != "-diversity" else "",
    )


@lru_cache(maxsize=32)
def systems_of(audit: Audit) -> list[str]:
    """Systems with images of professions, by name."""
    values = audit.generations["system"].iloc[audit.rows(subset="professions")]
    return sorted(map(str, values.unique()), key=str.casefold)


@lru_cache(maxsize=32)
def professions_of(audit: Audit) -> list[str]:
    """Professions with images, by name."""
    values = audit.generations["profession"].iloc[audit.rows(subset="professions")]
    return sorted(map(str, values.unique()), key=str.casefold)


def shown_systems(audit: Audit, view: RepresentationView) -> list[str]:
    """The systems that are drawn: those chosen, else the first MOST_SYSTEMS."""
    return list(view.systems) or systems_of(audit)[:MOST_SYSTEMS]


def regions_of(audit: Audit, view: RepresentationView) -> Regions:
    """The regions that a view counts."""
    return audit.vectors.regions(view.embedding, view.k)


def sorted_by(view: RepresentationView, key: str) -> RepresentationView:
    """The view in another order: by `key`, numbers from the highest; a second time turns it round."""
    start = key if key in ("profession", "system") else f"-{key}"
    turned = key if view.sort == f"-{key}" else f"-{key}"
    return replace(view, sort=turned if view.sort.removeprefix("-") == key else start)
