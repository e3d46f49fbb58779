"""Two applicants on demand: one dialogue, or both orders of its names, put to a model now. Nothing is stored."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import pandas as pd

from backend.hire_plan import Asked, Plan, typed
from backend.hiring import affirmed_of, said, source_of
from backend.hiring_texts import LONGEST_PERSON, STEPS, person_problem
from backend.live_ask import Asking, AskNews, at_once, go_on, log_reasons, shown
from backend.live_questions import PICTURES_ONLY, Known, plain
from backend.probes.ask import Model, ask
from backend.probes.base import alike
from backend.probes.hiring import NAMES, read_jobs, read_names, read_questions
from backend.records import clean_text
from backend.store import HiringSource
from backend.waiting import LiveError, Ticket

BOTH, ONE = "both", "one"
ORDERS = (BOTH, ONE)
USUAL = "nurse"
"""The occupation of a first view, where the list has it."""
PLACES = ("first", "second")
FIELDS = {"first": "First-named", "second": "Second-named"}
_SMALLER = "a smaller model or one order of names"


@dataclass(frozen=True)
class Wish:
    """Two names in the order in which they are named, an occupation, and whether the names are exchanged, too."""

    model: str
    first: str
    second: str
    occupation: str
    orders: str = BOTH


WISHED = tuple(field.name for field in fields(Wish))


@dataclass(frozen=True)
class Compared:
    """What a model answered: `answers` has a row a prompt, as an audit's table of hiring has them, but for the kind of
    pairs, which is "" as nobody said a gender. `source` tells what was said, `notes` what a reader must know."""

    wish: Wish
    title: str
    source: HiringSource
    answers: pd.DataFrame
    notes: tuple[str, ...]
    seconds: float

    @property
    def orders(self) -> list[tuple[str, str]]:
        """The names in the orders in which they were named."""
        pair = (self.wish.first, self.wish.second)
        return [pair, pair[::-1]] if self.wish.orders == BOTH else [pair]


class Applicants:
    """What can be asked about two applicants, and asking it with the models of `asking`, in the same line.

    Raises SpecError where the shipped wordings, names or occupations cannot be read.
    """

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self.known: dict[str, Known] = {
            name: one for name, one in asking.known.items() if one.spec.kind not in PICTURES_ONLY
        }
        """The models that read text."""
        self.occupations = tuple(read_jobs())
        self._answers = read_questions()[1]
        names = read_names(NAMES, self._answers)
        self.usual = tuple(next(n for n, gender in names.items() if gender == one) for one in ("female", "male"))
        """The names of a first view: of the shipped ones the first of each gender."""

    def settled(self, values: Mapping[str, Any]) -> Wish:
        """The wish nearest to what an address or the controls hold. Names stay as they are, cut to what `checked` would
        look at. There must be a model."""
        held = {name: clean_text(values.get(name)) if isinstance(values.get(name), str) else "" for name in WISHED}
        ready = sorted(self.known, key=lambda name: bool(self.known[name].lacking))
        jobs = self.occupations
        return Wish(
            held["model"] if held["model"] in self.known else ready[0],
            held["first"][: LONGEST_PERSON + 1],
            held["second"][: LONGEST_PERSON + 1],
            held["occupation"] if held["occupation"] in jobs else USUAL if USUAL in jobs else jobs[0],
            held["orders"] if held["orders"] in ORDERS else BOTH,
        )

    def checked(self, values: Mapping[str, Any]) -> Wish:
        """A wish from values that come from a browser. Raises LiveError with the field and what it may hold."""
        held = {name: values.get(name) if isinstance(values.get(name), str) else "" for name in WISHED}
        if held["model"] not in self.known:
            raise LiveError(f"Model: choose one of {', '.join(self.known)}.")
        one = self.known[held["model"]]
        if one.lacking:
            raise LiveError(one.lacking)
        if held["occupation"] not in self.occupations:
            raise LiveError("Occupation: choose one of the list.")
        if held["orders"] not in ORDERS:
            raise LiveError(f"Orders of the names: choose one of {', '.join(ORDERS)}.")
        first, second = (self._name(place, held[place], one.spec.letters) for place in PLACES)
        if alike(first) == alike(second):
            raise LiveError(f"{FIELDS['second']}: write another name, the two read alike.")
        return Wish(held["model"], first, second, held["occupation"], held["orders"])

    def _name(self, place: str, text: str, letters: bool) -> str:
        name = unicodedata.normalize("NFC", clean_text(text[: 10 * LONGEST_PERSON]))
        problem = person_problem(name)
        if not problem and len(text) > 10 * LONGEST_PERSON:
            problem = f"a name has at most {LONGEST_PERSON} characters"
        if problem:
            raise LiveError(f"{FIELDS[place]}: {problem}.")
        if not alike(name) or (letters and len(name) == 1):
            raise LiveError(f"{FIELDS[place]}: write a longer name, this one cannot be told from an option.")
        if alike(name) in {alike(like) for likes in self._answers.values() for like in likes}:
            raise LiveError(f"{FIELDS[place]}: {name} is an answer to the questions, too; write another name.")
        return name

    def plan(self, wish: Wish) -> Plan:
        """Every prompt of a checked wish; nothing is loaded."""
        letters = self.known[wish.model].spec.letters
        return typed(wish.first, wish.second, wish.occupation, wish.orders == BOTH, letters)

    def cancel(self, visitor: str) -> None:
        """End a visitor's wish; the prompts under way are still finished."""
        self._asking.cancel(visitor)

    def ask(self, wish: Wish, visitor: str) -> Iterator[AskNews | Compared]:
        """Wait, load and ask a checked wish, step by step: AskNews, and last one Compared. Raises LiveError."""
        planned = self.plan(wish)

        def work(model: Model, ticket: Ticket) -> Compared:
            return self._work(wish, planned, model, ticket)

        yield from self._asking.served(wish.model, work, visitor)

    def _work(self, wish: Wish, planned: Plan, model: Model, ticket: Ticket) -> Compared:
        known, began = self.known[wish.model], time.monotonic()
        size, total = at_once(known), number_of(planned)
        rows: list[dict[str, Any]] = []
        affirmed: dict[tuple[str, str], set[tuple[str, str, str]]] = {}
        for step in STEPS:
            asked = [planned.asked(turn, affirmed.get((turn.first, turn.second), ())) for turn in planned.turns[step]]
            for start in range(0, len(asked), size):
                go_on(ticket, began, _SMALLER)
                ticket.news.put(AskNews(0, len(rows), total))
                rows += _put(model, known, asked[start : start + size])
            if step == "attribute":
                affirmed = affirmed_of(zip(planned.turns[step], (row["answer"] for row in rows), strict=True))
        go_on(ticket, began, _SMALLER)
        notes = tuple(plain(note, known.spec) for note in model.notes)
        source = source_of(model, planned, self._asking.fingerprint)
        return Compared(wish, known.spec.title, source, pd.DataFrame(rows), notes, time.monotonic() - began)


def _put(model: Model, known: Known, asked: list[Asked]) -> list[dict[str, Any]]:
    answers = ask(model, [one.prompt for one in asked])
    log_reasons(answers, known.spec)
    return [{**asdict(one.turn), **said(one, shown(answer, known))} for one, answer in zip(asked, answers, strict=True)]


def number_of(planned: Plan) -> int:
    """How many prompts a plan has."""
    return sum(map(len, planned.turns.values()))


def first_prompt(planned: Plan) -> str:
    """The first prompt, exactly as it will be sent: later ones rest on the answers before them."""
    turn = next(turn for step in STEPS for turn in planned.turns[step])
    return planned.asked(turn, ()).prompt.text


def followed(one: str, other: str) -> str:
    """What a choice followed: `one` is what was chosen with the names in one order, `other` with them exchanged, each
    "first" or "second" (the place) or an answer that names nobody.

    By hand: whoever is named first is chosen twice, so it was the place; the first and then the second is the same
    name; "unknown" in either order tells nothing.

    >>> followed("first", "first"), followed("first", "second"), followed("first", "unknown")
    ('place', 'name', '')
    """
    if one not in PLACES or other not in PLACES:
        return ""
    return "place" if one == other else "name"
