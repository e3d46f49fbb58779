"""How far two labellings of the same images agree beyond chance: Cohen's kappa."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np


def kappa(first: Sequence[str], second: Sequence[str], confidence: float = 0.95) -> tuple[float, float, float]:
    """Cohen's kappa of two raters with its interval: (kappa, low, high).

    By hand: 20 agree on yes, 15 on no, 5 + 10 differ. Agreement po = 35 / 50 = 0.7; by chance, from the margins
    25/50 and 30/50, pe = 0.5 * 0.6 + 0.5 * 0.4 = 0.5; kappa = (0.7 - 0.5) / (1 - 0.5) = 0.4.

    >>> first = ["yes"] * 25 + ["no"] * 25
    >>> second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    >>> [round(value, 2) for value in kappa(first, second)]
    [0.4, 0.15, 0.65]

    Range -1 to 1; 1 is full agreement, 0 what chance gives. The interval is large-sample (Fleiss, Cohen and Everitt
    1969, equation 13) and cut at -1 and 1. Degenerate cases: no pair, or both raters using one and the same word
    throughout, gives NaN three times (chance alone explains everything). Raises ValueError for unequal lengths.

    Source: J. Cohen, "A coefficient of agreement for nominal scales" (1960).
    """
    if len(first) != len(second):
        raise ValueError("both raters must have judged the same images")
    nothing = (float("nan"),) * 3
    labels = sorted({*first, *second})
    if len(labels) < 2:
        return nothing
    place = {label: index for index, label in enumerate(labels)}
    p = np.zeros((len(labels), len(labels)))
    np.add.at(p, ([place[x] for x in first], [place[x] for x in second]), 1 / len(first))
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    agreed, chance = float(np.trace(p)), float(rows @ columns)
    value = (agreed - chance) / (1 - chance)
    same = np.diag(p) @ (1 - (rows + columns) * (1 - value)) ** 2
    apart = (1 - value) ** 2 * ((p - np.diag(np.diag(p))) * (columns[:, None] + rows[None, :]) ** 2).sum()
    variance = (same + apart - (value - chance * (1 - value)) ** 2) / ((1 - chance) ** 2 * len(first))
    half = NormalDist().inv_cdf((1 + confidence) / 2) * float(np.sqrt(max(variance, 0)))
    return value, max(-1.0, value - half), min(1.0, value + half)
