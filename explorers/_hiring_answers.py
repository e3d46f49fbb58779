"""What was answered to Q2 and Q3 (Table 3), and by place of the names: bars as HTML and for their PNG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import plotly.graph_objects as go

from backend.metrics.hiring import FIRST, SECOND, UNPARSED, Estimate
from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_published as published
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._hiring_view import SLUG, HiringView, to_address
from explorers._neutrality_charts import plot_text
from explorers._shared import count, escape, percent

QUESTIONS = {
    "q2": "Q2: who is more qualified? (the two names, or unknown)",
    "q3": "Q3: who was in the position? (the two names, both, neither, or unknown)",
}
KINDS = ("different", "same")
NEUTRAL = {"q2": "q2_unknown", "q3": "q3_neutral"}


class Bar(NamedTuple):
    """One bar: whose, of which question and kind, shares by answer, and what they rest on."""

    title: str
    question: str
    kind: str
    shares: Mapping[str, float]
    total: int
    neutral: Estimate | None
    source: str = ""


def bars_of(audit: Audit, view: HiringView, question: str) -> list[Bar]:
    """The bars of a question: own models by kind of pairs, then published ones."""
    found = []
    for model in state.series_of(audit, view):
        for kind in KINDS:
            by = "gender" if kind == "different" else "place"
            held = data.counts(audit, model, kind, question, by)
            total = sum(held.values())
            if total:
                shares = {name: number / total for name, number in held.items()}
                neutral = data.overall(audit, model, kind)[NEUTRAL[question]]
                found.append(Bar(words.title_of(audit, model), question, kind, shares, total, neutral))
    for name in state.theirs_of(view):
        held = published.neutral_answers()[name][question.upper()]
        shares = {"either": max(0.0, 1 - sum(held.values())), **{one: held[one] for one in published.ANSWERS}}
        found.append(Bar(name, question, "", shares, 0, None, "Table 3"))
    return found


def answers_html(audit: Audit, view: HiringView) -> str:
    """The bars of Q2 and Q3 with their counts, and the order of names."""
    made, keys = "", []
    for question, said in QUESTIONS.items():
        found = bars_of(audit, view, question)
        keys += [name for bar in found for name, share in bar.shares.items() if share or name != UNPARSED]
        own = "".join(_row(bar) for bar in found if not bar.source)
        theirs = "".join(_row(bar) for bar in found if bar.source)
        theirs = f'<dt class="lk-hire-theirs"><b>Published</b></dt><dd></dd>{theirs}' if theirs else ""
        made += f'<h4>{escape(said)}</h4><dl class="lk-answered">{own}{theirs}</dl>'
    order = [name for name in words.COLOURS if name in keys]
    legend = "".join(f"<li>{key_html(name)}{escape(words.NAMED.get(name, name))}</li>" for name in order)
    note = ""
    if state.theirs_of(view):
        note = (
            f'<p class="lk-reading">Published: {escape(published.SOURCE)}, Table 3. The paper prints the shares of '
            "“both”, “neither” and “unknown” without n or intervals; the rest named one of the two.</p>"
        )
    return f'<h3>How often is nobody preferred?</h3><ul class="lk-legend">{legend}</ul>{made}{note}{_files(view)}'


def key_html(name: str) -> str:
    unread = " lk-unread" if name == UNPARSED else ""
    return f'<i class="lk-key{unread}" style="background:{words.COLOURS[name]}"></i>'


def _row(bar: Bar) -> str:
    title = f"{bar.title}, {words.KIND_WORDS[bar.kind]}" if bar.kind else bar.title
    said = ", ".join(
        f"{words.NAMED.get(name, name)} {_share(bar, name, share)}" for name, share in bar.shares.items() if share
    )
    more = f"; n = {count(bar.neutral.n, 'pair')}, {count(bar.total, 'dialogue')}" if bar.neutral else f"; {bar.source}"
    moved = ""
    if bar.neutral:
        what = "“unknown”" if bar.question == "q2" else "“both”, “neither” or “unknown”"
        ends = words.interval(bar.neutral, NEUTRAL[bar.question])
        moved = f"<small>{what}: {percent(bar.neutral.value)} ({ends})</small>"
    return (
        f"<dt>{escape(title)}</dt><dd>{shares_html(bar.shares)}<small>{escape(said)}{escape(more)}</small>{moved}</dd>"
    )


def _share(bar: Bar, name: str, share: float) -> str:
    """A share with its count; published ones have decimals and no count."""
    if bar.source:
        return f"{100 * share:.3g} %"
    return f"{round(share * bar.total):,} ({percent(share)})"


def shares_html(shares: Mapping[str, float]) -> str:
    """Shares as a bar of one line, for the eye alone."""
    parts = "".join(
        f'<i style="width:{100 * share:.2f}%;background:{words.COLOURS[name]}"></i>'
        for name, share in shares.items()
        if share
    )
    return f'<span class="lk-shares lk-shares-large" aria-hidden="true">{parts}</span>'


def order_html(audit: Audit, view: HiringView) -> str:
    """Whether the order of the names moves choices: a sentence and a bar for each own model."""
    own = state.series_of(audit, view)
    if not own:
        return ""
    made, kind = "", state.main_kind(view)
    for model in own:
        held = data.counts(audit, model, kind, "q2", "place")
        total = sum(held.values())
        if not total:
            continue
        shares = {name: number / total for name, number in held.items()}
        told = words.order_words(audit, model, kind)
        bar = f"{shares_html(shares)}<small>{escape(told)}</small>"
        made += f"<dt>{escape(words.title_of(audit, model))}</dt><dd>{bar}</dd>"
    legend = "".join(
        f"<li>{key_html(name)}{escape(words.NAMED.get(name, name))}</li>"
        for name in (FIRST, SECOND, "unknown", UNPARSED)
    )
    return (
        '<h3>Does the order of the names matter?</h3><p class="lk-reading">Every pair is asked in both orders, so a '
        "model that judges names alone chooses the first named and the second named equally often (Q2).</p>"
        f'<ul class="lk-legend">{legend}</ul><dl class="lk-answered">{made}</dl>'
    )


def _files(view: HiringView) -> str:
    link, name = escape(to_address(view)), f"likeness-{state.file_name(view, 'answers')}"
    return (
        f'<p class="lk-actions"><a class="lk-button" href="csv/{SLUG}?{link}&amp;of=answers" download="{name}.csv">'
        "Download CSV</a> "
        f'<button type="button" class="lk-button" data-figure="data/{SLUG}/answers?{link}" '
        f'data-png="{name}.png">Download PNG</button></p>'
    )


def answers_figure(audit: Audit, view: HiringView) -> go.Figure:
    """The bars as a figure: its PNG is drawn from it."""
    found = [bar for question in QUESTIONS for bar in bars_of(audit, view, question)]
    labels = []
    for bar in found:
        kind = {"different": ", different gender", "same": ", same gender", "": ", published"}[bar.kind]
        labels.append(plot_text(f"{bar.question.upper()} {bar.title}{kind}", 2, 34))
    drawn = go.Figure()
    names = [name for name in words.COLOURS if any(bar.shares.get(name) for bar in found)]
    for name in names:
        line = {"color": "#666666", "width": 1 if name == UNPARSED else 0}
        drawn.add_bar(
            x=[100 * bar.shares.get(name, 0) for bar in found],
            y=list(range(len(found))),
            orientation="h",
            name=words.NAMED.get(name, name),
            marker={"color": words.COLOURS[name], "line": line},
        )
    drawn.update_layout(
        height=34 * max(1, len(found)) + 110,
        barmode="stack",
        margin={"l": 240, "r": 20, "t": 80, "b": 10},
        xaxis={
            "range": [0, 100],
            "ticksuffix": " %",
            "side": "top",
            "ticks": "",
            "title": {"text": "of all dialogues", "font": {"size": 12}, "standoff": 6},
        },
        yaxis={
            "range": [len(found) - 0.4, -0.6],
            "tickvals": list(range(len(found))),
            "ticktext": labels,
            "ticks": "",
        },
        legend={"traceorder": "normal"},
    )
    return drawn
