"""What leads to the tab about neighbours: which kinds there are, and the links that every detail view has."""

from __future__ import annotations

from functools import lru_cache

from backend import neighbours
from backend.neighbours import Kind
from backend.store import Audit
from explorers._shared import address, escape

SLUG = "neighbours"


@lru_cache(maxsize=32)
def kinds_of(audit: Audit) -> tuple[Kind, ...]:
    """What images of an audit can be alike in, ready or not, in the order in which it is offered."""
    return tuple(neighbours.kinds(audit))


def similar_html(audit: Audit, row: int) -> str:
    """Links from one image to those like it, one for each kind that is ready; "" without any."""
    links, name = [], str(audit.generations["id"].iat[row])
    for kind in kinds_of(audit):
        if kind.ready:
            to = escape(address(SLUG, audit=audit.name, kind=kind.name, of=name))
            links.append(f'<a class="lk-button lk-view" data-near href="?{to}">{escape(kind.title)}</a>')
    return f'<p class="lk-actions lk-near-links"><span>Similar by</span> {" ".join(links)}</p>' if links else ""
