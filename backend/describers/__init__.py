"""Describers: what turns images into captions and answers. A module a kind; `KINDS` is the list of them."""

from __future__ import annotations

from pathlib import Path

from backend.describers.base import Describer, DescriberSpec, Question, Unsaid
from backend.describers.local import Captioner, Pipeline, Vqa
from backend.describers.spec import read_describers
from backend.describers.web import VisionAPI

KINDS = {"captioner": Captioner, "vqa": Vqa, "pipeline": Pipeline, "openai-vision": VisionAPI}
"""To add a kind: one class and one line here."""

__all__ = ["KINDS", "Describer", "DescriberSpec", "Question", "Unsaid", "load_describers", "make_describer"]


def load_describers(path: Path) -> list[DescriberSpec]:
    """The describers of a file (.toml), as in assets/describers. Raises SpecError."""
    return read_describers(path, {name: kind.KEYS for name, kind in KINDS.items()})


def make_describer(spec: DescriberSpec) -> Describer:
    """The describer that a spec describes; nothing is loaded yet."""
    return KINDS[spec.kind](spec)
