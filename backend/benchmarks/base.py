"""What every benchmark has in common: a task, its items, and where an item's picture lies."""

from __future__ import annotations

import csv
import io
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from backend.importers.folder import SUFFIXES, image_files, natural, read_file
from backend.reading import SpecError, text_of
from backend.records import clean_text
from backend.spec import Key

MOST_COLUMNS = 1_000
ABSENT = "its image is not in the folder"
AMBIGUOUS = "several images in the folder have the name that its row gives"


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
    shown = clean_text(data.place)[:300]
    try:
        place = data.place.expanduser()
        mode = place.stat().st_mode
    except (OSError, RuntimeError, ValueError):  # ~nobody, a zero byte, 10,000 characters: no path that is there
        raise SpecError(f"--data: {shown} is not there; {expected}") from None
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise SpecError(f"--data: {shown} is neither a folder nor a regular file; {expected}")
    return place if stat.S_ISDIR(mode) else place.parent


def bound(data: Data, root: Path, path: Path) -> Path | None:
    """The folder that a list must lie in, for `text_of`: none where it is the very file that --data names."""
    return None if data.place is not None and path == data.place.expanduser() else root


def chosen(task: Task, offered: Iterable[str], what: str = "--group") -> tuple[str, ...]:
    """The task's groups, all of which must be offered. Raises SpecError naming those that are."""
    offered = list(offered)
    for name in task.groups:
        if name not in offered:
            raise SpecError(
                f"{what}: {clean_text(name)[:60]!r} is none of task {task.name!r}: {', '.join(offered) or 'none'}"
            )
    return task.groups


def table_of(path: Path, root: Path | None, delimiter: str = "") -> tuple[list[str], list[dict[str, str]]]:
    """Columns and rows of a CSV or TSV file, by the names of its first line, whatever their order; `root` as for
    `text_of`. Raises SpecError."""
    text, shown = text_of(path, root), clean_text(path)[:300]
    head = text.split("\n", 1)[0]
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or max(",;\t", key=head.count))
        names = next(reader)
        if len(names) > MOST_COLUMNS:
            raise SpecError(
                f"{shown} has {len(names):,} columns, more than the limit of {MOST_COLUMNS:,}: fetch it again"
            )
        columns = [clean_text(name) for name in names]
        rows = [dict(zip(columns, map(clean_text, cells), strict=False)) for cells in reader if any(cells)]
    except (csv.Error, StopIteration) as error:
        raise SpecError(f"{shown} is empty or no table ({error}): fetch it again") from error
    return columns, rows


def column(columns: Iterable[str], path: Path, *names: str) -> str:
    """The first of some columns that is there, whatever case and punctuation it is written in. A name that ends in * is
    the beginning of one. Raises SpecError listing what is there."""
    columns = list(columns)
    plain = {re.sub(r"[\W_]+", "", name.casefold()): name for name in reversed(columns)}
    for name in names:
        wanted = re.sub(r"[\W_]+", "", name.casefold())
        for key, found in plain.items():
            if wanted and (key == wanted or (name.endswith("*") and key.startswith(wanted))):
                return found
    listed = ", ".join(repr(name[:40]) for name in columns[:30])
    shown = clean_text(names[0].rstrip("*"))[:60]
    raise SpecError(f"{clean_text(path)[:300]} has no column {shown!r}; it has {listed or 'none'}")


def endings(addresses: Iterable[str]) -> list[str]:
    """How each row's address ends, by which its picture may be called; "" where that tells it from no other: another
    address ends so, too, or rows are called by their number, and it ends in the number of one.

    >>> endings(["http://a/x.jpg?w=1", "http://b/y.jpg", "http://c/y.jpg", "http://d/0.jpg", "none"])
    ['x.jpg', '', '', '', 'none']
    """
    addresses = list(addresses)
    ends, numbers = [PurePosixPath(_path(address)).name for address in addresses], set(map(str, range(len(addresses))))
    sharing = Counter(end for end, _ in {*zip(ends, addresses, strict=True)})
    return [end if sharing[end] == 1 and PurePosixPath(end).stem not in numbers else "" for end in ends]


def _path(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:  # no address at all
        return ""


class Pictures:
    """The image files below a folder: by path, or by a name that only one of them has."""

    def __init__(self, root: Path) -> None:
        self.root = root
        names = [name for name in image_files(root)[0] if name.casefold().endswith(SUFFIXES)]
        self.names = sorted(names, key=natural)
        self._paths: set[str] = set()
        self._files: dict[str, list[str]] = defaultdict(list)
        self._stems: dict[str, list[str]] = defaultdict(list)
        for name in self.names:
            self._add(name)

    def _add(self, name: str) -> None:
        self._paths.add(name)
        self._files[Path(name).name].append(name)
        self._stems[Path(name).stem].append(name)

    def at(self, path: str) -> str:
        """A path below the folder, where exactly that is there; else ""."""
        return path if path in self._paths else ""

    def find(self, *wanted: str) -> tuple[str, str]:
        """The path of the first of some names that is there, and ""; or "", and why: there is none, or several have
        that name. An exact path goes first, then a name with its ending, then one without, whatever the folder."""
        for name in filter(None, wanted):
            if name in self._paths:
                return name, ""
            found = self._files.get(name) or self._stems.get(name, [])
            if found:
                return (found[0], "") if len(found) == 1 else ("", AMBIGUOUS)
        return "", ABSENT

    def load(self, name: str) -> Callable[[], bytes]:
        """What reads a picture: inside the folder only, no link out of it."""
        return partial(read_file, self.root, name)

    def found_or_fetched(self, data: Data, address: str, wanted: tuple[str, ...], left_out: Counter[str]) -> str:
        """A picture's path below the folder; where it lacks, its address is tried if that was asked for. "" and a count
        where there is none."""
        name, reason = self.find(*wanted)
        if reason != ABSENT or not wanted[0]:
            left_out.update([reason] if reason else [])
            return name
        if data.fetch is None:
            left_out[f"{ABSENT}, and its address was not tried (--fetch tries)"] += 1
            return ""
        kept = f"images/{wanted[0]}.jpg"
        wrong = data.fetch(address, self.root / kept)
        if wrong:
            left_out[f"{ABSENT}, and its address gave none: {wrong}"] += 1
            return ""
        self._add(kept)
        return kept
