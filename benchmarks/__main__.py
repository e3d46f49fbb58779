"""`python -m benchmarks [NAME ...]`: run the benchmarks, each in a process of its own, and print one table.

`--size` scales all of them down alike (`--size 0.01` for a quick look): figures count at size 1 only.
"""

from __future__ import annotations

import argparse
import json
import os
import time

from benchmarks._process import busy, ran, workplace
from benchmarks._report import Figure, table

SIZES = {
    "import_images": 10_000,
    "page": 60,
    "start": 94_500,
    "filter": 94_500,
    "regions": 94_500,
    "embed": 2_000,
    "intervals": 450,
    "live": 32,
    "map": 94_500,
    "ask": 36,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*SIZES, []], metavar="NAME", help=f"of {', '.join(SIZES)}")
    parser.add_argument("--size", type=float, default=1.0, metavar="SHARE", help="of the full size (default: 1)")
    parser.add_argument("--repeats", type=int, metavar="N", help="instead of each benchmark's own")
    arguments = parser.parse_args()
    repeats = ["--repeats", arguments.repeats] if arguments.repeats else []
    figures: list[Figure] = []
    with workplace() as folder:
        for name in arguments.names or SIZES:
            size = SIZES[name] if name == "page" else max(1, round(SIZES[name] * arguments.size))
            started, before, into = time.perf_counter(), busy(), folder / f"{name}.json"
            done = ran("-m", f"benchmarks.{name}", "--size", size, *repeats, "--json", into)
            figures += [Figure(**values) for values in json.loads(into.read_text(encoding="utf-8"))]
            seconds = time.perf_counter() - started
            others = max(0.0, busy() - before - done.cpu) / seconds
            print(f"{name}: {seconds:.0f} s; other processes kept {others:.1f} CPUs busy meanwhile", flush=True)
    print(f"\n{table(figures)}\n\n{os.cpu_count()} CPUs. Baselines and targets: benchmarks/README.md.")


if __name__ == "__main__":
    main()
