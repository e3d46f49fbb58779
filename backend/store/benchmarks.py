"""What models answered in benchmarks, read: benchmarks/<model>.parquet, a row an answer, checked before it is used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from backend.metrics.neutrality import UNPARSED
from backend.store.answers import PictureAnswers, chances_problem
from backend.store.checks import stage_files
from backend.store.files import StoreError
from backend.store.frames import read_frame
from backend.store.probes import OUTCOMES

CONDITIONS = ("image", "text", "random")
"""With the image; the text alone (with a grey picture, for models that need one); drawn evenly from the options."""
VARIANTS = ("", "adversarial")
"""The question as it is, and with a wrong description of the person added (Mapping Bias, section 3.5)."""
GROUPS = ("group_1", "group_2", "group_3")
"""The columns of a task's groups, in their order; "" where the task has fewer, or an item's group is not known."""
FAMILIES = ("portrait", "scene", "pronoun", "own")
LONGEST = {"item": 300, "label": 100, **dict.fromkeys(GROUPS, 100), "answer": 100, "text": 2_000, "key": 64}
"""Characters that a text of these columns can have."""
LONGEST_NAME, LONGEST_NOTE, LONGEST_TASK = 200, 2_000, 500_000
MOST_TASKS, MOST_CLASSES, MOST_VALUES, MOST_ANSWERS = 50, 50, 200, 5_000_000
MOST_CELLS = 60_000
"""Groups x labels x answers with and without the image: what intervals are drawn from, a thousand times."""
SCHEMA = pa.schema(
    [
        *(("task", pa.string()), ("item", pa.string()), ("row", pa.int32())),
        *((name, pa.string()) for name in ("condition", "variant", "label", *GROUPS, "answer", "outcome", "text")),
        *(("probabilities", pa.list_(pa.float32())), ("key", pa.string())),
    ]
)
KEYS = ("task", "item", "condition", "variant")
"""What tells one answer from another. They are sorted by task, then as conditions and variants stand here, then by
item."""
_TEXTS = {**dict.fromkeys(("kind", "title", "model", "fingerprint", "settings"), LONGEST_NAME), "note": LONGEST_NOTE}
_TASK = ("title", "family", "source", "template", "note", "positive", "example")
_LONG = {"note": LONGEST_NOTE, "example": LONGEST_NOTE}
_TASK_LISTS = ("classes", "groups", "values", "offered")
_TASK_COUNTS = ("items", "found", "limit")


@dataclass(frozen=True)
class BenchmarkTask:
    """One task that a model did.

    `classes` are what could be answered, in the order of `probabilities`; `positive` is the one that fairness judges
    ("" for all). `groups` names the attributes of the columns GROUPS, `values` holds the values of each. `source` is
    the name of the folder of the images ("" for the audit's own), `template` a hash of all that is said and of which
    items count. `found` counts the items of the source that can be asked about, `items` those asked about, of at most
    `limit` (0: all); `left_out` says how many could not be, by reason. `chance` is the accuracy to expect of an even
    draw from the options. `example` is the question about one of the items, as it was put, and `offered` its options
    ("" and () where an older run kept none).
    """

    title: str
    family: str
    classes: tuple[str, ...]
    groups: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    positive: str = ""
    source: str = ""
    template: str = ""
    items: int = 0
    found: int = 0
    limit: int = 0
    chance: float = 0.5
    left_out: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    example: str = ""
    offered: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchmarkSource:
    """A model that did benchmarks: `name` names its table, `title` is for people, `model` is what its file calls it.

    `fingerprint` tells its weights apart ("" where nobody says), `settings` (a hash) how they were used. `tasks` holds
    what it was asked, by name.
    """

    name: str
    kind: str
    title: str
    model: str
    tasks: Mapping[str, BenchmarkTask]
    fingerprint: str = ""
    settings: str = ""
    note: str = ""

    def parameters(self) -> dict[str, Any]:
        """What a manifest holds of it: every task as JSON."""
        held: dict[str, Any] = {key: getattr(self, key) for key in _TEXTS}
        tasks = [json.dumps({"name": name, **_plain(task)}, ensure_ascii=True) for name, task in self.tasks.items()]
        return {**held, "tasks": tasks}


def too_much(tasks: Mapping[str, BenchmarkTask]) -> str:
    """Why a manifest cannot hold all these tasks of one model, and what to do; "" where it can."""
    if len(tasks) > MOST_TASKS:
        return f"one model can have {MOST_TASKS} tasks in an audit; give it another name in its file for more"
    for name, task in tasks.items():
        if len(json.dumps({"name": name, **_plain(task)}, ensure_ascii=True)) > LONGEST_TASK:
            return f"the names of classes and groups of task {name!r} are too long: take another --group"
    return ""


def _plain(task: BenchmarkTask) -> dict[str, Any]:
    held = {key: getattr(task, key) for key in (*_TASK, *_TASK_COUNTS, "chance")}
    held |= {"classes": list(task.classes), "groups": list(task.groups), "values": [list(v) for v in task.values]}
    held |= {"offered": list(task.offered)}
    return held | {"left_out": dict(task.left_out)}


def read_source(name: str, held: Mapping[str, Any]) -> BenchmarkSource:
    """A source from what a manifest holds of it. Raises StoreError where a part is missing, too long or unknown."""
    wrong = StoreError(f"the manifest does not say what the model {name!r} was asked. Run its benchmarks again.")
    if not all(isinstance(held.get(key), str) and len(held[key]) <= most for key, most in _TEXTS.items()):
        raise wrong
    texts = held.get("tasks")
    if not isinstance(texts, list) or not 0 < len(texts) <= MOST_TASKS:
        raise wrong
    tasks: dict[str, BenchmarkTask] = {}
    for text in texts:
        found = _task(text)
        if found is None or found[0] in tasks:
            raise wrong
        tasks[found[0]] = found[1]
    return BenchmarkSource(name, tasks=tasks, **{key: held[key] for key in _TEXTS})


def _task(text: Any) -> tuple[str, BenchmarkTask] | None:
    """A task with its name from the JSON of a manifest; None where it is none."""
    if not isinstance(text, str) or len(text) > LONGEST_TASK:
        return None
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return None
    held = {"example": "", "offered": [], **held} if isinstance(held, dict) else {}
    if set(held) != {"name", *_TASK, *_TASK_LISTS, *_TASK_COUNTS, "chance", "left_out"}:
        return None
    right = _short(held["name"]) and all(isinstance(held[key], str) for key in _TASK)
    right = right and all(len(held[key]) <= _LONG.get(key, LONGEST_NAME) for key in _TASK)
    right = right and held["family"] in FAMILIES
    right = right and all(type(held[key]) is int and 0 <= held[key] <= 2**31 for key in _TASK_COUNTS)
    right = right and type(held["chance"]) in (int, float) and 0 <= held["chance"] <= 1
    right = right and _words(held["classes"], MOST_CLASSES) and len(held["classes"]) > 1
    right = right and (held["family"] != "pronoun" or (len(held["classes"]) == 2 and len(held["groups"]) > 0))
    right = right and UNPARSED not in held["classes"] and held["positive"] in ("", *held["classes"])
    right = right and _words(held["groups"], len(GROUPS)) and isinstance(held["values"], list)
    right = right and len(held["values"]) == len(held["groups"])
    right = right and all(_words(values, MOST_VALUES) for values in held["values"])
    right = right and all(cells(len(values), len(held["classes"])) <= MOST_CELLS for values in held["values"])
    right = right and _writable(held)
    right = right and _texts(held["offered"])
    left = held["left_out"]
    right = right and isinstance(left, dict) and len(left) <= 100
    right = right and all(len(key) <= 300 and type(n) is int and 0 <= n <= 2**31 for key, n in left.items())
    if not right:
        return None
    lists = {key: tuple(held.pop(key)) for key in ("classes", "groups", "offered")}
    values = tuple(tuple(row) for row in held.pop("values"))
    return held.pop("name"), BenchmarkTask(**lists, values=values, **held)


def cells(values: int, classes: int) -> int:
    """How many cells the table has that a fairness figure is drawn from: groups x labels x two answers.

    >>> cells(6, 5)
    1080
    """
    return values * classes * (classes + 1) ** 2


def _writable(held: Any) -> bool:
    """Whether all its texts can be written: JSON can hold halves of characters, which nothing else can."""
    try:
        json.dumps(held, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(text: Any) -> bool:
    return isinstance(text, str) and 0 < len(text) <= 100


def _texts(value: Any) -> bool:
    """A list of options as they are shown."""
    texts = isinstance(value, list) and len(value) <= MOST_CLASSES
    return texts and all(isinstance(text, str) and len(text) <= LONGEST_NOTE for text in value)


def _words(value: Any, most: int) -> bool:
    """A list of so many short texts, no two alike."""
    return isinstance(value, list) and len(value) <= most and all(map(_short, value)) and len({*value}) == len(value)


def benchmark_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns of a table of answers."""
    return "" if schema.remove_metadata().equals(SCHEMA) else f"its columns are not {', '.join(SCHEMA.names)}"


def benchmark_values(table: pa.Table, rows: int, source: BenchmarkSource) -> str:
    """What is wrong with the values of a table of answers in an audit with so many rows."""
    if any(column.null_count for column in table.columns):
        return "it has gaps"
    if len(table) == 0:
        return ""
    table = table.cast(SCHEMA)  # texts that were read as dictionaries
    wrong = _word_problem(table, source) or _chances(table, source)
    ends = pc.min_max(table.column("row")).as_py()
    if not wrong and (ends["min"] < -1 or ends["max"] >= rows):
        wrong = "it names a row that the audit does not have"
    if not wrong and len(table.group_by(list(KEYS)).aggregate([])) < len(table):
        wrong = "it answers one question twice"
    if not wrong:  # an item has one truth, whatever the condition
        kept = ["task", "item", "row", "label", *GROUPS]
        items = len(table.group_by(["task", "item"]).aggregate([]))
        wrong = "" if len(table.group_by(kept).aggregate([])) == items else "an item has two labels, rows or groups"
    return wrong


def _word_problem(table: pa.Table, source: BenchmarkSource) -> str:
    known = {"task": source.tasks, "condition": CONDITIONS, "variant": VARIANTS, "outcome": OUTCOMES}
    for name, words in known.items():
        if not set(pc.unique(table.column(name)).to_pylist()) <= set(words):
            return f"its column {name!r} holds what the manifest does not name"
    for name, most in LONGEST.items():
        if pc.max(pc.utf8_length(table.column(name))).as_py() > most:
            return f"a text of its column {name!r} has more than {most:,} characters"
    if pc.min(pc.utf8_length(table.column("item"))).as_py() == 0:
        return "an item has no name"
    for row in table.group_by(["task", "label", "answer", "outcome"]).aggregate([]).to_pylist():
        classes = source.tasks[row["task"]].classes
        if row["label"] not in classes:
            return "a label is none of the task's classes"
        if row["answer"] not in (classes if row["outcome"] == "answered" else (UNPARSED,)):
            return "an answer is none that could be chosen"
    for place, name in enumerate(GROUPS):
        for row in table.group_by(["task", name]).aggregate([]).to_pylist():
            values = source.tasks[row["task"]].values
            if row[name] and (place >= len(values) or row[name] not in values[place]):
                return f"its column {name!r} holds what the manifest does not name"
    return ""


def _chances(table: pa.Table, source: BenchmarkSource) -> str:
    """What is wrong with the probabilities: one a class, adding up to 1, or none."""
    classes = {name: len(task.classes) for name, task in source.tasks.items()}
    return chances_problem(table, table.column("task").to_pandas().map(classes).to_numpy(), "class")


def read_answers(folder: Path, stage: str, rows: int, source: BenchmarkSource) -> pd.DataFrame:
    """The table of a benchmark's stage: the columns of SCHEMA, texts as categories, probabilities as arrays."""
    path = folder / stage_files(stage)[0]
    return read_frame(path, benchmark_columns, lambda found: benchmark_values(found, rows, source), most=MOST_ANSWERS)


class Benchmarks(PictureAnswers[BenchmarkSource]):
    """What models answered in benchmarks: tables with the columns of SCHEMA, a row an answer."""

    KIND = "bench"

    def _source(self, name: str, parameters: Mapping[str, Any]) -> BenchmarkSource:
        return read_source(name, parameters)

    def _table(self, name: str) -> pd.DataFrame:
        return self._still(name, read_answers(self._folder, f"bench-{name}", self._rows, self.sources[name]))
