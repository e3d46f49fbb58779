"""A source of generated images -> items, one after the other, in the source's own order.

A source is a folder with metadata, a folder laid out SYSTEM/PROFESSION/, Parquet files, or a Hub data set.
`open_source` tells which; adding a kind of source is one module with a reader and one line here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from backend.importers import folder, tabular
from backend.records import Item, LeftOut, SourceError

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class Source:
    """An opened source: `label` names it in reports, `key` tells it apart from others when an import resumes,
    `total` counts its items where the source itself says how many (else None)."""

    label: str
    key: str
    total: int | None
    items: Iterator[Item | LeftOut]


def open_source(source: str, system: str = "", names: Mapping[str, str] | None = None, split: str = "train") -> Source:
    """Find out what a source is and open it. `system` fills rows that name none; `names` maps columns to fields
    and goes before records.COLUMN_NAMES; `split` is that of a Hub data set. Raises SourceError."""
    path = Path(source).expanduser()
    key = f"{path.resolve()}|{system}|{sorted((names or {}).items())}|{split}"
    if path.is_dir():
        parquet = [] if folder.metadata_files(path) else sorted(path.rglob("*.parquet"))
        if not parquet:
            total, items = folder.read(path, system, names or {})
            return Source(path.resolve().name, key, total, items)
        total, items = tabular.read_parquet(parquet, path, system, names or {})
        return Source(path.resolve().name, key, total, items)
    if path.is_file():
        if path.suffix.lower() != ".parquet":
            raise SourceError(f"{source} is a file but no .parquet: give the folder that holds the images")
        total, items = tabular.read_parquet([path], path.parent, system, names or {})
        return Source(path.name, key, total, items)
    if HUB_NAME.fullmatch(source):
        return Source(source, key, None, tabular.read_hub(source, split, system, names or {}))
    raise SourceError(f"{source} is no folder, no .parquet file and no Hub data set (OWNER/NAME)")
