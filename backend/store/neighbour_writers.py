"""Writing what is needed to find images that are like another. Whoever writes holds the audit's lock."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from backend.store.arrays import npy_head
from backend.store.checks import stage_files
from backend.store.files import NEXT, StoreError, commit, sync
from backend.store.neighbours import DESCRIPTOR, MOST_COLOUR, Links, Words
from backend.store.reader import Audit
from backend.store.stages import StageWriter, list_stage
from backend.store.vector_writers import EmbeddingWriter

MOST_COUNT = 2**16 - 1


class ColourWriter(EmbeddingWriter):
    """Writes the colours of all images shard by shard; `parameters` must have their "width"."""

    DTYPE = "float32"

    def __init__(self, audit: Audit, parameters: Mapping[str, Any]) -> None:
        StageWriter.__init__(self, audit, "neighbours-colour", parameters)

    def load(self, shard: str, rows: int) -> np.ndarray | None:
        """The finished values of a shard, where they are ones that can be."""
        values = super().load(shard, rows)
        return values if values is not None and ((values >= 0) & (values <= MOST_COLOUR)).all() else None


def write_array(path: Path, values: np.ndarray, dtype: str) -> None:
    """An array as a .npy file with the head that the store expects."""
    with path.open("wb") as file:
        file.write(npy_head(values.shape, dtype))
        file.write(np.ascontiguousarray(values, dtype).data)


def read_columns(path: Path, columns: int, dtype: str) -> np.ndarray | None:
    """An array (n, columns) whose n only its size says, or None where the file is not whole or not there."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    rows, rest = divmod(len(data) - len(npy_head((0, columns), dtype)), columns * np.dtype(dtype).itemsize)
    head = npy_head((max(rows, 0), columns), dtype)
    if rest or rows < 0 or not data.startswith(head):
        return None
    return np.frombuffer(data, dtype, offset=len(head)).reshape(rows, columns)


class WordsWriter:
    """Writes visual words: the codebook first, then each shard's words, then all as a stage, so that a killed build
    goes on where it was. What is kept on the way belongs to these parameters and these images."""

    STAGE = "neighbours-words"

    def __init__(self, audit: Audit, parameters: Mapping[str, Any]) -> None:
        self.audit, self.parameters = audit, dict(parameters)
        self.folder = (audit.folder / stage_files(self.STAGE)[0]).with_name("words.parts")

    def start(self) -> None:
        """Make room for parts; those of other parameters or images are removed first. The caller holds the lock."""
        told = json.dumps([self.parameters, self.audit.neighbours.inputs("words")], sort_keys=True).encode()
        note = self.folder / "of.txt"
        text = hashlib.sha256(told).hexdigest()
        if not note.is_file() or note.read_text() != text:
            self.drop()
            self.folder.mkdir(parents=True)
            note.write_text(text)

    def drop(self) -> None:
        """Remove what was kept on the way."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _save(self, name: str, values: np.ndarray, dtype: str) -> None:
        path = self.folder / name
        write_array(path.with_suffix(NEXT), values, dtype)
        sync(path.with_suffix(NEXT))
        os.replace(path.with_suffix(NEXT), path)

    def load_codebook(self) -> np.ndarray | None:
        """The codebook of an interrupted run: float32 (words, DESCRIPTOR), or None."""
        found = read_columns(self.folder / "codebook.npy", DESCRIPTOR, "float32")
        return found if found is not None and len(found) and ((found >= 0) & (found <= 1)).all() else None

    def save_codebook(self, codebook: np.ndarray) -> None:
        self._save("codebook.npy", codebook, "float32")

    def load(self, shard: str, rows: int, words: int) -> np.ndarray | None:
        """What an interrupted run found in a shard: int32 (n, 3) of row in the shard, word and count, or None."""
        part = read_columns(self.folder / f"{shard[:32]}.npy", 3, "int32")
        most = (rows, words, MOST_COUNT + 1)
        if part is None or (len(part) and not (part.min() >= 0 and (part.max(axis=0) < most).all())):
            return None
        return part

    def save(self, shard: str, part: np.ndarray) -> None:
        self._save(f"{shard[:32]}.npy", part, "int32")

    def finish(self, found: Words, more: Mapping[str, Any], seconds: float, versions: Mapping[str, str]) -> None:
        """Make the words of all rows part of the audit. `more`: what was measured, kept beside the parameters."""
        problem = found.problem()
        if problem:
            raise StoreError(f"stage {self.STAGE}: {problem}")
        pairs = np.stack([found.words, found.counts], axis=1)
        values = ((found.codebook, "float32"), (found.offsets, "int64"), (pairs, "uint16"), (found.graph, "int32"))
        files = stage_files(self.STAGE)
        for file, (array, dtype) in zip(files, values, strict=True):
            write_array(self.audit.folder / (file + NEXT), array, dtype)
        sizes = {"codebook": len(found.codebook), "postings": len(found.words)}
        inputs, parameters = self.audit.neighbours.inputs("words"), {**self.parameters, **sizes, **more}
        list_stage(self.audit, self.STAGE, parameters, inputs, seconds, versions)
        commit(self.audit.folder, self.audit.manifest, files)
        self.drop()


def write_links(
    audit: Audit,
    embedding: str,
    found: Links,
    parameters: Mapping[str, Any],
    seconds: float,
    versions: Mapping[str, str],
) -> None:
    """Make the graph of an embedding part of the audit; `parameters` must have its "m"."""
    stage = f"neighbours-embedding-{embedding}"
    problem = found.problem(parameters["m"])
    if problem:
        raise StoreError(f"stage {stage}: {problem}")
    files = stage_files(stage)
    (audit.folder / files[0]).parent.mkdir(exist_ok=True)
    for file, (array, dtype) in zip(files, ((found.levels, "uint8"), (found.links, "int32")), strict=True):
        write_array(audit.folder / (file + NEXT), array, dtype)
    told = {**parameters, "links": len(found.links), "entry": found.entry}
    list_stage(audit, stage, told, audit.vectors.inputs(embedding), seconds, versions)
    commit(audit.folder, audit.manifest, files)
