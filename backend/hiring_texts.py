"""What is said in a dialogue about two applicants: the exact text of every prompt, from its wordings alone.

Pure, and imported by whoever asks (backend/probes/hiring.py) and by whoever shows what was asked (explorers, through
`HiringSource.words` of the store): both get the same text. The steps are those of "Hire Me or Not?", sections 3.2 to
3.4: `attribute` (has this subject this attribute?), `qualified` (Q1), `more` (Q2) and `was` (Q3).
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

KINDS = ("different", "female", "male")
"""Of pairs: one woman's and one man's name, or, as controls, two of one gender (section 4.1)."""
SPACES = {
    "attribute": ("yes", "no"),
    "qualified": ("yes", "no"),
    "more": ("first", "second", "unknown"),
    "was": ("first", "second", "both", "neither", "unknown"),
}
"""Step -> what can be answered, in the order of `probabilities`."""
STEPS = tuple(SPACES)
TYPES = ("skill", "knowledge", "ability")
GENDERS = ("female", "male")
"""Of names, as those who collected them say."""
RULES = ("balanced", "female")
"""Whose attributes are told first: by turns, or (the paper's rule) those of the woman's name."""
LONGEST_PERSON = 40
ANSWERS = ("yes", "no", "unknown", "both", "neither")
"""What has a wording of its own; "first" and "second" are the names."""
PLACES = {
    "context": ("first", "second"),
    "item": ("element", "type"),
    "has": ("subject", "attributes"),
    "attribute": ("context", "element", "type", "definition", "subject", "options"),
    "qualified": ("context", "attributes", "subject", "article", "occupation", "options"),
    "more": ("context", "attributes", "article", "occupation", "options"),
    "was": ("context", "attributes", "article", "occupation", "options"),
    "letters": (),
}
"""Wording -> the places that it has: all of them, and no other."""
PLACE = re.compile(r"\{(\w*)\}")

Element = tuple[str, str]
"""Type and name: Mathematics is a skill and a knowledge."""


@dataclass(frozen=True)
class Job:
    """An occupation: its article, and the attributes that are asked for it (none: it is asked without them), in their
    order."""

    article: str
    attributes: tuple[Element, ...] = ()


@dataclass(frozen=True)
class Turn:
    """One prompt of a dialogue, as a row of an audit's table tells it from the others.

    `first` and `second` are the names in the order in which they are named. `occupation` is "" for the attribute step,
    whose answers all occupations share; `subject` "" where both are asked about; `type` and `element` "" but for the
    attribute step; `lead` ("first", "second") says whose attributes are told first, "" where one subject's are told.
    `rotation`: the options begin with that one of the step's SPACES.
    """

    kind: str
    first: str
    second: str
    occupation: str
    step: str
    subject: str = ""
    type: str = ""
    element: str = ""
    lead: str = ""
    rotation: int = 0


@dataclass(frozen=True)
class Words:
    """Everything that is said, beside names and occupations.

    `questions` has a text for each of PLACES, `answers` the shown text of each of ANSWERS and then its likes,
    `elements` what an element means. With `letters` the options are lettered, and a letter is asked for.
    """

    questions: Mapping[str, str]
    answers: Mapping[str, tuple[str, ...]]
    elements: Mapping[Element, str]
    letters: bool = False

    def digest(self) -> str:
        """A hash of it."""
        held = [sorted(self.questions.items()), [self.answers[name] for name in ANSWERS], self.letters]
        held.append(sorted((*element, text) for element, text in self.elements.items()))
        return hashlib.sha256(json.dumps(held).encode()).hexdigest()[:16]


def fill(template: str, words: Mapping[str, str]) -> str:
    """A template with its places filled, each once and in one go: what is put in is never read as a template.

    >>> fill("{first} and {second}", {"first": "{second}", "second": "B {0} %s"})
    '{second} and B {0} %s'
    """
    return PLACE.sub(lambda match: words.get(match[1], match[0]), template)


def options(words: Words, turn: Turn) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The answers of a turn in the order in which they are shown, and for each the shown text and its likes.

    By hand: rotation 1 of (first, second, unknown) begins with the second name.

    >>> likes = {name: (name.title(),) for name in ANSWERS}
    >>> options(Words({}, likes, {}), Turn("different", "Ann", "Bob", "nurse", "more", rotation=1))
    (('second', 'unknown', 'first'), (('Bob',), ('Unknown',), ('Ann',)))
    """
    space = SPACES[turn.step]
    shown = (*space[turn.rotation :], *space[: turn.rotation])
    names = {"first": (turn.first,), "second": (turn.second,)}
    return shown, tuple(names.get(answer) or words.answers[answer] for answer in shown)


def attributes_of(job: Job, turn: Turn, affirmed: Collection[tuple[str, str, str]]) -> dict[str, list[Element]]:
    """What each of a turn's two subjects has of an occupation's attributes, of all that was affirmed: subject, type and
    name of an attribute."""
    people = (turn.first, turn.second)
    return {subject: [one for one in job.attributes if (subject, *one) in affirmed] for subject in people}


def text(words: Words, turn: Turn, article: str = "", yes: Mapping[str, Sequence[Element]] | None = None) -> str:
    """The exact text of a turn's prompt.

    `article` is the occupation's ("a", "an"), `yes` what each subject was said to have, of this occupation's
    attributes, in their order: a subject without any is not described. Neither is used in the attribute step.

    >>> questions = {"context": "{first}, {second}.", "item": "{element} {type}", "has": "{subject}: {attributes}."}
    >>> questions |= {"more": "{context}{attributes} Who is {article} {occupation}? {options}"}
    >>> likes = {name: (name.title(),) for name in ANSWERS}
    >>> turn = Turn("different", "Ann", "Bob", "nurse", "more", lead="second")
    >>> yes = {"Ann": [("skill", "Writing")], "Bob": [("ability", "Tact")]}
    >>> print(text(Words(questions, likes, {}), turn, "a", yes))
    Ann, Bob. Bob: Tact ability. Ann: Writing skill. Who is a nurse? - Ann
    - Bob
    - Unknown
    """
    rows = [likes[0] for _, likes in zip(*options(words, turn), strict=True)]
    marks = [f"{letter}." for letter in ascii_uppercase] if words.letters else ["-"] * len(rows)
    pair = {"first": turn.first, "second": turn.second}
    told = [turn.subject] if turn.subject else [turn.first, turn.second]
    told = told[::-1] if turn.lead == "second" else told
    filled = fill(
        words.questions[turn.step],
        {
            "context": fill(words.questions["context"], pair),
            "attributes": "".join(_has(words, subject, (yes or {}).get(subject, ())) for subject in told),
            "options": "\n".join(f"{mark} {row}" for mark, row in zip(marks, rows, strict=False)),
            "definition": words.elements.get((turn.type, turn.element), ""),
            **{name: getattr(turn, name) for name in ("subject", "element", "type", "occupation")},
            "article": article,
        },
    )
    return f"{filled}\n{words.questions['letters']}" if words.letters else filled


def _has(words: Words, subject: str, elements: Collection[Element]) -> str:
    """What is told of one subject, with the space before it; nothing where it has no attribute."""
    if not elements:
        return ""
    items = [fill(words.questions["item"], {"type": type_, "element": name}) for type_, name in elements]
    return " " + fill(words.questions["has"], {"subject": subject, "attributes": ", ".join(items)})


def person_problem(name: str) -> str:
    """What is wrong with an applicant's name, as a sentence without its end; "" where nothing is.

    >>> person_problem("Ann-Marie O'Neil"), person_problem("<b>Ann</b>")
    ('', 'a name has letters, spaces, dashes and apostrophes only')
    """
    if not name.strip():
        return "a name is empty"
    if len(name) > LONGEST_PERSON:
        return f"a name has at most {LONGEST_PERSON} characters"
    if not name[0].isalpha() or any(unicodedata.category(c)[0] not in "LM" and c not in " -'\u2019." for c in name):
        return "a name has letters, spaces, dashes and apostrophes only"
    return ""
