"""What a run of `generate` would make, before it makes anything: counts, and how long they would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.generate import SOURCE, chosen, request_name, requests_of, split_name
from backend.records import SUBSETS
from backend.spec import Spec
from backend.store import Audit, audit_names, interrupted


@dataclass(frozen=True)
class Line:
    """One system and subset: its prompts, the images wanted of it, those that are there, those that earlier runs asked
    for in vain, and the seconds that one image took in this audit so far (None where there was none)."""

    system: str
    subset: str
    prompts: int
    images: int
    there: int
    refused: int
    seconds_each: float | None

    @property
    def to_make(self) -> int:
        return self.images - self.there - self.refused

    @property
    def seconds(self) -> float | None:
        """How long the rest would take at the pace so far."""
        if not self.to_make:
            return 0.0
        return None if self.seconds_each is None else self.seconds_each * self.to_make


def plan(
    cache: Path, name: str, spec: Spec, only: Sequence[str] = (), limit: int | None = None, retry: bool = False
) -> list[Line]:
    """A line for every system and subset of a spec; nothing is written, loaded or asked.

    The arguments are those of `generate`. Raises SpecError and StoreError.
    """
    systems = chosen(spec, only)
    asked = requests_of(spec, limit)
    there = {split_name(item)[0] for item in interrupted(cache, name, SOURCE)}
    refused: set[str] = set()
    pace: dict[str, float] = {}
    if name in audit_names(cache):
        audit = Audit.open(cache, name)
        there |= {split_name(item)[0] for item in audit.generations["source"]}
        report = audit.report()
        kept = report["outcome"].isin(("filtered", "left out") if retry else ("filtered", "left out", "failed"))
        refused = {split_name(item)[0] for item in report.loc[kept, "item"]}
        pace = paces(audit)
    lines = []
    for system in systems:
        for subset in SUBSETS:
            requests = [request for request in asked if request.prompt.subset == subset]
            names = {request_name(system.name, request) for request in requests}
            if names:
                texts = len({request.prompt.text for request in requests})
                counts = (len(names & there), len((names & refused) - there))
                lines.append(Line(system.name, subset, texts, len(names), *counts, pace.get(system.name)))
    return lines


def paces(audit: Audit) -> dict[str, float]:
    """Seconds an image by system, over all that `generate` made in an audit."""
    images: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for source in audit.manifest["sources"]:
        for system, record in source.get("generated", {}).items():
            images[system] = images.get(system, 0) + record["images"]
            seconds[system] = seconds.get(system, 0) + record["seconds"]
    return {system: seconds[system] / images[system] for system in images if images[system]}


def duration(seconds: float) -> str:
    """Seconds in words, to two places.

    >>> duration(4.2), duration(150), duration(4 * 3600 + 900), duration(200_000)
    ('4 s', '2 min 30 s', '4 h 15 min', '2 d 7 h')
    """
    rest = round(seconds)
    sizes = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    for place, (unit, size) in enumerate(sizes):
        if rest >= size:
            words = f"{rest // size} {unit}"
            if place < 3 and rest % size >= sizes[place + 1][1]:
                words += f" {rest % size // sizes[place + 1][1]} {sizes[place + 1][0]}"
            return words
    return "less than 1 s"
