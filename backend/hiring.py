"""Asking a model about two applicants, step by step: what fills hiring/<model>.parquet."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from backend.hire_plan import Affirmed, Asked, Plan
from backend.hiring_texts import SPACES, STEPS, Turn
from backend.probe_answers import settings_of
from backend.probes.ask import Answer, Model, ask
from backend.probes.base import ANSWERED, FAILED, UNPARSED
from backend.spec import SpecError
from backend.store import Audit, HiringSource, HiringWriter, Kept, audit_folder, writing
from backend.store.answers import OFF_ONE
from backend.store.hiring import turn_of
from backend.store.hiring_checks import KEYS, SCHEMA
from backend.store.probes import LONGEST, LONGEST_NOTE

BATCH = 96
"""Prompts that a kill can cost."""
Pair = tuple[str, str]
"""Two names, in the order in which they are named."""
Said = dict[str, Any]
"""What is kept of an answer: answer, outcome, text, probabilities."""


@dataclass
class Hired:
    """What a run did: by step, prompts that were asked now and the seconds they took; prompts that were there already;
    and outcomes that are no answer."""

    asked: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    there: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    source: HiringSource | None = None
    answers: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True)
class Count:
    """One line of what a run would ask: prompts, and different ones that have no answer yet."""

    step: str
    kind: str
    prompts: int
    to_ask: int


def said(asked: Asked, answer: Answer) -> Said:
    """What is kept of an answer, its probabilities in the order of the step's answers."""
    chances: list[float] = []
    if answer.outcome == ANSWERED and answer.probabilities:
        by_answer = dict(zip(asked.answers, answer.probabilities, strict=True))
        chances = [by_answer[name] for name in SPACES[asked.turn.step]]
    right = answer.outcome == ANSWERED and answer.option is not None
    text = "" if right else (answer.text or answer.reason)[: LONGEST["text"]]
    chosen = asked.answers[answer.option] if right else UNPARSED
    return {"answer": chosen, "outcome": answer.outcome, "text": text, "probabilities": chances}


def fits(asked: Asked, kept: Said | None, retry: bool) -> bool:
    """Whether a kept answer is one to this prompt: the folder may be a stranger's."""
    if kept is None or len(kept["text"]) > LONGEST["text"] or (retry and kept["outcome"] == FAILED):
        return False
    chances, space = kept["probabilities"], SPACES[asked.turn.step]
    right = not len(chances) or (len(chances) == len(space) and all(0 <= chance <= 1 for chance in chances))
    right = right and (not len(chances) or abs(sum(chances) - 1) <= OFF_ONE)
    return right and kept["answer"] in (space if kept["outcome"] == ANSWERED else (UNPARSED,))


def affirmed_of(turns: Iterable[tuple[Turn, str]]) -> dict[Pair, set[tuple[str, str, str]]]:
    """What subjects were said to have, by pair. An answer that is none, or refused, is no "yes"."""
    found: dict[Pair, set[tuple[str, str, str]]] = {}
    for turn, answer in turns:
        own = found.setdefault((turn.first, turn.second), set())
        if turn.step == "attribute" and answer == "yes":
            own.add((turn.subject, turn.type, turn.element))
    return found


class Earlier:
    """What a finished run holds: its source, its turns by step, and its answers by the key of their prompts."""

    def __init__(self, source: HiringSource, table: pd.DataFrame) -> None:
        self.source = source
        rows = table.astype(object).to_dict("records")
        self.turns = [turn_of(row) for row in rows]
        self.rows = [{name: row[name] for name in ("answer", "outcome", "text", "probabilities")} for row in rows]

    def answers(self, planned: Plan) -> dict[str, Said]:
        """By key, as a plan with the same words asks."""
        held = affirmed_of(zip(self.turns, (row["answer"] for row in self.rows), strict=True))
        keys = (planned.asked(turn, held[turn.first, turn.second]).key for turn in self.turns)
        return dict(zip(keys, self.rows, strict=True))


def joined(planned: Plan, earlier: Earlier | None) -> Plan:
    """A plan with what an audit holds already beside it, so that a later answer about an attribute reaches all
    prompts that rest on it."""
    if earlier is None:
        return planned
    turns = {step: {identity(turn): turn for turn in planned.turns[step]} for step in STEPS}
    for turn in earlier.turns:
        turns[turn.step].setdefault(identity(turn), turn)
    together = {step: tuple(some.values()) for step, some in turns.items()}
    jobs = {**earlier.source.jobs, **planned.jobs}
    return replace(planned, jobs=jobs, genders={**earlier.source.genders, **planned.genders}, turns=together)


def identity(turn: Turn) -> tuple[str, ...]:
    return tuple(getattr(turn, name) for name in KEYS)


def source_of(model: Model, planned: Plan, fingerprint: str) -> HiringSource:
    """How a model, and what it is asked, is called in an audit. A path is told by its last part only."""
    spec = model.spec
    named = str(spec.options.get("model", spec.name)).rstrip("/")
    if named.startswith(("/", "~", ".")) or named.count("/") > 1:
        named = Path(named).name
    about = (planned.words, planned.jobs, planned.genders, max(map(len, planned.pairs.values())))
    more = (planned.attributes_first, fingerprint[:200], settings_of(model))
    return HiringSource(spec.name, spec.kind, spec.title, named[:200], *about, *more)


def counts(audit: Audit, name: str, planned: Plan, retry: bool = False) -> list[Count]:
    """What a run would ask a model, a line for each step and kind of pairs. It loads nothing.

    Where attributes are still to ask, so is everything that rests on them. Taken for answered is what the audit holds,
    or an interrupted run has kept, of a model of this name (with `retry`, no failures); where its weights or words turn
    out to be others, `run` refuses.
    """
    writer = HiringWriter(audit, name)
    found = writer.earlier()
    known = dict(writer.kept().answers)
    if found is not None and not _others(found[0], planned):
        earlier = Earlier(*found)
        known = earlier.answers(joined(planned, earlier)) | known
    lines: dict[tuple[str, str], list[Any]] = {}
    affirmed: dict[Pair, set[tuple[str, str, str]]] = {}
    unsure: set[Pair] = set()
    for step in STEPS:
        for turn in planned.turns[step]:
            pair = (turn.first, turn.second)
            one = planned.asked(turn, affirmed.setdefault(pair, set()))
            line = lines.setdefault((step, turn.kind), [0, set()])
            line[0] += 1
            there = fits(one, known.get(one.key), retry) and (step == "attribute" or pair not in unsure)
            if not there:
                line[1].add(one.key)
            if step == "attribute":
                unsure |= set() if there else {pair}
                if there and known[one.key]["answer"] == "yes":
                    affirmed[pair].add((turn.subject, turn.type, turn.element))
    return [Count(*place, number, len(left)) for place, (number, left) in lines.items()]


def _others(there: HiringSource, planned: Plan) -> str:
    """What of an audit's answers was asked otherwise than a plan would; "" where nothing was."""
    if there.words.digest() != planned.words.digest():
        return "wording (questions, answers, definitions or letters)"
    if there.attributes_first != planned.attributes_first:
        return "rule of whose attributes come first"
    for name, job in planned.jobs.items():
        if there.jobs.get(name, job) != job:
            return f"set of attributes for {name}"
    for name, gender in planned.genders.items():
        if there.genders.get(name, gender) != gender:
            return f"gender for the name {name}"
    return ""


def run(
    cache: Path,
    name: str,
    model: Model,
    planned: Plan,
    anew: bool = False,
    retry: bool = False,
    progress: Callable[[str, int], Callable[[int], object]] = lambda step, total: lambda done: None,
) -> Hired:
    """Ask a model what a plan holds and an audit does not hold yet, step by step.

    `anew` drops what is there of other weights, settings or words, `retry` asks again for what failed.
    `progress(step, total)` returns a function that is called as n more prompts are done. Raises SpecError, ProbeError
    and StoreError; what was answered before is kept.
    """
    folder = audit_folder(cache, name)
    Audit(folder)
    with writing(folder):
        audit = Audit(folder)
        try:
            return _Run(audit, model, planned, anew, retry).go(progress)
        finally:
            model.close()


class _Run:
    """One run under the audit's lock."""

    def __init__(self, audit: Audit, model: Model, planned: Plan, anew: bool, retry: bool) -> None:
        self.audit, self.model, self.retry = audit, model, retry
        self.writer = HiringWriter(audit, model.spec.name)
        self.source = source_of(model, planned, model.check())
        self.mark = "\n".join([self.source.kind, self.source.model, self.source.fingerprint, self.source.settings])
        earlier = self._fitting(planned, anew)
        self.planned = joined(planned, earlier)
        self.known: dict[str, Said] = {}
        self.seconds, self.note = 0.0, ""
        if earlier is not None:
            self.known = earlier.answers(self.planned)
            self.seconds = audit.manifest["stages"][self.writer.stage]["seconds"]
            self.note = earlier.source.note
        kept = self.writer.kept(self.mark)
        self.known |= kept.answers
        self.seconds += kept.seconds
        self.model.notes += kept.notes
        self.done = Hired()

    def _fitting(self, planned: Plan, anew: bool) -> Earlier | None:
        """What is there already, where it goes with what is asked now; None where there is nothing, or `anew` drops
        it. Raises SpecError where it does not go with it."""
        found = self.writer.earlier()
        if found is None:
            return None
        there, now = found[0], self.source
        wrong = [key for key in ("kind", "fingerprint", "settings") if getattr(there, key) != getattr(now, key)]
        wrong += ["model"] if not now.fingerprint and there.model != now.model else []
        what = "fingerprint (weights)" if "fingerprint" in wrong else next(iter(wrong), _others(there, planned))
        if what and not anew:
            raise SpecError(
                f"{self.audit.name} holds answers of {now.name!r} with another {what}: give this model another name in "
                "its file, or drop those answers with --anew"
            )
        return None if what else Earlier(*found)

    def go(self, progress: Callable[[str, int], Callable[[int], object]]) -> Hired:
        affirmed: Mapping[Pair, Affirmed] = {}
        rows, keys = [], []
        for step in STEPS:
            self._step(step, affirmed, progress)
            for one in self._asked(step, affirmed):
                rows.append({**_row(one.turn), **self.known[one.key]})
                keys.append(one.key)
            if step == "attribute":
                answers = [row["answer"] for row in rows]
                affirmed = affirmed_of(zip(self.planned.turns[step], answers, strict=True))
        self.done.there = len(rows) - sum(self.done.asked.values())
        self._finish(rows, keys)
        audit = Audit(self.audit.folder)
        self.done.source = audit.hiring.sources[self.source.name]
        self.done.answers = audit.hiring.table(self.source.name)
        return self.done

    def _asked(self, step: str, affirmed: Mapping[Pair, Affirmed]) -> Iterator[Asked]:
        turns = self.planned.turns[step]
        return (self.planned.asked(turn, affirmed.get((turn.first, turn.second), ())) for turn in turns)

    def _step(self, step: str, affirmed: Mapping[Pair, Affirmed], progress: Callable) -> None:
        """Ask what a step lacks, batch by batch."""
        asked = self._asked(step, affirmed)
        missing = {one.key: one for one in asked if not fits(one, self.known.get(one.key), self.retry)}
        every = list(missing.values())
        told = progress(step, len(every)) if every else None
        for start in range(0, len(every), BATCH):
            began, batch = time.perf_counter(), every[start : start + BATCH]
            answers = ask(self.model, [one.prompt for one in batch])
            new = {one.key: said(one, answer) for one, answer in zip(batch, answers, strict=True)}
            part = Kept(new, self.model.notes, self.mark, time.perf_counter() - began)
            self.writer.keep(list(new), part)
            self.known.update(new)
            self.seconds += part.seconds
            self.done.seconds[step] += part.seconds
            self.done.asked[step] += len(batch)
            self.done.lost.update(one["text"] or one["outcome"] for one in new.values() if one["outcome"] != ANSWERED)
            told(len(batch))

    def _finish(self, rows: list[dict[str, Any]], keys: list[str]) -> None:
        for sentence in self.model.notes:
            self.note += "" if sentence in self.note else f" {sentence}"
        note = self.note.strip()[:LONGEST_NOTE]
        seen = Counter(kind for kind, _ in {(row["kind"], frozenset((row["first"], row["second"]))) for row in rows})
        about = {"jobs": self.planned.jobs, "genders": self.planned.genders, "pairs": max(seen.values())}
        source = replace(self.source, **about, note=note)
        packages = {name: version(name) for name in self.model.PACKAGES}
        self.writer.finish(source, pd.DataFrame(rows, columns=SCHEMA.names), self.seconds, packages)
        self.writer.drop(keys)


def _row(turn: Turn) -> dict[str, Any]:
    return {name: getattr(turn, name) for name in (*KEYS, "lead", "rotation")}
