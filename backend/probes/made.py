"""What is known of a converted model: `made.json` in its folder, so that it is not found out again at each load.

It holds what the model was made from, the SHA-256 of its files, and with what it was tried; a file counts as unchanged
while its size, its time of change and that of its inode stay the same, and is read again where one differs. The record
is the folder's own and no secret: whoever can write there can write a record, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

RECORD = "made.json"


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(path: Path) -> list[int]:
    """Size in bytes, and when content and inode last changed, in nanoseconds: what tells that a file is as it was."""
    held = path.stat()
    return [held.st_size, held.st_mtime_ns, held.st_ctime_ns]


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a folder; {} where there is none that can be read: all is found out again then."""
    try:
        held = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}


def add_to_record(folder: Path, **values: Any) -> None:
    """Write values into a folder's record, whole or not at all; where that cannot be, it is found out next time."""
    held = read_record(folder)
    if held | values == held:
        return
    with contextlib.suppress(OSError):
        handle, aside = tempfile.mkstemp(prefix=".made-", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(held | values, file)
            Path(aside).replace(folder / RECORD)
        except OSError:
            Path(aside).unlink(missing_ok=True)


def made_from(source: Path, folders: list[Path]) -> Path | None:
    """The folder whose record says that it was made from this file, as it is now; None where none says so."""
    wanted = [str(source.resolve()), stamp(source)]
    return next((folder for folder in folders if read_record(folder).get("source") == wanted), None)


def changed(folder: Path) -> str:
    """The name of a file that is not as it was when its folder was recorded; "" where all are, and are noted so."""
    files = {path.name: path for path in sorted(folder.iterdir()) if path.name != RECORD and path.name[0] != "."}
    known = read_record(folder).get("files")
    if not isinstance(known, dict) or not all(isinstance(old, list) and len(old) == 4 for old in known.values()):
        known = {}
    strange = sorted(set(known) ^ set(files)) if known else []
    if strange:
        return strange[0]
    held = {}
    for name, path in files.items():
        old, now = known.get(name), stamp(path)
        held[name] = old if old and old[:3] == now else [*now, digest(path)]
        if old and old[3] != held[name][3]:
            return name
    add_to_record(folder, files=held)
    return ""
