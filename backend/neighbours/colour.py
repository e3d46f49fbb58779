"""One picture -> numbers by which its colours are compared. Pure functions; nothing here knows an audit."""

from __future__ import annotations

import numpy as np
from PIL import Image

from backend.metrics.colour import colourfulness

SIDE = 64
"""The histogram is taken of the picture averaged down to so many pixels on its longer side."""
LIGHTNESS = (12.5, 37.5, 62.5, 87.5)
OPPONENT = (-60.0, -30.0, 0.0, 30.0, 60.0)
"""Centres of the histogram's bins on L*, and on a* and b*; what lies beyond the outermost counts there."""
SCALE = 50.0
"""A difference of so much colourfulness counts as much as two histograms without a common bin. Between two pictures
drawn by chance the two parts are then about as large: root mean squares 0.51 and 0.57 in the starter audit."""
WIDTH = 1 + len(LIGHTNESS) * len(OPPONENT) ** 2
PARAMETERS = {
    "version": 1,
    "side": SIDE,
    "lightness": list(LIGHTNESS),
    "opponent": list(OPPONENT),
    "scale": SCALE,
    "width": WIDTH,
}

_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(pixels: np.ndarray) -> np.ndarray:
    """CIE 1976 L*a*b* (white D65) of sRGB pixels.

    Black, white and pure red:

    >>> lab(np.array([[0, 0, 0], [255, 255, 255], [255, 0, 0]], np.uint8)).round().astype(int).tolist()
    [[0, 0, 0], [100, 0, 0], [53, 80, 67]]

    pixels: uint8 (..., 3). Returns float64 of that shape: L* from 0 to 100, a* from -86 to 98, b* from -108 to 94.

    Sources: IEC 61966-2-1 (sRGB to XYZ), CIE 15:2004, section 8.2.1.
    """
    values = np.arange(256) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    ratios = linear[pixels] @ (_XYZ / _WHITE[:, None]).T
    roots = np.where(ratios > (6 / 29) ** 3, np.cbrt(ratios), ratios / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = np.moveaxis(roots, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _shares(values: np.ndarray, centres: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The bin whose centre is next below each value, and the share of the bin after it (linear in between)."""
    place = np.interp(values, centres, np.arange(len(centres)))
    below = np.minimum(place.astype(int), len(centres) - 2)
    return below, place - below


def histogram(pixels: np.ndarray) -> np.ndarray:
    """Shares of colours in the bins around the centres LIGHTNESS x OPPONENT x OPPONENT, L* slowest.

    A grey that lies on a centre fills one bin; one halfway between two fills each by half:

    >>> found = histogram(np.full((2, 2, 3), 89, np.uint8))      # L* = 37.6
    >>> int(found.argmax()), round(float(found.max()), 2)
    (37, 0.99)
    >>> found = histogram(np.full((2, 2, 3), 119, np.uint8))     # L* = 50.0
    >>> found.round(2)[[37, 62]].tolist()
    [0.5, 0.5]

    pixels: uint8 (height, width, 3). Each pixel is shared out linearly among the eight bins about it, so that a small
    shift of colour is a small change. Returns float64 of WIDTH - 1 numbers from 0 to 1 whose sum is 1.
    """
    planes = np.moveaxis(lab(pixels.reshape(-1, 3)), -1, 0)
    axes = [_shares(plane, centres) for plane, centres in zip(planes, (LIGHTNESS, OPPONENT, OPPONENT), strict=True)]
    found = np.zeros(WIDTH - 1)
    for corner in range(8):
        place, weight = np.zeros(len(planes[0]), int), np.ones(len(planes[0]))
        for axis, (below, share) in enumerate(axes):
            above = corner >> axis & 1
            place = place * (len(LIGHTNESS), len(OPPONENT), len(OPPONENT))[axis] + below + above
            weight = weight * (share if above else 1 - share)
        found += np.bincount(place, weight, WIDTH - 1)
    return found / len(planes[0])


def features(pixels: np.ndarray) -> np.ndarray:
    """The vector whose Euclidean distance compares two pictures' colours: float32 of WIDTH numbers.

    A picture that is black and one that is white share no bin and are both without colour: distance 1. Against pure
    red (colourfulness 85.5) black is sqrt(1 + (85.5 / 50)^2) = 1.98 away:

    >>> colours = (0, 0, 0), (255, 255, 255), (255, 0, 0)
    >>> black, white, red = (features(np.full((4, 4, 3), colour, np.uint8)) for colour in colours)
    >>> [round(float(np.linalg.norm(black - other)), 2) for other in (black, white, red)]
    [0.0, 1.0, 1.98]

    pixels: uint8 (height, width, 3), all of the picture. The first number is `colourfulness` (of all pixels) divided
    by SCALE, the others are the roots of the halved histogram (of the picture averaged down to SIDE pixels), so
    distance^2 = H^2 + (difference in colourfulness / SCALE)^2, where H from 0 to 1 is the Hellinger distance of the
    histograms.
    """
    height, width = pixels.shape[:2]
    longer = max(height, width)
    size = (max(1, round(width * SIDE / longer)), max(1, round(height * SIDE / longer)))
    small = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BOX)) if longer > SIDE else pixels
    return np.concatenate([[colourfulness(pixels) / SCALE], np.sqrt(histogram(small) / 2)]).astype("float32")
