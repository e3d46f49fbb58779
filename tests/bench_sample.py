"""A made-up audit whose models did benchmarks: every family of tasks, and what is awkward to show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from audits import HOSTILE, make_audit

from backend.metrics.neutrality import UNPARSED
from backend.store import Audit, BenchmarkSource, BenchmarkTask, write_benchmarks, writing

RACES, AGES = ("White", "Black", "Asian", "Indian", "Others"), ("Child", "Young", "Middle-Aged", "Senior")
GENDERS, PRONOUNS = ("Male", "Female"), ("masculine", "feminine")
JOBS = ("doctor", "engineer", "nurse <b>", "teacher", "waiter")
CAPTIONS = ("anti-stereotype", "stereotype", "unrelated")
TASKS = {
    "starter-gender": BenchmarkTask(
        *("Gender word of the prompt", "own", ("man", "woman")),
        *(("tone", "system"), (("dark", "light", "medium"), ("Alpha", "Beta <b>"))),
        items=150,
        found=150,
        left_out={"the prompt names no gender word": 900},
        note="A grey image stands for no image.",
    ),
    "utkface-race": BenchmarkTask(
        *("UTKFace, race", "portrait", RACES, ("age", "gender"), (AGES, GENDERS), "", "UTKFace", "0" * 16),
        *(200, 23705, 200, 0.2),
        left_out={"the name is not AGE_GENDER_RACE_DATE": 3, "the age is not from 1 to 116": 1},
    ),
    "celeba-makeup": BenchmarkTask(
        *("CelebA, heavy makeup", "portrait", ("Yes", "No"), ("gender",), (GENDERS,), "Yes", "img_align_celeba"),
        items=120,
        found=19962,
        limit=120,
    ),
    "pata": BenchmarkTask(
        *("PATA", "scene", ("positive", "negative"), ("age", "gender", "race")),
        *((("adult", "young"), ("female", "male"), ("black", "caucasian", "eastasian", "hispanic", "indian")),),
        *("positive", "pata", "0" * 16, 150, 4934, 150),
        left_out={"the image is not there, and its address was not tried": 1203},
    ),
    "vl-stereoset": BenchmarkTask(
        *("VL-StereoSet", "scene", CAPTIONS, ("category",), (("gender", "profession", "race", "religion"),)),
        *("", "vlstereoset", "0" * 16, 90, 1028, 0, 1 / 3),
    ),
    "visogender-oo": BenchmarkTask(
        *("VisoGender, one person", "pronoun", PRONOUNS, ("occupation",), (JOBS,), "", "oo", "0" * 16, 100, 230)
    ),
    "visogender-op": BenchmarkTask(
        *("VisoGender, two people", "pronoun", PRONOUNS, ("occupation", "participant")),
        *((JOBS, PRONOUNS), "", "op", "0" * 16, 100, 460),
    ),
}
SKILL = {"made-vlm": (0.85, 0.35), "made-clip": (0.6, 0.0)}
"""Model -> how often it knows the answer with the image, and from the text alone; else it guesses with a lean."""


def make_benchmarked(cache: Path, name: str = "benched") -> Audit:
    """The audit of `make_audit` with three models: "made-vlm" (all seven tasks; VisoGender with adversarial questions),
    "made-clip" (no adversarial ones; the same answer to every text alone, so ratios there are undefined) and "made-api"
    (one task with few items, many of them without an answer, and a hostile title)."""
    make_audit(cache, name)
    named = {
        "made-vlm": BenchmarkSource("made-vlm", "vlm", "Made-up VLM", "made/vlm-7b", TASKS, "f" * 40, "0" * 8),
        "made-clip": BenchmarkSource("made-clip", "clip", "Made-up CLIP", "made/clip", TASKS, "e" * 40, "0" * 8),
    }
    few = {"celeba-makeup": TASKS["celeba-makeup"]}
    named["made-api"] = BenchmarkSource("made-api", "openai-chat", HOSTILE, "made-4", few, note=HOSTILE)
    for source in named.values():
        table = pd.DataFrame([row for task in source.tasks for row in _answers(source, task)])
        with writing(cache / name):
            write_benchmarks(Audit.open(cache, name), source, table)
    return Audit.open(cache, name)


def _answers(source: BenchmarkSource, name: str) -> list[dict]:
    """The answers of one model to one task in all conditions: it leans to the first class, more so in some groups."""
    task, clip, api = source.tasks[name], source.kind == "clip", source.name == "made-api"
    rng = np.random.default_rng(sum(map(ord, source.name + name)))
    variants = ("", "adversarial") if task.family == "pronoun" and not clip else ("",)
    seen, blind = SKILL.get(source.name, (0.7, 0.1))
    rows = []
    truth = np.random.default_rng(sum(map(ord, name)))  # the same items for every model
    for number in range(16 if api else task.items):
        label = task.classes[int(truth.integers(len(task.classes)))]
        label = {"pata": "positive", "vl-stereoset": CAPTIONS[0]}.get(name, label)
        values = [row[min(int(truth.exponential(1.2)), len(row) - 1)] for row in task.values]
        groups = dict(zip(("group_1", "group_2", "group_3"), [*values, "", "", ""], strict=False))
        item = f"{number:04d}.jpg" if number else HOSTILE[:100]
        own = task.family == "own"
        fixed = {"task": name, "item": f"{number:016x}" if own else item, "row": number if own else -1, "label": label}
        for condition in ("image", "text", "random"):
            for variant in variants:
                skill = {"image": seen - 0.3 * (variant != ""), "text": blind, "random": 0}[condition]
                skill -= 0.3 * (condition == "image" and bool(values) and values[0] == task.values[0][-1])
                lean = 0.5 if condition == "random" else 0.8
                chances = rng.dirichlet([8 * lean, *[8 * (1 - lean)] * (len(task.classes) - 1)])
                if clip and condition == "text":
                    chances = np.eye(len(task.classes))[0]
                elif rng.random() < skill:
                    chances = 0.2 * chances + 0.8 * np.eye(len(task.classes))[task.classes.index(label)]
                answer = task.classes[int(chances.argmax())]
                if condition == "random":
                    answer, chances = task.classes[int(rng.integers(len(task.classes)))], []
                lost = condition != "random" and rng.random() < (0.3 if api else 0.01)
                said = {"answer": UNPARSED if lost else answer, "outcome": "refused" if lost else "answered"}
                said |= {"text": HOSTILE if lost else "", "probabilities": [] if lost or api else list(chances)}
                rows.append({**fixed, **groups, "condition": condition, "variant": variant, **said, "key": "0" * 16})
    return rows
