"""The words that count as markers, read from a table, and the professions whose own names are such words."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from backend.metrics.markers import KINDS, tokens

LEXICON = Path(__file__).parent.parent.parent / "assets" / "lexicon.csv"
MOST_WORDS = 100_000


class LexiconError(ValueError):
    """A lexicon that cannot be used. The message names the file, the line and the remedy."""


def read_lexicon(path: Path = LEXICON) -> dict[str, dict[str, str]]:
    """A lexicon by language: word -> kind of marker (one of KINDS). Columns: language, word, marker.

    `read_lexicon()["en"]["women"]` is "woman". Words are matched whole and without regard to case; a row of another
    language counts only for texts in it (the German "man" is no man). Raises LexiconError.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LexiconError(f"{path} cannot be read ({error}): give a CSV file in UTF-8") from error
    found: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows[:MOST_WORDS], start=2):
        language, word, marker = ((row.get(name) or "").strip() for name in ("language", "word", "marker"))
        if not language or marker not in KINDS:
            raise LexiconError(f"{path}, line {number}: marker: {marker[:40]!r} is none of {', '.join(KINDS)}")
        if len(tokens(word)) != 1:
            raise LexiconError(f"{path}, line {number}: word: {word[:40]!r} is not one word")
        kind = found.setdefault(language, {}).setdefault(tokens(word)[0], marker)
        if kind != marker:
            raise LexiconError(f"{path}, line {number}: word: {word!r} is both {kind} and {marker}; keep one")
    return found


def gendered_names(professions: list[str], words: Mapping[str, str]) -> list[str]:
    """The professions whose own names hold a woman or a man word, which is masked before texts are matched.

    >>> gendered_names(["waitress", "nurse"], {"waitress": "woman"})
    ['waitress']
    """
    return [name for name in professions if any(words.get(token) in ("woman", "man") for token in tokens(name))]
