"""What is asked about two applicants: occupations, attributes, names and wordings from files, checked, as prompts."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np

from backend.hiring_texts import (
    ANSWERS,
    GENDERS,
    MOST_NAMES,
    PLACE,
    PLACES,
    TYPES,
    Element,
    Job,
    Turn,
    Words,
    options,
    person_problem,
    text,
)
from backend.probes.base import LONGEST_OPTION, Prompt, alike
from backend.reading import toml_of
from backend.records import clean_text
from backend.spec import ROOT, Key, SpecError, checked_table

Row = tuple[str, dict[str, str]]
"""Where a row stands, and its values."""
FOLDER = ROOT / "assets" / "hiring"
OCCUPATIONS, ATTRIBUTES = FOLDER / "occupations.csv", FOLDER / "attributes.csv"
ELEMENTS, NAMES, QUESTIONS = FOLDER / "elements.csv", FOLDER / "names.csv", FOLDER / "questions.toml"
LONGEST_QUESTION, LONGEST_MEANING, LONGEST_WORD = 2_000, 1_000, 200
MOST_ROWS = 100_000
_ALSO = {"element name": "name", "element_name": "name", "description": "definition", "element id": "element_id"}
"""What O*NET calls the columns of its elements."""
_IDS = {"1.A": "ability", "2.A": "skill", "2.B": "skill", "2.C": "knowledge"}
"""How O*NET's element ids begin."""


def _rows(
    path: Path, columns: Sequence[str], also: Mapping[str, str] | None = None
) -> list[tuple[str, dict[str, str]]]:
    """The rows of a CSV file (of .txt: between tabs), each with where it stands. Raises SpecError."""
    found: list[Row] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t" if path.suffix == ".txt" else ",")
            names = [clean_text(name).casefold() for name in reader.fieldnames or ()]
            reader.fieldnames = [(also or {}).get(name, name) for name in names]
            lacking = [column for column in columns if column not in reader.fieldnames]
            if lacking:
                raise SpecError(f"{path}: it has no column {lacking[0]!r}; give a CSV file with {', '.join(columns)}")
            for row in reader:
                if len(found) == MOST_ROWS:
                    raise SpecError(f"{path}: it has more than {MOST_ROWS:,} rows; give those that are wanted")
                values = {name: clean_text(row[name]) for name in reader.fieldnames if name}
                found.append((f"{path}, line {reader.line_num}", values))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SpecError(f"{path} cannot be read ({error}): give a CSV file in UTF-8") from error
    if not found:
        raise SpecError(f"{path}: it has no rows; give one or more")
    return found


def _short(where: str, column: str, value: str, most: int = LONGEST_WORD) -> str:
    if not 0 < len(value) <= most:
        raise SpecError(f"{where}: {column}: write 1 to {most:,} characters")
    return value


def read_jobs(occupations: Path = OCCUPATIONS, attributes: Path = ATTRIBUTES) -> dict[str, Job]:
    """Every occupation with its article and attributes, in the order of the file. Raises SpecError."""
    own: dict[str, list[tuple[int, Element]]] = {}
    for where, row in _rows(attributes, ("occupation", "type", "rank", "name")):
        if row["type"] not in TYPES or not row["rank"].isdecimal() or len(row["rank"]) > 6:
            raise SpecError(f"{where}: write a type of {', '.join(TYPES)} and a rank from 1")
        element = (row["type"], _short(where, "name", row["name"]))
        some = own.setdefault(row["occupation"], [])
        if element in [one for _, one in some]:
            raise SpecError(f"{where}: {row['occupation'][:60]!r} has {row['name'][:60]!r} twice; keep one")
        some.append((TYPES.index(row["type"]) * 10**7 + int(row["rank"]), element))
    jobs: dict[str, Job] = {}
    for where, row in _rows(occupations, ("occupation", "article", "asked_with_attributes")):
        name, asked = _short(where, "occupation", row["occupation"]), row["asked_with_attributes"]
        if row["article"] not in ("a", "an") or asked not in ("yes", "no"):
            raise SpecError(f"{where}: write an article (a, an) and yes or no in asked_with_attributes")
        if name in jobs:
            raise SpecError(f"{where}: {name[:60]!r} is there twice; keep one")
        if (asked == "yes") != (name in own):
            raise SpecError(f"{where}: {name[:60]!r} says {asked}, but {attributes} says otherwise; change one")
        jobs[name] = Job(row["article"], tuple(element for _, element in sorted(own.pop(name, []))))
    if own:
        raise SpecError(f"{attributes}: {next(iter(own))[:60]!r} is no occupation of {occupations}; add it there")
    return jobs


def read_elements(path: Path, wanted: Sequence[Element]) -> dict[Element, str]:
    """What the wanted elements mean. Raises SpecError.

    Columns: name, type, definition; or O*NET's own (Element Name, Description, with the type or the Element ID). Rows
    of other elements are passed over.
    """
    found: dict[Element, str] = {}
    for where, row in _rows(path, ("name", "definition"), _ALSO):
        types = [row["type"]] if row.get("type") else [_IDS.get(row.get("element_id", "")[:3], "")]
        if "type" not in row and "element_id" not in row:
            raise SpecError(
                f"{where}: give a column type ({', '.join(TYPES)}) or Element ID: names alone are ambiguous"
            )
        element = (types[0], row["name"])
        if element not in wanted:
            continue
        meaning = _short(where, "definition", row["definition"], LONGEST_MEANING)
        if found.setdefault(element, meaning) != meaning:
            raise SpecError(f"{where}: {row['name'][:60]!r} is defined twice; keep one")
    for type_, name in wanted:
        if (type_, name) not in found:
            raise SpecError(f"{path}: the {type_} {name[:60]!r} is not defined; add a row for it")
    return {element: found[element] for element in wanted}


def read_names(path: Path, answers: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Names with their gender, in the order of the file. Raises SpecError, as for a name that reads as an answer."""
    taken = {alike(likes) for row in answers.values() for likes in row}
    found: dict[str, str] = {}
    seen: set[tuple[str, ...]] = set()
    counts = dict.fromkeys(GENDERS, 0)
    for where, row in _rows(path, ("name", "gender")):
        name = unicodedata.normalize("NFC", row["name"])
        problem = person_problem(name)
        if problem:
            raise SpecError(f"{where}: {problem}: write another instead of {name[:60]!r}")
        if row["gender"] not in GENDERS:
            raise SpecError(f"{where}: gender: write female or male")
        if alike(name) in taken:
            raise SpecError(f"{where}: {name!r} is an answer, too; take another name")
        if not alike(name) or alike(name) in seen:
            raise SpecError(f"{where}: {name!r} is there twice, or has no letter; take another name")
        seen.add(alike(name))
        found[name] = row["gender"]
        counts[row["gender"]] += 1
        if counts[row["gender"]] > MOST_NAMES:
            raise SpecError(f"{where}: more than {MOST_NAMES:,} names are {row['gender']}; give those that are wanted")
    return found


def read_questions(path: Path = QUESTIONS) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The wordings, and the texts of the answers. Raises SpecError."""
    data = toml_of(path, f"give a file as {QUESTIONS}")
    values = checked_table(data, {**dict.fromkeys(PLACES, Key(str)), "answers": Key(dict)}, str(path), "")
    questions = {name: _question(values[name], name, path) for name in PLACES}
    rows = checked_table(values["answers"], dict.fromkeys(ANSWERS, Key(list)), f"{path}: answers", "")
    answers = {name: _likes(rows[name], f"{path}: answers.{name}") for name in ANSWERS}
    every = [key for likes in answers.values() for key in {alike(one) for one in likes}]
    if len(set(every)) < len(every):
        raise SpecError(f"{path}: answers: the same text stands for two of them; keep it for one")
    return questions, answers


def _question(said: str, name: str, path: Path) -> str:
    said, places = said.strip(), PLACES[name]
    if not 0 < len(said) <= LONGEST_QUESTION:
        raise SpecError(f"{path}: {name}: write 1 to {LONGEST_QUESTION:,} characters")
    if set(PLACE.findall(said)) != set(places) or said.count("{options}") > 1:
        named = ", ".join(f"{{{place}}}" for place in places) or "no places"
        raise SpecError(f"{path}: {name}: it has {named}: all of them (the options once), and no other")
    return said


def _likes(row: Any, where: str) -> tuple[str, ...]:
    texts = [clean_text(one) if isinstance(one, str) else "" for one in row]
    if not texts or any(not alike(one) or len(one) > LONGEST_OPTION for one in texts):
        raise SpecError(f"{where}: give texts with 1 to {LONGEST_OPTION} characters, the shown one first")
    return tuple(texts)


def pairs(names: Mapping[str, str], kind: str, most: int, seed: int = 0) -> list[tuple[str, str]]:
    """The first `most` pairs of a kind, of all there are: a seeded shuffle, dealt so that names stand equally often.

    By hand: two women and two men make four pairs; the first two use every name once.

    >>> names = {"Ann": "female", "Bea": "female", "Gus": "male", "Hal": "male"}
    >>> some = pairs(names, "different", 2)
    >>> len(pairs(names, "different", 9)), sorted(name for pair in some for name in pair), pairs(names, "male", 9)
    (4, ['Ann', 'Bea', 'Gus', 'Hal'], [('Gus', 'Hal')])

    A larger number only adds to a smaller one. "different": a woman's name, then a man's; the other kinds: two names of
    that gender. Fewer than `most` where there are no more.
    """
    rng = np.random.default_rng([seed, len(names)])
    own = {gender: [name for name, other in names.items() if other == gender] for gender in GENDERS}
    own = {gender: [some[place] for place in rng.permutation(len(some))] for gender, some in own.items()}
    if kind != "different":
        return list(islice(_rounds(own[kind]), most))
    women, men = own["female"], own["male"]
    if not women or not men:
        return []
    again = np.lcm(len(women), len(men))  # after so many pairs the same two would meet
    turns = range(min(most, len(women) * len(men)))
    return [(women[turn % len(women)], men[(turn + turn // again) % len(men)]) for turn in turns]


def _rounds(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """All pairs of some names, one by one, in rounds in which each name stands once (the circle method)."""
    if len(names) < 3:
        yield from combinations(names, 2)
        return
    ring: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    for _ in range(len(ring) - 1):
        half = len(ring) // 2
        facing = zip(ring[:half], ring[: half - 1 : -1], strict=True)
        yield from ((one, other) for one, other in facing if one and other)
        ring = [ring[0], ring[-1], *ring[1:-1]]


def prompt_of(words: Words, turn: Turn, article: str, yes: Mapping[str, Sequence[Element]]) -> Prompt:
    """A turn as a model is asked it; with letters, a letter is what is chosen, and the answers' texts are its likes."""
    said = text(words, turn, article, yes)
    _, rows = options(words, turn)
    if words.letters:
        return Prompt(said, tuple(ascii_uppercase[: len(rows)]), rows)
    return Prompt(said, tuple(row[0] for row in rows), tuple(row[1:] for row in rows))
