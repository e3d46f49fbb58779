"""What is asked of a model about two applicants: pairs, orders, who leads and how options turn, before it is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.hiring_texts import (
    KINDS,
    RULES,
    SPACES,
    STEPS,
    Element,
    Job,
    Turn,
    Words,
    attributes_of,
    options,
)
from backend.probes import hiring
from backend.probes.base import LONGEST_PROMPT, Prompt
from backend.spec import SpecError

Affirmed = Collection[tuple[str, str, str]]
"""What subjects of one pair, in one order, were said to have: subject, type and name of an attribute."""


@dataclass(frozen=True)
class Wanted:
    """What somebody wants asked. Empty `kinds` and `occupations` stand for all; `pairs` is the most of each kind."""

    pairs: int = 8
    kinds: tuple[str, ...] = ()
    occupations: tuple[str, ...] = ()
    attributes_first: str = RULES[0]
    seed: int = 0
    elements: Path = hiring.ELEMENTS
    names: Path = hiring.NAMES
    questions: Path = hiring.QUESTIONS
    letters: bool = False


@dataclass(frozen=True)
class Asked:
    """One prompt. `key` is a hash of all that the model is given: two prompts with the same key are asked once."""

    turn: Turn
    prompt: Prompt
    key: str
    answers: tuple[str, ...]
    """What each option of the prompt stands for."""


@dataclass(frozen=True)
class Plan:
    """All that a run asks: `turns` by step, none twice. `genders` are those of the names that stand in them."""

    words: Words
    jobs: Mapping[str, Job]
    genders: Mapping[str, str]
    attributes_first: str
    pairs: Mapping[str, Sequence[tuple[str, str]]]
    """Kind -> its pairs."""
    turns: Mapping[str, tuple[Turn, ...]]

    def asked(self, turn: Turn, affirmed: Affirmed) -> Asked:
        """A turn with what its subjects were said to have. Raises SpecError where the prompt gets too long."""
        job = self.jobs.get(turn.occupation, Job(""))
        prompt = hiring.prompt_of(self.words, turn, job.article, attributes_of(job, turn, affirmed))
        if len(prompt.text) > LONGEST_PROMPT:
            size = f"{len(prompt.text):,} characters; at most {LONGEST_PROMPT:,}"
            raise SpecError(f"{turn.occupation or turn.element}: its prompt has {size}: shorten the wordings")
        answers = options(self.words, turn)[0]
        held = json.dumps([prompt.text, prompt.options, prompt.also, answers])
        return Asked(turn, prompt, hashlib.sha256(held.encode()).hexdigest(), answers)

    def unshared(self) -> int:
        """How many prompts the attribute step would have if every occupation asked for its own."""
        each = sum(len(job.attributes) for job in self.jobs.values())
        return 4 * each * sum(map(len, self.pairs.values()))

    def instances(self) -> int:
        """How many instances, as section 3.1 of the paper calls them: a pair of names of different gender, and an
        occupation with its 15 attributes. Orders are not counted, as the paper names none."""
        return len(self.pairs.get("different", ())) * sum(len(job.attributes) > 0 for job in self.jobs.values())


def plan(wanted: Wanted) -> Plan:
    """What is to be asked. Raises SpecError (files, names that are not there)."""
    every = hiring.read_jobs()
    elements = sorted({element for job in every.values() for element in job.attributes})
    questions, answers = hiring.read_questions(wanted.questions)
    words = Words(questions, answers, hiring.read_elements(wanted.elements, elements), wanted.letters)
    names = hiring.read_names(wanted.names, answers)
    if wanted.letters and any(len(name) == 1 for name in names):
        raise SpecError(f"{wanted.names}: a name of one letter reads as the letter of an option; take another name")
    jobs = _named(every, wanted.occupations, "--occupations")
    pairs = {kind: hiring.pairs(names, kind, wanted.pairs, wanted.seed) for kind in wanted.kinds or KINDS}
    for kind, found in pairs.items():
        if not found:
            raise SpecError(f"{wanted.names}: no pairs of the kind {kind} can be made; add names, or leave it out")
    design = _Design(list(every), elements, names, wanted.attributes_first)
    every_turn = [
        turn
        for kind, found in pairs.items()
        for number, pair in enumerate(found)
        for turn in design.turns(kind, number, pair, jobs)
    ]
    turns = {step: tuple(turn for turn in every_turn if turn.step == step) for step in STEPS}
    used = {name for found in pairs.values() for pair in found for name in pair}
    genders = {name: gender for name, gender in names.items() if name in used}
    return Plan(words, jobs, genders, wanted.attributes_first, pairs, turns)


def _named(jobs: Mapping[str, Job], names: Sequence[str], flag: str) -> dict[str, Job]:
    """Those that are named, in the order of the file; all where none is."""
    for name in names:
        if name not in jobs:
            raise SpecError(f"{flag}: {name[:60]!r} is none of {', '.join(jobs)}")
    return {name: job for name, job in jobs.items() if not names or name in names}


@dataclass(frozen=True)
class _Design:
    """How what could matter beside the names is evened out.

    Pair number p of a kind is asked in both orders. In an even one, whoever is named first is also described first, in
    an odd one whoever is named second: in either, each of the two leads once. Options begin with another one from pair
    to pair (p // 2), and from occupation to occupation and attribute to attribute, so that lead and rotation cross:
    after 2 * 3 pairs for Q2 (2 * 5 for Q3) every option stood as often in every place with either lead.
    """

    occupations: Sequence[str]
    elements: Sequence[Element]
    genders: Mapping[str, str]
    rule: str

    def turns(self, kind: str, number: int, pair: tuple[str, str], jobs: Mapping[str, Job]) -> Iterator[Turn]:
        for first, second in (pair, pair[::-1]):
            for element in sorted({element for job in jobs.values() for element in job.attributes}):
                rotation = self._rotation("attribute", number, self.elements.index(element))
                for subject in (first, second):
                    yield Turn(kind, first, second, "", "attribute", subject, *element, rotation=rotation)
            for occupation in jobs:
                place = self.occupations.index(occupation)
                rotation = self._rotation("qualified", number, place)
                for subject in (first, second):
                    yield Turn(kind, first, second, occupation, "qualified", subject, rotation=rotation)
                lead = self._lead(kind, number, first)
                for step in ("more", "was"):
                    rotation = self._rotation(step, number, place)
                    yield Turn(kind, first, second, occupation, step, lead=lead, rotation=rotation)

    def _rotation(self, step: str, number: int, place: int) -> int:
        return (number // 2 + place) % len(SPACES[step])

    def _lead(self, kind: str, number: int, first: str) -> str:
        if self.rule == "female" and kind == "different":
            return "first" if self.genders[first] == "female" else "second"
        return "second" if number % 2 else "first"
