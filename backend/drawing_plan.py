"""What systems are asked to draw about professions, in both directions that end in a picture."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from backend.generate import seed_of
from backend.probe_plan import SEED, Asked, Plan, chosen_actions, pairs, stratified
from backend.probes.actions import Action, fill_subject
from backend.probes.drawing import Drawing, Drawn, Question
from backend.probes.prompts import Probe
from backend.prompts import fill
from backend.spec import SpecError
from backend.store import Audit

DIRECTIONS = ("text-to-image", "image-to-image")
STYLE = "informed-direct"


def plan_drawings(
    audit: Audit,
    drawing: Drawing,
    directions: tuple[str, ...],
    professions: Path | None = None,
    limit: int = 0,
    attributes: tuple[str, ...] = (),
) -> Plan:
    """Every picture that is wanted, with a prompt for each question about it. Raises SpecError.

    A prompt without {action} has the profession as its input, else the action. Of each prompt `images` are drawn, with
    the seeds that `generate` would take (seed 0): `paraphrase` is the prompt's place in the file, `rotation` the
    picture's number, from 0. Image-to-image begins with the pictures of `pairs`, in turn.
    """
    actions = chosen_actions(professions or drawing.professions)
    known = [question.attribute for question in drawing.questions]
    for name in attributes:
        if name not in known:
            raise SpecError(f"--attributes: {name[:60]!r} is none of {', '.join(known)}")
    questions = [question for question in drawing.questions if not attributes or question.attribute in attributes]
    asked: list[Asked] = []
    wordings: dict[str, str] = {}
    notes = [drawing.note]
    digests = audit.generations["sha256"]
    for direction in directions:
        texts = drawing.prompts.get(direction)
        if not texts:
            raise SpecError(
                f"--directions: the file of drawings has no prompts for {direction}: add them, or leave it out"
            )
        shown = [(action, ()) for action in actions]
        if direction == "image-to-image":
            found = pairs(audit, actions, most=drawing.images)
            shown = found.pairs
            notes.append(f"For image-to-image: {found.note}")
        if not any("{action}" in text for text in texts):
            shown = _by_profession(shown)
        for action, rows in stratified(shown, limit):
            asked += _drawn(action, rows, direction, drawing, questions, digests)
        for question in questions:
            wordings[f"{direction}/{STYLE}/{question.attribute}/"] = _hash([*texts, question.ask, *question.answers])[
                :16
            ]
    classes = {question.attribute: question.classes for question in questions}
    return Plan(tuple(asked), wordings, classes, " ".join(filter(None, notes)))


def _by_profession(shown: list[tuple[Action, tuple[int, ...]]]) -> list[tuple[Action, tuple[int, ...]]]:
    """One input a profession, with the pictures of all its actions."""
    rows: dict[str, list[int]] = {}
    for action, some in shown:
        rows.setdefault(action.profession, []).extend(some)
    return [(Action(profession, ""), tuple(dict.fromkeys(some))) for profession, some in rows.items()]


def _drawn(
    action: Action,
    rows: tuple[int, ...],
    direction: str,
    drawing: Drawing,
    questions: list[Question],
    digests,
) -> list[Asked]:
    """The prompts of one input: every text, every picture, every question."""
    found = []
    sentence = fill_subject(action.text, "person")
    about = (action.key if action.text else action.profession, action.profession, action.text)
    for place, template in enumerate(drawing.prompts[direction]):
        text = fill(template, profession=action.profession, action=sentence)
        for number in range(drawing.images):
            row = rows[number % len(rows)] if rows else -1
            picture = str(digests.iat[row]) if rows else ""
            seed = seed_of(SEED, text, number + 1)
            for one in questions:
                prompt = Drawn(text, one.answers, (), None, one.attribute, seed, picture)
                probe = Probe(
                    *about, one.attribute, "", f"{direction}/{STYLE}", place, number, False, one.means, prompt
                )
                key = _hash([text, seed, picture, one.ask, one.answers, one.means])
                found.append(Asked(probe, row, key))
    return found


def _hash(told: list) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
