"""What every benchmark shares: one figure with its baseline and target, the table, and the options."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One line of the table. `met` is None where no target is stated."""

    what: str
    ours: str
    baseline: str = ""
    ratio: str = ""
    target: str = ""
    met: bool | None = None

    def cells(self) -> list[str]:
        verdict = "" if self.met is None else f": {'met' if self.met else 'NOT MET'}"
        return [self.what, self.ours, self.baseline, self.ratio, f"{self.target}{verdict}"]


HEAD = ["what", "ours: median (lowest to highest)", "baseline: median (lowest to highest)", "ratio", "target"]


def spread(values: Sequence[float], unit: str, digits: int = 1) -> str:
    """The median and the range: "12.3 (11.9 to 13.0) ms"."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f}) {unit}"


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table, padded so that a terminal shows it, too."""
    rows = [HEAD, *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def milliseconds(work: Callable[[], object]) -> float:
    """The wall-clock time of one call."""
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def main(
    run: Callable[[int, int], list[Figure]], what: str, size: int, repeats: int, argv: Sequence[str] | None = None
) -> None:
    """The command line of one benchmark: run it, print its table; `--json` keeps the figures for a table of all."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--size", type=int, default=size, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=repeats, metavar="N", help="default: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here, too")
    arguments = parser.parse_args(argv)
    figures = run(arguments.size, arguments.repeats)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(figure) for figure in figures]), encoding="utf-8")
    print(table(figures), flush=True)
