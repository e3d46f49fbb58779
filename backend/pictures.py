"""Bytes from outside -> a checked picture: its format and size, and a thumbnail. The only module that decodes.

Formats are limited to those that browsers show; Pillow's other readers are never tried.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

from backend.records import MIME

MAX_PIXELS = 64_000_000
"""Pictures of more pixels are left out (a decompression bomb needs a limit); `--max-megapixels` sets another."""
MAX_BYTES = 100_000_000
"""Files of more bytes are left out before they are read."""
MOST_MEGAPIXELS = 178
"""Above this many Pillow refuses a picture before it tells its size, so no limit can be higher."""
MODEL_SIDE = 2_048
"""Pixels of the longer side of what a model is shown: no model here reads more, and a batch of larger ones would not
fit into memory."""
MOST_SCANS = 100
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""What begins a part of a JPEG; within a scan 0xff is followed by 0 or by a restart marker."""
THUMBNAIL = 256
GROUND = (255, 255, 255)

_DECODE_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    EOFError,
    OverflowError,
    MemoryError,
    AssertionError,
    AttributeError,
    ZeroDivisionError,
    RuntimeError,
    NotImplementedError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)
"""What Pillow's readers were seen to raise on damaged files (tests/test_pictures.py damages some)."""


class PictureError(Exception):
    """Bytes that are no usable picture. The message says why, in words for the import report."""


@dataclass(frozen=True)
class Facts:
    """What a picture's head says: its format, upright size in pixels, and whether it moves."""

    format: str
    width: int
    height: int
    animated: bool


@dataclass(frozen=True)
class Picture(Facts):
    """A checked picture: what its head says, and a WebP thumbnail."""

    thumbnail: bytes


def _scans(data: bytes) -> int:
    """How many times a JPEG goes over its pixels, counted up to MOST_SCANS + 1; 0 for other files.

    A progressive one has about ten scans. Each further one costs a minute's share of work for a few bytes, and the
    format sets no limit.
    """
    found, place = 0, 2 if data[:2] == b"\xff\xd8" else len(data)
    while found <= MOST_SCANS and (marker := _MARKER.search(data, place)) and marker[0] != b"\xff\xd9":
        found += marker[0] == b"\xff\xda"
        place = marker.end()
        if marker[0] != b"\xff\x01":  # which has no length
            place += max(2, int.from_bytes(data[place : place + 2], "big"))
    return found


def _open(data: bytes, max_pixels: int) -> Image.Image:
    if not data:
        raise PictureError("the file is empty (0 bytes); export it again")
    if len(data) > MAX_BYTES:
        raise PictureError(f"the file has {len(data):,} bytes, more than the limit of {MAX_BYTES:,}; scale it down")
    if _scans(data) > MOST_SCANS:
        raise PictureError(f"a JPEG of more than {MOST_SCANS} scans; save it anew with an image editor")
    try:
        image = Image.open(io.BytesIO(data), formats=tuple(MIME))
    except Image.UnidentifiedImageError:
        raise PictureError(f"no picture that can be read; use one of {', '.join(MIME)}") from None
    except Image.DecompressionBombError:
        raise PictureError(_too_large(f"over {MOST_MEGAPIXELS} million", max_pixels, "scale it down")) from None
    except Image.DecompressionBombWarning:
        raise PictureError(_too_large("over 89 million", max_pixels)) from None
    except _DECODE_ERRORS as error:
        raise PictureError(_damaged(error)) from error
    if image.width * image.height > max_pixels:
        size = f"{image.width:,} x {image.height:,} = {image.width * image.height:,}"
        raise PictureError(_too_large(size, max_pixels))
    return image


def _too_large(size: str, max_pixels: int, remedy: str = "scale it down or raise --max-megapixels") -> str:
    limit = min(max_pixels, MOST_MEGAPIXELS * 1_000_000)
    return f"{size} pixels, more than the limit of {limit:,}; {remedy}"


def _damaged(error: BaseException) -> str:
    words = str(error).split("\n")[0][:120] or type(error).__name__
    return f"damaged picture ({words}); export it again"


def _rgb(image: Image.Image) -> Image.Image:
    """Any mode -> RGB: 16-bit grey is scaled, not clipped; transparency lies on a white ground."""
    if image.mode.startswith("I"):  # of the formats in MIME only PNG has it, with 16 bits
        image = Image.fromarray((np.asarray(image) >> 8).clip(0, 255).astype(np.uint8))
    if image.mode in ("LA", "PA", "La", "RGBA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Image.new("RGB", image.size, GROUND)
        ground.paste(image, mask=image.getchannel("A"))
        return ground
    return image if image.mode == "RGB" else image.convert("RGB")


def read_picture(data: bytes, max_pixels: int = MAX_PIXELS) -> Picture:
    """Check a file's bytes and make its thumbnail.

    The first frame counts where a file moves; EXIF rotation is applied. The thumbnail is WebP, at most
    THUMBNAIL pixels on its longer side, never larger than the picture. Raises PictureError.
    """
    image = _open(data, max_pixels)
    try:
        facts = _facts(image)
        if image.mode == "RGB":  # lets Pillow decode a JPEG at reduced size
            image.thumbnail((THUMBNAIL, THUMBNAIL))
        image = _rgb(ImageOps.exif_transpose(image))
        image.thumbnail((THUMBNAIL, THUMBNAIL))
        out = io.BytesIO()
        image.save(out, "WEBP", quality=80, method=2, exif=b"", icc_profile=b"")
    except _DECODE_ERRORS as error:
        raise PictureError(_damaged(error)) from error
    return Picture(facts.format, facts.width, facts.height, facts.animated, out.getvalue())


def _facts(image: Image.Image) -> Facts:
    kind = "JPEG" if image.format == "MPO" else str(image.format)
    animated = kind != "JPEG" and bool(getattr(image, "is_animated", False))
    turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
    return Facts(kind, *(image.size[::-1] if turned else image.size), animated)


def read_facts(data: bytes, max_pixels: int = MAX_PIXELS) -> Facts:
    """What a file's head says, without its pixels. Raises PictureError."""
    try:
        return _facts(_open(data, max_pixels))
    except _DECODE_ERRORS as error:
        raise PictureError(_damaged(error)) from error


def read_pixels(data: bytes, max_pixels: int = MAX_PIXELS) -> np.ndarray:
    """All pixels of the first frame, upright: uint8 of shape (height, width, 3). Raises PictureError."""
    image = _open(data, max_pixels)
    try:
        return np.asarray(_rgb(ImageOps.exif_transpose(image)))
    except _DECODE_ERRORS as error:
        raise PictureError(_damaged(error)) from error


def read_grey(data: bytes, side: int, max_pixels: int = MAX_PIXELS) -> np.ndarray:
    """The first frame in grey (ITU-R 601), upright, brought down to `side` pixels on its longer side: uint8 of shape
    (height, width). Smaller pictures stay as they are; a JPEG is decoded at a reduced size where that is large enough.
    Raises PictureError.
    """
    image = _open(data, max_pixels)
    try:
        image.draft("RGB", (side, side))
        image = _rgb(ImageOps.exif_transpose(image)).convert("L")
        image.thumbnail((side, side))
        return np.asarray(image)
    except _DECODE_ERRORS as error:
        raise PictureError(_damaged(error)) from error


def read_for_model(data: bytes) -> Image.Image:
    """The first frame, upright, RGB, as a model is shown it: at most MODEL_SIDE pixels on its longer side.

    Raises PictureError; the limit of pixels is the highest, as an import may have allowed so many.
    """
    picture = Image.fromarray(read_pixels(data, MOST_MEGAPIXELS * 1_000_000))
    picture.thumbnail((MODEL_SIDE, MODEL_SIDE))
    return picture
