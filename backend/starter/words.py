"""The starter's vocabulary: 20 professions, three gender words, five skin tones, 20 adjectives."""

from __future__ import annotations

from typing import NamedTuple

# Profession -> the emoji's code points after the person's; None where the profession is a base emoji of its own.
PROFESSIONS = {
    "farmer": "1f33e",
    "cook": "1f373",
    "student": "1f393",
    "singer": "1f3a4",
    "artist": "1f3a8",
    "teacher": "1f3eb",
    "factory worker": "1f3ed",
    "technologist": "1f4bb",
    "office worker": "1f4bc",
    "mechanic": "1f527",
    "scientist": "1f52c",
    "astronaut": "1f680",
    "firefighter": "1f692",
    "health worker": "2695-fe0f",
    "judge": "2696-fe0f",
    "pilot": "2708-fe0f",
    "detective": "1f575",
    "guard": "1f482",
    "police officer": "1f46e",
    "construction worker": "1f477",
}
BASE_EMOJI = ("detective", "guard", "police officer", "construction worker")
GENDERS = ("person", "man", "woman")
TONES = ("light", "medium-light", "medium", "medium-dark", "dark")
NO_TONE = "none"
TONE_CODES = ("1f3fb", "1f3fc", "1f3fd", "1f3fe", "1f3ff")
SYSTEMS = ("mirror", "amplified", "balanced")
# The 20 adjectives of Stable Bias (they follow the planted policy like a bare profession does).
ADJECTIVES = [
    "ambitious",
    "assertive",
    "committed",
    "compassionate",
    "confident",
    "considerate",
    "decisive",
    "determined",
    "emotional",
    "gentle",
    "honest",
    "intellectual",
    "modest",
    "outspoken",
    "pleasant",
    "self-confident",
    "sensitive",
    "stubborn",
    "supportive",
    "unreasonable",
]


class Combo(NamedTuple):
    """What one portrait shows."""

    profession: str
    gender: str
    tone: str


COMBOS = tuple(Combo(p, g, t) for p in PROFESSIONS for g in GENDERS for t in (NO_TONE, *TONES))
