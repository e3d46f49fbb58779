"""Which column of a source is which field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from backend.records import COLUMN_NAMES, FIELDS, SourceError, clean_text

SPECIAL = ("file_name", "image", "item")
"""What a column can be beside FIELDS: the path of an image, its bytes, or the name by which reports call it."""
MOST_COLUMNS = 100


def parse_map(pairs: Iterable[str]) -> dict[str, str]:
    """`["model=system"]` -> `{"model": "system"}`. Raises SourceError naming the valid fields."""
    names = {}
    for pair in pairs:
        column, sign, name = pair.partition("=")
        if not sign or not column or name not in (*FIELDS, *SPECIAL):
            raise SourceError(f"--map {pair}: write COLUMN=FIELD, with FIELD one of {', '.join((*FIELDS, *SPECIAL))}")
        if column in names or name in names.values():
            raise SourceError(f"--map {pair}: a column and a field can be mapped once only; leave one out")
        names[column] = name
    return names


def assign(columns: Iterable[str], names: Mapping[str, str], where: str) -> dict[str, str]:
    """Each column of a source -> what it is to us: a field, one of SPECIAL, label_*, or extra_*.

    A column named in `names` (from --map) goes first, then one with a field's own name, then COLUMN_NAMES; a second
    column for the same field becomes extra_*. Raises SourceError where --map names a column that is not there.

    >>> assign(["model", "label_gender", "score"], {}, "x.csv")
    {'model': 'system', 'label_gender': 'label_gender', 'score': 'extra_score'}
    """
    columns = list(columns)
    if len(columns) > MOST_COLUMNS:
        raise SourceError(f"{where} has {len(columns)} columns, more than the limit of {MOST_COLUMNS}")
    for column in names:
        if column not in columns:
            raise SourceError(f"--map {column}=...: {where} has no column {column!r}; it has {listed(columns)}")
    found: dict[str, str] = {}
    ranked = [
        (column, names.get(column), 0) if column in names else (column, _own(column), 1 + (column not in FIELDS))
        for column in columns
    ]
    for column, name, _ in sorted(ranked, key=lambda entry: entry[2]):
        if name is None or name in found.values():
            name = extra_name(column, found.values())
        found[column] = name
    return {column: found[column] for column in columns}


def _own(column: str) -> str | None:
    plain = column.strip().casefold()
    return plain if plain in (*FIELDS, *SPECIAL) else COLUMN_NAMES.get(plain)


def extra_name(column: str, taken: Iterable[str]) -> str:
    """The name under which a column that is no field is kept: letters, digits and underscores, at most 60."""
    plain = re.sub(r"\W+", "_", clean_text(column)).strip("_")[:60] or "column"
    name = plain if re.match(r"label_\w", plain) else f"extra_{plain}"
    taken, number, free = set(taken), 2, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def listed(names: Iterable[str]) -> str:
    """Column names for a sentence, at most 20 of them."""
    names = [repr(clean_text(name)[:40]) for name in names]
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def as_text(value: Any) -> str:
    """A cell as text: lists and structs as JSON, bytes as their number, nothing and NaN as the empty text."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)[:10_000]
    return str(value)
