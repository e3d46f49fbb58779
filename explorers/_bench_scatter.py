"""Performance against fairness (figure 3 of the paper): Macro-F1 and demographic parity ratio."""

from __future__ import annotations

import plotly.graph_objects as go

from backend.metrics.benchmark_draws import Figure, some_of
from backend.store import Audit
from explorers import _bench as data
from explorers import _bench_published as published
from explorers import _bench_view as state
from explorers._bench_verdict import only_answer
from explorers._bench_view import BenchView
from explorers._bench_words import interval, ratio
from explorers._charts import GREY, SYSTEM_COLOURS
from explorers._neutrality_charts import plot_text
from explorers._shared import count, escape

SYMBOLS = {"image": "circle", "text": "square", "random": "x"}
GLYPHS = {"image": "●", "text": "■", "random": "✖"}
LOW, HIGH = -0.04, 1.06
MOST_N = 3
"""The PNG says of so many models how many items they were asked about; of more, the CSV does."""


def own_marks(audit: Audit, view: BenchView) -> list[tuple[int, str, str, Figure, Figure]]:
    """The marks of the audit's models: place of the model, its title, condition, Macro-F1 and ratio, both defined."""
    made = []
    for place, model in enumerate(state.shown_models(audit, view)):
        found = data.summary_of(audit, model, view.task)
        for condition in SYMBOLS:
            line = found.line(condition)
            if line is None or view.by not in line.fairness:
                continue
            x, y = line.performance["macro_f1"], line.fairness[view.by].figures["dpr"]
            known = x.value == x.value and y.value == y.value
            if known and not only_answer(line.fairness[view.by]):  # of one answer to everybody a ratio tells nothing
                made.append((place, data.title_of(audit, model), condition, x, y))
    return made


def their_marks(view: BenchView) -> list[published.Row]:
    """The published rows that have a place on the chart."""
    rows = published.rows_of(view.task, view.by) if view.published and view.by else []
    return [row for row in rows if row.dpr == row.dpr and row.macro_f1 == row.macro_f1]


def scatter_figure(audit: Audit, view: BenchView) -> go.Figure:
    """Right is better, up is more even; marks of a model with the image and as text only are joined."""
    drawn, own, theirs = go.Figure(), own_marks(audit, view), their_marks(view)
    if not own and not theirs:
        return drawn
    ends = {"color": GREY, "width": 1.5, "dash": "dash"}
    drawn.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=ends, hoverinfo="skip", showlegend=False)
    for name, colour in their_colours(own, theirs).items():
        mine = [row for row in theirs if row.model == name]
        points = [(row.condition, row.macro_f1, row.dpr, f"{name}, published") for row in mine]
        _joined(drawn, points, "" if own else plot_text(name, 1, 40), colour, hollow=True)
    if own and theirs:
        drawn.data[-1].update(name="published", showlegend=True)  # one entry for all of them
    for place in dict.fromkeys(mark[0] for mark in own):
        mine = [mark for mark in own if mark[0] == place]
        colour = SYSTEM_COLOURS[place % 8]
        for _, _, _, x, y in mine:
            _cross(drawn, x, y, colour)
        points = [(condition, x.value, y.value, _told(title, x, y)) for _, title, condition, x, y in mine]
        _joined(drawn, points, plot_text(mine[0][1], 1, 40), colour, hollow=False)
    axis = {"range": [LOW, HIGH], "dtick": 0.2, "tick0": 0, "fixedrange": True, "zeroline": False, "ticks": ""}
    axis |= {"gridcolor": "rgba(127,127,127,0.25)"}
    drawn.update_layout(
        height=440,
        showlegend=False,
        hovermode="closest",
        margin={"l": 72, "r": 14, "t": 14, "b": 50},
        xaxis={**axis, "title": {"text": "Macro-F1", "standoff": 8}},
        yaxis={**axis, "title": {"text": _evenness(audit, view), "standoff": 8}},
    )
    return drawn


def their_colours(own: list, theirs: list[published.Row]) -> dict[str, str]:
    """Published model -> its colour: grey beside the audit's own, else one each."""
    names = dict.fromkeys(row.model for row in theirs)
    return {name: GREY if own else SYSTEM_COLOURS[place % 8] for place, name in enumerate(names)}


def _evenness(audit: Audit, view: BenchView) -> str:
    """The title of the upward axis, on two lines: a phone has no room for one."""
    task = state.tasks_of(audit).get(view.task)
    of = f"of “{plot_text(task.positive, 1, 20)}”" if task is not None and task.positive else "mean over answers"
    of = of if task is not None else "as published"
    return f"Demographic parity ratio, {of},<br>between groups of {plot_text(view.by, 1, 30)}"


def _told(title: str, x: Figure, y: Figure) -> str:
    said = f"{title}: Macro-F1 {ratio(x.value)} ({interval(x)}), DPR {ratio(y.value)} ({interval(y)}), n = {y.n:,}"
    return said + (", some answers left out" if y.why else "")


def _joined(
    drawn: go.Figure, points: list[tuple[str, float, float, str]], name: str, colour: str, hollow: bool
) -> None:
    """The marks of a model; those with the image and as text only are joined by a line."""
    ends = [point for point in points if point[0] in ("image", "text")]
    if len(ends) > 1:
        drawn.add_scatter(
            x=[point[1] for point in ends],
            y=[point[2] for point in ends],
            mode="lines",
            line={"color": colour, "width": 1 if hollow else 2, "dash": "dot" if hollow else "solid"},
            opacity=0.8,
            hoverinfo="skip",
            showlegend=False,
        )
    drawn.add_scatter(
        x=[point[1] for point in points],
        y=[point[2] for point in points],
        mode="markers",
        name=name,  # for the PNG: on the page the legend is HTML
        showlegend=bool(name),
        cliponaxis=False,
        marker={
            "symbol": [SYMBOLS[point[0]] + ("-open" if hollow else "") for point in points],
            "color": colour,
            "size": 9 if hollow else 11,
            "line": {"width": 1.6 if hollow else 0, "color": colour},
        },
        customdata=[plot_text(f"{point[3]}, {state.CONDITIONS[point[0]]}", 5, 46) for point in points],
        hovertemplate="%{customdata}<br>Macro-F1 %{x:.2f}, DPR %{y:.2f}<extra></extra>"
        if hollow
        else "%{customdata}<extra></extra>",
    )


def _cross(drawn: go.Figure, x: Figure, y: Figure, colour: str) -> None:
    """The two intervals of a mark as thin lines."""
    for found, xs, ys in ((x, [x.low, x.high], [y.value] * 2), (y, [x.value] * 2, [y.low, y.high])):
        if found.low == found.low:
            line = {"color": colour, "width": 1.5}
            drawn.add_scatter(x=xs, y=ys, mode="lines", line=line, opacity=0.75, hoverinfo="skip", showlegend=False)


def source_text(audit: Audit, view: BenchView) -> str:
    """What stands below the chart in its PNG: where marks are from, which groups, how many items, what marks mean."""
    own, theirs = own_marks(audit, view), their_marks(view)
    lines = []
    if own:
        sizes = {title: y.n for _, title, condition, _, y in own if condition == "image"}
        n = [f"{plot_text(title, 1, 30)} {count(size, 'item')}" for title, size in sizes.items()]
        task = state.tasks_of(audit)[view.task]
        groups = some_of(task.values[task.groups.index(view.by)], 8)
        of = f"audit {plot_text(view.audit, 1, 40)}, task {plot_text(view.task, 1, 60)}"
        lines.append(f"{of}; n: {', '.join(n) if 0 < len(n) <= MOST_N else 'in the CSV'}")
        lines.append(f"groups of {plot_text(view.by, 1, 30)}: {plot_text(groups, 1, 110)}")
        lines.append("circles: with image, squares: text only, crosses: random, one draw; thin lines: 95 % intervals")
    if theirs:
        lines.append(f"{'hollow: ' if own else ''}{published.SOURCE}, without n or intervals")
    if not own:
        lines.append(f"task {view.task}, groups of {view.by}; circles: with image, squares: text only")
    return "<br>".join(lines)


def scatter_html(audit: Audit, view: BenchView) -> str:
    """What stands above the chart: its question, a legend, and how many marks have no place."""
    own, theirs = own_marks(audit, view), their_marks(view)
    if not own and not theirs:
        return ""
    named = {title: SYSTEM_COLOURS[place % 8] for place, title, *_ in own} or their_colours(own, theirs)
    items = "".join(
        f'<li><span aria-hidden="true" style="color:{colour}">▬</span> {escape(title)}</li>'
        for title, colour in named.items()
    )
    there = {mark[2] for mark in own}
    items += "".join(
        f'<li><span aria-hidden="true">{glyph}</span> {state.CONDITIONS[condition]}</li>'
        for condition, glyph in GLYPHS.items()
        if condition in there
    )
    if own and theirs:
        items += '<li><span aria-hidden="true">○ □</span> published</li>'
    elif theirs:
        items += f'<li><span aria-hidden="true">○</span> {state.CONDITIONS["image"]}</li>'
        items += f'<li><span aria-hidden="true">□</span> {state.CONDITIONS["text"]}</li>'
    every = published.rows_of(view.task, view.by) if view.published and view.by else []
    lost = len(every) - len(theirs)
    said = (
        "Upper right: good and even. On the dashed diagonal both figures are the same (figure 3 of the paper); they "
        "are two scales. A line joins a model’s answers with the image and as text only"
    )
    said += "; thin lines: 95 % intervals." if own else "."
    if theirs:
        said += " Published marks are hollow, without n or intervals."
    if lost:
        said += f" {lost} of {len(every)} published rows have an undefined ratio and no mark."
    said += _unmarked(audit, view)
    by = escape(view.by)
    return (
        f"<h3>Is it traded, performance for evenness between groups of {by}?</h3>"
        f'<p class="lk-reading">{said}</p><ul class="lk-legend">{items}</ul>'
    )


def _unmarked(audit: Audit, view: BenchView) -> str:
    """Which answers have no mark: those that were the same for everybody."""
    same = []
    for model in state.shown_models(audit, view):
        found = data.summary_of(audit, model, view.task)
        lines = [line for line in map(found.line, SYMBOLS) if line is not None and view.by in line.fairness]
        told = [state.CONDITIONS[line.condition] for line in lines if only_answer(line.fairness[view.by])]
        same += [f"{data.title_of(audit, model)} ({' and '.join(told)})"] if told else []
    return f" No mark, as everybody got the same answer: {escape('; '.join(same))}." if same else ""
