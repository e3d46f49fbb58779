"""Published figures of a task beside the audit's own, as tables of their own (HTML)."""

from __future__ import annotations

from backend.store import Audit
from explorers import _bench_published as published
from explorers import _bench_view as state
from explorers._bench_asked import csv_html
from explorers._bench_view import BenchView
from explorers._bench_words import meaning_html, ratio, signed
from explorers._shared import escape

PAPER = f'<a href="https://arxiv.org/abs/2410.13146" rel="noopener">{published.SOURCE}</a>'
NOTE = (
    f"{PAPER}, Tables 2 to 8. The paper prints no n and no intervals, and used its own sample and prompts: "
    "compare the order of magnitude."
)


def published_html(audit: Audit, view: BenchView) -> str:
    """The published rows of the view's task, told apart from the audit's own; what to know where there are none."""
    if not view.published:
        return ""
    alone = state.published_only(audit, view.task)
    table = _parity(view) or _pronouns(view.task) or _stereotypes(view.task)
    if not table:
        some = any(state.published_only(audit, name) for name in published.TASKS)
        more = " Tasks marked “(published only)” have some: choose one above." if some else ""
        return f'<p class="lk-reading">{PAPER} has no figures of this task and attribute.{more}</p>'
    title, csv = ("Published models", csv_html(view)) if alone else ("Published models, same task", "")
    meant = f'<p class="lk-reading">{meaning_html(view.by, own=False)}</p>' if alone and view.by else ""
    return (
        f'<section class="lk-bench-theirs"><h3>{title}</h3><p class="lk-reading">{NOTE}</p>{meant}'
        f'<div class="lk-scroll" tabindex="0" role="region" aria-label="Published models">{table}</div>{csv}</section>'
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    heads = "".join(f"<th scope=col>{escape(one)}</th>" for one in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(one)}</td>" for one in row[1:])}</tr>'
        for row in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _parity(view: BenchView) -> str:
    rows = [
        (row.model, state.CONDITIONS[row.condition], ratio(row.macro_f1), _ratio(row))
        for row in published.rows_of(view.task, view.by)
    ]
    return _table(("Published model", "Input", "Macro-F1", f"DPR, groups of {view.by}"), rows) if rows else ""


def _ratio(row: published.Row) -> str:
    return "undefined (printed as infinite)" if row.infinite else ratio(row.dpr)


def _pronouns(task: str) -> str:
    rows = [
        (
            str(one.model),
            f"{one.accuracy_pct:.0f} %",
            signed(-float(one.resolution_bias)),
            f"{one.counterfactual_accuracy_pct:.0f} %",
        )
        for one in published.pronoun_rows(task).itertuples()
    ]
    if not rows:
        return ""
    note = (
        '<p class="lk-reading">Resolution bias is turned to the sign used here (above 0: women’s pronouns were '
        "resolved more often); Table 2 prints it the other way round.</p>"
    )
    return note + _table(("Published model", "Accuracy", "Resolution bias", "Accuracy, wrong description added"), rows)


def _stereotypes(task: str) -> str:
    table = published.stereotype_rows(task)
    rows = [
        (str(one.model), str(one.input), str(one.category), f"{one.vlbs_pct:.0f} %")
        for one in table.itertuples(index=False)
    ]
    if not rows:
        return ""
    meant = "VLBS: how often the stereotypical caption was chosen; an even draw of three captions gives 33 %."
    note = f'<p class="lk-reading">{meant}</p>'
    return note + _table(("Published model", "Input", "Category", "VLBS"), rows)
