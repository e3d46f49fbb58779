"""Published figures of the tasks of the tab Benchmarks (Mapping Bias in Vision Language Models, Tables 2 to 8)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from explorers._shared import ASSETS

SOURCE = "Mapping Bias in Vision Language Models"
ORIGIN = {
    "utkface-age": ("UTKFace age", ""),
    "utkface-race": ("UTKFace race", ""),
    "utkface-gender": ("UTKFace gender", ""),
    "celeba-blond": ("CelebA", "Blond Hair"),
    "celeba-makeup": ("CelebA", "Heavy Makeup"),
    "pata": ("PATA", ""),
}
"""Task -> dataset and category of the tables of Macro-F1 and demographic parity ratio."""


class Row(NamedTuple):
    """One published row: shares from 0 to 1; NaN where the paper prints none, or an infinite one."""

    model: str
    condition: str
    group: str
    macro_f1: float
    dpr: float
    infinite: bool


@lru_cache(maxsize=16)
def parity_rows(task: str) -> tuple[Row, ...]:
    """The rows of Macro-F1 and demographic parity ratio of a task, in the paper's order; none for other tasks."""
    if task not in ORIGIN:
        return ()
    dataset, category = ORIGIN[task]
    table = _table("mapping_f1_dpr.csv")
    table = table[(table["dataset"] == dataset) & ((table["category"] == category) | (category == ""))]
    rows = []
    for one in table.itertuples():
        ratio = float(one.demographic_parity_ratio)
        group = "gender" if category else str(one.category).casefold()
        known = ratio if math.isfinite(ratio) else float("nan")
        condition = "image" if one.input == "with image" else "text"
        rows.append(Row(str(one.model), condition, group, float(one.macro_f1_pct) / 100, known, math.isinf(ratio)))
    return tuple(rows)


def rows_of(task: str, by: str) -> list[Row]:
    """The published rows of a task over one attribute."""
    return [row for row in parity_rows(task) if row.group == by.casefold()]


@lru_cache(maxsize=4)
def pronoun_rows(task: str) -> pd.DataFrame:
    """The rows of Table 2 of one of the two tasks of VisoGender, as the paper prints them."""
    table = _table("mapping_visogender.csv")
    return table[table["dataset"] == {"visogender-oo": "OO", "visogender-op": "OP"}.get(task, "")]


@lru_cache(maxsize=4)
def stereotype_rows(task: str) -> pd.DataFrame:
    """The vision-language bias scores of VL-StereoSet: model, input, category, vlbs_pct."""
    table = _table("mapping_vlstereoset.csv")
    return table if task == "vl-stereoset" else table.iloc[:0]


def _table(name: str) -> pd.DataFrame:
    return pd.read_csv(ASSETS / "published" / name)
