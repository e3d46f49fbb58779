"""Finding faces in 512 px JPEGs as a build does it, and averaging 210 of them.

The pictures are the starter's drawings, enlarged, every one different; one in ten is a synthetic one without a face.
"""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

from backend.__main__ import main
from backend.averages import Average
from backend.face_stages import find_faces
from backend.facemodels import Models, model_files
from backend.faces import Finder, aligned
from backend.metrics.sharpness import linear
from backend.pictures import read_pixels
from backend.store import Audit, writing
from benchmarks import _report
from benchmarks._images import QUALITY, SIDE, picture
from benchmarks._process import ROOT, workplace
from benchmarks._report import Figure, milliseconds, spread

LEAST, LONGEST = 40, 300
AVERAGED = 210


def drawings(count: int) -> list[bytes]:
    """JPEG files of SIDE pixels."""
    audit, files = Audit.open(ROOT / "cache", "starter"), []
    for number in range(count):
        image = Image.open(io.BytesIO(audit.image(number % len(audit))[0])).convert("RGB")
        image = picture(number) if number % 10 == 9 else image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        out = io.BytesIO()
        image.save(out, "JPEG", quality=QUALITY - number // len(audit))
        files.append(out.getvalue())
    return files


def imported(folder: Path, files: list[bytes]) -> Path:
    """The files as an audit, and its folder."""
    for number, data in enumerate(files):
        path = folder / "source" / f"system/profession {number % 20}/{number:06d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if main(["import", str(folder / "source"), "faces", "--cache", str(folder / "cache")]):
        raise RuntimeError("the import failed")
    return folder / "cache" / "faces"


def found(place: Path, workers: int) -> float:
    """Images a second of the whole stage, on a copy of an audit."""
    copy = place.with_name("copy")
    shutil.copytree(place, copy)
    with writing(copy):
        audit = Audit(copy)
        taken = milliseconds(lambda: find_faces(audit, workers))
    shutil.rmtree(copy)
    return 1000 * len(audit) / taken


def averaged(faces: list[np.ndarray]) -> Average:
    group = Average(len(faces), intervals=False)
    for face in faces:
        group.add(face)
    group.measures(), group.picture()
    return group


def plain(faces: list[np.ndarray]) -> np.ndarray:
    """What a short script would do, in linear light as we do, without any measure."""
    return np.mean(linear()[np.stack(faces)].astype("float64"), axis=0)


def with_intervals(faces: list[np.ndarray]) -> None:
    group = Average(len(faces))
    for face in faces:
        group.add(face)
    group.measures(), group.picture()


def run(size: int, repeats: int) -> list[Figure]:
    """The figures for `size` images."""
    from threadpoolctl import threadpool_limits

    files, cpus = drawings(size), os.cpu_count() or 1
    finder, faces = Finder(Models(model_files())), []
    for data in files[: 2 * AVERAGED]:
        pixels = read_pixels(data)
        faces += [aligned(pixels, one.points) for one in finder.find(pixels)[:1]]
    faces = faces[:AVERAGED]
    if np.abs(averaged(faces).mean() - plain(faces)).max() > 1e-6:
        raise RuntimeError("the two do not give the same average")
    with workplace() as folder:
        place = imported(folder, files)
        turns = [(found(place, cpus), found(place, 1)) for _ in range(repeats)]
    ours, alone = ([turn[part] for turn in turns] for part in (0, 1))
    with threadpool_limits(1):
        works = (averaged, plain, with_intervals)
        times = [[milliseconds(lambda work=work: work(faces)) for work in works] for _ in range(repeats)]
    mean, baseline, whole = zip(*times, strict=True)
    rate, middle = float(np.median(ours)), float(np.median(mean))
    return [
        Figure(
            f"faces: the whole stage on {size:,} JPEGs of {SIDE} px, {cpus} threads (baseline: one)",
            spread(ours, "images/s", 0),
            spread(alone, "images/s", 0),
            f"{rate / float(np.median(alone)):.2f}x",
            f"at least {LEAST} images/s",
            rate >= LEAST,
        ),
        Figure(
            f"faces: average of {len(faces)} aligned faces, measures and WebP (baseline: numpy.mean of all alone)",
            spread(mean, "ms", 0),
            spread(baseline, "ms", 0),
            f"{middle / float(np.median(baseline)):.2f}x as long",
            f"at most {LONGEST} ms",
            middle <= LONGEST,
        ),
        Figure("faces: the same with both intervals, 1,000 resamples", spread(whole, "ms", 0)),
    ]


if __name__ == "__main__":
    _report.main(run, __doc__, size=500, repeats=5)
