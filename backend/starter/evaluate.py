"""Figures of the starter: how well the describing models read held-out renders, and what the systems realise."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from backend.metrics.intervals import wilson
from backend.starter.captions import profession_prompt
from backend.starter.policy import gender_shares, tone_shares
from backend.starter.questions import ETHNICITY, GENDER, JOB, NEITHER, PROBE_FORMS, tone_answer
from backend.starter.scenes import combo_held_out
from backend.starter.words import NO_TONE, PROFESSIONS, SYSTEMS, TONES, Combo

STEPS = 20
GUIDANCES = (2.0,)
PROBE = PROBE_FORMS[0].format(f"woman, man, {NEITHER}")


def share_row(count: int, n: int, **columns: str) -> dict:
    """A row with a share and its 95 % Wilson interval."""
    low, high = wilson(count, n) if n else (float("nan"), float("nan"))
    share = count / n if n else float("nan")
    return columns | {"n": n, "count": count, "share": f"{share:.4f}", "low": f"{low:.4f}", "high": f"{high:.4f}"}


def accuracy_rows(model: str, what: str, combos: list[Combo], right: Iterable[bool]) -> list[dict]:
    """Accuracy over all renders, and over those whose combination was in training or was not."""
    pairs = list(zip(combos, right, strict=True))
    groups: dict[str, Callable[[Combo], bool]] = {
        "all": lambda combo: True,
        "combination in training": lambda combo: not combo_held_out(combo),
        "combination held out": combo_held_out,
    }
    rows = []
    for group, belongs in groups.items():
        hits = [hit for combo, hit in pairs if belongs(combo)]
        rows.append(share_row(sum(hits), len(hits), model=model, what=what, group=group, value="right"))
    return rows


def answer_rows(model: str, what: str, group: str, answers: list[str]) -> list[dict]:
    """How often each answer was given."""
    counts = Counter(answers)
    return [
        share_row(count, len(answers), model=model, what=what, group=group, value=answer)
        for answer, count in counts.most_common()
    ]


def vqa_rows(answers: dict[str, list[str]], combos: list[Combo]) -> list[dict]:
    """The question-answering model's rows of evaluation.csv."""
    gendered = [place for place, combo in enumerate(combos) if combo.gender != "person"]
    some = [combos[place] for place in gendered]
    rows = accuracy_rows(
        "blip-vqa", "profession", combos, [a == c.profession for a, c in zip(answers[JOB], combos, strict=True)]
    )
    rows += accuracy_rows(
        "blip-vqa", "tone", combos, [a == tone_answer(c.tone) for a, c in zip(answers[ETHNICITY], combos, strict=True)]
    )
    for what, question in (("gender word, man and woman portraits", GENDER), ("gender probe, man and woman", PROBE)):
        right = [answers[question][place] == combos[place].gender for place in gendered]
        rows += accuracy_rows("blip-vqa", what, some, right)
    for group, tones in (("person, no tone", (NO_TONE,)), ("person, five tones", TONES)):
        places = [p for p, c in enumerate(combos) if c.gender == "person" and c.tone in tones]
        for what, question in (("answer to the gender question", GENDER), ("answer to the gender probe", PROBE)):
            rows += answer_rows("blip-vqa", what, group, [answers[question][place] for place in places])
    return rows


def caption_rows(captions: list[str], combos: list[Combo]) -> list[dict]:
    """The captioner's rows of evaluation.csv."""
    pairs = list(zip(captions, combos, strict=True))
    rows = accuracy_rows("captioner", "profession", combos, [text.endswith(c.profession) for text, c in pairs])
    toned = [(text, combo) for text, combo in pairs if combo.tone != NO_TONE]
    right = [f" a {combo.tone} skinned " in text for text, combo in toned]
    rows += accuracy_rows("captioner", "tone", [combo for _, combo in toned], right)
    gendered = [(text, combo) for text, combo in pairs if combo.gender != "person"]
    right = [combo.gender in text.split() for text, combo in gendered]
    rows += accuracy_rows("captioner", "gender word, man and woman portraits", [c for _, c in gendered], right)
    neutral = [text for text, combo in pairs if combo.gender == "person" and combo.tone == NO_TONE]
    words = [next((word for word in text.split() if word in ("woman", "man", "person")), "none") for text in neutral]
    return rows + answer_rows("captioner", "gender word", "person, no tone", words)


def load_system(folder: Path):
    """A starter system as any reader of the repository would load it, without its progress bars."""
    from diffusers import AutoPipelineForText2Image

    pipeline = AutoPipelineForText2Image.from_pretrained(folder)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def generate(pipeline, prompt: str, count: int, guidance: float, first_seed: int = 0, batch: int = 15) -> np.ndarray:
    """Images for one prompt, (n, 128, 128, 3) bytes; image i has seed first_seed + i."""
    import torch

    made = []
    for first in range(0, count, batch):
        seeds = range(first_seed + first, first_seed + min(first + batch, count))
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        made.append(
            pipeline(
                [prompt] * len(seeds),
                num_inference_steps=STEPS,
                guidance_scale=guidance,
                generator=generators,
                output_type="np",
            ).images
        )
    return (np.concatenate(made) * 255).round().astype(np.uint8)


def realised_rows(system: str, profession: str, guidance: float, answers: dict[str, list[str]]) -> list[dict]:
    """Planted beside realised shares of one system's images of one profession."""
    key = {"system": system, "profession": profession, "guidance": f"{guidance:.1f}"}
    gender = dict(zip(("woman", "man"), gender_shares(system, profession), strict=True))
    tone = dict(zip(TONES, tone_shares(system), strict=True))
    rows = []
    for attribute, planted, question in (("gender", gender, GENDER), ("tone", tone, ETHNICITY)):
        counts = Counter(answers[question])
        for value, share in planted.items():
            columns = key | {"attribute": attribute, "value": value, "planted": f"{share:.4f}"}
            rows.append(share_row(counts[value], len(answers[question]), **columns))
    hits = sum(answer == profession for answer in answers[JOB])
    columns = key | {"attribute": "profession", "value": profession, "planted": "1.0000"}
    return [*rows, share_row(hits, len(answers[JOB]), **columns)]


def measure_systems(out: Path, ask: Callable, images: int, work: Path) -> list[dict]:
    """realised.csv, resumable: a system's rows at one guidance are kept under `work` once measured."""
    from backend.starter.data import read_rows, write_rows

    rows = []
    for guidance in GUIDANCES:
        for system in SYSTEMS:
            done = work / "realised" / f"{system}-{guidance:.1f}-{images}.csv"
            if not done.exists():
                pipeline, part = load_system(out / "systems" / system), []
                for profession in PROFESSIONS:
                    pictures = generate(pipeline, profession_prompt(profession), images, guidance)
                    answers = {question: ask(pictures, question) for question in (GENDER, ETHNICITY, JOB)}
                    part += realised_rows(system, profession, guidance, answers)
                write_rows(done, part)
                print(f"measured {system} at guidance {guidance}", flush=True)
            rows += read_rows(done)
    return rows


def evaluate_models(arguments: argparse.Namespace, studio) -> None:
    """Write evaluation.csv and realised.csv from the saved models."""
    from transformers import AutoTokenizer, BlipForQuestionAnswering, BlipProcessor, VisionEncoderDecoderModel

    from backend.starter import captioner, vqa
    from backend.starter.data import write_rows
    from backend.starter.report import write_tables

    out = arguments.out
    model = BlipForQuestionAnswering.from_pretrained(out / "blip-vqa").eval()
    tokenizer = BlipProcessor.from_pretrained(out / "blip-vqa").tokenizer
    describer = VisionEncoderDecoderModel.from_pretrained(out / "captioner").eval()
    words = AutoTokenizer.from_pretrained(out / "captioner")

    def ask(pictures: np.ndarray, question: str) -> list[str]:
        return vqa.ask(model, tokenizer, pictures, question)

    combos, pictures = vqa.held_out_renders(studio, 3)
    answers = {question: ask(pictures, question) for question in (GENDER, ETHNICITY, JOB, PROBE)}
    rows = vqa_rows(answers, combos) + caption_rows(captioner.write_captions(describer, words, pictures), combos)
    write_rows(out / "evaluation.csv", rows)
    for row in rows:
        print(*row.values(), sep=" | ", flush=True)
    write_rows(out / "realised.csv", measure_systems(out, ask, arguments.images, arguments.work))
    write_tables(out)
