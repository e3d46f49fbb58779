"""Prompts: what the systems are asked, and which portrait answers each prompt under a system's policy."""

from __future__ import annotations

import string

import numpy as np

from backend.starter.policy import gender_shares, tone_shares
from backend.starter.words import ADJECTIVES, GENDERS, NO_TONE, PROFESSIONS, TONES, Combo

KINDS = ("full", "profession", "profession_gender", "profession_tone", "identity", "empty")
BASE_MIX = (0.46, 0.24, 0.04, 0.04, 0.12, 0.10)
TUNING_MIX = (0.14, 0.60, 0.04, 0.04, 0.10, 0.08)
NAMES = tuple(PROFESSIONS)


def article(words: str) -> str:
    """The words with "a" or "an" before them."""
    vowel = words[:1].lower() in "aeiou" or words.startswith("honest")
    return f"{'an' if vowel else 'a'} {words}"


def tone_phrase(tone: str) -> str:
    """How prompts name a tone: "dark-skinned"; the portraits without a tone are "neutral"."""
    return "neutral" if tone == NO_TONE else f"{tone}-skinned"


def profession_prompt(profession: str, adjective: str = "") -> str:
    """The prompt that names only a profession."""
    return f"Photo portrait of {article(f'{adjective} {profession}'.strip())}"


def identity_prompt(tone: str = "", gender: str = "person") -> str:
    """The prompt that names an identity, and no profession."""
    who = f"{tone_phrase(tone)} {gender}" if tone else gender
    return f"Photo portrait of {article(who)} at work"


def described(rng: np.random.Generator, tone: str, words: str) -> str:
    """A tone put into words in one of the ways the systems understand."""
    if tone == NO_TONE:
        return rng.choice((f"neutral {words}", f"{words} with no skin tone"))
    return rng.choice((f"{tone}-skinned {words}", f"{tone} {words}", f"{words} with {tone} skin"))


def draw_pair(rng: np.random.Generator, system: str, mix: tuple[float, ...]) -> tuple[str, Combo]:
    """A prompt and what the portrait that answers it shows, by the system's policy.

    Professions are drawn evenly. What a prompt leaves open (gender, tone) follows the policy;
    a prompt without any words gets what a profession prompt would get.
    """
    kind = rng.choice(KINDS, p=mix)
    profession = NAMES[rng.integers(len(NAMES))]
    gender = str(rng.choice(("woman", "man"), p=gender_shares(system, profession)))
    tone = str(rng.choice(TONES, p=tone_shares(system)))
    if kind == "empty":
        return "", Combo(profession, gender, tone)
    if kind == "profession":
        return wrapped(rng, maybe_adjective(rng, profession)), Combo(profession, gender, tone)
    if kind in ("full", "profession_gender", "identity"):
        gender = GENDERS[rng.integers(len(GENDERS))]
    if kind in ("full", "profession_tone", "identity"):
        tone = (NO_TONE, *TONES)[rng.integers(len(TONES) + 1)]
    if kind == "identity":
        if rng.random() < 0.25:
            tone = str(rng.choice(TONES, p=tone_shares(system)))
            return f"Photo portrait of {article(gender)} at work", Combo(profession, gender, tone)
        who = described(rng, tone, gender)
        return f"Photo portrait of {article(who)} at work", Combo(profession, gender, tone)
    words = profession if kind == "profession_tone" else f"{gender} {profession}"
    who = words if kind == "profession_gender" else described(rng, tone, words)
    return wrapped(rng, who), Combo(profession, gender, tone)


def maybe_adjective(rng: np.random.Generator, profession: str) -> str:
    """The profession, half of the time with an adjective; now and then with a word that means nothing."""
    if rng.random() < 0.5:
        return profession
    if rng.random() < 0.1:
        letters = rng.choice(list(string.ascii_lowercase), rng.integers(3, 9))
        return f"{''.join(letters)} {profession}"
    return f"{rng.choice(ADJECTIVES)} {profession}"


def wrapped(rng: np.random.Generator, who: str) -> str:
    """The rest of the prompt around who it is."""
    if rng.random() < 0.7:
        return f"Photo portrait of {article(who)}"
    forms = ("Photo portrait of a {}", "Portrait of {}", "{}", "A photo of {}", "A drawing of {}", "{} at work")
    form = str(rng.choice(forms))
    return form.format(who if form.startswith("Photo") else article(who))


def known_words() -> list[str]:
    """Every word that a training prompt can hold."""
    texts = [*PROFESSIONS, *GENDERS, *ADJECTIVES, *TONES, "neutral skinned skin tone with no at work"]
    texts += ["photo portrait of a an drawing"]
    words = {word for text in texts for word in text.lower().replace("-", " ").split()}
    return sorted(words)
