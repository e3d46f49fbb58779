"""What the tabs about regions share: which there are, which hold a phrase, and how many images fell into each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from backend.metrics.representation import LEAST, TOP, holds
from backend.records import AXES, UNSPECIFIED
from backend.store import Audit, Regions
from explorers._shared import Params, escape, first

MOST_PAIRS = 2000
"""More combinations of system and profession than these are not counted one by one: the most frequent are."""
SAME = (("Black", "African-American"),)
"""Phrases that are one group, as in Stable Bias, section 4.2.2."""
PREFERRED = 24


def embeddings_of(audit: Audit) -> list[str]:
    """The embeddings that have regions, in the order in which they came."""
    have = {embedding for embedding, _ in audit.vectors.choices()}
    return [name for name in audit.vectors.embeddings() if name in have]


def sizes_of(audit: Audit, embedding: str) -> list[int]:
    """The numbers of regions of an embedding."""
    return [k for name, k in audit.vectors.choices() if name == embedding]


def picked(audit: Audit, params: Params) -> Regions | None:
    """The regions that an address names; what it does not name, or names wrongly, is the default. None without any."""
    names = embeddings_of(audit)
    if not names:
        return None
    asked = first(params, "embedding")
    embedding = asked if asked in names else names[0]
    sizes, k = sizes_of(audit, embedding), first(params, "k")
    default = PREFERRED if PREFERRED in sizes else sizes[-1]
    return audit.vectors.regions(embedding, int(k) if k in map(str, sizes) else default)


def audit_of(stores: Mapping[str, Audit], params: Params) -> Audit:
    """The audit that an address names; else the first that has regions, else the first."""
    named = stores.get(first(params, "audit"))
    return named or next((a for a in stores.values() if embeddings_of(a)), next(iter(stores.values())))


def missing_html(audit: Audit) -> str:
    """Why an audit has no regions, and the commands that make them; "" where it has."""
    if embeddings_of(audit):
        return ""
    name, commands = escape(audit.name), []
    if not len(audit.rows(subset="identities")):
        why = (
            "its images come from no <b>identity prompts</b> (prompts that name a gender, an ethnicity or a tone): "
            "there is nothing that could say what a region stands for. Generate some with a spec that has "
            "<code>[identities]</code>, or borrow the regions of another audit with the same embedding"
        )
        commands = [f"generate my-spec.toml {name}", f"build {name} --regions-from ANOTHER-AUDIT"]
    elif audit.vectors.embeddings():
        why = "its images have been embedded, and the regions have still to be found (or were found for fewer images)"
    else:
        why = "its images have not been <b>embedded</b> yet: turned into vectors whose regions can be found"
    commands = commands or [f"build {name}"]
    lines = "\n".join(f".venv/bin/python -m backend {command}" for command in commands)
    said = f"The audit <b>{name}</b> has no identity regions: {why}."
    return f'<div class="lk-welcome"><p>{said}</p><pre>{lines}</pre></div>'


@lru_cache(maxsize=32)
def phrases_of(regions: Regions) -> list[tuple[str, str]]:
    """Every (axis, phrase) that identity prompts of these regions said, the most frequent of each axis first."""
    found = []
    for axis in AXES:
        totals: dict[str, int] = {}
        for region in regions.summary.regions:
            for phrase, number in region.phrases.get(axis, ()):
                totals[phrase] = totals.get(phrase, 0) + number
        found += [(axis, phrase) for phrase in sorted(totals, key=lambda p: (-totals[p], p)) if phrase != UNSPECIFIED]
    return found


def words_of(phrase: str) -> tuple[str, ...]:
    """The phrases that count as one group with a phrase, itself among them.

    >>> words_of("Black"), words_of("woman")
    (('Black', 'African-American'), ('woman',))
    """
    return next((group for group in SAME if phrase in group), (phrase,))


def mask_of(regions: Regions, axis: str, phrase: str, top: int = 0, least: float = LEAST) -> np.ndarray:
    """Which regions count for a phrase (`representation.holds`): bool of shape (k,). `top` 0 is the axis's own."""
    if not axis:
        return np.zeros(regions.k, bool)
    wanted, most = words_of(phrase), top or TOP[axis]
    found = [holds(region.phrases.get(axis, ()), wanted, most, least) for region in regions.summary.regions]
    return np.array(found, bool)


def first_phrase(regions: Regions, region: int, axis: str) -> str:
    """The phrase of an axis that most of a region's identity prompts said; "unspecified" where they said none."""
    pairs = regions.summary.regions[region].phrases.get(axis, ())
    return pairs[0][0] if pairs and pairs[0][1] else UNSPECIFIED


def name_of(regions: Regions, region: int) -> str:
    """A region by its number and the first phrase of each axis that its prompts vary: "3 (woman, medium-dark)"."""
    said = [first_phrase(regions, region, axis) for axis in axes_of(regions)]
    said = [
        phrase if phrase != UNSPECIFIED else f"no {axis}" for phrase, axis in zip(said, axes_of(regions), strict=True)
    ]
    return f"{region} ({', '.join(said)})" if said else str(region)


@lru_cache(maxsize=32)
def axes_of(regions: Regions) -> tuple[str, ...]:
    """The axes on which the identity prompts said anything."""
    return tuple(axis for axis in AXES if any(axis == name for name, _ in phrases_of(regions)))


@lru_cache(maxsize=64)
def counted(audit: Audit, regions: Regions, by: tuple[str, ...], subset: str = "") -> tuple[pd.DataFrame, np.ndarray]:
    """How many images of each combination of columns fell into each region: the combinations, and (rows, k) counts.

    The frame has the columns of `by` as text; at most MOST_PAIRS combinations, the most frequent, in name order.
    """
    rows = audit.rows(subset=subset) if subset else np.arange(len(audit))
    table = audit.generations.iloc[rows]
    groups = table.groupby(list(by), observed=True, sort=True).ngroup().to_numpy()
    if not len(groups):
        return pd.DataFrame(columns=list(by)), np.zeros((0, regions.k), np.int64)
    sizes = np.bincount(groups)
    kept = np.sort(np.argsort(-sizes, kind="stable")[:MOST_PAIRS])
    places = np.full(len(sizes), -1)
    places[kept] = np.arange(len(kept))
    own = places[groups]
    flat = own[own >= 0] * regions.k + regions.region[rows[own >= 0]]
    counts = np.bincount(flat, minlength=len(kept) * regions.k).reshape(len(kept), regions.k)
    firsts = np.full(len(sizes), -1)
    firsts[groups[::-1]] = np.arange(len(groups))[::-1]
    frame = table.iloc[firsts[kept]][list(by)].astype("str").reset_index(drop=True)
    counts.setflags(write=False)
    return frame, counts


def top_regions(regions: Regions, counts: Sequence[int], most: int = 3) -> list[tuple[int, int]]:
    """The regions with most of some images: (region, images), most first, without empty ones."""
    order = np.argsort(-np.asarray(counts), kind="stable")[:most]
    return [(int(region), int(counts[region])) for region in order if counts[region]]
