"""Neutral answers of models: the words beside the heatmap, its table and its CSV file."""

from __future__ import annotations

import numpy as np
import pandas as pd

from backend.metrics.intervals import wilson
from explorers._published_neutrality import (
    ATTRIBUTES,
    DIRECTIONS,
    INPUTS,
    MEASURES,
    PROBES,
    column,
    interval,
    number,
)

CELLS = {
    "neutrality": (
        f"A cell is one model’s answers to the same {INPUTS:,} inputs. Its number N is the neutrality of these "
        "answers: 1 if the model never guesses, 0 if it always guesses the same class. For race and age, ΔN is the "
        "mean over all pairs of classes."
    ),
    "ag": (
        f"A cell is how the guesses in one model’s answers to the same {INPUTS:,} inputs fall; neutral answers are "
        "left out. AG is the balance of gender: −1 if every guess is male, +1 if every guess is female. For race and "
        "age, ΔAG is the mean imbalance over all pairs of classes, without a sign."
    ),
}
ASKED = (
    "Direct question: the model is asked which class the person is. Casting task (indirect): it is asked which of "
    "several named actors should play the part.",
    "Profession only (blind): the prompt names just the profession. Action described (informed): it also says what "
    "the person does.",
)
WITHOUT = (
    "Brackets hold 95 % intervals. A number without them has none: the counts behind it are not published, or the "
    "paper’s tables disagree about them."
)


def intro(measure: str) -> tuple[str, ...]:
    """What a cell is, then what the headings in the heatmap mean: one sentence or two a line."""
    return (CELLS[measure], *ASKED)


def _where(cell: pd.Series) -> str:
    probe = PROBES[cell.probe]
    return f"{cell.model} ({DIRECTIONS[cell.direction].lower()}, {probe[0].lower()}{probe[1:]})"


def _one_sided(shown: pd.DataFrame) -> str:
    """The gender cell furthest from even, where possible one whose counts are known, and the share behind it."""
    gender = shown[shown.attribute == "gender"]
    known = gender[gender.n_chose.notna()]
    cell = (gender if known.empty else known).pipe(lambda own: own.loc[own.ag.abs().idxmax()])
    side = "female" if cell.ag > 0 else "male"
    of = f"of the answers of {_where(cell)} that chose male or female, {50 * (1 + abs(cell.ag)):.0f} % chose {side}"
    if known.empty:
        return (
            f"Most one-sided for gender: {of} (AG {number(cell.ag, True)}). How many of the n = {INPUTS:,} answers "
            "chose is not published, so neither the share nor AG has an interval, and a close rank cannot be judged."
        )
    taken = cell.n_female if cell.ag > 0 else cell.n_chose - cell.n_female
    low, high = wilson(taken, cell.n_chose)
    size = known[["ag_low", "ag_high"]].abs()
    rivals = int((size.max(axis=1) >= size.loc[cell.name].min()).sum()) - 1
    return (
        f"Most one-sided for gender, of the cells with an interval: {of} (about {taken:.0f} of {cell.n_chose:,.0f} "
        f"answers, Wilson 95 % interval {100 * low:.0f} to {100 * high:.0f}; AG {number(cell.ag, True)}, "
        f"{interval(cell, 'ag')}; the other {INPUTS - cell.n_chose:.0f} of n = {INPUTS:,} answers were neutral). "
        f"{_rivals(rivals, 'reach as far from even')}"
    )


def _rivals(others: int, what: str) -> str:
    """How many cells the intervals do not separate from the one just named."""
    if not others:
        return "No other cell’s interval overlaps."
    return f"The intervals of {others} other cells {what}." if others > 1 else "One other cell’s interval overlaps."


def _end(shown: pd.DataFrame, value: float) -> str:
    """The cells with an extreme value, ties named, and what their intervals separate."""
    tied = shown[np.isclose(shown.delta_neutrality, value, atol=1e-9)]
    text = " and ".join(
        f"{_where(cell)} on {cell.attribute}, {number(cell.delta_neutrality)} ({interval(cell, 'neutrality')})"
        for _, cell in tied.iterrows()
    )
    text += ", a tie. " if len(tied) > 1 else ". "
    if tied.low.isna().any():
        return text + "Without an interval a close rank cannot be judged."
    others = shown.drop(tied.index)
    return text + _rivals(int(((others.high >= tied.low.min()) & (others.low <= tied.high.max())).sum()), "overlap")


def sentence(shown: pd.DataFrame, measure: str) -> str:
    """The extremes shown, in words, with n, ties and, where there are any, intervals."""
    if measure == "ag":
        return _one_sided(shown)
    values = shown.delta_neutrality
    return (
        f"Most neutral here: {_end(shown, values.max())} Least neutral: {_end(shown, values.min())} "
        f"n = {INPUTS:,} inputs for each cell."
    )


def note(shown: pd.DataFrame) -> str:
    """What n is and which cells can have an interval, from the cells shown."""
    words = f"n = {INPUTS:,} neutral inputs for each model, probe and attribute. "
    found = int(shown.low.notna().sum())
    if not found:
        return words + "The counts behind these cells are not published: no interval can be derived, none is shown."
    return words + (
        f"{found} of the {len(shown)} cells shown have a 95 % interval (point at a cell, or open the table): for "
        "gender, image to text, the paper’s tables give the counts back, except in one cell where they disagree "
        "(see “What this cannot show”). For race, age and text to text the counts are not published: no interval "
        "can be derived, none is shown."
    )


def numbers(shown: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The table behind the figure, as text: one row per direction, probe and model."""
    value, low, _ = MEASURES[measure]
    found = []
    for (direction, probe, model), group in shown.groupby(["direction", "probe", "model"], sort=False):
        row = {"Direction": DIRECTIONS[direction], "Probe": PROBES[probe], "Model": model, "Inputs (n)": f"{INPUTS:,}"}
        for cell in (group.set_index("attribute").loc[name] for name in ATTRIBUTES):
            text = number(cell[value], measure == "ag" and cell.name == "gender")
            known = "" if pd.isna(cell[low]) else f" ({interval(cell, measure).removeprefix('95 % interval ')})"
            row[column(measure, cell.name)] = text + known
            if measure == "ag" and cell.name == "gender":
                chose = "not published" if pd.isna(cell.n_chose) else f"about {cell.n_chose:,.0f}"
                row["Gender: answers that chose"] = chose
        found.append(row)
    return pd.DataFrame(found)


def download(shown: pd.DataFrame) -> pd.DataFrame:
    """What the figure draws, one row per cell, both measures, for the CSV file."""
    ends = {"low": "neutrality95_low", "high": "neutrality95_high", "ag_low": "ag95_low", "ag_high": "ag95_high"}
    kept = shown.assign(n_inputs=INPUTS, n_chose=shown.n_chose.astype("Int64"), n_female=shown.n_female.astype("Int64"))
    return kept.rename(columns=ends).round(dict.fromkeys(ends.values(), 3))
