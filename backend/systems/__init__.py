"""Systems that turn prompts into images. Adding a kind is one class (see base.System) and one line in KINDS."""

from backend.spec import SystemSpec
from backend.systems.base import Answer, Refused, Request, StoppedError, System
from backend.systems.folder import Folder
from backend.systems.images_api import ImagesAPI
from backend.systems.inference import Inference
from backend.systems.pipeline import Pipeline

KINDS: dict[str, type[System]] = {
    "diffusers": Pipeline,
    "openai-images": ImagesAPI,
    "hf-inference": Inference,
    "folder": Folder,
}
KEYS = {kind: system.KEYS for kind, system in KINDS.items()}
"""What each kind takes in a spec: the second argument of spec.load_spec."""


def make_system(spec: SystemSpec) -> System:
    """The system that a spec describes; nothing is loaded or asked yet."""
    return KINDS[spec.kind](spec)


__all__ = ["KEYS", "KINDS", "Answer", "Refused", "Request", "StoppedError", "System", "make_system"]
