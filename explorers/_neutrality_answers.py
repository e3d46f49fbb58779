"""The answers behind one cell of Neutrality: what was asked about, in which wording and order, and what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_names as names
from explorers import _neutrality_view as state
from explorers import _neutrality_words as words
from explorers._grid import figures
from explorers._live_ask_links import ask_address
from explorers._neutrality import Heat, Row
from explorers._neutrality_html import bar_html
from explorers._neutrality_view import Asked, NeutralityView, to_address
from explorers._shared import address, count, escape

PAGE = 30
SHORT_TEXT = 160
OUTCOMES = {"unparsed": "no option could be read", "refused": "refused", "failed": "no answer came"}


def behind(audit: Audit, asked: Asked, professions: Sequence[str], answer: str = "") -> pd.DataFrame:
    """The answers to one thing asked about some professions, as stored; of one kind alone where `answer` names it."""
    held = data.answers_of(audit, asked)
    mine = np.isin(held.profession, list(professions))[held.inputs]
    if answer in held.columns:
        mine &= held.places == held.columns.index(answer)
    return held.frame[mine]


def panel_html(audit: Audit, view: NeutralityView, shown: Heat) -> str:
    """The panel beside the heatmap: the open cell's numbers, its answers by kind, and a page of them."""
    row, asked = data.open_cell(shown, view)
    cell, columns = shown.cells[row.key, asked.column], data.answers_of(audit, asked).columns
    answer = view.answer if view.answer in columns else ""
    found = behind(audit, asked, row.professions, answer)
    pages = max(1, -(-len(found) // PAGE))
    page = min(view.page, pages)
    here = replace(view, row=row.key, column=asked.column, answer=answer, page=page)
    part = found.iloc[(page - 1) * PAGE : page * PAGE]
    said = words.cell_words(cell, shown.measure)
    title = f"{row.label}, {words.column_title(audit, view, asked)}"
    return (
        '<section id="lk-neutral-answers" tabindex="-1" aria-labelledby="lk-neutral-cell"><h3 id="lk-neutral-cell">'
        f'The answers behind a cell: {escape(title)}</h3><p class="lk-count">{escape(said)}.</p>'
        f"{bar_html(cell, large=True)}{names.panel_html(audit, asked)}{_kinds(here, cell.counts, columns)}"
        f"{_inputs(audit, here, asked, part, columns)}{_pager(audit, here, len(found), pages)}"
        f"{_more(audit, row, asked)}</section>"
    )


def _kinds(view: NeutralityView, counts: Sequence[int], columns: Sequence[str]) -> str:
    """Links that keep one kind of answer."""
    items = [("", f"All {sum(counts):,}", "")]
    for at, (name, number) in enumerate(zip(columns, counts, strict=True)):
        unread = " lk-unread" if at == len(columns) - 1 else ""
        key = f'<i class="lk-key{unread}" style="background:{words.colour_of(at, len(columns))}"></i>'
        items += [(name, f"{name} {number:,}", key)] if number else []
    made = ""
    for name, text, key in items:
        now = ' aria-current="true"' if name == view.answer else ""
        link = escape(to_address(replace(view, answer=name, page=1)))
        made += (
            f'<li><a class="lk-view" data-goto="lk-neutral-answers" href="?{link}"{now}>{key}{escape(text)}</a></li>'
        )
    return f'<ul class="lk-kinds">{made}</ul>'


def _inputs(audit: Audit, view: NeutralityView, asked: Asked, part: pd.DataFrame, columns: Sequence[str]) -> str:
    """A page of answers, input by input."""
    turned = data.answers_of(audit, asked).frame["rotation"].nunique() > 1
    drawn, offered = asked.draws, names.offered(audit, asked) if names.casting(asked) else {}
    several = part["profession"].nunique() > 1
    made = ""
    for (_, profession), own in part.groupby(["input", "profession"], sort=False, observed=True):
        action = str(own["action"].iloc[0]).replace("<subject>", "person")
        name = f"<b>{escape(profession)}</b>{': ' if action else ''}" if several or not action else ""
        rows = np.unique(own["row"].to_numpy())
        rows = rows[rows >= 0]
        pictures = figures(audit, rows, to_address(view)) if len(rows) else ""
        made += (
            f'<div class="lk-asked"><h4>{name}{escape(action)}</h4><div class="lk-asked-body">{pictures}'
            f"{_answers(own, columns, turned, drawn, offered)}</div></div>"
        )
    return f'<div class="lk-askeds">{made}</div>'


def _answers(own: pd.DataFrame, columns: Sequence[str], turned: bool, drawn: bool, offered: Mapping[str, str]) -> str:
    """One input's answers; with the option that came first where the options were `turned`, or, of a system that
    draws, the number of the drawing. `offered` is what stood for each class, where that is something else."""
    chances = any(len(held) for held in own["probabilities"])
    second = ("Drawing" if drawn else "First option") if turned else ""
    head = f"<th scope=col>Wording</th>{f'<th scope=col>{second}</th>' if second else ''}"
    head += f"<th scope=col>{'What the judge answered' if drawn else 'Answer'}</th>"
    head += "<th scope=col>Probabilities</th>" if chances else ""
    options = columns[:-1]
    rows = ""
    for one in own.itertuples(index=False):
        cells = f"<td>{int(one.paraphrase) + 1}</td>"
        lead = options[int(one.rotation) % len(options)]
        turn = str(int(one.rotation) + 1) if drawn else escape(lead) + _stood(lead, offered)
        cells += f"<td>{turn}</td>" if turned else ""
        cells += f"<td>{_answer(one, columns, offered)}</td>"
        cells += f"<td>{_chances(one.probabilities, options)}</td>" if chances else ""
        rows += f"<tr>{cells}</tr>"
    return f'<table class="lk-asked-answers"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _stood(name: str, offered: Mapping[str, str]) -> str:
    """What was offered for a class, where that is something else."""
    text = offered.get(name, name)
    return f'<small class="lk-stood">“{escape(text)}”</small>' if text != name else ""


def _answer(one: object, columns: Sequence[str], offered: Mapping[str, str]) -> str:
    """The chosen option with its colour; else what became of the prompt, and what the model wrote."""
    if one.outcome == "answered":
        at = columns.index(one.answer)
        key = f'<i class="lk-key" style="background:{words.colour_of(at, len(columns))}"></i>'
        return f'<span class="lk-given">{key}{escape(one.answer)}</span>{_stood(one.answer, offered)}'
    told = OUTCOMES.get(str(one.outcome), escape(one.outcome))
    said = f'<span class="lk-given"><i class="lk-key lk-unread"></i>{told}</span>'
    text = str(one.text)
    if len(text) > SHORT_TEXT:
        return f"{said}<details><summary>“{escape(text[:SHORT_TEXT])}…”</summary>{escape(text[SHORT_TEXT:])}</details>"
    return f"{said}<q>{escape(text)}</q>" if text else said


def _chances(held: Sequence[float], options: Sequence[str]) -> str:
    """What the model gave each option, as a bar that says its numbers when pointed at."""
    if len(held) != len(options):
        return "none given"
    told = escape(", ".join(f"{name} {float(chance):.2f}" for name, chance in zip(options, held, strict=True)))
    parts = "".join(
        f'<i style="width:{100 * float(chance):.1f}%;background:{words.colour_of(at, len(options) + 1)}"></i>'
        for at, chance in enumerate(held)
    )
    kind = "lk-shares lk-shares-large"
    return f'<span class="{kind}" role="img" aria-label="{told}" title="{told}">{parts}</span>'


def _pager(audit: Audit, view: NeutralityView, total: int, pages: int) -> str:
    start = (view.page - 1) * PAGE + 1
    text = f"{start:,} to {min(start + PAGE - 1, total):,} of {count(total, 'answer')}" if total else "No such answer."
    links = ""
    for word, step in (("Previous", -1), ("Next", 1)):
        if 1 <= view.page + step <= pages:
            query = escape(to_address(replace(view, page=view.page + step)))
            links += f' <a class="lk-button lk-view" data-goto="lk-neutral-answers" href="?{query}">{word} answers</a>'
    csv = f"csv/{state.SLUG}?{escape(to_address(view))}&amp;of=answers"
    name = f"likeness-{state.file_name(audit, view, 'answers')}.csv"
    return (
        f'<p class="lk-asked-pager"><span>{text}</span>{links} <a class="lk-button" href="{csv}" '
        f'download="{name}">Answers as CSV</a> <button type="button" class="lk-button" data-back>Back to the cell'
        "</button></p>"
    )


def _more(audit: Audit, row: Row, asked: Asked) -> str:
    """Links to asking the same now, and to the audit's pictures of a profession, where it has any."""
    if row.kind != "profession":
        return ""
    name, links = row.professions[0], ""
    if not asked.draws:
        links += _link("Ask this model about this profession now (Live)", ask_address(asked, name))
    else:
        links += "The drawings that were judged are not kept. "
    if len(audit.rows(subset="professions", profession=name)):
        links += _link("The pictures of this profession in Browse", address("browse", audit=audit.name, p=[name]))
    return f'<p class="lk-reading">{links}</p>' if links else ""


def _link(text: str, query: str) -> str:
    return f'<a class="lk-view" href="?{escape(query)}">{escape(text)}</a> '


def answers_table(audit: Audit, view: NeutralityView, shown: Heat) -> pd.DataFrame:
    """The open cell's answers for download, a row each; probabilities in a column for each option."""
    row, asked = data.open_cell(shown, view)
    columns, offered = data.answers_of(audit, asked).columns, names.offered(audit, asked)
    table = behind(audit, asked, row.professions, view.answer if view.answer in columns else "")
    numbers = ("row", "paraphrase", "rotation")
    plain = table.drop(columns=["probabilities"])
    plain = plain.astype({name: str for name in plain.columns if name not in numbers})
    blank = [np.nan] * (len(columns) - 1)
    chances = [list(held) if len(held) == len(blank) else blank for held in table["probabilities"]]
    named = pd.DataFrame(chances, columns=[f"probability_{name}" for name in columns[:-1]], index=table.index)
    ids = audit.generations["id"].to_numpy()
    plain.insert(0, "model", asked.model)
    if names.casting(asked):
        plain["answer_as_offered"] = [offered.get(answer, "") for answer in plain["answer"]]
    plain["image"] = [str(ids[at]) if at >= 0 else "" for at in table["row"]]
    return pd.concat([plain.drop(columns="row"), named], axis=1)
