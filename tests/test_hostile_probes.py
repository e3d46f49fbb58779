"""Answers of models made by a stranger, every hash right: refused with a sentence."""

import json
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from probe_audits import make_probed
from strangers import changed, paths, refused, seal

from backend.store import Audit, StoreError
from backend.store.probes import SCHEMA, read_source

TABLE = "probes/made-vlm.parquet"
STAGE = "probe-made-vlm"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_probed(tmp_path_factory.mktemp("probed")).folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "probed")
    return tmp_path / "probed"


def test_the_model_is_well(folder):
    seal(folder)
    audit = Audit(folder)
    assert audit.check() == [] and list(audit.probes.sources) == ["made-lm", "made-vlm", "made-api"]
    for name, source in audit.probes.sources.items():
        table = audit.probes.table(name)
        assert list(table) == SCHEMA.names and len(table) > 300 and set(table["attribute"]) <= set(source.classes)


def with_first(folder, column, value, kind=None):
    """The table with another value in the first row of a column."""
    table = pq.read_table(folder / TABLE)
    place = table.column_names.index(column)
    values = [value, *table.column(column).to_pylist()[1:]]
    table = table.set_column(place, column, pa.array(values, kind or SCHEMA.field(column).type))
    pq.write_table(table, folder / TABLE)
    seal(folder)


LONG = "x" * 2001


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("direction", "text-to-video", "'direction' holds what"),
        ("style", "rude-direct", "'style' holds what"),
        ("attribute", "mood", "'attribute' holds what"),
        ("culture", "Mars", "'culture' holds what"),
        ("outcome", "guessed", "'outcome' holds what"),
        ("answer", "robot", "an answer is none that could be chosen"),
        ("answer", "Asian", "an answer is none that could be chosen"),
        ("answer", "unparsed", "an answer is none that could be chosen"),
        ("outcome", "failed", "an answer is none that could be chosen"),
        ("direction", "text-to-text", "'direction' holds what"),
        ("row", -1, "does not name it"),
        ("row", -2, "a row that the audit does not have"),
        ("row", 150, "a row that the audit does not have"),
        ("paraphrase", -1, "'paraphrase' is not from 0 to 99"),
        ("rotation", 100, "'rotation' is not from 0 to 99"),
        ("profession", LONG, "'profession' has more than 200"),
        ("action", LONG, "'action' has more than 400"),
        ("input", LONG, "'input' has more than 1,000"),
        ("text", LONG, "'text' has more than 2,000"),
        ("probabilities", [0.5, 0.5], "not one for each option"),
        ("probabilities", [0.5, 0.5, 0.5], "do not add up to 1"),
        ("probabilities", [float("nan"), 0.5, 0.5], "not from 0 to 1"),
        ("probabilities", [float("inf"), 0.5, 0.5], "not from 0 to 1"),
        ("probabilities", [-0.5, 1.0, 0.5], "not from 0 to 1"),
        ("probabilities", [None, 0.5, 0.5], "not from 0 to 1"),
        ("probabilities", None, "gaps"),
        ("text", None, "gaps"),
        ("row", None, "gaps"),
        ("rotation", 1, "answers one prompt twice"),
    ],
)
def test_the_table_of_answers(folder, column, value, words):
    with_first(folder, column, value)
    refused(folder, TABLE, words)


@pytest.mark.parametrize(("column", "kind"), [("row", pa.int64()), ("paraphrase", pa.int16()), ("answer", pa.binary())])
def test_columns_of_another_type(folder, column, kind):
    table = pq.read_table(folder / TABLE)
    place = table.column_names.index(column)
    values = pc.cast(table.column(column), kind)
    pq.write_table(table.set_column(place, pa.field(column, kind), values), folder / TABLE)
    seal(folder)
    refused(folder, TABLE, "its columns are not")


def test_more_and_fewer_columns(folder):
    table = pq.read_table(folder / TABLE)
    for other in (table.append_column("more", table.column("text")), table.drop_columns("text")):
        pq.write_table(other, folder / TABLE)
        seal(folder)
        refused(folder, TABLE, "its columns are not")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" * 1000])
def test_a_table_that_is_none(folder, data):
    (folder / TABLE).write_bytes(data)
    seal(folder)
    refused(folder, TABLE, "cannot be read")


def test_a_table_without_rows_is_one(folder):
    pq.write_table(pq.read_table(folder / TABLE).slice(0, 0), folder / TABLE)
    seal(folder)
    assert len(Audit(folder).probes.table("made-vlm")) == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", None),
        ("title", "x" * 201),
        ("note", "x" * 2001),
        ("limit", -1),
        ("limit", True),
        ("limit", "all"),
        ("attributes", ["gender", "race"]),
        ("attributes", ["gender", "gender", "age"]),
        ("attributes", ["", "race", "age"]),
        ("classes", ["male", "a\nb", "c\nd"]),
        ("classes", ["male\nno preference", "a\nb", "c\nd"]),
        ("classes", ["male\nmale", "a\nb", "c\nd"]),
        ("classes", ["male\n", "a\nb", "c\nd"]),
        ("classes", []),
        ("directions", ["text-to-video"]),
        ("styles", ["rude"]),
        ("cultures", [1]),
        ("wordings", "x"),
        ("wordings", ["x"] * 2001),
    ],
)
def test_what_the_manifest_says_of_a_model(folder, key, value):
    def change(manifest):
        manifest["stages"][STAGE]["parameters"][key] = value

    seal(folder, change)
    refused(folder, "made-vlm")


ODD = (None, [], {}, "x", -1, 0, 10**400, 1e308, True, [None], {"x": None}, "\ud800", "x" * 3000, "gone")


def test_no_value_of_a_model_s_parameters_makes_a_traceback(made):
    held = json.loads((made / "manifest.json").read_text())["stages"][STAGE]["parameters"]
    wrong = 0
    for place in paths(held):
        for value in ODD if place else ():
            try:
                read_source("made-vlm", changed(held, place, value))
            except StoreError:
                wrong += 1
    assert wrong > 200


@pytest.mark.parametrize("files", [[], ["probes/made-lm.parquet"], [TABLE, "probes/made-lm.parquet"]])
def test_a_stage_with_files_of_others(folder, files):
    def change(manifest):
        manifest["stages"][STAGE]["files"] = files

    seal(folder, change)
    refused(folder, "manifest.json", STAGE)


@pytest.mark.parametrize("name", ["probes/../x.parquet", "probes/a/b.parquet", "/probes/x.parquet"])
def test_names_outside_the_folder(folder, name):
    seal(folder, lambda manifest: manifest["files"].update({name: {"bytes": 0, "sha256": "0" * 64}}))
    refused(folder, "manifest.json")
