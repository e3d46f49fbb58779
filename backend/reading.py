"""Text files from outside: lists and TOML, read whole and within limits, or refused with a sentence."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from backend.records import SourceError, clean_text

MOST_BYTES = 100_000_000
"""Of a list of labels: larger ones are refused. CelebA's, the longest of those that are known here, has 27 million."""
MOST_LINES = 1_000_000
MOST_TOML, DEEPEST = 1_000_000, 20
"""Of a TOML file: bytes, and tables in tables."""
_PART = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[\w-]++)"""
_CHAIN = re.compile(rf"(?<![\w-])(?:{_PART}[ \t]*+\.[ \t]*+){{40}}")
"""A key of so many parts: reading one takes time that grows with the square of them."""
_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What ends a line for str.splitlines."""


class SpecError(SourceError):
    """A spec that cannot be used. The message names the file, the key and the valid choices."""


def inside(root: Path, path: Path) -> bool:
    """Whether a path, with every link on its way followed, ends in the folder `root`."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def unpacked(metadata: Any) -> int:
    """How many bytes a Parquet table has once it is unpacked, as its own footer (pyarrow's FileMetaData) says."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return sum(group.column(n).total_uncompressed_size for group in groups for n in range(group.num_columns))


def text_of(
    path: Path, root: Path | None, most: int = MOST_BYTES, errors: str = "replace", remedy: str = "make it readable"
) -> str:
    """The text (UTF-8) of a list of at most so many bytes, which lies in the folder `root`. None: the user named this
    very file, which may be a link. `errors` is "strict" where another encoding is refused, `remedy` what helps where it
    cannot be read.

    A folder may be a stranger's: links that lead out of it, pipes and devices are never opened, and opening cannot
    block even where one takes the file's place meanwhile. Raises SpecError with the file and the remedy.
    """
    shown = clean_text(path)[:300]
    irregular = SpecError(f"{shown} is no regular file: put the list itself in its place")
    try:
        real = Path(os.path.realpath(path))
        if root is not None and not inside(root, real):
            raise SpecError(
                f"{shown} is a link that leads out of the folder, and is not followed: copy the file into it"
            )
        if not stat.S_ISREG(real.stat().st_mode):
            raise irregular
        with open(real, "rb", opener=_unblocked) as file:
            held = os.fstat(file.fileno())
            if not stat.S_ISREG(held.st_mode) or (root is not None and not _still_inside(root, file.fileno())):
                raise irregular
            data = file.read(most + 1) if held.st_size <= most else b""
        if max(held.st_size, len(data)) > most:
            raise SpecError(f"{shown} is larger than {most:,} bytes: it is no such list")
        text = data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        raise SpecError(f"{shown} is not UTF-8 ({error.reason}): save it as that") from error
    except (OSError, ValueError) as error:  # a path with a zero byte
        why = getattr(error, "strerror", "") or error
        raise SpecError(f"{shown} cannot be read ({why}): {remedy}") from error
    if sum(map(text.count, _ENDS)) > MOST_LINES:
        raise SpecError(f"{shown} has more than {MOST_LINES:,} lines: it is no such list")
    return text


def _still_inside(root: Path, number: int) -> bool:
    """Whether an opened file lies in the folder, whatever was put on its way since it was looked up (Linux tells)."""
    place = Path(f"/proc/self/fd/{number}")
    return not place.exists() or inside(root, place)


def _unblocked(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def toml_of(path: Path, remedy: str, root: Path | None = None) -> dict[str, Any]:
    """What a TOML file holds; `remedy` says what to give instead where it cannot be read, `root` is that of `text_of`.

    Raises SpecError, too, where it is nested so deep that reading it takes very long or breaks off.
    """
    text, shown = text_of(path, root, MOST_TOML, "strict", remedy), clean_text(path)[:300]
    try:
        table = None if _CHAIN.search(text) else tomllib.loads(text)
    except RecursionError:
        table = None
    except ValueError as error:  # no TOML, or a number of thousands of digits
        raise SpecError(f"{shown} is no TOML: {clean_text(error)[:300]}") from error
    wrong = f"values that are nested more than {DEEPEST} deep" if table is None else _unusable(table)
    if wrong:
        raise SpecError(f"{shown} has {wrong}: nothing here needs that")
    return table


def _unusable(table: dict[str, Any]) -> str:
    """What no message could show, as Python's own limits stop it: values deeper in one another than DEEPEST, or numbers
    that TOML itself does not have. "" where there is none; found without recursion."""
    layer: list[Any] = [table]
    for _ in range(DEEPEST):
        if any(isinstance(held, int) and not -(2**63) <= held < 2**63 for held in layer):
            return "a number of more than 64 bits"
        inner = [held.values() if isinstance(held, dict) else held for held in layer if isinstance(held, dict | list)]
        layer = [value for values in inner for value in values]
    return f"values that are nested more than {DEEPEST} deep" if layer else ""
