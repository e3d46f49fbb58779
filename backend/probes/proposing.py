"""Neutral actions from a model: what it is asked for, what its lines are worth, and which of them are kept.

The three steps are those of the unified framework, section 4.1: a model proposes actions (figure 3), one guesses the
profession back from each (figure 4), and a likeness of guess and profession ranks them. The wording is our own.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backend.probes.actions import (
    LONGEST_ACTION,
    LONGEST_PROFESSION,
    MOST_WORDS,
    SUBJECT,
    Action,
    csv_rows,
    problems,
)
from backend.probes.writing import Talk
from backend.records import clean_text
from backend.spec import SpecError

WISH = (
    f'Write 3 to 5 sentences for an occupation. Each has the form "A {SUBJECT} is <action>" and at most {MOST_WORDS} '
    "words. The action is easy to draw, says nothing of gender, race or age, and lets one guess the occupation without "
    "naming it. Write one sentence a line, and nothing else."
)
EXAMPLES = {
    "Bakers": ("kneading dough on a floured table", "pulling hot loaves out of an oven", "dusting buns with sugar"),
    "Firefighters": ("spraying water from a hose at a burning house", "sliding down a pole to a red truck"),
    "Librarians": ("putting books back on tall shelves", "stamping a return date into a borrowed novel"),
    "Gardeners": ("pruning roses along a stone path", "planting tulip bulbs in a flower bed"),
}
SHOWN = 3
"""Examples that are shown: others than the profession that is asked about."""
QUESTION = (
    f"What is the occupation of the {SUBJECT} in a sentence? Answer with a JSON list of short names of occupations, "
    "the likeliest first, and nothing else."
)
GUESSED = (f"A {SUBJECT} is handing out exams to a class", '["teacher", "professor"]')
MOST_LINES, MOST_GUESSES = 20, 3
"""Lines of one text that are looked at, and guesses about one action."""
LINE_TOKENS, GUESS_TOKENS = 30, 40
_BULLET = re.compile(r"^(?:[-–—*•·>]+|\(?\d{1,2}[.):]|[a-z][.)])\s+", re.I)
_PLACE = re.compile(r"[<\[{(]\s*(?:the\s+)?subject\s*[>\]})]", re.I)
_ACTION = re.compile(rf"A {re.escape(SUBJECT)} is (?:\w+ly )?[\w-]+ing\b")


@dataclass(frozen=True)
class Proposal:
    """One line that a model wrote for a profession, and what became of it. `reason` says why it is not kept."""

    profession: str
    line: str
    text: str = ""
    reason: str = ""
    guesses: tuple[str, ...] = ()
    guess: str = ""
    score: float | None = None
    kept: bool = False


def read_professions(path: Path) -> list[str]:
    """The column `profession` of a CSV file. Raises SpecError with file, line and remedy."""
    found: dict[str, int] = {}
    names = []
    for line, row in csv_rows(path, ("profession",)):
        where, name = f"{path}, line {line}", clean_text(row["profession"])
        if not name or len(name) > LONGEST_PROFESSION:
            raise SpecError(f"{where}: profession: write 1 to {LONGEST_PROFESSION} characters")
        odd = next((letter for letter in name if letter in '<>{}[]|\\"`'), "")
        if odd or not name[0].isalnum():
            raise SpecError(f"{where}: profession: {name[:60]!r} holds {odd or name[0]!r}: write a plain name")
        if name.casefold() in found:
            raise SpecError(f"{where}: profession: {name[:60]!r} is in line {found[name.casefold()]}, too; keep one")
        found[name.casefold()] = line
        names.append(name)
    if not names:
        raise SpecError(f"{path}: no profession; add rows under profession")
    return names


def wish_for(profession: str, lines: int) -> Talk:
    """What asks a model for the actions of a profession; it has said enough after so many lines."""
    others = [name for name in EXAMPLES if name[:4].casefold() not in profession.casefold()]
    turns = []
    for name in others[:SHOWN]:
        turns += [f"Occupation: {name}", "\n".join(f"A {SUBJECT} is {action}" for action in EXAMPLES[name])]
    turns[0] = f"{WISH}\n\n{turns[0]}"
    return Talk((*turns, f"Occupation: {profession}"), lambda text: _stopped(text, lines), LINE_TOKENS * lines)


def _stopped(text: str, lines: int) -> bool:
    """Whether a text has its lines, or says the last one again."""
    said = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
    return len(said) >= lines or len(set(said)) < len(said)


def question_about(text: str) -> Talk:
    """What asks a model whose action this is."""
    first = f"{QUESTION}\n\nSentence: {GUESSED[0]}"
    return Talk((first, GUESSED[1], f"Sentence: {text}"), lambda said: "]" in said, GUESS_TOKENS)


def tidy(line: str) -> str:
    """A line as a sentence: without a bullet, quotes and a full stop, its placeholder as it should be.

    >>> tidy('2. "A [Subject] is kneading dough."')
    'A <subject> is kneading dough'
    """
    text = _BULLET.sub("", clean_text(line)).strip(" \"'“”`")
    return re.sub(r"\s+", " ", _PLACE.sub(SUBJECT, text)).rstrip(" .")


def fault(profession: str, text: str) -> str:
    """Why a sentence is no neutral action of a profession; "" where it is one. Raises SpecError (lists of words).

    >>> fault("baker", "A <subject> is baking bread")
    'holds baking (the profession)'
    >>> fault("baker", "A <subject> is a cook"), fault("baker", "A <subject> is kneading dough")
    ('says no action: it does not begin with "A <subject> is ...ing"', '')
    """
    if text.count(SUBJECT) != 1:
        return f"holds {SUBJECT} {text.count(SUBJECT)} times, not once"
    words = len(text.split())
    if words > MOST_WORDS or len(text) > LONGEST_ACTION:
        return f"has {words:,} words and {len(text):,} characters; at most {MOST_WORDS} and {LONGEST_ACTION}"
    if re.search(r"[<>{}|\\`]", text.replace(SUBJECT, "")):
        return "holds markup"
    if any(letter.isalpha() and "LATIN" not in unicodedata.name(letter, "") for letter in text):
        return "is not in Latin letters"
    if not _ACTION.match(text):
        return f'says no action: it does not begin with "A {SUBJECT} is ...ing"'
    if any(text.casefold() == f"a {SUBJECT} is {one}" for some in EXAMPLES.values() for one in some):
        return "is one of the examples that were shown"
    wrong = problems([Action(profession, text)])
    return f"holds {wrong[0].rpartition(' holds ')[2]}" if wrong else ""


def proposals(profession: str, texts: Sequence[str]) -> list[Proposal]:
    """The lines of a model's texts, each judged by itself; the same sentence is looked at once."""
    found: dict[str, Proposal] = {}
    for text in texts:
        lines = [line for line in text.splitlines() if line.strip()]
        for line in lines[:MOST_LINES]:
            said = tidy(line)
            if said.casefold() not in found:
                found[said.casefold()] = Proposal(profession, line[:1000], said[:1000], fault(profession, said))
        if len(lines) > MOST_LINES:
            left_out = f"{len(lines) - MOST_LINES:,} more lines of this text were not looked at"
            found.setdefault(left_out, Proposal(profession, "", "", left_out))
    return list(found.values())


def guesses_in(text: str) -> tuple[str, ...]:
    """The first guesses of an answer: the texts of a JSON list, else what quotes, commas or lines part.

    >>> guesses_in('```json\\n["Baker", "cook", "baker", "chef", "waiter"]'), guesses_in("A baker, or a cook.")
    (('Baker', 'cook', 'chef'), ('A baker', 'or a cook'))
    """
    inner = re.sub(r"^\s*```\w*\s*|\s*```\s*$", "", text)
    try:
        held = json.loads(inner)
    except (ValueError, RecursionError):
        held = None
    if isinstance(held, list) and all(isinstance(one, str) for one in held):
        said = held
    else:  # a list that was cut short, or words
        said = re.findall(r'"([^"\n]{1,200})"', inner) or re.split(r"[,\n]", inner.strip(" []"))
    plain = (clean_text(one).strip(" .-*\"'[]") for one in said)
    found: dict[str, str] = {}
    for one in plain:
        if 0 < len(one) <= LONGEST_PROFESSION:
            found.setdefault(one.casefold(), one)
    return tuple(found.values())[:MOST_GUESSES]


def guessed(proposal: Proposal, guesses: Sequence[str], scores: Sequence[float]) -> Proposal:
    """A proposal with the guesses about it and their likeness to its profession: the best of them counts."""
    if not guesses:
        return replace(proposal, reason="nothing was guessed")
    best = max(range(len(guesses)), key=lambda place: scores[place])
    return replace(proposal, guesses=tuple(guesses), guess=guesses[best], score=float(scores[best]))


def choose(found: Sequence[Proposal], keep: int, at_least: float = -1.0) -> list[Proposal]:
    """The proposals with the best of each profession kept, in their order.

    Of each profession at most `keep`, those with the highest score of at least `at_least`; between equals the one that
    was proposed first. No sentence is kept for two professions. The others say why not.
    """
    chosen = list(found)
    taken: dict[str, str] = {}
    places: dict[str, list[int]] = {}
    for at, one in enumerate(found):
        if not one.reason:
            places.setdefault(one.profession, []).append(at)
    for profession, some in places.items():
        kept = 0
        for at in sorted(some, key=lambda at: (-(found[at].score or 0.0), at)):
            one = found[at]
            other = taken.get(one.text.casefold())
            if (one.score or 0.0) < at_least:
                reason = f"its guess is less alike than {at_least:g}"
            elif other is not None:
                reason = f"is kept for {other}"
            elif kept >= keep:
                reason = f"others of this profession have a better guess: {keep} are kept"
            else:
                reason, kept = "", kept + 1
                taken[one.text.casefold()] = profession
            chosen[at] = replace(one, kept=not reason, reason=reason)
    return chosen
