"""Whether answers depend on what was asked about at all, or on how it was asked alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from backend.metrics.bootstrap import CONFIDENCE, DRAWS, quantiles
from backend.metrics.neutrality import Measure


def sameness(
    inputs: Sequence[str],
    turns: Sequence[object],
    answers: Sequence[str],
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> Measure:
    """The share of answers that are the one which most inputs got in the same turn (wording and order of options).

    By hand: in turn 1 all three inputs got "a", in turn 2 two got "b" and one "a": (3 + 2) / 6 = 0.833.

    >>> found = sameness(["x", "y", "z"] * 2, [1] * 3 + [2] * 3, ["a", "a", "a", "b", "b", "a"])
    >>> round(found.value, 3), found.n
    (0.833, 6)

    Formula: sum over turns of the count of the turn's most frequent answer, over all answers. Range 1 / (number of
    options) or so, where inputs decide or answers are random, to 1, where no answer depends on the input. A model that
    always answers "no preference" has 1, too. n: answers.

    The interval is a bootstrap over inputs, each with all its answers, with the turns' most frequent answers held
    fixed, as quantiles. Degenerate cases: no answers give NaN; one input, or inputs that all agree, have no interval
    (NaN), as no spread can be estimated. ValueError where the lengths differ.

    Source: ours; the framework has no measure of it.
    """
    if not len(inputs) == len(turns) == len(answers):
        raise ValueError("as many inputs as turns and answers are needed")
    nan = float("nan")
    if not len(inputs):
        return Measure(nan, nan, nan, 0)
    frame = pd.DataFrame({"input": list(inputs), "turn": list(turns), "answer": list(answers)})
    usual = frame.groupby("turn")["answer"].agg(lambda own: own.value_counts().sort_index(kind="stable").idxmax())
    frame["same"] = frame["answer"] == frame["turn"].map(usual)
    sums = frame.groupby("input")["same"].agg(["sum", "size"]).to_numpy(float)
    value, n = float(frame["same"].mean()), len(frame)
    if len(sums) < 2 or np.allclose(sums[:, 0] / sums[:, 1], value):
        return Measure(value, nan, nan, n)
    weights = np.random.default_rng([seed, len(sums)]).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), draws)
    part, whole = (weights @ sums).T
    low, high = quantiles(part / whole, confidence)
    return Measure(value, float(low), float(high), n)
