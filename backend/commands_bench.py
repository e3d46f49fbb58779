"""The command that puts a benchmark to a model: its grammar, running it, and the tables at its end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from backend.bench_answers import seen_items
from backend.bench_plan import Plan, chosen_task, load, plan
from backend.bench_report import print_benched
from backend.benching import counts, run
from backend.benchmarks import Data, Loaded, Task
from backend.benchmarks.fetch import fetcher
from backend.benchmarks.tasks import TASKS, Tasks, read_tasks
from backend.commands_probe import MODELS, chosen_model, whole_number
from backend.probes.ask import Model, ProbeError, make_model
from backend.records import clean_text, count
from backend.spec import ROOT
from backend.store import Audit


def add_bench_commands(commands: Any) -> list[argparse.ArgumentParser]:
    """Add `benchmark` to the command line."""
    ask = commands.add_parser("benchmark", help="put a benchmark of labelled images to a vision-language model")
    ask.add_argument("name", metavar="AUDIT", help="the audit that keeps the answers: cache/AUDIT")
    ask.add_argument("--task", required=True, metavar="NAME", help="one of the tasks of --tasks")
    text = f"a folder of files with tasks (default: {TASKS.relative_to(ROOT)})"
    ask.add_argument("--tasks", type=Path, default=TASKS, metavar="DIR", help=text)
    ask.add_argument("--model", required=True, metavar="NAME", help="one of the models of --models")
    text = f"(default: {MODELS.relative_to(ROOT)})"
    ask.add_argument("--models", type=Path, default=MODELS, metavar="FILE.toml", help=text)
    text = "your own copy of the images, with their labels; tasks on the audit's images need none"
    ask.add_argument("--data", type=Path, metavar="FOLDER", help=text)
    ask.add_argument(
        "--label", default="", metavar="COLUMN", help="the column of labels, for the tasks folder and audit"
    )
    text = "what fairness is measured over, at most three (default: as the task says)"
    ask.add_argument("--group", nargs="+", default=[], metavar="COLUMN", help=text)
    text = "at most so many images, of every label and group in proportion (default: as the task says)"
    ask.add_argument("--limit", type=whole_number, default=None, metavar="all|N", help=text)
    text = "fetch images that are not in the folder from their addresses, and keep them there"
    ask.add_argument("--fetch", action="store_true", help=text)
    ask.add_argument(
        "--anew", action="store_true", help="drop answers of other weights, settings, words, groups or images"
    )
    ask.add_argument("--retry-failed", action="store_true", help="ask again what failed in earlier runs")
    ask.add_argument("--dry-run", action="store_true", help="say what would be asked, and ask nothing")
    return [ask]


def run_benchmark(arguments: argparse.Namespace) -> int:
    """`benchmark`: 0 where everything was asked; says first how much that is."""
    audit = Audit.open(arguments.cache, arguments.name)
    tasks = read_tasks(arguments.tasks)
    task = chosen_task(tasks, arguments.task, arguments.label, arguments.group)
    model = make_model(chosen_model(arguments.models, arguments.model))
    loaded = _load(task, arguments, audit)
    planned = plan(tasks, task, loaded, model, arguments.limit)
    print_counts(audit, model, planned)
    if arguments.dry_run:
        return 0
    try:
        planner = _planner(tasks, task, loaded, model, arguments)
        again = (arguments.anew, arguments.retry_failed, _bar(f"{model.spec.name}: {planned.name}"))
        done = run(arguments.cache, arguments.name, model, planner, *again)
    except ProbeError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print_benched(arguments.name, planned.name, done)
    return 0


def _load(task: Task, arguments: argparse.Namespace, audit: Audit) -> Loaded:
    """The items of a task; with --fetch and a terminal, with a bar for what is fetched."""
    if not arguments.fetch:
        return load(task, Data(arguments.data, audit))
    with tqdm(unit="image", desc="fetch", disable=None) as bar:
        return load(task, Data(arguments.data, audit, fetcher(bar.update)))


def _planner(
    tasks: Tasks, task: Task, loaded: Loaded, model: Model, arguments: argparse.Namespace
) -> Callable[[Audit], Plan]:
    """The plan for the audit as it is once its lock is held: its own images are looked up anew."""

    def planner(audit: Audit) -> Plan:
        own = load(task, Data(arguments.data, audit)) if task.format == "audit" else loaded
        return plan(tasks, task, replace(own, left_out=own.left_out.copy()), model, arguments.limit)

    return planner


def print_counts(audit: Audit, model: Model, planned: Plan) -> None:
    """What would be asked, and what cannot be."""
    digests, broken = seen_items(planned.items)
    prompts, different, to_ask = counts(audit, model.spec.name, planned, digests)
    task = planned.task
    labels = ", ".join(clean_text(name)[:40] for name in task.classes[:12]) + (" ..." if task.classes[12:] else "")
    print(f"{clean_text(task.title)}: {labels}; groups: {', '.join(map(clean_text, task.groups)) or 'none'}.")
    print(
        f"{count(len(digests), 'image')} of {task.found:,} that can be asked about: {count(prompts, 'prompt')}, with "
        f"the image and as text alone, {different:,} of them different. A random answer is drawn beside each."
    )
    cost = ", each of them one request, which the server may charge for" if "base_url" in model.spec.options else ""
    print(f"To ask {clean_text(model.spec.title)} at most: {count(to_ask, 'prompt')}{cost}.")
    for reason, number in sorted({**task.left_out, **broken}.items(), key=lambda pair: -pair[1]):
        print(f"  left out: {number:,} x {clean_text(reason)[:300]}")
    if task.note:
        print(clean_text(task.note))


def _bar(name: str) -> Callable[[int], Callable[[int], object]]:
    """Progress with pace and remaining time; where no terminal shows it, once a minute."""
    pause = 0.1 if sys.stderr.isatty() else 60
    return lambda total: tqdm(total=total, unit="prompt", desc=name, mininterval=pause, miniters=1).update
