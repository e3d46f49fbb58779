"""The command that puts probes to a model: its grammar, running it, and the table of measures at its end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from backend.drawing_plan import DIRECTIONS as DRAWN
from backend.drawing_plan import STYLE, plan_drawings
from backend.generate import chosen
from backend.metrics.neutrality import FEWEST, Measure, measures, tally
from backend.probe_plan import Plan, Wanted, plan
from backend.probes.ask import Model, ModelSpec, ProbeError, load_models, make_model
from backend.probes.drawing import Drawer, read_drawing
from backend.probes.prompts import OPTIONS
from backend.probes.prompts import STYLES as STYLES_FILE
from backend.probing import Count, Probed, counts, directions_of, run
from backend.records import clean_text, count
from backend.spec import ROOT, SpecError, load_spec
from backend.store import Audit, ProbeSource
from backend.store.probes import DIRECTIONS, STYLES
from backend.systems import KEYS

MODELS = ROOT / "assets" / "probes" / "models.toml"
DRAWING = ROOT / "assets" / "probes" / "starter-drawing.toml"
COLUMNS = ("ag", "delta_ag", "delta_neutrality", "neutral_accuracy", "unparsed")
HEADS = ("AG", "delta AG", "delta N", "neutral", "unparsed")


def whole_number(text: str) -> int:
    """An argument that must be a whole number above zero; "all" is 0."""
    if text == "all":
        return 0
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to 1,000,000")
    return int(text)


def add_probe_commands(commands: Any) -> list[argparse.ArgumentParser]:
    """Add `probe` to the command line."""
    ask = commands.add_parser("probe", help="put neutral inputs to a language or vision-language model")
    ask.add_argument("name", metavar="AUDIT", help="the audit's name: cache/AUDIT")
    ask.add_argument("--model", required=True, metavar="NAME", help="one of the models of --models")
    ask.add_argument("--models", type=Path, default=MODELS, metavar="FILE.toml", help=f"(default: {_short(MODELS)})")
    text = "a spec: --model is one of its systems, and what it draws is judged"
    ask.add_argument("--systems", type=Path, metavar="SPEC.toml", help=text)
    text = f"what systems draw, and who judges it (default: {_short(DRAWING)})"
    ask.add_argument("--drawing", type=Path, default=DRAWING, metavar="FILE.toml", help=text)
    text = f"some of {', '.join(DIRECTIONS)} (default: text-to-text; a kind that sees only pictures: image-to-text; "
    text += "vlm: both; systems: the last two)"
    ask.add_argument("--directions", nargs="+", default=[], choices=DIRECTIONS, metavar="DIRECTION", help=text)
    text = f"some of {', '.join(STYLES)} (default: all)"
    ask.add_argument("--styles", nargs="+", default=[], choices=STYLES, metavar="STYLE", help=text)
    text = "some of those of the options' file (default: all)"
    ask.add_argument("--attributes", nargs="+", default=[], metavar="NAME", help=text)
    text = "columns profession and action; or profession alone, for those of assets/actions.csv"
    ask.add_argument("--professions", type=Path, metavar="FILE.csv", help=text)
    text = "at most so many inputs (professions and actions), every profession's first before any one's second"
    ask.add_argument("--limit", type=whole_number, default=0, metavar="N", help=text)
    text = "in how many orders the options are shown (default: all); with fewer, inputs begin with different ones"
    ask.add_argument("--rotations", type=whole_number, default=0, metavar="all|N", help=text)
    text = "how many pictures are shown with an input (default: 1)"
    ask.add_argument("--pictures", type=whole_number, default=1, metavar="N", help=text)
    ask.add_argument("--anew", action="store_true", help="drop answers of other weights, settings or words")
    ask.add_argument("--retry-failed", action="store_true", help="ask again what failed in earlier runs")
    ask.add_argument("--dry-run", action="store_true", help="say what would be asked, and ask nothing")
    return [ask]


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def chosen_model(path: Path, name: str) -> ModelSpec:
    """A model of a file. Raises SpecError."""
    specs = load_models(path)
    found = next((spec for spec in specs if spec.name == name), None)
    if found is None:
        raise SpecError(f"--model: {name[:60]!r} is none of {', '.join(spec.name for spec in specs)} ({path})")
    return found


def wanted_of(arguments: argparse.Namespace, spec: ModelSpec) -> Wanted:
    """What the arguments, and the model's own files, want asked."""
    return Wanted(
        directions_of(spec, arguments.directions),
        tuple(arguments.styles),
        tuple(arguments.attributes),
        arguments.professions or spec.files.get("professions_file"),
        arguments.limit,
        arguments.rotations,
        max(arguments.pictures, 1),
        spec.files.get("styles_file", STYLES_FILE),
        spec.files.get("options_file", OPTIONS),
        spec.letters,
    )


def run_probe(arguments: argparse.Namespace) -> int:
    """`probe`: 0 where everything was asked; says first how much that is."""
    audit = Audit.open(arguments.cache, arguments.name)
    model, planner = (_drawn if arguments.systems else _asked)(arguments)
    planned = planner(audit)
    print_counts(model.spec, planned, counts(audit, model.spec.name, planned))
    if arguments.dry_run:
        return 0
    try:
        again = (arguments.anew, arguments.retry_failed, _bar(model.spec.name))
        done = run(arguments.cache, arguments.name, model, planner, arguments.limit, *again)
    except ProbeError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print_probed(arguments.name, done)
    return 0


def _asked(arguments: argparse.Namespace) -> tuple[Model, Callable[[Audit], Plan]]:
    """A model of a file, and what it is asked."""
    if {*arguments.directions} & {*DRAWN}:
        raise SpecError(f"--directions: {' and '.join(DRAWN)} are for systems that draw: give their spec as --systems")
    spec = chosen_model(arguments.models, arguments.model)
    wanted = wanted_of(arguments, spec)
    return make_model(spec), lambda audit: plan(audit, wanted)


def _drawn(arguments: argparse.Namespace) -> tuple[Model, Callable[[Audit], Plan]]:
    """A system of a spec with its judge, and what it draws."""
    if {*arguments.directions} - {*DRAWN} or {*arguments.styles} - {STYLE}:
        raise SpecError(f"--systems: systems draw in the directions {' and '.join(DRAWN)}, in the style {STYLE} only")
    drawing = read_drawing(arguments.drawing)
    model = Drawer(chosen(load_spec(arguments.systems, KEYS), [arguments.model])[0], drawing)
    able = DRAWN if model.system.REDRAWS else DRAWN[:1]
    able = tuple(direction for direction in able if direction in (arguments.directions or drawing.prompts))
    if {*arguments.directions} - {*able}:
        raise SpecError(f"--directions: systems of kind {model.spec.kind} draw from a text only")
    more = (arguments.professions, arguments.limit, tuple(arguments.attributes))
    return model, lambda audit: plan_drawings(audit, drawing, able, *more)


def _bar(name: str) -> Callable[[int], Callable[[int], object]]:
    """Progress with pace and remaining time; where no terminal shows it, once a minute."""
    pause = 0.1 if sys.stderr.isatty() else 60
    return lambda total: tqdm(total=total, unit="prompt", desc=name, mininterval=pause, miniters=1).update


def print_counts(spec: ModelSpec, planned: Plan, lines: Sequence[Count]) -> None:
    """What would be asked, a line for each direction, style, attribute and culture; for endpoints as requests."""
    rows = [("direction", "style", "attribute", "culture", "inputs", "prompts", "to ask")]
    for line in lines:
        numbers = [f"{number:,}" for number in (line.inputs, line.prompts, line.to_ask)]
        rows.append((line.direction, line.style, line.attribute, line.culture, *numbers))
    print_table(rows, left=4)
    total = count(sum(line.to_ask for line in lines), "prompt")
    cost = ", each of them one request, which the server may charge for" if "base_url" in spec.options else ""
    print(f"To ask {clean_text(spec.title)} at most: {total}{cost}.")
    if planned.note:
        print(clean_text(planned.note))


def print_table(rows: Sequence[Sequence[str]], left: int) -> None:
    """Rows of texts in columns, the first `left` of them to the left; some are from an audit that a stranger made."""
    rows = [[clean_text(text)[:100] for text in row] for row in rows]
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [text.ljust(wide[at]) if at < left else text.rjust(wide[at]) for at, text in enumerate(row)]
        print("  ".join(cells).rstrip())


def print_probed(name: str, done: Probed) -> None:
    """What a run did, and the measures of all that the model was asked in this audit, with their intervals."""
    print(f"{count(done.asked, 'prompt')} asked now, {done.there:,} answered before.")
    for reason, number in done.lost.most_common(5):
        print(f"  without a class: {number:,} x {clean_text(reason)[:300]}")
    rows = [("direction", "style", "attribute", "culture", "inputs", "answers", *HEADS)]
    few = False
    for line in summary(done.source, done.answers):
        few |= line.inputs < FEWEST
        cells = [shown(line.found.get(column)) for column in COLUMNS]
        inputs = f"{line.inputs:,}{'*' if line.inputs < FEWEST else ''}"
        rows.append((line.direction, line.style, line.attribute, line.culture, inputs, f"{line.answers:,}", *cells))
    print_table(rows, left=4)
    print("In brackets: 95 % intervals over inputs. AG: -1 only the first of two classes, 1 only the second.")
    if few:
        print(f"* fewer than {FEWEST} inputs: too few to judge the model by.")
    print(f"{name} has {count(len(done.answers), 'answer')} of {clean_text(done.source.title)} now.")


def shown(measure: Measure | None) -> str:
    """A measure and its interval.

    >>> shown(Measure(-0.719, -0.8, -0.6, 874)), shown(None), shown(Measure(float("nan"), 0, 0, 0))
    ('-0.719 (-0.800 to -0.600)', '', 'none')

    Where all inputs were answered alike no spread can be estimated, and no interval is given.

    >>> shown(Measure(-1.0, -1.0, -1.0, 874))
    '-1.000 (all alike)'
    """
    if measure is None:
        return ""
    if measure.value != measure.value:
        return "none"
    if measure.low != measure.low:
        return f"{measure.value:.3f}"
    if measure.low == measure.high:
        return f"{measure.value:.3f} (all alike)"
    return f"{measure.value:.3f} ({measure.low:.3f} to {measure.high:.3f})"


@dataclass(frozen=True)
class Line:
    """One line of the table: what was asked, and the measures of it with their intervals over inputs."""

    direction: str
    style: str
    attribute: str
    culture: str
    inputs: int
    answers: int
    found: dict[str, Measure]


def summary(source: ProbeSource, answers: pd.DataFrame) -> list[Line]:
    """A line for each direction, style, attribute and culture that a model was asked."""
    lines = []
    for place, some in answers.groupby(["direction", "style", "attribute", "culture"], sort=False, observed=True):
        said = [some[column].astype(str).tolist() for column in ("input", "answer")]
        names, table = tally(*said, source.classes[place[2]])
        lines.append(Line(*map(str, place), len(names), len(some), measures(table)))
    return lines
