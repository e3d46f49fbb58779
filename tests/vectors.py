"""Audits with identities, vectors for them, and tiny models that embed."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from samples import imported, png, write, write_csv
from tiny import tokenizer

from backend import build as building
from backend import neighbour_stages, vector_stages
from backend.regions import unit_rows
from backend.store import Audit
from backend.store.arrays import npy_head

GENDERS = ("woman", "man", "person")
TONES = ("", "dark")


def identity_audit(cache: Path, name: str = "ids", each: int = 4, systems=("A", "B"), identities: bool = True) -> Audit:
    """Of every system `each` images of six identity prompts and of two professions, eight a shard."""
    shutil.copytree(Path(_made(name, each, systems, identities).name) / "cache" / name, cache / name)
    return Audit.open(cache, name)


@functools.cache  # one that is dropped would be removed with a warning
def _made(name: str, each: int, systems: tuple[str, ...], identities: bool) -> tempfile.TemporaryDirectory:
    """A folder with that audit, made once for all tests of a run."""
    place = tempfile.TemporaryDirectory(prefix="likeness-test-")
    folder, rows = Path(place.name) / "source", []
    for system in systems:
        asked = [{"gender": g, "tone": t, "profession": ""} for g in GENDERS for t in TONES] if identities else []
        asked += [{"gender": "", "tone": "", "profession": profession} for profession in ("nurse", "pilot")]
        for number, words in enumerate([words for words in asked for _ in range(each)]):
            file = f"{system}/{number}.png"
            write(folder / file, png(sum(f"{name}{file}".encode()) * 1000 + number))
            rows.append({"file_name": file, "system": system, **words})
    write_csv(folder, rows)
    imported(folder, Path(place.name) / "cache", "--shard-rows", 8, name=name)
    return place


def cloud(count=300, width=20, groups=15, seed=0):
    """Unit vectors about some directions."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(groups, width))
    return unit_rows(centres[random.integers(0, groups, count)] + 0.5 * random.normal(size=(count, width)))


def placed(vectors: np.ndarray, fitted: np.ndarray, progress=lambda rows: None) -> np.ndarray:
    """A map that is the first two numbers of each vector: UMAP takes long to compile."""
    return np.asarray(vectors[:, :2], "float32")


def built_regions(folder: Path, cache: Path, ks: tuple[int, ...]) -> Path:
    """A copy of an audit with vectors, with regions of them and a map, without faces and look-alikes: its folder."""
    shutil.copytree(folder, cache / folder.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_stages.projection, "project", placed)
        patch.setattr(building, "face_stages", lambda audit: [])
        patch.setattr(neighbour_stages, "wanted", lambda audit: [])
        building.build(cache, folder.name, 1, ks=ks)
    return cache / folder.name


def clustered(audit: Audit, width: int = 16, noise: float = 0.3) -> np.ndarray:
    """float32 vectors that lie close together for one prompt: a direction for each of its words."""
    random = np.random.default_rng(1)
    directions = {word: random.normal(size=width) for word in (*GENDERS, *TONES, "nurse", "pilot", "unspecified")}
    table = audit.generations
    words = zip(table["gender"].astype(str), table["tone"].astype(str), table["profession"].astype(str), strict=True)
    centres = [directions[g] + directions[t] + (directions[p] if p else 0) for g, t, p in words]
    return (np.array(centres) + noise * random.normal(size=(len(audit), width))).astype("float32")


def saved(path: Path, vectors: np.ndarray) -> Path:
    """Vectors as a .npy file."""
    np.save(path, vectors)
    return path


def as_file(values: np.ndarray, dtype: str) -> bytes:
    """An array as the store writes it."""
    return npy_head(values.shape, dtype) + np.ascontiguousarray(values, dtype).tobytes()


def tiny_blip(folder: Path, seed: int = 0) -> Path:
    """A BlipForQuestionAnswering of random weights, 16 numbers wide, for images of 32 pixels, with its processor."""
    import torch
    from transformers import BlipConfig, BlipForQuestionAnswering, CLIPTokenizer
    from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

    torch.manual_seed(seed)
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {**size, "vocab_size": 64, "encoder_hidden_size": 16, "max_position_embeddings": 80, "bos_token_id": 52}
    text |= {"eos_token_id": 53, "sep_token_id": 53, "pad_token_id": 0}
    vision = {**size, "image_size": 32, "patch_size": 16, "initializer_range": 0.02}
    BlipForQuestionAnswering(BlipConfig(text_config=text, vision_config=vision)).save_pretrained(folder)
    tokenizer(folder.with_name(folder.name + "-words"), CLIPTokenizer).save_pretrained(folder)
    BlipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def tiny_clip(folder: Path) -> Path:
    """A CLIPModel of random weights, 8 numbers wide, for images of 32 pixels, with its processor."""
    import torch
    from transformers import CLIPConfig, CLIPModel
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = {**size, "image_size": 32, "patch_size": 16}
    text = {**size, "vocab_size": 64, "bos_token_id": 52, "eos_token_id": 53}
    CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)).save_pretrained(folder)
    sides = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    CLIPImageProcessorPil(**sides).save_pretrained(folder)
    return folder
