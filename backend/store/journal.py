"""What became of requests that gave no image, kept from the moment it is known: a kill must not ask them again."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

Entry = tuple[str, str, str]
"""The request's name, its outcome ("filtered" or "failed"), and the reason."""
OUTCOMES = ("filtered", "failed")


def _is_entry(row: Any) -> bool:
    texts = isinstance(row, list) and len(row) == 3 and all(isinstance(text, str) for text in row)
    return texts and row[1] in OUTCOMES and not re.search("[\ud800-\udfff]", "".join(row))


class Journal:
    """A file of JSON lines that is only appended to; its first line names the source that it belongs to.

    `entries` are those of an interrupted run of the same source. A file of another source is removed, and a line that
    is no entry (a kill cut it short, or a stranger wrote it) is passed over.
    """

    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.source = source
        self.entries: list[Entry] = []
        lines = []
        with suppress(FileNotFoundError):
            for line in path.read_bytes().split(b"\n"):
                with suppress(ValueError, RecursionError):
                    lines.append(json.loads(line))
        if lines[:1] == [source]:
            self.entries = [(row[0], row[1], row[2]) for row in lines[1:] if _is_entry(row)]
        else:
            path.unlink(missing_ok=True)

    def add(self, *entry: str) -> None:
        """Append one entry (name, outcome, reason) and flush it to the disk. Raises OSError."""
        lines = [list(entry)] if self.path.is_file() else [self.source, list(entry)]
        with self.path.open("ab") as file:
            file.write(b"\n" if file.tell() else b"")  # ends a line that a kill cut short
            file.write(b"\n".join(json.dumps(line).encode() for line in lines))
            file.flush()
            os.fsync(file.fileno())
