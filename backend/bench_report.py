"""The tables that a benchmark's run ends with: conditions, groups, what the image adds, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable

from backend.benching import Benched
from backend.commands_probe import print_table, shown
from backend.metrics.benchmark_draws import Figure
from backend.metrics.benchmark_figures import ACCURACY_GAP, FAIRNESS
from backend.metrics.benchmark_summary import Line, Summary, summarise
from backend.metrics.benchmarks import SMALL
from backend.records import clean_text, count
from backend.store import BenchmarkTask

CONDITIONS = {"image": "with image", "text": "text only", "random": "random"}
KEYS = (*FAIRNESS, ACCURACY_GAP)
HEADS = ("DPR", "DPR worst", "DPD worst", "EOD", "EOD worst", "accuracy gap")


def print_benched(name: str, task_name: str, done: Benched) -> None:
    """What a run did, and every figure of the task, with n and 95 % intervals over images."""
    task = done.source.tasks[task_name]
    pace = f" ({done.pace:.1f} a second)" if done.pace else ""
    print(f"{count(done.asked, 'prompt')} asked now{pace}, {done.there:,} answered before or asked in the same words.")
    for reason, number in done.lost.most_common(5):
        print(f"  without a class: {number:,} x {clean_text(reason)[:300]}")
    found = summarise(done.answers, task.classes, task.groups, task.positive, task.family == "pronoun", task.chance)
    print_performance(found)
    print_scores(found)
    for group in found.lines[0].fairness if found.lines else ():
        print_fairness(found, group, task)
    print_effectiveness(found)
    for reason, number in sorted(task.left_out.items(), key=lambda pair: -pair[1]):
        print(f"Left out: {number:,} x {clean_text(reason)[:300]}")
    for note in (task.note, done.source.note):
        print(clean_text(note) if note else "", end="\n" if note else "")
    print(
        "In brackets: 95 % intervals over images (of shares Wilson's, of all else by bootstrap; for the accuracy gap "
        "Newcombe's joined to that)."
    )
    print(f"{name} has {count(len(done.answers), 'answer')} of {clean_text(done.source.title)} to {task_name} now.")


def print_performance(found: Summary) -> None:
    """Accuracy and Macro-F1 of every condition, and what an even draw is expected to reach."""
    rows = [("condition", "question", "n", "accuracy", "Macro-F1", "unparsed")]
    for line in found.lines:
        cells = [shown(line.performance[key]) for key in ("accuracy", "macro_f1", "unparsed")]
        rows.append((*_place(line), f"{line.items:,}{'*' if line.items < SMALL else ''}", *cells))
    expected = [f"{found.chance[key]:.3f}" for key in ("accuracy", "macro_f1") if key in found.chance]
    rows.append(("even draw", "expected", "", *expected, *[""] * (3 - len(expected))))
    print_table(rows, left=2)


def _place(line: Line) -> tuple[str, str]:
    return CONDITIONS[line.condition], line.variant or "plain"


def print_scores(found: Summary) -> None:
    """Resolution bias and the vision-language bias score, where the task has them."""
    rows = [("score", "condition", "of", "n", "value")]
    for line in found.lines:
        where = " ".join(filter(None, (CONDITIONS[line.condition], line.variant)))
        if line.resolution is not None:
            overall, each = line.resolution
            rows.append(("resolution bias", where, "mean of occupations", f"{overall.n:,}", shown(overall)))
            each = each if (line.condition, line.variant) == ("image", "") else {}
            rows += [("", where, job, f"{one.n:,}", _said(one)) for job, one in each.items()]
        for category, one in line.stereotypes.items():
            small = "*" if one.n < SMALL else ""
            rows.append(("VLBS", where, category or "all", f"{one.n:,}{small}", shown(one)))
    if rows[1:]:
        print_table(rows, left=3)
    if any(line.resolution is not None for line in found.lines):
        print(
            "Resolution bias: above 0 women's pronouns are resolved more often; the paper's Table 2 has the other sign."
        )


def _said(one: Figure) -> str:
    why = f" (without {one.why.rpartition(' for ')[2]})" if one.why and one.value == one.value else ""
    return shown(one) + why if one.value == one.value else f"undefined: {one.why}"


def print_fairness(found: Summary, group: str, task: BenchmarkTask) -> None:
    """The fairness figures over one attribute, and its groups."""
    judged = f"of the answer {task.positive}" if task.positive else "of each class against the rest"
    print(f"By {clean_text(group)}, {judged} (DPR: 1 is even; all others: 0 is even):")
    rows = [("condition", "question", "n", *HEADS)]
    whys: dict[str, None] = {}
    told: list[str] = []
    for line in found.lines:
        fair = line.fairness[group]
        figures = [fair.figures[key] for key in KEYS]
        rows.append((*_place(line), f"{figures[0].n:,}", *map(shown, figures)))
        if line.condition == "image":
            even = [fair.even.get(key) for key in KEYS]
            rows.append(("", "if groups were alike", "", *map(shown, even)))
            often = [f"{name} {one:.3f}" for name, one in fair.chance.items() if one == one]
            told += (
                [f"  as uneven by chance alone, {_place(line)[1]} question: {', '.join(often)} (p)"] if often else []
            )
        whys |= {f"{' '.join(_place(line))}, {head}: {one.why}": None for head, one in _missing(figures)}
    print_table(rows, left=2)
    print("\n".join(told), end="\n" if told else "")
    for why in whys:
        print(f"  undefined or partly so: {clean_text(why)[:300]}")
    _print_groups(found, group, task)


def _missing(figures: list[Figure]) -> Iterable[tuple[str, Figure]]:
    return ((head, one) for head, one in zip(HEADS, figures, strict=True) if one.why and head in ("DPR", "EOD"))


def _print_groups(found: Summary, group: str, task: BenchmarkTask) -> None:
    """A line for every group: how often it is answered rightly, and how often with each class."""
    named = [task.positive] if task.positive else list(task.classes[:5])
    rows = [(group, "condition", "n", "accuracy", *(f"answered {name}" for name in named))]
    small = False
    for line in found.lines:
        if line.condition == "random" or line.variant:
            continue
        for one in line.fairness[group].groups:
            small |= one.small
            cells = [shown(one.rates[name]) for name in named]
            where = (one.value, CONDITIONS[line.condition], f"{one.accuracy.n:,}{'*' if one.small else ''}")
            rows.append((*where, shown(one.accuracy), *cells))
    print_table(rows, left=2)
    unknown = found.lines[0].fairness[group].unknown if found.lines else 0
    if unknown:
        print(f"  {count(unknown, 'image')} without a {clean_text(group)}: in none of these groups.")
    if small:
        print(f"* fewer than {SMALL} images: too few to judge by.")


def print_effectiveness(found: Summary) -> None:
    """What the image adds to the text alone, and what the wrong description takes."""
    rows = [("what the image adds", "n", "with image - text only")]
    rows += [(_named(name), f"{one.n:,}", _said(one)) for name, one in found.effectiveness.items()]
    if found.misled is not None:
        rows.append(("adversarial - plain", f"{found.misled.n:,}", shown(found.misled)))
    print_table(rows, left=1)


def _named(measure: str) -> str:
    """What a key of `effectiveness` is called.

    >>> _named("macro_f1"), _named("dpr tone")
    ('Macro-F1', 'DPR over tone')
    """
    return {"accuracy": "accuracy", "macro_f1": "Macro-F1"}.get(measure) or measure.replace("dpr ", "DPR over ", 1)
