"""What `generate` keeps (its record in the manifest, the axis tone, the journal), made or changed by a stranger."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from endpoint import Endpoint
from samples import likeness, outcomes
from specs import api, write_spec
from strangers import TABLE, refused, seal, used
from test_hostile_audits import ODD, paths, replaced

from backend.generate import SOURCE
from backend.plan import paces
from backend.store import Audit, AuditWriter, StoreError
from backend.store.checks import MOST, manifest_problem
from backend.store.journal import Journal


@pytest.fixture
def endpoint():
    server = Endpoint()
    server.usual = lambda body: "filtered" if "honest artist" in body["prompt"] else "image"
    yield server
    server.close()


@pytest.fixture
def spec(tmp_path, endpoint):
    """One system, twelve requests, of which the endpoint filters three."""
    options = "{quality = 'hd', strength = 0.5, deep = true}"
    return write_spec(tmp_path, api(endpoint, "A", options=options), top="title = 'T'")


@pytest.fixture
def folder(spec, cache):
    """An audit that `generate` made."""
    assert likeness("generate", spec, "a", cache=cache) == 0
    return cache / "a"


def test_no_value_in_the_record_of_a_run_makes_a_traceback(folder):
    whole = json.loads((folder / "manifest.json").read_text())
    record = whole["sources"][0]["generated"]["A"]
    assert record["settings"]["options"] == {"quality": "hd", "strength": 0.5, "deep": True}
    opened = 0
    for place in sorted((place for place in paths(whole["sources"][0]) if place), key=str):
        for value in (*ODD, float("nan"), float("inf"), 1.5):
            manifest = json.loads(json.dumps(whole))
            parent = manifest["sources"][0]
            for key in place[:-1]:
                parent = parent[key]
            if value == "gone":
                del parent[place[-1]]
            else:
                parent[place[-1]] = value
            seal(folder, lambda _, changed=manifest: changed)
            try:
                audit = Audit(folder)
            except StoreError as error:
                str(error).encode()
                continue
            used(audit)
            paces(audit)
            opened += 1
    assert opened > 10


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("title",), 7, "'title' of the wrong kind"),
        (("note",), 7, "'note' of the wrong kind"),
        (("note",), "x" * 1001, "'note' of the wrong kind"),
        (("place",), 7, "'place' of the wrong kind"),
        (("seed",), "7", "'seed' of the wrong kind"),
        (("seed",), True, "'seed' of the wrong kind"),
        (("seed",), MOST + 1, "'seed' of the wrong kind"),
        (("generated",), [], "'generated' of the wrong kind"),
        (("generated", "A"), [], "'generated' of the wrong kind"),
        (("generated", "A", "images"), 1.5, "'generated' of the wrong kind"),
        (("generated", "A", "seconds"), float("nan"), "'generated' of the wrong kind"),
        (("generated", "A", "fingerprint"), "x", "'generated' of the wrong kind"),
        (("generated", "A", "weights"), None, "'generated' of the wrong kind"),
        (("generated", "A", "versions", "torch"), 2, "'generated' of the wrong kind"),
        (("generated", "A", "settings", "steps"), None, "'generated' of the wrong kind"),
        (("generated", "A", "settings", "steps"), 10**400, "'generated' of the wrong kind"),
        (("generated", "A", "settings", "options", "x"), {"y": 1}, "'generated' of the wrong kind"),
        (("generated", "A", "more"), 1, "'generated' of the wrong kind"),
        (("details",), {}, "unknown entry 'details'"),
    ],
)
def test_what_the_record_of_a_run_must_be(folder, place, value, words):
    def change(manifest):
        parent = manifest["sources"][0]
        for key in place[:-1]:
            parent = parent[key]
        parent[place[-1]] = value

    seal(folder, change)
    refused(folder, "manifest.json", words)


def test_the_largest_numbers_of_a_spec_can_be_opened(spec, cache):
    text = spec.read_text().replace("seed = 7", f"seed = {MOST}\nguidance = 100").replace("0.5", str(-MOST))
    spec.write_text(text)
    assert likeness("generate", spec, "a", cache=cache) == 0
    assert manifest_problem(Audit.open(cache, "a").manifest) == ""
    spec.write_text(text.replace(str(MOST), str(MOST + 1), 1))
    assert likeness("generate", spec, "b", cache=cache) == 1


def test_a_spec_whose_name_is_no_text(spec, cache):
    odd = spec.with_name("a\udcff.toml")
    spec.rename(odd)
    assert likeness("generate", odd, "a", cache=cache) == 0
    assert Audit.open(cache, "a").manifest["sources"][0]["label"] == "generate a\ufffd.toml"


@pytest.mark.parametrize(
    ("column", "values", "kind", "words"),
    [
        ("gender", None, None, "no column 'gender'"),
        ("ethnicity", None, None, "no column 'ethnicity'"),
        ("tone", [1] * 9, None, "'tone' has another type"),
        ("tone", [["dark"]] * 9, None, "'tone' has another type"),
        ("tone", ["dark"] * 9, pa.large_string(), "'tone' has another type"),
        ("tone", ["dark"] * 8 + [None], None, "'tone' has gaps"),
        ("tones", ["dark"] * 9, None, "an unknown column 'tones'"),
    ],
)
def test_only_a_later_axis_may_lack(folder, column, values, kind, words):
    replaced(folder, TABLE, column, values, kind)
    refused(folder, TABLE, words)


def test_a_table_from_before_the_tones_is_opened_and_goes_on(folder, spec, endpoint):
    replaced(folder, TABLE, "tone", None)
    audit = Audit(folder)
    used(audit)
    assert set(audit.generations["tone"]) == {"unspecified"}
    endpoint.asked.clear()
    endpoint.usual = "image"
    spec.write_text(spec.read_text().replace('"artist"]', '"artist", "CEO"]'))
    assert likeness("generate", spec, "a", cache=folder.parent) == 0
    assert len(endpoint.asked) == 6
    assert "tone" in pq.read_schema(folder / TABLE).names


def test_a_part_from_before_the_tones_goes_on(spec, cache, endpoint, monkeypatch):
    monkeypatch.setattr(AuditWriter, "finish", lambda *arguments: None)
    likeness("generate", spec, "a", "--shard-rows", 4, cache=cache)
    monkeypatch.undo()
    for path in (cache / "a" / "pending").glob("part-*"):
        pq.write_table(pq.read_table(path).drop_columns(["tone"]), path)
    endpoint.asked.clear()
    assert likeness("generate", spec, "a", cache=cache) == 0
    assert len(endpoint.asked) == 1  # the shard that had not ended
    assert set(Audit.open(cache, "a").generations["tone"]) == {"unspecified"}


FIRST = json.dumps(SOURCE)
JOURNALS = {
    "nothing": "",
    "bytes": b"\xff\xfe\x00",
    "deep": FIRST + "\n" + "[" * 100_000,
    "number": FIRST + "\n" + "9" * 5000,
    "object": FIRST + '\n{"a": 1}\nnull\n7\n"abc"',
    "kinds": FIRST + '\n[["a"], "failed", "r"]\n["a", null, "r"]\n["a", "failed", 7]\n["a", "failed"]',
    "words": FIRST + '\n["a", "noted", "r"]\n["a", "", "r"]\n["a", "\\u001b[2J", "r"]',
    "letters": FIRST + '\n["\\ud800", "failed", "r"]\n["a", "failed", "\\udfff"]\n["\\ud83d", "failed", "\\ude00"]',
    "other": '"x"\n["a", "failed", "r"]',
}


@pytest.mark.parametrize("name", JOURNALS)
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_journals_of_a_stranger(spec, cache, name, first):
    if not first:
        assert likeness("generate", spec, "a", cache=cache) == 0
    path = cache / "a" / "pending" / "journal.jsonl"
    path.parent.mkdir(parents=True)
    text = JOURNALS[name]
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert likeness("generate", spec, "a", "--dry-run", cache=cache) == 0
    assert likeness("generate", spec, "a", cache=cache) == 0
    audit = Audit.open(cache, "a")
    used(audit)
    assert len(audit) == 9
    assert [words.split(":")[0] for words in outcomes(audit).values()] == ["filtered"] * 3


def test_a_journal_that_is_no_file(spec, cache, capsys):
    (cache / "a" / "pending" / "journal.jsonl").mkdir(parents=True)
    assert likeness("generate", spec, "a", cache=cache) == 1
    assert "Error: cannot write " in capsys.readouterr().err


def test_a_report_of_a_stranger_moves_no_terminal(folder, spec, capsys):
    with AuditWriter(folder.parent, "a", SOURCE) as writer:
        Journal(writer.journal.path, SOURCE).add("x\x1b[2J", "failed", "\x1b]0;title\x07")
    assert likeness("generate", spec, "a", cache=folder.parent) == 0
    told = capsys.readouterr().out
    assert "failed: x[2J: ]0;title" in told
    assert "\x1b" not in told


def test_links_stop_a_dry_run(spec, cache, tmp_path, capsys):
    outside = tmp_path / "outside"
    assert likeness("generate", spec, "a", cache=cache) == 0
    shutil.copytree(cache / "a", outside)
    (cache / "b").mkdir()
    (cache / "b" / "pending").symlink_to(outside)
    capsys.readouterr()
    assert likeness("generate", spec, "b", "--dry-run", cache=cache) == 1
    assert "pending is a link" in capsys.readouterr().err
