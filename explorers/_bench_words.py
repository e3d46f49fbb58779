"""Numbers and sentences of Benchmarks: figures with n and interval, the heading, and what the tables say in words."""

from __future__ import annotations

from backend.metrics.benchmark_draws import Figure
from backend.metrics.benchmark_figures import Fairness
from backend.metrics.benchmark_summary import Summary
from backend.store import Audit, BenchmarkTask
from explorers import _bench as data
from explorers import _bench_view as state
from explorers._bench_view import BenchView
from explorers._shared import count, escape

MOST_TOLD = 2
"""So many models are told of in words above the tables."""
NEAR = 1e-9


def share(value: float) -> str:
    """A share in whole per cent; one near 0 or 1 with a decimal.

    >>> share(0.9611), share(0.047), share(0.9989), share(1.0), share(float("nan"))
    ('96 %', '4.7 %', '99.9 %', '100 %', 'no value')
    """
    if value != value:
        return "no value"
    return f"{100 * value:.1f} %" if 0 < 100 * value < 9.95 or 99.05 <= 100 * value < 99.95 else f"{100 * value:.0f} %"


def ratio(value: float) -> str:
    """A ratio or difference from 0 to 1 with two decimals.

    >>> ratio(0.8458), ratio(float("nan"))
    ('0.85', 'no value')
    """
    return "no value" if value != value else f"{value:.2f}"


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign; a small one with a decimal.

    >>> points(0.461), points(-0.0893), points(0.0)
    ('+46', '−8.9', '0')
    """
    text = f"{100 * value:+.1f}" if abs(100 * value) < 9.95 else f"{100 * value:+.0f}"
    return "0" if float(text) == 0 else text.replace("-", "−")


def signed(value: float) -> str:
    """A difference from -1 to 1 with its sign.

    >>> signed(-0.147), signed(0.001)
    ('−0.15', '0.00')
    """
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def span(found: Figure, say=ratio) -> str:
    """The ends of an interval, "0.75 to 1.00"; "" where there is none."""
    if found.low != found.low:
        return ""
    low, high = say(found.low), say(found.high)
    return f"{low.removesuffix(' %') if high.endswith(' %') else low} to {high}"


def interval(found: Figure, say=ratio) -> str:
    """An interval in words."""
    held = span(found, say)
    return f"95 % interval {held}" if held else "no interval"


def direction(found: Figure | None) -> int:
    """1 or -1 where the interval of a difference holds values of that sign alone, else 0."""
    if found is None or found.low != found.low:
        return 0
    return int(found.low > 0) - int(found.high < 0)


def verdict(found: Summary, stereotypes: bool) -> str:
    """What the image does to the answers, as far as the intervals let it be said."""
    names = ("accuracy",) if stereotypes else ("accuracy", "macro_f1")
    held = {direction(found.effectiveness.get(name)) for name in names}
    if not found.effectiveness or found.effectiveness["accuracy"].n == 0:
        return "it was not run both with the image and without it"
    if {1, -1} <= held:
        return "the image raises one of accuracy and Macro-F1 and lowers the other"
    if -1 in held:
        return "it answers worse with the image than without it"
    if 1 in held:
        return "it answers better with the image than without it"
    return "the image makes no clear difference, so the task does not show what this model sees"


def heading_html() -> str:
    """The question, with the terms of art above it and what was asked below it."""
    return (
        '<p class="lk-term">Benchmark audit: Macro-F1, demographic parity ratio (DPR), equalised odds (EOD)</p>'
        '<h2 class="lk-question">Do these benchmarks measure bias, and is the model fair on them?</h2>'
        '<p class="lk-reading">Every question is asked twice, with its image and without it, beside random answers. '
        "Where the image makes no difference, a benchmark does not measure what a model sees.</p>"
    )


def state_html(audit: Audit, view: BenchView) -> str:
    """The tables in words: a paragraph a model."""
    shown = state.shown_models(audit, view)
    said = ""
    for model in shown[:MOST_TOLD]:
        lead, rest = told(audit, view, model)
        said += f"<p><b>{escape(lead)}</b> {escape(rest)}</p>"
    if len(shown) > MOST_TOLD:
        said += f"<p>{count(len(shown) - MOST_TOLD, 'more model')} below.</p>"
    return f'<div class="lk-state">{said}</div>' if said else ""


def told(audit: Audit, view: BenchView, model: str) -> tuple[str, str]:
    """What is said of one model: the verdict, and the sentences that hold it up."""
    task = audit.benchmarks.sources[model].tasks[view.task]
    found = data.summary_of(audit, model, view.task)
    stereotypes = "stereotype" in task.classes
    lead = f"{data.title_of(audit, model)}, {task.title}: {verdict(found, stereotypes)}."
    parts = [accuracy_words(found, stereotypes)]
    image = found.line("image")
    if image is not None and view.by in image.fairness:
        parts.append(fair_words(image.fairness[view.by], view.by, task))
    if image is not None and image.resolution is not None:
        parts.append(resolution_words(image.resolution[0]))
    if image is not None and image.stereotypes:
        parts.append(stereotype_words(found))
    return lead, " ".join(filter(None, parts))


def accuracy_words(found: Summary, stereotypes: bool = False) -> str:
    """Accuracy with the image and without it, what an even draw gives, and the difference: sentences."""
    verb = "chose the caption against the stereotype in" if stereotypes else "answered as labelled in"
    parts = []
    for condition, where in (("image", "With the image it"), ("text", "without the image in")):
        line = found.line(condition)
        if line is not None:
            one = line.performance["accuracy"]
            start = f"{where} {verb}" if condition == "image" or not parts else where
            start = start if parts or condition == "image" else f"Without the image it {verb}"
            parts.append(f"{start} {share(one.value)} ({interval(one, share)}, n = {count(one.n, 'item')})")
    chance = found.chance.get("accuracy", float("nan"))
    told_chance = f"; an even draw gives {share(chance)}" if chance == chance else ""
    said = ", ".join(parts) + told_chance + "." if parts else ""
    gap = found.effectiveness.get("accuracy")
    if gap is not None and gap.n and gap.value == gap.value:
        said += f" The image changes accuracy by {points(gap.value)} percentage points ({interval(gap, points)})"
        f1 = found.effectiveness.get("macro_f1")
        more = f1 is not None and f1.value == f1.value and not stereotypes
        said += f" and Macro-F1 by {points(f1.value)} ({interval(f1, points)})." if more else "."
    return said


def fair_words(fair: Fairness, by: str, task: BenchmarkTask) -> str:
    """How alike the groups of an attribute are answered with the image, beside what chance alone makes: a sentence."""
    one, even = fair.figures["dpr"], fair.even.get("dpr")
    about = f"Between groups of {by} the demographic parity ratio"
    about += f" of the answer “{task.positive}”" if task.positive else " (mean over answers)"
    if one.value != one.value:
        return f"{about} is undefined: {one.why}."
    said = f"{about} is {ratio(one.value)} ({interval(one)}, n = {count(one.n, 'item')})"
    if even is not None and even.value == even.value:
        said += f"; groups of these sizes that are answered alike come to {ratio(even.value)} ({span(even)})"
    if one.low == one.low:
        far = one.high < 1 - NEAR
        said += ", so chance alone does not make that" if far else ", so chance alone can make that"
    return said + (f". Left out: {one.why}." if one.why else ".")


def resolution_words(found: Figure) -> str:
    """The resolution bias with the image: a sentence."""
    if found.value != found.value:
        return f"The resolution bias is undefined: {found.why}."
    side = {1: "women’s pronouns were resolved more often", -1: "men’s pronouns were resolved more often"}.get(
        direction(found), "no clear difference between women’s and men’s pronouns"
    )
    said = f"Resolution bias, mean over occupations: {signed(found.value)} ({interval(found, signed)}; n = {found.n:,})"
    return f"{said}: {side}."


def stereotype_words(found: Summary) -> str:
    """The vision-language bias score with the image and without it: a sentence."""
    parts = []
    for condition, where in (("image", "with the image"), ("text", "without it")):
        line = found.line(condition)
        one = line.stereotypes.get("") if line is not None else None
        if one is not None:
            parts.append(f"{where} {share(one.value)} ({interval(one, share)}, n = {count(one.n, 'item')})")
    gap = found.effectiveness.get("VLBS")
    said = "The stereotypical caption was chosen " + ", ".join(parts)
    if gap is not None and gap.value == gap.value:
        said += f"; difference {points(gap.value)} percentage points ({interval(gap, points)})"
    return said + "; 0 % is without that bias, an even draw of three captions gives 33 %."


def without_html(audit: Audit) -> str:
    """Where no model of the audit did a benchmark: what to run."""
    return (
        '<div class="lk-empty"><p>No model of this audit did a benchmark yet. Run one, then start the app again:</p>'
        f"<pre>.venv/bin/python -m backend benchmark {escape(audit.name)} --task starter-gender --model starter-vqa"
        "</pre>"
        "<p>Other tasks, and where their images go, are in assets/benchmarks.</p></div>"
    )
