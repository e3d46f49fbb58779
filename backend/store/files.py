"""How files of an audit come to be whole: names, hashes, the lock, and the manifest that is written last.

A commit goes in four steps: every new file is written beside its place as `<name>.next`; then `manifest.json.next`,
which holds the hash of each; then the files are renamed; then the manifest. Whoever opens the folder after a kill
between any two steps either sees the old audit or rolls the rest of the commit forward.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock

from backend.store.checks import manifest_problem

FORMAT = 1
MANIFEST = "manifest.json"
NEXT = ".next"
LOCK = ".lock"


class StoreError(Exception):
    """An audit that cannot be opened or written. The message says what is wrong and what to do."""


class _DamagedError(StoreError):
    """A manifest that was not written to its end, or changed since."""


def audit_folder(cache: Path, name: str) -> Path:
    """Where an audit lives. Names are file names on every system: letters, digits, dot, dash, underscore."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise StoreError(
            f"{name!r} is no audit name: use 1 to 64 letters, digits, dots, dashes or underscores, "
            "beginning with a letter or digit"
        )
    return cache / name


def audit_names(cache: Path) -> list[str]:
    """The audits in a cache folder: every folder that has a manifest, in the order of their names."""
    if not cache.is_dir():
        return []
    found = []
    for entry in cache.iterdir():
        with suppress(PermissionError):  # another user's folder, lost+found: no audit of ours
            if (entry / MANIFEST).is_file() or (entry / (MANIFEST + NEXT)).is_file():
                found.append(entry.name)
    return sorted(found)


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe(path: Path) -> dict[str, Any]:
    """What a manifest holds of a file: its size in bytes and its hash."""
    return {"bytes": path.stat().st_size, "sha256": file_hash(path)}


def sync(path: Path) -> None:
    """Flush a written file to the disk, so that a rename after it never shows half of it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error}). Make its folder readable.") from error


def _seal(manifest: Mapping[str, Any]) -> str:
    body = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _load(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        whole = isinstance(manifest, dict) and manifest.get("sha256") == _seal(manifest)
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror or error}). Make it readable.") from error
    except (ValueError, RecursionError):  # ValueError: no text, no JSON, or a number of thousands of digits
        raise _DamagedError(f"{path} is damaged: it is no JSON. {_REPAIR}") from None
    if not whole:
        raise _DamagedError(f"{path} is damaged: its content does not match the hash in it. {_REPAIR}")
    found = manifest.get("format")
    if found != FORMAT:
        known = str(found)[:20] if isinstance(found, int) else "unknown"
        raise StoreError(
            f"{path} has format {known}, and this version of Likeness reads format {FORMAT}: "
            "import the source again into another name"
        )
    problem = manifest_problem(manifest)
    if problem:
        raise StoreError(f"{path} is no manifest of an audit: {problem}. Do not use this audit. {_REPAIR}")
    return manifest


_REPAIR = "Restore the folder from a copy, or delete it and import again."


def refuse_links(folder: Path) -> None:
    """Raise StoreError where an audit's folder holds a symbolic link: it would be read, or written, elsewhere."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place) / name
            if path.is_symlink():
                raise StoreError(
                    f"{path} is a link, and an audit holds none: do not use this audit, or, where the link is your "
                    "own, put what it leads to in its place"
                )


def read_manifest(folder: Path, locked: bool = False) -> dict[str, Any] | None:
    """The manifest of an audit, or None where there is none. An interrupted commit is finished first.

    `locked` says that the caller holds the lock. Raises StoreError where the folder holds a link, where the manifest
    is damaged, of another format or of another make, or where a commit can be finished neither by us nor, within
    five seconds, by whoever holds the lock.
    """
    refuse_links(folder)
    pending = folder / (MANIFEST + NEXT)
    deadline = time.monotonic() + 5
    while _there(pending):
        if locked:
            _roll_forward(folder, pending)
            break
        try:
            with filelock.FileLock(folder / LOCK, timeout=0):
                _roll_forward(folder, pending)
            break
        except filelock.Timeout:
            if time.monotonic() > deadline:
                raise StoreError(f"{folder} is being written: try again in a moment") from None
            time.sleep(0.1)
        except OSError as error:
            raise StoreError(
                f"{folder} was interrupted while it was written, and cannot be finished here "
                f"({error.strerror or error}): open it once where it can be written"
            ) from error
    path = folder / MANIFEST
    return _load(path) if _there(path) else None


def _roll_forward(folder: Path, pending: Path) -> None:
    try:
        manifest = _load(pending)
    except _DamagedError:  # killed while writing it: the commit never happened
        pending.unlink(missing_ok=True)
        return
    for name, entry in manifest["files"].items():
        following = folder / (name + NEXT)
        if following.is_file() and describe(following) == entry:
            os.replace(following, folder / name)
    os.replace(pending, folder / MANIFEST)


def commit(folder: Path, manifest: dict[str, Any], changed: list[str]) -> None:
    """Make the files `changed` (written as `<name>.next`) and the manifest that lists them the audit's state."""
    for name in changed:
        sync(folder / (name + NEXT))
        manifest["files"][name] = describe(folder / (name + NEXT))
    manifest["sha256"] = _seal(manifest)
    pending = folder / (MANIFEST + NEXT)
    pending.write_text(json.dumps(manifest, indent=1, ensure_ascii=False), encoding="utf-8")
    sync(pending)
    for name in changed:
        os.replace(folder / (name + NEXT), folder / name)
    os.replace(pending, folder / MANIFEST)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold an audit's lock while writing. Errors of the disk become a StoreError with a remedy."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse_links(folder)  # the lock's own file can be one
        with filelock.FileLock(folder / LOCK, timeout=0):
            yield
    except filelock.Timeout:
        raise StoreError(
            f"another process is writing {folder}: wait until it has ended, or choose another name"
        ) from None
    except OSError as error:
        where = error.filename or folder
        raise StoreError(
            f"cannot write {where}: {error.strerror or error}. What was finished before is safe; "
            "make room or make the folder writable (or give another one with --cache), then run the same "
            "command again"
        ) from error


def check_files(folder: Path, manifest: Mapping[str, Any], full: bool) -> list[str]:
    """What is wrong with the files that a manifest lists, a sentence each: missing, another size or, where `full`
    is set (which reads every byte), another hash."""
    wrong = []
    for name, entry in {**manifest["files"], **manifest["shards"]}.items():
        path = folder / name
        try:
            if not path.is_file():
                wrong.append(f"{path} is missing")
            elif path.stat().st_size != entry["bytes"]:
                wrong.append(f"{path} is damaged: {path.stat().st_size:,} bytes instead of {entry['bytes']:,}")
            elif full and file_hash(path) != entry["sha256"]:
                wrong.append(f"{path} is damaged: its content does not match the manifest's hash")
        except OSError as error:
            wrong.append(f"{path} cannot be read ({error.strerror or error})")
    return wrong
