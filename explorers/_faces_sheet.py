"""The grid of average faces as one picture for download, drawn with Pillow and its built-in font."""

from __future__ import annotations

import io
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from threading import BoundedSemaphore

from PIL import Image, ImageDraw, ImageFont

from backend.pictures import PictureError, read_pixels
from backend.store import Audit
from explorers import _faces as data
from explorers import _faces_view as state
from explorers._charts import SYSTEM_COLOURS
from explorers._faces import Average, Cell
from explorers._faces_html import FOREVER, alike_words, found_words, version
from explorers._faces_view import FacesView, average_of
from explorers._shared import Params, Served, first

FACE, GAP, NAMES, HEAD, FOOT, WORDS = 160, 12, 200, 158, 64, 40
"""Pixels: an average, between two, the column of names, above and below the grid, under each average."""
INK, QUIET, GROUND, EMPTY = "#222222", "#595959", "#ffffff", "#eeeeee"
SPELT = str.maketrans({"–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "ß": "ss", "ø": "o"})
SPELT |= str.maketrans({"×": "x", "ł": "l", "Ł": "L", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "đ": "d", "ı": "i"})
BUSY = b"Another sheet is being drawn: try again in a moment"
_one_sheet = BoundedSemaphore(1)


def picture_of(audit: Audit, view: FacesView, one: Average) -> bytes:
    """The stored WebP of an average."""
    split = view.split if one.cell.region >= 0 else ("", 0)
    return audit.faces.picture(one.place, *split)


def serve_average(stores: Mapping[str, Audit], params: Params) -> Served | None:
    """The average that an address names in `c`, or None where there is none or no face is in it."""
    if first(params, "audit") not in stores:
        return None
    view = state.from_params(stores, params)
    audit = stores[view.audit]
    one = average_of(audit, view, view.cell) if view.cell else None
    picture = picture_of(audit, view, one) if one is not None and one.n else b""
    kept = FOREVER if first(params, "v") == version(audit) else {}
    return Served(picture, "image/webp", headers=kept) if picture else None


def serve_sheet(stores: Mapping[str, Audit], params: Params) -> Served | None:
    """The page of the grid that an address names as a PNG; one at a time, as each holds some megabytes of pixels."""
    view = state.from_params(stores, params)
    if not view.systems or not state.on_page(stores[view.audit], view):
        return None
    if not _one_sheet.acquire(timeout=5):
        return Served(BUSY, "text/plain; charset=utf-8", 503)
    try:
        return Served(sheet(stores[view.audit], view), "image/png")
    finally:
        _one_sheet.release()


DATA = {"average": serve_average, "sheet": serve_sheet}


@lru_cache(maxsize=8)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font: plain Latin letters, digits and signs."""
    return ImageFont.load_default(size)


@lru_cache(maxsize=4096)
def _drawn(letter: str) -> bool:
    """Whether the built-in font has a letter: one that it lacks looks as a character that no font has."""
    return letter.isprintable() and bytes(font(20).getmask(letter)) != bytes(font(20).getmask("\U0010ffff"))


def plain(text: str) -> str:
    """A text in letters that the font has: accents are dropped, other letters are a question mark.

    >>> plain("Café – Señor 😀")
    'Cafe - Senor ?'
    """
    spelt = unicodedata.normalize("NFKD", text.translate(SPELT))
    kept = (letter for letter in spelt if not unicodedata.combining(letter))
    return "".join(letter if _drawn(letter) else "?" for letter in kept)


def lines_of(text: str, size: int, width: int, most: int) -> list[str]:
    """A text broken into lines of a width in pixels, at most so many; what is cut off ends in dots."""
    words, lines = plain(text[:500])[:500].split(), [""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if font(size).getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    cut = len(lines) > most
    return [_fitting(line, size, width, cut and at == most - 1) for at, line in enumerate(lines[:most])]


def _fitting(line: str, size: int, width: int, more: bool) -> str:
    if not more and font(size).getlength(line) <= width:
        return line
    kept = bisect_right(range(1, len(line) + 1), width, key=lambda end: font(size).getlength(f"{line[:end]}..."))
    return f"{line[:kept]}..."


def sheet(audit: Audit, view: FacesView) -> bytes:
    """A PNG of this page of the grid: title, systems, professions, n, homogeneity, source and what a blend is."""
    subjects = state.on_page(audit, view)
    width = max(NAMES + len(view.systems) * (FACE + GAP) + 2 * GAP, 760)
    height = HEAD + len(subjects) * (FACE + WORDS + GAP) + FOOT
    page = Image.new("RGB", (width, height), GROUND)
    draw = ImageDraw.Draw(page)
    _above(draw, audit, view, width)
    for row, subject in enumerate(subjects):
        top = HEAD + row * (FACE + WORDS + GAP)
        names = lines_of(subject, 18, NAMES - 2 * GAP, 5)
        for line, text in enumerate(names):
            draw.text((GAP, top + 22 * line), text, INK, font(18))
        women = data.women_in(subject)
        for line, text in enumerate(lines_of(women, 12, NAMES - 2 * GAP, 2)):
            draw.text((GAP, top + 22 * len(names) + 6 + 16 * line), text, QUIET, font(12))
        for column, system in enumerate(view.systems):
            left = NAMES + column * (FACE + GAP)
            _face(page, draw, audit, view, Cell(system, subject), (left, top))
    _below(draw, audit, view, (width, height))
    out = io.BytesIO()
    page.save(out, "PNG")
    return out.getvalue()


def _above(draw: ImageDraw.ImageDraw, audit: Audit, view: FacesView, width: int) -> None:
    draw.text((GAP, 14), "Average faces by profession and system", INK, font(24))
    said = "Under each: images that gave a face, and homogeneity (0 unlike, 1 alike) with its 95 % interval"
    note = _first_sentence(audit)
    for line, text in enumerate([state.which(audit, view), said, *([note] if note else [])]):
        draw.text((GAP, 46 + 19 * line), lines_of(text, 13, width - 2 * GAP, 1)[0], QUIET, font(13))
    have = data.systems_of(audit)
    for column, system in enumerate(view.systems):
        left = NAMES + column * (FACE + GAP)
        draw.rectangle((left, HEAD - 46, left + 10, HEAD - 36), SYSTEM_COLOURS[have.index(system) % 8])
        for line, text in enumerate(lines_of(system, 15, FACE - 18, 2)):
            draw.text((left + 16, HEAD - 50 + 19 * line), text, INK, font(15))


def _first_sentence(audit: Audit) -> str:
    """The first sentence of the newest note of an audit: what its systems are; "" without a note."""
    notes = [str(source["note"]) for source in audit.manifest.get("sources", []) if source.get("note")]
    text = " ".join(notes[-1][:2000].split()).partition(". ")[0].strip() if notes else ""
    return text and f"{text.removesuffix('.')}."


def _face(
    page: Image.Image, draw: ImageDraw.ImageDraw, audit: Audit, view: FacesView, cell: Cell, at: tuple[int, int]
) -> None:
    left, top = at
    one = average_of(audit, view, cell)
    picture = None
    if one is not None and one.n:
        try:
            picture = Image.fromarray(read_pixels(picture_of(audit, view, one))).resize((FACE, FACE), Image.LANCZOS)
        except PictureError:
            picture = None
    if picture is not None:
        page.paste(picture, at)
        said = [found_words(one), alike_words(one)]
    else:
        draw.rectangle((left, top, left + FACE - 1, top + FACE - 1), EMPTY)
        said = ["no images"] if one is None else [found_words(one), "damaged picture" if one.n else "no face found"]
    for line, text in enumerate(said):
        draw.text((left, top + FACE + 3 + 17 * line), text, QUIET, font(13))


def _below(draw: ImageDraw.ImageDraw, audit: Audit, view: FacesView, size: tuple[int, int]) -> None:
    width, height = size
    pages = state.pages(audit, view)
    part = f", page {min(view.page, pages)} of {pages}" if pages > 1 else ""
    source = f"Source: Likeness, audit {audit.name}{part}; faces aligned at the eyes and mouth and averaged."
    said = "An average is a blend of generated pictures: it shows no person, and what blurs may be pose or style."
    for line, text in enumerate((source, said)):
        draw.text((GAP, height - FOOT + 14 + 19 * line), lines_of(text, 13, width - 2 * GAP, 1)[0], QUIET, font(13))
