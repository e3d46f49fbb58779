"""Nearest neighbours as plain data: the view and its address, the walk, the search, the table. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from backend import neighbours
from backend.neighbours import Found, Kind, NeighbourError, Query
from backend.records import AXES
from backend.store import Audit
from explorers._neighbours_links import SLUG, kinds_of
from explorers._shared import Params, address, first

SIZES = (12, 24, 48)
PREFERRED = 24
MOST_STEPS = 12
FILTERS = ("system", "subject", "subset")
SUBSETS = {"professions": "Profession prompts", "identities": "Identity prompts", "neutral": "Neutral prompts"}


@dataclass(frozen=True)
class NearView:
    """Everything the tab shows, and all that its address holds.

    `of` is the id of the image whose neighbours are shown and `trail` the ids walked from, oldest first. With `picture`
    the neighbours are those of a picture that the page alone holds.
    """

    audit: str
    kind: str = ""
    of: str = ""
    k: int = PREFERRED
    system: str = ""
    subject: str = ""
    subset: str = ""
    trail: tuple[str, ...] = ()
    picture: bool = False


def from_params(stores: Mapping[str, Audit], params: Params) -> NearView:
    """The view that an address asks for. What it names and no audit has falls back to the default, without error."""
    audit = stores.get(first(params, "audit")) or next(iter(stores.values()))
    known = [kind.name for kind in kinds_of(audit)]
    ready = [kind.name for kind in kinds_of(audit) if kind.ready]
    kind, of, k = (first(params, name) for name in ("kind", "of", "k"))
    chosen = {}
    for name in FILTERS:
        value = first(params, name)
        chosen[name] = value if value in audit.generations[name].cat.categories else ""
    steps = first(params, "trail").split(",")[-MOST_STEPS:]
    return NearView(
        audit.name,
        kind if kind in known else (ready or known)[0],
        of if audit.row_of(of) is not None else default_image(audit),
        int(k) if k in map(str, SIZES) else PREFERRED,
        **chosen,
        trail=tuple(step for step in steps if audit.row_of(step) is not None),
        picture=first(params, "picture") == "1",
    )


def to_address(view: NearView) -> str:
    """The query string that restores a view."""
    return address(
        SLUG,
        audit=view.audit,
        kind=view.kind,
        of="" if view.picture else view.of,
        k=view.k if view.k != PREFERRED else "",
        system=view.system,
        subject=view.subject,
        subset=view.subset,
        trail="" if view.picture else ",".join(view.trail),
        picture="1" if view.picture else "",
    )


NAMES = {"audit": "audit", "kind": "way to compare", "of": "image", "k": "number of neighbours", "system": "system"}
NAMES |= {"subject": "profession or other prompt", "subset": "kind of prompt"}


def missed(stores: Mapping[str, Audit], params: Params) -> str:
    """What an address names that there is not, as one sentence of plain text; "" where there is all."""
    view = from_params(stores, params)
    wrong = []
    for name, words in NAMES.items():
        value = first(params, name)
        if value and value != str(getattr(view, name)) and not (name == "of" and view.picture):
            wrong.append(f"no {words} “{value[:40]}{'…' if value[40:] else ''}”")
    if not wrong:
        return ""
    return f"This address names what is not here ({', '.join(wrong)}): the usual view stands in for it."


@lru_cache(maxsize=32)
def _commonest(audit: Audit) -> str:
    """The profession that most images are for, of several the first by name; "" where none is for any."""
    counts = audit.generations["subject"].iloc[audit.rows(subset="professions")].value_counts()
    return min((str(name) for name in counts.index[counts == counts.max()]), default="") if counts.sum() else ""


@lru_cache(maxsize=32)
def default_image(audit: Audit) -> str:
    """The id of the image to start from, always the same: the first of the most frequent profession, else of all."""
    subject = _commonest(audit)
    row = audit.rows(subset="professions", subject=subject)[0] if subject else 0
    return str(audit.generations["id"].iat[row])


def default_why(audit: Audit) -> str:
    """Why that image is shown first, as plain text."""
    subject = _commonest(audit)
    if not subject:
        return "Shown first: it is the first image of this audit."
    return f"Shown first: it is the first image for {subject}, and no profession here has more images."


TYPICAL_ROWS = 200
TYPICAL_WORK = 1_000_000
"""How near an audit's own images lie is looked up for so many of them, or fewer where that would be too many
comparisons (rows times images); with fewer than TYPICAL_LEAST not at all."""
TYPICAL_LEAST = 20


@lru_cache(maxsize=64)
def typical(audit: Audit, kind: str) -> tuple[float, ...]:
    """The distances from a fixed sample of an audit's images to the nearest other, least first; () in large audits."""
    size = min(TYPICAL_ROWS, len(audit), TYPICAL_WORK // len(audit))
    if size < min(TYPICAL_LEAST, len(audit)):
        return ()
    found = []
    for row in np.sort(np.random.default_rng(0).permutation(len(audit))[:size]):
        try:
            nearest = neighbours.search(audit, kind, int(row), 1)
        except NeighbourError:  # an image that cannot be compared in this way
            continue
        found += nearest.distance.tolist()
    return tuple(sorted(found))


def walked(view: NearView, to: str) -> NearView:
    """The view after a step to another image, or back at it where the walk has been there; an uploaded picture is no
    step, because no address holds it."""
    if not view.picture and to in (*view.trail, view.of):
        return returned(view, view.trail.index(to)) if to in view.trail else view
    trail = () if view.picture else (*view.trail, view.of)[-MOST_STEPS:]
    return replace(view, of=to, trail=trail, picture=False)


def returned(view: NearView, step: int) -> NearView:
    """The view back at a step of its trail."""
    return replace(view, of=view.trail[step], trail=view.trail[:step])


def unfiltered(view: NearView) -> NearView:
    """The same view without its filters."""
    return replace(view, system="", subject="", subset="")


def kind_of(audit: Audit, view: NearView) -> Kind:
    """The kind that a view names."""
    return next(kind for kind in kinds_of(audit) if kind.name == view.kind)


def allowed(audit: Audit, view: NearView) -> np.ndarray | None:
    """The rows that a view's filters leave, or None without a filter."""
    wanted = {name: value for name in FILTERS if (value := getattr(view, name))}
    return audit.rows(**wanted) if wanted else None


@dataclass(frozen=True)
class Near:
    """What was found, and the rows among which it was searched (the query is not one of them)."""

    found: Found
    searched: np.ndarray


def near(audit: Audit, view: NearView, query: Query | None = None) -> Near | str:
    """The neighbours of a view's image, or of an uploaded picture; a sentence where there can be none."""
    kind, rows = kind_of(audit, view), allowed(audit, view)
    if not kind.ready:
        return kind.why
    row = audit.row_of(view.of) if query is None else None
    searched = np.arange(len(audit)) if rows is None else rows
    searched = searched if row is None else searched[searched != row]
    if not len(searched):
        return "No image is left to search: what was chosen has none, or only this one."
    try:
        found = neighbours.search(audit, view.kind, row if query is None else query, view.k, rows)
    except NeighbourError as error:
        return sentence(error)
    return Near(found, searched) if len(found.rows) else "None of the images that are left can be compared in this way."


def sentence(error: Exception) -> str:
    """What went wrong, from a capital letter to a full stop.

    >>> sentence(ValueError("no row 7"))
    'No row 7.'
    """
    words = str(error)
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "`")) else ".")


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """The neighbours of a view as a table for download, nearest first, each with its distance."""
    view = from_params(stores, params)
    audit = stores[view.audit]
    found = "no address holds an uploaded picture: choose it again" if view.picture else near(audit, view)
    if isinstance(found, str):
        return pd.DataFrame({"audit": [audit.name], "problem": [found]})
    return table_of(audit, view, found.found)


def table_of(audit: Audit, view: NearView, found: Found) -> pd.DataFrame:
    """Neighbours as a table: the query, the rank from 1, the distance, then what is known of the image."""
    columns = ["id", "system", "subset", "subject", "prompt", "profession", "adjective", *AXES, "seed", "number"]
    frame = audit.generations[columns].iloc[found.rows].reset_index(drop=True)
    frame.insert(0, "distance", found.distance)
    frame.insert(0, "rank", np.arange(1, len(frame) + 1))
    frame.insert(0, "kind", view.kind)
    frame.insert(0, "query", "uploaded picture" if view.picture else view.of)
    return frame
