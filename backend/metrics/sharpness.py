"""How sharp a face is, how much of that its average keeps, and how alike the faces of a group are (for aligned faces).

Stable Bias, section 4.3, reads the sharpness of an average face by eye: a sharper one means more uniform faces.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.metrics.bootstrap import CONFIDENCE, DRAWS, quantiles

Floats = NDArray[np.float64]
FEWEST = 5
"""Groups of fewer faces have no interval."""
MOST = 400
"""Intervals of larger groups are made from a random choice of so many, so they are wider than they need be."""
CENTRE, AXES = (128.0, 145.0), (72.0, 84.0)
"""The face oval in an aligned picture: its middle and half axes, in pixels."""
WEIGHTS = (0.2126, 0.7152, 0.0722)
"""The shares of red, green and blue in luminance (ITU-R BT.709)."""
WHITE = 65_535


@lru_cache(maxsize=1)
def linear() -> NDArray[np.uint16]:
    """Linear light, from 0 to WHITE, of each of the 256 sRGB values: whole numbers, so that sums of them are exact.

    >>> linear()[[0, 55, 188, 255]].tolist()
    [0, 2504, 32957, 65535]

    Source: IEC 61966-2-1 (sRGB).
    """
    values = np.arange(256) / 255
    light = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    table = np.rint(WHITE * light).astype(np.uint16)
    table.setflags(write=False)
    return table


def encoded(light: ArrayLike) -> NDArray[np.uint8]:
    """Linear light from 0 to WHITE as sRGB values, rounded: undoes `linear`.

    >>> encoded(linear()[[0, 55, 188, 255]]).tolist()
    [0, 55, 188, 255]
    """
    values = np.asarray(light, float) / WHITE
    curved = np.where(values <= 0.0031308, 12.92 * values, 1.055 * np.maximum(values, 0.0031308) ** (1 / 2.4) - 0.055)
    return np.rint(255 * curved).astype(np.uint8)


def luminance(light: NDArray[np.generic]) -> Floats:
    """The luminance, 0 to 1, of linear light from 0 to WHITE: (..., 3) gives (...).

    >>> luminance(np.array([[WHITE, WHITE, WHITE], [0, WHITE, 0]])).round(4).tolist()
    [1.0, 0.7152]
    """
    return light @ (np.array(WEIGHTS) / WHITE)


@lru_cache(maxsize=2)
def oval(side: int = 256) -> NDArray[np.bool_]:
    """The pixels of an aligned picture whose middle lies in the face oval: bool of shape (side, side)."""
    places = np.arange(side) + 0.5
    x, y = (places - CENTRE[0]) / AXES[0], (places - CENTRE[1]) / AXES[1]
    inside = x[None, :] ** 2 + y[:, None] ** 2 <= 1
    inside.setflags(write=False)
    return inside


def gradients(light: NDArray[np.floating], inside: NDArray[np.bool_] | None = None) -> Floats:
    """The gradient of a luminance at the pixels of a mask, an edge's strength and direction: shape (2, pixels).

    By hand: three columns 0.0, 0.1, 0.4 rise by (0.4 - 0.0) / 2 = 0.2 a pixel to the right at the middle, and not down.

    >>> middle = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]], bool)
    >>> gradients(np.array([[0.0, 0.1, 0.4]] * 3), middle).round(6).tolist()
    [[0.2], [0.0]]

    Formula: central differences, (right - left) / 2 and (below - above) / 2. light: (height, width), 0 to 1; `inside`
    is `oval()` where none is given, and holds no pixel of the border.
    """
    inside = oval(len(light)) if inside is None else inside
    across, down = np.zeros_like(light), np.zeros_like(light)
    across[:, 1:-1] = (light[:, 2:] - light[:, :-2]) / 2
    down[1:-1] = (light[2:] - light[:-2]) / 2
    return np.stack([across[inside], down[inside]])


def sharpness(light: NDArray[np.floating], inside: NDArray[np.bool_] | None = None) -> float:
    """How strong the edges of one face are: S, the root mean square of its gradient within the face oval.

    By hand: a luminance that rises by 0.2 a pixel everywhere has S = 0.2, one that is the same everywhere has 0.

    >>> ramp = np.array([[0.0, 0.2, 0.4, 0.6]] * 4)
    >>> middle = np.zeros((4, 4), bool)
    >>> middle[1:-1, 1:-1] = True
    >>> round(sharpness(ramp, middle), 6), sharpness(0 * ramp, middle)
    (0.2, 0.0)

    Formula: S = sqrt(mean over the oval's pixels of |G|^2), with G = `gradients` of the luminance in linear light.

    Range: 0 to sqrt(1/2). It grows with contrast, light and detail, and falls where a small face was scaled up; so it
    compares a group's average with its own members, not systems with each other. S is a norm: the average of faces is
    never sharper than they are on average.
    """
    return float(np.sqrt(np.mean(np.sum(gradients(light, inside) ** 2, axis=0))))


def sharpness_ratio(average: float, members: float) -> float:
    """How much of its members' sharpness the average of a group keeps: S of the average over the mean S of the members.

    By hand: two faces whose edges lie in different places, each with S = 0.2, have an average with half of each edge:
    S = sqrt(0.1^2 + 0.1^2) = 0.1414, so the ratio is 0.7071, though they have nothing in common.

    >>> round(sharpness_ratio(0.1 * 2**0.5, 0.2), 4)
    0.7071

    Range: 0 to 1; 1 only where all faces have the same edges. It falls with n even where nothing else changes (for
    faces without anything in common as 1 / sqrt(n)), so it compares groups of one size only; see `homogeneity`. NaN
    where the members have no edges.

    Source: a measure of Likeness; Stable Bias (section 4.3) compares sharpness by eye.
    """
    return min(1.0, average / members) if members > 0 else float("nan")


def homogeneity(average: float, members: ArrayLike) -> float:
    """How alike the faces of a group are, whatever its size: 0 for edges in unrelated places, 1 for the same edges.

    By hand: the two faces above, S = 0.2 each and 0.1414 for their average, have 2 * 0.1414^2 - 0.2^2 = 0 in common.
    Two faces that are the same, S = 0.2 each and for their average, have 2 * 0.2^2 - 0.2^2 = 0.2^2: all.

    >>> round(homogeneity(0.1 * 2**0.5, [0.2, 0.2]), 6), round(homogeneity(0.2, [0.2, 0.2]), 6)
    (0.0, 1.0)

    Formula: sqrt(max(0, P)) / mean S_i, where P is the mean over pairs i, j of different faces of <G_i, G_j> (the mean
    over the oval's pixels of their gradients' product); the same as (n S^2 - mean S_i^2) / (n - 1), with S of the
    average. Without the pairs of a face with itself, P does not depend on n but for chance.

    Range: 0 to 1. NaN for fewer than two faces, and where none has edges. Where P is a little above 0 by chance, the
    root makes it look larger: unrelated faces give a little more than 0 on average, and less the more there are.

    Source: a measure of Likeness; the unbiased estimate of a squared mean from pairs (a U-statistic: Hoeffding 1948).
    """
    each = np.asarray(members, float)
    n = len(each)
    mean = math.fsum(each) / n if n else 0.0
    if n < 2 or mean <= 0:
        return float("nan")
    shared = (n * average**2 - math.fsum(each**2) / n) / (n - 1)
    return min(1.0, float(np.sqrt(max(0.0, shared))) / mean)


def gram(fields: ArrayLike) -> Floats:
    """The products of all pairs of gradient fields: (n, n), from fields (n, 2, pixels); its diagonal is S squared.

    >>> gram([[[0.2], [0.0]], [[0.0], [0.2]]]).round(6).tolist()
    [[0.04, 0.0], [0.0, 0.04]]
    """
    values = np.asarray(fields)
    flat = values.reshape(len(values), -1)
    return (flat @ flat.T).astype(float) / values.shape[-1]


def sharpness_intervals(
    products: ArrayLike, confidence: float = CONFIDENCE, draws: int = DRAWS, seed: int = 0
) -> tuple[Floats, Floats]:
    """Bootstrap intervals over a group's faces: of the ratio, then of the homogeneity, each (low, high).

    By hand: five faces that are all the same cannot be drawn otherwise.

    >>> [interval.round(6).tolist() for interval in sharpness_intervals(np.full((5, 5), 0.04))]
    [[1.0, 1.0], [1.0, 1.0]]

    Formula: n faces are drawn with replacement, face i w_i times; K = `gram`. A face drawn twice must not count as two
    that are alike: so P = (w'Kw - sum w_i^2 K_ii) / (n^2 - sum w_i^2), over pairs of different originals only. The
    homogeneity is sqrt(max(0, P)) / M, M = sum w_i sqrt(K_ii) / n; with D = sum w_i K_ii / n the average's S squared is
    P + (D - P) / n, which gives the ratio. Quantiles over the draws; one that has no pair, or only faces without edges,
    is left out.

    Range: within 0 and 1. (NaN, NaN) for fewer than FEWEST faces, and where none has edges.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.
    """
    matrix = np.asarray(products, float)
    n, own = len(matrix), np.diagonal(matrix)
    if n < FEWEST or not (own > 0).any():
        return np.full(2, np.nan), np.full(2, np.nan)
    drawn = np.random.default_rng([seed, n]).multinomial(n, np.full(n, 1 / n), size=draws).astype(float)
    drawn = drawn[(drawn @ own > 0) & (drawn.max(axis=1) < n)]
    twice = drawn**2
    pairs = (np.einsum("di,di->d", drawn @ matrix, drawn) - twice @ own) / (n**2 - twice.sum(axis=1))
    mean, squares = drawn @ np.sqrt(own) / n, drawn @ own / n
    tops = np.stack([pairs + (squares - pairs) / n, pairs])
    low, high = np.minimum(quantiles(np.sqrt(np.clip(tops, 0, None)) / mean, confidence), 1)
    return np.array([low[0], high[0]]), np.array([low[1], high[1]])
