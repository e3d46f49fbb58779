"""Putting probes to a model about an audit, and keeping what it answered: what fills probes/<model>.parquet."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from backend.pictures import PictureError, read_for_model
from backend.probe_answers import fits, merged, row_of, said, source_of
from backend.probe_plan import IMAGE, Asked, Plan, Wanted, plan
from backend.probes.ask import Answer, Model, ModelSpec, ask, make_model
from backend.probes.base import ANSWERED, FAILED
from backend.spec import SpecError
from backend.store import Audit, Kept, ProbeSource, ProbeWriter, StoreError, audit_folder, writing
from backend.store.probes import DIRECTIONS, KEYS, LONGEST_NOTE, SCHEMA

BATCH = 96
"""Prompts that a kill can cost."""
ALONE = {"vlm": ("text-to-text", IMAGE), "blip-vqa": (IMAGE,), "clip": (IMAGE,)}
"""Kind -> the directions that a model of it is asked in where nobody says which; the others read text."""


@dataclass
class Probed:
    """What a run did: prompts that were asked now, those that were there already, and outcomes that are no answer."""

    asked: int = 0
    there: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    source: ProbeSource | None = None
    answers: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True)
class Count:
    """One line of what a run would ask: prompts, those with an answer already, and different prompts still to ask."""

    direction: str
    style: str
    attribute: str
    culture: str
    inputs: int
    prompts: int
    to_ask: int


def directions_of(spec: ModelSpec, wanted: Sequence[str]) -> tuple[str, ...]:
    """The directions in which a model is asked, in their usual order. Raises SpecError where it cannot take one."""
    model = make_model(spec)
    found = tuple(wanted) or ALONE.get(spec.kind, ("text-to-text",))
    if IMAGE in found and not model.SEES:
        raise SpecError(f"--directions: model {spec.name!r} of kind {spec.kind} reads text only: leave {IMAGE} out")
    return tuple(direction for direction in DIRECTIONS if direction in found)


Earlier = tuple[ProbeSource, pd.DataFrame]


def counts(audit: Audit, name: str, planned: Plan) -> list[Count]:
    """What a run would ask a model, a line for each direction, style, attribute and culture. It loads nothing.

    Taken for answered is what the audit holds, or an interrupted run has kept, of a model of this name; where its
    weights turn out to be others, `run` refuses.
    """
    writer = ProbeWriter(audit, name)
    have, kept = _have(writer.earlier(), planned), writer.kept()
    lines: dict[tuple, list[Any]] = {}
    for one in planned.asked:
        line = lines.setdefault(one.place, [set(), 0, set()])
        line[0].add(one.probe.input)
        line[1] += 1
        if one.identity not in have and one.key not in kept.answers:
            line[2].add(one.key)
    return [Count(*place, len(seen), n, len(left)) for place, (seen, n, left) in lines.items()]


def _have(earlier: Earlier | None, planned: Plan, retry: bool = False) -> set[tuple]:
    """The identities of answers that are there and hold: asked in the same words, and no failure to be retried."""
    if earlier is None:
        return set()
    source, table = earlier
    same = [name for name, digest in planned.wordings.items() if (source.wordings or {}).get(name) == digest]
    names = _names(table)
    table = table[names.isin(same) & ~(retry & (table["outcome"] == FAILED))]
    return set(table[list(KEYS)].itertuples(index=False, name=None))


def _names(table: pd.DataFrame) -> pd.Series:
    """direction/style/attribute/culture of every answer."""
    parts = [table[name].astype(str) for name in ("direction", "style", "attribute", "culture")]
    return parts[0] + "/" + parts[1] + "/" + parts[2] + "/" + parts[3]


def probe(cache: Path, name: str, spec: ModelSpec, wanted: Wanted, **options: Any) -> Probed:
    """Ask a model all that is wanted of an audit and not there yet: `run` with the plan of `wanted`."""
    return run(cache, name, make_model(spec), lambda audit: plan(audit, wanted), wanted.limit, **options)


def run(
    cache: Path,
    name: str,
    model: Model,
    planner: Callable[[Audit], Plan],
    limit: int = 0,
    anew: bool = False,
    retry: bool = False,
    progress: Callable[[int], Callable[[int], object]] = lambda total: lambda done: None,
) -> Probed:
    """Ask a model what a plan holds and an audit does not hold yet.

    `anew` drops what is there of other weights, settings, classes or words, `retry` asks again for what failed.
    `progress(total)` gets the number of prompts to ask and returns a function that is called as n more are done.
    Raises SpecError, ProbeError and StoreError; what was answered before is kept.
    """
    folder = audit_folder(cache, name)
    Audit(folder)
    with writing(folder):
        audit = Audit(folder)
        try:
            return _Run(audit, model, planner(audit), limit, anew, retry).go(progress)
        finally:
            model.close()


class _Run:
    """One run under the audit's lock."""

    def __init__(self, audit: Audit, model: Model, planned: Plan, limit: int, anew: bool, retry: bool) -> None:
        self.audit, self.model, self.planned, self.retry = audit, model, planned, retry
        if any(one.row >= 0 for one in planned.asked):
            wrong = audit.check()
            if wrong:
                raise StoreError(f"{wrong[0]}. Restore the folder from a copy, or delete it and import again.")
        self.writer = ProbeWriter(audit, model.spec.name)
        self.source = source_of(model, planned, model.check(), limit)
        self.mark = "\n".join([self.source.kind, self.source.model, self.source.fingerprint, self.source.settings])
        self.earlier = self._fitting(self.writer.earlier(), anew)

    def _fitting(self, earlier: Earlier | None, anew: bool) -> Earlier | None:
        """What is there already and goes with what is asked now. Raises SpecError where that is not all, unless `anew`
        says to drop the rest."""
        if earlier is None:
            return None
        (there, table), now = earlier, self.source
        wrong = [key for key in ("kind", "fingerprint", "settings") if getattr(there, key) != getattr(now, key)]
        wrong += ["model"] if not now.fingerprint and there.model != now.model else []
        for attribute, classes in now.classes.items():
            wrong += [f"classes of {attribute}"] if there.classes.get(attribute, classes) != classes else []
        changed = [name for name, digest in now.wordings.items() if there.wordings.get(name, digest) != digest]
        if not anew and (wrong or changed):
            what = "fingerprint (weights)" if "fingerprint" in wrong else (wrong or [f"wording of {changed[0]}"])[0]
            raise SpecError(
                f"{self.audit.name} holds answers of {now.name!r} with another {what}: give this model another name in "
                "its file, or drop those answers with --anew"
            )
        return None if wrong else (there, table[~_names(table).isin(changed)])

    def go(self, progress: Callable[[int], Callable[[int], object]]) -> Probed:
        done, have = Probed(), _have(self.earlier, self.planned, self.retry)
        wanted = [one for one in self.planned.asked if one.identity not in have]
        kept = self.writer.kept(self.mark)
        known = {one.key: kept.answers[one.key] for one in wanted if fits(one, kept.answers.get(one.key), self.retry)}
        seconds = kept.seconds if known else 0.0
        self.model.notes += kept.notes if known else []
        missing = list({one.key: one for one in wanted if one.key not in known}.values())
        missing.sort(key=lambda one: (one.row, one.probe.profession, one.probe.action))  # models read such in one go
        step = progress(len(missing))
        for start in range(0, len(missing), BATCH):
            began, batch = time.perf_counter(), missing[start : start + BATCH]
            said = dict(zip((one.key for one in batch), self._ask(batch), strict=True))
            part = Kept(said, self.model.notes, self.mark, time.perf_counter() - began)
            self.writer.keep(list(said), part)
            known.update(said)
            seconds += part.seconds
            done.lost.update(one["text"] or one["outcome"] for one in said.values() if one["outcome"] != ANSWERED)
            step(len(batch))
        done.asked, done.there = len(missing), len(self.planned.asked) - len(missing)
        if wanted:
            self._finish(wanted, known, seconds)
        audit = Audit(self.audit.folder)
        done.source = audit.probes.sources[self.source.name]
        done.answers = audit.probes.table(self.source.name)
        return done

    def _ask(self, batch: list[Asked]) -> list[dict[str, Any]]:
        """What is kept of each prompt's answer. A picture that cannot be read is a failure."""
        pictures = {row: self._picture(row) for row in {one.row for one in batch if one.row >= 0}}
        broken = {row: why for row, why in pictures.items() if isinstance(why, str)}
        whole = [one for one in batch if one.row not in broken]
        prompts = [replace(one.probe.prompt, picture=pictures.get(one.row)) for one in whole]
        answers = dict(zip((one.key for one in whole), ask(self.model, prompts), strict=True))
        answers |= {one.key: Answer(FAILED, None, reason=broken[one.row]) for one in batch if one.row in broken}
        return [said(one, answers[one.key]) for one in batch]

    def _picture(self, row: int) -> Any:
        try:
            return read_for_model(self.audit.image(row)[0])
        except PictureError as error:
            return str(error)

    def _finish(self, wanted: list[Asked], known: dict[str, dict[str, Any]], seconds: float) -> None:
        table = pd.DataFrame([row_of(one, known[one.key]) for one in wanted], columns=SCHEMA.names)
        source = replace(self.source, note=self._note())
        if self.earlier is not None:
            there, old = self.earlier
            source = merged(there, source)
            new = set(table[list(KEYS)].itertuples(index=False, name=None))
            old = old[[key not in new for key in old[list(KEYS)].itertuples(index=False, name=None)]]
            table = pd.concat([old.astype(object), table.astype(object)], ignore_index=True)
            seconds += self.audit.manifest["stages"][self.writer.stage]["seconds"]
        packages = {name: version(name) for name in self.model.PACKAGES}
        self.writer.finish(source, table, seconds, packages)
        self.writer.drop(one.key for one in self.planned.asked)

    def _note(self) -> str:
        sentences = dict.fromkeys([self.planned.note, *self.model.notes])
        return " ".join(sentence for sentence in sentences if sentence)[:LONGEST_NOTE]
