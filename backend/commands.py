"""The commands that give an audit vectors: their grammar, and running them."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from tqdm import tqdm

from backend.embed import KINDS, BlipVqa
from backend.neighbours.words import MOST_WORDS
from backend.store import Audit, StoreError, audit_folder, writing
from backend.store.checks import NAME
from backend.vector_stages import Embedding, VectorError, embed_audit, import_embedding, starter_place

MOST_REGIONS = 1000


def regions_number(text: str) -> int:
    """An argument that must be a number of regions."""
    if not text.isdecimal() or not 2 <= int(text) <= MOST_REGIONS:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 2 to {MOST_REGIONS:,}")
    return int(text)


def words_number(text: str) -> int:
    """An argument that must be a number of visual words."""
    if not text.isdecimal() or not 2 <= int(text) <= MOST_WORDS:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 2 to {MOST_WORDS:,}")
    return int(text)


def embedding_name(text: str) -> str:
    """An argument that must be an embedding's name."""
    if not re.fullmatch(NAME, text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name: use 1 to 40 small letters, digits and dashes")
    return text


def add_vector_commands(commands: Any) -> list[argparse.ArgumentParser]:
    """Add `embed` and `import-embedding` to the command line."""
    make = commands.add_parser("embed", help="embed an audit's images, or go on with it")
    make.add_argument("audit", metavar="NAME", help="the audit's name: cache/NAME")
    text = f"{', '.join(KINDS)} (default: {BlipVqa.KIND})"
    make.add_argument("--model", choices=list(KINDS), default=BlipVqa.KIND, metavar="KIND", help=text)
    text = "a folder with the model, or a Hub id (default: the starter's own for its audits, else "
    text += f"{' or '.join(kind.HUB for kind in KINDS.values() if kind.HUB)})"
    make.add_argument("--from", default="", dest="place", metavar="PLACE", help=text)
    text = "what a VQA model is asked (default: what word best describes the person's appearance)"
    make.add_argument("--question", default="", metavar="TEXT", help=text)
    text = "what the embedding is called (default: the model's kind)"
    make.add_argument("--name", type=embedding_name, metavar="NAME", help=text)
    take = commands.add_parser("import-embedding", help="take vectors from a .npy file, one row an image")
    take.add_argument("audit", metavar="AUDIT", help="the audit's name: cache/AUDIT")
    take.add_argument("name", type=embedding_name, metavar="NAME", help="what the embedding is called")
    take.add_argument("file", type=Path, metavar="FILE.npy", help="rows in the order of generations.parquet")
    text = "the model that made them, so that audits with the same can share regions"
    take.add_argument("--made-by", default="", metavar="MODEL", help=text)
    return [make, take]


def whole_audit(folder: Path) -> Audit:
    """An audit, opened and checked to its last byte. Raises StoreError."""
    audit = Audit(folder)
    wrong = audit.check()
    if wrong:
        raise StoreError(f"{wrong[0]}. Restore the folder from a copy, or delete it and import again.")
    return audit


def run_embed(arguments: argparse.Namespace) -> int:
    """`embed`: every image's vector."""
    folder = audit_folder(arguments.cache, arguments.audit)
    audit, name = Audit(folder), arguments.name or arguments.model
    place = arguments.place or (starter_place(audit) if arguments.model == BlipVqa.KIND else "")
    model = Embedding(name, arguments.model, place, arguments.question).load()
    with writing(folder):
        audit = whole_audit(folder)
        with tqdm(total=len(audit), unit="image", desc="embed", disable=None) as bar:
            embed_audit(audit, name, model, arguments.workers, bar.update)
    print_done(audit, name, arguments.audit)
    return 0


def run_import_embedding(arguments: argparse.Namespace) -> int:
    """`import-embedding`: vectors from a file."""
    if len(arguments.made_by) > 200:
        raise VectorError("--made-by is longer than 200 characters: name the model only")
    folder = audit_folder(arguments.cache, arguments.audit)
    Audit(folder)
    with writing(folder):
        audit = whole_audit(folder)
        import_embedding(audit, arguments.name, arguments.file, arguments.made_by)
    print_done(audit, arguments.name, arguments.audit)
    return 0


def print_done(audit: Audit, name: str, called: str) -> None:
    width = audit.manifest["stages"][f"embed-{name}"]["parameters"]["width"]
    print(f"{called} has the embedding {name}: {len(audit):,} vectors of {width:,} numbers.")
    print(f"`python -m backend build {called}` finds the regions in it.")
