"""The commands that give an audit captions and answers: their grammar, and running them."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from backend.describe import DescribeError
from backend.describers import load_describers
from backend.records import clean_text, count
from backend.spec import ROOT
from backend.store import Audit
from backend.texts import Described, describe, import_texts

STARTER = ROOT / "assets" / "describers" / "starter.toml"


def add_text_commands(commands: Any) -> list[argparse.ArgumentParser]:
    """Add `describe` and `import-texts` to the command line."""
    make = commands.add_parser("describe", help="let models caption an audit's images and answer questions about them")
    make.add_argument("name", metavar="NAME", help="the audit's name: cache/NAME")
    text = "a file as in assets/describers (default: the starter's models, which know its drawings only)"
    make.add_argument("file", metavar="DESCRIBER.toml", type=Path, nargs="?", default=STARTER, help=text)
    text = "only this describer of the file; can be given several times"
    make.add_argument("--only", action="append", default=[], metavar="NAME", help=text)
    take = commands.add_parser("import-texts", help="take captions or answers from a CSV file, by content hash")
    take.add_argument("name", metavar="NAME", help="the audit's name: cache/NAME")
    text = "columns sha256 and caption, or sha256, question, answer and probability"
    take.add_argument("file", metavar="FILE.csv", type=Path, help=text)
    text = "what they are called in the audit (default: after the file)"
    take.add_argument("--name", dest="called", default="", metavar="NAME", help=text)
    take.add_argument("--language", default="en", help="the language of the texts, as in assets/lexicon.csv")
    return [make, take]


def run_describe(arguments: argparse.Namespace) -> int:
    """`describe`: 0 where every describer went to its end."""
    specs = load_describers(arguments.file)
    unknown = [name for name in arguments.only if name not in [spec.name for spec in specs]]
    if unknown:
        names = ", ".join(spec.name for spec in specs)
        print(f"Error: --only: {unknown[0]!r} is none of {names}", file=sys.stderr)
        return 1
    total, failed = len(Audit.open(arguments.cache, arguments.name)), 0
    for spec in specs:
        if arguments.only and spec.name not in arguments.only:
            continue
        try:
            with tqdm(total=total, unit="image", desc=spec.name, disable=None) as bar:
                done = describe(arguments.cache, arguments.name, spec, bar.update)
        except DescribeError as error:
            print(f"Error: {error}", file=sys.stderr)
            failed += 1
            continue
        print_described(spec.name, done)
    return 1 if failed else 0


def print_described(name: str, done: Described | None) -> None:
    """What one describer did."""
    if done is None:
        print(f"{name}: every image is described already.")
        return
    print(f"{name}: {count(done.made, 'image')} described now.")
    if done.outside:
        print(f"  {count(done.outside, 'answer')} outside the allowed ones: kept, shown, and counted as such.")
    for reason, number in done.unsaid.most_common(5):
        print(f"  without a text: {number:,} x {clean_text(reason)[:300]}")


def run_import_texts(arguments: argparse.Namespace) -> int:
    """`import-texts`: 0 where a text was taken."""
    called = arguments.called or re.sub(r"[^a-z0-9]+", "-", arguments.file.stem.lower()).strip("-")[:40] or "imported"
    done = import_texts(arguments.cache, arguments.name, arguments.file, called, arguments.language)
    print(f"Read {count(done.read, 'row')}: {arguments.name} has {count(done.taken, 'text')} of {called} now.")
    for sentence in done.left_out[:20]:
        print(f"  left out: {clean_text(sentence)}")
    if len(done.left_out) > 20:
        print(f"  and {len(done.left_out) - 20:,} more.")
    return 0
