"""Pictures from outside as queries: checked, turned into features, and kept nowhere."""

from __future__ import annotations

import threading

import numpy as np

from backend.metrics.colour import colourfulness
from backend.neighbours import colour, words
from backend.neighbours.finders import Finder, Structure
from backend.neighbours.models import embedded
from backend.neighbours.parts import NeighbourError, Query
from backend.neighbours.search import finder
from backend.pictures import PictureError, read_grey, read_pixels
from backend.store import Audit

MAX_BYTES = 20_000_000
MAX_PIXELS = 40_000_000
_ONE = threading.Lock()
"""One picture is decoded at a time: the largest takes some 450 MB while it is measured."""


def _pixels(data: bytes) -> np.ndarray:
    try:
        return read_pixels(data, max_pixels=MAX_PIXELS)
    except PictureError as error:
        raise _unusable(error) from error


def _unusable(error: PictureError) -> NeighbourError:
    words = str(error).replace(" or raise --max-megapixels", "")
    return NeighbourError(f"the picture cannot be used: {words}")


def _words(found: Structure, data: bytes) -> np.ndarray:
    try:
        grey = read_grey(data, words.SIDE, max_pixels=MAX_PIXELS)
    except PictureError as error:
        raise _unusable(error) from error
    seen, counts = words.count_words(words.descriptors(grey), found.codebook)
    if not len(seen):
        raise NeighbourError("the picture has no keypoints (it is too even or too small), so it has no visual words")
    return words.query_vector(seen, counts, found.frequencies)


def check_bytes(data: bytes) -> None:
    """Raise NeighbourError where bytes are no picture at first sight."""
    if not isinstance(data, bytes):
        raise NeighbourError("no picture was given")
    if len(data) > MAX_BYTES:
        size = f"{len(data) / 1e6:,.1f} MB, more than the limit of {MAX_BYTES / 1e6:.0f} MB"
        raise NeighbourError(f"the picture cannot be used: the file has {size}; scale it down")
    head = data[:1024].lstrip().lower()
    for kind, starts in (("a PDF", (b"%pdf",)), ("an SVG drawing", (b"<svg", b"<?xml", b"<!doctype svg"))):
        if head.startswith(starts):
            raise NeighbourError(f"the picture cannot be used: it is {kind}; export it as PNG or JPEG")


def query_of(audit: Audit, kind: str, data: bytes) -> Query:
    """The features of a picture from outside, for searches of one kind.

    data: the bytes of a file, of a format of backend/pictures.py, at most MAX_BYTES and MAX_PIXELS; of a moving
    picture the first frame counts. Raises NeighbourError with a sentence, StoreError where a file is damaged.
    """
    found = finder(audit, kind)
    check_bytes(data)
    return Query(kind, _features(audit, kind, found, data), audit.manifest["sha256"])


def _features(audit: Audit, kind: str, found: Finder, data: bytes) -> np.ndarray:
    with _ONE:
        if isinstance(found, Structure):
            return _words(found, data)
        pixels = _pixels(data)
        if kind == "colour":
            return colour.features(pixels)
        if kind == "colourfulness":
            return np.array([colourfulness(pixels)])
    name = kind.removeprefix("embedding-")
    return embedded(name, audit.vectors.parameters(name), pixels)
