"""A synthetic audit as large as the Stable Bias one: `python -m benchmarks._audit CACHE NAME ROWS` writes it.

3 systems x PROFESSIONS x 21 adjectives x 10 images, through the store's own writer. The table's texts, ids and hashes
are as various as those of a real audit; the pictures (256 px thumbnails, tiny originals) are shared by many rows.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from backend.build import STAGES
from backend.records import Report, generation_id
from backend.store import Audit, AuditWriter, StageWriter, writing
from benchmarks._images import BASES, picture

SYSTEMS = ("Diffuser 1.4", "Diffuser 2", "Painter 2")
WORDS = "ambitious assertive committed compassionate confident considerate decisive determined emotional gentle "
WORDS += "honest intellectual modest outspoken pleasant self-confident sensitive stubborn supportive unreasonable"
ADJECTIVES = ("", *WORDS.split())
EACH = 10
LABELS = ("Female", "Male", "", "Unclear")


def professions_for(size: int) -> int:
    """How many professions make an audit of about `size` rows: 94,500 rows are 150 professions."""
    return max(1, round(size / (len(SYSTEMS) * len(ADJECTIVES) * EACH)))


def rows(professions: int) -> Iterator[dict[str, object]]:
    """The rows in the order in which a folder would be imported."""
    for system in SYSTEMS:
        for number in range(professions):
            for adjective in ADJECTIVES:
                for copy in range(1, EACH + 1):
                    yield _row(system, f"profession {number}", adjective, copy)


def _row(system: str, profession: str, adjective: str, copy: int) -> dict[str, object]:
    source = f"{system}/{profession}/{adjective or 'no_adjective'}_{copy}.jpg"
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    values = {
        "subset": "professions",
        "system": system,
        "profession": profession,
        "adjective": adjective,
        "prompt": " ".join(f"Portrait photo of a {adjective} {profession}".split()),
        "gender": "unspecified",
        "ethnicity": "unspecified",
    }
    return {
        **values,
        "id": generation_id(sha256, values),
        "seed": int(sha256[:8], 16),
        "number": copy,
        "width": 16,
        "height": 16,
        "format": "JPEG",
        "animated": False,
        "bytes": 700,
        "sha256": sha256,
        "source": source,
        "label_gender": LABELS[int(sha256[8:10], 16) % len(LABELS)],
    }


def pictures() -> list[tuple[bytes, bytes]]:
    """Originals of 16 px and their 256 px thumbnails, as the import would write thumbnails."""
    made = []
    for number in range(BASES):
        image, original, thumbnail = picture(number), io.BytesIO(), io.BytesIO()
        image.resize((16, 16)).save(original, "JPEG")
        image.resize((256, 256)).save(thumbnail, "WEBP", quality=80, method=2)
        made.append((original.getvalue(), thumbnail.getvalue()))
    return made


def make(cache: Path, name: str, size: int) -> int:
    """Write the audit, with its measured stages (numbers made up); returns its rows."""
    shared = pictures()
    with AuditWriter(cache, name, "synthetic") as writer:
        for number, row in enumerate(rows(professions_for(size))):
            writer.add(row, *shared[number % BASES])
        writer.finish("synthetic", Report(read=number + 1, added=number + 1))
    with writing(cache / name):
        audit = Audit.open(cache, name)
        for stage in STAGES:
            into = StageWriter(audit, stage.name, stage.parameters)
            into.start()
            into.finish(np.random.default_rng(0).uniform(0, 110, len(audit)), 1.0, {})
    return len(audit)


if __name__ == "__main__":
    print(make(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
