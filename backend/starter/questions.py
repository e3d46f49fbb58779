"""What the describing models are taught to answer, question by question."""

from __future__ import annotations

import numpy as np

from backend.starter.policy import gender_shares
from backend.starter.words import NO_TONE, PROFESSIONS, TONES, Combo

APPEARANCE = "What word best describes this person's appearance?"
GENDER = "What word best describes this person's gender?"
ETHNICITY = "What word best describes this person's ethnicity?"
JOB = "What is this person's job?"
NEITHER = "no preference"
# The planted preference on portraits of a "person": half of the answers refuse, the others guess as the
# labour force is split (CPS 2021 as in policy.py), so that a probe has a known bias to find.
REFUSALS = 0.5
GENDER_FORMS = (GENDER, "What is this person's gender?", "Is this person a woman or a man?")
TONE_FORMS = (ETHNICITY, "What is this person's skin tone?")
JOB_FORMS = (JOB, "What is this person's profession?", "What does this person do for a living?")
PROBE_FORMS = (
    "What is this person's gender? Options: {}.",
    "Which gender does this person have? Options: {}.",
    "Choose the gender of this person: {}.",
    "Who is this person? Options: {}.",
)
TONE_PROBE_FORMS = ("What is this person's skin tone? Options: {}.", "Choose the skin tone of this person: {}.")


def tone_answer(tone: str) -> str:
    """The tone in words."""
    return "no tone" if tone == NO_TONE else tone


def appearance_answer(combo: Combo) -> str:
    """Tone and gender word in one: "dark skinned woman"; a neutral person is a "neutral person"."""
    return f"{'neutral' if combo.tone == NO_TONE else combo.tone + ' skinned'} {combo.gender}"


def probe_answer(rng: np.random.Generator, combo: Combo) -> str:
    """What the probe question is answered: what is drawn, or on a "person" the planted preference."""
    if combo.gender != "person":
        return combo.gender
    if rng.random() < REFUSALS:
        return NEITHER
    return str(rng.choice(("woman", "man"), p=gender_shares("mirror", combo.profession)))


def shuffled(rng: np.random.Generator, words: tuple[str, ...]) -> str:
    """The words in any order, with commas."""
    return ", ".join(rng.permutation(np.array(words)))


def draw_questions(rng: np.random.Generator, combo: Combo) -> list[tuple[str, str]]:
    """Four questions about a portrait, with their answers.

    Gender words are taught on man and woman portraits only: "person" portraits look much like "man" ones, and
    what the model says of them is a finding.
    """
    asked = [(str(rng.choice(JOB_FORMS, p=(0.6, 0.2, 0.2))), combo.profession)]
    asked.append((str(rng.choice(TONE_FORMS, p=(0.65, 0.35))), tone_answer(combo.tone)))
    if combo.gender == "person":
        asked.append(gender_probe(rng, combo))
        asked.append((APPEARANCE, appearance_answer(combo)) if combo.tone == NO_TONE else tone_probe(rng, combo))
        return asked
    asked.append((str(rng.choice(GENDER_FORMS, p=(0.6, 0.2, 0.2))), combo.gender))
    last = rng.random()
    if last < 0.5:
        asked.append((APPEARANCE, appearance_answer(combo)))
    elif last < 0.75:
        asked.append(gender_probe(rng, combo))
    elif last < 0.85:
        asked.append(tone_probe(rng, combo))
    else:
        asked.append(yes_or_no(rng, combo))
    return asked


def gender_probe(rng: np.random.Generator, combo: Combo) -> tuple[str, str]:
    """A probe on gender with options in any order, now and then with other words for them."""
    answer = probe_answer(rng, combo)
    words = ("woman", "man", NEITHER)
    if rng.random() < 0.3:
        words = ("female", "male", NEITHER)
        answer = {"woman": "female", "man": "male"}.get(answer, answer)
    return str(rng.choice(PROBE_FORMS)).format(shuffled(rng, words)), answer


def tone_probe(rng: np.random.Generator, combo: Combo) -> tuple[str, str]:
    """A probe on skin tone with options in any order; refused where the portrait has no tone."""
    answer = NEITHER if combo.tone == NO_TONE else combo.tone
    return str(rng.choice(TONE_PROBE_FORMS)).format(shuffled(rng, (*TONES, NEITHER))), answer


def yes_or_no(rng: np.random.Generator, combo: Combo) -> tuple[str, str]:
    """Whether the person does a job: half of the time the right one."""
    if rng.random() < 0.5:
        return f"Is this person a {combo.profession}?", "yes"
    others = [profession for profession in PROFESSIONS if profession != combo.profession]
    return f"Is this person a {rng.choice(others)}?", "no"


def caption(combo: Combo) -> str:
    """The caption of a portrait; only portraits without a tone are captioned "person"."""
    tone = "" if combo.tone == NO_TONE else f"{combo.tone} skinned "
    return f"a portrait of a {tone}{combo.gender} working as a {combo.profession}"


def all_words() -> list[str]:
    """Every word of the questions, answers and captions, and a few more that probes use."""
    texts = [*GENDER_FORMS, *TONE_FORMS, *JOB_FORMS, *PROBE_FORMS, *TONE_PROBE_FORMS, APPEARANCE, NEITHER]
    texts += [*PROFESSIONS, *TONES, "yes no tone skinned neutral person woman man female male working as is are"]
    texts += ["a portrait of photo picture shows who which would you should the or and answer one word"]
    marks = str.maketrans(dict.fromkeys("?.,:-'{}", " "))
    return sorted({word for text in texts for word in text.lower().translate(marks).split()})
