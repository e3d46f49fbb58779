"""Synthetic photographs: `python -m benchmarks._images FOLDER N` writes N different 512 px JPEGs, in two processes."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SIDE = 512
BASES = 200
SYSTEMS = 5
PROFESSIONS = 20
QUALITY = 88


@lru_cache(maxsize=BASES)
def base(seed: int) -> np.ndarray:
    """A picture with soft colours, a head-like set of ellipses, finer texture and slight noise."""
    random = np.random.default_rng(seed)
    image = Image.fromarray(random.integers(30, 225, (6, 6, 3), dtype=np.uint8)).resize((SIDE, SIDE), Image.BICUBIC)
    draw = ImageDraw.Draw(image)
    for _ in range(14):
        x, y = random.integers(0, SIDE, 2)
        wide, high = random.integers(20, 170, 2)
        draw.ellipse((x - wide, y - high, x + wide, y + high), fill=tuple(map(int, random.integers(0, 255, 3))))
    small = random.integers(0, 255, (96, 96, 3), dtype=np.uint8)
    texture = np.asarray(Image.fromarray(small).resize((SIDE, SIDE), Image.BICUBIC), dtype=np.float32)
    soft = np.asarray(image.resize((SIDE // 3, SIDE // 3), Image.BOX).resize((SIDE, SIDE), Image.BICUBIC), np.float32)
    mixed = soft + 0.16 * (texture - 128) + random.normal(0, 4, (SIDE, SIDE, 3))
    return mixed.clip(0, 255).astype(np.uint8)


def picture(number: int) -> Image.Image:
    """Picture `number`, unlike every other: a base picture, moved by an amount of its own, its channels turned."""
    values = base(number % BASES)
    step = number // BASES
    values = np.roll(values, (37 * step % SIDE, 101 * step % SIDE), axis=(0, 1))
    return Image.fromarray(np.roll(values, step, axis=2) if step % 3 else values)


def place(number: int) -> str:
    """Where picture `number` lies: SYSTEM/PROFESSION/*.jpg."""
    system, profession = number % SYSTEMS, number // SYSTEMS % PROFESSIONS
    return f"system {system}/profession {profession}/{number:06d}.jpg"


def _write(job: tuple[Path, int, int]) -> int:
    folder, first, count = job
    total = 0
    for number in range(first, count, BASES):  # one base picture at a time
        path = folder / place(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(number).save(path, "JPEG", quality=QUALITY)
        total += path.stat().st_size
    base.cache_clear()
    return total


def make(folder: Path, count: int) -> int:
    """Write `count` pictures; returns their bytes."""
    with Pool(os.cpu_count()) as pool:
        return sum(pool.imap_unordered(_write, [(folder, first, count) for first in range(min(BASES, count))]))


if __name__ == "__main__":
    print(make(Path(sys.argv[1]), int(sys.argv[2])))
