"""Published figures of the tasks of the tab Benchmarks (Mapping Bias in Vision Language Models, Tables 2 to 8)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from explorers._shared import ASSETS

SOURCE = "Mapping Bias in Vision Language Models"


class Origin(NamedTuple):
    """A published task: its title, attributes and images as assets/benchmarks names them, and where the tables of
    Macro-F1 and demographic parity ratio have it: data set, category ("": any), attribute of that category ("": the
    category itself)."""

    title: str
    groups: tuple[str, ...]
    data: str
    dataset: str = ""
    category: str = ""
    group: str = ""


_FACES = "a folder of UTKFace's files, called AGE_GENDER_RACE_DATE.jpg"
_CELEBA = "a folder with list_attr_celeba.txt and list_eval_partition.txt, images below"
_PATA = (
    "a folder with pata_fairness.files.lst, pata_fairness.captions.json and images/N.jpg, N the line's number from 0"
)
_PRONOUNS = "a folder with VisoGender's .tsv file of this task and images/IDX.jpg"
_STEREO = "a folder with VLStereoSet.csv and images/N.png (N: row, from 0)"
TASKS = {
    "utkface-race": Origin("UTKFace: race", ("age", "gender"), _FACES, "UTKFace race"),
    "utkface-age": Origin("UTKFace: age", ("gender", "race"), _FACES, "UTKFace age"),
    "utkface-gender": Origin("UTKFace: gender", ("age", "race"), _FACES, "UTKFace gender"),
    "celeba-blond": Origin("CelebA: blond hair", ("gender",), _CELEBA, "CelebA", "Blond Hair", "gender"),
    "celeba-makeup": Origin("CelebA: heavy makeup", ("gender",), _CELEBA, "CelebA", "Heavy Makeup", "gender"),
    "pata-race": Origin("PATA: captions that play on race", ("race",), _PATA, "PATA", "Race"),
    "pata-gender": Origin("PATA: captions that play on gender", ("gender",), _PATA, "PATA", "Gender"),
    "pata-age": Origin("PATA: captions that play on age", ("age",), _PATA, "PATA", "Age"),
    "vl-stereoset": Origin("VL-StereoSet", (), _STEREO),
    "visogender-oo": Origin("VisoGender: one person and an object", (), _PRONOUNS),
    "visogender-op": Origin("VisoGender: two people", (), _PRONOUNS),
}
"""Task -> where its published figures stand."""


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
    origin = TASKS.get(task)
    if origin is None or not origin.dataset:
        return ()
    table = _table("mapping_f1_dpr.csv")
    of_it = (table["category"] == origin.category) | (origin.category == "")
    table = table[(table["dataset"] == origin.dataset) & of_it]
    rows = []
    for one in table.itertuples():
        ratio = float(one.demographic_parity_ratio)
        group = origin.group or str(one.category).casefold()
        known = ratio if math.isfinite(ratio) else float("nan")
        condition = "image" if one.input == "with image" else "text"
        rows.append(Row(str(one.model), condition, group, float(one.macro_f1_pct) / 100, known, math.isinf(ratio)))
    return tuple(rows)


def any_of(task: str) -> bool:
    """Whether anything of a task is published."""
    return bool(parity_rows(task)) or len(pronoun_rows(task)) + len(stereotype_rows(task)) > 0


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
