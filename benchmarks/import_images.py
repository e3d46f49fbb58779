"""Import of a folder of 512 px JPEGs: images per second and peak memory, against a plain Pillow loop."""

from __future__ import annotations

import shutil
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import _report
from benchmarks._process import ran, workplace
from benchmarks._report import Figure, spread

MOST_BASELINE = 2_000
"""The plain loop runs over this many of the pictures at most: its speed does not depend on their number."""
PLAIN = {"Pillow's default WebP": (), "our WebP settings": ("quality=80", "method=2")}
FASTER, PEAK = 1.6, 700


@dataclass(frozen=True)
class Run:
    """One run: images a second, milliseconds of CPU an image (the whole process), and its peak in MB."""

    rate: float
    cpu: float
    peak: float


def plain(source: Path, folder: Path, size: int, options: tuple[str, ...]) -> Run:
    """The plain loop: its loop only, not the start of its process."""
    out = folder / "plain"
    result = ran("-m", "benchmarks._plain", source, out, min(size, MOST_BASELINE), *options)
    shutil.rmtree(out)
    done, seconds = result.printed.split()
    return Run(int(done) / float(seconds), 1000 * result.cpu / int(done), result.peak)


def ours(source: Path, folder: Path, size: int) -> Run:
    """The whole command, start included."""
    result = ran("-m", "backend", "import", source, "bench", "--cache", folder / "cache")
    if f"{size:,} added" not in result.printed:
        raise RuntimeError(f"not every image was added:\n{result.printed[-2000:]}")
    shutil.rmtree(folder / "cache")
    return Run(size / result.seconds, 1000 * result.cpu / size, result.peak)


def run(size: int, repeats: int) -> list[Figure]:
    """Make the pictures, then take turns: our import, the plain loop with either setting."""
    with workplace() as folder:
        source = folder / "source"
        started = time.perf_counter()
        total = int(ran("-m", "benchmarks._images", source, size).printed)
        seconds = time.perf_counter() - started
        print(
            f"Made {size:,} JPEGs of {total / size / 1000:.0f} KB on average in {seconds:.0f} s (not timed).",
            flush=True,
        )
        mine, theirs = [], {name: [] for name in PLAIN}
        for _ in range(repeats):
            mine.append(ours(source, folder, size))
            for name, options in PLAIN.items():
                theirs[name].append(plain(source, folder, size, options))
    return figures(size, mine, theirs)


def figures(size: int, mine: list[Run], theirs: dict[str, list[Run]]) -> list[Figure]:
    """The table's lines from every run."""
    lines = [faster(size, mine, name, runs) for name, runs in theirs.items()]
    for name, runs in theirs.items():
        cells = spread([run.cpu for run in mine], "ms"), spread([run.cpu for run in runs], "ms")
        ratio = statistics.median(run.cpu for run in runs) / statistics.median(run.cpu for run in mine)
        lines.append(Figure(f"import: CPU time an image, against {name}", *cells, f"{ratio:.2f}x"))
    peaks, plain_peaks = [run.peak for run in mine], [run.peak for runs in theirs.values() for run in runs]
    middle = statistics.median(peaks)
    ratio = f"{middle / statistics.median(plain_peaks):.1f}x as much"
    words = spread(peaks, "MB", 0), spread(plain_peaks, "MB", 0)
    lines.append(Figure("import: peak memory of the process", *words, ratio, f"below {PEAK} MB", middle < PEAK))
    return lines


def faster(size: int, mine: list[Run], name: str, runs: list[Run]) -> Figure:
    """Images a second against one setting of the plain loop; the target holds against Pillow's default."""
    ratio = statistics.median(run.rate for run in mine) / statistics.median(run.rate for run in runs)
    return Figure(
        f"import of {size:,} images, against a plain loop with {name}",
        spread([run.rate for run in mine], "images/s", 0),
        spread([run.rate for run in runs], "images/s", 0),
        f"{ratio:.2f}x",
        "" if PLAIN[name] else f"at least {FASTER}x",
        None if PLAIN[name] else ratio >= FASTER,
    )


if __name__ == "__main__":
    _report.main(run, __doc__, size=10_000, repeats=3)
