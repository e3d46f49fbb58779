"""The tables' columns and the words in them: what a generation is, and how names from outside are made regular.

Nothing here touches a disk or an image. A *generation* is one image with what is known of its prompt; an *item* is
a generation on its way in, whose bytes are read only when they are needed.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

SUBSETS = ("professions", "identities", "neutral")
AXES = ("gender", "ethnicity", "tone")
"""What identity prompts vary. Tone is a skin tone by its Unicode name; it is never mapped to an ethnicity."""
UNSPECIFIED = "unspecified"

FIELDS = ("system", "profession", "prompt", "adjective", "action", *AXES, "seed", "number", "subset")
"""What a source may say of an image. Any other column is kept as `label_*` or `extra_*`."""

DTYPES = {
    "id": "string",
    "subset": "string",
    "system": "string",
    "prompt": "string",
    "profession": "string",
    "adjective": "string",
    "action": "string",
    **dict.fromkeys(AXES, "string"),
    "seed": "Int64",
    "number": "Int64",
    "width": "int32",
    "height": "int32",
    "format": "string",
    "animated": "bool",
    "bytes": "int64",
    "sha256": "string",
    "source": "string",
}
"""Columns of generations.parquet, in order, with their pandas types. label_* and extra_* columns follow as strings."""

MIME = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "BMP": "image/bmp",
    "AVIF": "image/avif",
}
"""The formats that are imported (those that browsers show) and their media types."""

COLUMN_NAMES = {
    "model": "system",
    "no": "number",
    "image_path": "item",
    "file": "file_name",
    "filename": "file_name",
    "occupation": "profession",
    "job": "profession",
    "ethnic": "ethnicity",
    "skin_tone": "tone",
}
"""Names that published data sets give to our columns. `--map COLUMN=FIELD` goes before this table."""

NO_ADJECTIVE = ("no_adjective", "none", "-")
HIGHEST_NUMBER = 10**15
LONGEST = {
    "system": 200,
    "profession": 200,
    "adjective": 200,
    "gender": 200,
    "ethnicity": 200,
    "tone": 200,
    "prompt": 10_000,
}


class SourceError(Exception):
    """A source that cannot be imported at all. The message says what is wrong and what to do."""


@dataclass(frozen=True)
class Item:
    """One image on its way in.

    `name` is how reports call it, `values` holds FIELDS and label_* / extra_* columns as text, `load` reads the
    original bytes (raising OSError where that fails) and `notes` says what had to be changed in the values.
    """

    name: str
    values: Mapping[str, str]
    load: Callable[[], bytes]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """One thing that a source names and that is not imported, and why, in a sentence with its remedy.

    With outcome "noted" it is only said: everything it speaks of is imported. "filtered" and "failed" are requests to
    a system that gave no image: refused by its safety filter, or gone wrong.
    """

    name: str
    reason: str
    outcome: str = "left out"


@dataclass
class Report:
    """What an import did: counts, and a row for everything left out or changed on the way in."""

    read: int = 0
    added: int = 0
    already: int = 0
    rows: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, name: str, reason: str, outcome: str = "left out") -> None:
        self.rows.append((name, outcome, reason))

    def total(self, outcome: str) -> int:
        return sum(row[1] == outcome for row in self.rows)


def clean_text(value: object) -> str:
    """Text from outside as one that every table and page can hold.

    Control characters go (a tab or a line break becomes a space), what is no Unicode text (a file name's bytes that
    are no UTF-8, say) becomes "\ufffd", and space at the ends goes. None and NaN are the empty text.

    >>> clean_text(" a\\x00b\\nc ")
    'ab c'
    """
    if value is None or value != value:
        return ""
    text = re.sub("[\ud800-\udfff]", "\ufffd", str(value))
    text = re.sub(r"[\t\r\n\u2028\u2029]+", " ", text)
    return "".join(c for c in text if c.isprintable() or c == " ").strip()


def count(number: int, noun: str) -> str:
    """A number of things in words.

    >>> count(1, "image"), count(94_500, "image")
    ('1 image', '94,500 images')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@lru_cache(maxsize=1)
def _known_professions() -> dict[str, str]:
    path = Path(__file__).parent.parent / "assets" / "professions.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return {row["profession"].casefold(): row["profession"] for row in csv.DictReader(file)}


def profession_name(value: object) -> str:
    """A profession as the labour table spells it, else as given: "Social_Worker" is "social worker"."""
    text = re.sub(r"[\s_]+", " ", clean_text(value)).strip()
    return _known_professions().get(text.casefold(), text)


def whole_number(text: str) -> int | None:
    """The text as a whole number that a 64-bit column holds, or None: "7" and "7.0" are 7, "x" is None."""
    match = re.fullmatch(r"([+-]?\d{1,19})(\.0+)?", text)
    if not match:
        return None
    number = int(match[1])
    return number if -(2**63) <= number < 2**63 else None


def subset_of(values: Mapping[str, str]) -> str:
    """The subset a row belongs to: as it says, else professions where one is named, else identities where a
    phrase is named, else "" (nothing says what the prompt asked for)."""
    if values.get("subset"):
        return values["subset"]
    if values.get("profession"):
        return "professions"
    return "identities" if any(values.get(axis) for axis in AXES) else ""


def regular(raw: Mapping[str, object]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The values of one row in the product's words, with a note for each that had to be dropped.

    Raises ValueError with the reason where the row cannot be a generation: no system, nothing that says what the
    prompt asked for, an unknown subset, or a name longer than LONGEST.
    """
    values = {key: clean_text(value) for key, value in raw.items()}
    notes = []
    values["profession"] = profession_name(values.get("profession", ""))
    if values.get("adjective", "").casefold() in NO_ADJECTIVE:
        values["adjective"] = ""
    for column, kind in (("seed", "whole number of 64 bits"), ("number", f"whole number from 0 to {HIGHEST_NUMBER:,}")):
        text = values.get(column, "")
        number = whole_number(text)
        if column == "number" and number is not None and not 0 <= number <= HIGHEST_NUMBER:
            number = None
        values[column] = "" if number is None else str(number)
        if text and number is None:
            notes.append(f"{column} {text[:40]!r} is no {kind}; it was left empty")
    for column, limit in LONGEST.items():
        if len(values.get(column, "")) > limit:
            raise ValueError(f"{column} is {len(values[column]):,} characters long; shorten it to {limit:,}")
    if not values.get("system"):
        raise ValueError("no system is named; fill the column or give --system NAME")
    values["subset"] = subset_of(values)
    if not values["subset"]:
        raise ValueError(
            "nothing says what the prompt asked for; give a profession, a gender, ethnicity or tone phrase, or a subset"
        )
    if values["subset"] not in SUBSETS:
        raise ValueError(f"subset {values['subset'][:40]!r} is unknown; use one of {', '.join(SUBSETS)}")
    for axis in AXES:
        values[axis] = values.get(axis) or UNSPECIFIED
    return values, tuple(notes)


KEY = ("subset", "system", "profession", "adjective", "action", "prompt", "gender", "ethnicity")
LATER_AXES = AXES[2:]
"""Axes that ids hold only where they are specified: the ids of audits from before them stay as they were."""


def generation_id(sha256: str, values: Mapping[str, str]) -> str:
    """Sixteen hexadecimal digits that name a generation: its content and what was asked for, not its number.

    The same bytes for the same request are one generation; the same bytes for another request (a safety filter's
    black square, say) are another.
    """
    parts = [sha256, *(values.get(column, "") for column in KEY)]
    parts += [f"{axis}={values[axis]}" for axis in LATER_AXES if values.get(axis, UNSPECIFIED) not in ("", UNSPECIFIED)]
    key = "\x1f".join(parts)
    return hashlib.sha256(key.encode()).hexdigest()[:16]
