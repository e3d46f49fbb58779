"""Answers of an asked model as an audit keeps them: whose they are, what is kept of each, and joining two runs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from backend.metrics.neutrality import UNPARSED
from backend.probe_plan import Asked, Plan
from backend.probes.ask import Answer, Model
from backend.probes.base import ANSWERED, FAILED
from backend.store import ProbeSource
from backend.store.answers import OFF_ONE
from backend.store.probes import DIRECTIONS, KEYS, LONGEST, LONGEST_NOTE, SCHEMA, STYLES

PLACES = ("model", "base_url")
"""Options that say where a model is. What it is, its fingerprint says or, where it has none, its name."""


def fits(one: Asked, answer: dict[str, Any] | None, retry: bool) -> bool:
    """Whether a kept answer is one to this prompt: the folder may be a stranger's."""
    if answer is None or len(answer["text"]) > LONGEST["text"] or (retry and answer["outcome"] == FAILED):
        return False
    chances, options = answer["probabilities"], one.probe.classes if answer["outcome"] == ANSWERED else (UNPARSED,)
    right = not chances or (len(chances) == len(one.probe.classes) and all(0 <= chance <= 1 for chance in chances))
    return right and answer["answer"] in options and (not chances or abs(sum(chances) - 1) <= OFF_ONE)


def source_of(model: Model, planned: Plan, fingerprint: str, limit: int) -> ProbeSource:
    """How a model, and what it is asked, is called in an audit. A path is told by its last part only."""
    spec = model.spec
    named = str(spec.options.get("model", spec.name)).rstrip("/")
    if named.startswith(("/", "~", ".")) or named.count("/") > 1:
        named = Path(named).name
    places = [one.place for one in planned.asked]
    used = [{place[part] for place in places} for part in range(4)]
    return ProbeSource(
        spec.name,
        spec.kind,
        spec.title,
        named[:200],
        planned.classes,
        fingerprint[:200],
        tuple(sorted(used[3] - {""})),
        tuple(word for word in DIRECTIONS if word in used[0]),
        tuple(word for word in STYLES if word in used[1]),
        planned.wordings,
        limit,
        settings=settings_of(model),
    )


def settings_of(model: Model) -> str:
    """A hash of the options that change answers: not of where the model lies, nor of patience and keys."""
    quiet = {*PLACES, *(name for name, key in model.KEYS.items() if not key.settings)}
    told = {key: value for key, value in model.spec.options.items() if key not in quiet}
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:8]


def merged(there: ProbeSource, now: ProbeSource) -> ProbeSource:
    """One source for what is there and what comes to it."""
    return replace(
        now,
        classes={**there.classes, **now.classes},
        cultures=tuple(sorted({*there.cultures, *now.cultures})),
        directions=tuple(word for word in DIRECTIONS if word in (*there.directions, *now.directions)),
        styles=tuple(word for word in STYLES if word in (*there.styles, *now.styles)),
        wordings={**(there.wordings or {}), **(now.wordings or {})},
        note=_joined(there.note, now.note),
    )


def _joined(first: str, second: str) -> str:
    if first in second or second in first:
        return max(first, second, key=len)
    return f"{first} {second}"[:LONGEST_NOTE]


def said(one: Asked, answer: Answer) -> dict[str, Any]:
    """What is kept of an answer: the class, the outcome, the text where it is no option, and the probabilities in the
    order of the attribute's classes, then "no preference"."""
    probe = one.probe
    chances: list[float] = []
    if answer.probabilities:
        by_class = dict(zip(probe.classes, answer.probabilities, strict=True))
        turn = -probe.rotation % len(probe.classes)
        chances = [by_class[name] for name in (*probe.classes[turn:], *probe.classes[:turn])]
    text = "" if answer.outcome == ANSWERED else (answer.text or answer.reason)[: LONGEST["text"]]
    return {
        "answer": probe.answered(answer.option if answer.outcome == ANSWERED else None),
        "outcome": answer.outcome,
        "text": text,
        "probabilities": chances,
    }


def row_of(one: Asked, answer: dict[str, Any]) -> dict[str, Any]:
    values = dict(zip(KEYS, one.identity, strict=True))
    return {**values, "input": one.probe.input, **{key: answer[key] for key in SCHEMA.names if key in answer}}
