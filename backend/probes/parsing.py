"""A free answer -> which of the options it is, or none of them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence

LONGEST_READ = 4_000
"""Characters of an answer that are looked at; an answer to these questions has a few words."""
_WORD = re.compile(r"[^\W_]+")
_NOT = frozenset(
    ("not", "no", "nor", "neither", "never", "without", "cannot", "cant", "dont", "doesnt", "isnt", "wont", "unable")
)
"""Words that turn an answer around. "can't" and the like are matched without their apostrophe."""


def words(text: str) -> list[str]:
    """The words of an answer or option: runs of letters and digits, in lower case, apostrophes left out.

    >>> words("**18–44 Years**, can't say")
    ['18', '44', 'years', 'cant', 'say']
    """
    return [word.casefold() for word in _written(text)]


def _written(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").replace("'", "")
    return _WORD.findall(plain)


def parse(text: str, options: Sequence[Sequence[str]]) -> int | None:
    """The place of the one option that a free answer names, or None. `options` holds the texts of each.

    By hand: "No preference." is the third; "male or female" names two, so it is none; "not male" is turned around.

    >>> choices = [("male", "man"), ("female", "woman"), ("no preference",)]
    >>> [parse(said, choices) for said in ("No preference.", "A man!", "male or female", "not male", "a robot")]
    [2, 0, None, None, None]

    Rules: what a model thinks aloud (up to </think>) is left out; an answer that is JSON is its value where it has one
    (`{"answer": ...}`). Texts are matched as whole words, longer ones first, so that "no" is not found within "no
    preference". Exactly one option must be named. Beside it no word may turn it around ("not", "neither", ...), unless
    the answer begins with the option. Case and punctuation do not matter. Rather none than a wrong one: what is None
    is counted and shown as unparsed.
    """
    written = _written(_value(text.rpartition("</think>")[2][:LONGEST_READ]))
    said = [word.casefold() for word in written]
    if not said:
        return None
    texts = [(tuple(words(one)), place) for place, all_ in enumerate(options) for one in all_]
    texts = sorted(((one, place) for one, place in texts if one), key=lambda pair: -len(pair[0]))
    named: set[int] = set()
    left: list[str] = []
    first, at = None, 0
    while at < len(said):
        article = len(said) > 1 and len(said[at]) == 1 and written[at].islower()  # "a" in a sentence is no option A
        found = next(((one, place) for one, place in texts if tuple(said[at : at + len(one)]) == one), None)
        if found is None or (article and len(found[0]) == 1):
            left.append(said[at])
            at += 1
            continue
        named.add(found[1])
        first = found[1] if at == 0 else first
        at += len(found[0])
    if len(named) != 1 or (first is None and _NOT & set(left)):
        return None
    return named.pop()


def _value(text: str) -> str:
    """The value of an answer that is JSON with one text in it; else the answer, without a fence around it."""
    inner = re.sub(r"^\s*```\w*\s*|\s*```\s*$", "", text)
    if not inner.lstrip().startswith(("{", "[", '"')):
        return inner
    try:
        held = json.loads(inner)
    except (ValueError, RecursionError):
        return inner
    while isinstance(held, dict | list) and len(held) == 1:
        held = next(iter(held.values() if isinstance(held, dict) else held))
    return held if isinstance(held, str) else inner
