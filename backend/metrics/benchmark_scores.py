"""Dataset effectiveness, resolution bias and the vision-language bias score, each with its interval over items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from backend.metrics.benchmark_draws import (
    Codes,
    Figure,
    Floats,
    Grouped,
    Resampled,
    checked,
    codes,
    figure,
    mean_of,
    share,
    some_of,
)
from backend.metrics.benchmarks import (
    accuracy,
    macro_f1,
    mean_resolution_bias,
    parity_ratio,
    resolution_bias,
    selection_rates,
    vision_language_bias,
)
from backend.metrics.bootstrap import CONFIDENCE, DRAWS, quantiles


def effectiveness(
    labels: Sequence[str],
    with_image: Sequence[str],
    text_only: Sequence[str],
    classes: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    positive: str = "",
    seed: int = 0,
) -> dict[str, Figure]:
    """How much the picture changes: each measure with the image less the same without it, item by item (paired).

    By hand: 20 of 20 right with the image, always "a" (10 of 20 right) without: the accuracy gap is 0.5.

    >>> labels = ["a", "b"] * 10
    >>> found = effectiveness(labels, labels, ["a"] * 20, ["a", "b"], {})
    >>> found["accuracy"].value, 0.25 < found["accuracy"].low < 0.5 < found["accuracy"].high, found["accuracy"].n
    (0.5, True, 20)

    Keys: accuracy, macro_f1, and "dpr NAME" for every attribute of `groups` (the mean gap of the classes). Range -1 to
    1. Near 0: the text alone gives as much, so the benchmark does not measure what a model sees.

    Each resample draws items with their answers of both conditions; plain quantiles for accuracy and Macro-F1. Chance
    lowers a ratio, and more so the less constant the answers are, so intervals of its gap are corrected as those of the
    ratio (`fairness`), and reach to 0 where 95 in 100 draws of groups that are alike leave such a gap. A class whose
    ratio is undefined in a condition is left out of the mean, and `why` names it; where a condition gave everybody the
    same answer, which is even and tells nothing, there is no gap.

    Source: Mapping Bias, section 3.4.
    """
    checked(labels, with_image, classes)
    checked(labels, text_only, classes)
    k, found = len(classes), {}
    columns = [codes(labels, classes), codes(with_image, classes), codes(text_only, classes)]
    items = Resampled(columns, seed=seed)
    (seen, drawn), (blind, redrawn) = items.tables(([0, 1], (k, k + 1)), ([0, 2], (k, k + 1)))
    for name, measure in (("accuracy", accuracy), ("macro_f1", macro_f1)):
        found[name] = figure(measure(seen) - measure(blind), measure(drawn) - measure(redrawn), len(labels))
    judged = {c: name for c, name in enumerate(classes) if not positive or name == positive}
    for name, values in groups.items():
        words = sorted({*values} - {""})
        known = np.array([bool(value) for value in values], bool)
        row = [codes(values, words)[known], *(column[known] for column in columns)]
        found[f"dpr {name}"] = _parity_gap(row, (max(1, len(words)), k), judged, seed)
    return found


def _parity_gap(row: list[Codes], shape: tuple[int, int], judged: dict[int, str], seed: int) -> Figure:
    """The gap of the mean demographic parity ratio; its interval is corrected as that of the ratio is. Pairs of answers
    (with the image, without it) that nobody gave are not drawn from: most of them."""
    pairs, said = np.unique(np.stack(row[2:], axis=1), axis=0, return_inverse=True)
    items = Grouped([*row[:2], said.ravel()], (*shape, max(1, len(pairs))), seed=seed)
    each, n = _gaps(items.whole, pairs, shape[1], judged), items.items.n
    value = float(mean_of(each))
    parts = [
        [mean_of(_gaps(part, pairs, shape[1], judged)) for part in (drawn, alike)] for drawn, alike, _ in items.chunks()
    ]
    resampled, chance = (np.concatenate(some) for some in zip(*parts, strict=True))
    same = [name for name, side in (("with the image", 0), ("without it", 1)) if n and len({*pairs[:, side]}) < 2]
    if same:
        return Figure(np.nan, np.nan, np.nan, n, f"{same[0]} everybody got the same answer, so no ratio tells anything")
    lost = [name for name, gap in zip(judged.values(), each, strict=True) if not np.isfinite(gap)]
    why = f"the ratio is undefined in a condition for {some_of(lost)}" if lost else ""
    found = figure(value, resampled, n, why=why)
    if not np.isfinite(found.low):
        return found
    move = 2 * (value - np.nanmean(resampled))
    low = min(2 * value - found.high, found.low + move, value)
    high = max(2 * value - found.low, found.high + move, value)
    ends = quantiles(chance[np.isfinite(chance)], CONFIDENCE) if np.isfinite(chance).any() else (1.0, -1.0)
    if ends[0] <= value <= ends[1]:
        low, high = min(low, 0.0), max(high, 0.0)
    return replace(found, low=round(max(-1.0, float(low)), 9) + 0.0, high=round(min(1.0, float(high)), 9) + 0.0)


def _gaps(tables: Floats, pairs: Codes, classes: int, judged: dict[int, str]) -> Floats:
    """Each judged class's ratio with the image less that without it: shape (..., judged) from counts by group, label
    and pair of answers, (..., groups, labels, pairs)."""
    counts, ratios = tables.sum(axis=-2), []
    for side in range(2):
        chosen = np.zeros((counts.shape[-1], classes + 1))
        chosen[np.arange(len(pairs)), pairs[:, side]] = 1
        rates = selection_rates(counts @ chosen)
        ratios.append(np.stack([parity_ratio(rates[..., c]) for c in judged], axis=-1))
    return ratios[0] - ratios[1]


def resolution(
    labels: Sequence[str],
    answers: Sequence[str],
    occupations: Sequence[str],
    men: str,
    women: str,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[Figure, dict[str, Figure]]:
    """Resolution bias overall and of every occupation, with intervals.

    By hand, one occupation, 2 of 2 women and 0 of 2 men right: 1, and no resample can be otherwise.

    >>> overall, each = resolution(["w", "w", "m", "m"], ["w"] * 4, ["doctor"] * 4, "m", "w")
    >>> overall.value, overall.low, each["doctor"].n
    (1.0, 1.0, 4)

    The data set has a fixed, small number of pictures for each occupation and gender, so each of these is drawn anew
    within itself, n - 1 of n: n of n would be too narrow (by a tenth at five pictures). ValueError where a label is
    neither `men` nor `women`. Source: Mapping Bias, section 3.6.1; J. Rao and C. Wu, "Resampling inference with complex
    survey data" (1988), for the n - 1.
    """
    checked(labels, answers, (men, women))
    names = sorted({*occupations})
    right, total = np.zeros((len(names), 2)), np.zeros((len(names), 2))
    at = codes(occupations, names), codes(labels, (men, women))
    np.add.at(total, at, 1)
    np.add.at(right, at, [label == answer for label, answer in zip(labels, answers, strict=True)])
    share = np.divide(right, total, out=np.zeros_like(right), where=total > 0)
    fewer = _fewer(total)
    drawn = np.random.default_rng([seed, len(labels)]).binomial(fewer, share, size=(draws, *total.shape))
    value, resampled = resolution_bias(right, total), resolution_bias(drawn, fewer)
    overall = figure(mean_resolution_bias(right, total), mean_resolution_bias(drawn, fewer), len(labels))
    each = {
        name: figure(
            value[place],
            resampled[:, place],
            int(total[place].sum()),
            why="" if np.isfinite(value[place]) else "no pictures of either men or women",
        )
        for place, name in enumerate(names)
    }
    return overall, each


def stereotypes(answers: Sequence[str], stereotypical: str) -> Figure:
    """The vision-language bias score of some answers, with Wilson's interval.

    By hand, 6 of 10 are stereotypical.

    >>> stereotypes(["stereotype"] * 6 + ["other"] * 4, "stereotype").value
    0.6
    """
    chosen, n = sum(answer == stereotypical for answer in answers), len(answers)
    return replace(share(chosen, n), value=float(vision_language_bias(chosen, n)))


def stereotype_gap(with_image: Sequence[str], text_only: Sequence[str], stereotypical: str, seed: int = 0) -> Figure:
    """The vision-language bias score with the image less that of the text alone, item by item (paired).

    By hand: 2 of 4 stereotypical with the image, 3 of 4 without it: -0.25.

    >>> stereotype_gap(["s", "s", "a", "a"], ["s", "s", "s", "a"], "s").value
    -0.25

    Range -1 to 1; below 0 the image makes answers less stereotypical. Source: Mapping Bias, section 4.2.1.
    """
    columns = [codes(answers, (stereotypical,)) for answers in (with_image, text_only)]
    items = Resampled(columns, seed=seed)
    ((whole, drawn),) = items.tables(([0, 1], (2, 2)))
    gaps = [(table[..., 0, 1] - table[..., 1, 0]) / max(1, items.n) for table in (whole, drawn)]
    return figure(float(gaps[0]) if items.n else np.nan, gaps[1], items.n)


def resolution_gap(
    labels: Sequence[str],
    with_image: Sequence[str],
    text_only: Sequence[str],
    occupations: Sequence[str],
    men: str,
    women: str,
    seed: int = 0,
) -> Figure:
    """The overall resolution bias with the image less that of the text alone, item by item (paired).

    By hand: all right with the image (0), always "w" without it (1): -1.

    >>> labels = ["w", "m"] * 10
    >>> resolution_gap(labels, labels, ["w"] * 20, ["doctor"] * 20, "m", "w").value
    -1.0

    Range -2 to 2. Each occupation's men and women are drawn anew within themselves, with both answers of an item.
    """
    checked(labels, with_image, (men, women))
    checked(labels, text_only, (men, women))
    names = sorted({*occupations})
    right = [np.array([a == b for a, b in zip(labels, said, strict=True)], int) for said in (with_image, text_only)]
    counts = np.zeros((len(names), 2, 2, 2))
    np.add.at(counts, (codes(occupations, names), codes(labels, (men, women)), *right), 1)
    total = counts.sum(axis=(2, 3))
    shares = np.where(total[..., None] > 0, counts.reshape(*total.shape, 4), 1)
    shares = shares / shares.sum(axis=-1, keepdims=True)
    rng, fewer = np.random.default_rng([seed, len(labels)]), _fewer(total)
    drawn = rng.multinomial(fewer, shares, size=(DRAWS, *total.shape)).reshape(DRAWS, *counts.shape)
    gaps = [
        mean_resolution_bias(table[..., 1, :].sum(axis=-1), n) - mean_resolution_bias(table[..., 1].sum(axis=-1), n)
        for table, n in ((counts, total), (drawn, fewer))
    ]
    return figure(float(gaps[0]), gaps[1], len(labels))


def _fewer(total: Floats) -> NDArray[np.int64]:
    """How many of so many are drawn anew: n - 1, and all of 1."""
    return np.where(total > 1, total - 1, total).astype(np.int64)
