"""The only place that chains stages: which there are, what each works on, and running those that are missing or stale.

A stage is a function over one range of rows (a shard); its results are row-aligned numbers. To add one, write its
function and one line in STAGES.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from backend.metrics.colour import colourfulness
from backend.pictures import PictureError, read_pixels
from backend.store import Audit, StageWriter, StoreError, audit_folder, writing


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


def build(
    cache: Path,
    name: str,
    workers: int = 0,
    progress: Callable[[str, int], Callable[[int], object]] = lambda stage, total: lambda rows: None,
) -> list[str]:
    """Run every stage of an audit that is missing or stale; return the names of those that ran.

    `progress(stage, rows)` returns a function that is called as rows are done. Raises StoreError, also where a
    file of the audit is damaged: nothing is computed from it then.
    """
    folder = audit_folder(cache, name)
    Audit(folder)
    ran = []
    with writing(folder):
        audit = Audit(folder)
        todo = [s for s in STAGES if StageWriter(audit, s.name, s.parameters).state() != "done"]
        wrong = audit.check() if todo else []
        if wrong:
            raise StoreError(f"{wrong[0]}. Restore the folder from a copy, or delete it and import again.")
        for stage in todo:
            run_stage(audit, stage, workers or os.cpu_count() or 1, progress(stage.name, len(audit)))
            ran.append(stage.name)
    return ran


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
        entry = audit.manifest["stages"].get(stage.name)
        files = entry["files"] if entry else []
        rows.append(
            {
                "stage": stage.name,
                "state": StageWriter(audit, stage.name, stage.parameters).state(),
                "rows": entry["rows"] if entry else 0,
                "bytes": sum(audit.manifest["files"][file]["bytes"] for file in files),
                "seconds": entry["seconds"] if entry else None,
            }
        )
    return rows
