"""How well the starter's describing models read held-out renders, and what they say of "person" portraits."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from backend.metrics.intervals import wilson
from backend.starter.questions import ETHNICITY, GENDER, JOB, NEITHER, PROBE_FORMS, tone_answer
from backend.starter.scenes import combo_held_out
from backend.starter.words import NO_TONE, TONES, Combo

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


def evaluate_models(arguments: argparse.Namespace, studio) -> None:
    """Write evaluation.csv from the saved models, and realised.csv from the starter audit where there is one."""
    from transformers import AutoTokenizer, BlipForQuestionAnswering, BlipProcessor, VisionEncoderDecoderModel

    from backend.starter import captioner, vqa
    from backend.starter.data import write_rows
    from backend.starter.realised import measure_audit
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
    if (arguments.audit / "manifest.json").exists():
        write_rows(out / "realised.csv", measure_audit(arguments.audit, ask))
        write_tables(out)
    else:
        print(f"There is no audit at {arguments.audit}: after `python -m backend generate assets/specs/starter.toml")
        print("starter`, say `python -m backend.starter evaluate` again for what the systems realise.")
