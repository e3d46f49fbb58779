"""An audit whose images can be compared in every way, built once; and plain searches to hold ours against."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from samples import encode, imported, likeness, write, write_csv
from strangers import seal
from vectors import as_file, saved

from backend.build import build, status
from backend.embed import as_unit
from backend.neighbours import Found, graphs, kinds, search
from backend.store import Audit, StoreError
from backend.store.files import commit, read_manifest

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
    shutil.copytree(Path(_made(name, built, graphs.MOST_EXACT).name) / "cache" / name, cache / name)
    return Audit.open(cache, name)


@functools.cache  # one that is dropped would be removed with a warning
def _made(name: str, built: bool, most_exact: int) -> tempfile.TemporaryDirectory:
    """A folder with that audit, made once for all tests of a run; `most_exact` is what graphs.MOST_EXACT is now."""
    place = tempfile.TemporaryDirectory(prefix="likeness-test-")
    cache, folder, rows = Path(place.name) / "cache", Path(place.name) / "source", []
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
    return place


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


def agrees(found: Found, distances: np.ndarray, allowed: np.ndarray, k: int) -> None:
    """What was found is what sorting all allowed rows by a plain distance gives."""
    assert len(found.rows) == len(found.distance) == min(k, len(allowed))
    assert len(set(found.rows.tolist())) == len(found.rows)
    assert set(found.rows.tolist()) <= set(allowed.tolist())
    assert (np.diff(found.distance) >= 0).all()
    assert np.allclose(found.distance, np.sort(distances[allowed])[:k], atol=1e-3)
    assert np.allclose(found.distance, distances[found.rows], atol=1e-3)


def everything(folder: Path) -> list[str]:
    """Every search that an app could make; sentences are counted, anything else is raised."""
    audit, said = Audit(folder), []
    for kind in kinds(audit):
        for row, rows in ((0, None), (7, None), (0, np.arange(0, 40, 3))):
            try:
                found = search(audit, kind.name, row, 12, rows)
                assert ((found.rows >= 0) & (found.rows < len(audit))).all()
            except StoreError as error:
                said.append(str(error))
                str(error).encode()
    status(audit)
    return said


def refused(folder: Path, kind: str, *words: str) -> None:
    """A search of this kind ends in a sentence, and others go on."""
    audit = Audit(folder)
    with pytest.raises(StoreError) as error:
        search(audit, kind, 0, 5)
    assert all(word in str(error.value) for word in words), error.value
    assert len(everything(folder)) == 3


def read(folder: Path, name: str, dtype: str) -> np.ndarray:
    """An array of the audit, to be changed."""
    whole = np.load(folder / name)
    assert whole.dtype == dtype
    return whole.copy()


def replaced(folder: Path, name: str, values: np.ndarray | bytes) -> None:
    """Give the audit another array, every hash right."""
    (folder / name).write_bytes(values if isinstance(values, bytes) else as_file(values, str(values.dtype)))
    seal(folder)


def forget(folder: Path, stage: str) -> None:
    """Take a stage out of the manifest."""
    known = read_manifest(folder)
    for file in known["stages"].pop(stage)["files"]:
        known["files"].pop(file)
    commit(folder, known, [])
