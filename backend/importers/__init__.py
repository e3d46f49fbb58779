"""A source of generated images -> items, one after the other, in the source's own order.

A source is a folder with metadata, a folder laid out SYSTEM/PROFESSION/, Parquet files, or a Hub data set.
`open_source` tells which; adding a kind of source is one module with a reader and one line here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from backend.importers import folder, tabular
from backend.importers.metadata import inside, metadata_files
from backend.records import Item, LeftOut, SourceError, clean_text

OUTSIDE = "a link that leads out of the folder, and is not followed; copy the file into the folder"
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
    names = names or {}
    try:
        path = Path(source).expanduser().absolute()
        key = f"{path.resolve()}|{system}|{sorted(names.items())}|{split}"
        if path.is_dir() or path.is_file():
            total, items = _local(path, system, names)
            return Source(clean_text(path.resolve().name), clean_text(key), total, items)
    except OSError as error:
        where = clean_text(error.filename or source)
        raise SourceError(f"{where} cannot be read ({error.strerror or error}): make it readable") from error
    except (RuntimeError, ValueError):  # ~nobody/..., a zero byte: no path that any system knows
        path = None
    if HUB_NAME.fullmatch(source):
        return Source(source, key, None, tabular.read_hub(source, split, system, names))
    raise SourceError(
        f"{clean_text(source)} is no folder, no .parquet file and no Hub data set (OWNER/NAME): check the spelling"
    )


def _local(path: Path, system: str, names: Mapping[str, str]) -> tuple[int, Iterator[Item | LeftOut]]:
    if path.is_file():
        if path.suffix.lower() != ".parquet":
            raise SourceError(f"{path} is a file but no .parquet: give the folder that holds the images")
        return tabular.read_parquet([path], path.parent, system, names)
    parquet = [] if metadata_files(path) else sorted(found for found in path.rglob("*.parquet") if found.is_file())
    if not parquet:
        return folder.read(path, system, names)
    outside = [found for found in parquet if not inside(path, found)]
    if outside == parquet:
        raise SourceError(f"{clean_text(outside[0])} is {OUTSIDE}")
    total, items = tabular.read_parquet([found for found in parquet if found not in outside], path, system, names)
    left = [LeftOut(clean_text(found.relative_to(path)), OUTSIDE) for found in outside]
    beside = [name for name in folder.image_files(path)[0] if name.casefold().endswith(folder.SUFFIXES)]
    reason = "the folder holds tables, and images beside them are not read; import them from a folder of their own"
    left += [LeftOut(clean_text(name), reason) for name in beside]
    return total + len(left), chain(items, left)
