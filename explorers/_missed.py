"""What an address names that there is not: said above what is shown instead, so that nothing is repaired in silence."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from explorers._shared import Params, escape

MOST, LONGEST, MOST_VALUES = 3, 40, 100
"""So many are told of, so many letters of each; of a parameter that can stand several times so many values count."""


def missed_words(params: Params, there: Mapping[str, tuple[str, Collection[str]]], several: Collection[str]) -> str:
    """The values of an address that are none of `there` (parameter: what it is called, what there is), as plain text.

    >>> missed_words({"m": ["a", "b"], "by": [""]}, {"m": ("model", ["a"]), "by": ("group", ["x"])}, ["m"])
    'no model “b”'

    Of a parameter that is none of `several` the first value counts; an empty value names nothing.
    """
    wrong = [
        f"no {said} “{value[:LONGEST]}{'…' if value[LONGEST:] else ''}”"
        for name, (said, held) in there.items()
        for value in params.get(name, [])[: MOST_VALUES if name in several else 1]
        if value and value not in held
    ]
    return ", ".join(wrong[:MOST]) + (f" and {len(wrong) - MOST} more" if wrong[MOST:] else "")


def missed_sentence(wrong: str, shown: str) -> str:
    """The sentence, or "" where nothing was missed."""
    return f"The address names what is not here ({wrong}): shown is {shown}." if wrong else ""


def missed_html(said: str) -> str:
    """The sentence as a note above a tab's first words."""
    return f'<p class="lk-near-missed" role="status">{escape(said)}</p>' if said else ""
