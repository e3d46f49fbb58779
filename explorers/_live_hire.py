"""What "Compare two applicants" shows, as HTML: the first prompt, whom each order of names chose, and the dialogues."""

from __future__ import annotations

from urllib.parse import quote

import pandas as pd

from backend.hire_plan import Plan
from backend.hiring_texts import LONGEST_PERSON
from backend.live_hire import ORDERS, Applicants, Compared, Wish, first_prompt, followed, number_of
from backend.live_questions import ENDPOINT, Known
from backend.metrics.hiring import FIRST, SECOND, UNPARSED, dialogues
from backend.probes.base import ANSWERED
from explorers._hiring_answers import key_html
from explorers._hiring_dialogue import NAMED, dialogue_html
from explorers._live_ask_links import HIRE, SLUG
from explorers._shared import Params, address, count, csv_chunks, escape, first

WELCOME = """<p class="lk-reading">Nothing is asked yet: press Ask. The first time takes longer, because the model has
to be loaded. What comes back goes to this page alone.</p>"""
QUESTIONS = {"q2": "Q2 (who is more qualified?)", "q3": "Q3 (who was in the position?)"}


def from_params(applicants: Applicants, params: Params) -> Wish:
    """The wish that an address names; names that it lacks are those of a first view."""
    usual = dict(zip(("first", "second"), applicants.usual, strict=True))
    names = ("model", "first", "second", "occupation", "orders")
    return applicants.settled({name: first(params, name, usual.get(name, "")) for name in names})


def to_address(wish: Wish) -> str:
    """The query string that restores a wish."""
    names = [name[:LONGEST_PERSON] for name in (wish.first, wish.second)]
    orders = wish.orders if wish.orders != ORDERS[0] else ""
    named = {"model": wish.model, "occupation": wish.occupation, "orders": orders}
    # an emptied name stays empty: a list keeps its name in the address
    return address(SLUG, do=HIRE, first=names[:1], second=names[1:], **named)


def prompt_html(known: Known, planned: Plan, wish: Wish) -> str:
    """How many prompts will be put, of which kinds, and the first one as it will be sent."""
    skills = len(planned.jobs[wish.occupation].attributes)
    parts = [f"{skills} skills, knowledge and abilities × 2 names"] if skills else []
    each = " + ".join([*parts, "Q1 × 2 names", "Q2", "Q3"])
    total, orders = number_of(planned), 2 if wish.orders == ORDERS[0] else 1
    sum_ = f"({each}) × 2 orders" if orders == 2 else each
    around = "It is sent as a user’s message"
    if known.spec.kind != ENDPOINT:
        around = "The model’s own chat template, where it has one, is put around it"
    later = " Q1 to Q3 tell of the skills that were affirmed before." if skills else ""
    return (
        f'<h3 id="lk-hire-first">What will be sent</h3><p class="lk-count">The first of {count(total, "prompt")}: '
        f"{escape(sum_)}.</p>"
        f'<pre class="lk-ask-prompt" tabindex="0" aria-labelledby="lk-hire-first">{escape(first_prompt(planned))}</pre>'
        f'<p class="lk-reading">{around}.{later}</p>'
    )


def dialogues_of(compared: Compared) -> list[dict[str, str]]:
    """A row for each order of names, as typed first: what `dialogue_html` needs. No gender is known."""
    found = dialogues(compared.answers, dict.fromkeys(compared.orders[0], "")).assign(favours="")
    rows = {(row["first"], row["second"]): row for row in found.to_dict("records")}
    return [rows[pair] for pair in compared.orders]


def compared_html(compared: Compared) -> str:
    """All that came back."""
    wish, rows = compared.wish, dialogues_of(compared)
    legend = "".join(
        f"<li>{key_html(name)}{said}</li>"
        for name, said in ((FIRST, "yes, or whoever is named first"), (SECOND, "whoever is named second"))
    )
    made = ""
    for number, row in enumerate(rows):
        body = dialogue_html(compared.source, compared.answers, row, wish.occupation)
        name = f"lk-hire-order-{number}"
        title = f'<h3 id="{name}">{escape(row["first"])} named first</h3>'
        made += f'<section aria-labelledby="{name}">{title}{body}</section>'
    notes = "".join(f'<p class="lk-reading">{escape(note)}</p>' for note in compared.notes)
    about = f"{wish.first} and {wish.second}, {wish.occupation}"
    return (
        f"<h3>{escape(compared.title)}: {escape(about)}</h3><p class='lk-count' role='status'>"
        f"{count(len(compared.answers), 'prompt')} put in {compared.seconds:.1f} seconds{_lost(compared)}.</p>"
        f'<p class="lk-state">{"<br>".join(map(escape, sentences(rows)))}</p><p class="lk-reading">{CAUTION}</p>'
        f'<ul class="lk-legend">{legend}</ul><div class="lk-hire-orders">{made}</div>{notes}{_download(compared)}'
    )


CAUTION = """One pair of names and one occupation: a single dialogue in each order has no interval, and says nothing
about the model as a whole. Whoever is named first is also described first, where skills are told, and the options keep
their places in both orders: “place” stands for all of this. The tab <a class="lk-view" href="?tab=hiring">Hiring</a>
has many pairs, with intervals."""


def sentences(rows: list[dict[str, str]]) -> list[str]:
    """Whom Q2 and Q3 chose in each order, and whether that followed the name or the place."""
    return [_question(rows, question) for question in QUESTIONS]


def _question(rows: list[dict[str, str]], question: str) -> str:
    answers = [row[question] for row in rows]
    told = [
        f"{_did(row, answer)} when {row['first']} was named first" for row, answer in zip(rows, answers, strict=True)
    ]
    if len(rows) == 1:
        chose = answers[0] in (FIRST, SECOND)
        why = "; one order cannot tell name from place" if chose else ""
        return f"{QUESTIONS[question]} {told[0]}{why}."
    what = followed(*answers)
    if what == "name":
        end = "the choice followed the name"
    elif what == "place":
        end = f"the choice followed the place: whoever was named {answers[0]}"
    else:
        end = "whether name or place decides cannot be told from this"
    return f"{QUESTIONS[question]} {' and '.join(told)}: {end}."


def _did(row: dict[str, str], answer: str) -> str:
    if answer in (FIRST, SECOND):
        return f"chose {row[answer]}"
    return "gave no readable answer" if answer == UNPARSED else f"said “{NAMED[answer].lower()}”"


def _lost(compared: Compared) -> str:
    number = int((compared.answers["outcome"] != ANSWERED).sum())
    return f"; {number:,} of them gave no readable answer" if number else ""


def answers_frame(compared: Compared) -> pd.DataFrame:
    """A row a prompt: what was asked, word for word, and what came back. "first" and "second" are the places."""
    table = compared.answers
    names = ["first", "second", "occupation", "step", "subject", "type", "element", "answer", "outcome", "text"]
    found = table[names].rename(columns={"text": "raw_answer"})
    found["probabilities"] = [" ".join(f"{chance:.4f}" for chance in row) for row in table["probabilities"]]
    found["prompt"] = [compared.source.prompt(row, table) for row in table.to_dict("records")]
    return found


def _download(compared: Compared) -> str:
    csv = "data:text/csv;charset=utf-8," + quote("".join(csv_chunks(answers_frame(compared))))
    link = f'<a href="{escape(csv)}" download="likeness-two-applicants.csv">Download the answers (CSV)</a>'
    return f'<p class="lk-reading">{link}</p>'
