"""What the tab Live shows, as HTML: progress, pictures, answers. Pictures travel in the page, to one visitor alone."""

from __future__ import annotations

import base64
import re
from collections import Counter
from urllib.parse import quote

import pandas as pd

from backend.live import QUESTIONS, Drawn, News, Wish
from backend.metrics.intervals import wilson
from backend.pictures import PictureError, read_picture
from backend.records import count
from backend.systems import Refused
from explorers._shared import csv_chunks, escape, percent

WELCOME = """<p class="lk-reading">Nothing is drawn yet: press Draw. The first time takes some seconds longer, because
the model has to be loaded. The same prompt, seed and settings give the same pictures, so a copied address does,
too.</p>"""
SMALL = 200_000
"""Bytes up to which a picture travels as it came; of a larger one its thumbnail does."""


def problem_html(words: str) -> str:
    """Why nothing was drawn."""
    return f'<p class="lk-problem" role="alert">{escape(words)}</p>'


def notes_html(notes: tuple[str, ...]) -> str:
    """Sentences about the prompt."""
    return "".join(f'<p class="lk-state">{escape(note)}</p>' for note in notes)


def news_html(wish: Wish, news: News | None) -> str:
    """How far a wish has come. The bar moves with each step; the sentence, which is read aloud, changes seldom."""
    asked = f"{count(wish.images, 'picture')} of “{escape(wish.prompt)}” by {escape(wish.system)}"
    if news and news.waiting:
        words = f"Waiting: {count(news.waiting, 'visitor')} before you. Then: {asked}."
    elif news and news.steps:
        words = f"Drawing {asked}."
    else:
        words = f"Preparing {asked}."
    moving = f'value="{news.step}" max="{news.steps}"' if news and news.steps else ""
    bar = f'<progress {moving} aria-label="Steps done"></progress>'
    where = f"<span aria-hidden=true>step {news.step:,} of {news.steps:,}</span>" if news and news.steps else ""
    return (
        f'<p role="status">{words}</p><p class="lk-live-bar">{bar} {where}</p>{notes_html(news.notes if news else ())}'
    )


def drawn_html(drawn: Drawn) -> str:
    """The pictures, the refusals, and what the model answered."""
    wish = drawn.wish
    said = f"{count(sum(not isinstance(p, Refused) for p in drawn.pictures), 'picture')} in {drawn.seconds:.1f} seconds"
    head = (
        f"<h3>{escape(wish.prompt)}</h3><p class='lk-count' role='status'>{said}, by {escape(wish.system)}: "
        f"seeds {wish.seed:,} to {wish.seed + wish.images - 1:,}, {wish.steps} steps, guidance {wish.guidance:g}.</p>"
    )
    figures = "".join(_figure(wish, place, picture) for place, picture in enumerate(drawn.pictures))
    answers = _summary(drawn) + _table(drawn) if any(drawn.answers) else _NO_ANSWERS
    return f'{head}{notes_html(drawn.notes)}<div class="lk-grid lk-live-grid">{figures}</div>{answers}'


_NO_ANSWERS = """<p class="lk-reading">No model is asked about these pictures: the one that ships was taught on the
starter's drawings only.</p>"""


_NO_FACTS = """<p class="lk-reading">These are a small model's answers, not facts: nobody is pictured. It was taught to
answer the question about ethnicity with a skin tone.</p>"""
_MIND = """<p class="lk-state">Mind the note above about the prompt: the model names one of its words for any picture,
also for one that means nothing.</p>"""


def _figure(wish: Wish, place: int, picture: bytes | Refused) -> str:
    seed = wish.seed + place
    if isinstance(picture, Refused):
        return f'<figure class="lk-figure"><p class="lk-empty">{place + 1}: {escape(picture.reason)}</p></figure>'
    try:
        checked = read_picture(picture)
    except PictureError as error:
        return f'<figure class="lk-figure"><p class="lk-empty">{place + 1}: {escape(error)}</p></figure>'
    kind, data = (checked.format.lower(), picture) if len(picture) <= SMALL else ("webp", checked.thumbnail)
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    words = f"{wish.prompt}: {wish.system}, seed {seed}, number {place + 1}"
    name = escape(f"{wish.system}-{re.sub(r'[^a-z0-9]+', '-', wish.prompt.lower())[:60].strip('-')}-{seed}.{kind}")
    save = f'<a href="{source}" download="{name}" aria-label="Save picture {place + 1}">Save</a>'
    return (
        f'<figure class="lk-figure"><img src="{source}" alt="{escape(words)}"><figcaption>'
        f"<span>{place + 1}</span><span>seed {seed}</span>{save}</figcaption></figure>"
    )


def _summary(drawn: Drawn) -> str:
    """For each question: every answer with its count, share and 95 % Wilson interval."""
    items = []
    for column, question in enumerate(QUESTIONS):
        said = [row[column].text for row in drawn.answers if row]
        parts = []
        for text, number in Counter(said).most_common(6):
            low, high = wilson(number, len(said))
            parts.append(
                f"<b>{escape(text) or 'no answer'}</b> {number} of {len(said)} ({percent(number / len(said))}, "
                f"95 % interval {percent(low, '')} to {percent(high)})"
            )
        items.append(f"<li>{escape(question)} {'; '.join(parts)}</li>")
    return f"<h3>What a model answered</h3>{_NO_FACTS}{_MIND if drawn.notes else ''}<ul>{''.join(items)}</ul>"


def answers_frame(drawn: Drawn) -> pd.DataFrame:
    """A row a picture: its number and seed, each question's answer and its probability."""
    rows = []
    for place, answers in enumerate(drawn.answers):
        row = {
            "number": place + 1,
            "seed": drawn.wish.seed + place,
            "system": drawn.wish.system,
            "prompt": drawn.wish.prompt,
            "steps": drawn.wish.steps,
            "guidance": drawn.wish.guidance,
            "notes": " ".join(drawn.notes),
        }
        for question, answer in zip(QUESTIONS, answers, strict=False):
            row |= {question: answer.text, f"probability: {question}": round(answer.probability, 4)}
        rows.append(row)
    return pd.DataFrame(rows)


def _table(drawn: Drawn) -> str:
    heads = "".join(f"<th scope=col>Answer: {name}</th>" for name in QUESTIONS.values())
    rows = "".join(
        f"<tr><th scope=row>{place + 1}</th>"
        + "".join(f"<td>{escape(answer.text)} ({percent(answer.probability)})</td>" for answer in answers)
        + "</tr>"
        for place, answers in enumerate(drawn.answers)
    )
    csv = "data:text/csv;charset=utf-8," + quote("".join(csv_chunks(answers_frame(drawn))))
    return (
        '<div class="lk-scroll" tabindex="0" role="region" aria-label="Answers by picture"><table class="lk-words">'
        f"<thead><tr><th scope=col>Picture</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="lk-reading">In brackets: the probability that the model gave to its answer. '
        f'<a href="{escape(csv)}" download="likeness-live.csv">Download the answers (CSV)</a></p>'
    )
