"""Wrong answers of Benchmarks, a page at a time: the picture where the item is in the audit, else its name (HTML)."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from backend.metrics.benchmark_summary import GROUPS
from backend.store import Audit
from explorers import _bench as data
from explorers import _bench_view as state
from explorers._bench_asked import grey
from explorers._bench_view import SLUG, BenchView, to_address
from explorers._bench_words import ratio
from explorers._grid import figures
from explorers._shared import count, escape

PAGE = 24
SHORT = 160
SAME = 5e-7
"""Probabilities nearer than this are the same: they are stored with seven digits."""
OUTCOMES = {"unparsed": "no option could be read", "refused": "refused", "failed": "no answer came"}


def surely(chance: float) -> str:
    """A probability; one that only rounding makes 1 says so.

    >>> surely(0.738), surely(0.9968)
    ('0.74', 'over 0.99')
    """
    return "over 0.99" if 0.995 <= chance < 1 else ratio(chance)


def said_of(one: object) -> str:
    """What a model answered, or what became of the question."""
    if one.outcome == "answered":
        return f"answered “{one.answer}”" + (f" ({surely(one.sure)})" if one.sure == one.sure else "")
    return OUTCOMES.get(str(one.outcome), str(one.outcome))


def errors_html(audit: Audit, view: BenchView) -> str:
    """A page of the wrong answers of one model, the surest first."""
    model = state.wrong_model(audit, view)
    if not model:
        return ""
    found = data.wrong_answers(audit, model, view.task, view.condition)
    all_of = data.answers_of(audit, model, view.task)
    plain = (all_of["condition"].astype(str) == view.condition) & (all_of["variant"].astype(str) == "")
    total, asked = len(found), int(plain.sum())
    pages = max(1, -(-total // PAGE))
    here = replace(view, page=min(view.page, pages))
    part = found.iloc[(here.page - 1) * PAGE : here.page * PAGE]
    said = f"{data.title_of(audit, model)}, {state.CONDITIONS[view.condition]}: {total:,} of "
    said += f"{count(asked, 'answer')} are not the label. {_order(found)}{_blind(audit, view, model)}"
    # figures() does nothing special for doubles, and an item of one condition is asked about once
    inside, outside = part[part["row"] >= 0], part[part["row"] < 0]
    body = ""
    if len(inside):
        systems = audit.generations["system"]
        marks = {
            int(one.row): (f"drawn by {systems.iat[int(one.row)]}", f"label “{one.label}”", said_of(one))
            for one in inside.itertuples(index=False)
        }
        body += figures(audit, inside["row"].to_numpy(), to_address(here), name_subjects=True, marks=marks)
    if len(outside):
        body += _listed(outside, audit.benchmarks.sources[model].tasks[view.task].groups)
    body = body or "<p>None.</p>"
    return (
        f'<section id="lk-bench-errors" tabindex="-1" aria-label="Wrong answers"><p class="lk-reading">{escape(said)}'
        f"</p>{body}{_pager(here, total, pages)}</section>"
    )


def _order(found: pd.DataFrame) -> str:
    """What their order means: they come by the probability of the answer, where that tells them apart."""
    sure = found["sure"].dropna()
    if sure.empty:
        return "It gave no probabilities, so their order means nothing. " if len(found) > 1 else ""
    if len(sure) > 1 and float(sure.max() - sure.min()) < SAME:
        said = f"It gave each of these answers the same probability, {ratio(float(sure.iloc[0]))}"
        return f"{said}, so their order means nothing. "
    said = "Those that it held for surest come first; in brackets, the probability it gave its answer"
    return f"{said} to this question: an image’s window shows what was answered to other ones, where somebody asked. "


def _blind(audit: Audit, view: BenchView, model: str) -> str:
    """That the model did not see the pictures, where it was asked without them."""
    if view.condition != "text":
        return ""
    seen = "a uniform grey one" if grey(audit, model, view.task) else "none"
    return f"The model did not see these pictures but {seen}: they are those that it was asked about."


def _listed(part: pd.DataFrame, groups: tuple[str, ...]) -> str:
    """Items whose images are not in the audit, by name."""
    columns = list(zip(groups, GROUPS, strict=False))
    head = "".join(f"<th scope=col>{escape(one)}</th>" for one in ("Item", "Label", "Model", *groups[: len(columns)]))
    rows = ""
    for one in part.itertuples(index=False):
        text = f"<small>“{escape(str(one.text)[:SHORT])}”</small>" if str(one.text) else ""
        held = "".join(f"<td>{escape(getattr(one, column)) or '–'}</td>" for _, column in columns)
        rows += (
            f'<tr><th scope="row">{escape(one.item)}</th><td>{escape(one.label)}</td>'
            f"<td>{escape(said_of(one))}{text}</td>{held}</tr>"
        )
    return (
        '<div class="lk-scroll" tabindex="0" role="region" aria-label="Wrong answers by name"><table class="lk-words">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _pager(view: BenchView, total: int, pages: int) -> str:
    links = ""
    for step, word in ((-1, "Previous"), (1, "Next")):
        if 1 <= view.page + step <= pages:
            query = escape(to_address(replace(view, page=view.page + step)))
            links += f' <a class="lk-button lk-view" data-goto="lk-bench-errors" href="?{query}">{word} answers</a>'
    text = f"Page {view.page:,} of {pages:,}" if pages > 1 else ""
    link = escape(to_address(view))
    csv = (
        f'<a class="lk-button" href="csv/{SLUG}?{link}&amp;of=wrong" download>Wrong answers as CSV</a>' if total else ""
    )
    return f'<p class="lk-asked-pager"><span>{text}</span>{links} {csv}</p>'


def wrong_table(audit: Audit, view: BenchView) -> pd.DataFrame:
    """The listed wrong answers for download, a row each."""
    model = state.wrong_model(audit, view)
    columns = ["item", "image", "system", "prompt", "seed", "number"]
    columns += ["condition", "label", "answer", "outcome", "probability", "text"]
    if not model:
        return pd.DataFrame([], columns=columns)
    found = data.wrong_answers(audit, model, view.task, view.condition)
    ids = audit.generations["id"].to_numpy()
    facts = {name: audit.generations[name].astype(str).to_numpy() for name in ("system", "prompt", "seed", "number")}
    groups = audit.benchmarks.sources[model].tasks[view.task].groups
    table = pd.DataFrame(
        {
            "item": found["item"].astype(str),
            "image": [str(ids[row]) if row >= 0 else "" for row in found["row"]],
            **{name: [held[row] if row >= 0 else "" for row in found["row"]] for name, held in facts.items()},
            **{name: found[name].astype(str) for name in ("condition", "label", "answer", "outcome")},
            "probability": found["sure"],
            "text": found["text"].astype(str),
            **{f"group_{name}": found[column].astype(str) for name, column in zip(groups, GROUPS, strict=False)},
        }
    )
    table.insert(0, "model", model)
    return table
