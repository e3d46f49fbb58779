"""A file of describers (TOML) -> frozen values, with every mistake told before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backend.describers.base import DescriberSpec, Question
from backend.metrics.lexicon import LexiconError, read_lexicon
from backend.reading import toml_of
from backend.records import clean_text
from backend.spec import Key, SpecError, checked_table

NAME = r"[a-z0-9][a-z0-9-]{0,39}"
MOST_QUESTIONS, MOST_CHOICES = 20, 200
_COMMON = {
    "name": Key(str),
    "kind": Key(str),
    "title": Key(str, ""),
    "language": Key(str, "en"),
    "batch": Key(int, 16, low=1, high=256),
    "questions": Key(list, None),
}
_QUESTION = {"name": Key(str), "ask": Key(str), "choices": Key(list, None)}


def read_describers(path: Path, kinds: Mapping[str, Mapping[str, Key]]) -> list[DescriberSpec]:
    """Every [[describers]] of a file. `kinds` maps each kind to the keys it takes. Raises SpecError."""
    data = toml_of(path, "give a file as in assets/describers")
    top = checked_table(data, {"describers": Key(list)}, str(path), "")
    found: list[DescriberSpec] = []
    for number, table in enumerate(top["describers"], start=1):
        where = f"{path}: describers[{number}]"
        if not isinstance(table, dict):
            raise SpecError(f"{where}: is no table; write [[describers]]")
        spec = _describer(table, kinds, where, path.parent)
        if spec.name in [other.name for other in found]:
            raise SpecError(f"{where}: name: {spec.name!r} is there twice; rename one")
        found.append(spec)
    return found


def _describer(table: Mapping[str, Any], kinds: Mapping[str, Mapping[str, Key]], where: str, folder: Path):
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise SpecError(f"{where}: kind: {str(kind)[:60]!r} is not one of {', '.join(kinds)}")
    values = checked_table(table, {**_COMMON, **kinds[kind]}, where, "")
    if not re.fullmatch(NAME, values["name"]):
        raise SpecError(f"{where}: name: use 1 to 40 small letters, digits and dashes")
    check_language(values["language"], where)
    options = {key: values[key] for key in kinds[kind]}
    title = clean_text(values["title"])[:200] or f"{values['name']} ({_short(options['model'])})"
    questions = _questions(values["questions"] or [], where)
    return DescriberSpec(values["name"], kind, title, values["language"], values["batch"], options, questions, folder)


def _short(model: str) -> str:
    """The last two parts of a model's name: a Hub id as it is, and of nobody's folders more than that."""
    return "/".join(clean_text(model).rstrip("/").split("/")[-2:])[:150]


def check_language(language: str, where: str) -> None:
    """Raise SpecError where the lexicon has no words of a language."""
    try:
        known = read_lexicon()
    except LexiconError as error:
        raise SpecError(str(error)) from error
    if language not in known:
        raise SpecError(
            f"{where}: language: assets/lexicon.csv has no words of {language[:20]!r}, only of {', '.join(known)}; "
            "add rows for it first"
        )


def _questions(tables: list[Any], where: str) -> tuple[Question, ...]:
    if len(tables) > MOST_QUESTIONS:
        raise SpecError(f"{where}: questions: {len(tables)} are too many; ask at most {MOST_QUESTIONS}")
    found: dict[str, Question] = {}
    for number, table in enumerate(tables, start=1):
        place = f"{where}: questions[{number}]"
        if not isinstance(table, dict):
            raise SpecError(f"{place}: is no table; write [[describers.questions]]")
        values = checked_table(table, _QUESTION, place, "")
        name, ask = clean_text(values["name"]), clean_text(values["ask"])
        choices = values["choices"] or []
        if not re.fullmatch(NAME, name) or name in found:
            raise SpecError(f"{place}: name: {name[:60]!r} is used twice, or no name of small letters, digits, dashes")
        if not ask or len(ask) > 1000:
            raise SpecError(f"{place}: ask: write 1 to 1,000 characters")
        if ask in [question.ask for question in found.values()]:
            raise SpecError(f"{place}: ask: {ask[:60]!r} is asked twice; ask it once, or in other words")
        texts = [clean_text(choice) if isinstance(choice, str) else "" for choice in choices]
        if len(choices) == 1 or len(choices) > MOST_CHOICES or len({t.casefold() for t in texts if t}) != len(choices):
            raise SpecError(f"{place}: choices: give 2 to {MOST_CHOICES} different texts")
        if any(len(text) > 100 for text in texts):
            raise SpecError(f"{place}: choices: shorten each to 100 characters")
        found[name] = Question(name, ask, tuple(texts))
    return tuple(found.values())
