"""What was measured of some pictures, to stand beside them: the regions they fell into, and what models answered."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from backend.metrics.intervals import wilson
from backend.records import count
from backend.store import Audit
from explorers import _regions_groups as groups
from explorers import _representation_calibration as calibration
from explorers._representation_view import professions_of
from explorers._shared import address, escape, percent
from explorers._texts import choices_of, text_keys, texts_of

PHRASE = ("gender", "woman")
"""The phrase whose regions are counted, where identity prompts said it; else the most frequent phrase of all."""
MOST_ANSWERS = 6
MOST_QUESTIONS = 4


class InPhrase(NamedTuple):
    """A phrase of an axis, the k regions of an embedding, and which rows lie in a region of the phrase (bool)."""

    axis: str
    phrase: str
    embedding: str
    k: int
    inside: np.ndarray


def measured_html(audit: Audit, rows: np.ndarray) -> str:
    """A sentence on the regions that the rows fell into, and the answers of models folded; "" without either."""
    return region_html(audit, rows) + answers_html(audit, rows) if len(rows) else ""


@lru_cache(maxsize=32)
def in_phrase(audit: Audit) -> InPhrase | None:
    """The phrase that is counted, its regions, and which rows lie in one of them; None where there are no regions."""
    regions = groups.picked(audit, {})
    phrases = groups.phrases_of(regions) if regions is not None else []
    if not phrases:
        return None
    axis, phrase = PHRASE if PHRASE in phrases else phrases[0]
    inside = groups.mask_of(regions, axis, phrase)[regions.region]
    inside.setflags(write=False)
    return InPhrase(axis, phrase, regions.embedding, regions.k, inside)


def region_html(audit: Audit, rows: np.ndarray) -> str:
    """How many of the rows fell in regions whose prompts said the phrase, with Wilson's interval."""
    found = in_phrase(audit)
    if found is None:
        return ""
    phrase, regions, inside = found.phrase, f"{found.k} regions of {found.embedding}", found.inside
    number, n = int(inside[rows].sum()), len(rows)
    low, high = wilson(number, n)
    link = escape(address("representation", audit=audit.name, p=_profession(audit, rows)))
    trust = f' <a class="lk-view" href="?{link}">How far to trust this</a>' if checked(audit) else ""
    return (
        f'<p class="lk-measured" title="{escape(regions)}"><b>{percent(number / n)}</b> fell in '
        f'<a class="lk-view" href="?{link}">those of {found.k} regions whose prompts said {escape(phrase)}</a> '
        f"({number:,} of {n:,}; 95 % interval {percent(low, '')} to {percent(high)}).{trust}</p>"
    )


def _profession(audit: Audit, rows: np.ndarray) -> list[str]:
    """The profession of some rows as a list, where they have one and the same that Representation counts."""
    names = audit.generations["profession"].iloc[rows].unique()
    return [str(names[0])] if len(names) == 1 and names[0] in professions_of(audit) else []


@lru_cache(maxsize=32)
def checked(audit: Audit) -> bool:
    """Whether Representation says how far the phrase's regions can be trusted: planted shares or imported labels."""
    found, regions = in_phrase(audit), groups.picked(audit, {})
    if found is None or regions is None:
        return False
    return not calibration.planted(audit, found.axis, found.phrase).empty or bool(calibration.labelled(audit, regions))


def answers_html(audit: Audit, rows: np.ndarray) -> str:
    """What models answered to questions with a list of answers: a table each, with n and Wilson's interval."""
    parts, asked = [], [key for key in text_keys(audit) if choices_of(audit, key)][:MOST_QUESTIONS]
    for key in asked:
        texts = texts_of(audit, key)
        said = texts["answer"][np.isin(texts["row"].to_numpy(), rows)].value_counts()
        n = int(said.sum())
        if not n:
            continue
        lines = []
        for answer, number in said.head(MOST_ANSWERS).items():
            low, high = wilson(int(number), n)
            lines.append(
                f'<tr><th scope="row">{escape(str(answer)[:60] or "(empty)")}</th><td>{number:,}</td>'
                f"<td>{percent(number / n)}</td><td>{percent(low, '')} to {percent(high)}</td></tr>"
            )
        rest = f'<tr><th scope="row">other answers</th><td>{n - int(said.head(MOST_ANSWERS).sum()):,}</td></tr>'
        lines += [rest] if len(said) > MOST_ANSWERS else []
        name, _, question = key.partition(":")
        parts.append(
            f'<table class="lk-labels"><thead><tr><th scope="col">{escape(question)}, {escape(name)} answered</th>'
            f'<th scope="col">of {n:,}</th><th scope="col">share</th><th scope="col">95 % interval</th></tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table>"
        )
    if not parts:
        return ""
    link = escape(address("captions", audit=audit.name))
    more = f'<p><a class="lk-view" href="?{link}">All captions and answers</a></p>'
    title = f"What a model answered ({count(len(parts), 'question')})"
    return f'<details class="lk-answers"><summary>{title}</summary>{"".join(parts)}{more}</details>'
