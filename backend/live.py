"""Pictures on demand: one model in memory, one visitor at a time, in the order in which they asked.

`Live.draw` is a generator: it yields what a waiting visitor may know, and last what was drawn. Nothing is stored.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.describe import Answer, DescribeError, load_asker
from backend.installed import STARTER, of_starter
from backend.pictures import read_pixels
from backend.prompts import Prompt
from backend.records import clean_text, count
from backend.spec import SpecError, load_spec
from backend.starter.captions import known_words
from backend.starter.questions import ETHNICITY, GENDER, JOB
from backend.systems import KEYS, Refused, Request, StoppedError, System, make_system
from backend.waiting import Line, LiveError, Ticket

QUESTIONS = {GENDER: "gender", ETHNICITY: "skin tone, asked as ethnicity", JOB: "job"}
"""Each question that the starter's model is asked, and what a table calls it."""
LONGEST_PROMPT = 400
IMAGES, STEPS, GUIDANCE, HIGHEST_SEED = (4, 16), (1, 50), (1.0, 10.0), 2**31 - 100
MOST_SECONDS = 180


@dataclass(frozen=True)
class Wish:
    """What a visitor asked for: picture i (from 0) has the seed `seed` + i."""

    system: str
    prompt: str
    images: int
    seed: int
    steps: int
    guidance: float


@dataclass(frozen=True)
class News:
    """How far a wish has come: visitors before it, or steps done of all steps."""

    waiting: int = 0
    step: int = 0
    steps: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """What came of a wish: bytes or a refusal for each picture, and a row of answers (one a question) where asked."""

    wish: Wish
    pictures: tuple[bytes | Refused, ...]
    answers: tuple[tuple[Answer, ...], ...]
    notes: tuple[str, ...]
    seconds: float


class Live:
    """The systems of a spec, drawn from on demand; `line` may be shared with other work. Raises SpecError where the
    spec cannot be used."""

    def __init__(self, spec: Path, line: Line | None = None) -> None:
        systems = [system for system in load_spec(spec, KEYS).systems if system.kind != "folder"]
        if not systems:
            raise SpecError(f"{spec}: no system in it can draw: add one of another kind than folder")
        self.systems = {system.name: system for system in systems}
        self._line = line or Line()
        self._made: dict[str, System] = {}
        self._loaded: System | None = None
        self._asker: Any = None

    def wish(self, system: Any, prompt: Any, images: Any, seed: Any, steps: Any, guidance: Any) -> Wish:
        """A wish from values that come from a browser. Raises LiveError with the field and what it may hold."""
        if not isinstance(system, str) or system not in self.systems:
            raise LiveError(f"System: choose one of {', '.join(self.systems)}.")
        text = clean_text(prompt if isinstance(prompt, str) else "")
        if not text or len(text) > LONGEST_PROMPT:
            raise LiveError(f"Prompt: write 1 to {LONGEST_PROMPT} characters; it has {len(text):,}.")
        strength = _number("Guidance", guidance, *GUIDANCE)
        whole = [
            int(_number(name, value, *bounds, whole=True))
            for name, value, bounds in (
                ("Pictures", images, IMAGES),
                ("Seed", seed, (0, HIGHEST_SEED)),
                ("Steps", steps, STEPS),
            )
        ]
        return Wish(system, text, *whole, strength)

    def notes(self, wish: Wish) -> tuple[str, ...]:
        """What a visitor should know of the prompt before anything is loaded."""
        if not of_starter(self.systems[wish.system]):
            return ()
        known = known_words()
        words = dict.fromkeys(re.findall(r"\w+", wish.prompt.lower()))
        strange = [word for word in words if word not in known]
        if not strange:
            return ()
        return (
            f"{wish.system} was never taught {count(len(strange), 'word')} of this prompt: {', '.join(strange[:12])}. "
            "What it draws for them means nothing.",
        )

    def cancel(self, visitor: str) -> None:
        """End a visitor's wish; the step under way is still finished."""
        self._line.stop(visitor)

    def close(self) -> None:
        """End every wish and take no other."""
        self._line.close()

    def draw(self, wish: Wish, visitor: str) -> Iterator[News | Drawn]:
        """Wait, load, draw and ask: News, and last one Drawn. Raises LiveError.

        A visitor has one wish at a time. Closing the generator, or leaving it for SILENCE seconds, ends the work.
        """
        yield from self._line.served(visitor, lambda ticket: self._work(wish, ticket), News, News())

    def _work(self, wish: Wish, ticket: Ticket) -> Drawn:
        try:
            return self._make(wish, ticket)
        except StoppedError as stopped:
            raise LiveError(str(stopped)) from stopped
        except (SpecError, DescribeError) as error:
            raise LiveError(f"{error}.") from error
        except ImportError as error:
            raise LiveError(f"A library is missing: say pip install -r requirements.txt ({error}).") from error

    def _make(self, wish: Wish, ticket: Ticket) -> Drawn:
        began = time.monotonic()
        _go_on(ticket, began)
        notes = self.notes(wish)
        ticket.news.put(News(notes=notes))
        system = self._system(wish.system)
        drawing = time.monotonic()  # loading, which may be a download, has no limit of time
        options = {**system.spec.options, "steps": wish.steps, "guidance": wish.guidance}
        system.options = options | {name: MOST_SECONDS for name in ("timeout",) if options.get(name, 0) > MOST_SECONDS}
        lost = system.left_out(wish.prompt) if hasattr(system, "left_out") else ""
        if lost:
            shown = lost if len(lost) <= 200 else f"{lost[:200]} …"
            notes += (f"The prompt is longer than {wish.system} reads. Left out: “{shown}”.",)
        prompt, size = Prompt("professions", wish.prompt, wish.images), system.options["batch"]
        asked = [Request(prompt, number + 1, wish.seed + number) for number in range(wish.images)]
        batches = [asked[start : start + size] for start in range(0, len(asked), size)]
        pictures: list[bytes | Refused] = []
        for place, batch in enumerate(batches):

            def step(done: int, earlier: int = place * wish.steps) -> None:
                _go_on(ticket, drawing)
                ticket.news.put(News(0, earlier + done, len(batches) * wish.steps, notes))

            step(0)
            system.on_step = step
            pictures += system.generate(batch)
        _go_on(ticket, drawing)
        answers: tuple[tuple[Answer, ...], ...] = ()
        if of_starter(self.systems[wish.system]):
            try:
                answers = self._ask(pictures)
            except DescribeError as error:  # the pictures are there: they are shown without answers
                notes += (f"No model could be asked: {error}.",)
        return Drawn(wish, tuple(pictures), answers, notes, time.monotonic() - began)

    def _system(self, name: str) -> System:
        """The system, after the one that was loaded before has made room. It is checked the first time only."""
        if self._loaded is not None and self._loaded.spec.name != name:
            self._loaded.close()
        if name not in self._made:
            system = make_system(self.systems[name])
            system.check()
            self._made[name] = system
        self._loaded = self._made[name]
        return self._loaded

    def _ask(self, pictures: list[bytes | Refused]) -> tuple[tuple[Answer, ...], ...]:
        from PIL import Image

        if self._asker is None:
            self._asker = load_asker(STARTER / "blip-vqa")
        seen = [Image.fromarray(read_pixels(picture)) for picture in pictures if not isinstance(picture, Refused)]
        rows = iter(self._asker.ask_many(seen, dict.fromkeys(QUESTIONS, ())))
        return tuple(() if isinstance(picture, Refused) else tuple(next(rows)) for picture in pictures)


def _go_on(ticket: Ticket, began: float) -> None:
    if ticket.gone():
        raise StoppedError("Cancelled: nothing was kept.")
    if time.monotonic() - began > MOST_SECONDS:
        raise StoppedError(f"Stopped after {MOST_SECONDS} seconds: ask for fewer pictures or steps.")


def _number(name: str, value: Any, low: float, high: float, whole: bool = False) -> float:
    right = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    if not right or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise LiveError(f"{name}: choose {kind} from {low:,} to {high:,}.")
    return value
