"""An audit's regions: from its own identities, or from another audit with the same embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from backend import quality
from backend.records import AXES
from backend.regions import (
    CENTRAL,
    MOST_IDENTITIES,
    Assigned,
    RegionError,
    assign,
    central,
    check_identities,
    cut,
    means,
    merges,
    sample,
    top,
    unit_rows,
)
from backend.store import Audit, Quality, Region, Regions, Summary

KS = (12, 24, 48)
SAME = ("kind", "fingerprint", "question", "width")


def region_parameters(k: int, borrowed: str = "") -> dict[str, Any]:
    """What a manifest says of how regions were made: other values make them stale."""
    made = {"version": 1, "k": k, "central": CENTRAL}
    if borrowed:
        return {**made, "borrowed": borrowed}
    return {**made, "method": "ward", "most_identities": MOST_IDENTITIES, "refits": quality.REFITS}


def _identities(audit: Audit, name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """The identities that are clustered: their rows, their vectors at length 1 (float64), and a note on a sample."""
    vectors, identities = audit.vectors.embedding(name), audit.rows(subset="identities")
    chosen, note = sample(len(identities))
    rows = identities[chosen]
    return rows, unit_rows(vectors[rows]), note


def allowed(audit: Audit, name: str, ks: Sequence[int]) -> tuple[list[int], list[str]]:
    """Those of the numbers that an audit's identities can make regions of, and for the others a sentence each."""
    fine, words = [], []
    _, unit, _ = _identities(audit, name)
    for k in ks:
        try:
            check_identities(unit, k)
            fine.append(k)
        except RegionError as error:
            words.append(str(error))
    return fine, list(dict.fromkeys(words))


def own_regions(audit: Audit, name: str, ks: Sequence[int]) -> list[Regions]:
    """Ward's method on the identities once, cut at each k. Raises RegionError where they do not allow it."""
    vectors = audit.vectors.embedding(name)
    rows, unit, note = _identities(audit, name)
    for k in ks:
        check_identities(unit, k)
    joined = merges(unit)
    labels = {k: cut(joined, k) for k in ks}
    stable = quality.stability(unit, labels)
    notes = tuple(filter(None, (note, *_about_systems(audit, rows))))
    found = []
    for k in ks:
        centroids = means(unit, labels[k], k)
        assigned = assign(vectors, centroids)
        member = np.full(len(audit), -1, np.int16)
        member[rows] = labels[k]
        summary = Summary(
            regions=_described(audit, rows, labels[k], central(vectors, rows, labels[k], centroids)),
            quality=_quality(audit, rows, labels[k], k, assigned, stable.get(k)),
            notes=notes,
        )
        found.append(Regions(name, k, assigned.region, assigned.margin, member, centroids, summary))
    return found


def _about_systems(audit: Audit, rows: np.ndarray) -> list[str]:
    """What whoever reads the regions must know of the systems whose identities made them."""
    every = set(audit.generations["system"].unique())
    seen = set(audit.generations["system"].iloc[rows].unique())
    notes = []
    if len(seen) == 1:
        only = next(iter(seen))
        notes.append(f"All identities come from one system ({only}): the regions are those of its pictures alone.")
    without = sorted(every - seen)
    if without:
        names = ", ".join(without[:5]) + (f" and {len(without) - 5} more" if without[5:] else "")
        notes.append(f"No identities of {names}: their images are put into regions of other systems' pictures.")
    return notes


def _described(
    audit: Audit, rows: np.ndarray, labels: np.ndarray, nearest: Sequence[Sequence[int]]
) -> tuple[Region, ...]:
    columns = {name: audit.generations[name].astype(str).to_numpy()[rows] for name in (*AXES, "system")}
    described = []
    for region, places in enumerate(nearest):
        inside = labels == region
        phrases = {axis: top(columns[axis][inside]) for axis in AXES}
        described.append(Region(int(inside.sum()), phrases, dict(top(columns["system"][inside])), tuple(places)))
    return tuple(described)


def _quality(
    audit: Audit,
    rows: np.ndarray,
    labels: np.ndarray,
    k: int,
    assigned: Assigned,
    stable: tuple[float, float, float] | None,
) -> Quality:
    prompts = quality.prompt_numbers([audit.generations[axis].astype(str).to_numpy()[rows] for axis in AXES])
    mean, low, high, number = quality.prompt_entropy(prompts, labels, k)
    values = dict(zip(("stability", "stability_low", "stability_high"), stable, strict=True)) if stable else {}
    own = float((assigned.region[rows] == labels).mean())
    refits = quality.REFITS if stable else 0
    return Quality(mean, low, high, number, refits=refits, own=own, **values)


def borrowed_regions(audit: Audit, lender: Audit, name: str, ks: Sequence[int]) -> list[Regions]:
    """The regions of another audit, and the nearest of them for every image of this one.

    Sizes, phrases, systems and quality are those of the lender's identities; the images nearest each centroid are of
    this audit. Raises RegionError where the lender has no such regions, or vectors of another model.
    """
    check_same(audit, lender, name)
    vectors = audit.vectors.embedding(name)
    found = []
    for k in ks:
        if (name, k) not in lender.vectors.choices():
            there = ", ".join(str(n) for embedding, n in lender.vectors.choices() if embedding == name) or "none"
            raise RegionError(
                f"{lender.name} has no {k} regions of {name} to borrow (there are: {there}): build it first"
            )
        lent = lender.vectors.regions(name, k)
        assigned = assign(vectors, lent.centroids)
        places = central(vectors, np.arange(len(audit)), assigned.region, lent.centroids)
        origin = lent.summary.borrowed or lender.name
        note = f"Borrowed from the audit {origin}: sizes, phrases and quality are those of its identities."
        regions = tuple(
            Region(region.size, region.phrases, region.systems, tuple(rows))
            for region, rows in zip(lent.summary.regions, places, strict=True)
        )
        summary = Summary(regions, lent.summary.quality, (note, *lent.summary.notes), origin)
        member = np.full(len(audit), -1, np.int16)
        found.append(Regions(name, k, assigned.region, assigned.margin, member, lent.centroids, summary))
    return found


def check_same(audit: Audit, lender: Audit, name: str) -> None:
    """Raise RegionError where two audits' vectors were not made alike: they say nothing together then."""
    if lender.folder.resolve() == audit.folder.resolve():
        raise RegionError("an audit cannot borrow regions from itself: name another one with --regions-from")
    if name not in lender.vectors.embeddings():
        raise RegionError(f"{lender.name} has no embedding {name} of all its images: embed and build it first")
    ours, theirs = (one.vectors.parameters(name) for one in (audit, lender))
    if not ours.get("fingerprint"):
        raise RegionError("nothing says what model made the vectors: import them again with --made-by MODEL")
    for key in SAME:
        if ours.get(key) != theirs.get(key):
            raise RegionError(
                f"{audit.name} and {lender.name} differ in the embedding's {key}: embed both with the same model "
                "and question"
            )
