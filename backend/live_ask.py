"""Questions on demand: one model asked at a time, in the line in which drawing waits, too. Nothing is stored."""

from __future__ import annotations

import base64
import binascii
import io
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from backend.live_questions import ENDPOINT, IMAGE, Known, Question, checked, plain, probes_of, read_known
from backend.pictures import PictureError, read_pixels
from backend.probe_answers import settings_of
from backend.probe_plan import wording
from backend.probes.ask import Answer, Model, ProbeError, ask, make_model
from backend.probes.prompts import Probe
from backend.records import count
from backend.spec import SpecError
from backend.waiting import Line, LiveError, Ticket

MOST_SECONDS = 180
"""After so long no further prompts are put; the time for loading is not counted."""
AT_ONCE = 3
"""Prompts between two looks at whether the visitor is still there."""
PATIENCE = {"timeout": 60, "retries": 2, "backoff": 2}
"""The most that an endpoint is waited for here: others stand in line."""
MOST_PIXELS = 40_000_000
SIDE, MOST_SENT = 512, 130_000
"""Pixels a side, and bytes, that a visitor's picture is scaled to: it travels with the question and lies nowhere."""


@dataclass(frozen=True)
class AskNews:
    """How far a question has come: visitors before it, or prompts put of all prompts (0: the model is being loaded)."""

    waiting: int = 0
    put: int = 0
    prompts: int = 0


@dataclass(frozen=True)
class Asked:
    """What a model answered: an answer a probe, in their order. `fingerprint`, `settings` and `wording` are as in
    backend.store.ProbeSource; `notes` are what whoever reads the answers must know."""

    question: Question
    title: str
    probes: tuple[Probe, ...]
    answers: tuple[Answer, ...]
    fingerprint: str
    settings: str
    wording: str
    notes: tuple[str, ...]
    seconds: float


class Asking:
    """The models of a file, asked on demand. `line` is shared with drawing. Raises SpecError for a file that cannot be
    read; what lacks on this machine is told by each model's `lacking`."""

    def __init__(self, models: Path, line: Line) -> None:
        self.known: dict[str, Known] = read_known(models)
        self._line = line
        self._loaded: Model | None = None
        self._fingerprint, self._notes = "", ()

    def question(self, values: dict[str, Any]) -> Question:
        """A question from values that come from a browser. Raises LiveError."""
        return checked(self.known, values)

    def probes(self, question: Question) -> list[Probe]:
        """Every prompt of a question, before anything is loaded. Raises LiveError."""
        return probes_of(self.known, question)

    def cancel(self, visitor: str) -> None:
        """End a visitor's question; the prompts under way are still finished."""
        self._line.stop(visitor)

    def ask(self, question: Question, picture: bytes | None, visitor: str) -> Iterator[AskNews | Asked]:
        """Wait, load and ask: AskNews, and last one Asked. `picture` is a file's bytes where one is asked about. Raises
        LiveError, before anything waits where the question or the picture cannot be."""
        probes = self.probes(question)
        seen = _pixels(picture) if question.direction == IMAGE else None
        probes = [replace(probe, prompt=replace(probe.prompt, picture=seen)) for probe in probes]

        def work(ticket: Ticket) -> Asked:
            return self._work(question, probes, ticket)

        yield from self._line.served(visitor, work, AskNews, AskNews())

    def _work(self, question: Question, probes: Sequence[Probe], ticket: Ticket) -> Asked:
        spec = self.known[question.model].spec
        try:
            return self._asked(question, probes, ticket)
        except (SpecError, ProbeError) as error:
            print(f"Error: Live: {plain(str(error), spec)}", file=sys.stderr)
            raise LiveError(_public(str(error), spec)) from error
        except ImportError as error:
            print(f"Error: Live: {plain(str(error), spec)}", file=sys.stderr)
            raise LiveError("A library is missing: say pip install -r requirements.txt, then start again.") from error

    def _asked(self, question: Question, probes: Sequence[Probe], ticket: Ticket) -> Asked:
        began = time.monotonic()
        _go_on(ticket, began)
        model = self._model(question.model)
        if model.spec.kind != ENDPOINT:  # which says once what holds for all its answers
            model.notes[:] = self._notes
        known = self.known[question.model]
        style, options = known.asked_with(question)
        asking, answers = time.monotonic(), []  # loading, which may be a download, has no limit of time
        size = min(known.spec.batch, 2 * AT_ONCE) if known.spec.kind == ENDPOINT else AT_ONCE
        for start in range(0, len(probes), size):
            _go_on(ticket, asking)
            ticket.news.put(AskNews(0, start, len(probes)))
            answers += ask(model, [probe.prompt for probe in probes[start : start + size]])
        _go_on(ticket, asking)
        bare = tuple(replace(probe, prompt=replace(probe.prompt, picture=None)) for probe in probes)
        return Asked(
            question,
            known.spec.title,
            bare,
            tuple(_shown(answer, known) for answer in answers),
            self._fingerprint,
            settings_of(model),
            wording(style, options, known.spec.letters),
            tuple(plain(note, known.spec) for note in model.notes),
            time.monotonic() - began,
        )

    def _model(self, name: str) -> Model:
        """The model, loaded; the one that was asked before makes room first. Raises SpecError and ProbeError."""
        if self._loaded is not None and self._loaded.spec.name == name:
            return self._loaded
        if self._loaded is not None:
            self._loaded.close()
            self._loaded = None
        spec = self.known[name].spec
        if spec.kind == ENDPOINT:
            kept = {key: min(spec.options[key], most) for key, most in PATIENCE.items()}
            spec = replace(spec, options={**spec.options, **kept})
        model = make_model(spec)
        self._fingerprint = model.check()
        self._notes = tuple(model.notes)
        self._loaded = model
        return model


def scaled(data: bytes) -> tuple[bytes, str]:
    """A picture's file -> one of at most SIDE pixels a side and MOST_SENT bytes, and its media type: PNG where that
    fits, else WebP. The first frame counts. Raises PictureError."""
    from PIL import Image

    picture = Image.fromarray(read_pixels(data, MOST_PIXELS))
    picture.thumbnail((SIDE, SIDE))
    for kind, options in (("png", {"optimize": True}), *(("webp", {"quality": q}) for q in (90, 75, 50, 20, 1))):
        out = io.BytesIO()
        picture.save(out, kind.upper(), **options)
        if out.tell() <= MOST_SENT:
            break
    return out.getvalue(), f"image/{kind}"


def sent(text: Any) -> bytes | None:
    """The bytes of a picture that a browser sent as the data URL which `scaled` made; None for "". Raises LiveError."""
    if not isinstance(text, str) or not text:
        return None
    head, _, body = text.partition(",")
    if len(body) > 2 * MOST_SENT or head not in ("data:image/png;base64", "data:image/webp;base64"):
        raise LiveError("Picture: the page did not send it as it should: reload the page and choose it again.")
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        raise LiveError("Picture: it did not come whole: choose it again.") from None


def _pixels(picture: bytes | None) -> Any:
    from PIL import Image

    if picture is None:
        raise LiveError("Picture: choose one of the audit, or upload your own.")
    try:
        return Image.fromarray(read_pixels(picture, MOST_PIXELS))
    except PictureError as error:
        words = str(error).replace("scale it down or raise --max-megapixels", "scale it down")
        raise LiveError(f"Picture: {words}.") from error


def _shown(answer: Answer, known: Known) -> Answer:
    """An answer without what the host keeps to itself, should a server repeat it."""
    return replace(answer, text=plain(answer.text, known.spec), reason=plain(answer.reason, known.spec))


def _public(said: str, spec: Any) -> str:
    """Why a model cannot be asked, for a visitor: which part failed, and nothing of how the host reaches it."""
    if spec.kind == ENDPOINT:
        part = "refused the host's key" if "key_env:" in said else "cannot be reached, or answers with errors only"
        return f"{spec.title} {part}: try another model, or later; the server's log says more."
    if " needs the package gguf" in said:
        return f"{spec.title} has to be converted once: say pip install gguf==0.19.0, then start again."
    return f"{spec.title} cannot be loaded on this machine: choose another model; the server's log says why."


def _go_on(ticket: Ticket, began: float) -> None:
    if ticket.gone():
        raise LiveError("Cancelled: nothing was kept.")
    if time.monotonic() - began > MOST_SECONDS:
        raise LiveError(f"Stopped after {count(MOST_SECONDS, 'second')}: choose a smaller model or fewer options.")
