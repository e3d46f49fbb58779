"""What is computed from an audit's images as vectors: embeddings, regions and maps. build.py chains them.

Every function here takes an audit whose lock the caller holds, and writes through the store.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from backend import embed, projection
from backend.embed import BATCH, BlipVqa, EmbedError, Model, as_unit
from backend.pictures import PictureError, read_pixels
from backend.projection import ProjectionError
from backend.regioning import allowed, borrowed_regions, own_regions, region_parameters
from backend.regions import RegionError, blocks
from backend.starter.words import SYSTEMS
from backend.store import Audit, EmbeddingWriter, StoreError, stage_parts, write_map, write_regions

Progress = Callable[[int], object]
ROOT = Path(__file__).parent.parent
STARTER = "assets/starter/blip-vqa"
"""The model that reads the starter's drawings, in this repository."""
_NO_ARRAY = (OSError, ValueError, SyntaxError, TypeError, OverflowError, RecursionError, MemoryError, TokenError)
"""What numpy raises on the head of a file that is no .npy file."""


class VectorError(StoreError):
    """A stage that cannot run on this audit. The message says what is missing and what to do."""


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Errors of the stages as VectorError, with what they were about."""
    try:
        yield
    except (EmbedError, RegionError, ProjectionError) as error:
        raise VectorError(f"{what}: {error}") from error


def versions(packages: Sequence[str]) -> dict[str, str]:
    return {name: version(name) for name in packages}


def _one_thread() -> None:
    """Batches run beside each other, one thread each: as fast, and the bits do not depend on the number of cores."""
    import torch

    torch.set_num_threads(1)


def _batch(audit: Audit, model: Model, rows: range) -> np.ndarray:
    pictures = []
    for row in rows:
        try:
            pictures.append(read_pixels(audit.image(row)[0], max_pixels=10**9))
        except PictureError as error:
            name = audit.generations["id"].iat[row]
            raise EmbedError(f"image {name} cannot be embedded: {error}") from error
    try:
        return as_unit(model.vectors(pictures))
    except EmbedError as error:
        raise EmbedError(f"{error} among the images {rows.start:,} to {rows.stop - 1:,}: try another model") from error


def embed_audit(audit: Audit, name: str, model: Model, workers: int, progress: Progress = lambda rows: None) -> None:
    """Embed every image, shard by shard: what an interrupted run has finished, and what an earlier one did for images
    that were there already, is kept. `progress(n)` is called as n more rows are done."""
    writer = EmbeddingWriter(audit, name, model.parameters())
    writer.start()
    earlier = writer.earlier()

    def parts(pool: ThreadPoolExecutor) -> Iterator[np.ndarray]:
        for start, end, shard in audit.shards():
            part = (
                earlier[start:end] if earlier is not None and end <= len(earlier) else writer.load(shard, end - start)
            )
            if part is None:
                batches = [range(first, min(first + BATCH, end)) for first in range(start, end, BATCH)]
                part = np.concatenate(list(pool.map(lambda rows: _batch(audit, model, rows), batches)))
                writer.save(shard, part)
            progress(end - start)
            yield part

    with explained(f"the embedding {name}"), ThreadPoolExecutor(workers, initializer=_one_thread) as pool:
        writer.write(parts(pool), versions(model.PACKAGES))


def import_embedding(audit: Audit, name: str, path: Path, made_by: str = "") -> None:
    """Take vectors from a .npy file: checked, brought to length 1, and stored as float16.

    Raises VectorError where the file is no array of numbers, has another number of rows than the audit, or a row that
    is not finite or 0 throughout. `made_by` says what model made them: only then can regions be borrowed.
    """
    try:
        vectors = np.lib.format.open_memmap(path, mode="r")  # refuses pickled objects
    except _NO_ARRAY as error:
        raise VectorError(f"{path} is no .npy file of numbers ({error}): write it with numpy.save") from error
    if vectors.dtype.kind != "f":
        raise VectorError(f"{path} does not hold floating-point numbers but {vectors.dtype}: convert them to float32")
    if vectors.ndim != 2 or not 2 <= vectors.shape[1] <= 8192:
        raise VectorError(f"{path} has the shape {vectors.shape}: give one row an image, and 2 to 8,192 columns")
    if len(vectors) != len(audit):
        raise VectorError(
            f"{path} has {len(vectors):,} rows and {audit.name} has {len(audit):,} images: give one row an image, in "
            "the order of generations.parquet"
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    said = hashlib.sha256(made_by.encode()).hexdigest() if made_by else ""
    parameters = {"version": 1, "kind": "imported", "model": made_by, "fingerprint": said, "file": digest}
    writer = EmbeddingWriter(audit, name, {**parameters, "width": vectors.shape[1]})
    writer.start()

    def parts() -> Iterator[np.ndarray]:
        for block in blocks(len(vectors)):
            try:
                yield as_unit(vectors[block])
            except EmbedError as error:
                raise EmbedError(
                    f"{error}, counted from row {block.start:,}: mend it or leave its image out"
                ) from error

    with explained(f"{path}"):
        writer.write(parts(), versions(("numpy",)))


@dataclass(frozen=True)
class Embedding:
    """An embedding that an audit lacks, and the model that makes it: what `embed.load` takes."""

    name: str
    kind: str
    place: str = ""
    question: str = ""

    def load(self) -> Model:
        with explained(f"the embedding {self.name}"):
            model = embed.load(self.kind, self.place, self.question)
        if self.place == str(ROOT / STARTER):
            model.label = STARTER
        return model


def starter_place(audit: Audit) -> str:
    """Where the starter's own model lies, for an audit whose images the starter's systems made; else ""."""
    made = {
        system: record["settings"].get("kind")
        for source in audit.manifest["sources"]
        for system, record in source.get("generated", {}).items()
    }
    systems = set(audit.generations["system"].unique())
    ours = systems <= set(SYSTEMS) and all(made.get(system) == "diffusers" for system in systems)
    return str(ROOT / STARTER) if ours and (ROOT / STARTER / "config.json").is_file() else ""


def lacking(audit: Audit) -> list[Embedding]:
    """The embeddings that the audit should have and whose model is known: the starter's, and those of fewer images."""
    found, place = [], starter_place(audit)
    if place and f"embed-{BlipVqa.KIND}" not in audit.manifest["stages"]:
        found.append(Embedding(BlipVqa.KIND, BlipVqa.KIND, place))
    for stage, entry in audit.manifest["stages"].items():
        kind, name, _ = stage_parts(stage)
        if kind != "embed":
            continue
        told = {key: str(entry["parameters"].get(key, "")) for key in ("kind", "model", "question", "fingerprint")}
        ours = told["model"] == STARTER and bool(place)
        changed = ours and told["fingerprint"] != embed.model_hash(Path(place))
        if name not in audit.vectors.embeddings() or changed:
            known = place if ours else told["model"] if told["kind"] in (BlipVqa.KIND, embed.Clip.KIND) else ""
            found.append(Embedding(name, told["kind"], known, told["question"]))
    return found


def possible(audit: Audit, name: str, ks: Sequence[int]) -> tuple[list[int], list[str]]:
    """`regioning.allowed`, its errors and sentences with the embedding's name."""
    with explained(f"the regions of {name}"):
        fine, words = allowed(audit, name, ks)
    return fine, [f"the regions of {name}: {sentence}" for sentence in words]


def find_regions(audit: Audit, name: str, ks: Sequence[int], lender: Audit | None = None) -> None:
    """The regions of an embedding at each k, of its own identities, or borrowed from another audit."""
    started = time.perf_counter()
    with explained(f"the regions of {name}"):
        found = borrowed_regions(audit, lender, name, ks) if lender is not None else own_regions(audit, name, ks)
        parameters = {k: region_parameters(k, lender.name if lender is not None else "") for k in ks}
        packages = versions(("numpy", "scipy", "scikit-learn"))
        write_regions(audit, found, parameters, time.perf_counter() - started, packages)


def make_map(audit: Audit, name: str, lender: Audit | None = None, progress: Progress = lambda rows: None) -> None:
    """The map of an embedding, fitted on the identities, or on those of the audit that lends its regions."""
    started = time.perf_counter()
    vectors, own = audit.vectors.embedding(name), audit.rows(subset="identities")
    with explained(f"the map of {name}"):
        if lender is None:
            fitted, note = projection.fitted_rows(own)
            points = projection.project(vectors, fitted, progress)
        else:
            chosen, note = projection.fitted_rows(lender.rows(subset="identities"))
            both = np.concatenate([lender.vectors.embedding(name)[chosen], vectors])
            points = projection.project(both, np.arange(len(chosen)), progress)[len(chosen) :]
            note = f"The map was fitted on the identities of the audit {lender.name}. {note}".strip()
        packages = versions(("numpy", "umap-learn", "pynndescent", "numba"))
        write_map(audit, name, points, map_parameters(lender), time.perf_counter() - started, packages, note)


def map_parameters(lender: Audit | None = None) -> dict[str, Any]:
    return {**projection.PARAMETERS, **({"borrowed": lender.name} if lender is not None else {})}
