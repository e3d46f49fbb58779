"""Colour measures of single images."""

from __future__ import annotations

import numpy as np

BLOCK = 1_000_000
"""Pixels that are looked at at once: a large picture takes no more memory than they do."""


def colourfulness(pixels: np.ndarray) -> float:
    """Hasler and Suesstrunk's colourfulness M3 of one image.

    A picture of one grey is 0. A picture of one pure red (255, 0, 0) has rg = 255 and yb = 127.5 everywhere, so both
    deviations are 0 and M = 0.3 * sqrt(255^2 + 127.5^2) = 85.53.

    With rg = R - G and yb = (R + G) / 2 - B over all pixels:
    M = sqrt(std(rg)^2 + std(yb)^2) + 0.3 * sqrt(mean(rg)^2 + mean(yb)^2).

    pixels: uint8 RGB of shape (height, width, 3), not empty. Returns a number from 0 upward; the authors read 0 as
    not colourful, 15 slightly, 33 moderately, 45 averagely, 59 quite, 82 highly and 109 extremely colourful.
    Raises ValueError for another shape or no pixel.

    Source: Hasler and Suesstrunk, Measuring colourfulness in natural images, Proc. SPIE 5007, 2003, section 7
    (population standard deviation); used by Stable Bias, section 4.3.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise ValueError(f"pixels must have shape (height, width, 3) and hold something, not {pixels.shape}")
    count = pixels.shape[0] * pixels.shape[1]
    sums, squares = [0, 0], [0, 0]
    step = max(1, BLOCK // pixels.shape[1])
    for first in range(0, pixels.shape[0], step):  # sums of whole numbers: exact, in whatever parts they are taken
        red, green, blue = (pixels[first : first + step, :, i].ravel().astype(np.int32) for i in range(3))
        for place, values in enumerate((red - green, red + green - 2 * blue)):
            sums[place] += int(values.sum(dtype=np.int64))
            squares[place] += int(np.dot(values.astype(np.int64), values))
    means, variances = [], []
    for total, square, scale in zip(sums, squares, (1.0, 0.5), strict=True):
        mean = total / count
        variance = square / count - mean * mean
        means.append(mean * scale)
        variances.append(max(variance, 0.0) * scale * scale)
    return float(np.sqrt(sum(variances)) + 0.3 * np.hypot(*means))
