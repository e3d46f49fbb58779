"""Neutral actions of professions: a table of sentences with a place for the subject, and what would give it away.

A sentence shows what somebody does, so that the profession can be guessed without being named, and says nothing of
gender, race or age (unified framework, section 4.1, in our own words).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from backend.metrics.lexicon import LexiconError, read_lexicon
from backend.metrics.markers import mask, tokens
from backend.prompts import article
from backend.records import clean_text
from backend.spec import ROOT, SpecError

ACTIONS = ROOT / "assets" / "actions.csv"
TELLING = ROOT / "assets" / "probes" / "telling-words.csv"
SUBJECT = "<subject>"
MOST_WORDS = 20
MOST_ACTIONS, LONGEST_PROFESSION, LONGEST_ACTION = 100_000, 200, 400
TELLS = ("gender", "race", "age")
_SMALL = frozenset(("and", "all", "the", "for", "not", "with", "other", "related"))
"""Words of long titles ("Tellers and Clerks, All Other") that name nothing."""
_ENDINGS = re.compile(r"(ress|ess|er|or|ist|ian|ant|ent|e)$")


@dataclass(frozen=True)
class Action:
    """One sentence of a profession; `text` holds SUBJECT once."""

    profession: str
    text: str

    @property
    def key(self) -> str:
        """What the measures call this input: the profession and the sentence."""
        return f"{self.profession}: {self.text}"


def read_actions(path: Path = ACTIONS) -> list[Action]:
    """The actions of a CSV file with the columns profession and action. Raises SpecError with file, line and remedy.

    Every sentence has the placeholder once, at most MOST_WORDS words, and stands in the file once. What would give a
    subject away is told by `problems`, and refused by nobody.
    """
    rows = csv_rows(path, ("profession", "action"))
    found: dict[str, Action] = {}
    for line, row in rows:
        profession, text = clean_text(row["profession"]), clean_text(row["action"])
        where = f"{path}, line {line}"
        if not profession or len(profession) > LONGEST_PROFESSION:
            raise SpecError(f"{where}: profession: write 1 to {LONGEST_PROFESSION} characters")
        if text.count(SUBJECT) != 1:
            raise SpecError(f"{where}: action: write {SUBJECT} once, where the subject stands")
        if len(text.split()) > MOST_WORDS or len(text) > LONGEST_ACTION:
            raise SpecError(f"{where}: action: shorten it to {MOST_WORDS} words and {LONGEST_ACTION} characters")
        if text.casefold() in found:
            raise SpecError(f"{where}: action: {text[:80]!r} is there twice; keep one")
        found[text.casefold()] = Action(profession, text)
    if not found:
        raise SpecError(f"{path}: no action; add rows under profession,action")
    return list(found.values())


def csv_rows(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with their lines. Raises SpecError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not set(columns) <= set(reader.fieldnames or ()):
                raise SpecError(f"{path}: name the columns {', '.join(columns)} in the first line")
            rows = [(reader.line_num, {name: row[name] or "" for name in columns}) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SpecError(f"{path} cannot be read ({error}): give a CSV file in UTF-8") from error
    if len(rows) > MOST_ACTIONS:
        raise SpecError(f"{path}: {len(rows):,} rows are too many; give at most {MOST_ACTIONS:,}")
    return rows


def fill_subject(action: str, subject: str) -> str:
    """An action with its subject named, "a" or "an" before it.

    >>> fill_subject("A <subject> is kneading dough", "individual")
    'An individual is kneading dough'
    """

    def named(match: re.Match) -> str:
        first = match[1] or ""
        right = article(subject)
        return f"{right.capitalize() if first[:1].isupper() else right} {subject}" if first else subject

    return re.sub(rf"(?:\b([Aa]n?) )?{re.escape(SUBJECT)}", named, action)


@lru_cache(maxsize=8)
def telling_words(language: str = "en", path: Path = TELLING) -> Mapping[str, str]:
    """Word -> what it tells: gender (the lexicon's words for women, men and non-binary people, and more), race or age.

    Raises SpecError.
    """
    try:
        gendered = read_lexicon().get(language, {})
    except LexiconError as error:
        raise SpecError(str(error)) from error
    found = {word: "gender" for word, kind in gendered.items() if kind != "neutral"}
    for line, row in csv_rows(path, ("language", "word", "tells")):
        if row["tells"] not in TELLS or len(tokens(row["word"])) != 1:
            raise SpecError(f"{path}, line {line}: write one word, and as what it tells one of {', '.join(TELLS)}")
        if row["language"] == language:
            found[tokens(row["word"])[0]] = row["tells"]
    if not found:
        raise SpecError(f"{path}: there are no words of {language[:20]!r}; add rows for it")
    return found


def stem(word: str) -> str:
    """The part of a profession's name that its activity shares, at least three letters.

    >>> [stem(word) for word in ("baker", "hostess", "waitress", "cook", "CEO")]
    ['bak', 'host', 'wait', 'cook', 'ceo']
    """
    whole = word.casefold()
    short = _ENDINGS.sub("", whole)
    return short if len(short) >= 3 else whole


def names_profession(action: Action) -> list[str]:
    """The words of an action that name its profession: a word of its name, or one with the last word's stem.

    >>> names_profession(Action("bus driver", "A <subject> is driving a bus"))
    ['driving', 'bus']
    >>> names_profession(Action("Bakers and Cooks, Except Private", "A <subject> is baking and cooking in private"))
    ['baking', 'cooking']

    Words of fewer than three letters are no name ("IT" is "it"), nor are those of _SMALL and what is excepted. In a
    title that names several, the last word of each counts.
    """
    title = re.split(r"\bexcept\b", action.profession, flags=re.I)[0]
    name = _name_words(title)
    said = tokens(action.text.replace(SUBJECT, " "))
    whole = mask(said, action.profession)
    parts = [mask(said, word) for word in name if len(word) >= 3]
    heads = [_name_words(part)[-1:] for part in re.split(r"[,/]|--|\b(?:and|or)\b", title, flags=re.I)]
    stems = [stem(re.sub(r"(?<=[^s])s$", "", head)) for one in heads for head in one]
    roots = tuple(root for root in stems if len(root) >= 3)
    return [
        word
        for place, word in enumerate(said)
        if len(word) >= 3
        and word not in _SMALL
        and (whole[place] or any(part[place] for part in parts) or word.startswith(roots))
    ]


def _name_words(title: str) -> list[str]:
    return [word for part in tokens(title) for word in part.split("-") if word and word not in _SMALL]


def problems(actions: Sequence[Action], language: str = "en") -> list[str]:
    """A sentence for every action that gives its subject or its profession away. Raises SpecError.

    >>> problems([Action("baker", "A <subject> is baking bread for her son")])[0]
    "baker: 'A <subject> is baking bread for her son' holds her (gender), son (gender), baking (the profession)"
    """
    telling = telling_words(language)
    found = []
    for action in actions:
        words = tokens(action.text.replace(SUBJECT, " "))
        told = [f"{word} ({telling[word]})" for word in words if word in telling]
        told += [f"{word} (the profession)" for word in names_profession(action)]
        if told:
            found.append(f"{action.profession}: {action.text!r} holds {', '.join(told)}")
    return found
