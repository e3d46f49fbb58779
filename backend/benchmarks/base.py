"""What every benchmark has in common: a task, its items, and where an item's picture lies."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from backend.importers.folder import SUFFIXES, image_files, natural, read_file
from backend.records import clean_text
from backend.spec import Key, SpecError

MOST_BYTES = 500_000_000
"""Of a list of labels: larger ones are refused."""
ABSENT = "its image is not in the folder"


@dataclass(frozen=True)
class Task:
    """One task of a file, as assets/benchmarks/README.md says; `more` holds the keys of its format."""

    name: str
    format: str
    family: str
    title: str
    question: str
    form: str
    label: str = ""
    groups: tuple[str, ...] = ()
    positive: str = ""
    adversarial: str = ""
    option: str = "{text}"
    caption: str = ""
    classes: Mapping[str, str] = field(default_factory=dict)
    captions: Mapping[str, str] = field(default_factory=dict)
    skip: tuple[str, ...] = ()
    limit: int = 0
    note: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """One picture with its question: `label` is its true class, `groups` its values of the task's groups ("": unknown).

    `load` reads the picture's bytes (raising OSError), `sha256` is their hash where it is known already. `words` fill
    the places of the question and of the options, `options` are (class, text) where they are the item's own. `row` is
    the generation of the audit, -1 for a picture from elsewhere.
    """

    name: str
    label: str
    groups: tuple[str, ...]
    load: Callable[[], bytes]
    words: Mapping[str, str] = field(default_factory=dict)
    options: tuple[tuple[str, str], ...] = ()
    row: int = -1
    sha256: str = ""


@dataclass
class Loaded:
    """The items of a source, and how many had to be left out, by reason. `classes` are those that the labels have,
    where the task names none; `source` is the name of the folder, never its path."""

    items: list[Item] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    source: str = ""
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Data:
    """Where items come from: the user's folder (or a file in it), the opened audit, and `fetch`, which is given for a
    picture that is not there its address and the path to keep it at, and returns why that failed ("": it did not)."""

    place: Path | None = None
    audit: Any = None
    fetch: Callable[[str, Path], str] | None = None


@dataclass(frozen=True)
class Format:
    """A format: its loader, the layout that it expects, in words, and the keys of its own that a task can have."""

    load: Callable[[Task, Data], Loaded]
    layout: str
    keys: Mapping[str, Key]


def folder_of(task: Task, data: Data, layout: str) -> Path:
    """The folder of the user's copy. Raises SpecError with the layout that is expected."""
    expected = f"expected is {layout}"
    if data.place is None:
        raise SpecError(f"--data: task {task.name!r} needs your own copy of its images, which are not ours: {expected}")
    place = data.place.expanduser()
    if not place.exists():
        raise SpecError(f"--data: {clean_text(place)} is not there; {expected}")
    return place if place.is_dir() else place.parent


def chosen(task: Task, offered: Iterable[str], what: str = "--group") -> tuple[str, ...]:
    """The task's groups, all of which must be offered. Raises SpecError naming those that are."""
    offered = list(offered)
    for name in task.groups:
        if name not in offered:
            raise SpecError(
                f"{what}: {clean_text(name)[:60]!r} is none of task {task.name!r}: {', '.join(offered) or 'none'}"
            )
    return task.groups


def table_of(path: Path, delimiter: str = "") -> tuple[list[str], list[dict[str, str]]]:
    """Columns and rows of a CSV or TSV file, by the names of its first line, whatever their order. Raises SpecError."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SpecError(f"{path} is larger than {MOST_BYTES:,} bytes: it is no such list")
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        head = text.split("\n", 1)[0]
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or max(",;\t", key=head.count))
        columns = [clean_text(name) for name in next(reader)]
        rows = [dict(zip(columns, map(clean_text, cells), strict=False)) for cells in reader if any(cells)]
    except OSError as error:
        raise SpecError(f"{path} cannot be read ({error.strerror or error}): make it readable") from error
    except (csv.Error, StopIteration) as error:
        raise SpecError(f"{path} is empty or no table ({error}): fetch it again") from error
    return columns, rows


def column(columns: Iterable[str], path: Path, *names: str) -> str:
    """The first of some columns that is there, whatever case and punctuation it is written in. A name that ends in * is
    the beginning of one. Raises SpecError listing what is there."""
    columns = list(columns)
    plain = {re.sub(r"[^a-z0-9]+", "", name.casefold()): name for name in reversed(columns)}
    for name in names:
        wanted = re.sub(r"[^a-z0-9*]+", "", name.casefold())
        for key, found in plain.items():
            if key == wanted or (wanted.endswith("*") and key.startswith(wanted[:-1])):
                return found
    listed = ", ".join(repr(name[:40]) for name in columns[:30])
    raise SpecError(f"{path} has no column {names[0].rstrip('*')!r}; it has {listed or 'none'}")


class Pictures:
    """The image files below a folder, by path, by name, and by name without its ending."""

    def __init__(self, root: Path) -> None:
        self.root = root
        names = [name for name in image_files(root)[0] if name.casefold().endswith(SUFFIXES)]
        self.names = sorted(names, key=natural)
        self._stems: dict[str, str] = {}
        self._paths = set(self.names)
        for name in reversed(self.names):
            self._stems[Path(name).name] = self._stems[Path(name).stem] = name

    def find(self, *wanted: str) -> str:
        """The first of some names that is there, with or without its ending or folder; "" where none is."""
        for name in wanted:
            if name in self._paths:
                return name
            if name in self._stems:
                return self._stems[name]
        return ""

    def load(self, name: str) -> Callable[[], bytes]:
        """What reads a picture: inside the folder only, no link out of it."""
        return partial(read_file, self.root, name)

    def found_or_fetched(self, data: Data, address: str, wanted: tuple[str, ...], left_out: Counter[str]) -> str:
        """A picture's path below the folder; where it lacks, its address is tried if that was asked for. "" and a count
        where there is none."""
        name = self.find(*wanted)
        if name:
            return name
        if data.fetch is None:
            left_out[f"{ABSENT}, and its address was not tried (--fetch tries)"] += 1
            return ""
        kept = f"images/{wanted[0]}.jpg"
        wrong = data.fetch(address, self.root / kept)
        left_out.update([f"{ABSENT}, and its address gave none: {wrong}"] if wrong else [])
        return "" if wrong else kept
