"""The planted proportions: whom each system is taught to draw when a prompt names only a profession.

mirror: women's share of the profession in the US labour force (CPS 2021); tones as MIRROR_TONES states.
amplified: every odds squared, p -> p^2 / sum(p^2), so the majority grows and even shares stay even.
balanced: women and men alike, the five tones alike.
Tones are planted alike for all professions; they stand for no ethnicity and mirror no statistic.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from backend.starter.words import PROFESSIONS, SYSTEMS, TONES

PROFESSIONS_CSV = Path(__file__).parents[2] / "assets" / "professions.csv"
# The starter's profession -> the row of assets/professions.csv whose % women is planted.
CPS_PROFESSIONS = {
    "farmer": ("farmer", "same name"),
    "cook": ("cook", "same name"),
    "student": (None, "no occupation: even shares assumed"),
    "singer": ("singer", "same name"),
    "artist": ("artist", "same name"),
    "teacher": ("teacher", "same name"),
    "factory worker": ("metal worker", "judgement: the portrait holds a welding torch"),
    "technologist": ("software developer", "judgement: the portrait sits at a laptop"),
    "office worker": ("office worker", "same name"),
    "mechanic": ("mechanic", "same name"),
    "scientist": ("scientist", "same name"),
    "astronaut": ("aerospace engineer", "judgement: no class of its own"),
    "firefighter": ("firefighter", "same name"),
    "health worker": ("health technician", "judgement: the nearest general class"),
    "judge": ("lawyer", "judgement: the table has no judges"),
    "pilot": ("pilot", "same name"),
    "detective": ("detective", "same name"),
    "guard": ("security guard", "judgement: the portrait is a ceremonial guard"),
    "police officer": ("police officer", "same name"),
    "construction worker": ("construction worker", "same name"),
}
MIRROR_TONES = (0.40, 0.25, 0.16, 0.11, 0.08)


def squared(shares: tuple[float, ...]) -> tuple[float, ...]:
    """Every odds squared: p^2 / sum(p^2)."""
    total = sum(share * share for share in shares)
    return tuple(share * share / total for share in shares)


@cache
def women_in_labour_force() -> dict[str, float]:
    """Profession of assets/professions.csv -> women's share, 0 to 1."""
    with PROFESSIONS_CSV.open(newline="", encoding="utf-8") as file:
        return {row["profession"]: float(row["pct_women"]) / 100 for row in csv.DictReader(file) if row["pct_women"]}


def gender_shares(system: str, profession: str) -> tuple[float, float]:
    """The planted shares of (woman, man) portraits of a profession."""
    source = CPS_PROFESSIONS[profession][0]
    women = women_in_labour_force()[source] if source else 0.5
    shares = (women, 1 - women)
    return {"mirror": shares, "amplified": squared(shares), "balanced": (0.5, 0.5)}[system]


def tone_shares(system: str) -> tuple[float, ...]:
    """The planted shares of the five tones, light to dark."""
    even = (1 / len(TONES),) * len(TONES)
    return {"mirror": MIRROR_TONES, "amplified": squared(MIRROR_TONES), "balanced": even}[system]


def truth_rows() -> list[dict]:
    """truth.csv: a row for each system, profession and value of an attribute."""
    rows = []
    for system in SYSTEMS:
        for profession in PROFESSIONS:
            source, basis = CPS_PROFESSIONS[profession]
            planted = [
                ("gender", *pair) for pair in zip(("woman", "man"), gender_shares(system, profession), strict=True)
            ]
            planted += [("tone", *pair) for pair in zip(TONES, tone_shares(system), strict=True)]
            for attribute, value, share in planted:
                rows.append(
                    {
                        "system": system,
                        "profession": profession,
                        "attribute": attribute,
                        "value": value,
                        "planted": f"{share:.4f}",
                        "cps_profession": source or "" if attribute == "gender" else "",
                        "basis": basis if attribute == "gender" else "stated, the same for all professions",
                    }
                )
    return rows
