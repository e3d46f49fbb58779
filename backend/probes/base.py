"""What every kind of asked model has in common: prompts with options in, answers out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from backend.probes.parsing import words
from backend.spec import Key, SpecError

LONGEST_PROMPT, LONGEST_OPTION, LONGEST_RAW = 10_000, 100, 2_000
"""Characters of a prompt, of one option, and of a free answer that are kept."""
MOST_OPTIONS = 50
ANSWERED, UNPARSED, REFUSED, FAILED = "answered", "unparsed", "refused", "failed"
"""What became of a prompt: an option was chosen; the text names none; a safety filter, or the model's own limits,
refused it; or no answer came."""


class ProbeError(Exception):
    """Prompts that cannot be asked, or a model that cannot be used. The message names what, and the remedy."""


@dataclass(frozen=True)
class Prompt:
    """One question with its options, and what else is read as each of them where a model writes freely."""

    text: str
    options: tuple[str, ...]
    also: tuple[tuple[str, ...], ...] = ()
    picture: Any = None
    """A PIL image, for models that take one."""


@dataclass(frozen=True)
class Answer:
    """What a model answered to one prompt.

    `option` is the place of the chosen option, None where there is none. `text` is the option as it was shown, or the
    raw answer of a model that writes freely (at most LONGEST_RAW characters). Models that run here give for every
    option the sum of its tokens' natural log-probabilities and their number; `probabilities` are the softmax of
    sum / number, so they add up to 1 over the options.
    """

    outcome: str
    option: int | None
    text: str = ""
    loglikelihoods: tuple[float, ...] = ()
    tokens: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()
    reason: str = ""


def alike(option: str) -> tuple[str, ...]:
    """What makes two options the same: their words, whatever their case and punctuation."""
    return tuple(words(option))


def ranked(prompt: Prompt, sums: Sequence[float], tokens: Sequence[int]) -> Answer:
    """The answer of a model that scores options: the option with the highest mean log-probability of a token.

    By hand: sums -2 and -3 over 1 and 3 tokens are means -2 and -1; the second is chosen with e / (1 + e) = 0.731.

    >>> found = ranked(Prompt("?", ("a", "b c d")), [-2, -3], [1, 3])
    >>> found.option, found.text, round(found.probabilities[1], 3)
    (1, 'b c d', 0.731)

    Formula: score = (1 / T) * sum over the option's T tokens of ln p(token | prompt, tokens before it); what ends an
    answer is not counted. Between equal scores the first shown is chosen. A sum that is no number is a failure.

    Source: Brown and others (2020), section 2.4 (per-token likelihood of completions).
    """
    if not all(tokens) or not all(math.isfinite(value) for value in sums):
        return Answer(FAILED, None, reason="the model gave an option no likelihood")
    scores = [value / count for value, count in zip(sums, tokens, strict=True)]
    weights = [math.exp(score - max(scores)) for score in scores]
    best = scores.index(max(scores))
    shares = tuple(weight / sum(weights) for weight in weights)
    return Answer(ANSWERED, best, prompt.options[best], tuple(map(float, sums)), tuple(tokens), shares)


def checked_prompts(prompts: Sequence[Prompt], sees: bool = True) -> None:
    """Raise ProbeError where a prompt cannot be asked at all: before anything is asked, naming its number (from 1)."""
    for number, prompt in enumerate(prompts, start=1):
        where = f"prompt {number}"
        if not prompt.text.strip() or len(prompt.text) > LONGEST_PROMPT:
            raise ProbeError(f"{where}: it has {len(prompt.text):,} characters; write 1 to {LONGEST_PROMPT:,}")
        if not 2 <= len(prompt.options) <= MOST_OPTIONS:
            raise ProbeError(f"{where}: it has {len(prompt.options)} options; give 2 to {MOST_OPTIONS}")
        if any(not alike(option) or len(option) > LONGEST_OPTION for option in prompt.options):
            raise ProbeError(f"{where}: an option is empty or too long; write 1 to {LONGEST_OPTION} characters")
        if prompt.also and len(prompt.also) != len(prompt.options):
            raise ProbeError(f"{where}: `also` needs a row for each option, or none at all")
        every = [alike(option) for option in prompt.options]
        if len(set(every)) < len(every):
            twice = next(option for option, key in zip(prompt.options, every, strict=True) if every.count(key) > 1)
            raise ProbeError(f"{where}: the option {twice!r} is there twice; keep one")
        if prompt.picture is not None and not sees:
            raise ProbeError(f"{where}: it has a picture, and this model reads text only; take a model of kind vlm")


@dataclass(frozen=True)
class ModelSpec:
    """One model of a file: `options` holds the keys of its kind, `folder` where relative paths begin, and `files` what
    it is asked with, where that is not what assets/probes has. `letters`: it chooses among lettered options."""

    name: str
    kind: str
    title: str
    batch: int
    options: Mapping[str, Any]
    folder: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    letters: bool = False


class Model(ABC):
    """One model that can be asked. `answers` may be called from one thread at a time."""

    KEYS: ClassVar[Mapping[str, Key]] = {}
    """The keys that this kind takes, beside name, kind, title and batch."""
    SEES: ClassVar[bool] = True
    """Whether it takes pictures."""
    READS: ClassVar[bool] = True
    """Whether it reads the question: what it does not read cannot change its answers."""
    BLIND: ClassVar[bool] = True
    """Whether it answers without a picture, too."""
    PACKAGES: ClassVar[tuple[str, ...]] = ()

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.notes: list[str] = []
        """What whoever reads the answers must know, a sentence each; may grow while the model is asked."""

    @abstractmethod
    def check(self) -> str:
        """Load it, or try its address; returns what tells its weights apart ("" where nobody says). Raises SpecError
        or ProbeError with the model, the key and the remedy."""

    @abstractmethod
    def answers(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """An answer a prompt, in their order. The prompts were checked by `checked_prompts`."""

    def close(self) -> None:  # noqa: B027
        """Free what the model holds."""

    def error(self, key: str, what: str) -> SpecError:
        """A sentence that names this model and the key to change."""
        return SpecError(f"model {self.spec.name!r}: {key}: {what}")
