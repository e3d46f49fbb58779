"""A spec's prompts x systems -> an audit: what there is to ask for, and asking for it.

An image's name in the audit says its system, prompt, number and seed, and a hash of the settings it was made with;
by these names a run knows what earlier ones, also interrupted ones, have done.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from backend.ingest import ingest
from backend.prompts import prompts
from backend.records import AXES, SUBSETS, Item, LeftOut, Report, clean_text, regular
from backend.spec import Spec, SpecError, SystemSpec
from backend.store import Audit, AuditWriter
from backend.systems import Refused, Request, System, make_system

SOURCE = "generate"
"""One source for all specs: whatever an interrupted run has finished, the next one of any spec takes over."""
SHARD_ROWS = 64
"""Images that a kill can cost at most; fewer than an import's, as each of them may have been slow or paid for."""
_NAME = re.compile(r"(.*) \[([0-9a-f]{8})\]", re.S)


def seed_of(base: int, text: str, number: int) -> int:
    """The seed of a prompt's n-th image, from 0 to 2^31 - 1: the same for every system."""
    digest = hashlib.sha256(f"{base}\x1f{text}\x1f{number}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def requests_of(spec: Spec, limit: int | None = None) -> list[Request]:
    """Every image that a spec wants of each system, in the order in which they are made: all of a prompt's in a row."""
    return [
        Request(prompt, number, seed_of(spec.seed, prompt.text, number))
        for prompt in prompts(spec)
        for number in range(1, min(prompt.images, limit or prompt.images) + 1)
    ]


def request_name(system: str, request: Request) -> str:
    """What an audit and its report call a request, before the hash of the settings."""
    prompt = request.prompt
    return f"{system}, {prompt.subset}: {prompt.text}, number {request.number}, seed {request.seed}"


def split_name(name: str) -> tuple[str, str]:
    """A name in an audit -> the request's name and the hash of its settings; "" for a hash that is not there."""
    match = _NAME.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def chosen(spec: Spec, names: Sequence[str]) -> list[SystemSpec]:
    """The systems of a spec, or those named. Raises SpecError on a name that the spec does not have."""
    known = [system.name for system in spec.systems]
    for name in names:
        if name not in known:
            raise SpecError(f"{spec.path}: there is no system {name[:60]!r}; its systems are {', '.join(known)}")
    return [system for system in spec.systems if not names or system.name in names]


def public(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as an audit may tell them: of a path that begins at the root or at home only the last part."""
    return {
        key: Path(value).name if isinstance(value, str) and value.startswith(("/", "~")) else value
        for key, value in settings.items()
    }


def fingerprint(settings: Mapping[str, Any], weights: str) -> str:
    """Eight hexadecimal digits for everything that the images depend on beside prompt and seed."""
    told = {key: value for key, value in settings.items() if not weights or key not in ("model", "revision")}
    return hashlib.sha256(json.dumps([told, weights], sort_keys=True).encode()).hexdigest()[:8]


@dataclass
class Tally:
    """What a run did with one system."""

    fingerprint: str
    details: dict[str, Any]
    images: int = 0
    seconds: float = 0.0
    stopped: str = ""

    def record(self) -> dict[str, Any]:
        """What the manifest keeps of it."""
        return {
            **self.details,
            "fingerprint": self.fingerprint,
            "images": self.images,
            "seconds": round(self.seconds, 3),
        }


@dataclass
class Outcome:
    """What `generate` did: the report, whether there is an audit, and why systems were given up."""

    report: Report
    kept: bool
    earlier: dict[str, int] = field(default_factory=dict)
    """Outcome -> requests that an earlier run asked in vain and that were not asked again."""
    stopped: dict[str, str] = field(default_factory=dict)


class _Run:
    """One run under the audit's lock: which requests are still wanted, and their items."""

    def __init__(self, writer: AuditWriter, label: str, retry: bool) -> None:
        self.writer = writer
        self.made = dict(split_name(name) for name in writer.known.values())
        rows = list(writer.journal.entries)
        if writer.kept:
            report = Audit(writer.folder).report()
            rows = [
                *report.loc[report["source"] == label, ["item", "outcome", "reason"]].itertuples(index=False),
                *rows,
            ]
        self.refused = {name: (outcome, reason) for name, outcome, reason in rows if outcome != "noted"}
        self.again = {name for name, (outcome, _) in self.refused.items() if retry and outcome == "failed"}

    def check_settings(self, system: str, mark: str) -> None:
        """Raises SpecError where the audit holds images of a system that were made with other settings."""
        begin = re.compile(re.escape(system) + rf", ({'|'.join(SUBSETS)}): ")
        if any(other not in ("", mark) and begin.match(name) for name, other in self.made.items()):
            raise SpecError(
                f"{self.writer.folder.name} holds images of {system!r} that were made with other settings or weights "
                "(finished, or by an interrupted run): choose another audit, or rename the system in the spec"
            )

    def wanted(self, name: str, mark: str) -> bool:
        """Whether a request is still to be asked."""
        full = f"{name} [{mark}]"
        return name not in self.made and (full not in self.refused or full in self.again)

    def items(self, system: System, asked: list[Request], tally: Tally) -> Iterator[Item | LeftOut]:
        """The items of one system; a system that can go no further is noted and ends."""
        try:
            failures = 0
            for batch, names in self._batches(system, asked, tally.fingerprint):
                started = time.perf_counter()
                answers = system.generate(batch)
                tally.seconds += time.perf_counter() - started
                tally.images += sum(not isinstance(answer, Refused) for answer in answers)
                for request, name, answer in zip(batch, names, answers, strict=True):
                    failed = isinstance(answer, Refused) and answer.outcome == "failed"
                    failures = failures + 1 if failed else 0
                    if name:
                        yield self._item(system, request, name, answer)
                if system.MOST_FAILURES and failures >= system.MOST_FAILURES:
                    last = next(answer.reason for answer in reversed(answers) if isinstance(answer, Refused))
                    raise SpecError(f"system {system.spec.name!r}: {failures} failures in a row; the last one: {last}")
        except SpecError as error:
            tally.stopped = str(error)
            yield LeftOut(system.spec.name, f"the system was given up: {error}", "noted")
        finally:
            system.close()

    def _batches(self, system: System, asked: list[Request], mark: str) -> Iterator[tuple[list[Request], list[str]]]:
        """Batches that hold something wanted, with the name of each request, or "" for one that is not wanted."""
        size = system.options["batch"]
        for start in range(0, len(asked), size):
            batch = asked[start : start + size]
            names = [request_name(system.spec.name, request) for request in batch]
            names = [f"{name} [{mark}]" if self.wanted(name, mark) else "" for name in names]
            if not system.WHOLE_BATCHES:
                batch = [request for request, name in zip(batch, names, strict=True) if name]
                names = [name for name in names if name]
            if any(names):
                yield batch, names

    def _item(self, system: System, request: Request, name: str, answer: bytes | Refused) -> Item | LeftOut:
        if isinstance(answer, Refused):
            self.writer.journal.add(name, answer.outcome, answer.reason)
            return LeftOut(name, answer.reason, answer.outcome)
        values, notes = regular(_values(system, request))
        return Item(name, values, lambda: answer, notes)

    def count(self, systems: Collection[str], asked: list[Request], marks: Mapping[str, str], report: Report) -> int:
        """How many requests are wanted; those that are there already are counted in the report."""
        total = 0
        for system in systems:
            names = [request_name(system, request) for request in asked]
            report.already += sum(name in self.made for name in names)
            total += sum(self.wanted(name, marks[system]) for name in names)
        report.read += report.already
        return total

    def close(self, report: Report) -> dict[str, int]:
        """Add what earlier runs asked in vain, and nobody since, to the report; return its counts by outcome."""
        now = {name for name, _, _ in report.rows} | set(self.writer.known.values())
        counts: dict[str, int] = {}
        for name, (outcome, reason) in self.refused.items():
            if name not in now:
                report.add(name, reason, outcome)
                counts[outcome] = counts.get(outcome, 0) + 1
        return counts


def _values(system: System, request: Request) -> dict[str, object]:
    prompt, seed = request.prompt, request.seed if system.seeded else None
    words = {word: getattr(prompt, word) for word in ("subset", "profession", "adjective", "action", *AXES)}
    return {**words, "system": system.spec.name, "prompt": prompt.text, "seed": seed, "number": request.number}


def _tally(system: System) -> Tally:
    weights = system.check()
    settings = public(system.spec.settings)
    versions = {package: version(package) for package in system.PACKAGES}
    return Tally(fingerprint(settings, weights), {"settings": settings, "weights": weights, "versions": versions})


def generate(
    cache: Path,
    name: str,
    spec: Spec,
    only: Sequence[str] = (),
    limit: int | None = None,
    retry: bool = False,
    shard_rows: int = SHARD_ROWS,
    started: Callable[[AuditWriter], object] = lambda writer: None,
    progress: Callable[[int], Callable[[], object]] = lambda total: lambda: None,
) -> Outcome:
    """Make every image that a spec wants and the audit lacks.

    `limit` is the most images a prompt; `retry` asks again for what failed. `started(writer)` is called under the
    lock, and `progress(total)` returns a function that is called as each request is done. Raises SpecError before
    anything runs where the spec or a system cannot be used, and StoreError. A system that can go no further later on
    is given up, and the others go on.
    """
    asked = requests_of(spec, limit)
    systems = [make_system(system) for system in chosen(spec, only)]
    checks = sorted(systems, key=lambda system: system.DOWNLOADS)
    tallies = {system.spec.name: _tally(system) for system in checks}
    label = f"generate {clean_text(spec.path.name)}"
    report = Report()
    with AuditWriter(cache, name, SOURCE, shard_rows) as writer:
        run = _Run(writer, label, retry)
        marks = {system: tally.fingerprint for system, tally in tallies.items()}
        for system, mark in marks.items():
            run.check_settings(system, mark)
        started(writer)
        total = run.count(marks, asked, marks, report)
        items = (item for system in systems for item in run.items(system, asked, tallies[system.spec.name]))
        try:
            ingest(items, writer, report, workers=1, progress=progress(total))
        except KeyboardInterrupt:
            writer.flush()
            raise
        earlier = run.close(report)
        details = {"title": spec.title, "note": spec.note, "seed": spec.seed}
        details["generated"] = {system: tally.record() for system, tally in tallies.items()}
        writer.finish(label, report, details)
        stopped = {system: tally.stopped for system, tally in tallies.items() if tally.stopped}
        return Outcome(report, writer.kept, earlier, stopped)
