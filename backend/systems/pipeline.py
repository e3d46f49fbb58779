"""Kind "diffusers": a text-to-image pipeline that runs here, from the Hub or from a folder."""

from __future__ import annotations

import gc
import hashlib
import inspect
import io
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from backend.spec import FORMATS, Key, find
from backend.systems.base import Answer, Refused, Request, System, one_line

SCHEDULERS = {
    "ddim": ("DDIMScheduler", {"clip_sample": False}),
    "ddpm": ("DDPMScheduler", {"clip_sample": False}),
    "dpm++": ("DPMSolverMultistepScheduler", {}),
    "euler": ("EulerDiscreteScheduler", {}),
    "euler-ancestral": ("EulerAncestralDiscreteScheduler", {}),
    "heun": ("HeunDiscreteScheduler", {}),
    "lms": ("LMSDiscreteScheduler", {}),
    "pndm": ("PNDMScheduler", {"skip_prk_steps": True}),
    "unipc": ("UniPCMultistepScheduler", {}),
}
"""Name in a spec -> the class in diffusers, and what latents need where the pipeline's own scheduler says nothing of it
(the classes' defaults clip samples to [-1, 1])."""
SAVE = {
    "png": {"format": "PNG"},
    "jpeg": {"format": "JPEG", "quality": 95},
    "webp": {"format": "WEBP", "quality": 90, "method": 4},
}


def folder_hash(folder: Path) -> str:
    """SHA-256 over the names and contents of a folder's files, hidden ones left out."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            with path.open("rb") as file:
                whole.update(f"{name.as_posix()}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def _quiet() -> None:
    """Our own words and progress are enough: the libraries say errors only."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # for what it says while it is imported
    import diffusers
    import transformers

    for library in (diffusers, transformers):
        library.utils.logging.set_verbosity_error()
        library.utils.logging.disable_progress_bar()


class Pipeline(System):
    """AutoPipelineForText2Image. Every image starts from a generator of its own, on the CPU, seeded with its seed: its
    noise does not depend on the batch or the device."""

    KEYS: ClassVar = {
        "model": Key(str),
        "revision": Key(str, ""),
        "variant": Key(str, ""),
        "dtype": Key(str, "auto", ("auto", "float32", "float16", "bfloat16")),
        "device": Key(str, "auto", settings=False),
        "scheduler": Key(str, "", ("", *SCHEDULERS)),
        "negative_prompt": Key(str, ""),
        "format": Key(str, "png", FORMATS),
    }
    WHOLE_BATCHES = True
    DOWNLOADS = True
    REDRAWS = True
    PACKAGES = ("diffusers", "transformers", "torch")

    def __init__(self, spec) -> None:
        super().__init__(spec)
        self._folder: Path | None = None
        self._pipe: Any = None

    def check(self) -> str:
        """The hash of a folder's files, or the commit of a Hub model, which is downloaded here where it is not yet."""
        if self.options["device"] != "auto":
            self._device()
        model = self.options["model"]
        path = find(model, self.spec.folder)
        if path.is_dir():
            try:
                json.loads((path / "model_index.json").read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise self.error("model", f"{model} is no pipeline: its model_index.json cannot be read") from error
            self._folder = path
            return folder_hash(path)
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", model):
            raise self.error("model", f"{model[:200]!r} is neither a folder here nor a Hub id (OWNER/NAME)")
        self._folder = Path(self._download(model))
        return self._folder.name

    def _download(self, model: str) -> str:
        _quiet()
        from diffusers import DiffusionPipeline
        from huggingface_hub import errors
        from huggingface_hub.utils import httpx

        options = {key: self.options[key] for key in ("revision", "variant") if self.options[key]}
        try:
            return DiffusionPipeline.download(model, **options)
        except (errors.HfHubHTTPError, httpx.HTTPError, OSError, ValueError) as error:
            words = one_line(f"{type(error).__name__}: {error}", 200)
            raise self.error(
                "model",
                f"{model} is no folder here and cannot be had from the Hub. Check its name and the network, unset "
                "HF_HUB_OFFLINE, set HF_TOKEN where the model asks for it, or give the folder of a downloaded "
                f"pipeline ({words})",
            ) from error

    def _device(self) -> str:
        import torch

        device = self.options["device"]
        if device == "auto":
            return "cuda" if torch.cuda.is_available() else "cpu"
        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:
            raise self.error("device", f"{device[:40]!r} is not there; use auto, cpu, cuda or mps") from error
        return device

    def _load(self) -> Any:
        if self._pipe is not None:
            return self._pipe
        _quiet()
        import diffusers
        import torch

        if self._folder is None:
            self.check()
        device, dtype = self._device(), self.options["dtype"]
        if dtype == "auto":
            dtype = "float16" if device.startswith("cuda") else "float32"
        variant = {"variant": self.options["variant"]} if self.options["variant"] else {}
        try:
            pipe = diffusers.AutoPipelineForText2Image.from_pretrained(
                str(self._folder), dtype=getattr(torch, dtype), local_files_only=True, **variant
            )
            if self.options["scheduler"]:
                kind, defaults = SCHEDULERS[self.options["scheduler"]]
                config = {**defaults, **pipe.scheduler.config}
                pipe.scheduler = getattr(diffusers, kind).from_config(config)
            pipe = pipe.to(device)
        except (OSError, ValueError, RuntimeError, TypeError, KeyError, AttributeError, ImportError) as error:
            words = one_line(f"{type(error).__name__}: {error}")
            raise self.error("model", f"the pipeline cannot be loaded ({words})") from error
        pipe.set_progress_bar_config(disable=True)
        self._pipe = pipe
        return pipe

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        self._load()
        try:
            return self._run(requests)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            if len(requests) > 1:  # too large a batch for the memory, or one prompt that fails
                return [answer for request in requests for answer in self.generate([request])]
            return [Refused(one_line(f"{type(error).__name__}: {error}"))]

    def redraw(self, requests: Sequence[Request], pictures: Sequence[Any], strength: float) -> list[Answer]:
        """AutoPipelineForImage2Image with the weights of the loaded pipeline. Pictures are brought to the width and
        height of the spec."""
        from diffusers import AutoPipelineForImage2Image

        pipe = self._load()
        try:
            editing = AutoPipelineForImage2Image.from_pipe(pipe)
        except (ValueError, RuntimeError, TypeError, AttributeError) as error:
            words = one_line(f"{type(error).__name__}: {error}", 200)
            raise self.error("model", f"this pipeline draws from a text only ({words})") from error
        editing.set_progress_bar_config(disable=True)
        size = (self.options["width"], self.options["height"])
        given = [picture.convert("RGB").resize(size) for picture in pictures]
        try:
            return self._run(requests, editing, image=given, strength=strength)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            return [Refused(one_line(f"{type(error).__name__}: {error}")) for _ in requests]

    def _run(self, requests: Sequence[Request], pipe: Any = None, **more: Any) -> list[Answer]:
        import torch

        options = self.options
        more = more or {"width": options["width"], "height": options["height"]}
        with torch.inference_mode():
            out = (pipe or self._pipe)(
                prompt=[request.prompt.text for request in requests],
                generator=[torch.Generator("cpu").manual_seed(request.seed) for request in requests],
                num_inference_steps=options["steps"],
                guidance_scale=float(options["guidance"]),
                **more,
                **self._extras(len(requests)),
            )
        flags = getattr(out, "nsfw_content_detected", None) or [False] * len(requests)
        return [
            Refused("the system's safety checker hid the image", "filtered") if flag else self._encoded(image)
            for image, flag in zip(out.images, flags, strict=True)
        ]

    def _extras(self, count: int) -> dict[str, Any]:
        """Arguments of the pipeline that are given only where they are wanted."""
        extras: dict[str, Any] = {}
        if self.options["negative_prompt"]:
            extras["negative_prompt"] = [self.options["negative_prompt"]] * count
        if self.on_step and "callback_on_step_end" in inspect.signature(self._pipe.__call__).parameters:

            def stepped(_pipe: Any, step: int, _time: Any, values: dict[str, Any]) -> dict[str, Any]:
                self.on_step(step + 1)
                return values

            extras["callback_on_step_end"] = stepped
        return extras

    def left_out(self, text: str) -> str:
        """The end of a prompt that is too long for the pipeline's tokenizer, which leaves it out; "" where all fits."""
        pipe = self._load()
        tokenizers = [getattr(pipe, name, None) for name in ("tokenizer", "tokenizer_2", "tokenizer_3")]
        tokenizer = max(filter(None, tokenizers), key=lambda found: found.model_max_length, default=None)
        ids = tokenizer(text).input_ids if tokenizer else []
        if not tokenizer or len(ids) <= tokenizer.model_max_length:
            return ""
        return tokenizer.decode(ids[tokenizer.model_max_length - 1 : -1]).strip()

    def _encoded(self, image: Any) -> bytes:
        out = io.BytesIO()
        image.save(out, **SAVE[self.options["format"]])
        return out.getvalue()

    def close(self) -> None:
        if self._pipe is None:
            return
        self._pipe = None
        gc.collect()
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()
