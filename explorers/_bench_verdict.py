"""What the tables of Benchmarks say in words: what the image does, and how evenly groups are answered."""

from __future__ import annotations

from collections.abc import Sequence

from backend.metrics.benchmark_draws import Figure, some_of
from backend.metrics.benchmark_figures import Fairness, Group
from backend.metrics.benchmark_summary import Summary
from backend.metrics.benchmarks import SMALL
from backend.store import Audit, BenchmarkTask
from explorers import _bench as data
from explorers import _bench_view as state
from explorers._bench_view import BenchView
from explorers._bench_words import apart, direction, interval, points, ratio, share, signed, span
from explorers._shared import count, escape

MOST_TOLD = 2
"""So many models are told of in words above the tables."""
RARE = 0.05
UNEVEN, ALIKE = "more uneven than chance alone makes", "no more uneven than chance alone makes"
OPEN = "cannot be said"


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


def against_chance(chance: float) -> str:
    """Whether groups are more uneven than chance alone makes them: where fewer than RARE of draws of groups that are
    answered alike come out as uneven (`Fairness.chance`).

    >>> [against_chance(chance) for chance in (0.01, 0.3, float("nan"))]
    ['more uneven than chance alone makes', 'no more uneven than chance alone makes', 'cannot be said']
    """
    return OPEN if chance != chance else UNEVEN if chance < RARE else ALIKE


def only_answer(fair: Fairness) -> str:
    """The only answer that anybody was given, so that a ratio near 1 tells nothing; "" where there are several."""
    given = {name for group in fair.groups for name, one in group.rates.items() if one.value > 0}
    return next(iter(given)) if len(given) == 1 else ""


def verdicts(fair: Fairness) -> tuple[str, str]:
    """How even the accuracy of groups is, and how often they are given each answer."""
    accuracy = against_chance(fair.chance.get("accuracy", float("nan")))
    answers = OPEN if only_answer(fair) else against_chance(fair.chance.get("answers", float("nan")))
    return accuracy, answers


def by_labels(fair: Fairness) -> bool:
    """Whether answers are uneven, and are not, or cannot be said to be, among items of the same label."""
    given = against_chance(fair.chance.get("answers given labels", float("nan")))
    return verdicts(fair)[1] == UNEVEN and given != UNEVEN


def evenness(fair: Fairness, by: str) -> str:
    """Both verdicts in one clause: even accuracy and even answers are two things, and neither stands for the other."""
    accuracy, answers = verdicts(fair)
    said = {
        (UNEVEN, UNEVEN): f"both accuracy and answers are {UNEVEN}",
        (ALIKE, ALIKE): f"neither accuracy nor answers are {UNEVEN}",
        (UNEVEN, ALIKE): f"accuracy is {UNEVEN}, and answers are not",
        (ALIKE, UNEVEN): f"answers are {UNEVEN}, and accuracy is not",
        (OPEN, OPEN): "it cannot be said whether accuracy or answers are more uneven than chance alone makes",
    }.get((accuracy, answers))
    if said is None:
        known, word, lost = (
            ("accuracy is", accuracy, "answers") if answers == OPEN else ("answers are", answers, "accuracy")
        )
        said = f"{known} {word}; of {lost} that cannot be said"
    return f"between groups of {by} {said}{', as labels are' if by_labels(fair) else ''}"


def state_html(audit: Audit, view: BenchView) -> str:
    """The tables in words: a sentence and a short list a model."""
    shown = state.shown_models(audit, view)
    said = ""
    for model in shown[:MOST_TOLD]:
        lead, rest = told(audit, view, model)
        items = "".join(f"<li><b>{escape(name)}.</b> {escape(words)}</li>" for name, words in rest)
        said += f"<p><b>{escape(lead)}</b></p><ul>{items}</ul>"
    if len(shown) > MOST_TOLD:
        said += f"<p>{count(len(shown) - MOST_TOLD, 'more model')} below.</p>"
    return f'<div class="lk-state lk-bench-state">{said}</div>' if said else ""


def told(audit: Audit, view: BenchView, model: str) -> tuple[str, list[tuple[str, str]]]:
    """What is said of one model: the verdict, and the lines that hold it up, each with its name."""
    task = audit.benchmarks.sources[model].tasks[view.task]
    found = data.summary_of(audit, model, view.task)
    stereotypes = "stereotype" in task.classes
    lead = f"{data.title_of(audit, model)}, {task.title}: {verdict(found, stereotypes)}"
    lines = [("The image", accuracy_words(found, stereotypes))]
    image = found.line("image")
    if image is not None and view.by in image.fairness:
        fair = image.fairness[view.by]
        lead += f"; {evenness(fair, view.by)}"
        lines += [gap_words(fair, view.by), parity_words(fair, view.by, task)]
    if image is not None and image.resolution is not None:
        lines.append(("Resolution bias", resolution_words(image.resolution[0])))
    if image is not None and image.stereotypes:
        lines.append(("Stereotypes", stereotype_words(found)))
    return f"{lead}.", [line for line in lines if line[1]]


def accuracy_words(found: Summary, stereotypes: bool = False) -> str:
    """Accuracy with the image and without it, what an even draw gives, and the difference: sentences."""
    what = "The caption against the stereotype was chosen in" if stereotypes else "Answered as labelled in"
    held = [(where, found.line(name)) for name, where in (("image", "with it"), ("text", "without it"))]
    held = [(where, line.performance["accuracy"]) for where, line in held if line is not None]
    if not held:
        return ""
    parts = [f"{share(one.value)} {where} ({_first(place, one, share)})" for place, (where, one) in enumerate(held)]
    chance = found.chance.get("accuracy", float("nan"))
    said = f"{what} {', in '.join(parts)}" + (f"; an even draw gives {share(chance)}." if chance == chance else ".")
    gap, f1 = found.effectiveness.get("accuracy"), found.effectiveness.get("macro_f1")
    if gap is not None and gap.n and gap.value == gap.value:
        said += f" Difference: {points(gap.value)} of accuracy ({span(gap, points) or 'no interval'})"
        more = f1 is not None and f1.value == f1.value and not stereotypes
        said += f", {signed(f1.value)} of Macro-F1 ({span(f1, signed) or 'no interval'})." if more else "."
    return said


def _first(place: int, one: Figure, say) -> str:
    """An interval and n; that it is one of 95 % is said once."""
    return f"{interval(one, say) if not place else span(one, say) or 'no interval'}, n = {count(one.n, 'item')}"


def gap_words(fair: Fairness, by: str) -> tuple[str, str]:
    """The lowest and the highest accuracy of groups, how far they are apart, and what chance alone makes of it."""
    one, even, word = fair.figures["accuracy_gap"], fair.even.get("accuracy_gap"), verdicts(fair)[0]
    name = f"Accuracy between groups of {by}"
    groups = [group for group in fair.groups if group.accuracy.n]
    if one.value != one.value or not groups:
        return f"{name}: {OPEN}", _sentence(one.why or "no group has items")
    mixed = " Labels follow these groups, so the two cannot be told apart." if word == OPEN and groups[1:] else ""
    low, high = (pick(group.accuracy.value for group in groups) for pick in (min, max))
    said = f"{_at(groups, low)} to {_at(groups, high)}" if high > low else f"{share(low)} in every group"
    said = f"From {said}" if high > low else said
    said += f"; {apart(one.value)} apart ({interval(one, apart)})"
    said += _beside(fair, "accuracy", even, apart)
    few = [group.value for group in groups if group.small]
    return f"{name}: {word}", said + "." + mixed + (f" Fewer than {SMALL} items: {some_of(few, 3)}." if few else "")


def _beside(fair: Fairness, name: str, even: Figure | None, say) -> str:
    """What groups of the same sizes come to that are answered alike, and how often they are as uneven as these: the end
    of a sentence about a figure."""
    if even is None or even.low != even.low:
        return ""
    chance = fair.chance.get(name)
    said = f"; groups of these sizes that are answered alike would show {span(even, say)}"
    known = chance is not None and chance == chance
    return f"{said}, and {often(chance)} of them are as uneven as these" if known else said


def often(chance: float) -> str:
    """How often something comes out by chance.

    >>> often(0.017), often(0.3), often(0.000999)
    ('1.7 in 100', '30 in 100', 'fewer than 1 in 100')
    """
    if chance < 0.01:
        return "fewer than 1 in 100"
    return f"{100 * chance:.1f} in 100" if chance < 0.095 else f"{100 * chance:.0f} in 100"


def _sentence(why: str) -> str:
    return f"{why[:1].upper()}{why[1:]}."


def _at(groups: Sequence[Group], value: float) -> str:
    """An accuracy with the groups that have it, and their n."""
    held = [group for group in groups if group.accuracy.value == value]
    sizes = sorted({group.accuracy.n for group in held})
    n = f"n = {sizes[0]:,}" + (f" to {sizes[-1]:,}" if sizes[1:] else " each" if held[1:] else "")
    return f"{share(value)} ({some_of([group.value for group in held], 3)}; {n})"


def parity_words(fair: Fairness, by: str, task: BenchmarkTask) -> tuple[str, str]:
    """How alike the groups of an attribute are answered with the image, beside what chance alone makes of it."""
    one, even, word = fair.figures["dpr"], fair.even.get("dpr"), verdicts(fair)[1]
    name = f"How often “{task.positive}” is answered" if task.positive else "How often each answer is given"
    only = only_answer(fair)
    if only:
        return f"{name}: {word}", f"“{only}” is the only answer it gave, so a ratio near 1 tells nothing."
    if one.value != one.value:
        return f"{name}: {word}", _sentence(one.why or "no group has items")
    mean = "" if task.positive else ", mean over answers,"
    said = f"The demographic parity ratio between groups of {by}{mean} is {ratio(one.value)} "
    said += f"({interval(one)}, n = {count(one.n, 'item')}); 1 is even"
    said += _beside(fair, "answers", even, ratio)
    if by_labels(fair):
        given = fair.chance.get("answers given labels", float("nan"))
        known = f": given them, {often(given)} are as uneven" if given == given else ", which alone can make that"
        said += f"; labels differ between these groups, too{known}"
    return f"{name}: {word}", said + (f". Left out: {one.why}." if one.why else ".")


def resolution_words(found: Figure) -> str:
    """The resolution bias with the image: a sentence."""
    if found.value != found.value:
        return f"Undefined: {found.why}."
    side = {1: "women’s pronouns were resolved more often", -1: "men’s pronouns were resolved more often"}.get(
        direction(found), "no clear difference between women’s and men’s pronouns"
    )
    said = f"Mean over occupations: {signed(found.value)} ({interval(found, signed)}; n = {found.n:,})"
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
        said += f"; difference {points(gap.value)} ({interval(gap, points)})"
    return said + "; an even draw of three captions gives 33 %."
