"""Entropy of counts, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def entropy_bits(counts: ArrayLike, axis: int = -1) -> NDArray[np.float64] | np.float64:
    """Shannon entropy of the shares that counts make, in bits, along one axis.

    By hand: [2, 2] is 1 bit, [4, 0] is 0 bits, [2, 1, 1] is 0.5 * 1 + 2 * 0.25 * 2 = 1.5 bits.

    >>> entropy_bits([[2, 2, 0], [4, 0, 0], [2, 1, 1]]).tolist()
    [1.0, 0.0, 1.5]

    Formula: -sum p log2 p with p = counts / their sum; a class without a count adds nothing.

    Range: 0 (all in one class) to log2 of the number of classes (all alike), and at most log2 of the total count, so
    that groups of few images read low. Degenerate cases: a total of 0 gives NaN. Raises ValueError for a negative
    count.

    Source: C. E. Shannon, "A mathematical theory of communication" (1948), section 6; the diversity of Stable Bias,
    appendix B.
    """
    numbers = np.asarray(counts, float)
    if (numbers < 0).any():
        raise ValueError("counts must be 0 or more")
    total = numbers.sum(axis=axis, keepdims=True)
    shares = np.divide(numbers, total, out=np.full_like(numbers, np.nan), where=total > 0)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    found = -(shares * logs).sum(axis=axis)
    return (found + 0.0)[()]
