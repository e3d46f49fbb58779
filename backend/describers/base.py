"""What every kind of describer has in common: pictures in, a text for each question out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from backend.describe import Answer
from backend.spec import Key, SpecError


@dataclass(frozen=True)
class Question:
    """One question: its short name, what is asked ("" asks for a caption), and the answers allowed (none: any)."""

    name: str
    ask: str = ""
    choices: tuple[str, ...] = ()


CAPTION = Question("caption")


@dataclass(frozen=True)
class DescriberSpec:
    """One describer of a file: `options` holds the keys of its kind, `folder` where relative paths begin."""

    name: str
    kind: str
    title: str
    language: str
    batch: int
    options: Mapping[str, Any]
    questions: tuple[Question, ...]
    folder: Path


@dataclass(frozen=True)
class Unsaid:
    """A picture that got no text, and why."""

    reason: str


Said = Answer | Unsaid


class Describer(ABC):
    """One describer. `describe` may be called from one thread at a time."""

    KEYS: ClassVar[Mapping[str, Key]] = {}
    """The keys that this kind takes, beside name, kind, title, language, batch and questions."""
    QUESTIONS: ClassVar[tuple[Question, ...]] = ()
    """What is asked where a file names no questions; empty where they must be named."""
    PACKAGES: ClassVar[tuple[str, ...]] = ()

    def __init__(self, spec: DescriberSpec) -> None:
        self.spec = spec
        self.questions = spec.questions or self.QUESTIONS
        if not self.questions:
            raise self.error("questions", "are missing; add [[describers.questions]] with name and ask")

    @abstractmethod
    def check(self) -> str:
        """Load it, or try its address; returns what tells its weights apart ("" where nobody says). Raises SpecError
        or DescribeError with the describer, the key and the remedy."""

    @abstractmethod
    def describe(self, pictures: Sequence[Any]) -> list[list[Said]]:
        """A row a picture (PIL images), in it what was said to each question, in their order."""

    def close(self) -> None:  # noqa: B027
        """Free what the describer holds."""

    def error(self, key: str, words: str) -> SpecError:
        """A sentence that names this describer and the key to change."""
        return SpecError(f"describer {self.spec.name!r}: {key}: {words}")
