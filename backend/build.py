"""The only place that chains stages: which there are, what each works on, and running those that are missing or stale.

A measure is a function over one range of rows (a shard); its results are row-aligned numbers. To add one, write its
function and one line in STAGES. After the measures come embeddings, then regions and a map of each (vector_stages.py),
then faces and their averages (face_stages.py), then what finds images that are like another (neighbour_stages.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from backend import neighbour_stages
from backend.face_stages import average_faces, face_parameters, face_stages, face_state, find_faces
from backend.facemodels import FaceError
from backend.metrics.colour import colourfulness
from backend.pictures import PictureError, read_pixels
from backend.regioning import KS, region_parameters
from backend.store import Audit, StageWriter, StoreError, audit_folder, stage_parts, writing
from backend.vector_stages import (
    VectorError,
    embed_audit,
    find_regions,
    lacking,
    make_map,
    map_parameters,
    possible,
)


def _colourfulness(audit: Audit, row: int) -> float:
    try:
        return colourfulness(read_pixels(audit.image(row)[0], max_pixels=10**9))
    except PictureError:
        return float("nan")


@dataclass(frozen=True)
class Stage:
    """A row-aligned measure: `value(audit, row)` is a number or NaN; `parameters` and their change make it stale."""

    name: str
    value: Callable[[Audit, int], float]
    parameters: dict[str, Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ()


STAGES = (Stage("colourfulness", _colourfulness, {"version": 1, "pixels": "all"}, ("pillow", "numpy")),)


def run_stage(audit: Audit, stage: Stage, workers: int, progress: Callable[[int], object] = lambda rows: None) -> None:
    """Compute what a stage lacks and list it in the manifest. The caller holds the audit's lock.

    Ranges finished by an interrupted run, and those of an earlier run whose shards have not changed, are not
    computed again. `progress(n)` is called as n more rows are done.
    """
    writer = StageWriter(audit, stage.name, stage.parameters)
    writer.start()
    earlier = writer.earlier()
    started, values = time.perf_counter(), []
    with ThreadPoolExecutor(workers) as pool:
        for start, end, shard in audit.shards():
            part = earlier[start:end] if earlier is not None and end <= len(earlier) else None
            if part is None:
                part = writer.load(shard, end - start)
            if part is None:
                part = np.fromiter(pool.map(partial(stage.value, audit), range(start, end)), "float64", end - start)
                writer.save(shard, part)
            values.append(part)
            progress(end - start)
    seconds = time.perf_counter() - started
    everything = np.concatenate(values) if values else np.empty(0)
    writer.finish(everything, seconds, {name: version(name) for name in stage.packages})


@dataclass
class _Run:
    """One run of `build` on an audit whose lock is held: what it did, and how it tells."""

    folder: Path
    workers: int
    progress: Callable[[str, int], Callable[[int], object]]
    say: Callable[[str], object]
    ran: list[str] = field(default_factory=list)

    def begin(self, stage: str) -> tuple[Audit, Callable[[int], object]]:
        """The audit as it is now, and the progress of a stage. Every byte is checked before the first one."""
        audit = Audit(self.folder)
        wrong = [] if self.ran else audit.check()
        if wrong:
            raise StoreError(f"{wrong[0]}. Restore the folder from a copy, or delete it and import again.")
        self.ran.append(stage)
        return audit, self.progress(stage, len(audit))

    def measures(self) -> None:
        audit = Audit(self.folder)
        for stage in STAGES:
            if StageWriter(audit, stage.name, stage.parameters).state() != "done":
                audit, progress = self.begin(stage.name)
                run_stage(audit, stage, self.workers, progress)

    def embeddings(self) -> None:
        for wanted in lacking(Audit(self.folder)):
            try:
                model = wanted.load()
                audit, progress = self.begin(f"embed-{wanted.name}")
                embed_audit(audit, wanted.name, model, self.workers, progress)
            except VectorError as error:
                self.say(str(error))

    def regions(self, name: str, ks: Sequence[int], lender: Audit | None, strict: bool) -> None:
        """The regions of an embedding that are missing; where `strict`, what cannot be made is an error."""
        audit = Audit(self.folder)
        missing = [k for k in ks if not regions_done(audit, name, k, lender)]
        if missing and lender is None:
            missing, words = possible(audit, name, missing)
            if words and strict:
                raise VectorError(words[0])
            for sentence in words:
                self.say(sentence)
        if missing:
            audit, progress = self.begin(f"regions-{name}")
            find_regions(audit, name, missing, lender)
            progress(len(audit))

    def map(self, name: str, lender: Audit | None) -> None:
        """The map of an embedding that has regions."""
        audit = Audit(self.folder)
        if name not in (embedding for embedding, _ in audit.vectors.choices()):
            return
        if audit.vectors.map(name) is not None:
            entry = audit.manifest["stages"][f"map-{name}"]
            if entry["parameters"] == map_parameters(lender) or (lender is None and _borrowed(entry)):
                return
        try:
            audit, progress = self.begin(f"map-{name}")
            make_map(audit, name, lender, progress)
        except VectorError as error:
            self.ran.pop()
            self.say(str(error))

    def neighbours(self, words: int) -> None:
        """What finds images that are like another: colours, visual words, the graphs of large embeddings."""
        for kind in neighbour_stages.lacking(Audit(self.folder), words):
            try:
                audit, progress = self.begin(f"neighbours-{kind}")
                neighbour_stages.make(audit, kind, self.workers, progress, words)
            except neighbour_stages.WordsError as error:
                self.ran.pop()
                self.say(str(error))

    def faces(self) -> None:
        """Detections and average faces: those that are missing or stale. A missing model is said."""
        for stage in face_stages(Audit(self.folder)):
            if face_state(Audit(self.folder), stage) == "done":
                continue
            kind, embedding, k = stage_parts(stage)
            try:
                face_parameters()
                audit, progress = self.begin(stage)
                if kind == "faces":
                    find_faces(audit, self.workers, progress)
                else:
                    average_faces(audit, self.workers, progress, embedding, k)
            except FaceError as error:
                self.ran = [name for name in self.ran if name != stage]
                self.say(f"{stage}: {error}")
                return


def _borrowed(entry: dict[str, Any]) -> bool:
    return "borrowed" in entry["parameters"]


def _offered(lender: Audit | None, name: str) -> Sequence[int]:
    """The numbers of regions where nobody says another: KS, or those that the lender has."""
    lent = [] if lender is None else [k for embedding, k in lender.vectors.choices() if embedding == name]
    return lent or KS


def regions_done(audit: Audit, name: str, k: int, lender: Audit | None = None) -> bool:
    """Whether an audit has these regions as they would be made now; borrowed ones stay where nobody lends anew."""
    if (name, k) not in audit.vectors.choices():
        return False
    entry = audit.manifest["stages"][f"regions-{name}-{k}"]
    if lender is None and _borrowed(entry):
        return True
    return entry["parameters"] == region_parameters(k, lender.name if lender is not None else "")


def build(
    cache: Path,
    name: str,
    workers: int = 0,
    progress: Callable[[str, int], Callable[[int], object]] = lambda stage, total: lambda rows: None,
    ks: Sequence[int] = (),
    regions_from: str = "",
    say: Callable[[str], object] = lambda sentence: None,
    words: int = 0,
) -> list[str]:
    """Run every stage of an audit that is missing or stale; return the names of those that ran.

    `progress(stage, rows)` returns a function that is called as rows are done. `ks` are numbers of regions other than
    KS, `regions_from` is an audit of the same cache that lends its regions, `words` a number of visual words (0: as
    many as there are, or the usual number). `say` is given a sentence for every stage that this audit does not allow.
    Raises StoreError, also where a file of the audit is damaged (nothing is computed from it then), and where regions
    that were asked for cannot be made.
    """
    folder = audit_folder(cache, name)
    Audit(folder)
    lender = Audit.open(cache, regions_from) if regions_from else None
    with writing(folder):
        run = _Run(folder, workers or os.cpu_count() or 1, progress, say)
        run.measures()
        run.embeddings()
        names = Audit(folder).vectors.embeddings()
        if (ks or lender is not None) and not names:
            raise VectorError(f"{name} has no embedding yet: make one with `python -m backend embed {name}`")
        if lender is not None:
            names = [embedding for embedding in names if embedding in lender.vectors.embeddings()] or names[:1]
        for embedding in names:
            run.regions(embedding, ks or _offered(lender, embedding), lender, strict=bool(ks))
            run.map(embedding, lender)
        run.faces()
        run.neighbours(words)
    return run.ran


def status(audit: Audit) -> list[dict[str, Any]]:
    """One row a stage: name, state, rows, bytes on disk and seconds it took (None where it has not run)."""
    shards = audit.manifest["shards"].values()
    seconds = round(sum(source["seconds"] for source in audit.manifest["sources"]), 1)
    rows = [
        {
            "stage": name,
            "state": "done",
            "rows": len(audit),
            "bytes": sum(entry[f"{column}_bytes"] for entry in shards),
            "seconds": seconds,
        }
        for name, column in (("images", "image"), ("thumbnails", "thumbnail"))
    ]
    for stage in STAGES:
        rows.append(_status_row(audit, stage.name, StageWriter(audit, stage.name, stage.parameters).state()))
    for kind in dict.fromkeys([*neighbour_stages.wanted(audit), *audit.neighbours.kinds()]):
        rows.append(_status_row(audit, f"neighbours-{kind}", neighbour_stages.state(audit, kind)))
    for name in audit.manifest["stages"]:
        kind, called, _ = stage_parts(name)
        if kind in ("embed", "regions", "map", "text", "probe", "bench", "hire"):
            whole = {
                "text": audit.texts.complete,
                "probe": audit.probes.current,
                "bench": audit.benchmarks.current,
                "hire": bool,
            }.get(kind)
            current = whole(called) if whole else audit.vectors.current(name)
            rows.append(_status_row(audit, name, "done" if current else "stale"))
    about_faces = [name for name in audit.manifest["stages"] if stage_parts(name)[0] in ("faces", "averages")]
    for name in dict.fromkeys((*face_stages(audit), *about_faces)):
        rows.append(_status_row(audit, name, face_state(audit, name)))
    return rows


def _status_row(audit: Audit, stage: str, state: str) -> dict[str, Any]:
    entry = audit.manifest["stages"].get(stage)
    files = entry["files"] if entry else []
    return {
        "stage": stage,
        "state": state,
        "rows": entry["rows"] if entry else 0,
        "bytes": sum(audit.manifest["files"][file]["bytes"] for file in files),
        "seconds": entry["seconds"] if entry else None,
    }
