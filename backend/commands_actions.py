"""The command that lets a model propose neutral actions: its grammar, running it, and what it says at its end."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from backend.acting import Acted, Wish, act, check_places
from backend.commands_probe import MODELS, chosen_model, whole_number
from backend.probes.ask import ProbeError, make_model
from backend.probes.proposing import read_professions
from backend.probes.writing import check_writes
from backend.records import clean_text, count
from backend.spec import ROOT


def few(text: str) -> int:
    """An argument that must be a whole number from 1 to 20."""
    if not text.isdecimal() or not 1 <= int(text) <= 20:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to 20")
    return int(text)


def likeness(text: str) -> float:
    """An argument that must be a number from -1 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = 2.0
    if not -1 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from -1 to 1")
    return value


def seed(text: str) -> int:
    """An argument that must be a whole number from 0 to 2**31 - 1."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) >= 2**31:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to {2**31 - 1:,}")
    return int(text)


def add_actions_command(commands: Any) -> None:
    """Add `actions` to the command line."""
    text = "let a language model propose neutral actions of professions, for review by hand"
    make = commands.add_parser("actions", help=text)
    make.add_argument("professions", metavar="PROFESSIONS.csv", type=Path, help="a file with the column profession")
    make.add_argument("--model", default="smollm2", metavar="NAME", help="who proposes: of --models (default: smollm2)")
    text = "who guesses the profession back (default: --model)"
    make.add_argument("--guesser", default="", metavar="NAME", help=text)
    text = f"models of kind lm or openai-chat (default: {MODELS.relative_to(ROOT)})"
    make.add_argument("--models", type=Path, default=MODELS, metavar="FILE.toml", help=text)
    text = "how many proposals of each profession are guessed about (default: 5)"
    make.add_argument("--proposals", type=few, default=5, metavar="N", help=text)
    text = "how many of them are kept at most: those with the best guess (default: 2)"
    make.add_argument("--keep", type=few, default=2, metavar="N", help=text)
    text = "keep none whose guess is less alike than this, from -1 to 1 (default: keep whatever is best)"
    make.add_argument("--at-least", type=likeness, default=-1.0, metavar="X", help=text)
    text = "what is kept (default: PROFESSIONS-actions.csv here); all else goes to a file -review.csv beside it"
    make.add_argument("--out", type=Path, metavar="FILE.csv", help=text)
    text = "only the first so many professions"
    make.add_argument("--limit", type=whole_number, default=0, metavar="N", help=text)
    make.add_argument("--seed", type=seed, default=0, metavar="N", help="of what a model writes (default: 0)")


def run_actions(arguments: argparse.Namespace) -> int:
    """`actions`: 0 where at least one action is kept, else 1."""
    names = read_professions(arguments.professions)
    out = arguments.out or Path(f"{arguments.professions.stem}-actions.csv")
    some = tuple(names[: arguments.limit] if arguments.limit else names)
    chosen = (arguments.proposals, arguments.keep, arguments.at_least, arguments.seed)
    wish = Wish(some, out, *chosen)
    check_places(wish)
    model = make_model(chosen_model(arguments.models, arguments.model))
    other = arguments.guesser not in ("", arguments.model)
    guesser = make_model(chosen_model(arguments.models, arguments.guesser)) if other else model
    for held in (model, guesser):
        check_writes(held)
    try:
        done = act(wish, model, guesser, _bar)
    except ProbeError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print_acted(wish, done)
    return 0 if any(one.kept for one in done.proposals) else 1


def _bar(total: int, before: int) -> Callable[[], object]:
    """Progress with pace and remaining time; where no terminal shows it, once a minute."""
    pause = 0.1 if sys.stderr.isatty() else 60
    bar = tqdm(total=total, initial=before, unit="profession", desc="actions", mininterval=pause, miniters=1)
    return bar.update


def print_acted(wish: Wish, done: Acted) -> None:
    """What a run made: counts, why proposals were not kept, professions without an action, and what to do next."""
    kept = Counter(one.profession for one in done.proposals if one.kept)
    said = sum(bool(one.text) for one in done.proposals)
    before = f" ({done.before:,} of them in an earlier run)" if done.before else ""
    print(f"{count(len(wish.professions), 'profession')}{before}: {count(said, 'proposal')}, {kept.total():,} kept.")
    for reason, number in Counter(_short(one.reason) for one in done.proposals if one.reason).most_common(8):
        print(f"  not kept: {number:,} x {clean_text(reason)[:200]}")
    print(f"Guesses were compared by {done.measure}.")
    for note in done.notes:
        print(clean_text(note)[:500])
    none = [name for name in wish.professions if not kept[name]]
    if none:
        names = ", ".join(none[:8]) + (", ..." if len(none) > 8 else "")
        print(f"Without any action: {count(len(none), 'profession')} ({names}).")
    print(f"Kept: {wish.out}. All, with guesses and reasons: {wish.review}.")
    if not kept:
        print("Nothing was kept.", file=sys.stderr)
        return
    print("Read every kept action before it is used: no model sees all that gives a gender, race or age away.")
    print(f"Then: python -m backend probe AUDIT --model NAME --professions {wish.out}")


def _short(reason: str) -> str:
    """A reason without the words it is about, so that alike ones are counted together.

    >>> _short("holds baking (the profession), her (gender)"), _short("has 31 words and 200 characters; at most 20")
    ('holds words that tell the profession, gender', 'is too long')
    """
    told = [kind for kind in ("the profession", "gender", "race", "age") if f"({kind})" in reason]
    if reason.startswith("holds ") and told:
        return f"holds words that tell {', '.join(told)}"
    if reason.startswith("has "):
        return "is too long"
    return "is kept for another profession" if reason.startswith("is kept for ") else reason
