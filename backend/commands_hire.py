"""The command that asks a model about two applicants: its grammar, running it, and the table of measures at its end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from backend.commands_probe import MODELS, chosen_model, print_table, whole_number
from backend.hire_plan import Plan, Wanted, plan
from backend.hiring import Count, Hired, counts, run
from backend.hiring_texts import KINDS, RULES
from backend.metrics.hiring import ALIKE, FEW, FEWEST, Estimate, by_occupation, dialogues
from backend.probes.ask import ModelSpec, ProbeError, make_model
from backend.probes.hiring import ELEMENTS, NAMES, QUESTIONS
from backend.records import clean_text, count
from backend.spec import ROOT, SpecError
from backend.store import Audit

PAIRS = 8
COLUMNS = {
    "confirmation": "Confirmation",
    "consistency": "Consistency",
    "bias_difference": "Bias_diff",
    "q2_unknown": "Q2 unknown",
    "q3_neutral": "Q3 neutral",
    "order_effect": "order",
    "unparsed": "unparsed",
}


def add_hire_commands(commands: Any) -> list[argparse.ArgumentParser]:
    """Add `hire` to the command line."""
    hire = commands.add_parser("hire", help="ask a model whether it would hire one or the other of two applicants")
    hire.add_argument("name", metavar="AUDIT", help="the audit's name: cache/AUDIT")
    hire.add_argument("--model", required=True, metavar="NAME", help="one of the models of --models")
    hire.add_argument("--models", type=Path, default=MODELS, metavar="FILE.toml", help=f"(default: {_short(MODELS)})")
    text = f"pairs of names of each kind; each is asked in both orders (default: {PAIRS})"
    hire.add_argument("--pairs", type=whole_number, default=PAIRS, metavar="N|all", help=text)
    text = f"some of {', '.join(KINDS)} (default: all): a woman's and a man's name, or, as controls, two of one gender"
    hire.add_argument("--kinds", nargs="+", default=[], choices=KINDS, metavar="KIND", help=text)
    text = "some of those of assets/hiring/occupations.csv, with commas between them (default: all)"
    hire.add_argument("--occupations", default="", metavar="NAME,NAME", help=text)
    text = "whose attributes are told first: by turns (balanced), or the woman's (female, the paper's rule)"
    hire.add_argument("--attributes-first", default=RULES[0], choices=RULES, help=text)
    text = "shuffles the names before they are paired (default: 0)"
    hire.add_argument("--seed", type=_seed, default=0, metavar="N", help=text)
    text = f"what attributes mean, as {_short(ELEMENTS)} or O*NET's own table (.csv, or .txt between tabs)"
    hire.add_argument("--elements", type=Path, default=ELEMENTS, metavar="FILE", help=text)
    text = f"columns name and gender (default: {_short(NAMES)})"
    hire.add_argument("--names", type=Path, default=NAMES, metavar="FILE.csv", help=text)
    text = f"the wordings (default: {_short(QUESTIONS)})"
    hire.add_argument("--questions", type=Path, default=QUESTIONS, metavar="FILE.toml", help=text)
    hire.add_argument("--anew", action="store_true", help="drop answers of other weights, settings or words")
    hire.add_argument("--retry-failed", action="store_true", help="ask again what failed in earlier runs")
    hire.add_argument("--dry-run", action="store_true", help="say what would be asked, and ask nothing")
    return [hire]


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) > 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to {2**31:,}")
    return int(text)


def run_hire(arguments: argparse.Namespace) -> int:
    """`hire`: 0 where everything was asked; says first how much that is."""
    audit = Audit.open(arguments.cache, arguments.name)
    spec = chosen_model(arguments.models, arguments.model)
    planned = plan(wanted_of(arguments, spec))
    print_counts(spec, planned, counts(audit, spec.name, planned, arguments.retry_failed))
    if arguments.dry_run:
        return 0
    again = (arguments.anew, arguments.retry_failed, _bar)
    try:
        done = run(arguments.cache, arguments.name, make_model(spec), planned, *again)
    except ProbeError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print_hired(arguments.name, done)
    return 0


def wanted_of(arguments: argparse.Namespace, spec: ModelSpec) -> Wanted:
    """What the arguments want asked. Raises SpecError."""
    occupations = tuple(clean_text(name) for name in arguments.occupations.split(",") if clean_text(name))
    if arguments.occupations and not occupations:
        raise SpecError("--occupations: name one or more, with commas between them")
    files = (arguments.elements, arguments.names, arguments.questions)
    kinds = tuple(kind for kind in KINDS if kind in arguments.kinds)
    pairs = arguments.pairs or 10**6
    return Wanted(pairs, kinds, occupations, arguments.attributes_first, arguments.seed, *files, spec.letters)


def print_counts(spec: ModelSpec, planned: Plan, lines: Sequence[Count]) -> None:
    """What would be asked, a line for each step and kind of pairs; for endpoints as requests."""
    rows = [("step", "pairs", "number", "prompts", "to ask")]
    rows += [
        (one.step, one.kind, *(f"{n:,}" for n in (len(planned.pairs[one.kind]), one.prompts, one.to_ask)))
        for one in lines
    ]
    print_table(rows, left=2)
    shared = sum(one.prompts for one in lines if one.step == "attribute")
    print(
        f"All occupations share the answers about attributes: {shared:,} prompts. Asked for each occupation alone they "
        f"would be {planned.unshared():,}."
    )
    without = [name for name, job in planned.jobs.items() if not job.attributes]
    if without:
        print(f"Asked without attributes, as the paper's Table 5 has none: {', '.join(without)}.")
    print(
        f"Instances as in the paper (mixed pairs x occupations with attributes, in one order): {planned.instances():,}."
    )
    cost = ", each of them one request, which the server may charge for" if "base_url" in spec.options else ""
    total = count(sum(one.to_ask for one in lines), "prompt")
    print(f"To ask {clean_text(spec.title)} at most: {total}{cost}.")


def _bar(step: str, total: int) -> Callable[[int], object]:
    """Progress with pace and remaining time; where no terminal shows it, once a minute."""
    pause = 0.1 if sys.stderr.isatty() else 60
    return tqdm(total=total, unit="prompt", desc=step, mininterval=pause, miniters=1).update


def print_hired(name: str, done: Hired) -> None:
    """What a run did, and the measures of all that the model was asked in this audit, with their intervals."""
    total = count(sum(done.asked.values()), "prompt")
    print(f"{total} asked now, {done.there:,} answered before.")
    for step, number in done.asked.items():
        print(f"  {step}: {number:,} in {done.seconds[step]:,.1f} s ({number / max(done.seconds[step], 1e-9):,.1f}/s)")
    for reason, number in done.lost.most_common(5):
        print(f"  without an answer: {number:,} x {clean_text(reason)[:300]}")
    frame = dialogues(done.answers, done.source.genders)
    rows = [("pairs", "occupation", "n", "dialogues", *COLUMNS.values())]
    few = False
    for (kind, occupation), found in by_occupation(frame).items():
        n, k = found["confirmation"].n, found["confirmation"].k
        few |= n < FEWEST
        cells = [shown(found[column]) for column in COLUMNS]
        rows.append((kind, occupation or "all", f"{n:,}{'*' if n < FEWEST else ''}", f"{k:,}", *cells))
    print_table(rows, left=2)
    print_reading(done, few)
    print(f"{name} has {count(len(done.answers), 'answer')} about applicants of {clean_text(done.source.title)} now.")


def print_reading(done: Hired, few: bool) -> None:
    """How the table is to be read, and how many attributes were answered by no answer."""
    print(
        "In brackets: 95 % intervals over pairs (=: all pairs agree, no interval). Bias_diff: -1 only men, 1 only women"
    )
    print("were chosen though neither was called qualified. order: first-named minus second-named chosen in Q2.")
    if few:
        print(f"* fewer than {FEWEST} pairs: too few for an interval, and to judge the model by.")
    steps = done.answers["step"].astype(str)
    lost = steps[done.answers["answer"] == "unparsed"].value_counts()
    if len(lost):
        print(f"No answer that could be read: {', '.join(f'{step} {number:,}' for step, number in lost.items())}.")


def shown(measure: Estimate) -> str:
    """A measure and its interval.

    >>> [shown(Estimate(0.5, 0.25, 0.75, 8, 16, why)) for why in ("", ALIKE, FEW)]
    ['0.500 (0.250 to 0.750)', '0.500 =', '0.500']
    """
    if measure.value != measure.value:
        return "none"
    ends: Mapping[str, str] = {ALIKE: " =", FEW: ""}
    return f"{measure.value:.3f}" + ends.get(measure.why, f" ({measure.low:.3f} to {measure.high:.3f})")
