"""What models answered about two applicants, read: hiring/<model>.parquet, a row an answer, checked before use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from backend.hiring_texts import (
    ANSWERS,
    GENDERS,
    MOST_NAMES,
    PLACE,
    PLACES,
    RULES,
    TYPES,
    Job,
    Turn,
    Words,
    attributes_of,
    person_problem,
    text,
)
from backend.store.answers import Answers
from backend.store.checks import stage_files
from backend.store.files import StoreError
from backend.store.frames import read_frame
from backend.store.hiring_checks import hiring_columns, hiring_values

LONGEST_NAME, LONGEST_NOTE, LONGEST_TEXT = 200, 2_000, 4_000
MOST_ANSWERS, MOST_OCCUPATIONS, MOST_ELEMENTS, MOST_PAIRS = 10_000_000, 1_000, 500, 1_000_000
_TEXTS = dict.fromkeys(("kind", "title", "model", "fingerprint", "settings", "wordings", "attributes_first"), 200)
_TEXTS["note"] = LONGEST_NOTE
_LISTS = {
    **dict.fromkeys(("occupations", "articles", "attributes"), MOST_OCCUPATIONS),
    **dict.fromkeys(GENDERS, MOST_NAMES),
    **{"questions": len(PLACES), "answers": len(ANSWERS), "elements": MOST_ELEMENTS},
}


@dataclass(frozen=True)
class HiringSource:
    """A model that was asked: `name` names its table, `title` is for people, `model` is what its file calls it.

    `jobs` maps each occupation to what was asked of it, `genders` each name to "female" or "male", `words` is all that
    was said. `pairs` is the most pairs of a kind that were asked, `attributes_first` one of RULES. `fingerprint` tells
    the model's weights apart ("" where nobody says), `settings` (a hash) how they were used.
    """

    name: str
    kind: str
    title: str
    model: str
    words: Words
    jobs: Mapping[str, Job]
    genders: Mapping[str, str]
    pairs: int
    attributes_first: str = RULES[0]
    fingerprint: str = ""
    settings: str = ""
    note: str = ""

    @property
    def occupations(self) -> tuple[str, ...]:
        return tuple(self.jobs)

    @property
    def without(self) -> tuple[str, ...]:
        """The occupations that were asked about without attributes."""
        return tuple(name for name, job in self.jobs.items() if not job.attributes)

    def parameters(self) -> dict[str, Any]:
        """What a manifest holds of it."""
        words = self.words
        plain = ("kind", "title", "model", "fingerprint", "settings", "note", "pairs", "attributes_first")
        return {key: getattr(self, key) for key in plain} | {
            "wordings": words.digest(),
            "letters": words.letters,
            "occupations": list(self.jobs),
            "articles": [job.article for job in self.jobs.values()],
            "attributes": ["\n".join(map("\t".join, job.attributes)) for job in self.jobs.values()],
            **{gender: [name for name, own in self.genders.items() if own == gender] for gender in GENDERS},
            "questions": [words.questions[name] for name in PLACES],
            "answers": ["\n".join(words.answers[name]) for name in ANSWERS],
            "elements": ["\t".join((*element, meaning)) for element, meaning in words.elements.items()],
        }

    def prompt(self, row: Mapping[str, Any], table: pd.DataFrame) -> str:
        """The exact text of the prompt that a row of this source's table answers."""
        turn = turn_of(row)
        if turn.step == "attribute":
            return text(self.words, turn)
        job = self.jobs[turn.occupation]
        return text(
            self.words, turn, job.article, attributes_of(job, turn, self.affirmed(table, turn.first, turn.second))
        )

    def affirmed(self, table: pd.DataFrame, first: str, second: str) -> set[tuple[str, str, str]]:
        """What two subjects, asked about in this order, were said to have: subject, type and name."""
        some = table[(table["step"] == "attribute") & (table["first"] == first) & (table["second"] == second)]
        some = some[some["answer"] == "yes"]
        return set(zip(*(some[name].astype(str) for name in ("subject", "type", "element")), strict=True))


def turn_of(row: Mapping[str, Any]) -> Turn:
    """The turn that a row of a table tells of."""
    names = ("kind", "first", "second", "occupation", "step", "subject", "type", "element", "lead")
    return Turn(*(str(row[name]) for name in names), int(row["rotation"]))


def read_source(name: str, held: Mapping[str, Any]) -> HiringSource:
    """A source from what a manifest holds of it. Raises StoreError where a part is missing, too long or unknown."""
    wrong = StoreError(f"the manifest does not say what the model {name!r} was asked about hiring. Run `hire` again.")
    if not all(isinstance(held.get(key), str) and len(held[key]) <= most for key, most in _TEXTS.items()):
        raise wrong
    if not all(_list(held.get(key), most) for key, most in _LISTS.items()):
        raise wrong
    words, jobs = _words(held), _jobs(held)
    people = [*held["female"], *held["male"]]
    right = words is not None and jobs is not None and held["attributes_first"] in RULES
    right = right and len(set(people)) == len(people) and not any(map(person_problem, people))
    right = right and type(held.get("pairs")) is int and 0 <= held["pairs"] <= MOST_PAIRS
    if not right or words.digest() != held["wordings"]:
        raise wrong
    if not all(element in words.elements for job in jobs.values() for element in job.attributes):
        raise wrong
    genders = {name: gender for gender in GENDERS for name in held[gender]}
    plain = {key: held[key] for key in _TEXTS if key != "wordings"}
    return HiringSource(name, words=words, jobs=jobs, genders=genders, pairs=held["pairs"], **plain)


def _list(value: Any, most: int) -> bool:
    right = isinstance(value, list) and len(value) <= most
    return right and all(isinstance(one, str) and len(one) <= LONGEST_TEXT for one in value)


def _words(held: Mapping[str, Any]) -> Words | None:
    """The wordings of a manifest; None where they are none."""
    if len(held["questions"]) != len(PLACES) or len(held["answers"]) != len(ANSWERS):
        return None
    questions = dict(zip(PLACES, held["questions"], strict=True))
    if any(set(PLACE.findall(said)) != set(PLACES[name]) for name, said in questions.items()):
        return None
    answers = {name: tuple(likes.split("\n")) for name, likes in zip(ANSWERS, held["answers"], strict=True)}
    if not all(all(likes) for likes in answers.values()):
        return None
    elements = {}
    for line in held["elements"]:
        type_, _, rest = line.partition("\t")
        name, _, meaning = rest.partition("\t")
        elements[type_, name] = meaning
        if type_ not in TYPES or not 0 < len(name) <= LONGEST_NAME or not meaning:
            return None
    right = len(elements) == len(held["elements"]) and isinstance(held.get("letters"), bool)
    return Words(questions, answers, elements, held["letters"]) if right else None


def _jobs(held: Mapping[str, Any]) -> dict[str, Job] | None:
    """The occupations of a manifest; None where they are none."""
    names, articles, lines = held["occupations"], held["articles"], held["attributes"]
    if not len(set(names)) == len(names) == len(articles) == len(lines) or not set(articles) <= {"a", "an"}:
        return None
    jobs = {}
    for name, article, line in zip(names, articles, lines, strict=True):
        attributes = tuple(tuple(part.split("\t")) for part in line.split("\n")) if line else ()
        if not 0 < len(name) <= LONGEST_NAME or any(len(one) != 2 for one in attributes):
            return None
        if len(set(attributes)) < len(attributes):
            return None
        jobs[name] = Job(article, attributes)
    return jobs


def read_answers(folder: Path, stage: str, source: HiringSource) -> pd.DataFrame:
    """The table of a stage: the columns of SCHEMA, texts as categories, probabilities as arrays."""
    path = folder / stage_files(stage)[0]
    return read_frame(path, hiring_columns, lambda found: values_problem(found, source), most=MOST_ANSWERS)


def values_problem(table: pa.Table, source: HiringSource) -> str:
    """What is wrong with a table of a source's answers."""
    return hiring_values(table, source.genders, {name: job.attributes for name, job in source.jobs.items()})


class Hiring(Answers[HiringSource]):
    """What models answered about two applicants: tables with the columns of SCHEMA, sorted by KEYS."""

    KIND = "hire"

    def _source(self, name: str, parameters: Mapping[str, Any]) -> HiringSource:
        return read_source(name, parameters)

    def _table(self, name: str) -> pd.DataFrame:
        return read_answers(self._folder, f"hire-{name}", self.sources[name])
