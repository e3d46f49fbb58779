"""Captions and answers of an audit, read: text/<describer>.parquet, a row an answer, checked before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from backend.store.answers import Answers
from backend.store.checks import stage_files
from backend.store.files import StoreError
from backend.store.frames import read_frame

LONGEST_TEXT = 10_000
MOST_QUESTIONS = 20
SCHEMA = pa.schema(
    [("row", pa.int32()), ("question", pa.string()), ("answer", pa.string()), ("probability", pa.float64())]
)


@dataclass(frozen=True)
class TextSource:
    """Who described an audit's images: `name` names its table, `title` is for people, `language` picks the lexicon.

    `questions` maps each question's short name to what was asked ("" for a caption), `choices` those questions to
    the answers that were allowed (an empty tuple: any).
    """

    name: str
    title: str
    language: str
    questions: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]

    def parameters(self) -> dict[str, Any]:
        """What a manifest holds of it."""
        return {
            "title": self.title,
            "language": self.language,
            "questions": list(self.questions),
            "asked": list(self.questions.values()),
            "choices": ["\n".join(self.choices.get(name, ())) for name in self.questions],
        }


def read_source(name: str, parameters: Mapping[str, Any]) -> TextSource:
    """A source from what a manifest holds of it. Raises StoreError where a part is missing or too long."""
    lists = [parameters.get(key) for key in ("questions", "asked", "choices")]
    words = [parameters.get(key) for key in ("title", "language")]
    right = all(isinstance(part, list) and 0 < len(part) <= MOST_QUESTIONS for part in lists)
    right = right and len({len(part) for part in lists}) == 1 and len(set(lists[0])) == len(lists[0])
    right = right and all(
        isinstance(text, str) and len(text) <= LONGEST_TEXT for part in [*lists, words] for text in part
    )
    if not right:
        raise StoreError(f"the manifest does not say what the texts of {name!r} answer. Describe the audit again.")
    names, asked, choices = lists
    allowed = {question: tuple(text.split("\n")) for question, text in zip(names, choices, strict=True) if text}
    return TextSource(name, *words, dict(zip(names, asked, strict=True)), allowed)


def text_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns of a table of texts."""
    return "" if schema.remove_metadata().equals(SCHEMA) else "its columns are not row, question, answer, probability"


def text_values(table: pa.Table, rows: int, questions: Mapping[str, str]) -> str:
    """What is wrong with the values of a table of texts of an audit with so many rows."""
    if any(table.column(name).null_count for name in ("row", "question", "answer")):
        return "it has gaps"
    if len(table) == 0:
        return ""
    ends = pc.min_max(table.column("row")).as_py()
    if ends["min"] < 0 or ends["max"] >= rows:
        return "it names a row that the audit does not have"
    if not set(pc.unique(table.column("question")).to_pylist()) <= set(questions):
        return "it answers a question that was not asked"
    answers = pc.unique(table.column("answer").combine_chunks()).cast(pa.string())
    if pc.max(pc.utf8_length(answers)).as_py() > LONGEST_TEXT:
        return f"a text has more than {LONGEST_TEXT:,} characters"
    chances = table.column("probability").drop_null()
    if len(chances) and not pc.all(pc.and_(pc.greater_equal(chances, 0), pc.less_equal(chances, 1))).as_py():
        return "a probability is not from 0 to 1"
    pairs = table.group_by(["row", "question"]).aggregate([])
    return "" if len(pairs) == len(table) else "it answers a question about one image twice"


def read_texts(folder: Path, stage: str, rows: int, questions: Mapping[str, str]) -> pd.DataFrame:
    """The table of a text stage: row, question and answer (categories), probability (NaN where none is known)."""
    path = folder / stage_files(stage)[0]
    table = read_frame(path, text_columns, lambda found: text_values(found, rows, questions))
    return table.assign(question=table["question"].astype("category"), answer=table["answer"].astype("category"))


class Texts(Answers[TextSource]):
    """The captions and answers of an opened audit: tables with the columns row, question, answer, probability."""

    KIND = "text"

    def _source(self, name: str, parameters: Mapping[str, Any]) -> TextSource:
        return read_source(name, parameters)

    def _table(self, name: str) -> pd.DataFrame:
        return read_texts(self._folder, f"text-{name}", self._rows, self.sources[name].questions)

    def complete(self, name: str) -> bool:
        """Whether a source has seen every image; images that came later make it incomplete."""
        return self._stage(name)["rows"] == self._rows
