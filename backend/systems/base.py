"""What every kind of system has in common: requests in, images or refusals out."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from backend.pictures import PictureError, read_picture
from backend.prompts import Prompt
from backend.records import clean_text
from backend.spec import Key, SpecError, SystemSpec


@dataclass(frozen=True)
class Request:
    """One image that is wanted: its prompt, its number among that prompt's images (from 1), and its seed."""

    prompt: Prompt
    number: int
    seed: int


@dataclass(frozen=True)
class Refused:
    """A request that gave no image: "filtered" by the system's safety rules, or "failed", and why."""

    reason: str
    outcome: str = "failed"


Answer = bytes | Refused


class StoppedError(Exception):
    """What `System.on_step` raises to end a batch that nobody wants any longer."""


class System(ABC):
    """One system. `generate` may be called from one thread at a time."""

    KEYS: ClassVar[Mapping[str, Key]] = {}
    """The keys that this kind takes in a spec, beside name, kind and those of spec.IMAGE_KEYS."""
    WHOLE_BATCHES: ClassVar[bool] = False
    """Whether an image's last bits can depend on its neighbours in the batch. Such a system is always given the same
    batches; the others are given only what is still wanted."""
    MOST_FAILURES: ClassVar[int] = 20
    """After so many failures in a row the system is given up: nothing tells that the next request is better."""
    REDRAWS: ClassVar[bool] = False
    """Whether `redraw` is there."""
    DOWNLOADS: ClassVar[bool] = False
    """Whether `check` can take long; such systems are checked after the others."""
    PACKAGES: ClassVar[tuple[str, ...]] = ()
    """Libraries whose versions are noted in the audit."""

    on_step: Callable[[int], object] | None = None
    """Called after each step of a batch with the number of steps done, by systems that have steps."""

    def __init__(self, spec: SystemSpec) -> None:
        self.spec = spec
        self.options = spec.options

    @property
    def seeded(self) -> bool:
        """Whether the system is told the seed; the audit records none where it is not."""
        return True

    @abstractmethod
    def check(self) -> str:
        """Find out, cheaply and without making an image, whether the system can be used.

        Returns what tells its weights apart from others (a hash, a commit, or "" where nobody says). Raises SpecError
        with the system, the key and the remedy.
        """

    @abstractmethod
    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """The images' bytes (PNG, JPEG, WebP ...), in the order of the requests.

        Raises SpecError where no request can succeed (a refused key, spent credit, a model that does not load).
        """

    def redraw(self, requests: Sequence[Request], pictures: Sequence[Any], strength: float) -> list[Answer]:
        """Pictures drawn from pictures (PIL images) by the requests' prompts, where a kind can (REDRAWS); `strength`
        from 0 to 1 is how far they may go from them. Raises SpecError where the model cannot."""
        raise self.error("kind", "systems of this kind draw from a text only")

    def close(self) -> None:  # noqa: B027
        """Free what the system holds."""

    def error(self, key: str, words: str) -> SpecError:
        """A sentence that names this system and the key to change."""
        return SpecError(f"system {self.spec.name!r}: {key}: {words}")


def one_line(text: object, most: int = 300) -> str:
    """Text of a library or server for a report: without line breaks, and short."""
    return clean_text(re.sub(r"\s+", " ", str(text)))[:most]


def checked(data: bytes) -> Answer:
    """Bytes from outside, where they are a picture; else a refusal that says why."""
    try:
        read_picture(data)
    except PictureError as error:
        return Refused(f"the answer is no usable image: {error}")
    return data
