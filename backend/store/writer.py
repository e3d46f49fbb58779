"""Writing an audit's images: imports that survive a kill."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from backend.records import Report
from backend.store.checks import GENERATIONS, REPORT, REPORT_COLUMNS
from backend.store.files import (
    FORMAT,
    LOCK,
    NEXT,
    audit_folder,
    commit,
    describe,
    file_hash,
    read_manifest,
    sync,
    writing,
)
from backend.store.journal import Journal
from backend.store.reader import Audit, read_report
from backend.store.rows import PENDING, SIZES, numbered, read_part, table_of, typed
from backend.store.shards import ShardWriter, dataset_files

SHARD_ROWS = 512
SHARD_BYTES = 64_000_000
IMAGES = "images"
JOURNAL = "journal.jsonl"


class AuditWriter:
    """One import into one audit, under its lock.

    Use as a context manager: `add` images, then `finish`. Every SHARD_ROWS rows a shard and its rows are safe; after
    a kill the next import of the same source finds them (`resumed`) and goes on. Nothing is part of the audit before
    `finish`. `known` maps the id of every row to the name of its source item; `moving` holds the ids of animations.
    `journal` keeps, across kills, what became of requests that gave no image.
    """

    def __init__(self, cache: Path, name: str, source: str, shard_rows: int = SHARD_ROWS) -> None:
        self.folder = audit_folder(cache, name)
        self.source = source
        self.shard_rows = shard_rows
        self.known: dict[str, str] = {}
        self.moving: set[str] = set()
        self.resumed = 0
        self.discarded = 0
        self._rows: list[Mapping[str, Any]] = []
        self._shard: ShardWriter | None = None
        self._new: dict[str, dict[str, Any]] = {}
        self._parts: list[Path] = []
        self._started = time.time()

    def __enter__(self) -> AuditWriter:
        with ExitStack() as stack:
            stack.enter_context(writing(self.folder))
            self._manifest = read_manifest(self.folder, locked=True) or {
                "format": FORMAT,
                "name": self.folder.name,
                "sources": [],
                "shards": {},
                "files": {},
                "stages": {},
            }
            (self.folder / IMAGES).mkdir(exist_ok=True)
            (self.folder / PENDING).mkdir(exist_ok=True)
            if self._manifest["shards"]:
                self._know(Audit(self.folder).generations)
            self.journal = Journal(self.folder / PENDING / JOURNAL, self.source)
            self._resume()
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> bool | None:
        if self._shard is not None:
            self._shard.abandon()
            with suppress(OSError):  # the next import removes it
                self._path(NEXT).unlink(missing_ok=True)
        if not self.kept:
            self._leave_nothing()
        return self._exit.__exit__(*exception)

    def _leave_nothing(self) -> None:
        """Remove the folder of a first import that kept nothing: only what is empty goes, and the lock's file."""
        with suppress(OSError):
            (self.folder / PENDING).rmdir()
            (self.folder / IMAGES).rmdir()
            (self.folder / LOCK).unlink()
            self.folder.rmdir()

    def _know(self, rows: pd.DataFrame) -> None:
        self.known.update(zip(rows["id"], rows["source"], strict=True))
        self.moving.update(rows["id"][rows["animated"]])

    @property
    def kept(self) -> bool:
        """Whether there is an audit: one from before, or one that `finish` made."""
        return bool(self._manifest["shards"])

    def _number(self) -> int:
        return len(self._manifest["shards"]) + len(self._new)

    def _path(self, suffix: str = "") -> Path:
        return self.folder / IMAGES / f"shard-{self._number():05d}.arrow{suffix}"

    def _part(self) -> Path:
        return self.folder / PENDING / f"part-{self._number():05d}.parquet"

    def _resume(self) -> None:
        """Take over the finished shards of an interrupted import of the same source; remove everything else."""
        first = self._part().name
        while self._path().is_file():
            part = read_part(self._part())
            if part is None:
                break
            notes, rows = part
            if notes.get("source") != self.source or notes.get("sha256") != file_hash(self._path()):
                break
            self._know(rows)
            self.resumed += len(rows)
            sizes = {key: int(notes[key]) for key in SIZES}
            self._parts.append(self._part())
            self._new[f"{IMAGES}/{self._path().name}"] = {**sizes, **describe(self._path())}
        for path in (self.folder / PENDING).iterdir():
            if path not in self._parts and path != self.journal.path:
                part = read_part(path) if path.suffix == ".parquet" and path.name >= first else None
                self.discarded += len(part[1]) if part and part[0].get("source") != self.source else 0
                path.unlink()
        kept = {Path(name).name for name in [*self._manifest["shards"], *self._new]}
        for path in (self.folder / IMAGES).glob("shard-*"):
            if path.name not in kept:
                path.unlink()

    def add(self, row: Mapping[str, Any], image: bytes, thumbnail: bytes) -> None:
        """Append one generation: its row (columns of DTYPES and label_* / extra_*), original bytes and thumbnail."""
        if self._shard is None:
            self._shard = ShardWriter(self._path(NEXT))
        self._shard.add(image, thumbnail)
        self._rows.append(row)
        self.known[row["id"]] = row["source"]
        size = self._shard.image_bytes + self._shard.thumbnail_bytes
        if self._shard.rows >= self.shard_rows or size >= SHARD_BYTES:
            self._end_shard()

    def flush(self) -> None:
        """End the shard at hand: everything added so far outlives a stop."""
        self._end_shard()

    def _end_shard(self) -> None:
        if self._shard is None:
            return
        self._shard.close()
        sync(self._path(NEXT))
        sizes = {name: getattr(self._shard, name) for name in SIZES}
        entry = {**sizes, **describe(self._path(NEXT))}
        os.replace(self._path(NEXT), self._path())
        notes = {"source": self.source, "sha256": entry["sha256"], **{k: str(v) for k, v in sizes.items()}}
        table = table_of(self._rows).replace_schema_metadata(notes)
        part = self._part()
        pq.write_table(table, part.with_suffix(NEXT))
        sync(part.with_suffix(NEXT))
        os.replace(part.with_suffix(NEXT), part)
        self._parts.append(part)
        self._new[f"{IMAGES}/{self._path().name}"] = entry
        self._shard, self._rows = None, []

    def finish(self, label: str, report: Report, details: Mapping[str, Any] | None = None) -> None:
        """Make everything added, and the report, part of the audit. `label` names the source in the manifest, and
        `details` (JSON values) are kept with it."""
        self._end_shard()
        label = self._label(label)
        if not self._new and not self._manifest["shards"]:
            return  # nothing to show: no audit comes to be
        paths = [self.folder / GENERATIONS] if self._manifest["shards"] else []
        tables = [pq.read_table(path).replace_schema_metadata() for path in [*paths, *self._parts]]
        table = numbered(typed(pa.concat_tables(tables, promote_options="default")))
        self._manifest["shards"].update(self._new)
        self._manifest["sources"].append(
            {
                "label": label,
                "place": self._place(),
                "read": report.read,
                "added": report.added,
                "already": report.already,
                "left_out": report.total("left out"),
                "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started)),
                "seconds": round(time.time() - self._started, 1),
                **(details or {}),
            }
        )
        changed = [GENERATIONS, REPORT]
        pq.write_table(table, self._next(GENERATIONS))
        self._write_report(label, report)
        names = [Path(name).name for name in self._manifest["shards"]]
        for name, text in dataset_files(names).items():
            self._next(f"{IMAGES}/{name}").write_text(text, encoding="utf-8")
            changed.append(f"{IMAGES}/{name}")
        commit(self.folder, self._manifest, changed)
        self._new, self._parts = {}, []
        shutil.rmtree(self.folder / PENDING)

    def _place(self) -> str:
        """Where the source lies, as a hash: an audit travels, and nobody's folders are told."""
        return hashlib.sha256(self.source.split("|")[0].encode()).hexdigest()[:16]

    def _label(self, label: str) -> str:
        """The source's label; one that another source has already gets a number."""
        places = {source["label"]: source.get("place", self._place()) for source in self._manifest["sources"]}
        number, free = 2, label
        while places.get(free, self._place()) != self._place():
            free, number = f"{label} ({number})", number + 1
        return free

    def _next(self, name: str) -> Path:
        return self.folder / (name + NEXT)

    def _write_report(self, label: str, report: Report) -> None:
        rows = pd.DataFrame([(label, *row) for row in report.rows], columns=list(REPORT_COLUMNS), dtype="str")
        if REPORT in self._manifest["files"]:
            before = read_report(self.folder)
            rows = pd.concat([before[before["source"] != label], rows], ignore_index=True)
        pq.write_table(pa.Table.from_pandas(rows.astype("str"), preserve_index=False), self._next(REPORT))
