"""The baseline of the import: open each picture, thumbnail it, save it as WebP; nothing else.

`python -m benchmarks._plain FOLDER OUT N [key=value ...]` prints the seconds that the loop took over N pictures, taken
evenly from the folder. Keys and values are options of Pillow's WebP writer.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from PIL import Image


def loop(paths: list[Path], out: Path, options: dict[str, int]) -> None:
    """What a short script would do."""
    for number, path in enumerate(paths):
        image = Image.open(path)
        image.thumbnail((256, 256))
        image.save(out / f"{number}.webp", **options)


def main(folder: str, out: str, count: str, *options: str) -> None:
    paths = sorted(Path(folder).rglob("*.jpg"))
    paths = paths[:: max(1, len(paths) // int(count))][: int(count)]
    Path(out).mkdir()
    started = time.perf_counter()
    loop(paths, Path(out), {key: int(value) for key, value in (option.split("=") for option in options)})
    print(len(paths), time.perf_counter() - started)


if __name__ == "__main__":
    main(*sys.argv[1:])
