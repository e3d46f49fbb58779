"""Manifests and tables made by a stranger, with every hash right: opened well, or refused with a sentence."""

import json
import re

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from samples import grown, likeness, portrait_rows, write_csv
from strangers import MEASURE, ODD, REPORT, SHARD, TABLE, changed, paths, refused, seal, used

from backend.store import Audit, StoreError
from backend.store import files as store_files
from backend.store.checks import REPORT_COLUMNS


def test_the_model_is_well(folder):
    seal(folder)
    used(Audit(folder))
    assert Audit(folder).check() == []


def test_no_value_in_a_manifest_makes_a_traceback(folder):
    path = folder / "manifest.json"
    whole = json.loads(path.read_text())
    opened = 0
    places = {place for place in paths(whole) if place and not {"sha256", "images/shard-00001.arrow"} & set(place)}
    for place in sorted(places, key=str):
        for value in ODD:
            manifest = changed(whole, place, value)
            manifest["sha256"] = store_files._seal(manifest)
            path.write_text(json.dumps(manifest))
            try:
                used(Audit(folder))
                opened += 1
            except StoreError as error:
                str(error).encode()
    assert opened > 10  # a number of seconds, a label: what may be anything of its kind


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("shards",), [], "'shards' of the wrong kind"),
        (("shards",), {}, "no images"),
        (("shards", SHARD, "rows"), 0, "impossible number of rows"),
        (("shards", SHARD, "rows"), 10**9, "impossible number of rows"),
        (("shards", SHARD, "image_bytes"), 1.5, "'image_bytes' of the wrong kind"),
        (("shards", "images/other.arrow"), {}, "out of order"),
        (("files", SHARD + "/x/y"), {"bytes": 1, "sha256": "0" * 64}, "a file that no audit has"),
        (("files", TABLE, "sha256"), "A" * 64, "'sha256' of the wrong kind"),
        (("sources",), {}, "'sources' of the wrong kind"),
        (("sources", 0, "label"), None, "'label' of the wrong kind"),
        (("sources", 0, "read"), "7", "'read' of the wrong kind"),
        (("sources", 0, "seconds"), float("nan"), "'seconds' of the wrong kind"),
        (("sources", 0, "label"), "\ud800", "no Unicode text"),
        (("stages", "colourfulness", "files"), ["x"], "not listed"),
        (("stages", "colourfulness", "parameters"), None, "'parameters' of the wrong kind"),
        (("stages", "../x"), {}, "a stage that no audit has"),
        (("name",), ["a"], "'name' of the wrong kind"),
        (("more",), 1, "unknown entry 'more'"),
    ],
)
def test_what_a_manifest_must_be(folder, place, value, words):
    def change(manifest):
        parent = manifest
        for key in place[:-1]:
            parent = parent[key]
        parent[place[-1]] = value

    seal(folder, change)
    refused(folder, "manifest.json", words)


@pytest.mark.parametrize("name", [TABLE, REPORT])
def test_a_table_that_is_not_listed(folder, name):
    seal(folder, lambda manifest: manifest["files"].pop(name) and None)
    refused(folder, f"does not list {name}")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' + "9" * 5000 + "}", '{"a": "\\ud800"}', "null", "7"])
def test_a_manifest_that_is_no_manifest(folder, text):
    (folder / "manifest.json").write_text(text)
    refused(folder, "is damaged")
    (folder / "manifest.json").unlink()
    (folder / "manifest.json.next").write_text(text)
    refused(folder, "holds no audit")


def test_a_manifest_that_is_deep(folder):
    for depth in range(100, 1000, 100):
        deep = json.loads('{"a":' * depth + "1" + "}" * depth)
        seal(folder, lambda manifest, deep=deep: manifest["stages"]["colourfulness"].update(parameters=deep))
        with pytest.raises(StoreError):
            Audit(folder)
        seal(folder, lambda manifest: manifest["stages"]["colourfulness"].update(parameters={}))


def replaced(folder, name, column, values, kind=None):
    """Give a table of an audit another column, or (with None) take it away."""
    table = pq.read_table(folder / name)
    if column in table.column_names:
        table = table.drop_columns([column])
    if values is not None:
        table = table.append_column(column, pa.array(values, kind))
    pq.write_table(table, folder / name)
    seal(folder)


TABLES = [
    ("id", None, None, "no column 'id'"),
    ("source", None, None, "no column 'source'"),
    ("id", ["0" * 16] * 4, None, "an id is in it twice"),
    ("id", ["a", "b", "c", "d"], None, "not 16 hexadecimal digits"),
    ("id", [f"{n:016x}\n" for n in range(4)], None, "not 16 hexadecimal digits"),
    ("id", [*(f"{n:016x}" for n in range(3)), None], None, "'id' has gaps"),
    ("system", [None] * 4, pa.string(), "'system' has gaps"),
    ("system", [1] * 4, None, "'system' has another type"),
    ("system", [["A"]] * 4, None, "'system' has another type"),
    ("system", ["A"] * 4, pa.large_string(), "'system' has another type"),
    ("system", [b"\xff"] * 4, pa.binary(), "'system' has another type"),
    ("number", [1, 2, 3, None], None, "'number' has gaps"),
    ("number", [1.0] * 4, None, "'number' has another type"),
    ("seed", ["1"] * 4, None, "'seed' has another type"),
    ("width", [0] * 4, pa.int32(), "a number below 1"),
    ("height", [-5] * 4, pa.int32(), "a number below 1"),
    ("width", [1] * 4, pa.int64(), "'width' has another type"),
    ("format", ["SVG"] * 4, None, "'format' holds an unknown word"),
    ("subset", ["x"] * 4, None, "'subset' holds an unknown word"),
    ("animated", [None] * 4, pa.bool_(), "'animated' has gaps"),
    ("label_mood", ["a", None, "b", "c"], None, "'label_mood' has gaps"),
    ("label_mood", [1] * 4, None, "'label_mood' has another type"),
    ("label_", ["x"] * 4, None, "an unknown column 'label_'"),
    ("extra_a b", ["x"] * 4, None, "an unknown column 'extra_a b'"),
    ("extra_x\n", ["x"] * 4, None, "an unknown column"),
    ("subject", ["x"] * 4, None, "an unknown column 'subject'"),
    ("extra_" + "x" * 65, ["x"] * 4, None, "an unknown column"),
]


@pytest.mark.parametrize(("column", "values", "kind", "words"), TABLES)
def test_what_the_table_must_be(folder, column, values, kind, words):
    replaced(folder, TABLE, column, values, kind)
    refused(folder, TABLE, words)


def test_columns_as_importers_name_them_are_opened(folder):
    for name in ("extra_看護師", "label_é_2", "extra_" + "x" * 60 + "_99"):
        replaced(folder, TABLE, name, ["x"] * 4)
    audit = Audit(folder)
    assert list(audit.generations["extra_看護師"]) == ["x"] * 4


def test_a_table_that_is_no_table(folder):
    table = pq.read_table(folder / TABLE)
    for rows in (table.slice(0, 0), table.slice(0, 3), pa.concat_tables([table, table])):
        pq.write_table(rows, folder / TABLE)
        seal(folder)
        refused(folder, TABLE, "differ in rows")
    twice = pa.table([*table.columns, table.column("id")], names=[*table.column_names, "id"])
    for data in (twice, b"PAR1", b"", b"PAR1" * 100):
        pq.write_table(data, folder / TABLE) if data is twice else (folder / TABLE).write_bytes(data)
        seal(folder)
        refused(folder, TABLE)


def test_text_that_is_no_unicode(folder):
    table = pq.read_table(folder / TABLE)
    for name in ("system", "prompt", "id"):
        bad = pa.array([b"\xff\xfe" * 8] * 4, pa.binary()).view(pa.string())
        changed = table.set_column(table.column_names.index(name), name, bad)
        pq.write_table(changed, folder / TABLE)
        seal(folder)
        refused(folder, TABLE, "cannot be read")


@pytest.mark.parametrize("note", [b"{", b"[]", b"{}", b'{"index_columns": ["id"], "columns": [{"name": 1}]}'])
def test_what_a_table_says_of_pandas_is_not_used(folder, note):
    for name in (TABLE, REPORT, MEASURE):
        table = pq.read_table(folder / name)
        pq.write_table(table.replace_schema_metadata({"pandas": note}), folder / name)
    seal(folder)
    audit = Audit(folder)
    used(audit)
    assert audit.generations.index.equals(pd.RangeIndex(4))
    assert tuple(audit.report().columns) == REPORT_COLUMNS


def test_a_table_in_many_row_groups(folder):
    """Row groups have dictionaries of their own."""
    table = pq.read_table(folder / TABLE)
    expected = Audit(folder).generations
    pq.write_table(table, folder / TABLE, row_group_size=1)
    seal(folder)
    pd.testing.assert_frame_equal(Audit(folder).generations.astype("str"), expected.astype("str"))


@pytest.mark.parametrize(
    ("column", "values"), [("reason", None), ("reason", [7]), ("reason", [None]), ("more", ["x"]), ("item", [["x"]])]
)
def test_what_the_report_must_be(folder, column, values):
    replaced(folder, REPORT, column, values)
    refused(folder, REPORT)


@pytest.mark.parametrize(
    "table",
    [
        {"other": [1.0] * 4},
        {"colourfulness": [1] * 4},
        {"colourfulness": ["x"] * 4},
        {"colourfulness": [1.0] * 3},
        {"colourfulness": [1.0] * 5},
        {"colourfulness": [1.0] * 4, "more": [1.0] * 4},
    ],
)
def test_what_a_measure_must_be(folder, table):
    audit = Audit(folder)
    pq.write_table(pa.table(table), folder / MEASURE)
    if len(next(iter(table.values()))) == 4:  # one that changes below an open audit
        with pytest.raises(StoreError, match="colourfulness"):
            audit.measure("colourfulness")
    seal(folder)
    refused(folder, "colourfulness")


def test_a_well_made_audit_goes_on(folder, tmp_path):
    source = tmp_path / "source"
    write_csv(source, portrait_rows(source, ("A", "B"), ("nurse", "welder"), 3))
    grown(source)
    assert likeness("import", source, "a", cache=folder.parent) == 0
    assert likeness("build", "a", cache=folder.parent) == 0
    used(Audit(folder))
    assert re.fullmatch("[0-9a-f]{16}", Audit(folder).generations["id"].iat[0])
    assert pc.count(pq.read_table(folder / TABLE).column("seed")).as_py() == 4
