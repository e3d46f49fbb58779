"""Answers about applicants made by a stranger, every hash right: refused with a sentence."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audits import make_audit
from hiring_sample import add_made_hiring, made_answers, made_source
from strangers import changed, paths, refused, seal

from backend.store import Audit, HiringWriter, StoreError, writing
from backend.store.hiring import read_source, values_problem
from backend.store.hiring_checks import KEYS, SCHEMA

TABLE = "hiring/made-hire.parquet"
STAGE = "hire-made-hire"
LONG = "x" * 2001


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    cache = tmp_path_factory.mktemp("hired")
    make_audit(cache)
    return add_made_hiring(cache / "small").folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "small")
    return tmp_path / "small"


@pytest.fixture(scope="module")
def table(made):
    return pq.read_table(made / TABLE)


def test_the_model_is_well(folder, table):
    seal(folder)
    audit = Audit(folder)
    source, found = audit.hiring.sources["made-hire"], audit.hiring.table("made-hire")
    assert audit.check() == [] and list(found) == SCHEMA.names and len(found) == 3 * 7 * 2 * (2 * 3 + 4 * 4)
    assert source == made_source() and source.without == ("politician",)
    keys = found[list(KEYS)].astype(str)
    assert not keys.duplicated().any() and list(keys["kind"].unique()) == ["different", "female", "male"]
    texts = [source.prompt(row, found) for row in found.iloc[:: len(found) // 40].to_dict("records")]
    assert all(text and "{" not in text for text in texts)


def with_value(table, row, column, value):
    """The table with another value in one row of a column."""
    place = table.column_names.index(column)
    values = table.column(column).to_pylist()
    values[row] = value
    return table.set_column(place, column, pa.array(values, SCHEMA.field(column).type))


def row_of(table, step):
    """The first row of a step whose outcome is an answer."""
    steps, outcomes = table.column("step").to_pylist(), table.column("outcome").to_pylist()
    return next(at for at, one in enumerate(zip(steps, outcomes, strict=True)) if one == (step, "answered"))


CHANGES = [
    ("attribute", "kind", "mixed", "'kind' holds what"),
    ("attribute", "first", "Zoe", "'first' holds what"),
    ("attribute", "first", "Bea", "does not go with its step"),
    ("attribute", "second", "Ana", "not of its kind"),
    ("more", "kind", "female", "not of its kind"),
    ("more", "occupation", "astrologer", "'occupation' holds what"),
    ("more", "occupation", "", "does not go with its step"),
    ("attribute", "occupation", "nurse", "does not go with its step"),
    ("attribute", "step", "guess", "'step' holds what"),
    ("qualified", "subject", "", "does not go with its step"),
    ("qualified", "subject", "Max", "does not go with its step"),
    ("more", "subject", "Ana", "does not go with its step"),
    ("attribute", "type", "skills", "'type' holds what"),
    ("attribute", "type", "skill", "does not go with its step"),
    ("attribute", "element", "Writing", "'element' holds what"),
    ("was", "element", "Mathematics", "does not go with its step"),
    ("was", "lead", "", "does not go with its step"),
    ("qualified", "lead", "first", "does not go with its step"),
    ("was", "lead", "third", "'lead' holds what"),
    ("attribute", "rotation", 2, "'rotation' is beyond"),
    ("was", "rotation", -1, "'rotation' is beyond"),
    ("attribute", "answer", "maybe", "none that could be chosen"),
    ("more", "answer", "both", "none that could be chosen"),
    ("more", "answer", "unparsed", "none that could be chosen"),
    ("more", "outcome", "failed", "none that could be chosen"),
    ("more", "outcome", "guessed", "'outcome' holds what"),
    ("more", "text", LONG, "more than 2,000"),
    ("more", "text", None, "gaps"),
    ("more", "probabilities", [0.5, 0.5], "not one for each option"),
    ("more", "probabilities", [0.5, 0.5, 0.5], "do not add up to 1"),
    ("more", "probabilities", [float("nan"), 0.5, 0.5], "not from 0 to 1"),
    ("more", "probabilities", [-0.5, 1.0, 0.5], "not from 0 to 1"),
    ("more", "probabilities", None, "gaps"),
    ("more", "occupation", "nurse", "one prompt twice"),
]


@pytest.mark.parametrize(("step", "column", "value", "words"), CHANGES)
def test_the_table_of_answers(table, step, column, value, words):
    wrong = with_value(table, row_of(table, step), column, value)
    assert words in values_problem(wrong, made_source())


def test_a_dialogue_needs_all_its_answers(table):
    source = made_source()
    assert values_problem(table, source) == ""
    steps = table.column("step").to_pylist()
    for step, words in (
        ("was", "lacks an answer"),
        ("qualified", "lacks an answer"),
        ("attribute", "the attributes that"),
    ):
        at = steps.index(step)
        wrong = pa.concat_tables([table.slice(0, at), table.slice(at + 1)])
        assert words in values_problem(wrong, source)
    assert values_problem(table.slice(0, 0), source) == ""


@pytest.mark.parametrize("column", ["answer", "rotation"])
def test_columns_of_another_type_and_tables_that_are_none(folder, table, column):
    place, kind = table.column_names.index(column), pa.binary() if column == "answer" else pa.int16()
    pq.write_table(table.set_column(place, column, table.column(column).cast(kind)), folder / TABLE)
    seal(folder)
    refused(folder, TABLE, "its columns are not")
    for data in (b"", b"PAR1" * 100):
        (folder / TABLE).write_bytes(data)
        seal(folder)
        refused(folder, TABLE, "cannot be read")


def test_a_table_that_is_wrong_is_refused_when_the_audit_opens(folder, table):
    pq.write_table(with_value(table, row_of(table, "more"), "answer", "both"), folder / TABLE)
    seal(folder)
    refused(folder, TABLE, "none that could be chosen")


def test_what_is_wrong_is_never_written(folder):
    source, answers = made_source("other"), made_answers(made_source("other"), most=2)
    answers.loc[0, "answer"] = "maybe"
    with writing(folder), pytest.raises(StoreError, match="none that could be chosen"):
        HiringWriter(Audit(folder), "other").finish(source, answers, 0.0, {})
    assert "other" not in Audit(folder).hiring.sources


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", None),
        ("title", LONG),
        ("note", LONG),
        ("pairs", -1),
        ("pairs", True),
        ("attributes_first", "male"),
        ("wordings", "0" * 16),
        ("letters", True),
        ("letters", "no"),
        ("occupations", ["nurse"]),
        ("occupations", ["accountant", "nurse", "nurse", "pilot"]),
        ("articles", ["an", "a", "the", "a"]),
        ("attributes", ["skill\tWriting", "", "", ""]),
        ("attributes", ["skill", "", "", ""]),
        ("female", ["Ana", "Ana"]),
        ("female", ["<b>Ana</b>"]),
        ("male", ["Ana"]),
        ("male", [1]),
        ("male", ["Jon"] * 2001),
        ("questions", []),
        ("answers", ["Yes", "No", "Unknown", "Both", ""]),
        ("elements", ["skill\tMathematics"]),
        ("elements", ["craft\tMathematics\tx"]),
    ],
)
def test_what_the_manifest_says_of_a_model(made, key, value):
    held = json.loads((made / "manifest.json").read_text())["stages"][STAGE]["parameters"]
    read_source("made-hire", held)
    with pytest.raises(StoreError, match="asked about hiring"):
        read_source("made-hire", {**held, key: value})


def test_places_of_a_question_cannot_be_others(made):
    held = json.loads((made / "manifest.json").read_text())["stages"][STAGE]["parameters"]
    questions = [held["questions"][0].replace("{first}", "{first.__class__}"), *held["questions"][1:]]
    with pytest.raises(StoreError):
        read_source("made-hire", {**held, "questions": questions})


ODD = (None, [], {}, "x", -1, 0, 10**400, 1e308, True, [None], {"x": None}, "\ud800", "x" * 5000, "gone", "\t", "\n")


def test_no_value_of_a_model_s_parameters_makes_a_traceback(made):
    held = json.loads((made / "manifest.json").read_text())["stages"][STAGE]["parameters"]
    wrong = 0
    for place in paths(held):
        for value in ODD if place else ():
            try:
                read_source("made-hire", changed(held, place, value))
            except StoreError:
                wrong += 1
    assert wrong > 300


@pytest.mark.parametrize("files", [[], ["probes/made-hire.parquet"], ["hiring/other.parquet"]])
def test_a_stage_with_files_of_others(folder, files):
    seal(folder, lambda manifest: manifest["stages"][STAGE].update(files=files))
    refused(folder, "manifest.json", STAGE)
