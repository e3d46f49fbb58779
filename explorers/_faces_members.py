"""What lies behind one average: its numbers, its regions, and the images themselves, those without a face apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from backend.store import Audit
from explorers import _faces as data
from explorers import _faces_view as state
from explorers import _regions_groups as groups
from explorers._faces import FEWEST, Average, Cell
from explorers._faces_html import face_html, link_html, name_of, picture_html, system_html
from explorers._faces_view import PAGE, FacesView, average_of, rest_of, to_address
from explorers._grid import figures
from explorers._shared import address, count, escape

HINT = '<p class="lk-reading">Click an average to see the images behind it.</p>'


def panel_html(audit: Audit, view: FacesView) -> str:
    """The chosen average large, its facts, its regions where the view splits, and its images."""
    cell = state.opened(audit, view)
    one = average_of(audit, view, cell) if cell else None
    if one is None:
        return HINT
    system = system_html(audit, one.cell.system)
    region = ""
    if one.cell.region >= 0:
        name = groups.name_of(audit.vectors.regions(*view.split), one.cell.region)
        region = f", region {escape(name)}"
    return (
        f'<section id="lk-faces-members" tabindex="-1" aria-label="{escape(name_of(one.cell))}"><h3>'
        f"{escape(one.cell.subject)}, {system}{region}: what lies behind the average</h3>"
        f'<div class="lk-faces-one"><div class="lk-face-large">{picture_html(audit, view, one)}</div>'
        f"{_facts(audit, view, one)}</div>{regions_html(audit, view, one)}{images_html(audit, view, one)}</section>"
    )


def _facts(audit: Audit, view: FacesView, one: Average) -> str:
    """What the store says of a cell, line by line, and where its images can be followed."""
    inside, without = state.members(audit, view, one.cell)
    gave = f"<b>{one.n:,} of {count(one.total, 'image')}</b> gave a face"
    lines = [f"{gave}; {len(without):,} did not." if len(without) else f"{gave}."]
    if one.several:
        lines.append(f"{count(one.several, 'image')} showed several faces: the largest counts.")
    cut = int(audit.faces.detections()["cut"].to_numpy()[inside].sum())
    if cut:
        lines.append(f"{count(cut, 'face')} reached the picture’s edge.")
    if one.enough:
        lines.append(f"Homogeneity {one.homogeneity:.2f} (95 % interval {one.low:.2f} to {one.high:.2f}).")
        if not np.isnan([one.ratio, one.ratio_low, one.ratio_high]).any():
            lines.append(
                f"Another number, for the blur itself: the average keeps {one.ratio:.2f} ({one.ratio_low:.2f} to "
                f"{one.ratio_high:.2f}) of its faces’ mean sharpness. It falls with the number of faces, homogeneity "
                "does not; the two may come out nearly the same."
            )
    elif one.n:
        lines.append(f"Few faces: with fewer than {FEWEST}, or with none alike, no homogeneity is given.")
    more = address("browse", audit=audit.name, s=[one.cell.system], p=[one.cell.subject], a=["-"])
    lines.append(f'<a class="lk-view" href="?{escape(more)}">All its images in Browse</a>')
    back = f'class="lk-view lk-button lk-faces-close" data-key="{_place(audit, view, one.cell)}"'
    close = link_html(rest_of(replace(view, cell=None, closed=bool(view.split[0]))), "Close (Esc)", back)
    said = "".join(f"<li>{line}</li>" for line in lines)
    return f"<div><ul>{said}</ul><p>{close}</p></div>"


def _place(audit: Audit, view: FacesView, cell: Cell) -> str:
    """The key of the average in the grid that a cell belongs to: focus returns there."""
    rows = state.on_page(audit, view)
    known = cell.subject in rows and cell.system in view.systems
    return f"c{rows.index(cell.subject)}-{view.systems.index(cell.system)}" if known else "close"


def regions_html(audit: Audit, view: FacesView, one: Average) -> str:
    """The averages of a cell's system and subject by region beside the whole, the one with most images first."""
    if not view.split[0]:
        return ""
    system, subject = one.cell.system, one.cell.subject
    whole = average_of(audit, view, Cell(system, subject))
    regions = audit.vectors.regions(*view.split)
    own = [average_of(audit, view, Cell(system, subject, region)) for region in range(regions.k)]
    kept = sorted((found for found in own if found is not None), key=lambda found: (-found.n, -found.total))
    if not kept:
        return f'<p class="lk-reading">There are no averages by region for \u201c{escape(subject)}\u201d.</p>'
    pair = state.pair_of(audit, view)
    parts = []
    for place, found in enumerate(([whole] if whole else []) + kept):
        region = found.cell.region
        title = f"Region {groups.name_of(regions, region)}" if region >= 0 else "All images"
        face = face_html(audit, view, found, f"r{place}", pair)
        parts.append(f'<div class="lk-face" role="listitem"><p class="lk-face-region">{escape(title)}</p>{face}</div>')
    empty = regions.k - len(kept)
    rest = f" {count(empty, 'region')} of {regions.k} hold none of these images." if empty else ""
    return (
        f"<h4>By region</h4><p class='lk-reading'>{regions.k} regions of {escape(view.split[0])}. A region is named "
        f"after what its identity prompts said; that is not what these images show.{rest}</p>"
        f'<div class="lk-faces-regions" role="list">{"".join(parts)}</div>'
    )


def images_html(audit: Audit, view: FacesView, one: Average) -> str:
    """The images behind an average, a page of them; then a page of those that gave no face."""
    inside, without = state.members(audit, view, one.cell)
    view = replace(view, cell=one.cell)
    marks = _marks(audit, np.concatenate([inside, without]))
    total = len(inside) + len(without)
    head = f"{len(inside):,} of {count(total, 'image')} gave the faces in this average"
    html = _page(audit, view, inside, "found", head, marks)
    if len(without):
        html += _page(audit, view, without, "missed", f"{count(len(without), 'image')} gave no face", marks)
    return html


def _marks(audit: Audit, rows: np.ndarray) -> Mapping[int, list[str]]:
    """Words under the images of some rows: several faces, a face at the edge, a face that could not be aligned."""
    detections, aligned = audit.faces.detections(), data.faced(audit)
    faces, cut = detections["faces"].to_numpy(), detections["cut"].to_numpy()
    found: dict[int, list[str]] = {}
    for row in rows.tolist():
        found[row] = [f"{faces[row]:,} faces"] if faces[row] > 1 else []
        found[row] += ["at the edge"] if cut[row] else []
        found[row] += ["not aligned"] if faces[row] and not aligned[row] else []
    return found


def _page(audit: Audit, view: FacesView, rows: np.ndarray, name: str, head: str, marks: Mapping[int, list[str]]) -> str:
    last = max(1, -(-len(rows) // PAGE))
    page = min(getattr(view, name), last)
    part = rows[(page - 1) * PAGE : page * PAGE]
    first = (page - 1) * PAGE + 1
    said = f"; {first:,} to {first + len(part) - 1:,} shown" if last > 1 else ""
    ways = [(words, to) for words, to in (("Previous images", page - 1), ("Next images", page + 1)) if 1 <= to <= last]
    links = " ".join(
        link_html(
            rest_of(replace(view, **{name: to})),
            words,
            f'class="lk-view lk-button" data-key="{name}{words[0]}" data-goto="lk-faces-{name}"',
        )
        for words, to in ways
    )
    return (
        f'<h4 id="lk-faces-{name}" tabindex="-1">{head}{said}</h4>{f"<p class=lk-actions>{links}</p>" if links else ""}'
        f"{figures(audit, part, to_address(view), marks=marks)}"
    )
