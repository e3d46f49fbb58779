"""`python -m benchmarks.tasks`: what the starter's stored answers to benchmark tasks measure, the table in README.md.

No time is measured: a line for each model and task, with the first attribute whose groups are compared.
"""

from __future__ import annotations

from backend.metrics.benchmark_draws import Figure
from backend.metrics.benchmark_figures import ACCURACY_GAP
from backend.metrics.benchmark_summary import Summary, summarise
from backend.spec import ROOT
from backend.store import Audit

HEADS = ("task", "images", "accuracy, with image", "text only", "even draw", "the image adds")
FAIR = ("groups of", "accuracy gap, with image", "were groups alike", "parity ratio, with image", "were groups alike")


def shown(found: Figure) -> str:
    """A measure with its interval; "none" where it has no value.

    >>> shown(Figure(0.5, 0.25, 0.75, 8)), shown(Figure(0.5, 0.5, 0.5, 8)), shown(Figure(float("nan"), 0, 0, 0))
    ('0.500 (0.250 to 0.750)', '0.500 (all alike)', 'none')
    """
    if found.value != found.value:
        return "none"
    if found.low == found.high:
        return f"{found.value:.3f} (all alike)"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def lines(audit: Audit) -> list[str]:
    """The table of all models that an audit holds such answers of, in Markdown."""
    heads = (*HEADS, *FAIR)
    made = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, source in sorted(audit.benchmarks.sources.items()):
        table = audit.benchmarks.table(name)
        for task, asked in source.tasks.items():
            own = table[table["task"] == task]
            pronouns = asked.family == "pronoun"
            found = summarise(own, asked.classes, asked.groups, asked.positive, pronouns, asked.chance)
            made.append(f"| {name}: {task} | {' | '.join(_cells(found))} |")
    return made


def _cells(found: Summary) -> list[str]:
    image, text = found.line("image"), found.line("text")
    accuracy = [shown(line.performance["accuracy"]) for line in (image, text)]
    cells = [f"{image.items:,}", *accuracy, f"{found.chance['accuracy']:.3f}", shown(found.effectiveness["accuracy"])]
    for by, fair in image.fairness.items():
        shares = [shown(one[key]) for key in (ACCURACY_GAP, "dpr") for one in (fair.figures, fair.even)]
        return [*cells, by, *shares]
    return [*cells, *["none"] * len(FAIR)]


if __name__ == "__main__":
    print("\n".join(lines(Audit.open(ROOT / "cache", "starter"))))
