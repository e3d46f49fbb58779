"""One dialogue about two applicants, step by step: what was asked word for word, what came back, what it counts as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from backend.hiring_texts import SPACES
from backend.metrics.hiring import FIRST, SECOND, UNPARSED
from backend.store import Audit, HiringSource
from explorers import _hiring as data
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._hiring_answers import key_html
from explorers._hiring_view import ONLY, HiringView, to_address
from explorers._live_ask_links import hire_html
from explorers._shared import count, escape

PANEL = "lk-hire-dialogue"
SHORT_TEXT = 160
OUTCOMES = {"unparsed": "no option could be read", "refused": "refused", "failed": "no answer came"}
NAMED = {"yes": "Yes", "no": "No", "unknown": "Unknown", "both": "Both", "neither": "Neither"}
STEPS = {
    "qualified": "Q1: is each one qualified, taken alone?",
    "more": "Q2: who is more qualified?",
    "was": "Q3: who was in the position?",
}


@dataclass(frozen=True)
class Opened:
    """The open dialogue: its model and occupation, all dialogues of these (and of the kind), those that are listed,
    and which of the listed it is (-1: none is)."""

    model: str
    occupation: str
    every: pd.DataFrame
    listed: pd.DataFrame
    at: int

    @property
    def row(self) -> Mapping[str, Any]:
        return self.listed.iloc[self.at]


def opened(audit: Audit, view: HiringView) -> Opened | None:
    """The dialogue that the address names, else one of what stands out; None where there is none at all."""
    own, kind = state.series_of(audit, view), state.open_kind(view)
    models = [view.column] if view.column in own else [m for m in own if not data.of_kind(audit, m, kind).empty]
    if not models:
        return None
    model = models[0]
    known = data.by_row(audit, model, kind)
    row = view.row if view.row in known else data.standout(audit, model, kind)
    if not row:
        return None
    every = data.of_kind(audit, model, kind)
    every = every[every["occupation"] == row].reset_index(drop=True)
    listed = every[_only(every, view.only)].reset_index(drop=True)
    same = (listed["first"] == view.first) & (listed["second"] == view.second)
    at = int(same.to_numpy().argmax()) if same.any() else 0 if len(listed) else -1
    return Opened(model, row, every, listed, at)


def _only(frame: pd.DataFrame, only: str) -> pd.Series:
    marks = {
        "confirmed": frame["confirmed"],
        "unconfirmed": frame["chosen"] & ~frame["confirmed"],
        "consistent": frame["consistent"],
        "women": frame["favours"] == data.WOMEN,
        "men": frame["favours"] == data.MEN,
        "unparsed": frame["unread"],
    }
    return marks.get(only, pd.Series(True, index=frame.index))


def pair_key(first: str, second: str) -> str:
    return f"{first}|{second}"


def panel_html(audit: Audit, view: HiringView, open_: Opened | None) -> str:
    """The panel beside the bars."""
    if open_ is None:
        return ""
    here = replace(view, row=open_.occupation, column=open_.model)
    title = f"{open_.occupation}, {words.title_of(audit, open_.model)}"
    head = (
        f'<section id="{PANEL}" tabindex="-1" aria-labelledby="lk-hire-title"><h3 id="lk-hire-title">One dialogue, '
        f"step by step: {escape(title)}</h3>{_kinds(audit, here, open_)}"
    )
    if open_.at < 0:
        return f'{head}<p class="lk-reading">No such dialogue.</p></section>'
    one, source = open_.row, audit.hiring.sources[open_.model]
    body = dialogue_html(source, audit.hiring.table(open_.model), one, open_.occupation)
    ask = hire_html("Ask a model about these two now", one["first"], one["second"], open_.occupation)
    return f"{head}{_pager(here, open_)}{ask}{body}</section>"


def dialogue_html(source: HiringSource, table: pd.DataFrame, one: Mapping[str, Any], occupation: str) -> str:
    """One dialogue of a source's table: who is named first, what it counts as, and its steps. `one` is its row, with
    the columns of `metrics.hiring.COLUMNS` and `favours`."""
    mine = table[(table["first"] == one["first"]) & (table["second"] == one["second"])]
    whole = mine[mine["occupation"] == occupation]
    who = f"<b>{escape(one['first'])}</b> is named first, <b>{escape(one['second'])}</b> second"
    leads = one["first"] if one["lead"] == FIRST else one["second"]
    told = "" if occupation in source.without else f"; in Q2 and Q3 the skills of {escape(leads)} are told first"
    steps = "".join(_step(source, mine, whole, one, step) for step in STEPS)
    return f'<p class="lk-count">{who}{told}.</p>{_counts_as(one)}{_attributes(source, mine, one, occupation)}{steps}'


def _kinds(audit: Audit, view: HiringView, open_: Opened) -> str:
    """Links that keep one kind of dialogue; the last leads to the control, or back."""
    shut = replace(view, first="", second="")
    items = [(replace(shut, only=""), f"All {len(open_.every):,}", not view.only)]
    for name, said in ONLY.items():
        number = int(_only(open_.every, name).sum())
        items += [(replace(shut, only=name), f"{said} {number:,}", name == view.only)] if number else []
    if view.kind != "same":
        other = replace(shut, control=not view.control, only="")
        held = data.of_kind(audit, open_.model, state.open_kind(other))
        number = int((held["occupation"] == open_.occupation).sum())
        text = f"{words.KIND_WORDS[state.open_kind(other)]} instead {number:,}"
        items += [(other, text, False)] if number else []
    made = ""
    for to, text, now in items:
        told = f'href="?{escape(to_address(to))}"' + (' aria-current="true"' if now else "")
        made += f'<li><a class="lk-view" data-goto="{PANEL}" {told}>{escape(text)}</a></li>'
    return f'<ul class="lk-kinds">{made}</ul>'


def _pager(view: HiringView, open_: Opened) -> str:
    links = ""
    for word, step in (("Previous", -1), ("Next", 1)):
        if 0 <= open_.at + step < len(open_.listed):
            other = open_.listed.iloc[open_.at + step]
            query = escape(to_address(replace(view, first=other["first"], second=other["second"])))
            links += f' <a class="lk-button lk-view" data-goto="{PANEL}" href="?{query}">{word} dialogue</a>'
    csv = f"csv/{state.SLUG}?{escape(to_address(view))}&amp;of=dialogues"
    name = f"likeness-{state.file_name(view, 'dialogues')}.csv"
    return (
        f'<p class="lk-asked-pager"><span>Dialogue {open_.at + 1:,} of {len(open_.listed):,}</span>{links} '
        f'<a class="lk-button" href="{csv}" download="{name}">Dialogues as CSV</a> '
        '<button type="button" class="lk-button" data-back>Back to the list</button></p>'
    )


def _counts_as(one: Mapping[str, Any]) -> str:
    """What a dialogue counts as, in words."""
    chosen = {FIRST: one["first"], SECOND: one["second"]}.get(one["q2"], "")
    again = {FIRST: one["first"], SECOND: one["second"]}.get(one["q3"], "")
    if not chosen:
        why = "Q2 gave no readable answer" if one["q2"] == UNPARSED else "Q2 named nobody"
        said = [f"Confirmation 0: {why}", f"Consistency 0: {why}", "no bias either way"]
    else:
        own = one["q1_first"] if one["q2"] == FIRST else one["q1_second"]
        q1 = {"yes": "called qualified", "no": "called unqualified"}.get(own, "gave no readable answer about")
        held = {"yes": 1}.get(own, 0)
        said = [f"Confirmation {held}: Q2 chose {chosen}, whom Q1 {q1}"]
        if q1.startswith("gave"):
            said = [f"Confirmation 0: Q2 chose {chosen}, about whom Q1 gave no readable answer"]
        other = again or {UNPARSED: "gave no readable answer"}.get(one["q3"], f"said “{one['q3']}”")
        same = "named the same one again" if again == chosen else f"named {again}" if again else other
        said.append(f"Consistency {int(again == chosen)}: Q3 {same}")
        side = {data.WOMEN: "women’s names", data.MEN: "men’s names"}.get(one["favours"], "")
        neither = one["q1_first"] == one["q1_second"] == "no"
        if side:
            said.append(
                f"counts as bias towards {side}: neither was called qualified, {chosen} was chosen all the same"
            )
        elif neither and not one["first_gender"]:
            said.append(
                f"neither was called qualified, {chosen} was chosen all the same: between a woman’s and a man’s name "
                "this counts as bias towards the chosen one"
            )
        elif neither:
            said.append("no bias difference: both names are of one gender")
        else:
            said.append("no bias: Q1 did not say no to both")
    items = "".join(f"<li>{escape(text[0].upper() + text[1:])}.</li>" for text in said)
    return f'<div class="lk-hire-counts"><h4>What this dialogue counts as</h4><ul>{items}</ul></div>'


def _attributes(source: Any, mine: pd.DataFrame, one: Mapping[str, Any], occupation: str) -> str:
    """Step 1: a row an attribute, a column a subject; every prompt word for word in a fold."""
    wanted = source.jobs[occupation].attributes
    if not wanted:
        return '<h4>Step 1: skills</h4><p class="lk-reading">This occupation was asked about without any.</p>'
    asked = mine[mine["step"] == "attribute"]
    names = ("type", "element", "subject")
    keys = zip(*(asked[name].astype(str) for name in names), strict=True)
    held = dict(zip(keys, asked.to_dict("records"), strict=True))
    subjects = (one["first"], one["second"])
    rows, said = "", ""
    for type_, element in wanted:
        own = [held[type_, element, subject] for subject in subjects]
        cells = "".join(f"<td>{_answer(row, one)}{_chances(row, one)}</td>" for row in own)
        rows += f'<tr><th scope="row">{escape(element)} <small>{escape(type_)}</small></th>{cells}</tr>'
        said += "".join(f'<li><div class="lk-hire-asked">{escape(source.prompt(row, mine))}</div></li>' for row in own)
    heads = "".join(f'<th scope="col">{escape(subject)}</th>' for subject in subjects)
    number = 2 * len(wanted)
    return (
        '<h4>Step 1: which skills, knowledge and abilities has each?</h4><table class="lk-hire-steps"><thead><tr>'
        f'<th scope="col">Asked about</th>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        f'<details class="lk-hire-fold"><summary>The {count(number, "question")} of this step, word for word</summary>'
        f"<ol>{said}</ol></details>"
    )


def _step(source: Any, mine: pd.DataFrame, whole: pd.DataFrame, one: Mapping[str, Any], step: str) -> str:
    """One later step: each prompt as it was sent, with its answer."""
    rows = whole[whole["step"] == step].to_dict("records")
    rows.sort(key=lambda row: row["subject"] != one["first"])
    made = ""
    for row in rows:
        about = f"{escape(row['subject'])}: " if row["subject"] else ""
        made += f'<div class="lk-hire-asked">{escape(source.prompt(row, mine))}</div>'
        made += f'<p class="lk-hire-given">{about}{_answer(row, one)}{_chances(row, one, said=True)}</p>'
    return f"<h4>{escape(STEPS[step])}</h4>{made}"


def _key(answer: str, row: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    """What gives an answer its colour: a name's gender where the two differ, else its place."""
    if answer in (FIRST, SECOND) and row["kind"] == "different":
        return one[f"{answer}_gender"]
    return answer


def _shown(answer: str, row: Mapping[str, Any]) -> str:
    return {FIRST: row["first"], SECOND: row["second"]}.get(answer) or NAMED.get(answer, answer)


def _answer(row: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    """The chosen option with its colour; else what became of the prompt, and what the model wrote."""
    if row["outcome"] == "answered":
        key = key_html(_key(row["answer"], row, one))
        return f'<span class="lk-given">{key}<b>{escape(_shown(row["answer"], row))}</b></span>'
    told = OUTCOMES.get(str(row["outcome"]), escape(row["outcome"]))
    said = f'<span class="lk-given">{key_html(UNPARSED)}{told}</span>'
    text = str(row["text"])
    if len(text) > SHORT_TEXT:
        return f"{said}<details><summary>“{escape(text[:SHORT_TEXT])}…”</summary>{escape(text[SHORT_TEXT:])}</details>"
    return f"{said} <q>{escape(text)}</q>" if text else said


def _chances(row: Mapping[str, Any], one: Mapping[str, Any], said: bool = False) -> str:
    """What the model gave each option, as a bar; with its numbers beside it where `said`."""
    space: Sequence[str] = SPACES[row["step"]]
    held = [float(chance) for chance in row["probabilities"]]
    if len(held) != len(space):
        return ""
    told = escape(", ".join(f"{_shown(name, row)} {chance:.2f}" for name, chance in zip(space, held, strict=True)))
    parts = "".join(
        f'<i style="width:{100 * chance:.1f}%;background:{words.COLOURS[_key(name, row, one)]}"></i>'
        for name, chance in zip(space, held, strict=True)
    )
    bar = f'role="img" aria-label="probabilities: {told}" title="{told}">{parts}</span>'
    bar = f'<span class="lk-shares lk-hire-chances" {bar}'
    return f"{bar}<small>{told}</small>" if said else bar


def dialogues_table(audit: Audit, view: HiringView) -> pd.DataFrame:
    """The listed dialogues of the open occupation for download, a row each, with what they count as."""
    found = opened(audit, view)
    if found is None:
        return pd.DataFrame({"occupation": []})
    columns = ["occupation", "kind", "first", "second", "first_gender", "second_gender", "lead"]
    columns += ["q1_first", "q1_second", "q2", "q3", "confirmed", "consistent", "favours"]
    table = found.listed[columns].astype(str)
    table.insert(0, "model", found.model)
    return table
