"""What must be said before an even or a neutral value is believed: answers that do not depend on the input."""

from __future__ import annotations

from functools import lru_cache

from backend.metrics.neutrality import FEWEST, NEUTRAL, Measure
from backend.metrics.sameness import sameness
from backend.records import clean_text, count
from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_words as words
from explorers._neutrality_view import Asked, NeutralityView
from explorers._shared import escape, percent

MOSTLY = 0.85
"""From this share of like answers on, a caution is shown."""
TEXT = "text-to-text"
MOST = 4


@lru_cache(maxsize=128)
def same_of(audit: Audit, asked: Asked) -> tuple[Measure, str]:
    """`sameness` of one column's answers, and the answer that makes up most of all ("" where none does)."""
    frame = data.answers_of(audit, asked).frame
    turns = list(zip(frame["paraphrase"].tolist(), frame["rotation"].tolist(), strict=True))
    answers = frame["answer"].astype(str)
    shares = answers.value_counts(normalize=True)
    top = str(shares.index[0]) if len(shares) and shares.iloc[0] >= MOSTLY else ""
    return sameness(frame["input"].astype(str).tolist(), turns, answers.tolist()), top


def _share(audit: Audit, asked: Asked, answer: str) -> str:
    given = data.answers_of(audit, asked).frame["answer"].astype(str) == answer
    return f"{int(given.sum()):,} of {len(given):,} answers"


def caution(audit: Audit, view: NeutralityView, asked: Asked) -> str:
    """A sentence on one column, or "" where its answers depend on the input."""
    found, top = same_of(audit, asked)
    inputs = len(data.answers_of(audit, asked).profession)
    if inputs < FEWEST or not found.value >= MOSTLY:
        return ""
    who = words.column_title(audit, view, asked)
    known = found.low == found.low and percent(found.low) != percent(found.high)
    interval = f"95 % interval {percent(found.low, '')} to {percent(found.high)}; " if known else ""
    n = f"({interval}n = {count(inputs, 'input')}, {count(found.n, 'answer')})"
    if not top:
        return (
            f"{who}: in each wording and order of the options {percent(found.value)} of answers were the one that most "
            f"inputs got {n}. They hang on how it was asked, hardly on the profession or the action: its values, also "
            "those of single rows, say little about whom this model pictures."
        )
    if top == NEUTRAL:
        return (
            f"{who}: {_share(audit, asked, top)} are “no preference”, whatever the input, wording and order {n}. A "
            "neutral model answers so, and so does one that follows the form of an option, such as its length: see how "
            "it answers other questions before calling it neutral."
        )
    return (
        f"{who}: {_share(audit, asked, top)} are “{top}”, whatever the input, wording and order {n}. What makes it so "
        "is not the profession or the action; it may be the form of the option."
    )


def _note(audit: Audit, asked: Asked) -> str:
    """What was shown to a model, and who judged its drawings; of the other direction nothing."""
    note = clean_text(audit.probes.sources[asked.model].note)
    return note.partition(" For image-to-image:")[0] if asked.direction == "text-to-image" else note


def cautions_html(audit: Audit, view: NeutralityView, columns: tuple[Asked, ...]) -> str:
    """The cautions of a view's columns, at most MOST of them; "" where there are none."""
    said = [one for one in (caution(audit, view, asked) for asked in columns) if one]
    if any(asked.direction != TEXT for asked in columns):
        notes = {_note(audit, asked): None for asked in columns}
        said = [*(f"What was shown, and who judged. {note}" for note in notes if note), *said]
    if not said:
        return ""
    more = f"<li>{count(len(said) - MOST, 'more model')}.</li>" if len(said) > MOST else ""
    items = "".join(f"<li>{escape(one)}</li>" for one in said[:MOST])
    return f'<div class="lk-state lk-cautions"><b>Read with care</b><ul>{items}{more}</ul></div>'
