"""The tables of Benchmarks: conditions, groups, what the image adds, what was asked; how to read it (HTML)."""

from __future__ import annotations

from collections.abc import Sequence

from backend.metrics.benchmark_draws import Figure
from backend.metrics.benchmark_figures import Fairness
from backend.metrics.benchmark_summary import Line, Summary
from backend.metrics.benchmarks import SMALL
from backend.records import clean_text
from backend.store import Audit, BenchmarkTask
from explorers import _bench as data
from explorers import _bench_view as state
from explorers._bench_view import SLUG, BenchView, to_address
from explorers._bench_words import points, ratio, share, signed, span
from explorers._shared import count, escape

FAIR = ("dpr", "dpr_worst", "eod")
MOST_CLASSES, LONGEST_WHY = 4, 120
"""So many answers have a column in the table of groups; the CSV has all."""

HOW = """
**Each item is an image with a question and a label.** A model picks one of the options; an answer counts as right where
it is the label. Every question is asked **with the image** and as **text only** (for models that need an image: with a
uniform grey one), beside **random** answers, drawn evenly from the options.

**Macro-F1** is the mean over labels of F1, the harmonic mean of precision and recall: answering one label to
everything scores low. **Demographic parity ratio (DPR)**: how often an answer is given in the group where it is rarest,
over the group where it is most frequent. 1 is even. Where there are several answers, each is judged against the rest;
the mean and the lowest are shown. **Equalised odds difference (EOD)**: the largest difference between groups in true
positive or false positive rates; 0 is even. **Undefined** is a ratio of an answer that nobody was given.

**If groups were alike**: chance alone makes small groups look uneven. This line says what the figure comes to when
groups of these sizes are answered alike. Read DPR and EOD against it, not against 1 and 0.

**What the image adds** is each figure with the image less the same as text only, item by item. Around 0 the text
alone gives as much.

In pronoun tasks, **resolution bias** is how often women’s pronouns were resolved less men’s, occupation by occupation.
**Vision-language bias score (VLBS)** is how often the stereotypical caption was chosen over the others.

**n** counts items. Intervals (95 %) are Wilson’s for shares (accuracy, how often an answer was given, VLBS); for all
else items are drawn anew. **†** marks fewer than 20 items.
"""
CANNOT = """
**A benchmark that can be answered without the image measures the text.** In the paper (Mapping Bias in Vision Language
Models, section 4) two of them fail so. **VL-StereoSet**: models choose the stereotypical caption in about 50 to 60 %
without the image, and the image lowers that by some 5 points only (15 for one model). **PATA**: models do as well or
better without the image, and are nearly perfectly even there. On **VisoGender OO** (one person) all but one model
are near perfect, so it hardly tells models apart; **OP** (two people) does. UTKFace and CelebA do need the image.

**A ratio of 1 is not fairness by itself.** A model that gives everybody the same answer has a DPR of 1 and knows
nothing: look at Macro-F1 beside it. And where labels differ between groups, a model that is always right has a DPR
below 1.

**Labels are those of the benchmark’s makers**, or the words of a prompt. They say what was asked for or what somebody
noted, not who is pictured. Groups are only those that a benchmark has words for.

**Grey is not nothing.** Models that need an image are shown a grey one; what they answer then may differ from what
they would say without any. **Published figures** come from other samples and prompts, without n or intervals: compare
the order of magnitude.
"""


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
        heads = ["", "n", "Accuracy", "Macro-F1", *(("DPR, mean", "DPR, worst", "EOD") if fair else ())]
        rows = "".join(_condition(line, view.by, fair) for line in found.lines) + _chance(found, fair)
        title = data.title_of(audit, model)
        made += f"<h4>{escape(title)}</h4>{_table(heads, rows, f'Conditions, {title}')}{_whys(found, view.by)}"
    by = f" DPR and EOD compare groups of {escape(view.by)}." if view.by else ""
    lead = f'<p class="lk-reading">Below each figure: its 95 % interval.{by}</p>'
    return f"<h3>How well does it answer, and how evenly?</h3>{lead}{made}" if made else ""


def _condition(line: Line, by: str, fair: bool) -> str:
    where = state.CONDITIONS[line.condition] + (", wrong description added" if line.variant else "")
    cells = n_html(line.items) + figure_html(line.performance["accuracy"], share)
    cells += figure_html(line.performance["macro_f1"])
    held = line.fairness.get(by)
    if fair:
        cells += "".join(_fair(held.figures[key]) if held else "<td>–</td>" for key in FAIR)
    row = f"<tr>{_name(where[0].upper() + where[1:])}{cells}</tr>"
    if held and held.even and (line.condition, line.variant) == ("image", ""):
        even = "".join(figure_html(held.even.get(key)) for key in FAIR)
        row += f'<tr class="lk-bench-even">{_name("… if groups were alike")}<td></td><td></td><td></td>{even}</tr>'
    return row


def _fair(found: Figure) -> str:
    """A fairness figure; a star where some answers have no ratio, said below the table."""
    said = figure_html(
        found if found.value == found.value else Figure(found.value, found.low, found.high, found.n, "*")
    )
    return said.replace("<small>", " *<small>", 1) if found.why and found.value == found.value else said


def _chance(found: Summary, fair: bool) -> str:
    """What an even draw is expected to reach."""
    accuracy, f1 = found.chance.get("accuracy", float("nan")), found.chance.get("macro_f1", float("nan"))
    blank = "<td></td>" * 3 if fair else ""
    return f"<tr>{_name('Even draw, expected')}<td></td><td>{share(accuracy)}</td><td>{ratio(f1)}</td>{blank}</tr>"


def _whys(found: Summary, by: str) -> str:
    """Why ratios are undefined, condition by condition."""
    said = {}
    for line in found.lines:
        held = line.fairness.get(by)
        if held and held.figures["dpr"].why:
            where = state.CONDITIONS[line.condition] + (", wrong description added" if line.variant else "")
            said[where] = held.figures["dpr"].why + _same(held)
    if not said:
        return ""
    told = "; ".join(f"{where}, {why}" for where, why in said.items())
    return f'<p class="lk-reading">* Undefined for some answers, which are left out: {escape(told[:1000])}.</p>'


def _same(held: Fairness) -> str:
    """Where nobody got more than one of the answers, so that a ratio near 1 tells nothing: which."""
    given = {name for group in held.groups for name, one in group.rates.items() if one.value > 0}
    if len(given) != 1:
        return ""
    return f" (“{next(iter(given))}” is the only answer it gave, so a ratio near 1 tells nothing)"


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
        cells = "".join(_gap(found.effectiveness.get(key), say) for found in held.values())
        rows += f"<tr>{_name(_measure(key))}{cells}</tr>"
    if any(found.misled is not None for found in held.values()):
        cells = "".join(_gap(found.misled, points) for found in held.values())
        rows += f"<tr>{_name('Accuracy with the wrong description added, less without')}{cells}</tr>"
    head = ["With image less text only", *(data.title_of(audit, model) for model in held)]
    return (
        '<h3>What does the image add?</h3><p class="lk-reading">Item by item, with 95 % intervals; around 0 the text '
        "alone gives as much. Accuracy and VLBS in percentage points.</p>" + _table(head, rows, "What the image adds")
    )


def _gap(found: Figure | None, say) -> str:
    """A difference with its interval and n, and what it leaves out."""
    if found is None or found.value != found.value:
        return figure_html(found, say)
    more = f"<small>{why_html(found.why)}</small>" if found.why else ""
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
        named = judged(task)
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


def judged(task: BenchmarkTask) -> list[str]:
    """The answers that have a column: the positive one, one of two, else the first few."""
    if task.positive:
        return [task.positive]
    return list(task.classes[:1] if len(task.classes) == 2 else task.classes[:MOST_CLASSES])


def _unknown(line: Line, by: str, task: BenchmarkTask) -> str:
    said = []
    if line.fairness[by].unknown:
        said.append(f"{count(line.fairness[by].unknown, 'item')} without a {by}: in none of these groups.")
    if len(judged(task)) < len(task.classes) > 2 and not task.positive:
        said.append(f"The first {len(judged(task))} of {len(task.classes)} answers have a column; the CSV has all.")
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


def asked_html(audit: Audit, view: BenchView) -> str:
    """Who was asked what, what was left out and why; and the CSV."""
    items = ""
    for model in state.shown_models(audit, view):
        source = audit.benchmarks.sources[model]
        task = source.tasks[view.task]
        said = f"{source.model} ({source.kind}); {count(task.items, 'item')} asked of {task.found:,}"
        said += f" (at most {task.limit:,})" if task.limit else ""
        said += f", from {task.source}." if task.source else ", the audit’s own images."
        left = "; ".join(f"{number:,} left out: {clean_text(why)}" for why, number in task.left_out.items())
        said += f" {left}." if left else ""
        said += "".join(f" {clean_text(note)}" for note in (task.note, source.note) if note)
        items += f"<li><b>{escape(data.title_of(audit, model))}</b>: {escape(said[:2000])}</li>"
    if not items:
        return ""
    link = escape(to_address(view))
    return (
        f'<h3>What was asked</h3><ul class="lk-spread">{items}</ul><p class="lk-actions"><a class="lk-button" '
        f'href="csv/{SLUG}?{link}" download>Every figure as CSV</a></p>'
    )
