"""Numbers and sentences of Benchmarks: figures with n and interval, the heading, and what there is to run."""

from __future__ import annotations

from backend.metrics.benchmark_draws import Figure
from backend.store import Audit
from explorers import _bench_published as published
from explorers._bench_view import BenchView
from explorers._shared import escape


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
    ('+46 points', '−8.9 points', '0 points')
    """
    text = f"{100 * value:+.1f}" if abs(100 * value) < 9.95 else f"{100 * value:+.0f}"
    return ("0" if float(text) == 0 else text.replace("-", "−")) + " points"


def apart(value: float) -> str:
    """How far two shares are apart, in percentage points.

    >>> apart(0.1167)
    '12 points'
    """
    return points(value).removeprefix("+")


def signed(value: float) -> str:
    """A difference from -1 to 1 with its sign.

    >>> signed(-0.147), signed(0.001)
    ('−0.15', '0.00')
    """
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def span(found: Figure, say=ratio) -> str:
    """The ends of an interval, "0.75 to 1.00", with their unit once: "41 to 51 points"; "" where there is none, or
    where all resamples agree: that says how few they are, not how sure the figure is."""
    if found.low != found.low or found.low == found.high:
        return ""
    low, high = say(found.low), say(found.high)
    unit = next((unit for unit in (" %", " points") if high.endswith(unit)), "")
    return f"{low.removesuffix(unit)} to {high}"


def interval(found: Figure, say=ratio) -> str:
    """An interval in words."""
    held = span(found, say)
    return f"95 % interval {held}" if held else "no interval"


def direction(found: Figure | None) -> int:
    """1 or -1 where the interval of a difference holds values of that sign alone, else 0."""
    if found is None or not span(found):
        return 0
    return int(found.low > 0) - int(found.high < 0)


def meaning_html(by: str, own: bool = True) -> str:
    """What Macro-F1 means in a line, and what figures of groups do: of published models (not `own`) only one."""
    said = "<b>Macro-F1</b>: precision and recall combined, mean over labels; 1 is best, and low is one answer to all."
    if by and own:
        said += f" <b>Accuracy gap</b>: highest less lowest accuracy of groups of {escape(by)}."
    if by:
        said += f" <b>DPR</b>: how often an answer is given in the group of {escape(by)} where that is rarest, over "
        said += "the one where it is most frequent; 1 is even."
    if by and own:
        said += " <b>EOD</b>: how far groups are apart in how often an answer is given rightly, or wrongly; 0 is even."
    return said


def heading_html() -> str:
    """The question, with the terms of art above it and what was asked below it."""
    return (
        '<p class="lk-term">Benchmark audit: Macro-F1, demographic parity ratio (DPR), equalised odds (EOD)</p>'
        '<h2 class="lk-question">Do these benchmarks measure bias, and is the model fair on them?</h2>'
        '<p class="lk-reading">Every question is asked twice, with its image and without it, beside random answers. '
        "Where the image makes no difference, a benchmark does not measure what a model sees.</p>"
    )


def published_only_html(audit: Audit, view: BenchView) -> str:
    """Of a task that the audit has no answers to: that this is so, and how to get some."""
    origin = published.TASKS[view.task]
    command = f".venv/bin/python -m backend benchmark {audit.name} --task {view.task} --data path/to/images"
    command += " --model my-model --models my-models.toml"
    return (
        f'<div class="lk-state lk-bench-state"><p><b>{escape(origin.title)}: this audit holds no answers to it.</b> '
        "What stands below was published, about other models and another sample of the images. To have your own "
        "model’s answers beside it, get the images, and run this. "
        f"<code>--data</code> is {escape(origin.data)}; my-models.toml names the model, as assets/probes/models.toml "
        f"does.</p><pre>{escape(command)}</pre></div>"
    )


def without_html(audit: Audit) -> str:
    """Where no model of the audit did a benchmark: what to run."""
    return (
        '<div class="lk-empty"><p>No model of this audit did a benchmark yet. Run one, then start the app again:</p>'
        f"<pre>.venv/bin/python -m backend benchmark {escape(audit.name)} --task starter-gender --model starter-vqa"
        "</pre>"
        "<p>Other tasks, and where their images go, are in assets/benchmarks.</p></div>"
    )
