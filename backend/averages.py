"""Aligned faces -> their average and what can be said of it. Nothing here knows an audit."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from PIL import Image

from backend.metrics.sharpness import (
    MOST,
    encoded,
    gradients,
    gram,
    homogeneity,
    linear,
    luminance,
    sharpness,
    sharpness_intervals,
    sharpness_ratio,
)

QUALITY = 90
NAMES = ("sharpness", "members", "ratio", "ratio_low", "ratio_high")
NAMES += ("homogeneity", "homogeneity_low", "homogeneity_high")


class Average:
    """The average of a group's aligned faces, taken in one by one: memory does not grow with their number.

    `expected` is how many there will be: of more than MOST, the intervals are made from a fixed random choice of MOST.
    With `intervals` unset none are made.
    """

    def __init__(self, expected: int, intervals: bool = True) -> None:
        kept = np.arange(expected) if intervals else np.empty(0, int)
        if len(kept) > MOST:
            kept = np.sort(np.random.default_rng([0, expected]).choice(expected, MOST, replace=False))
        self._kept = set(kept.tolist())
        self._fields: list[np.ndarray] = []
        self._members: list[float] = []
        self._sum: np.ndarray | None = None

    def add(self, face: np.ndarray) -> None:
        """Take in an aligned face, uint8 of shape (side, side, 3)."""
        light = linear()[face]
        if self._sum is None:
            self._sum = np.zeros(light.shape, np.uint64)
        self._sum += light
        field = gradients(luminance(light))
        if len(self._members) in self._kept:
            self._fields.append(field.astype("float32"))
        self._members.append(float(np.sqrt(np.mean(np.sum(field**2, axis=0)))))

    def mean(self) -> np.ndarray:
        """The average in linear light, from 0 to 65,535: float64 of the faces' shape. Exact but for the division: it
        does not depend on their order."""
        if self._sum is None:
            raise ValueError("there is no face to average")
        return self._sum / len(self._members)

    def picture(self) -> bytes:
        """The average as a WebP file; b"" without faces."""
        if self._sum is None:
            return b""
        out = io.BytesIO()
        Image.fromarray(encoded(self.mean())).save(out, "WEBP", quality=QUALITY, exif=b"", icc_profile=b"")
        return out.getvalue()

    def measures(self) -> dict[str, float]:
        """The numbers in NAMES (see backend/metrics/sharpness.py): NaN where they cannot be said, as for one face."""
        found = dict.fromkeys(NAMES, math.nan)
        count = len(self._members)
        if not count:
            return found
        average, members = sharpness(luminance(self.mean())), math.fsum(self._members) / count
        found |= {"sharpness": average, "members": members}
        if count > 1:
            found |= {"ratio": sharpness_ratio(average, members), "homogeneity": homogeneity(average, self._members)}
        if self._fields:
            ends = sharpness_intervals(gram(np.stack(self._fields)))
            for name, (low, high) in zip(("ratio", "homogeneity"), ends, strict=True):
                found |= {f"{name}_low": float(low), f"{name}_high": float(high)}
        return found


def average(faces: Iterable[np.ndarray], expected: int) -> dict[str, Any]:
    """The measures and the picture of a group whose aligned faces come one after the other."""
    group = Average(expected)
    for face in faces:
        group.add(face)
    return {**group.measures(), "picture": group.picture()}
