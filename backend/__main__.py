"""The command line: `python -m backend import|generate|build|status`. Run with --help for what each takes."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from tqdm import tqdm

from backend.build import build, status
from backend.commands import add_vector_commands, regions_number, run_embed, run_import_embedding, words_number
from backend.commands_actions import add_actions_command, run_actions
from backend.commands_bench import add_bench_commands, run_benchmark
from backend.commands_hire import add_hire_commands, run_hire
from backend.commands_probe import add_probe_commands, run_probe
from backend.commands_text import add_text_commands, run_describe, run_import_texts
from backend.generate import SHARD_ROWS as GENERATED_ROWS
from backend.generate import Outcome, generate
from backend.importers import open_source
from backend.importers.columns import parse_map
from backend.ingest import ingest
from backend.neighbours.words import WORDS
from backend.pictures import MOST_MEGAPIXELS
from backend.plan import duration, plan
from backend.records import Report, SourceError, clean_text, count
from backend.spec import Spec, load_spec
from backend.store import Audit, AuditWriter, StoreError, audit_folder
from backend.store.writer import SHARD_ROWS
from backend.systems import KEYS
from backend.terminal import forgiving, written

CACHE = Path(__file__).parent.parent / "cache"


def positive(text: str) -> int:
    """An argument that must be a whole number above zero."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def megapixels(text: str) -> int:
    """An argument that must be a number of megapixels that Pillow opens."""
    if positive(text) > MOST_MEGAPIXELS:
        raise argparse.ArgumentTypeError(f"{text} is more than {MOST_MEGAPIXELS}, the most that can be read")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(prog="python -m backend", description="Make and keep audits.")
    commands = top.add_subparsers(dest="command", required=True, metavar="import|generate|embed|...")
    into = commands.add_parser("import", help="turn a source of generated images into an audit, or add to one")
    into.add_argument("source", metavar="SOURCE", help="a folder, .parquet file or Hub data set (OWNER/NAME)")
    into.add_argument("name", metavar="NAME", help="the audit's name: cache/NAME")
    into.add_argument("--system", default="", metavar="NAME", help="the system, where the source names none")
    text = "what a column is, as in model=system; can be given several times"
    into.add_argument("--map", action="append", default=[], metavar="COLUMN=FIELD", help=text)
    into.add_argument("--split", default="train", help="the split of a Hub data set (default: train)")
    number = {"metavar": "N"}
    text = "larger images are left out (default: 64)"
    into.add_argument("--max-megapixels", type=megapixels, default=64, help=text, **number)
    text = f"after how many images an import that stops can go on (default: {SHARD_ROWS})"
    into.add_argument("--shard-rows", type=positive, default=SHARD_ROWS, help=text, **number)
    make = commands.add_parser("generate", help="let systems make the images that a spec wants, or go on with it")
    make.add_argument("spec", metavar="SPEC", type=Path, help="a spec (.toml), as in assets/specs")
    make.add_argument("name", metavar="NAME", help="the audit's name: cache/NAME")
    make.add_argument("--dry-run", action="store_true", help="say what would be made, and make nothing")
    text = "only this system of the spec; can be given several times"
    make.add_argument("--only-system", action="append", default=[], metavar="NAME", help=text)
    make.add_argument("--limit-per-prompt", type=positive, help="at most so many images a prompt", **number)
    make.add_argument("--retry-failed", action="store_true", help="ask again for images that failed in earlier runs")
    text = f"how many images a kill can cost (default: {GENERATED_ROWS})"
    make.add_argument("--shard-rows", type=positive, default=GENERATED_ROWS, help=text, **number)
    build_ = commands.add_parser("build", help="run the stages of an audit that are missing or stale")
    build_.add_argument("name", metavar="NAME", help="the audit's name: cache/NAME")
    text = "how many regions, other than 12, 24 and 48; can be given several times"
    build_.add_argument("--k", action="append", default=[], type=regions_number, help=text, **number)
    text = "take regions from another audit of the same embedding"
    build_.add_argument("--regions-from", default="", metavar="AUDIT", help=text)
    text = f"how many visual words pictures are compared by (default: {WORDS:,}, or as many as there are)"
    build_.add_argument("--words", type=words_number, default=0, help=text, **number)
    more = [*add_vector_commands(commands), *add_text_commands(commands), *add_probe_commands(commands)]
    more += [*add_bench_commands(commands), *add_hire_commands(commands)]
    add_actions_command(commands)
    table = commands.add_parser("status", help="check every byte of an audit and print its stages")
    table.add_argument("name", metavar="NAME", help="the audit's name: cache/NAME")
    for command in (into, build_, more[0]):
        text = "threads (default: one a core)"
        command.add_argument("--workers", type=positive, default=os.cpu_count() or 1, help=text, **number)
    text = "where audits lie (default: cache)"
    for command in (into, make, build_, table, *more):
        command.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help=text)
    return top


def run_import(arguments: argparse.Namespace) -> int:
    """`import`: 0 where images were added or all were there already, else 1."""
    audit_folder(arguments.cache, arguments.name)
    names = parse_map(arguments.map)
    source = open_source(arguments.source, arguments.system, names, arguments.split)
    report = Report()
    with AuditWriter(arguments.cache, arguments.name, source.key, arguments.shard_rows) as writer:
        print_resumed(writer)
        with tqdm(total=source.total, unit="image", desc="import", disable=None) as bar:
            ingest(source.items, writer, report, arguments.max_megapixels * 1_000_000, arguments.workers, bar.update)
        writer.finish(source.label, report)
    print_report(report, arguments.name, writer.resumed, writer.kept)
    return 0 if report.added or report.already else 1


def print_resumed(writer: AuditWriter, what: str = "import") -> None:
    """What an interrupted run has left: taken over where it was the same source's, else dropped."""
    if writer.resumed:
        print(f"Going on after an interrupted {what}: {count(writer.resumed, 'image')} there already.")
    if writer.discarded:
        print(f"Dropped {count(writer.discarded, 'image')} of an interrupted import of another source.")


def print_report(report: Report, name: str, resumed: int, kept: bool) -> None:
    """The import report on the terminal: counts, then the first rows of what was left out or changed.

    `kept` says whether the audit holds the report, too.
    """
    print(
        f"Read {count(report.read, 'item')}: {report.added:,} added to {name}, {report.already:,} there already"
        f"{f' (of which {resumed:,} from the interrupted import)' if resumed else ''}, "
        f"{report.total('left out'):,} left out."
    )
    print_rows(report, kept)
    if not report.added and not report.already:
        print("Nothing was imported.", file=sys.stderr)


def print_rows(report: Report, kept: bool) -> None:
    """The first rows of a report."""
    shown = 20 if kept else 200
    for item, outcome, reason in report.rows[:shown]:
        name = clean_text(item)  # rows of the report of a stranger's audit are among them
        print(f"  {clean_text(outcome)}: {name if len(name) <= 200 else name[:199] + '…'}: {clean_text(reason)}")
    if len(report.rows) > shown:
        where = "the audit's import_report.parquet and its About tab list all" if kept else "mend these first"
        print(f"  and {len(report.rows) - shown:,} more; {where}.")


def run_generate(arguments: argparse.Namespace) -> int:
    """`generate`: 0 where every system went to its end and there are images, else 1."""
    audit_folder(arguments.cache, arguments.name)
    spec = load_spec(arguments.spec, KEYS)
    only, limit = arguments.only_system, arguments.limit_per_prompt
    if arguments.dry_run:
        print_plan(spec, arguments)
        return 0
    done = generate(
        arguments.cache,
        arguments.name,
        spec,
        only,
        limit,
        arguments.retry_failed,
        arguments.shard_rows,
        started=lambda writer: print_resumed(writer, "run"),
        progress=generation_progress,
    )
    print_generated(done, arguments.name)
    return 0 if not done.stopped and (done.report.added or done.report.already) else 1


def generation_progress(total: int) -> Callable[[], object]:
    """A progress bar with rate and remaining time; where no terminal shows it, a line a minute on stderr."""
    bar = tqdm(total=total, unit="image", desc="generate", disable=None)
    if not bar.disable:
        return bar.update
    start, done, told = time.monotonic(), 0, time.monotonic()

    def step() -> None:
        nonlocal done, told
        done, now = done + 1, time.monotonic()
        if now - told >= 60:
            told = now
            pace, left = done / (now - start), max(total - done, 0)
            print(f"{done:,} of {total:,}, {pace:.2f} images/s, {duration(left / pace)} left", file=sys.stderr)

    return step


def print_plan(spec: Spec, arguments: argparse.Namespace) -> None:
    """The dry run: a line for every system and subset, the total, and an estimate of the time."""
    options = (arguments.only_system, arguments.limit_per_prompt, arguments.retry_failed)
    lines = plan(arguments.cache, arguments.name, spec, *options)
    wide = max(len("system"), *(len(line.system) for line in lines))
    heads = f"{'prompts':>9}{'images':>10}{'there':>10}{'refused':>9}{'to make':>10}"
    print(f"{'system':<{wide}}  {'subset':<12}{heads}  time")
    for line in lines:
        time_ = "unknown" if line.seconds is None else duration(line.seconds)
        counts = f"{line.prompts:>9,}{line.images:>10,}{line.there:>10,}{line.refused:>9,}{line.to_make:>10,}"
        print(f"{line.system:<{wide}}  {line.subset:<12}{counts}  {time_}")
    known = [line.seconds for line in lines if line.to_make and line.seconds is not None]
    print(f"To make: {count(sum(line.to_make for line in lines), 'image')}, one request each.")
    unknown = sorted({line.system for line in lines if line.seconds is None})
    if unknown:
        names = ", ".join(unknown)
        print(f"How long is unknown for {names}: no finished run has measured it. One with --limit-per-prompt 1 does.")
    if known:
        print(f"{'The others' if unknown else 'All'} will take about {duration(sum(known))}.")


def print_generated(done: Outcome, name: str) -> None:
    """What a run of `generate` did: counts, systems that were given up, and the first rows of the report."""
    report = done.report
    new = {word: report.total(word) - done.earlier.get(word, 0) for word in ("filtered", "failed", "left out")}
    print(
        f"{report.added:,} added to {name}, {report.already:,} there already, {new['filtered']:,} filtered, "
        f"{new['failed']:,} failed, {new['left out']:,} left out."
    )
    if done.earlier:
        words = ", ".join(f"{number:,} {clean_text(outcome)}" for outcome, number in sorted(done.earlier.items()))
        print(f"Not asked again, as earlier runs asked in vain: {words}. --retry-failed asks for the failed ones.")
    print_rows(report, done.kept)
    for words in done.stopped.values():
        print(f"Error: {words}", file=sys.stderr)
    if not report.added and not report.already:
        print("Nothing was generated.", file=sys.stderr)


def run_build(arguments: argparse.Namespace) -> int:
    """`build`: runs stages with a progress bar each."""

    def progress(stage: str, total: int):
        return tqdm(total=total, unit="image", desc=stage, disable=None).update

    def say(sentence: str) -> None:
        print(f"Not done: {clean_text(sentence)}.")

    options = (arguments.k, arguments.regions_from, say)
    ran = build(arguments.cache, arguments.name, arguments.workers, progress, *options, words=arguments.words)
    print(f"Ran {', '.join(ran)}." if ran else "Every stage is up to date.")
    return 0


def run_status(arguments: argparse.Namespace) -> int:
    """`status`: the table of stages; 1 where a file is damaged."""
    audit = Audit.open(arguments.cache, arguments.name)
    systems = audit.generations["system"].nunique()
    print(f"{audit.name}: {count(len(audit), 'image')}, {count(systems, 'system')}, in {audit.folder}")
    print(f"{'stage':<26}{'state':<10}{'rows':>10}{'size':>12}{'seconds':>10}")
    for row in status(audit):
        seconds = "" if row["seconds"] is None else f"{row['seconds']:,.1f}"
        size = f"{row['bytes'] / 1e6:,.2f} MB"
        print(f"{row['stage']:<26}{row['state']:<10}{row['rows']:>10,}{size:>12}{seconds:>10}")
    wrong = audit.check()
    for sentence in wrong:
        print(f"Error: {sentence}. Restore the folder from a copy, or delete it and import again.", file=sys.stderr)
    if not wrong:
        print("Every file matches the manifest's hash.")
    return 1 if wrong else 0


COMMANDS = {
    "import": run_import,
    "generate": run_generate,
    "embed": run_embed,
    "import-embedding": run_import_embedding,
    "describe": run_describe,
    "import-texts": run_import_texts,
    "probe": run_probe,
    "benchmark": run_benchmark,
    "hire": run_hire,
    "actions": run_actions,
    "build": run_build,
    "status": run_status,
}


def main(argv: list[str] | None = None) -> int:
    """Run a command; returns the exit status: 0 well, 1 with a sentence on stderr, 2 usage, 130 stopped, 141 unread."""
    arguments = parser().parse_args(argv)
    warnings.filterwarnings("ignore", module="PIL")
    forgiving()
    try:
        return written(lambda: COMMANDS[arguments.command](arguments))
    except (SourceError, StoreError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What was finished is kept; run the same command again to go on.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
