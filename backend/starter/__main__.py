"""The recipe's command line: `python -m backend.starter train`, or one of its parts."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from backend.starter.data import DataError

ASSETS = Path(__file__).parents[2] / "assets" / "starter"
PARTS = ("data", "vae", "base", "finetune", "vqa", "captioner", "evaluate")


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(prog="python -m backend.starter", description=__doc__)
    top.add_argument("part", choices=("train", *PARTS), help="train runs all parts in order")
    top.add_argument("--out", type=Path, default=ASSETS, metavar="DIR", help="where the models go")
    top.add_argument("--work", type=Path, default=Path("cache/starter-work"), metavar="DIR", help="checkpoints")
    top.add_argument("--tarball", type=Path, metavar="FILE", help="the npm package, if it is here already")
    top.add_argument("--steps-scale", type=float, default=1.0, metavar="F", help="multiply every run's steps")
    top.add_argument(
        "--audit", type=Path, default=Path("cache/starter"), metavar="DIR", help="evaluate: the starter audit's folder"
    )
    return top


def main(arguments: argparse.Namespace) -> int:
    """Run the parts asked for."""
    from backend.starter import recipe

    for part in PARTS if arguments.part == "train" else (arguments.part,):
        began = time.monotonic()
        print(f"== {part}", flush=True)
        getattr(recipe, f"run_{part}")(arguments)
        print(f"== {part}: {(time.monotonic() - began) / 60:.1f} min", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(parser().parse_args()))
    except DataError as error:
        sys.exit(f"starter: {error}")
