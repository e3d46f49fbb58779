"""The neighbours of an uploaded picture: read, compared, answered as HTML, and kept nowhere."""

from __future__ import annotations

from collections.abc import Mapping

from backend import neighbours
from backend.neighbours import NeighbourError
from backend.pictures import PictureError, read_facts
from backend.store import Audit
from explorers import _neighbours as shown
from explorers._neighbours_html import csv_link, found_html
from explorers._shared import Params, escape

MOST_PIXELS = 40_000_000
NOTHING = "Nearest images are always found, however unlike; what their prompts said says nothing about your picture."


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
    lead = f'<p class="lk-count">{escape(size)} {NOTHING}</p>'
    html = found_html(audit, view, found, csv_link(audit, view, found.found), lead)
    return html.encode(), "text/html; charset=utf-8"


QUERY = {"picture": picture}
