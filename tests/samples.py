"""What tests make: images of every kind, folders and tables of them, and calls of the command line."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from backend.__main__ import main

ROOT = Path(__file__).resolve().parent.parent
PORTRAITS = ROOT.parent / "shared" / "portraits"


def encode(image, kind="PNG", **options) -> bytes:
    """An image as the bytes of a file."""
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def noise(seed=0, size=(24, 16)) -> Image.Image:
    """A picture that no other seed gives."""
    values = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(values)


def png(seed=0, size=(24, 16)) -> bytes:
    return encode(noise(seed, size))


def portrait_rows(folder: Path, systems, professions, each, first=0) -> list[dict[str, str]]:
    """Write images below `folder` and return a metadata row for each."""
    rows = []
    for system in systems:
        for profession in professions:
            for number in range(first, first + each):
                name = f"{system}/{profession}_{number}.png"
                seed = sum(name.encode()) * 1000 + number
                write(folder / name, png(seed))
                rows.append({"file_name": name, "system": system, "profession": profession})
    return rows


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def write_csv(folder: Path, rows, name="metadata.csv", encoding="utf-8", delimiter=",") -> Path:
    """Rows as a CSV file, with the columns of the first row."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return folder / name


def write_table(path: Path, features=None, **columns) -> Path:
    """Columns as a Parquet file; with `features`, through `datasets`, which notes them in the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if features is None:
        pq.write_table(pa.table(columns), path)
    else:
        import datasets

        datasets.Dataset.from_dict(columns, features=features).to_parquet(str(path))
    return path


def likeness(*arguments, cache: Path) -> int:
    """The command line, in this process: its exit status."""
    return main([str(argument) for argument in (*arguments, "--cache", cache)])


def imported(source, cache: Path, *options, name="a"):
    """Import a source that must succeed, and open the audit."""
    from backend.store import Audit

    assert likeness("import", source, name, "--workers", 2, *options, cache=cache) == 0
    return Audit.open(cache, name)


def outcomes(audit) -> dict[str, str]:
    """The import report: each item and what became of it, as "outcome: reason"."""
    report = audit.report()
    return dict(zip(report["item"], report["outcome"] + ": " + report["reason"], strict=True))


def thumbnail(audit, row=0) -> Image.Image:
    return Image.open(io.BytesIO(audit.thumbnail(row)))


def process(*arguments, cache: Path, **options) -> subprocess.Popen:
    """The command line as a process of its own."""
    command = [sys.executable, "-m", "backend", *map(str, arguments), "--cache", str(cache)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=ROOT, **{**pipes, **options})


def python(code: str, *arguments, **options) -> subprocess.CompletedProcess:
    """A snippet of Python in a process of its own, at the root of the project."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, env={**os.environ}, check=False, **options
    )


def state(audit):
    """What two imports of one source must agree in: ids, content hashes, numbers, thumbnails."""
    table = audit.generations
    return (
        list(table["id"]),
        list(table["sha256"]),
        list(table["number"]),
        [audit.thumbnail(row) for row in range(len(audit))],
    )


def grown(source):
    """Three more images in a source."""
    rows = portrait_rows(source, ("A", "B"), ("nurse", "welder"), 3)
    more = portrait_rows(source, ("A",), ("nurse",), 3, first=10)
    write_csv(source, rows + more)
