"""What is computed from the faces in an audit's images: where they are, and the averages of groups. build.py chains it.

Every function here takes an audit whose lock the caller holds, and writes through the store.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from backend import averages, faces
from backend.averages import average
from backend.facemodels import LIKELY, PACKAGE, FaceError, Models, hashes, model_files
from backend.faces import Finder, aligned
from backend.metrics import sharpness
from backend.pictures import PictureError, read_pixels
from backend.store import Audit, FaceWriter, StoreError, averages_stage, detection_row, stage_parts, write_averages

Progress = Callable[[int], object]
_ours = threading.local()


def face_parameters(files: dict[str, Path] | None = None) -> dict[str, Any]:
    """What a manifest says of how faces were found: other models or numbers make them stale. Raises FaceError."""
    numbers = {"likely": LIKELY, "further": faces.FURTHER, "sure": faces.SURE, "near": faces.NEAR}
    return {"version": 1, "side": faces.ALIGNED, **numbers, **hashes(files or model_files())}


def average_parameters(embedding: str = "", k: int = 0) -> dict[str, Any]:
    """What a manifest says of how average faces were made."""
    made = {"version": 1, "side": faces.ALIGNED, "quality": averages.QUALITY, "draws": sharpness.DRAWS}
    of_regions = {"embedding": embedding, "k": k} if k else {}
    return {**made, "fewest": sharpness.FEWEST, "most": sharpness.MOST, **of_regions}


def versions() -> dict[str, str]:
    import cv2

    return {
        "opencv": cv2.__version__,
        **{name: version(name) for name in ("numpy", "pillow", "ai-edge-litert", PACKAGE)},
    }


def _begin(files: dict[str, Path] | None = None) -> None:
    """What a thread needs: models of its own; OpenCV's threads would only get in the way of ours."""
    import cv2

    cv2.setNumThreads(1)
    if files is not None:
        _ours.finder = Finder(Models(files))


def found_in(pixels: np.ndarray, finder: Finder) -> np.ndarray:
    """A row of the detections (float32): what was found in a picture, its largest face, and how sharp that one is."""
    found = finder.find(pixels)
    if not found:
        return detection_row()
    face = found[0]
    height, width = pixels.shape[:2]
    cut = bool((face.box[:2] <= 0).any() or (face.box[2:] >= (width, height)).any())
    try:
        light = sharpness.luminance(sharpness.linear()[aligned(pixels, face.points)])
        measured = sharpness.sharpness(light)
        return detection_row(len(found), face.score, face.box, cut, face.points, face.presence, measured)
    except ValueError:  # eyes and mouth in one place, or numbers that no picture has
        return detection_row()


def _row(audit: Audit, row: int) -> np.ndarray:
    try:
        pixels = read_pixels(audit.image(row)[0], max_pixels=10**9)
    except PictureError:
        return detection_row()
    return found_in(pixels, _ours.finder)


def find_faces(audit: Audit, workers: int, progress: Progress = lambda rows: None) -> None:
    """Find the faces in every image, shard by shard: what an interrupted run has finished, and what an earlier one did
    for images that were there already, is kept. `progress(n)` is called as n more rows are done. Raises FaceError."""
    files = model_files()
    Models(files)
    writer = FaceWriter(audit, face_parameters(files))
    writer.start()
    earlier, started, parts = writer.earlier(), time.perf_counter(), []
    with ThreadPoolExecutor(workers, initializer=_begin, initargs=(files,)) as pool:
        for start, end, shard in audit.shards():
            part = (
                earlier[start:end] if earlier is not None and end <= len(earlier) else writer.load(shard, end - start)
            )
            if part is None:
                part = np.stack(list(pool.map(partial(_row, audit), range(start, end))))
                writer.save(shard, part)
            parts.append(part)
            progress(end - start)
    writer.finish(np.concatenate(parts), time.perf_counter() - started, versions())


def _faces(audit: Audit, detections: pd.DataFrame, rows: np.ndarray) -> Iterator[np.ndarray]:
    """The aligned faces of some rows, one after the other."""
    points = detections[[f"{point}_{axis}" for point in ("left_eye", "right_eye", "nose", "mouth") for axis in "xy"]]
    for row in rows:
        try:
            face = aligned(read_pixels(audit.image(int(row))[0], max_pixels=10**9), points.iloc[row].to_numpy())
        except (PictureError, ValueError) as error:
            raise StoreError(
                f"{audit.folder / 'faces'} tells of a face in image {audit.generations['id'].iat[row]} that is not "
                f"there ({error}). Delete the audit and import again."
            ) from error
        yield face


def groups(audit: Audit, embedding: str = "", k: int = 0) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """The groups that have an average, in order, with their rows: every system and subject, and of professions every
    region where an embedding and its k are named."""
    table = audit.generations[["system", "subject", "subset"]].astype("str").reset_index(drop=True)
    table["region"] = audit.vectors.regions(embedding, k).region if k else -1
    if k:
        table = table[table["subset"] == "professions"]
    keys = ["system", "subject", "region"]
    for values, own in table.groupby(keys, sort=True):
        yield dict(zip(keys, values, strict=True)), own.index.to_numpy()


def average_faces(
    audit: Audit, workers: int, progress: Progress = lambda rows: None, embedding: str = "", k: int = 0
) -> None:
    """The average face of every group, each in one pass over its images. `progress(n)` as n more rows are done."""
    from threadpoolctl import threadpool_limits

    detections, started = audit.faces.detections(), time.perf_counter()
    if detections is None:
        raise StoreError(f"{audit.name}: its faces must be found before they are averaged")
    counts = detections["faces"].to_numpy()

    def one(key: dict[str, Any], rows: np.ndarray) -> dict[str, Any]:
        own = rows[counts[rows] > 0]
        seen = {"total": len(rows), "n": len(own), "several": int((counts[rows] > 1).sum())}
        return {**key, **seen, **average(_faces(audit, detections, own), len(own))}

    asked, made = list(groups(audit, embedding, k)), []
    with threadpool_limits(1), ThreadPoolExecutor(workers, initializer=_begin) as pool:
        for result in pool.map(one, *zip(*asked, strict=True)):
            made.append(result)
            progress(result["total"])
    progress(len(audit) - sum(result["total"] for result in made))
    parameters, seconds = average_parameters(embedding, k), time.perf_counter() - started
    write_averages(audit, pd.DataFrame(made), parameters, seconds, versions(), embedding, k)


def face_state(audit: Audit, stage: str) -> str:
    """ "done", "stale" or "missing". Where the models are not here, faces found with any count as done."""
    entry = audit.manifest["stages"].get(stage)
    if entry is None:
        return "missing"
    kind, embedding, k = stage_parts(stage)
    try:
        now = face_parameters() if kind == "faces" else average_parameters(embedding, k)
    except FaceError:
        now = entry["parameters"]
    return "done" if audit.faces.current(stage) and entry["parameters"] == now else "stale"


def face_stages(audit: Audit) -> list[str]:
    """The stages about faces that an audit should have, in their order: the faces, averages of all images, and those by
    region at the smallest k of each embedding, and at any other k at which there are some already."""
    found = ["faces", averages_stage()]
    smallest: dict[str, int] = {}
    for embedding, k in audit.vectors.choices() if len(audit.rows(subset="professions")) else ():
        stage = averages_stage(embedding, k)
        if smallest.setdefault(embedding, k) == k or stage in audit.manifest["stages"]:
            found.append(stage)
    return found
