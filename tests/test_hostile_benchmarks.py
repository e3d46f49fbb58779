"""Answers to benchmarks made by a stranger, every hash right: refused with a sentence."""

import json
import shutil

import audits
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench_sample import make_benchmarked
from strangers import refused, seal

from backend.build import status
from backend.store import Audit, StoreError
from backend.store.benchmarks import SCHEMA, read_source

TABLE, STAGE = "benchmarks/made-vlm.parquet", "bench-made-vlm"
LONG = "x" * 2001


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audits, "build", lambda *arguments, **options: [])  # no answer rests on what it computes
        return make_benchmarked(tmp_path_factory.mktemp("benched"), "unbuilt").folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "unbuilt")
    return tmp_path / "unbuilt"


def test_the_sample_is_well(folder):
    seal(folder)
    audit = Audit(folder)
    assert audit.check() == [] and list(audit.benchmarks.sources) == ["made-vlm", "made-clip", "made-api"]
    for name, source in audit.benchmarks.sources.items():
        table = audit.benchmarks.table(name)
        assert list(table) == SCHEMA.names and set(table["task"]) == set(source.tasks)
        for place, task in source.tasks.items():
            conditions = table[table["task"] == place].groupby(["condition", "variant"], observed=True).size()
            assert len(set(conditions)) == 1 and set(conditions.index.get_level_values(0)) == {
                "image",
                "text",
                "random",
            }
            assert task.title and len(task.groups) == len(task.values)
    assert {row["stage"]: row["state"] for row in status(audit)}[STAGE] == "done"


def with_first(folder, column, value, kind=None):
    """The table with another value in the first row of a column."""
    table = pq.read_table(folder / TABLE)
    place = table.column_names.index(column)
    values = [value, *table.column(column).to_pylist()[1:]]
    table = table.set_column(place, column, pa.array(values, kind or SCHEMA.field(column).type))
    pq.write_table(table, folder / TABLE)
    seal(folder)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("task", "mmlu", "'task' holds what"),
        ("condition", "video", "'condition' holds what"),
        ("variant", "kind", "'variant' holds what"),
        ("outcome", "guessed", "'outcome' holds what"),
        ("label", "robot", "a label is none"),
        ("answer", "robot", "an answer is none"),
        ("answer", "unparsed", "an answer is none"),
        ("group_1", "green", "'group_1' holds what"),
        ("group_3", "dark", "'group_3' holds what"),
        ("group_2", "Beta <b>", "two labels, rows or groups"),
        ("row", -2, "a row that the audit does not have"),
        ("row", 150, "a row that the audit does not have"),
        ("row", -1, "two labels, rows or groups"),
        ("item", "x" * 301, "'item' has more than 300"),
        ("item", "", "no name"),
        ("text", LONG, "'text' has more than 2,000"),
        ("probabilities", [0.5], "not one for each class"),
        ("probabilities", [0.9, 0.9], "do not add up to 1"),
        ("probabilities", [float("nan"), 0.5], "not from 0 to 1"),
        ("probabilities", None, "gaps"),
        ("text", None, "gaps"),
        ("condition", "text", "answers one question twice"),
    ],
)
def test_the_table_of_answers(folder, column, value, words):
    table = pq.read_table(folder / TABLE, columns=["group_2"]).to_pylist()[0]
    with_first(folder, column, "Alpha" if column == "group_2" and table["group_2"] == value else value)
    refused(folder, TABLE, words)


@pytest.mark.parametrize(("column", "kind"), [("row", pa.int64()), ("answer", pa.large_string())])
def test_columns_of_another_type(folder, column, kind):
    table = pq.read_table(folder / TABLE)
    place = table.column_names.index(column)
    cast = table.column(column).cast(kind)
    pq.write_table(table.set_column(place, pa.field(column, kind), cast), folder / TABLE)
    seal(folder)
    refused(folder, TABLE, "its columns are not")


def test_a_table_that_is_none_and_one_without_rows(folder):
    pq.write_table(pq.read_table(folder / TABLE).slice(0, 0), folder / TABLE)
    seal(folder)
    assert len(Audit(folder).benchmarks.table("made-vlm")) == 0
    (folder / TABLE).write_bytes(b"PAR1" * 1000)
    seal(folder)
    refused(folder, TABLE, "cannot be read")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("family", "selfie"),
        ("classes", ["man"]),
        ("classes", ["man", "man"]),
        ("classes", ["man", "unparsed"]),
        ("classes", "man"),
        ("groups", ["tone"]),
        ("groups", ["a", "b", "c", "d"]),
        ("values", [["light"], "dark"]),
        ("values", [["light"], [[]]]),
        ("positive", "robot"),
        ("items", -1),
        ("found", True),
        ("chance", 2),
        ("chance", float("nan")),
        ("left_out", {"why": -1}),
        ("left_out", []),
        ("note", "x" * 2001),
        ("title", None),
        ("title", "half \ud800"),
        ("example", "x" * 2001),
        ("example", 1),
        ("offered", "man"),
        ("offered", ["man", 1]),
        ("offered", ["man"] * 51),
        ("name", ""),
        ("name", []),
        ("more", 1),
    ],
)
def test_what_the_manifest_says_of_a_task(folder, key, value):
    def change(manifest):
        tasks = manifest["stages"][STAGE]["parameters"]["tasks"]
        tasks[0] = json.dumps({**json.loads(tasks[0]), key: value})

    seal(folder, change)
    refused(folder, "made-vlm")


def test_a_pronoun_task_has_two_classes_and_an_occupation(folder):
    def change(manifest):
        tasks = manifest["stages"][STAGE]["parameters"]["tasks"]
        at = next(place for place, text in enumerate(tasks) if json.loads(text)["family"] == "own")
        tasks[at] = json.dumps({**json.loads(tasks[at]), "family": "pronoun", "groups": [], "values": []})

    seal(folder, change)
    refused(folder, "made-vlm")


def test_a_task_of_an_older_run_has_no_example(made):
    held = json.loads((made / "manifest.json").read_text())["stages"][STAGE]["parameters"]
    tasks = [json.loads(text) for text in held["tasks"]]
    old = [json.dumps({key: one[key] for key in one if key not in ("example", "offered")}) for one in tasks]
    found = read_source("made-vlm", {**held, "tasks": old}).tasks
    assert list(found) == [one["name"] for one in tasks]
    assert {(one.example, one.offered) for one in found.values()} == {("", ())}


def test_more_groups_and_answers_than_can_be_drawn_from(folder):
    def change(manifest):
        tasks = manifest["stages"][STAGE]["parameters"]["tasks"]
        held = json.loads(tasks[0])
        many = {"classes": [*held["classes"], *map(str, range(48))], "values": [list(map(str, range(200)))]}
        tasks[0] = json.dumps({**held, **many, "groups": held["groups"][:1]})

    seal(folder, change)
    refused(folder, "made-vlm")


@pytest.mark.parametrize("value", [None, [], "x", [1], ["{"], ["[]"], ["[" * 100_000], ["x" * 500_001], ["1" * 5000]])
def test_no_value_of_the_tasks_makes_a_traceback(made, value):
    held = json.loads((made / "manifest.json").read_text())["stages"][STAGE]["parameters"]
    for changed in (
        {**held, "tasks": value},
        {**held, "kind": value},
        {**held, "tasks": [*held["tasks"], held["tasks"][0]]},
    ):
        with pytest.raises(StoreError, match="made-vlm"):
            if changed["kind"] == "x":
                changed["kind"] = None
            read_source("made-vlm", changed)


def test_answers_about_pictures_that_changed_are_left_out(folder):
    def change(manifest):
        manifest["stages"][STAGE]["inputs"] = ["0" * 64]

    seal(folder, change)
    audit = Audit(folder)
    table = audit.benchmarks.table("made-vlm")
    assert not audit.benchmarks.current("made-vlm") and "starter-gender" not in set(table["task"]) and len(table) > 1000


@pytest.mark.parametrize("files", [[], ["benchmarks/made-clip.parquet"]])
def test_a_stage_with_files_of_others(folder, files):
    seal(folder, lambda manifest: manifest["stages"][STAGE].update(files=files))
    refused(folder, "manifest.json", STAGE)
