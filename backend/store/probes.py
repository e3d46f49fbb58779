"""What models answered to neutral inputs, read: probes/<model>.parquet, a row an answer, checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from backend.metrics.neutrality import NEUTRAL, UNPARSED
from backend.store.answers import PictureAnswers, chances_problem
from backend.store.checks import stage_files
from backend.store.files import StoreError
from backend.store.frames import read_frame

DIRECTIONS = ("text-to-text", "image-to-text", "text-to-image", "image-to-image")
STYLES = ("informed-direct", "blind-direct", "informed-indirect", "blind-indirect")
OUTCOMES = ("answered", "unparsed", "refused", "failed")
"""What became of a prompt, as backend/probes/base.py has it."""
LONGEST = {"culture": 100, "profession": 200, "action": 400, "input": 1_000, "text": 2_000}
"""Characters that a text of these columns can have."""
LONGEST_NAME, LONGEST_NOTE = 200, 2_000
MOST_ATTRIBUTES, MOST_CLASSES, MOST_ANSWERS, MOST_SETS = 20, 50, 10_000_000, 2_000
MOST_TURNS = 100
"""Paraphrases, and rotations, of one prompt."""
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("direction", "style", "attribute", "culture", "profession", "action")),
        *(("input", pa.string()), ("row", pa.int32()), ("paraphrase", pa.int8()), ("rotation", pa.int8())),
        *((name, pa.string()) for name in ("answer", "outcome", "text")),
        ("probabilities", pa.list_(pa.float32())),
    ]
)
KEYS = ("direction", "style", "attribute", "culture", "profession", "action", "row", "paraphrase", "rotation")
"""What tells one answer from another, in the order in which they are sorted."""
_TEXTS = {**dict.fromkeys(("kind", "title", "model", "fingerprint", "settings"), LONGEST_NAME), "note": LONGEST_NOTE}
_LISTS = {"attributes": MOST_ATTRIBUTES, "classes": MOST_ATTRIBUTES, "cultures": 100, "directions": 4, "styles": 4}


@dataclass(frozen=True)
class ProbeSource:
    """A model that was asked: `name` names its table, `title` is for people, `model` is what its file calls it.

    `classes` maps every attribute to the classes that could be chosen beside "no preference", in the order of
    `probabilities`. `fingerprint` tells its weights apart ("" where nobody says), `settings` (a hash) how they were
    used. `wordings` maps direction/style/attribute/culture to a hash of the words that were asked in. `limit` is the
    most inputs that the last run was allowed (0: all).
    """

    name: str
    kind: str
    title: str
    model: str
    classes: Mapping[str, tuple[str, ...]]
    fingerprint: str = ""
    cultures: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    wordings: Mapping[str, str] | None = None
    limit: int = 0
    note: str = ""
    settings: str = ""

    def parameters(self) -> dict[str, Any]:
        """What a manifest holds of it."""
        held = {
            key: getattr(self, key) for key in ("kind", "title", "model", "fingerprint", "settings", "limit", "note")
        }
        held |= {key: list(getattr(self, key)) for key in ("cultures", "directions", "styles")}
        return held | {
            "attributes": list(self.classes),
            "classes": ["\n".join(classes) for classes in self.classes.values()],
            "wordings": [f"{name}={digest}" for name, digest in (self.wordings or {}).items()],
        }

    def columns(self, attribute: str) -> tuple[str, ...]:
        """What the probabilities of an attribute's answers belong to, in their order."""
        return (*self.classes[attribute], NEUTRAL)


def read_source(name: str, held: Mapping[str, Any]) -> ProbeSource:
    """A source from what a manifest holds of it. Raises StoreError where a part is missing, too long or unknown."""
    wrong = StoreError(f"the manifest does not say what the model {name!r} was asked. Run its probe again.")
    if not all(isinstance(held.get(key), str) and len(held[key]) <= most for key, most in _TEXTS.items()):
        raise wrong
    lists = {key: held.get(key) for key in (*_LISTS, "wordings")}
    if not all(_words(lists[key], most) for key, most in (*_LISTS.items(), ("wordings", MOST_SETS))):
        raise wrong
    each = [tuple(text.split("\n")) for text in lists["classes"]]
    right = len(each) == len(lists["attributes"]) > 0 and all(_classes(classes) for classes in each)
    right = right and all(lists["attributes"]) and all(len(text) <= LONGEST["culture"] for text in lists["cultures"])
    right = right and set(lists["directions"]) <= set(DIRECTIONS) and set(lists["styles"]) <= set(STYLES)
    right = right and type(held.get("limit")) is int and 0 <= held["limit"] <= 2**31
    if not right:
        raise wrong
    wordings = dict(text.rpartition("=")[::2] for text in lists["wordings"])
    more = {key: tuple(lists[key]) for key in ("cultures", "directions", "styles")}
    plain = {key: held[key] for key in (*_TEXTS, "limit")}
    return ProbeSource(
        name, classes=dict(zip(lists["attributes"], each, strict=True)), wordings=wordings, **more, **plain
    )


def _words(value: Any, most: int) -> bool:
    """A list of so many texts, of which only classes can be alike."""
    if not isinstance(value, list) or len(value) > most:
        return False
    return all(isinstance(text, str) and len(text) <= MOST_CLASSES * (LONGEST_NAME + 1) for text in value)


def _classes(classes: Sequence[str]) -> bool:
    every = {*classes, NEUTRAL, UNPARSED}
    return 2 <= len(classes) <= MOST_CLASSES and len(every) == len(classes) + 2 and all(map(_short, classes))


def _short(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME


def probe_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns of a table of answers."""
    return "" if schema.remove_metadata().equals(SCHEMA) else f"its columns are not {', '.join(SCHEMA.names)}"


def probe_values(table: pa.Table, rows: int, source: ProbeSource) -> str:
    """What is wrong with the values of a table of answers in an audit with so many rows."""
    if any(column.null_count for column in table.columns):
        return "it has gaps"
    if len(table) == 0:
        return ""
    table = table.cast(SCHEMA)  # texts that were read as dictionaries
    wrong = _word_problem(table, source) or _number_problem(table, rows) or _chances(table, source)
    if not wrong and len(table.group_by(list(KEYS)).aggregate([])) < len(table):
        wrong = "it answers one prompt twice"
    return wrong


def _word_problem(table: pa.Table, source: ProbeSource) -> str:
    known = {
        "direction": source.directions,
        "style": source.styles,
        "attribute": source.classes,
        "culture": ("", *source.cultures),
        "outcome": OUTCOMES,
    }
    for name, words in known.items():
        if not set(pc.unique(table.column(name)).to_pylist()) <= set(words):
            return f"its column {name!r} holds what the manifest does not name"
    for name, most in LONGEST.items():
        if pc.max(pc.utf8_length(table.column(name))).as_py() > most:
            return f"a text of its column {name!r} has more than {most:,} characters"
    chosen = table.group_by(["attribute", "answer", "outcome"]).aggregate([]).to_pylist()
    for row in chosen:
        options = source.columns(row["attribute"]) if row["outcome"] == "answered" else (UNPARSED,)
        if row["answer"] not in options:
            return "an answer is none that could be chosen"
    return ""


def _number_problem(table: pa.Table, rows: int) -> str:
    ends = pc.min_max(table.column("row")).as_py()
    if ends["min"] < -1 or ends["max"] >= rows:
        return "it names a row that the audit does not have"
    shown = pc.greater_equal(table.column("row"), 0)
    text = pc.equal(table.column("direction"), "text-to-text")
    if pc.any(pc.and_(shown, text)).as_py():
        return "an answer to a text alone names a picture"
    seen = pc.starts_with(table.column("direction"), "image-to-")
    if pc.any(pc.and_(pc.invert(shown), seen)).as_py():
        return "an answer about a picture does not name it"
    for name in ("paraphrase", "rotation"):
        ends = pc.min_max(table.column(name)).as_py()
        if ends["min"] < 0 or ends["max"] >= MOST_TURNS:
            return f"its column {name!r} is not from 0 to {MOST_TURNS - 1}"
    return ""


def _chances(table: pa.Table, source: ProbeSource) -> str:
    """What is wrong with the probabilities."""
    options = {name: len(source.columns(name)) for name in source.classes}
    return chances_problem(table, table.column("attribute").to_pandas().map(options).to_numpy(), "option")


def read_answers(folder: Path, stage: str, rows: int, source: ProbeSource) -> pd.DataFrame:
    """The table of a probe's stage: the columns of SCHEMA, texts as categories, probabilities as arrays."""
    path = folder / stage_files(stage)[0]
    return read_frame(path, probe_columns, lambda found: probe_values(found, rows, source), most=MOST_ANSWERS)


class Probes(PictureAnswers[ProbeSource]):
    """What models answered in an opened audit: tables with the columns of SCHEMA, sorted by KEYS."""

    KIND = "probe"

    def _source(self, name: str, parameters: Mapping[str, Any]) -> ProbeSource:
        return read_source(name, parameters)

    def _table(self, name: str) -> pd.DataFrame:
        return self._still(name, read_answers(self._folder, f"probe-{name}", self._rows, self.sources[name]))
