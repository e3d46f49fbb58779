"""What a table of answers about two applicants must be; each function says in words what is wrong, or "" ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from backend.hiring_texts import KINDS, SPACES, STEPS, Element
from backend.store.answers import chances_problem
from backend.store.probes import LONGEST, OUTCOMES

UNPARSED = "unparsed"
TEXTS = ("kind", "first", "second", "occupation", "step", "subject", "type", "element", "lead")
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in TEXTS),
        ("rotation", pa.int8()),
        *((name, pa.string()) for name in ("answer", "outcome", "text")),
        ("probabilities", pa.list_(pa.float32())),
    ]
)
KEYS = TEXTS[:-1]
"""What tells one answer from another, in the order in which they are sorted."""


def hiring_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns."""
    return "" if schema.remove_metadata().equals(SCHEMA) else f"its columns are not {', '.join(SCHEMA.names)}"


def hiring_values(table: pa.Table, genders: Mapping[str, str], jobs: Mapping[str, Sequence[Element]]) -> str:
    """What is wrong with the values, for names with their genders and occupations with their attributes."""
    if any(column.null_count for column in table.columns):
        return "it has gaps"
    if len(table) == 0:
        return ""
    table = table.cast(SCHEMA)  # texts that were read as dictionaries
    if pc.max(pc.utf8_length(table.column("text"))).as_py() > LONGEST["text"]:
        return f"a text of its column 'text' has more than {LONGEST['text']:,} characters"
    frame = table.select([*TEXTS, "rotation", "answer", "outcome"]).to_pandas(
        strings_to_categorical=True, types_mapper={pa.int8(): pd.Int8Dtype()}.get
    )
    wrong = _words(frame, genders, jobs) or _places(frame, genders, jobs) or _chances(table, frame)
    if not wrong and frame.duplicated(list(KEYS)).any():
        wrong = "it answers one prompt twice"
    return wrong or _whole(frame, jobs)


def _words(frame: pd.DataFrame, genders: Mapping[str, str], jobs: Mapping[str, Sequence[Element]]) -> str:
    elements = {element for attributes in jobs.values() for element in attributes}
    known = {
        "kind": KINDS,
        "first": genders,
        "second": genders,
        "occupation": {"", *jobs},
        "step": STEPS,
        "subject": {"", *genders},
        "type": {"", *(type_ for type_, _ in elements)},
        "element": {"", *(name for _, name in elements)},
        "lead": ("", "first", "second"),
        "outcome": OUTCOMES,
    }
    for name, words in known.items():
        if not set(frame[name].cat.categories) <= set(words):
            return f"its column {name!r} holds what the manifest does not name"
    chosen = frame[["step", "answer", "outcome"]].drop_duplicates()
    for step, answer, outcome in chosen.itertuples(index=False):
        if answer not in (SPACES[step] if outcome == "answered" else (UNPARSED,)):
            return "an answer is none that could be chosen"
    return ""


def _places(frame: pd.DataFrame, genders: Mapping[str, str], jobs: Mapping[str, Sequence[Element]]) -> str:
    """What is wrong with how the columns of a row go together."""
    own = {name: frame[name].astype(str) for name in TEXTS}
    first, second = own["first"].map(genders), own["second"].map(genders)
    kinds = first.where(first == second, "different")
    if (own["kind"] != kinds).any() or (own["first"] == own["second"]).any():
        return "a pair is not of its kind"
    attribute, qualified = own["step"] == "attribute", own["step"] == "qualified"
    alone = attribute | qualified
    right = (own["occupation"] == "") == attribute
    right &= ((own["subject"] == own["first"]) | (own["subject"] == own["second"])) == alone
    right &= (own["subject"] == "") == ~alone
    right &= (own["lead"] == "") == alone
    elements = {element for attributes in jobs.values() for element in attributes}
    pairs = frame.loc[~attribute, ["type", "element"]].drop_duplicates().itertuples(index=False, name=None)
    asked = frame.loc[attribute, ["type", "element"]].drop_duplicates().itertuples(index=False, name=None)
    if not right.all() or not set(pairs) <= {("", "")} or not set(asked) <= elements:
        return "a row does not go with its step"
    most = own["step"].map({step: len(space) for step, space in SPACES.items()})
    turns = frame["rotation"].astype(int)
    return "" if ((turns >= 0) & (turns < most)).all() else "its column 'rotation' is beyond the answers of its step"


def _chances(table: pa.Table, frame: pd.DataFrame) -> str:
    """What is wrong with the probabilities."""
    wanted = frame["step"].astype(str).map({step: len(space) for step, space in SPACES.items()}).to_numpy()
    return chances_problem(table, wanted, "option")


def _whole(frame: pd.DataFrame, jobs: Mapping[str, Sequence[Element]]) -> str:
    """Whether every dialogue has its four answers, and the attributes that they rest on."""
    dialogue = ["kind", "first", "second", "occupation"]
    late = frame[frame["step"] != "attribute"]
    if len(late) and (late.groupby(dialogue, observed=True).size() != 4).any():
        return "a dialogue lacks an answer"
    steps = late.groupby([*dialogue, "step"], observed=True).size().unstack(fill_value=0)
    if len(late) and not (set(steps.columns) == {"qualified", "more", "was"} and (steps["qualified"] == 2).all()):
        return "a dialogue lacks an answer"
    asked = frame[frame["step"] == "attribute"]
    held = {
        element: set(zip(some["first"], some["second"], some["subject"], strict=True))
        for element, some in asked.groupby(["type", "element"], observed=True)
    }
    qualified = late[late["step"] == "qualified"]
    for occupation, some in qualified.groupby("occupation", observed=True):
        wanted = set(zip(some["first"], some["second"], some["subject"], strict=True))
        if not all(wanted <= held.get(element, set()) for element in jobs[occupation]):
            return "a dialogue lacks the attributes that it rests on"
    return ""
