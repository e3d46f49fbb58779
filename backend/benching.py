"""Putting a benchmark to a model, and keeping what it answered: what fills benchmarks/<model>.parquet of an audit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from backend.bench_answers import answered, counted, joined, keyed, said, seen_items, source_of, unreadable
from backend.bench_plan import IMAGE, RANDOM, TEXT, Asked, Plan, random_answer
from backend.benchmarks import Item
from backend.metrics.neutrality import UNPARSED
from backend.pictures import PictureError, read_for_model
from backend.probes.ask import Model, ask
from backend.probes.base import ANSWERED, FAILED
from backend.spec import SpecError
from backend.store import Audit, BenchmarkSource, BenchmarkWriter, Kept, audit_folder, writing
from backend.store.benchmarks import GROUPS, LONGEST, LONGEST_NOTE, SCHEMA, too_much

BATCH = 96
"""Prompts that a kill can cost."""
GREY, GREY_SIDE = (128, 128, 128), 224
"""What stands for no image, for models that cannot do without."""


@dataclass
class Benched:
    """What a run did: prompts asked now and there already, items without a readable picture, outcomes that are no
    answer, and the model with the answers to this task."""

    asked: int = 0
    there: int = 0
    seconds: float = 0.0
    """Of all that was asked, an interrupted run's included; `pace` counts this run's prompts a second."""
    pace: float = 0.0
    lost: Counter[str] = field(default_factory=Counter)
    source: BenchmarkSource | None = None
    answers: pd.DataFrame = field(default_factory=pd.DataFrame)


def counts(audit: Audit, name: str, planned: Plan, digests: dict[str, str]) -> tuple[int, int, int]:
    """How many prompts a run would put to a model of this name: all, different ones, and those without an answer yet.
    It loads nothing: where the weights turn out to be others, `run` refuses."""
    writer = BenchmarkWriter(audit, name)
    have, keys = {**writer.kept().answers, **answered(writer.earlier())}, keyed(planned, digests)
    return sum(map(len, keys.values())), len(keys), sum(key not in have for key in keys)


def run(
    cache: Path,
    name: str,
    model: Model,
    planner: Callable[[Audit], Plan],
    anew: bool = False,
    retry: bool = False,
    progress: Callable[[int], Callable[[int], object]] = lambda total: lambda done: None,
) -> Benched:
    """Ask a model what a plan holds and an audit does not hold yet, in all three conditions.

    `anew` drops what is there of other weights, settings, words, groups or images, `retry` asks again for what failed.
    `progress(total)` gets the number of prompts to ask and returns a function that is called as n more are done.
    Raises SpecError, ProbeError and StoreError; what was answered before is kept.
    """
    folder = audit_folder(cache, name)
    Audit(folder)
    with writing(folder):
        audit = Audit(folder)
        try:
            return _Run(audit, model, planner(audit), anew, retry).go(progress)
        finally:
            model.close()


class _Run:
    """One run under the audit's lock."""

    def __init__(self, audit: Audit, model: Model, planned: Plan, anew: bool, retry: bool) -> None:
        self.audit, self.model, self.planned, self.retry = audit, model, planned, retry
        self.writer = BenchmarkWriter(audit, model.spec.name)
        self.source = source_of(model, planned, model.check())
        self.mark = "\n".join([self.source.kind, self.source.model, self.source.fingerprint, self.source.settings])
        self.reusable: dict[str, dict[str, Any]] = {}
        self.earlier = self._fitting(self.writer.earlier(), anew)
        self.items = {item.name: item for item in planned.items}
        held = {**(self.earlier[0].tasks if self.earlier else {}), **self.source.tasks}
        wrong = too_much(held)
        if wrong:
            raise SpecError(f"{audit.name}: {self.source.name!r}: {wrong}")

    def _fitting(self, earlier, anew: bool) -> tuple[BenchmarkSource, pd.DataFrame] | None:
        """What is there already and goes with what is asked now. Raises SpecError where it does not, unless `anew`."""
        if earlier is None:
            return None
        (there, table), now, task = earlier, self.source, self.planned.name
        wrong = [key for key in ("kind", "fingerprint", "settings") if getattr(there, key) != getattr(now, key)]
        wrong += ["model"] if not now.fingerprint and there.model != now.model else []
        old, new = there.tasks.get(task), now.tasks[task]
        same = ("classes", "groups", "positive", "source", "template")
        changed = [key for key in same if old is not None and getattr(old, key) != getattr(new, key)]
        if not anew and (wrong or changed):
            what = "fingerprint (weights)" if "fingerprint" in wrong else (wrong or [f"{changed[0]} of {task}"])[0]
            raise SpecError(
                f"{self.audit.name} holds answers of {now.name!r} with another {what}: give this model another name in "
                "its file, or drop those answers with --anew"
            )
        if not wrong:  # the key of an answer holds all that was asked: it holds whatever it is sorted by
            self.reusable = answered(earlier)
        return None if wrong else (there, table[table["task"] != task] if changed else table)

    def go(self, progress: Callable[[int], Callable[[int], object]]) -> Benched:
        done, (digests, broken) = Benched(), seen_items(self.planned.items)
        keys, kept = keyed(self.planned, digests), self.writer.kept(self.mark)
        have = {**kept.answers, **self.reusable}
        known = {key: have[key] for key, some in keys.items() if self._fits(some[0], have.get(key))}
        done.seconds = kept.seconds if set(known) & set(kept.answers) else 0.0
        self.model.notes += kept.notes
        missing = [key for key in keys if key not in known]
        missing.sort(key=lambda key: (keys[key][0].condition, keys[key][0].item.name))  # a picture is read once
        step, spent = progress(len(missing)), 0.0
        for start in range(0, len(missing), BATCH):
            began, batch = time.perf_counter(), missing[start : start + BATCH]
            answers = self._ask({key: keys[key][0] for key in batch}, broken)
            part = Kept(answers, self.model.notes, self.mark, time.perf_counter() - began)
            self.writer.keep(list(answers), part)
            known.update(answers)
            done.seconds += part.seconds
            spent += part.seconds
            step(len(batch))
        done.pace = len(missing) / spent if spent else 0.0
        done.asked, done.there = len(missing), sum(map(len, keys.values())) - len(missing)
        self._finish(keys, known, broken, done)
        return done

    def _fits(self, one: Asked, answer: dict[str, Any] | None) -> bool:
        """Whether a kept answer is one to this prompt: the folder may be a stranger's."""
        if answer is None or len(answer["text"]) > LONGEST["text"] or (self.retry and answer["outcome"] == FAILED):
            return False
        classes, chances = self.planned.task.classes, answer["probabilities"]
        right = answer["answer"] in (one.classes if answer["outcome"] == ANSWERED else (UNPARSED,))
        right = right and len(chances) in (0, len(classes)) and all(0 <= chance <= 1 for chance in chances)
        return right and (not len(chances) or abs(sum(chances) - 1) <= 0.01)

    def _ask(self, batch: dict[str, Asked], broken: Counter[str]) -> dict[str, dict[str, Any]]:
        """What is kept of each prompt's answer. An item whose picture cannot be decoded has none, and is counted."""
        pictures, prompts = {}, {}
        for key, one in batch.items():
            shown = one.item.name if one.condition == IMAGE else "" if self.planned.grey else None
            if shown is not None and shown not in pictures:
                pictures[shown] = self._picture(one.item if shown else None)
            picture = pictures.get(shown)
            if isinstance(picture, str):
                broken[picture] += 1
            else:
                prompts[key] = replace(one.prompt, picture=picture)
        answers = dict(zip(prompts, ask(self.model, list(prompts.values())), strict=True))
        return {key: said(batch[key], answer, self.planned.task.classes) for key, answer in answers.items()}

    def _picture(self, item: Item | None) -> Any:
        """An item's picture, the grey one for None, or why there is none."""
        from PIL import Image

        if item is None:
            return Image.new("RGB", (GREY_SIDE, GREY_SIDE), GREY)
        try:
            return read_for_model(item.load())
        except (OSError, PictureError) as error:
            return unreadable(str(error))

    def _finish(
        self, keys: dict[str, list[Asked]], known: dict[str, dict], broken: Counter[str], done: Benched
    ) -> None:
        rows, task = [], self.planned.name
        lost = {one.item.name for key, some in keys.items() if key not in known for one in some}
        for key, some in keys.items():
            for one in some if key in known else ():
                if one.item.name not in lost:
                    rows.append({**self._fixed(one), "condition": one.condition, **known[key], "key": key})
                    if one.condition == TEXT:
                        drawn = {"answer": random_answer(one), "outcome": ANSWERED, "text": "", "probabilities": []}
                        rows.append({**self._fixed(one), "condition": RANDOM, **drawn, "key": ""})
        table = pd.DataFrame(rows, columns=SCHEMA.names)
        if table.empty:
            reasons = "; ".join(f"{n:,} x {reason}" for reason, n in broken.most_common(3))
            raise SpecError(f"task {task!r} has no item whose picture can be read ({reasons}): nothing was kept")
        source, seconds = self._noted(broken), done.seconds
        if self.earlier is not None:
            there, old = self.earlier
            mine = old["task"].astype(str) == task
            old = old[~(mine & old["item"].astype(str).isin(set(table["item"])))]
            table = pd.concat([old.astype(object), table.astype(object)], ignore_index=True)
            source = replace(source, tasks={**there.tasks, **source.tasks}, note=joined(there.note, source.note))
            seconds += self.audit.manifest["stages"][self.writer.stage]["seconds"]
        source = counted(source, task, table)
        packages = {name: version(name) for name in self.model.PACKAGES}
        self.writer.finish(source, table, seconds, packages)
        self.writer.drop(keys)
        audit = Audit(self.audit.folder)
        done.source, table = audit.benchmarks.sources[source.name], audit.benchmarks.table(source.name)
        done.answers = table[table["task"] == task]
        unread = done.answers[done.answers["outcome"] != ANSWERED]
        done.lost.update(
            f"{outcome}: {text}" if text else str(outcome)
            for outcome, text in zip(unread["outcome"], unread["text"], strict=True)
        )

    def _fixed(self, one: Asked) -> dict[str, Any]:
        """What an item's rows have in common, whatever the condition."""
        groups = dict(zip(GROUPS, [*one.item.groups, "", "", ""], strict=False))
        fixed = {"task": self.planned.name, "item": one.item.name, "row": one.item.row, "variant": one.variant}
        return {**fixed, "label": one.item.label, **groups}

    def _noted(self, broken: Counter[str]) -> BenchmarkSource:
        """The source with what only a run knows: images that could not be read, and the model's notes."""
        left = Counter(self.planned.task.left_out) + broken
        task = replace(self.planned.task, left_out=dict(left.most_common(100)))
        note = " ".join(dict.fromkeys(self.model.notes))[:LONGEST_NOTE]
        return replace(self.source, tasks={self.planned.name: task}, note=note)
