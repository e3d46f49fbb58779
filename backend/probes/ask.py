"""One way to ask every kind of model: prompts with options in, answers out. `KINDS` is the list of kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend.probes.base import Answer, Model, ModelSpec, ProbeError, Prompt, checked_prompts
from backend.probes.chat import ChatAPI
from backend.probes.clip import ClipModel
from backend.probes.text import TextModel
from backend.probes.vision import BlipModel, VisionModel
from backend.reading import toml_of
from backend.records import clean_text
from backend.spec import Key, SpecError, checked_table, find

KINDS: dict[str, type[Model]] = {
    "lm": TextModel,
    "vlm": VisionModel,
    "blip-vqa": BlipModel,
    "clip": ClipModel,
    "openai-chat": ChatAPI,
}
"""To add a kind: one class and one line here."""
FILES = ("styles_file", "options_file", "professions_file", "benchmarks_file")
"""What a model is asked with, where it is not what assets/probes, or assets/benchmarks, has: paths as in `model`."""
NAME = r"[a-z0-9][a-z0-9-]{0,39}"
_COMMON = {
    "name": Key(str),
    "kind": Key(str, choices=tuple(KINDS)),
    "title": Key(str, ""),
    "batch": Key(int, 16, low=1, high=256),
    "letters": Key(bool, False),
    **dict.fromkeys(FILES, Key(str, "")),
}

__all__ = ["KINDS", "Answer", "Model", "ModelSpec", "ProbeError", "Prompt", "ask", "load_models", "make_model"]


def ask(model: Model, prompts: Sequence[Prompt]) -> list[Answer]:
    """An answer a prompt, in their order. `model.check()` must have been called.

    Raises ProbeError, before anything is asked, where a prompt cannot be asked of any model (empty, too long, fewer
    than two options, one twice) or has a picture for a model that reads text only. What this model alone cannot take,
    a safety filter or a failure becomes an answer with that outcome. SpecError where no request can succeed.
    """
    checked_prompts(prompts, model.SEES)
    return model.answers(prompts) if prompts else []


def load_models(path: Path) -> list[ModelSpec]:
    """Every [[models]] of a file, as in assets/probes/models.toml. Raises SpecError."""
    data = toml_of(path, "give a file as assets/probes/models.toml")
    found: list[ModelSpec] = []
    for number, table in enumerate(checked_table(data, {"models": Key(list)}, str(path), "")["models"], start=1):
        where = f"{path}: models[{number}]"
        if not isinstance(table, dict):
            raise SpecError(f"{where}: is no table; write [[models]]")
        spec = _model(table, where, path.parent)
        if spec.name in [other.name for other in found]:
            raise SpecError(f"{where}: name: {spec.name!r} is there twice; rename one")
        found.append(spec)
    return found


def _model(table: dict[str, Any], where: str, folder: Path) -> ModelSpec:
    chosen = {"kind": _COMMON["kind"]}
    kind = checked_table({key: table[key] for key in chosen if key in table}, chosen, where, "")["kind"]
    keys = KINDS[kind].KEYS
    values = checked_table(table, {**_COMMON, **keys}, where, "")
    if not re.fullmatch(NAME, values["name"]):
        raise SpecError(f"{where}: name: use 1 to 40 small letters, digits and dashes")
    title = clean_text(values["title"])[:200] or values["name"]
    files = {key: find(values[key], folder) for key in FILES if values[key]}
    options = {key: values[key] for key in keys}
    return ModelSpec(values["name"], kind, title, values["batch"], options, folder, files, values["letters"])


def make_model(spec: ModelSpec) -> Model:
    """The model that a spec describes; nothing is loaded yet."""
    return KINDS[spec.kind](spec)
