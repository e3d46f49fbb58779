"""The map: its points as typed binary, the pictures of a selection, and the element that charts.js draws into."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from backend.records import AXES
from backend.store import Audit, Regions
from explorers import _regions as shown
from explorers import _regions_groups as groups
from explorers._grid import figures
from explorers._regions import COLOURS, RegionsView, to_address
from explorers._shared import Params, address, count, escape

PAGE = 48
LONGEST = 80
FIELDS = ("system", "subject", "subset", "region", *AXES)


@lru_cache(maxsize=4)
def points(audit: Audit, regions: Regions) -> bytes:
    """Every image's place on the map as little-endian binary.

    4 bytes: the length of the JSON head (padded to a multiple of 8); the head; then the arrays one after the other in
    the order of "fields": x and y float32, id 8 bytes each, then for each further field a code, uint16, into the list
    of names in the head. 94,500 points are about 2.9 MB.
    """
    place = audit.vectors.map(regions.embedding)
    if place is None:
        return b""
    names: dict[str, list[str]] = {"region": [groups.name_of(regions, region) for region in range(regions.k)]}
    arrays = [np.ascontiguousarray(place[:, axis], "<f4").tobytes() for axis in (0, 1)]
    arrays.append(bytes.fromhex("".join(audit.generations["id"])))
    for field in FIELDS:
        if field == "region":
            codes = regions.region
        else:
            column = audit.generations[field].cat
            codes, names[field] = column.codes.to_numpy(), [str(name)[:LONGEST] for name in column.categories[:65_536]]
        arrays.append(np.clip(codes, 0, 65_535).astype("<u2").tobytes())
    head = json.dumps({"audit": audit.name, "n": len(audit), "names": names, "fields": FIELDS}).encode()
    head += b" " * (-(len(head) + 4) % 8)
    return b"".join([len(head).to_bytes(4, "little"), head, *arrays])


def serve_points(stores: Mapping[str, Audit], params: Params) -> tuple[bytes, str] | None:
    """The points of an address's view, or None where it has no map."""
    view = shown.from_params(stores, params)
    data = points(stores[view.audit], shown.regions_of(stores[view.audit], view)) if view.k else b""
    return (data, "application/octet-stream") if data else None


def serve_gallery(stores: Mapping[str, Audit], params: Params) -> tuple[bytes, str] | None:
    """A page of selected images as HTML: those of the ids in the address that the audit has, at most PAGE."""
    view = shown.from_params(stores, params)
    audit = stores[view.audit]
    rows = [audit.row_of(name) for name in ",".join(params.get("ids", [])).split(",")[:PAGE]]
    kept = np.array([row for row in rows if row is not None], int)
    return figures(audit, kept, to_address(view), name_subjects=True).encode(), "text/html; charset=utf-8"


DATA = {"points": serve_points, "gallery": serve_gallery}


def map_html(audit: Audit, regions: Regions, view: RegionsView) -> str:
    """The element that the page's script fills; without a map, why there is none."""
    if audit.vectors.map(regions.embedding) is None:
        name, embedding = escape(audit.name), escape(regions.embedding)
        return (
            f'<div class="lk-empty"><p>There is no map of the embedding {embedding} yet. This makes it:</p>'
            f"<pre>.venv/bin/python -m backend build {name}</pre></div>"
        )
    source = escape(address(shown.SLUG, audit=audit.name, embedding=regions.embedding, k=regions.k))
    words = {"region": "nearest region", "system": "system", "subset": "kind of prompt"}
    words |= {axis: f"{axis} phrase of the prompt" for axis in groups.axes_of(regions)}
    options = "".join(
        f'<option value="{name}"{" selected" if name == view.colour else ""}>{words[name]}</option>'
        for name in (*COLOURS, *groups.axes_of(regions))
    )
    area = ",".join(f"{value:.6g}" for value in view.area)
    n = count(len(audit), "image")
    return (
        f'<div class="lk-map" data-points="data/{shown.SLUG}/points?{source}" data-gallery="data/{shown.SLUG}/gallery?'
        f'{source}" data-view="{source}" data-region="{view.region}" data-area="{area}" data-page="{PAGE}">'
        f'<div class="lk-map-bar"><label>Colour by <select class="lk-map-colour">{options}</select></label>'
        '<span class="lk-map-modes" role="group" aria-label="How dragging selects">'
        '<button type="button" class="lk-button" data-mode="lasso" aria-pressed="true">Lasso</button> '
        '<button type="button" class="lk-button" data-mode="select" aria-pressed="false">Box</button> '
        '<button type="button" class="lk-button" data-mode="pan" aria-pressed="false">Move</button> '
        '<button type="button" class="lk-button" data-reset>Whole map</button></span></div>'
        f'<div class="lk-map-plot" role="img" aria-label="Map of {n}: alike images lie near each other. The cards '
        'below show each region’s images without the map."><p>Loading the map …</p></div>'
        '<ul class="lk-legend lk-map-legend"></ul><div class="lk-map-chosen" role="status"></div>'
        '<div class="lk-map-gallery lk-board"></div></div>'
    )
