"""Neutral actions for a list of professions: asked of a model, guessed back, and written as CSV once all are there.

What is finished stands in a journal beside the files, one line a profession; a run that stops goes on from it.
"""

from __future__ import annotations

import csv
import hashlib
import inspect
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from backend.probes import actions, proposing
from backend.probes.ask import Model
from backend.probes.proposing import Proposal, choose, guessed, guesses_in, proposals, question_about, wish_for
from backend.probes.similarity import Similarity, similarity
from backend.probes.writing import Writer, writer_of
from backend.spec import SpecError

TRIES, WARMTH = 4, 0.7
"""Texts that are asked for at most, for one profession, and the temperature at which they are."""
KEPT = ("profession", "action")
REVIEW = ("profession", "kept", "action", "score", "guess", "guesses", "why_not", "line", "model", "guesser", "measure")
_FORMULA = re.compile(r"[=+@\t\r]|-(?!\d\.\d{4}$)")
"""What a spreadsheet would run; a score below zero is none."""


@dataclass(frozen=True)
class Wish:
    """What somebody wants: professions, proposals for each, how many are kept and from which likeness, and a seed."""

    professions: tuple[str, ...]
    out: Path
    proposals: int = 5
    keep: int = 2
    at_least: float = -1.0
    seed: int = 0

    @property
    def review(self) -> Path:
        """Everything that was proposed, for review by hand."""
        return self.out.with_name(f"{self.out.stem}-review.csv")

    @property
    def journal(self) -> Path:
        """What is finished, while not everything is."""
        return self.out.with_name(f"{self.out.stem}-unfinished.jsonl")


@dataclass(frozen=True)
class Acted:
    """What a run made: every proposal, how many professions were finished before, the measure, and what to know."""

    proposals: tuple[Proposal, ...]
    before: int
    measure: str
    notes: tuple[str, ...]


def check_places(wish: Wish) -> None:
    """Raise SpecError where the files cannot be written: nothing is written over.

    A review beside a journal is what a kill left between the two files; it is written again.
    """
    for path in (wish.out, wish.review):
        if path.exists() and not (path == wish.review and wish.journal.exists()):
            raise SpecError(f"{path} is there already: give another --out, or remove it")
    if not wish.out.parent.is_dir():
        raise SpecError(f"--out: there is no folder {wish.out.parent}: make it, or give another")


def act(wish: Wish, model: Model, guesser: Model, progress: Callable[[int, int], Callable[[], object]]) -> Acted:
    """Ask for all professions that the journal lacks, then write both files. Models are checked here and closed.

    `progress` gets the numbers of all professions and of those finished before, and returns what is called after each.
    Raises SpecError and ProbeError.
    """
    measure = similarity()
    marks = [model.check(), guesser.check() if guesser is not model else ""]
    writers = [writer_of(model), writer_of(guesser)]
    try:
        with _Journal(wish.journal, _header(wish, model, guesser, marks, measure)) as journal:
            left = [name for name in wish.professions if name not in journal.found]
            step = progress(len(wish.professions), len(wish.professions) - len(left))
            for name in left:
                journal.add(name, _propose(name, wish, *writers, measure))
                step()
            found = [one for name in wish.professions for one in journal.found[name]]
            found = choose(found, wish.keep, wish.at_least)
            names = (model.spec.name, guesser.spec.name, measure.name)
            check_places(wish)  # a run can take hours
            _write_csv(wish.review, REVIEW, [_review_row(one, names) for one in found])
            _write_csv(wish.out, KEPT, [(one.profession, one.text) for one in found if one.kept])
        wish.journal.unlink(missing_ok=True)
    finally:
        for held in (*writers, model, guesser):
            held.close()
    notes = dict.fromkeys([*model.notes, *guesser.notes])
    return Acted(tuple(found), len(wish.professions) - len(left), measure.name, tuple(notes))


def _header(wish: Wish, model: Model, guesser: Model, marks: list[str], measure: Similarity) -> dict[str, Any]:
    """What must be the same for a run to go on: another model, wording or measure would not mix with what is there."""
    rules = "".join(inspect.getsource(module) for module in (proposing, actions))
    rules += json.dumps(sorted(actions.telling_words().items()))
    return {
        "model": f"{model.spec.name} {marks[0]} {_settings(model)}",
        "guesser": f"{guesser.spec.name} {marks[1]} {_settings(guesser)}",
        "measure": measure.name,
        "proposals": wish.proposals,
        "seed": wish.seed,
        "rules": hashlib.sha256(rules.encode()).hexdigest()[:16],
    }


def _settings(model: Model) -> str:
    keys = {name: value for name, value in model.spec.options.items() if model.KEYS[name].settings}
    return hashlib.sha256(json.dumps(keys, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _propose(name: str, wish: Wish, writer: Writer, guesser: Writer, measure: Similarity) -> list[Proposal]:
    """All that was proposed for one profession, with guesses and scores.

    Texts are asked for until enough lines pass, TRIES are there, or one brings nothing new while some have passed.
    """
    texts: list[str] = []
    refused: list[str] = []
    found: list[Proposal] = []
    good: list[Proposal] = []
    while (tried := len(texts) + len(refused)) < TRIES and len(good) < wish.proposals:
        talks = [wish_for(name, wish.proposals)] * min(writer.AT_ONCE, TRIES - tried)
        for said in writer.write(talks, WARMTH, _seed(wish.seed, name, tried)):
            (refused if said.reason else texts).append(said.reason or said.text)
        before, found = len(good), proposals(name, texts)
        good = [one for one in found if not one.reason][: wish.proposals]
        if good and len(good) == before:
            break
    enough = f"{wish.proposals} that pass came before it"
    answers = guesser.write([question_about(one.text) for one in good], 0.0, 0) if good else []
    judged = {}
    for one, said in zip(good, answers, strict=True):
        guesses = guesses_in(said.text)
        done = guessed(one, guesses, measure.scores([(name, guess) for guess in guesses]))
        judged[one.text] = done if not said.reason else Proposal(name, one.line, one.text, f"no guess: {said.reason}")
    rows = [judged.get(one.text, one if one.reason else Proposal(name, one.line, one.text, enough)) for one in found]
    rows += [Proposal(name, "", "", reason) for reason in dict.fromkeys(refused)]
    return rows or [Proposal(name, "", "", "the model wrote nothing")]


def _seed(seed: int, name: str, turn: int) -> int:
    """A seed for each text, whatever was asked before: 31 bits, as servers take them."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x1f{name}\x1f{turn}".encode()).digest()[:4], "big") >> 1


def _review_row(one: Proposal, names: tuple[str, str, str]) -> tuple[str, ...]:
    score = "" if one.score is None else f"{one.score:.4f}"
    guesses = json.dumps(one.guesses, ensure_ascii=False) if one.guesses else ""
    kept = "yes" if one.kept else "no"
    return (one.profession, kept, one.text, score, one.guess, guesses, one.reason, one.line, *names)


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A CSV file, whole or not at all. What a spreadsheet would run as a formula gets an apostrophe before it."""
    try:
        handle, aside = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".csv", dir=path.parent)
    except OSError as error:
        raise SpecError(f"{path} cannot be written ({error.strerror}): give another --out") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(columns)
            for row in rows:
                table.writerow([f"'{cell}" if _FORMULA.match(cell) else cell for cell in row])
            file.flush()
            os.fsync(file.fileno())
        Path(aside).chmod(0o644)
        Path(aside).replace(path)
    except OSError as error:
        raise SpecError(f"{path} cannot be written ({error.strerror}): free some room") from error
    finally:
        Path(aside).unlink(missing_ok=True)


class _Journal:
    """Finished professions as JSON lines after a header; a line that a kill cut short is passed over."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path, self.header = path, header
        self.found: dict[str, list[Proposal]] = {}

    def __enter__(self) -> _Journal:
        import filelock

        self._lock = filelock.FileLock(self.path.with_suffix(".lock"), timeout=0)
        try:
            self._lock.acquire()
        except filelock.Timeout:
            raise SpecError(f"another run is writing {self.path}: wait until it has ended") from None
        except OSError as error:
            raise SpecError(f"{self.path} cannot be written ({error.strerror}): give another --out") from error
        try:
            self._read()
            self._file = self.path.open("ab")
        except BaseException:
            self._unlock()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not self.path.stat().st_size:
            self.path.unlink()
        self._unlock()

    def _unlock(self) -> None:
        self._lock.release()
        self.path.with_suffix(".lock").unlink(missing_ok=True)

    def _read(self) -> None:
        if not self.path.exists():
            return
        lines = list(_json_lines(self.path))
        there = lines[0] if lines and isinstance(lines[0], dict) else None
        if there is None:
            self.path.unlink()  # killed before its first line was whole
            return
        other = [name for name, value in self.header.items() if there.get(name) != value]
        if other:
            raise SpecError(
                f"{self.path} was begun with other values of {', '.join(other)}: go on as it was begun, give another "
                "--out, or remove it"
            )
        for row in lines[1:]:
            if isinstance(row, list) and len(row) == 2 and isinstance(row[0], str):
                with suppress(TypeError, ValueError, KeyError):
                    found = [_proposal(one) for one in row[1]]
                    if found and all(one.profession == row[0] for one in found):
                        self.found[row[0]] = found

    def add(self, name: str, found: list[Proposal]) -> None:
        """Keep a finished profession; on the disk before the next one is asked about."""
        lines = [] if self._file.tell() else [self.header]
        lines.append([name, [asdict(one) for one in found]])
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        try:
            self._file.write((b"\n" if self._file.tell() else b"") + text.encode())  # ends a line that was cut short
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SpecError(f"{self.path} cannot be written ({error.strerror}): free some room") from error
        self.found[name] = found


def _json_lines(path: Path) -> Iterator[Any]:
    for line in path.read_bytes().split(b"\n"):
        with suppress(ValueError, RecursionError):
            yield json.loads(line)


def _proposal(values: dict[str, Any]) -> Proposal:
    """A proposal of a journal. Raises TypeError and ValueError where it is none."""
    one = Proposal(**{**values, "guesses": tuple(values["guesses"])})
    texts = (one.profession, one.line, one.text, one.reason, one.guess, *one.guesses)
    if not all(isinstance(text, str) for text in texts) or not isinstance(one.score, float | None) or one.kept:
        raise ValueError("no proposal")
    return one
