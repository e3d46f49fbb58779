"""Describing an audit's images, and taking texts that somebody else made: what fills text/<describer>.parquet."""

from __future__ import annotations

import csv
import io
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from backend.describe import Answer
from backend.describers import Describer, DescriberSpec, Unsaid, make_describer
from backend.describers.spec import NAME, check_language
from backend.pictures import PictureError, read_for_model
from backend.records import SourceError, clean_text
from backend.store import LONGEST_TEXT, Audit, StoreError, TextSource, TextWriter, audit_folder, write_texts, writing

COLUMNS = ("row", "question", "answer", "probability")
LARGEST_FILE = 500_000_000


@dataclass
class Described:
    """What a run did: rows that were described now, pictures without a text by reason, answers outside the allowed."""

    made: int = 0
    unsaid: Counter[str] = field(default_factory=Counter)
    outside: int = 0


def describe(
    cache: Path,
    name: str,
    spec: DescriberSpec,
    progress: Callable[[int], object] = lambda rows: None,
) -> Described | None:
    """Let one describer describe every image of an audit, or go on with it; None where nothing is lacking.

    `progress(n)` is called as n more images are done. Raises StoreError, SpecError and DescribeError.
    """
    folder = audit_folder(cache, name)
    Audit(folder)
    with writing(folder):
        audit, describer = Audit(folder), make_describer(spec)
        try:
            writer = TextWriter(audit, source_of(describer), {**_settings(spec), "weights": describer.check()})
            if writer.state() == "done":
                return None
            wrong = audit.check()
            if wrong:
                raise StoreError(f"{wrong[0]}. Restore the folder from a copy, or delete it and import again.")
            return _describe(audit, describer, writer, progress)
        finally:
            describer.close()


def source_of(describer: Describer) -> TextSource:
    """How a describer is called in an audit."""
    spec, questions = describer.spec, describer.questions
    choices = {question.name: question.choices for question in questions if question.choices}
    return TextSource(spec.name, spec.title, spec.language, {q.name: q.ask for q in questions}, choices)


def _settings(spec: DescriberSpec) -> dict[str, Any]:
    """What changes the texts, as a manifest holds it: never a key, and of a path only its last part."""
    quiet = ("key_env", "timeout", "retries", "backoff", "base_url")
    options = {key: value for key, value in spec.options.items() if key not in quiet}
    options["model"] = str(options["model"]).rstrip("/") if "base_url" in spec.options else _last(options["model"])
    return {"version": 1, "kind": spec.kind, **{key: str(value)[:1000] for key, value in options.items()}}


def _last(model: Any) -> str:
    text = str(model).rstrip("/")
    return text if re.fullmatch(r"[\w.-]+/[\w.-]+", text) else Path(text).name


def _describe(audit: Audit, describer: Describer, writer: TextWriter, progress: Callable[[int], object]) -> Described:
    writer.start()
    earlier, began, done, parts = writer.earlier(), time.perf_counter(), Described(), []
    covered, known = earlier if earlier is not None else (0, pd.DataFrame(columns=list(COLUMNS)))
    for start, end, key in writer.ranges():
        if end <= covered:
            inside = known["row"].between(start, end - 1)
            parts.append(known[inside].assign(row=known.loc[inside, "row"] - start))
        else:
            part = writer.load(key, end - start)
            if part is None:
                part = _range(audit, describer, start, end, done)
                writer.save(key, part)
                done.made += end - start
            parts.append(part)
        parts[-1] = parts[-1].assign(row=parts[-1]["row"] + start)
        progress(end - start)
    everything = pd.concat([part.astype({"question": "str", "answer": "str"}) for part in parts], ignore_index=True)
    packages = {name: version(name) for name in describer.PACKAGES}
    writer.finish(everything, time.perf_counter() - began, packages)
    return done


def _range(audit: Audit, describer: Describer, start: int, end: int, done: Described) -> pd.DataFrame:
    """The texts of some rows, counted from `start`. A picture that cannot be read gets none."""
    rows, pictures = [], []
    for row in range(start, end):
        try:
            pictures.append(read_for_model(audit.image(row)[0]))
            rows.append(row - start)
        except PictureError as error:
            done.unsaid[str(error)] += 1
    found: list[tuple[int, str, str, float | None]] = []
    size = describer.spec.batch
    for first in range(0, len(rows), size):
        said = describer.describe(pictures[first : first + size])
        for row, answers in zip(rows[first : first + size], said, strict=True):
            for question, answer in zip(describer.questions, answers, strict=True):
                if isinstance(answer, Unsaid):
                    done.unsaid[answer.reason] += 1
                    continue
                text = settled(answer.text, question.choices)
                done.outside += bool(question.choices) and text not in question.choices
                found.append((row, question.name, text, _chance(answer)))
    return pd.DataFrame(found, columns=list(COLUMNS))


def settled(text: str, choices: Sequence[str] = ()) -> str:
    """A model's text as it is kept: without control characters, cut after LONGEST_TEXT; a choice as it is spelt.

    >>> settled("Woman.", ("woman", "man")), settled("a robot", ("woman", "man"))
    ('woman', 'a robot')
    """
    plain = clean_text(text)[:LONGEST_TEXT]
    said = plain.strip(" .!\"'").casefold()
    return next((choice for choice in choices if choice.casefold() == said), plain)


def _chance(answer: Answer) -> float | None:
    chance = answer.probability
    return min(max(float(chance), 0.0), 1.0) if math.isfinite(chance) else None


@dataclass
class Taken:
    """What an import of texts did: rows of the file, texts that were taken, and a sentence for each that was not."""

    read: int = 0
    taken: int = 0
    left_out: list[str] = field(default_factory=list)


def import_texts(cache: Path, name: str, path: Path, called: str, language: str = "en") -> Taken:
    """Captions or answers from a CSV file, by content hash: columns sha256 and caption, or sha256, question, answer
    and, where known, probability. `called` names their source; an import of the same name takes its place.

    One hash can stand for several images of an audit (the same bytes under two prompts): each gets the text. Raises
    SourceError and StoreError.
    """
    if not re.fullmatch(NAME, called):
        raise SourceError(f"--name: {called[:60]!r} is no name: use 1 to 40 small letters, digits and dashes")
    check_language(language, "--language")
    rows = _read_csv(path)
    folder = audit_folder(cache, name)
    Audit(folder)
    with writing(folder):
        audit, done = Audit(folder), Taken()
        by_hash: dict[str, list[int]] = {}
        for row, digest in enumerate(audit.generations["sha256"]):
            by_hash.setdefault(str(digest), []).append(row)
        found: dict[tuple[int, str], tuple[str, float | None]] = {}
        for line, values in rows:
            done.read += 1
            problem = _take(values, by_hash, found)
            if problem:
                done.left_out.append(f"line {line}: {problem}")
        if not found:
            first = f" ({done.left_out[0]})" if done.left_out else ""
            raise SourceError(f"{path}: no row belongs to an image of {name}{first}; nothing was changed")
        done.taken = len(found)
        table = pd.DataFrame([(*key, *value) for key, value in found.items()], columns=list(COLUMNS))
        questions = {str(question): "" for question in dict.fromkeys(table["question"])}
        source = TextSource(called, f"{called} (imported from {clean_text(path.name)[:100]})", language, questions, {})
        write_texts(audit, source, table, {"kind": "imported", "version": 1})
    return done


def _read_csv(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise SourceError(f"{path} is larger than {LARGEST_FILE:,} bytes: split it")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror or error}): give the path of a CSV file") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8: save it as CSV in UTF-8") from error
    csv.field_size_limit(10_000_000)
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        names = set(reader.fieldnames or ())
        if "sha256" not in names or not ("caption" in names or {"question", "answer"} <= names):
            raise SourceError(
                f"{path}: columns: the first line must name sha256 and caption, or sha256, question and answer"
            )
        return [
            (reader.line_num, {key: value or "" for key, value in row.items() if isinstance(key, str)})
            for row in reader
        ]
    except csv.Error as error:
        raise SourceError(f"{path}, line {reader.line_num}: {error}. Mend the line") from error


def _take(values: dict[str, str], by_hash: dict[str, list[int]], found: dict) -> str:
    """Put one row of a file where it belongs; returns why it was left out, or ""."""
    rows = by_hash.get(values["sha256"].strip().lower())
    if rows is None:
        return f"sha256: no image of the audit has {values['sha256'][:16]!r}; give the SHA-256 of the original file"
    question = clean_text(values.get("question", "")) if "question" in values else "caption"
    if not re.fullmatch(NAME, question):
        return f"question: {question[:40]!r} is no name of small letters, digits and dashes"
    text = clean_text(values["answer"] if "question" in values else values["caption"])
    if len(text) > LONGEST_TEXT:
        return f"the text has {len(text):,} characters; shorten it to {LONGEST_TEXT:,}"
    chance = None
    if values.get("probability", "").strip():
        try:
            chance = float(values["probability"])
        except ValueError:
            chance = math.nan
        if not 0 <= chance <= 1:
            return f"probability: {values['probability'][:20]!r} is no number from 0 to 1"
    if any((row, question) in found for row in rows):
        return f"{question}: this image has one already in this file; keep one"
    found.update({(row, question): (text, chance) for row in rows})
    return ""
