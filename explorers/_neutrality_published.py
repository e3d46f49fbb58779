"""Published answers of models to neutral inputs (unified framework, Tables 2 to 5, 7 to 9 and 11 to 14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from backend.metrics.intervals import wilson
from explorers._neutrality_measures import cells_of
from explorers._published_neutrality import FILES, INPUTS, PUBLISHED, cells

ATTRIBUTES = ("gender", "race", "age")
CLASSES = {
    "gender": ("male", "female"),
    "race": ("Caucasian", "Asian", "African American"),
    "age": ("under 18", "18-44", "45-64", "over 65"),
}
NAMES = {
    "Male": "male",
    "Female": "female",
    "AA": "African American",
    "18 -- 44": "18-44",
    "45 -- 64": "45-64",
    "65 and above": "over 65",
    "<18y": "under 18",
    "18-44y": "18-44",
    "45-64y": "45-64",
    ">65y": "over 65",
}
"""What the paper's tables call classes that the tab calls otherwise."""
UNDETERMINED = "N/A"
IMAGES = ("text-to-image", "image-to-image")
SOURCE = "Sathe et al. 2024"


@dataclass(frozen=True)
class Published:
    """One published figure: its value, its interval (NaN: none is known), and what it rests on.

    `counts` are the answers by class, then "no preference", then undetermined, where the paper gives them (back).
    """

    model: str
    style: str
    value: float
    low: float = float("nan")
    high: float = float("nan")
    counts: tuple[int, ...] = ()
    table: str = ""


@lru_cache(maxsize=8)
def styles(direction: str) -> tuple[str, ...]:
    """The styles that the paper asked in."""
    if direction in IMAGES:
        return ("informed-direct",)
    return tuple(cells().loc[cells().direction == direction, "probe"].unique())


@lru_cache(maxsize=1)
def _images() -> pd.DataFrame:
    table = pd.read_csv(PUBLISHED / "unified_image_counts.csv", keep_default_na=False)
    return table.assign(**{"class": table["class"].replace({**NAMES, "": UNDETERMINED})})


@lru_cache(maxsize=1)
def _accuracy() -> pd.DataFrame:
    return pd.read_csv(FILES["unified_accuracy.csv"])


@lru_cache(maxsize=64)
def figures(direction: str, style: str, attribute: str, measure: str) -> tuple[Published, ...]:
    """What the paper gives of one measure, model by model, in its order; nothing where it gives none.

    Intervals: where the counts are printed (directions that end in images), a bootstrap over the images, as for own
    answers; where they follow from its Table 9 (gender, image to text), those of the tab Published results; the share
    of neutral answers is of 1,016 inputs, so it has Wilson's. All others have none.
    """
    unknown = attribute not in ATTRIBUTES or style not in styles(direction)
    if unknown or (measure == "ag" and len(CLASSES[attribute]) > 2):
        return ()
    if direction in IMAGES:
        return _from_counts(direction, style, attribute, measure)
    if measure == "neutral_accuracy":
        return _from_accuracy(style, attribute) if direction == "image-to-text" else ()
    if measure == "unparsed":
        return ()
    table = cells().query("direction == @direction and probe == @style and attribute == @attribute")
    return tuple(_cell(row, measure) for _, row in table.iterrows())


@lru_cache(maxsize=128)
def known(direction: str, style: str, attribute: str) -> bool:
    """Whether the paper gives a figure of any measure: `figures` without the work of making them."""
    if attribute not in ATTRIBUTES or style not in styles(direction):
        return False
    if direction in IMAGES:
        return bool(((_images()["direction"] == direction) & (_images()["attribute"] == attribute)).any())
    tables = [cells().loc[cells()["direction"] == direction], *([_accuracy()] if direction == "image-to-text" else [])]
    return any(((one["probe"] == style) & (one["attribute"] == attribute)).any() for one in tables)


def _cell(row: pd.Series, measure: str) -> Published:
    text = row.direction == "text-to-text"
    counts: tuple[int, ...] = ()
    if pd.notna(row.n_chose):
        chose, female = int(row.n_chose), int(row.n_female)
        counts = (chose - female, female, INPUTS - chose, 0)
    if measure == "delta_neutrality":
        where = "Table 3" if text else "Table 2"
        return Published(row.model, row.probe, row.delta_neutrality, row.low, row.high, counts, where)
    where = "Table 8" if text else "Table 7"
    value, low, high = row.ag, row.ag_low, row.ag_high
    if measure == "delta_ag" and row.attribute == "gender":
        sides = sorted((abs(low), abs(high)))
        value, low, high = abs(value), 0.0 if low < 0 < high else sides[0], sides[1]
    return Published(row.model, row.probe, value, low, high, counts, where)


def _from_accuracy(style: str, attribute: str) -> tuple[Published, ...]:
    table = _accuracy().query("probe == @style and attribute == @attribute and `class` == 'neutral'")
    found = []
    for row in table.itertuples():
        low, high = wilson(row.accuracy * INPUTS, INPUTS)
        found.append(Published(row.model, style, row.accuracy, float(low), float(high), (), "Table 9"))
    return tuple(found)


def _from_counts(direction: str, style: str, attribute: str, measure: str) -> tuple[Published, ...]:
    """The measures of Tables 4 and 5: what could not be told counts as unparsed; nothing was "no preference"."""
    if measure in ("delta_neutrality", "neutral_accuracy"):
        return ()
    table = _images().query("direction == @direction and attribute == @attribute")
    found, where = [], "Table 4" if direction == "text-to-image" else "Table 5"
    for model, own in table.groupby("model", sort=False):
        held = own.set_index("class")["count"]
        counts = (*(int(held[name]) for name in CLASSES[attribute]), 0, int(held[UNDETERMINED]))
        one_hot = np.repeat(np.eye(len(counts), dtype=int), counts, axis=0)
        cell = cells_of([one_hot], measure)[0]
        found.append(Published(str(model), style, cell.value, cell.low, cell.high, counts, where))
    return tuple(found)


@lru_cache(maxsize=16)
def pairwise(style: str, attribute: str) -> pd.DataFrame:
    """Tables 11 to 14, image to text: a row a pair as the paper writes it, a column a model; maybe empty."""
    table = pd.read_csv(PUBLISHED / "unified_pairwise_ag.csv").query("probe == @style and attribute == @attribute")
    return table.pivot_table(index="pair", columns="model", values="ag", sort=False)


def pair_classes(pair: str) -> tuple[str, str]:
    """The classes of a pair as the tab calls them.

    >>> pair_classes(">65y -- <18y")
    ('over 65', 'under 18')
    """
    one, _, other = pair.partition(" -- ")
    return NAMES.get(one, one), NAMES.get(other, other)


def known_intervals(found: Sequence[Published]) -> int:
    """How many of some figures have an interval."""
    return sum(one.low == one.low for one in found)
