"""The stages that neighbours need: which an audit lacks, and making them. build.py chains them.

Every function here takes an audit whose lock the caller holds, and writes through the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from backend.neighbours import colour
from backend.pictures import PictureError, read_pixels
from backend.store import Audit, ColourWriter
from backend.vector_stages import versions

Progress = Callable[[int], object]


def state(audit: Audit, kind: str) -> str:
    """ "done", "stale" or "missing"."""
    return audit.neighbours.state(kind, colour.PARAMETERS)


def wanted(audit: Audit) -> list[str]:
    """The kinds that an audit must have a stage for."""
    return ["colour"]


def lacking(audit: Audit) -> list[str]:
    """The kinds of `wanted` that are missing or stale."""
    return [kind for kind in wanted(audit) if state(audit, kind) != "done"]


def _colours(audit: Audit, row: int) -> np.ndarray:
    try:
        return colour.features(read_pixels(audit.image(row)[0], max_pixels=10**9))
    except PictureError:
        return np.zeros(colour.WIDTH, "float32")  # in no bin: what cannot be read


def measure_colours(audit: Audit, workers: int, progress: Progress = lambda rows: None) -> None:
    """The colours of every image, shard by shard: what an interrupted run has finished, and what an earlier one did for
    images that were there already, is kept."""
    writer = ColourWriter(audit, colour.PARAMETERS)
    writer.start()
    earlier = writer.earlier()

    def parts(pool: ThreadPoolExecutor) -> Iterator[np.ndarray]:
        for start, end, shard in audit.shards():
            part = (
                earlier[start:end] if earlier is not None and end <= len(earlier) else writer.load(shard, end - start)
            )
            if part is None:
                part = np.stack(list(pool.map(partial(_colours, audit), range(start, end))))
                writer.save(shard, part)
            progress(end - start)
            yield part

    with ThreadPoolExecutor(workers) as pool:
        writer.write(parts(pool), versions(("numpy", "pillow")))


def make(audit: Audit, kind: str, workers: int, progress: Progress = lambda rows: None) -> None:
    """Make the stage of one kind."""
    measure_colours(audit, workers, progress)
