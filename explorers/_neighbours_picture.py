"""The neighbours of an uploaded picture: read, compared, answered as HTML, and kept nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from backend import neighbours
from backend.neighbours import NeighbourError
from backend.pictures import PictureError, read_facts
from backend.store import Audit
from explorers import _neighbours as shown
from explorers._neighbours_html import csv_link, found_html
from explorers._shared import Params, escape

MOST_PIXELS = 40_000_000
NOTHING = "Nearest images are always found, however unlike; what their prompts said says nothing about your picture."
SMALL = " Small distances are common in this embedding, also between images that look unlike: read yours against these."


def picture(stores: Mapping[str, Audit], params: Params, body: bytes) -> tuple[bytes, str] | str:
    """What is like a picture (its file's bytes) in the view of an address, as HTML; a sentence where that cannot be."""
    view = shown.from_params(stores, {**params, "picture": ["1"]})
    audit, kind = stores[view.audit], shown.kind_of(stores[view.audit], view)
    if not kind.ready:
        return kind.why.replace("`", "")
    try:
        query = neighbours.query_of(audit, view.kind, body)
        facts = read_facts(body, MOST_PIXELS)
    except (PictureError, NeighbourError) as error:
        return shown.sentence(error).replace("`", "")
    found = shown.near(audit, view, query)
    if isinstance(found, str):
        return found.replace("`", "")
    moving = "; it moves: its first frame is compared" if facts.animated else ""
    size = f"Your picture: {facts.format}, {facts.width:,} x {facts.height:,} pixels{moving}."
    near = how_near(found.found.distance[0], shown.typical(audit, view.kind))
    small = SMALL if near and view.kind.startswith("embedding-") else ""
    lead = f'<p class="lk-count">{escape(size)}</p><p class="lk-state" role="status">{NOTHING}{near}{small}</p>'
    html = found_html(audit, view, found, csv_link(audit, view, found.found), lead)
    return html.encode(), "text/html; charset=utf-8"


def how_near(distance: float, others: Sequence[float]) -> str:
    """How far the nearest image is, against how far an audit's own images are from their nearest other.

    >>> how_near(0.5, (0.1, 0.2, 0.3, 0.6))
    ' The nearest is 0.500 away. Of 4 images of the audit itself, the nearest other is 0.100 to 0.600 away (median \
0.250), for 3 of them less than 0.500.'

    others: those distances, least first; () gives "".
    """
    if not others:
        return ""
    middle = float(np.median(others))
    places = 3 if max(distance, others[-1]) < 10 else 1
    least, most, middle, own = (f"{value:.{places}f}" for value in (others[0], others[-1], middle, distance))
    nearer = sum(value < distance for value in others)
    return (
        f" The nearest is {own} away. Of {len(others):,} images of the audit itself, the nearest other is {least} to "
        f"{most} away (median {middle}), for {nearer:,} of them less than {own}."
    )


QUERY = {"picture": picture}
