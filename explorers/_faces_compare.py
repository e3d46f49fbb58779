"""Two average faces over each other as HTML: the slider, what is known of both, and which is more alike."""

from __future__ import annotations

from dataclasses import replace

from backend.store import Audit
from explorers import _faces as data
from explorers import _faces_view as state
from explorers._faces import FEWEST, Average
from explorers._faces_html import alike_words, found_words, link_html, picture_html, system_html
from explorers._faces_view import FacesView, average_of, rest_of
from explorers._shared import escape


def compare_html(audit: Audit, view: FacesView) -> str:
    """Two averages over each other with a slider between them, and what is known of both."""
    pair = state.pair_of(audit, view)
    ones = [average_of(audit, view, cell) for cell in pair if cell]
    shown = [one for one in ones if one is not None and one.n]
    if len(shown) < 2:
        said = "<h3>Compare two averages</h3><p>Choose A and B under two averages.</p>"
        return f'<section class="lk-compare">{said}</section>'
    a, b = shown
    modes = "".join(
        f'<button type="button" class="lk-button" data-mode="{mode}" aria-pressed="{str(view.mode == mode).lower()}">'
        f"{words}</button> "
        for mode, words in (("wipe", "Wipe"), ("blend", "Blend"))
    )
    swap = link_html(rest_of(replace(view, a=b.cell, b=a.cell)), "Swap", 'class="lk-view lk-button" data-key="swap"')
    return (
        f'<section class="lk-compare" id="lk-faces-compare" aria-label="Compare two averages" data-mode="{view.mode}" '
        f'style="--at:{view.at}"><div><div class="lk-compare-bar"><h3>Compare two averages</h3><span role="group" '
        f'aria-label="How two averages are compared">{modes}</span>{swap}</div>'
        f'<div class="lk-compare-ends" aria-hidden="true"><b class="lk-letter">A</b><b class="lk-letter">B</b></div>'
        f'<div class="lk-compare-frame">{picture_html(audit, view, b)}<div class="lk-compare-over">'
        f'{picture_html(audit, view, a)}</div><i class="lk-compare-line" aria-hidden="true"></i></div>'
        f'<input type="range" class="lk-compare-range" min="0" max="100" step="1" value="{view.at}" '
        f'aria-label="How much of A shows over B"></div><div><p class="lk-compare-said lk-reading" aria-hidden="true">'
        f'</p><div class="lk-compare-pair">{_side(audit, view, "A", a)}{_side(audit, view, "B", b)}</div>'
        f'<p class="lk-labour">{verdict(a, b)}</p>{_why(view, a, b)}</div></section>'
    )


def _why(view: FacesView, a: Average, b: Average) -> str:
    """Why these two are compared where nobody chose them."""
    if view.a or view.b:
        return ""
    many = "the widest difference in homogeneity between two systems for one profession here"
    said = many if a.cell.subject == b.cell.subject else "the least and the most alike here"
    return f'<p class="lk-reading">Chosen to begin with: {said}. Choose others with A and B under the averages.</p>'


def _side(audit: Audit, view: FacesView, letter: str, one: Average) -> str:
    region = f", region {one.cell.region}" if one.cell.region >= 0 else ""
    to = link_html(
        rest_of(replace(view, cell=one.cell, found=1, missed=1)),
        "Its images",
        f'class="lk-view" data-key="side{letter}" data-goto="lk-faces-members"',
    )
    alike = f"homogeneity {alike_words(one)}" if one.enough else alike_words(one)
    system = system_html(audit, one.cell.system)
    return (
        f'<div><b class="lk-letter">{letter}</b> <b>{escape(one.cell.subject)}</b><br>{system}'
        f"{region}<br>{found_words(one)}<br>{alike}<br>{to}</div>"
    )


def verdict(a: Average, b: Average) -> str:
    """Which of two is more alike, in words, as far as their intervals tell."""
    if a.cell == b.cell:
        return "A and B are the same average."
    if not (a.enough and b.enough):
        return f"With fewer than {FEWEST} faces on a side, which is more alike cannot be said."
    if not data.apart(a, b):
        return "The 95 % intervals overlap: the faces of A and B may be equally alike."
    more, less = ("A", "B") if a.homogeneity > b.homogeneity else ("B", "A")
    return f"The faces of {more} are more alike than those of {less}: the 95 % intervals do not overlap."
