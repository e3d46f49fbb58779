"""An audit whose images can be compared in every way, built once; and plain searches to hold ours against."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from samples import encode, imported, likeness, write, write_csv
from vectors import saved

from backend.build import build
from backend.embed import as_unit
from backend.store import Audit

EACH = 10
EVEN = (3, 17)
"""Images of one colour each: they have no keypoints."""


def drawing(seed: int, side: int = 96) -> Image.Image:
    """A picture with corners and blobs, in colours of its own."""
    random = np.random.default_rng(seed)
    image = Image.new("RGB", (side, side), tuple(map(int, random.integers(0, 255, 3))))
    draw = ImageDraw.Draw(image)
    for _ in range(14):
        x, y = random.integers(0, side, 2)
        wide, high = random.integers(4, side // 3, 2)
        shape = draw.rectangle if random.random() < 0.5 else draw.ellipse
        shape((x, y, x + wide, y + high), fill=tuple(map(int, random.integers(0, 255, 3))))
    return image


def picture(number: int) -> bytes:
    """Picture `number` of the audit: a drawing, or one colour; some in grey, some as JPEG."""
    if number in EVEN:
        return encode(Image.new("RGB", (40, 30), (number * 9, 60, 90)))
    image = drawing(number // 2, 96 + 8 * (number % 2))
    return encode(image.convert("L") if number % 7 == 0 else image, "JPEG" if number % 5 == 0 else "PNG")


def make_neighbour_audit(cache: Path, name: str = "near", built: bool = True) -> Audit:
    """Two systems, two professions, ten images each, eight a shard, with an embedding of 12 numbers."""
    folder, rows = cache.parent / f"{name}-source", []
    for number in range(4 * EACH):
        system, profession = ("A", "B")[number // 2 % 2], ("nurse", "pilot")[number // (2 * EACH)]
        write(folder / f"{number:02d}.png", picture(number))
        rows.append({"file_name": f"{number:02d}.png", "system": system, "profession": profession})
    write_csv(folder, rows)
    audit = imported(folder, cache, "--shard-rows", 8, name=name)
    random = np.random.default_rng(0)
    centres = random.normal(size=(5, 12))
    vectors = centres[np.arange(len(audit)) % 5] + 0.6 * random.normal(size=(len(audit), 12))
    likeness("import-embedding", name, "mine", saved(folder / "v.npy", vectors.astype("float32")), cache=cache)
    if built:
        build(cache, name, 2)
    return Audit.open(cache, name)


def plain_distances(audit: Audit, kind: str) -> np.ndarray:
    """The distance of every two images (rows, rows), found another way than by a search."""
    if kind == "colour":
        from backend.neighbours.colour import features
        from backend.pictures import read_pixels

        values = np.stack([features(read_pixels(audit.image(row)[0])) for row in range(len(audit))]).astype(float)
        return np.sqrt(((values[:, None] - values[None]) ** 2).sum(axis=2))
    if kind == "colourfulness":
        values = audit.measure("colourfulness")
        return np.abs(values[:, None] - values[None])
    if kind == "words":
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.metrics.pairwise import cosine_distances

        return cosine_distances(TfidfTransformer(smooth_idf=True).fit_transform(counts(audit)))
    vectors = as_unit(audit.vectors.embedding(kind.removeprefix("embedding-"))).astype(float)
    return 1 - vectors @ vectors.T


def counts(audit: Audit) -> np.ndarray:
    """How often each image has each visual word, dense."""
    found = audit.neighbours.words()
    table = np.zeros((len(audit), len(found.codebook)), int)
    for row, (begin, end) in enumerate(zip(found.offsets, found.offsets[1:], strict=False)):
        table[row, found.words[begin:end]] = found.counts[begin:end]
    return table
