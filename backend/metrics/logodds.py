"""The words that set two groups of texts apart: log-odds with an informative Dirichlet prior."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
import pandas as pd


def log_odds(
    first: Mapping[str, int],
    second: Mapping[str, int],
    prior: Mapping[str, float],
    strength: float = 500.0,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """How much likelier each word is in the first group than in the second: delta, its interval, and z.

    By hand: "hat" 3 of 4 words in the first and 1 of 4 in the second, "cap" the other way round, prior a = 1 each:
    delta(hat) = ln(4 / 2) - ln(2 / 4) = 2 ln 2 = 1.386, variance = 1 / 4 + 1 / 2 = 0.75.

    >>> table = log_odds({"hat": 3, "cap": 1}, {"hat": 1, "cap": 3}, {"hat": 4, "cap": 4}, strength=2)
    >>> table.loc["hat", ["delta", "low", "high"]].astype(float).round(3).tolist()
    [1.386, -0.311, 3.084]

    Formula, with y counts, n totals, a the prior's pseudo-counts (`strength` words, shared out as `prior` counts
    them) and a0 their sum: delta = ln((y1 + a) / (n1 + a0 - y1 - a)) - ln((y2 + a) / (n2 + a0 - y2 - a)),
    variance = 1 / (y1 + a) + 1 / (y2 + a), z = delta / sqrt(variance), interval = delta -+ 1.96 sqrt(variance).

    Range: any number; above 0 the word leans to the first group. One row a word (index), columns first, second
    (counts), delta, low, high, z, the largest z first. Words that neither group holds are left out; two empty groups
    give an empty table; a vocabulary of one word says nothing, and gives NaN. It supposes independent words, and is too
    sure where one caption is repeated.

    Source: Monroe, Colaresi and Quinn, "Fightin' Words", Political Analysis 16 (2008), equations 15, 16 and 20 to 22.
    """
    words = sorted(word for word in {*first, *second} if first.get(word, 0) + second.get(word, 0))
    y1, y2 = (np.array([group.get(word, 0) for word in words], float) for group in (first, second))
    base = np.array([prior.get(word, 0) for word in words], float)
    if (base <= 0).any() or strength <= 0:
        raise ValueError("the prior must count every word of both groups, and its strength must be above 0")
    a = strength * base / float(sum(prior.values()))
    with np.errstate(divide="ignore", invalid="ignore"):
        delta = np.log((y1 + a) / (y1.sum() + strength - y1 - a)) - np.log((y2 + a) / (y2.sum() + strength - y2 - a))
    delta = np.where(np.isfinite(delta), delta, np.nan)
    error = np.sqrt(1 / (y1 + a) + 1 / (y2 + a))
    half = NormalDist().inv_cdf((1 + confidence) / 2) * error
    columns = {"first": y1.astype(int), "second": y2.astype(int), "delta": delta, "low": delta - half}
    table = pd.DataFrame({**columns, "high": delta + half, "z": delta / error}, index=pd.Index(words, dtype="str"))
    return table.sort_values("z", ascending=False, kind="stable")
