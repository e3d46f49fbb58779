"""The model that made an embedding, where it is at hand: for pictures from outside. Nothing is ever downloaded here."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from backend import embed
from backend.embed import BlipVqa, Clip, EfficientNetLite0, EmbedError, Model
from backend.neighbours.parts import NeighbourError
from backend.vector_stages import ROOT, STARTER

_LOADING = threading.Lock()
_MODELS: dict[tuple[str, str, str], Model] = {}
"""What has been loaded, by kind, fingerprint and question: the last MOST_MODELS."""
MOST_MODELS = 2


def _place(kind: str, label: str) -> str:
    """The folder of a model that an audit names: the starter's, or a copy that the Hub's own cache holds here. ""
    where it is not here."""
    if kind == BlipVqa.KIND and label == STARTER:
        folder = ROOT / STARTER
        return str(folder) if (folder / "config.json").is_file() else ""
    from huggingface_hub import try_to_load_from_cache

    try:
        there = try_to_load_from_cache(label, "config.json")
    except ValueError:  # no name of the Hub
        return ""
    return str(Path(there).parent) if isinstance(there, str) else ""


def model_of(name: str, parameters: Mapping[str, Any]) -> Model:
    """The model of an embedding, loaded on first use; whoever comes while it loads waits.

    parameters: what the manifest says of the embedding. Only a model whose files have the fingerprint in them is
    loaded. Raises NeighbourError where there is none here.
    """
    kind, label, mark, question = (str(parameters.get(key, "")) for key in ("kind", "model", "fingerprint", "question"))
    with _LOADING:
        if (kind, mark, question) not in _MODELS:
            loaded = _load(name, kind, label, mark, question)
            while len(_MODELS) >= MOST_MODELS:
                del _MODELS[next(iter(_MODELS))]
            _MODELS[kind, mark, question] = loaded
        return _MODELS[kind, mark, question]


def _load(name: str, kind: str, label: str, mark: str, question: str) -> Model:
    other = "choose another way to compare, or start from an image of the audit"
    if kind not in embed.KINDS:
        raise NeighbourError(
            f"the vectors of the embedding {name} were imported, so no model here can place a picture of yours among "
            f"them: {other}"
        )
    place = _place(kind, label) if kind in (BlipVqa.KIND, Clip.KIND) else ""
    try:
        if not place and kind != EfficientNetLite0.KIND:
            raise NeighbourError(f"the model of the embedding {name} ({label[:100]}) is not on this machine: {other}")
        folder, _ = embed.find(kind, place)
        if embed.KINDS[kind].fingerprint(folder) != mark:
            raise NeighbourError(
                f"the model of the embedding {name} here is not the one that made its vectors: {other}"
            )
        return embed.load(kind, place, question)
    except EmbedError as error:
        raise NeighbourError(f"the model of the embedding {name} cannot be used here: {error}") from error
    except ImportError as error:
        raise NeighbourError(f"the model of the embedding {name} needs a library that is missing ({error})") from error


def embedded(name: str, parameters: Mapping[str, Any], pixels: np.ndarray) -> np.ndarray:
    """A picture's vector in an embedding: float32 (width,), of length 1. pixels: uint8 (height, width, 3)."""
    model = model_of(name, parameters)
    try:
        return embed.as_unit(model.vectors([pixels]))[0].astype(np.float32)
    except EmbedError as error:
        raise NeighbourError(f"the picture cannot be placed in the embedding {name}: {error}") from error
