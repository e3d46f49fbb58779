"""What the systems realise: planted shares beside what blip-vqa answers about the images of a starter audit."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from backend.starter.evaluate import share_row
from backend.starter.policy import gender_shares, tone_shares
from backend.starter.questions import ETHNICITY, GENDER, JOB
from backend.starter.words import PROFESSIONS, SYSTEMS, TONES

Ask = Callable[[np.ndarray, str], list[str]]
"""(n, 128, 128, 3) bytes and a question -> n answers."""


def planted(system: str, profession: str) -> dict[str, dict[str, float]]:
    """Attribute -> value -> the planted share (0 to 1) among images of a profession."""
    return {
        "gender": dict(zip(("woman", "man"), gender_shares(system, profession), strict=True)),
        "tone": dict(zip(TONES, tone_shares(system), strict=True)),
        "profession": {profession: 1.0},
    }


def realised_rows(system: str, profession: str, answers: dict[str, list[str]]) -> list[dict]:
    """Planted beside realised shares of one system's images of one profession; `answers` by attribute."""
    return [
        share_row(
            answers[attribute].count(value),
            len(answers[attribute]),
            system=system,
            subject=profession,
            attribute=attribute,
            value=value,
            planted=f"{share:.4f}",
        )
        for attribute, shares in planted(system, profession).items()
        for value, share in shares.items()
    ]


def obeyed_rows(system: str, prompted: dict[str, list[str]], answers: dict[str, list[str]]) -> list[dict]:
    """Of a system's images of identity prompts: how often the answer is the word that the prompt held.

    "person" and prompts without a tone are left out: nothing is planted there that an answer could match.
    """
    rows = []
    for attribute, values in (("gender", ("woman", "man")), ("tone", TONES)):
        pairs = Counter(zip(prompted[attribute], answers[attribute], strict=True))
        for value in values:
            n = sum(count for (asked, _), count in pairs.items() if asked == value)
            key = {"system": system, "subject": "identity prompts", "attribute": attribute, "value": value}
            rows.append(share_row(pairs[value, value], n, **key, planted="1.0000"))
    return rows


def measure_audit(folder: Path, ask: Ask) -> list[dict]:
    """The rows of realised.csv: every system and profession of the audit, then its identity prompts."""
    from PIL import Image

    from backend.store import Audit

    audit = Audit(folder)
    data = audit.generations

    def answers(rows: np.ndarray) -> dict[str, list[str]]:
        pictures = np.stack([np.asarray(Image.open(io.BytesIO(audit.image(row)[0])).convert("RGB")) for row in rows])
        return {
            name: ask(pictures, text) for name, text in (("gender", GENDER), ("tone", ETHNICITY), ("profession", JOB))
        }

    made = []
    for system in SYSTEMS:
        for profession in PROFESSIONS:
            rows = audit.rows(subset="professions", system=system, profession=profession)
            made += realised_rows(system, profession, answers(rows))
        rows = audit.rows(subset="identities", system=system)
        prompted = {axis: data[axis].iloc[rows].astype("str").tolist() for axis in ("gender", "tone")}
        made += obeyed_rows(system, prompted, answers(rows))
        print(f"measured {system}", flush=True)
    return made
