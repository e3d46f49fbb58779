"""Audits with identities, regions and a map, made without any model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from audits import HOSTILE
from samples import encode, noise

from backend.records import Report
from backend.store import (
    Audit,
    AuditWriter,
    EmbeddingWriter,
    Quality,
    Region,
    Regions,
    Summary,
    write_map,
    write_regions,
    writing,
)

SYSTEMS = ("Alpha", "Beta <b>")
GENDERS = ("woman", "man")
TONES = ("light", "dark")
PROFESSIONS = ("carpenter", "nurse", "teacher")
EACH = 20


def prompted() -> list[dict[str, str]]:
    """What each image of the audit was asked for: 2 systems, 4 identity prompts of 10, 3 professions of 20."""
    rows = []
    for system in SYSTEMS:
        for gender in GENDERS:
            for tone in TONES:
                prompt = f"Photo portrait of a {tone}-skinned {gender}"
                rows += [
                    {"subset": "identities", "system": system, "gender": gender, "tone": tone, "prompt": prompt}
                ] * 10
        for profession in PROFESSIONS:
            for adjective in ("", "calm"):
                row = {"subset": "professions", "system": system, "profession": profession, "adjective": adjective}
                rows += [{**row, "prompt": HOSTILE if profession == "teacher" else f"A {profession}"}] * (EACH // 2)
    return rows


def make_region_audit(cache: Path, name: str = "regional", k: int = 4, labels: bool = False) -> Audit:
    """An audit whose region of an identity is its prompt's; of a profession, by the image's number: known counts."""
    rows = prompted()
    with AuditWriter(cache, name, "test") as writer:
        for index, asked in enumerate(rows):
            row = {
                "id": f"{index + 1:016x}",
                **{"profession": "", "adjective": "", "action": "", "gender": "unspecified", "tone": "unspecified"},
                **{
                    "ethnicity": "unspecified",
                    "seed": None,
                    "number": index,
                    "width": 24,
                    "height": 16,
                    "format": "PNG",
                },
                **{"animated": False, "bytes": 1, "sha256": f"{index + 1:064x}", "source": f"{index}.png"},
                **asked,
            }
            if labels:
                row["label_gender"] = ("Female", "Male", "Pass")[index % 3]
            data = encode(noise(index))
            writer.add({**row, "bytes": len(data)}, data, encode(noise(index), "WEBP"))
        writer.finish("test", Report())
    add_regions(cache / name, k)
    return Audit.open(cache, name)


def region_of(rows: list[dict[str, str]]) -> np.ndarray:
    """The region of each image: identities by their phrases, professions 0 to 3 in turn, nurses only in 0 and 1."""
    region = np.zeros(len(rows), int)
    for index, row in enumerate(rows):
        if row["subset"] == "identities":
            region[index] = 2 * GENDERS.index(row["gender"]) + TONES.index(row["tone"])
        else:
            region[index] = index % 2 if row["profession"] == "nurse" else index % 4
    return region


def add_regions(folder: Path, k: int = 4, embedding: str = "toy") -> None:
    """An embedding of width 4, its regions by `region_of`, and a map with one heap for each region."""
    rows = prompted()
    region = region_of(rows)
    identity = np.array([row["subset"] == "identities" for row in rows])
    vectors = np.eye(4, dtype="float32")[region]
    with writing(folder):
        EmbeddingWriter(Audit(folder), embedding, {"width": 4}).write(iter([vectors]), 1.0, {})
        audit = Audit(folder)
        described = []
        for number in range(k):
            own = identity & (region == number)
            system = audit.generations["system"].astype("str").to_numpy()[own]
            described.append(
                Region(
                    size=int(own.sum()),
                    phrases={"gender": ((GENDERS[number // 2], 20),), "tone": ((TONES[number % 2], 20),)},
                    systems={name: int((system == name).sum()) for name in SYSTEMS},
                    central=tuple(int(row) for row in np.flatnonzero(own)[:6]),
                )
            )
        quality = Quality(0.5, 0.4, 0.6, 8, 0.9, 0.8, 1.0, 10, 1.0)
        found = Regions(
            embedding=embedding,
            k=k,
            region=region.astype("int16"),
            margin=np.ones(len(rows), "float32"),
            member=np.where(identity, region, -1).astype("int16"),
            centroids=np.eye(4, dtype="float32"),
            summary=Summary(tuple(described), quality, ("a note <i>",)),
        )
        write_regions(audit, [found], {k: {"version": 1}}, 1.0, {})
        audit = Audit(folder)
        centre = np.array([[0, 0], [10, 0], [0, 10], [10, 10]])[region]
        spread = np.random.default_rng(0).normal(0, 0.5, (len(rows), 2))
        write_map(audit, embedding, (centre + spread).astype("float32"), {"version": 1}, 1.0, {})
