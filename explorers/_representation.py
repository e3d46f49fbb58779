"""Representation as plain data: the numbers behind its charts and tables. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from backend.metrics.diversity import FEWEST, diversity_intervals, missing_bits, rank_bounds
from backend.metrics.entropy import entropy_bits
from backend.metrics.intervals import wilson
from backend.metrics.representation import BandShare, band_shares, gaps, intersection
from backend.store import Audit, Regions
from explorers import _regions_groups as groups
from explorers._representation_view import (
    MOST_PROFESSIONS,
    Phrase,
    RepresentationView,
    from_params,
    professions_of,
    regions_of,
    shown_systems,
)
from explorers._shared import ASSETS, Params, first, labour_force

FEWEST_BAND = 10
WOMEN, MEN = ("pct_women", False), ("pct_women", True)
LABOUR = {
    ("gender", "woman"): WOMEN,
    ("gender", "man"): MEN,
    ("ethnicity", "Black"): ("pct_black", False),
    ("ethnicity", "African-American"): ("pct_black", False),
    ("ethnicity", "White"): ("pct_white", False),
    ("ethnicity", "Caucasian"): ("pct_white", False),
    ("ethnicity", "Asian"): ("pct_asian", False),
    ("ethnicity", "Hispanic"): ("pct_hispanic", False),
    ("ethnicity", "Latino"): ("pct_hispanic", False),
    ("ethnicity", "Latinx"): ("pct_hispanic", False),
}
"""(axis, phrase) -> the labour force's column that it is compared with, and whether as 100 less it. Tones have none."""


def labour_of(professions: Sequence[str], phrase: Phrase) -> np.ndarray:
    """The labour force's per cent for a phrase, one a profession; NaN where the phrase or the profession has none."""
    column, rest = LABOUR.get(phrase, ("", False))
    if not column:
        return np.full(len(professions), np.nan)
    values = labour_force()[column].reindex(list(professions)).to_numpy(float)
    return 100 - values if rest else values


@lru_cache(maxsize=32)
def summary(audit: Audit, regions: Regions, one: Phrase, other: Phrase, by: str = "profession") -> pd.DataFrame:
    """One row a system and profession (or adjective): n, diversity and its rank, shares of both phrases' regions.

    Shares lie in 0 to 1, intervals are 95 % (Wilson; diversity: bootstrap); `gap` is the first share less the labour
    force's. Ranks are among the rows of a system; `row` is the row of `groups.counted`.
    """
    frame, counts = groups.counted(audit, regions, ("system", by), "professions")
    frame, n = frame.copy(), counts.sum(axis=1)
    frame["n"], frame["row"] = n, np.arange(len(frame))
    frame["diversity"], frame["missing"] = entropy_bits(counts), missing_bits(counts)
    frame["diversity_low"], frame["diversity_high"] = diversity_intervals(counts)
    frame["rank_best"], frame["rank_worst"] = 0, 0
    enough = frame[frame.n >= FEWEST]
    for _, part in enough.groupby("system"):
        best, worst = rank_bounds(part.diversity_low, part.diversity_high)
        frame.loc[part.index, "rank_best"], frame.loc[part.index, "rank_worst"] = best, worst
    for name, phrase in (("one", one), ("other", other)):
        hits = counts[:, groups.mask_of(regions, *phrase)].sum(axis=1) if phrase[0] else np.zeros(len(n), int)
        frame[f"{name}_images"], frame[name] = hits, hits / n
        frame[f"{name}_low"], frame[f"{name}_high"] = wilson(hits, n)
    labour = labour_of(frame[by] if by == "profession" else [""] * len(frame), one)
    frame["labour"] = labour
    frame[["gap", "gap_low", "gap_high"]] = gaps(frame["one_images"], n, labour)
    return frame


def shown(audit: Audit, view: RepresentationView, by: str = "profession") -> pd.DataFrame:
    """The rows of `summary` that a view shows, in its order; rows without the value last."""
    frame = summary(audit, regions_of(audit, view), view.one, view.other, by)
    frame = frame[frame.system.isin(shown_systems(audit, view))]
    if view.professions and by == "profession":
        frame = frame[frame.profession.isin(view.professions)]
    key = view.sort.removeprefix("-")
    key = by if key == "profession" else key
    few = frame.n < FEWEST if key == "diversity" else frame.n < 0
    down = view.sort.startswith("-")
    parts = [part.sort_values(key, ascending=not down, kind="stable") for part in (frame[~few], frame[few])]
    return pd.concat(parts, ignore_index=True)


def pooled(audit: Audit, view: RepresentationView) -> list[tuple[str, np.ndarray]]:
    """The bars of a view: a name and counts over regions. Systems, or system and profession where few are chosen."""
    regions, systems = regions_of(audit, view), shown_systems(audit, view)
    frame, counts = groups.counted(audit, regions, ("system", "profession"), "professions")
    one_by_one = 0 < len(view.professions) <= MOST_PROFESSIONS
    bars = []
    for profession in view.professions if one_by_one else [""]:
        for system in systems:
            own = (frame.system == system).to_numpy()
            if view.professions:
                own &= frame.profession.isin([profession] if profession else view.professions).to_numpy()
            name = f"{profession}, {system}" if profession else system
            bars.append((name, counts[own].sum(axis=0)))
    return bars


def identity_bars(audit: Audit, view: RepresentationView) -> list[tuple[str, np.ndarray]]:
    """Each system's counts over regions of its identity prompts, for comparison."""
    frame, counts = groups.counted(audit, regions_of(audit, view), ("system",), "identities")
    return [(s, counts[(frame.system == s).to_numpy()].sum(axis=0)) for s in shown_systems(audit, view)]


def stacks(regions: Regions, axis: str) -> tuple[list[str], np.ndarray]:
    """Regions grouped by the first phrase of an axis: the groups' names, most regions first; each region's group."""
    phrases = [groups.first_phrase(regions, region, axis) for region in range(regions.k)]
    names = sorted(set(phrases), key=lambda name: (-phrases.count(name), name))
    return names, np.array([names.index(phrase) for phrase in phrases])


def bands_of(audit: Audit, view: RepresentationView, phrase: Phrase) -> dict[str, list[BandShare]]:
    """System -> its bands for one phrase. A phrase without a labour figure is ranked by the labour force's % women."""
    return _bands(audit, regions_of(audit, view), phrase, tuple(shown_systems(audit, view)), view.professions)


@lru_cache(maxsize=64)
def _bands(
    audit: Audit, regions: Regions, phrase: Phrase, systems: tuple[str, ...], professions: tuple[str, ...]
) -> dict[str, list[BandShare]]:
    frame, counts = groups.counted(audit, regions, ("system", "profession"), "professions")
    ranked = phrase if phrase in LABOUR else ("gender", "woman")
    mask, made = groups.mask_of(regions, *phrase), {}
    for system in systems:
        own = (frame.system == system) & (frame.profession.isin(professions) if professions else True)
        part = counts[own.to_numpy()]
        labour = labour_of(frame.profession[own], ranked)
        made[system] = band_shares(part[:, mask].sum(axis=1), part.sum(axis=1), labour)
    return made


def without_figure(audit: Audit, view: RepresentationView, phrase: Phrase) -> list[str]:
    """The professions of the view that the labour statistics do not count."""
    names = list(view.professions) or professions_of(audit)
    labour = labour_of(names, phrase if phrase in LABOUR else ("gender", "woman"))
    return [name for name, value in zip(names, labour, strict=True) if np.isnan(value)]


def both(audit: Audit, view: RepresentationView) -> list[tuple[str, int, float, float, float, float]]:
    """For each bar: name, n, the share in regions of both phrases, its interval, and the product of the two shares."""
    regions = regions_of(audit, view)
    masks = [groups.mask_of(regions, *phrase) for phrase in (view.one, view.other)]
    return [(name, int(counts.sum()), *intersection(counts, *masks)) for name, counts in pooled(audit, view)]


@lru_cache(maxsize=1)
def published_bands() -> pd.DataFrame:
    """Tables 3 and 13 of Stable Bias: axis (woman or Black), band, system, labour force's % and % in regions."""
    table = pd.read_csv(ASSETS / "published" / "stable_bias_quintiles.csv")
    return table.assign(band=table.rank_band_pct.str.split("-").str[0].astype(int) // 20)


PUBLISHED_AXES = {
    ("gender", "woman"): "woman",
    ("ethnicity", "Black"): "Black",
    ("ethnicity", "African-American"): "Black",
}


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """A table of the view for download: `of` names it (professions, adjectives, bands)."""
    view = from_params(stores, params)
    if not view.k:
        return pd.DataFrame({"audit": [view.audit], "problem": ["no identity regions"]})
    audit, of = stores[view.audit], first(params, "of")
    if of == "bands":
        return _band_table(audit, view)
    by = "adjective" if of == "adjectives" else "profession"
    frame = shown(audit, view, by)
    counts = groups.counted(audit, regions_of(audit, view), ("system", by), "professions")[1]
    tops = [groups.top_regions(regions_of(audit, view), counts[row]) for row in frame.row]
    frame["top_regions"] = [" ".join(f"{region}:{images}" for region, images in top) for top in tops]
    names = {
        "one": f"share_{view.one[1]}",
        "other": f"share_{view.other[1]}",
        "labour": "labour_pct",
        "missing": "bias_bits",
    }
    frame = frame.drop(columns="row").rename(columns=names)
    frame.insert(0, "k", view.k)
    frame.insert(0, "embedding", view.embedding)
    return frame


def _band_table(audit: Audit, view: RepresentationView) -> pd.DataFrame:
    rows = [
        {"phrase": ":".join(phrase), "system": system, **vars(band)}
        for phrase in dict.fromkeys((view.one, view.other))
        for system, bands in bands_of(audit, view, phrase).items()
        for band in bands
    ]
    return pd.DataFrame(rows)
