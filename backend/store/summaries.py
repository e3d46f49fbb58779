"""What an audit keeps of its regions beside the numbers of every generation: regions/<embedding>-<k>.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from backend.records import AXES

LONGEST_TEXT = 1000
MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class Region:
    """One region, as the identities in it make it.

    `size`: how many identities are its members; `phrases`: axis -> (phrase, members whose prompt said it), the most
    frequent first, "unspecified" among them; `systems`: system -> members that it made; `central`: rows of this
    audit nearest the centroid, the nearest first.
    """

    size: int
    phrases: dict[str, tuple[tuple[str, int], ...]]
    systems: dict[str, int]
    central: tuple[int, ...]

    def top(self, axis: str, most: int) -> list[str]:
        """The `most` phrases of an axis that most members were prompted with (fewer where there are fewer)."""
        return [phrase for phrase, _ in self.phrases.get(axis, ())[:most]]


@dataclass(frozen=True)
class Quality:
    """How well an embedding and a number of regions part the identity prompts; None where it cannot be said.

    `entropy`: mean over identity prompts of the entropy of their images' regions, in bits (lower: a prompt's images lie
    closer together), with a 95 % bootstrap interval over `prompts` prompts. `stability`: mean adjusted Rand index of
    `refits` fits on resampled identities against the regions (1: the same, 0: as by chance), from `stability_low` to
    `stability_high` over the refits. `own`: share of identities whose nearest centroid is their own region's.
    """

    entropy: float | None = None
    entropy_low: float | None = None
    entropy_high: float | None = None
    prompts: int = 0
    stability: float | None = None
    stability_low: float | None = None
    stability_high: float | None = None
    refits: int = 0
    own: float | None = None


@dataclass(frozen=True)
class Summary:
    """All regions of one embedding and k, region i at place i, the largest first; what was found of their quality;
    sentences that whoever reads them must know; and the audit that they were borrowed from, or ""."""

    regions: tuple[Region, ...]
    quality: Quality = Quality()
    notes: tuple[str, ...] = ()
    borrowed: str = ""


def to_json(summary: Summary) -> bytes:
    return json.dumps(asdict(summary), indent=1, ensure_ascii=False, allow_nan=False).encode()


def _whole(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"a number in it is not between 0 and {most}")
    return value


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > LONGEST_TEXT:
        raise ValueError("a text in it is none, or too long")
    value.encode()
    return value


def _number(value: Any) -> float | None:
    if value is not None and (type(value) not in (int, float) or not abs(value) <= 1e6 or math.isnan(value)):
        raise ValueError("a measure in it is no number")
    return value


def _region(raw: Mapping[str, Any], rows: int) -> Region:
    if set(raw["phrases"]) - set(AXES):
        raise ValueError("it names an unknown axis")
    return Region(
        size=_whole(raw["size"], 2**53),
        phrases={
            axis: tuple((_text(phrase), _whole(number, 2**53)) for phrase, number in pairs)
            for axis, pairs in raw["phrases"].items()
        },
        systems={_text(system): _whole(number, 2**53) for system, number in raw["systems"].items()},
        central=tuple(_whole(row, rows - 1) for row in raw["central"]),
    )


def from_json(data: bytes, k: int, rows: int) -> Summary:
    """The summary in a file, for k regions of an audit with so many rows. Raises ValueError with what is wrong."""
    if len(data) > MOST_BYTES:
        raise ValueError("it is too large")
    try:
        raw = json.loads(data)
        quality = raw["quality"]
        summary = Summary(
            regions=tuple(_region(region, rows) for region in raw["regions"]),
            quality=Quality(
                **{name: _number(value) for name, value in quality.items() if name not in ("prompts", "refits")},
                prompts=_whole(quality["prompts"], 2**53),
                refits=_whole(quality["refits"], 2**53),
            ),
            notes=tuple(_text(note) for note in raw["notes"]),
            borrowed=_text(raw["borrowed"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("it is not what describes regions") from error
    if len(summary.regions) != k:
        raise ValueError(f"it describes {len(summary.regions)} regions instead of {k}")
    return summary
