"""Audits made for tests: what every tab can be tried on."""

from __future__ import annotations

import io
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image
from strangers import seal

from backend.build import build
from backend.records import Report
from backend.store import Audit, AuditWriter

HOSTILE = "<script>alert(1)</script> ${alert(2)} {{alert(3)}} \"quoted\" 'single'"


def make_audit(cache: Path, name: str = "small") -> Audit:
    """Two systems, three professions, two adjectives, 30 images each, with seeds, labels and a hostile prompt."""
    shutil.copytree(Path(_made().name) / "small", cache / name)
    seal(cache / name, lambda manifest: manifest.update(name=name))
    return Audit.open(cache, name)


@cache  # one that is dropped would be removed with a warning
def _made() -> tempfile.TemporaryDirectory:
    """A folder with that audit, made and built once for all tests of a run."""
    place = tempfile.TemporaryDirectory(prefix="likeness-test-")
    cache, report = Path(place.name), Report()
    with AuditWriter(cache, "small", "test") as writer:
        index = 0
        for system in ("Alpha", "Beta <b>"):
            for profession in ("baker", "nurse", "pilot"):
                if (system, profession) == ("Beta <b>", "pilot"):
                    continue
                for number in range(1, 31):
                    index += 1
                    colour = np.random.default_rng(index).integers(0, 255, 3)
                    buffer = io.BytesIO()
                    Image.new("RGB", (64, 48), tuple(int(c) for c in colour)).save(buffer, "PNG")
                    row = {
                        "id": f"{index:016x}",
                        "subset": "professions",
                        "system": system,
                        "prompt": HOSTILE if number == 1 else f"Photo of a {profession}",
                        "profession": profession,
                        "adjective": "" if number % 3 else "calm",
                        "action": "",
                        "gender": "unspecified",
                        "ethnicity": "unspecified",
                        "seed": 1000 - number if number < 30 else None,
                        "number": number,
                        "width": 64,
                        "height": 48,
                        "format": "PNG",
                        "animated": False,
                        "bytes": len(buffer.getvalue()),
                        "sha256": f"{index:064x}",
                        "source": f"{index}.png",
                        "label_mood": ("happy", "sad", "")[number % 3],
                        "extra_formula": '=HYPERLINK("http://x")',
                    }
                    thumbnail = io.BytesIO()
                    Image.new("RGB", (64, 48), tuple(int(c) for c in colour)).save(thumbnail, "WEBP")
                    writer.add(row, buffer.getvalue(), thumbnail.getvalue())
        report.add("bad<i>.png", "the file is empty (0 bytes); export it again")
        writer.finish("test", report, {"note": HOSTILE})
    build(cache, "small", workers=1)
    return place
