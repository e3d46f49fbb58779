"""The tables of Benchmarks: conditions, groups, what the image adds, scores (HTML)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backend.metrics.benchmark_draws import Figure, some_of
from backend.metrics.benchmark_figures import Fairness
from backend.metrics.benchmark_summary import Line, Summary
from backend.metrics.benchmarks import SMALL
from backend.store import Audit, BenchmarkTask
from explorers import _bench as data
from explorers import _bench_view as state
from explorers._bench_verdict import only_answer
from explorers._bench_view import BenchView
from explorers._bench_words import apart, meaning_html, points, ratio, share, signed, span
from explorers._shared import count, escape

FAIR = {"accuracy_gap": apart, "dpr": ratio, "dpr_worst": ratio, "eod": ratio}
HEADS = ("Accuracy gap", "DPR, mean", "DPR, worst", "EOD, mean")
MOST_CLASSES, LONGEST_WHY = 4, 120
"""So many answers have a column in the table of groups; the CSV has all."""


def figure_html(found: Figure | None, say=ratio) -> str:
    """A figure with its interval under it; why it has none."""
    if found is None:
        return "<td>–</td>"
    if found.value != found.value:
        return f"<td>undefined<small>{why_html(found.why or 'no items')}</small></td>"
    held = span(found, say)
    return f"<td>{say(found.value)}<small>{held or 'no interval'}</small></td>"


def why_html(why: str) -> str:
    """A reason on lines of its own, cut where it names many answers."""
    return f'<span class="lk-bench-why">{escape(why if len(why) <= LONGEST_WHY else why[:LONGEST_WHY] + "…")}</span>'


def n_html(n: int) -> str:
    """A count, marked where it is small."""
    return f"<td>{n:,}{' †' if n < SMALL else ''}</td>"


def _table(head: Sequence[str], rows: str, label: str) -> str:
    cells = "".join(f"<th scope=col>{escape(one)}</th>" for one in head)
    return (
        f'<div class="lk-scroll lk-bench-table" tabindex="0" role="region" aria-label="{escape(label)}"><table><thead>'
        f"<tr>{cells}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _name(text: str) -> str:
    return f'<th scope="row">{escape(text)}</th>'


def conditions_html(audit: Audit, view: BenchView) -> str:
    """A table a model: accuracy, Macro-F1 and fairness of every condition, and what evenly answered groups come to."""
    made = ""
    for model in state.shown_models(audit, view):
        found = data.summary_of(audit, model, view.task)
        fair = any(view.by in line.fairness for line in found.lines)
        heads = ["", "n", "Accuracy", "Macro-F1", *(HEADS if fair else ())]
        rows = "".join(_condition(line, view.by, fair) for line in found.lines) + _chance(found, fair)
        title = data.title_of(audit, model)
        made += f"<h4>{escape(title)}</h4>{_table(heads, rows, f'Conditions, {title}')}{_whys(found, view.by)}"
        made += _fewer(found, view.by)
    lead = f'<p class="lk-reading">{meaning_html(view.by)} Below each figure: its 95 % interval.</p>'
    return f"<h3>How well does it answer, and how evenly?</h3>{lead}{made}" if made else ""


def _condition(line: Line, by: str, fair: bool) -> str:
    where = state.CONDITIONS[line.condition] + (", wrong description added" if line.variant else "")
    cells = n_html(line.items) + figure_html(line.performance["accuracy"], share)
    cells += figure_html(line.performance["macro_f1"])
    held = line.fairness.get(by)
    if fair:
        cells += "".join(_fair(held.figures[key], say) if held else "<td>–</td>" for key, say in FAIR.items())
    row = f"<tr>{_name(where[0].upper() + where[1:])}{cells}</tr>"
    if held and held.even and (line.condition, line.variant) == ("image", ""):
        even = "".join(figure_html(held.even.get(key), say) for key, say in FAIR.items())
        row += f'<tr class="lk-bench-even">{_name("… if groups were alike")}<td></td><td></td><td></td>{even}</tr>'
    return row


def _fair(found: Figure, say) -> str:
    """A fairness figure; a star where some answers have no ratio, said below the table."""
    if found.value != found.value:
        return figure_html(replace(found, why="*"))
    return figure_html(found, say).replace("<small>", " *<small>", 1) if found.why else figure_html(found, say)


def _chance(found: Summary, fair: bool) -> str:
    """What an even draw is expected to reach."""
    accuracy, f1 = found.chance.get("accuracy", float("nan")), found.chance.get("macro_f1", float("nan"))
    blank = "<td></td>" * len(FAIR) if fair else ""
    return f"<tr>{_name('Even draw, expected')}<td></td><td>{share(accuracy)}</td><td>{ratio(f1)}</td>{blank}</tr>"


def _fewer(found: Summary, by: str) -> str:
    """How many items the figures between groups are of, where some are in no group."""
    sizes = {(line.items, line.fairness[by].figures["dpr"].n) for line in found.lines if by in line.fairness}
    some = sorted({n for items, n in sizes if n < items})
    n = f"{some[0]:,}" + (f" to {some[-1]:,}" if some[1:] else "") if some else ""
    return f'<p class="lk-reading">Between groups of {escape(by)}: n = {n}, the items that have one.</p>' if n else ""


def _whys(found: Summary, by: str) -> str:
    """Why ratios are undefined, condition by condition."""
    said = {}
    for line in found.lines:
        held = line.fairness.get(by)
        if held and held.figures["dpr"].why:
            where = state.CONDITIONS[line.condition] + (", wrong description added" if line.variant else "")
            only = only_answer(held)
            tells = f" (“{only}” is the only answer it gave, so a ratio near 1 tells nothing)" if only else ""
            said[where] = held.figures["dpr"].why + tells
    if not said:
        return ""
    told = "; ".join(f"{where}, {why}" for where, why in said.items())
    return f'<p class="lk-reading">* Undefined for some answers, which are left out: {escape(told[:1000])}.</p>'


def added_html(audit: Audit, view: BenchView) -> str:
    """What the image adds to the text alone, a column a model."""
    shown = state.shown_models(audit, view)
    held = {model: data.summary_of(audit, model, view.task) for model in shown}
    held = {model: found for model, found in held.items() if found.effectiveness}
    if not held:
        return ""
    rows = ""
    for key in dict.fromkeys(key for found in held.values() for key in found.effectiveness):
        say = points if key in ("accuracy", "VLBS") else signed
        cells = "".join(_gap(found.effectiveness.get(key), say, _both(found, key)) for found in held.values())
        rows += f"<tr>{_name(_measure(key))}{cells}</tr>"
    if any(found.misled is not None for found in held.values()):
        cells = "".join(_gap(found.misled, points) for found in held.values())
        rows += f"<tr>{_name('Accuracy with the wrong description added, less without')}{cells}</tr>"
    head = ["With image less text only", *(data.title_of(audit, model) for model in held)]
    return (
        '<h3>What does the image add?</h3><p class="lk-reading">Item by item, with 95 % intervals; around 0 the text '
        "alone gives as much. Points are percentage points.</p>" + _table(head, rows, "What the image adds")
    )


def _both(found: Summary, key: str) -> str:
    """The answers that a difference of ratios is over, where some have no ratio in a condition: those that have."""
    kind, _, by = key.partition(" ")
    lines = [line for line in (found.line("image"), found.line("text")) if line is not None and by in line.fairness]
    if kind != "dpr" or len(lines) < 2:
        return ""
    tables = [line.fairness[by].by_class for line in lines]
    named = [name for name in tables[0] if all(one[name]["dpr"].value == one[name]["dpr"].value for one in tables)]
    return f"over the answers given in both conditions: {some_of(named)}" if len(named) < len(tables[0]) else ""


def _gap(found: Figure | None, say, over: str = "") -> str:
    """A difference with its interval and n, and (`over`) what it is a mean over; or why there is none."""
    if found is None:
        return "<td>–</td>"
    if found.value != found.value:
        return f"<td>not comparable<small>{why_html(found.why or 'no items')}</small></td>"
    more = f"<small>{why_html(over or found.why)}</small>" if over or found.why else ""
    return figure_html(found, say).replace("</small></td>", f"; n = {found.n:,}</small>{more}</td>")


def _measure(key: str) -> str:
    names = {"accuracy": "Accuracy", "macro_f1": "Macro-F1", "resolution bias": "Resolution bias"}
    return names.get(key, key.replace("dpr ", "DPR between groups of ", 1))


def groups_html(audit: Audit, view: BenchView) -> str:
    """A table a model: each group's n, accuracy with and without the image, and how often it gets which answer."""
    made = ""
    for model in state.shown_models(audit, view):
        found, task = data.summary_of(audit, model, view.task), audit.benchmarks.sources[model].tasks[view.task]
        image, text = found.line("image"), found.line("text")
        if image is None or view.by not in image.fairness or not image.fairness[view.by].groups:
            continue
        named = judged(task, image.fairness[view.by])
        blind = {one.value: one for one in text.fairness[view.by].groups} if text and view.by in text.fairness else {}
        rows = ""
        for one in image.fairness[view.by].groups:
            cells = n_html(one.accuracy.n) + figure_html(one.accuracy, share)
            cells += figure_html(blind[one.value].accuracy if one.value in blind else None, share)
            cells += "".join(figure_html(one.rates[name], share) for name in named)
            rows += f"<tr>{_name(one.value)}{cells}</tr>"
        head = [view.by, "n", "Accuracy, with image", "Accuracy, text only", *(f"Answered “{name}”" for name in named)]
        title = data.title_of(audit, model)
        made += f"<h4>{escape(title)}</h4>{_table(head, rows, f'Groups, {title}')}{_unknown(image, view.by, task)}"
    lead = f"Groups of {view.by}, with the image where nothing else is said. † fewer than {SMALL} items."
    return f'<h3>Which groups differ?</h3><p class="lk-reading">{escape(lead)}</p>{made}' if made else ""


def judged(task: BenchmarkTask, fair: Fairness) -> list[str]:
    """The answers that have a column: the positive one, one of two, else those that groups differ on most (by the
    difference of how often they are given)."""
    if task.positive:
        return [task.positive]
    if len(task.classes) == 2:
        return list(task.classes[:1])
    if len(task.classes) <= MOST_CLASSES:
        return list(task.classes)
    differ = {name: held["dpd"].value for name, held in fair.by_class.items() if held["dpd"].value == held["dpd"].value}
    return sorted(differ, key=differ.get, reverse=True)[:MOST_CLASSES]


def _unknown(line: Line, by: str, task: BenchmarkTask) -> str:
    said, fair = [], line.fairness[by]
    if fair.unknown:
        said.append(f"{count(fair.unknown, 'item')} without a {by}: in none of these groups.")
    if len(task.classes) > MOST_CLASSES and not task.positive:
        shown = len(judged(task, fair))
        said.append(f"Of {len(task.classes)} answers, the {shown} that groups differ on most have a column, ")
        said[-1] += "the one they differ on most first; the CSV has all."
    return f'<p class="lk-reading">{escape(" ".join(said))}</p>' if said else ""


def scores_html(audit: Audit, view: BenchView) -> str:
    """Resolution bias by occupation and the vision-language bias score by category, with the image and without."""
    made = ""
    for model in state.shown_models(audit, view):
        found = data.summary_of(audit, model, view.task)
        held = {(line.condition, line.variant): _scores(line) for line in found.lines if line.condition != "random"}
        keys = list(dict.fromkeys(key for one in held.values() for key in one))
        if not keys:
            continue
        say = signed if any(line.resolution for line in found.lines) else share
        rows = ""
        for key in keys:
            cells = "".join(
                n_html(one[key].n) + figure_html(one[key], say) if key in one else "<td>–</td><td>–</td>"
                for one in held.values()
            )
            rows += f"<tr>{_name(key or 'All')}{cells}</tr>"
        heads = [
            head
            for condition, variant in held
            for head in ("n", state.CONDITIONS[condition] + (", wrong description" if variant else ""))
        ]
        title = data.title_of(audit, model)
        what = "Resolution bias" if say is signed else "Vision-language bias score"
        note = (
            "above 0: women’s pronouns were resolved more often" if say is signed else "stereotypical captions chosen"
        )
        made += f"<h4>{what}, {escape(title)}</h4>" + f'<p class="lk-reading">{note}.</p>'
        made += _table(["", *heads], rows, f"{what}, {title}")
    return made


def _scores(line: Line) -> dict[str, Figure]:
    if line.resolution is not None:
        return {**line.resolution[1], "": line.resolution[0]}
    return line.stereotypes
