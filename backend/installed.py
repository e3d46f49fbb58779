"""What Live needs on this machine: which systems ship with the product, and what is missing for those of a spec."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from backend.spec import ROOT, SystemSpec, find

STARTER = ROOT / "assets" / "starter"
LIBRARIES = ("torch", "transformers", "diffusers")


def folder_of(system: SystemSpec) -> Path:
    """Where a pipeline of kind "diffusers" lies or would lie; no folder where its model is a Hub id."""
    return ROOT / find(str(system.options["model"]), system.folder)


def of_starter(system: SystemSpec) -> bool:
    """Whether a system is one of those that ship, whose words and answers are known."""
    return system.kind == "diffusers" and folder_of(system).is_relative_to(STARTER)


def lacking(systems: Iterable[SystemSpec]) -> tuple[str, ...]:
    """What has to be installed or made before some of the systems can draw, a sentence each."""
    local = [system for system in systems if system.kind == "diffusers"]
    said = []
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if local and missing:
        said.append(f"Not installed: {', '.join(missing)}. Say pip install -r requirements.txt, then start again.")
    gone = [system.name for system in local if of_starter(system) and not folder_of(system).is_dir()]
    if gone:
        said.append(
            f"Not in this copy: {', '.join(gone)}. Clone the repository again, or train the models with "
            "python -m backend.starter train."
        )
    return tuple(said)
