"""Where an answer lies: what the same model answered in an open audit, in the same style about the same attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from backend.live_answers import Summary, share_intervals
from backend.live_ask import Asked
from backend.metrics.neutrality import FEWEST, NEUTRAL, UNPARSED
from backend.store import Audit
from explorers import _neutrality as stored
from explorers import _neutrality_view as state
from explorers._neutrality_words import colour_of
from explorers._shared import address, count, escape, percent

MOST = 3
"""So many audits' answers are shown."""


def stored_html(stores: Mapping[str, Audit], asked: Asked, said: Summary) -> str:
    """The answers of every open audit that has some, beside the new one; a sentence where none has."""
    key = state.Asked(*(getattr(asked.question, name) for name in state.Asked._fields))
    named = {one.name for one in said.spreads} - {NEUTRAL}
    found = [
        audit
        for audit in stores.values()
        if key in state.asked_of(audit) and set(audit.probes.sources[key.model].classes[key.attribute]) == named
    ]
    head = "<h3>Where this answer lies</h3>"
    if not found:
        return (
            f'{head}<p class="lk-reading">No open audit holds answers of {escape(asked.title)} in this style about '
            f"{escape(key.attribute)}, so there is nothing to set this beside.</p>"
        )
    return head + "".join(_one(audit, key, asked, said) for audit in found[:MOST])


def _one(audit: Audit, key: state.Asked, asked: Asked, said: Summary) -> str:
    answers = stored.answers_of(audit, key)
    names = answers.columns
    new = [next((one.chosen for one in said.spreads if one.name == name), 0) for name in names[:-1]]
    new.append(said.prompts - sum(new))
    profession = next((p for p in answers.profession if p.casefold() == asked.question.profession.casefold()), None)
    rows = _row("This answer", names, np.array([new]), "")
    table = answers.table()
    if profession is not None:
        mine = table[answers.profession == profession]
        rows += _row(f"{profession}, stored", names, mine, f"{count(len(mine), 'input')}, ")
    rows += _row("All professions, stored", names, table, f"{count(len(table), 'input')}, ")
    heads = "".join(
        f'<th scope=col><i class="lk-key{" lk-unread" if name == UNPARSED else ""}" '
        f'style="background:{colour_of(at, len(names))}"></i>{escape(_name(name))}</th>'
        for at, name in enumerate(names)
    )
    return (
        f'<p class="lk-reading">{_differs(audit, key, asked, profession is not None)} Shares of prompts that chose '
        f"each option; intervals (95 %) draw the inputs anew, and are given from {FEWEST} inputs on.</p>"
        '<div class="lk-scroll" tabindex="0" role="region" aria-label="This answer and those of the audit">'
        f'<table class="lk-words lk-ask-stored"><thead><tr><th scope=col>Answers</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{_link(audit, key, profession)}"
    )


def _name(name: str) -> str:
    return "unreadable, refused or missing" if name == UNPARSED else f"“{NEUTRAL}”" if name == NEUTRAL else name


def _row(label: str, names: Sequence[str], table: np.ndarray, n: str) -> str:
    total = int(table.sum())
    shares = share_intervals(table)
    cells = ""
    for at, number in enumerate(table.sum(axis=0)):
        spread = ""
        if len(table) >= FEWEST:
            low, high = shares[1:, at]
            same = "all inputs agree" if low == high else f"{percent(low, '')} to {percent(high)}"
            spread = f"<br><small>{same}</small>"
        cells += f"<td>{percent(shares[0, at])} <small>({int(number):,})</small>{spread}</td>"
    parts = "".join(
        f'<i style="width:{100 * number / max(1, total):.2f}%;background:{colour_of(at, len(names))}"></i>'
        for at, number in enumerate(table.sum(axis=0))
        if number
    )
    return (
        f'<tr><th scope=row>{escape(label)}<br><small class="lk-ask-n">n = {n}{count(total, "answer")}</small>'
        f'<span class="lk-shares lk-shares-large" aria-hidden="true">{parts}</span></th>{cells}</tr>'
    )


def _differs(audit: Audit, key: state.Asked, asked: Asked, there: bool) -> str:
    """Whose the stored answers are, and in what they differ from the new one beside the input."""
    source = audit.probes.sources[key.model]
    name = f"{key.direction}/{key.style}/{key.attribute}/{key.culture}"
    apart = []
    if source.fingerprint != asked.fingerprint:
        apart.append("of other weights")
    if source.settings and source.settings != asked.settings:
        apart.append("with other settings")
    if (source.wordings or {}).get(name) != asked.wording:
        apart.append("in other words")
    said = f"They were given {', '.join(apart)}." if apart else "The weights and the wordings are the same."
    said += " They are about pictures of the audit." if key.direction == "image-to-text" else ""
    said += "" if there else f" None is about {asked.question.profession}."
    return escape(f"Beside it: what {asked.title} answered in the audit {audit.name}. {said}")


def _link(audit: Audit, key: state.Asked, profession: str | None) -> str:
    to = address(
        state.SLUG,
        audit=audit.name,
        direction=key.direction,
        style=key.style,
        attribute=key.attribute,
        culture=key.culture,
        m=[key.model],
        rows="profession" if profession is not None else "",
        row=f"p:{profession}" if profession is not None else "",
        column=key.column,
    )
    whom = f"{profession} in Neutrality" if profession is not None else "These answers in Neutrality"
    return f'<p class="lk-reading"><a class="lk-view" href="?{escape(to)}">{escape(whom)}</a></p>'
