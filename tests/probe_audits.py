"""A made-up audit whose models were asked: believable answers in all four directions, and what is awkward to show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from audits import HOSTILE, make_audit

from backend.metrics.neutrality import NEUTRAL, UNPARSED
from backend.probes.actions import read_actions
from backend.store import Audit, ProbeSource, write_probes, writing

CLASSES = {
    "gender": ("male", "female"),
    "race": ("Caucasian", "Asian", "African American"),
    "age": ("under 18", "18-44", "45-64", "over 65"),
}
CULTURES = ("US", "India", "Korea")
TEXT = ("informed-direct", "blind-direct", "informed-indirect", "blind-indirect")
MANY = 40
"""Professions that are asked about, with two actions each."""
TURNS = {"paraphrase": (0, 1, 2), "rotation": (0, 1)}


def make_probed(cache: Path, name: str = "probed") -> Audit:
    """The audit of `make_audit` with three models: "made-lm" (text, all styles and cultures, with probabilities),
    "made-vlm" (image-to-text in four styles, and both directions that end in pictures), "made-api" (no probabilities,
    refusals and failures, a hostile title, and one style with too few inputs)."""
    make_audit(cache, name)
    for source, table in (made_lm(), made_vlm(), made_api()):
        with writing(cache / name):
            write_probes(Audit.open(cache, name), source, table)
    return Audit.open(cache, name)


def made_lm():
    source = ProbeSource(
        "made-lm", "lm", "Made-up language model", "made/lm-1b", CLASSES, "0" * 64, CULTURES, ("text-to-text",), TEXT
    )
    rows = []
    for style in TEXT:
        direct = style.endswith("-direct")
        for attribute in CLASSES:
            for culture in ("",) if direct or attribute != "gender" else CULTURES:
                rows += _answers("text-to-text", style, attribute, culture, neutral=0.3 if direct else 0.1)
    return source, pd.DataFrame(rows)


def made_vlm():
    directions = ("image-to-text", "text-to-image", "image-to-image")
    note = "The pictures of this audit name a person and no more: it has no neutral ones."
    source = ProbeSource(
        "made-vlm", "vlm", "Made-up VLM", "made/vlm-7b", CLASSES, "f" * 40, CULTURES, directions, TEXT, None, 40, note
    )
    rows = []
    for style in TEXT:
        for attribute in CLASSES:
            for culture in ("",) if style.endswith("-direct") or attribute != "gender" else CULTURES:
                rows += _answers("image-to-text", style, attribute, culture, neutral=0.05, inputs=40, row=True)
    for direction in directions[1:]:
        for attribute in CLASSES:
            once = {"neutral": 0.15, "turns": {"paraphrase": (0, 1, 2, 3), "rotation": (0,)}, "chances": False}
            shown = direction == "image-to-image"
            rows += _answers(direction, "informed-direct", attribute, "", inputs=40, row=shown, **once)
    return source, pd.DataFrame(rows)


def made_api():
    directions, styles = ("text-to-text",), TEXT[:3]
    named = ("made-api", "openai-chat", HOSTILE, "made-4", CLASSES, "", ("US",))
    source = ProbeSource(*named, directions, styles, None, 30, HOSTILE)
    rows = _answers("text-to-text", "informed-direct", "gender", "", neutral=0.85, inputs=30, chances=False, lost=0.1)
    rows += _answers("text-to-text", "blind-direct", "gender", "", neutral=0.8, inputs=8, chances=False)
    rows += _answers("text-to-text", "informed-indirect", "gender", "US", neutral=0, inputs=30, chances=False, lost=1)
    return source, pd.DataFrame(rows)


def about(most: int) -> list[tuple[str, str]]:
    """Professions and actions, the first of which a stranger wrote."""
    found: dict[str, list[str]] = {}
    for action in read_actions():
        found.setdefault(action.profession, []).append(action.text)
    pairs = [(profession, text) for profession, texts in list(found.items())[:MANY] for text in texts[:2]]
    return [(HOSTILE, "A <subject> is reading <b>bold</b> letters"), *pairs][:most]


def _answers(
    direction, style, attribute, culture, neutral, inputs=10_000, chances=True, lost=0.02, row=False, turns=TURNS
):
    """Answers to every input: the neutral share, and a lean that differs between professions."""
    informed, classes = style.startswith("informed"), CLASSES[attribute]
    rng = np.random.default_rng(sum(map(ord, direction + style + attribute + culture)))
    pairs = about(inputs)
    if not informed and direction == "text-to-text":
        pairs = [(profession, "") for profession in dict.fromkeys(profession for profession, _ in pairs)]
    rows, leans = [], {}
    for number, (profession, action) in enumerate(pairs):
        lean = leans.setdefault(profession, rng.dirichlet(np.full(len(classes), 0.7)))
        share = np.append(lean * (1 - neutral), neutral)
        for paraphrase in turns["paraphrase"]:
            for rotation in turns["rotation"]:
                drawn = rng.dirichlet(share * 8 + 0.05)
                place = int(drawn.argmax())
                told = rng.random() < lost
                outcome = ("unparsed", "refused", "failed")[int(rng.integers(3))] if told else "answered"
                rows.append(
                    {
                        "direction": direction,
                        "style": style,
                        "attribute": attribute,
                        "culture": culture,
                        "profession": profession,
                        "action": action,
                        "input": f"{profession}: {action}" if action else profession,
                        "row": number % 150 if row else -1,
                        "paraphrase": paraphrase,
                        "rotation": rotation,
                        "answer": UNPARSED if told else (*classes, NEUTRAL)[place],
                        "outcome": outcome,
                        "text": {"unparsed": HOSTILE + " " + "x" * 500, "failed": "HTTP 503"}.get(outcome, ""),
                        "probabilities": [] if told or not chances else drawn.tolist(),
                    }
                )
    return rows
