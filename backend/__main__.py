"""The command line: `python -m backend import|build|status`. Run with --help for what each takes."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

from tqdm import tqdm

from backend.build import build, status
from backend.importers import open_source
from backend.importers.columns import parse_map
from backend.ingest import ingest
from backend.records import Report, SourceError
from backend.store import Audit, AuditWriter, StoreError, audit_folder
from backend.store.writer import SHARD_ROWS

CACHE = Path(__file__).parent.parent / "cache"


def positive(text: str) -> int:
    """An argument that must be a whole number above zero."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(prog="python -m backend", description="Make and keep audits.")
    commands = top.add_subparsers(dest="command", required=True, metavar="import|build|status")
    into = commands.add_parser("import", help="turn a source of generated images into an audit, or add to one")
    into.add_argument("source", metavar="SOURCE", help="a folder, .parquet file or Hub data set (OWNER/NAME)")
    into.add_argument("name", metavar="NAME", help="the audit's name: cache/NAME")
    into.add_argument("--system", default="", help="the system that made the images, where the source names none")
    into.add_argument("--map", action="append", default=[], metavar="COLUMN=FIELD", help="which column is what")
    into.add_argument("--split", default="train", help="the split of a Hub data set (default: train)")
    into.add_argument("--max-megapixels", type=positive, default=64, help="larger images are left out (default: 64)")
    into.add_argument("--shard-rows", type=positive, default=SHARD_ROWS, help="images a shard (default: %(default)s)")
    build_ = commands.add_parser("build", help="run the stages of an audit that are missing or stale")
    build_.add_argument("name", metavar="NAME")
    table = commands.add_parser("status", help="check every byte of an audit and print its stages")
    table.add_argument("name", metavar="NAME")
    for command in (into, build_):
        command.add_argument("--workers", type=positive, default=os.cpu_count() or 1, help="threads")
    for command in (into, build_, table):
        command.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="where audits lie")
    return top


def run_import(arguments: argparse.Namespace) -> int:
    """`import`: 0 where images were added or all were there already, else 1."""
    audit_folder(arguments.cache, arguments.name)
    names = parse_map(arguments.map)
    source = open_source(arguments.source, arguments.system, names, arguments.split)
    report = Report()
    with AuditWriter(arguments.cache, arguments.name, source.key, arguments.shard_rows) as writer:
        if writer.resumed:
            print(f"Going on after an interrupted import: {writer.resumed:,} images are there already.")
        if writer.discarded:
            print(f"Dropped {writer.discarded:,} images of an interrupted import of another source.")
        with tqdm(total=source.total, unit="image", desc="import", disable=None) as bar:
            ingest(
                source.items,
                writer,
                report,
                arguments.max_megapixels * 1_000_000,
                arguments.workers,
                bar.update,
            )
        writer.finish(source.label, report)
    print_report(report, arguments.name, writer.resumed)
    return 0 if report.added or report.already else 1


def print_report(report: Report, name: str, resumed: int) -> None:
    """The import report on the terminal: counts, then the first rows of what was left out or changed."""
    print(
        f"Read {report.read:,} items: {report.added:,} added to {name}, {report.already:,} there already"
        f"{f' (of which {resumed:,} from the interrupted import)' if resumed else ''}, "
        f"{report.total('left out'):,} left out."
    )
    for item, outcome, reason in report.rows[:20]:
        print(f"  {outcome}: {item}: {reason}")
    if len(report.rows) > 20:
        print(f"  and {len(report.rows) - 20:,} more; the audit's import_report.parquet and its About tab list all.")
    if not report.added and not report.already:
        print("Nothing was imported.", file=sys.stderr)


def run_build(arguments: argparse.Namespace) -> int:
    """`build`: runs stages with a progress bar each."""

    def progress(stage: str, total: int):
        return tqdm(total=total, unit="image", desc=stage, disable=None).update

    ran = build(arguments.cache, arguments.name, arguments.workers, progress)
    print(f"Ran {', '.join(ran)}." if ran else "Every stage is up to date.")
    return 0


def run_status(arguments: argparse.Namespace) -> int:
    """`status`: the table of stages; 1 where a file is damaged."""
    audit = Audit.open(arguments.cache, arguments.name)
    systems = audit.generations["system"].nunique()
    print(f"{audit.name}: {len(audit):,} images, {systems} systems, in {audit.folder}")
    print(f"{'stage':<16}{'state':<10}{'rows':>10}{'size':>12}{'seconds':>10}")
    for row in status(audit):
        seconds = "" if row["seconds"] is None else f"{row['seconds']:,.1f}"
        size = f"{row['bytes'] / 1e6:,.2f} MB"
        print(f"{row['stage']:<16}{row['state']:<10}{row['rows']:>10,}{size:>12}{seconds:>10}")
    wrong = audit.check()
    print("\n".join(wrong) if wrong else "Every file matches the manifest's hash.")
    return 1 if wrong else 0


def main(argv: list[str] | None = None) -> int:
    """Run a command; returns the exit status: 0 well, 1 with a sentence on stderr, 2 usage, 130 interrupted."""
    arguments = parser().parse_args(argv)
    warnings.filterwarnings("ignore", module="PIL")
    run = {"import": run_import, "build": run_build, "status": run_status}[arguments.command]
    try:
        return run(arguments)
    except (SourceError, StoreError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What was finished is kept; run the same command again to go on.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
