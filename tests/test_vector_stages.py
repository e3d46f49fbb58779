"""Regions and maps of an audit, through the command line and `build`."""

import shutil

import numpy as np
import pytest
from samples import likeness
from vectors import built_regions, clustered, identity_audit, saved

from backend.build import build
from backend.quality import REFITS
from backend.store import Audit
from backend.store.files import commit, read_manifest


def test_regions_of_an_audit(ids, cache, capsys):
    assert build(cache, "ids", 1, ks=(6, 3)) == ["colourfulness", "regions-mine", "map-mine"]
    audit = Audit.open(cache, "ids")
    assert audit.vectors.choices() == [("mine", 3), ("mine", 6)]
    found = audit.vectors.regions("mine", 6)
    identities = audit.rows(subset="identities")
    assert (found.member[identities] >= 0).all()
    assert (np.delete(found.member, identities) == -1).all()
    assert found.region.min() >= 0
    assert [region.size for region in found.summary.regions] == [8] * 6
    for number, region in enumerate(found.summary.regions):
        rows = np.flatnonzero(found.member == number)
        told = {axis: dict(pairs) for axis, pairs in region.phrases.items()}
        for axis in ("gender", "ethnicity", "tone"):
            assert told[axis] == audit.generations[axis].iloc[rows].astype(str).value_counts().to_dict()
        assert region.systems == {"A": 4, "B": 4}
        assert set(region.central) == set(rows)
        assert region.top("gender", 1) == [str(audit.generations["gender"].iat[rows[0]])]
    quality = found.summary.quality
    assert (quality.entropy, quality.prompts, quality.stability, quality.own) == (0, 6, 1, 1)
    assert quality.refits == REFITS
    coarse = audit.vectors.regions("mine", 3).summary.quality
    assert coarse.entropy == 0
    assert found.summary.notes == ()
    entry = audit.manifest["stages"]["regions-mine-6"]
    assert entry["inputs"] == audit.vectors.inputs("mine")
    assert set(entry["versions"]) == {"numpy", "scipy", "scikit-learn"}
    assert build(cache, "ids", 1, ks=(6, 3)) == []
    assert likeness("status", "ids", cache=cache) == 0
    assert "regions-mine-6" in capsys.readouterr().out


def test_a_build_gives_the_same_bytes_again(ids, cache):
    build(cache, "ids", 1)
    files = sorted(path for path in (cache / "ids" / "regions").iterdir())
    assert len(files) == 9
    before = [path.read_bytes() for path in files]
    [path.unlink() for path in files]
    known = read_manifest(cache / "ids")
    known["stages"] = {name: entry for name, entry in known["stages"].items() if not name.startswith("regions")}
    known["files"] = {name: entry for name, entry in known["files"].items() if not name.startswith("regions")}
    commit(cache / "ids", known, [])
    assert build(cache, "ids", 2) == ["regions-mine"]
    assert [path.read_bytes() for path in files] == before


def test_what_an_audit_does_not_allow_is_said_and_the_rest_is_done(ids, cache, capsys):
    assert likeness("build", "ids", "--k", 49, cache=cache) == 1
    error = capsys.readouterr().err
    assert "the regions of mine: 48 identities cannot make 49 regions: generate more, or give --k 48" in error
    assert likeness("build", "ids", "--k", 48, cache=cache) == 0
    small = identity_audit(cache, "few", each=1)
    likeness("import-embedding", "few", "mine", saved(cache / "few.npy", clustered(small)), cache=cache)
    capsys.readouterr()
    assert likeness("build", "few", cache=cache) == 0
    out = capsys.readouterr().out
    assert "12 identities cannot make 24 regions" in out
    assert "12 identities cannot make 48 regions" in out
    assert Audit.open(cache, "few").vectors.choices() == [("mine", 12)]


def test_vectors_that_are_all_alike(ids, cache, capsys):
    likeness("import-embedding", "ids", "flat", saved(cache / "flat.npy", np.ones((64, 4), "float32")), cache=cache)
    capsys.readouterr()
    assert likeness("build", "ids", cache=cache) == 0
    out = capsys.readouterr().out
    assert "the regions of flat: the identities' vectors are all alike" in out
    assert {name for name, _ in Audit.open(cache, "ids").vectors.choices()} == {"mine"}


def test_one_system_and_systems_without_identities_are_told(cache, tmp_path, no_map, no_faces, no_neighbours):
    audit = identity_audit(cache, "one", systems=("A",))
    likeness("import-embedding", "one", "mine", saved(tmp_path / "v.npy", clustered(audit)), cache=cache)
    build(cache, "one", 1, ks=(3,))
    vectors = Audit.open(cache, "one").vectors
    assert vectors.regions("mine", 3).summary.notes == (
        "All identities come from one system (A): the regions are those of its pictures alone.",
    )
    assert "one system (A)" in Audit.open(cache, "one").manifest["stages"]["regions-mine-3"]["note"]


def test_a_sample_is_told_in_the_manifest(ids, cache, monkeypatch):
    monkeypatch.setattr("backend.regions.MOST_IDENTITIES", 30)
    build(cache, "ids", 1, ks=(3,))
    audit = Audit.open(cache, "ids")
    assert "sample of 30 of the 48 identities" in audit.manifest["stages"]["regions-mine-3"]["note"]
    found = audit.vectors.regions("mine", 3)
    assert (found.member >= 0).sum() == sum(region.size for region in found.summary.regions) == 30


@pytest.fixture(scope="module")
def lending(embedded_ids, tmp_path_factory):
    """The audits that `without` copies."""
    cache = tmp_path_factory.mktemp("lending")
    built_regions(embedded_ids, cache, (3, 6))
    file = saved(cache / "none.npy", clustered(identity_audit(cache, "none", each=1, identities=False)))
    likeness("import-embedding", "none", "mine", file, "--made-by", "a model", cache=cache)
    return cache


@pytest.fixture
def without(lending, cache, no_map, no_faces, no_neighbours):
    """An audit of four images without identities, with an embedding of the same model; `ids` has been built."""
    for name in ("ids", "none"):
        shutil.copytree(lending / name, cache / name)
    return lending / "none.npy"


def test_an_audit_without_identities_says_what_is_missing(without, cache, capsys):
    assert likeness("build", "none", cache=cache) == 0
    out = capsys.readouterr().out
    assert out.count("the regions of mine: the audit has no identities") == 1
    assert "--regions-from AUDIT" in out


def test_borrowed_regions(without, cache, capsys):
    assert likeness("build", "none", "--regions-from", "ids", cache=cache) == 0
    ours, theirs = (Audit.open(cache, name).vectors.regions("mine", 6) for name in ("none", "ids"))
    assert (ours.centroids == theirs.centroids).all()
    assert (ours.member == -1).all()
    assert ours.summary.borrowed == "ids"
    assert ours.summary.notes[0].startswith("Borrowed from the audit ids: ")
    assert [region.phrases for region in ours.summary.regions] == [r.phrases for r in theirs.summary.regions]
    assert sorted(row for region in ours.summary.regions for row in region.central) == [0, 1, 2, 3]
    audit = Audit.open(cache, "none")
    assert audit.vectors.choices() == [("mine", 3), ("mine", 6)]
    assert audit.vectors.map("mine").shape == (4, 2)
    capsys.readouterr()
    assert likeness("build", "none", cache=cache) == 0
    assert Audit.open(cache, "none").vectors.choices() == [("mine", 3), ("mine", 6)]
    assert likeness("build", "none", "--regions-from", "ids", cache=cache) == 0
    assert capsys.readouterr().out.endswith("Every stage is up to date.\n")


@pytest.mark.parametrize(
    ("made_by", "width", "lender", "options", "words"),
    [
        ("another", 16, "ids", (), "differ in the embedding's fingerprint"),
        ("a model", 15, "ids", (), "differ in the embedding's width"),
        ("", 16, "ids", (), "nothing says what model made the vectors"),
        ("a model", 16, "none", (), "cannot borrow regions from itself"),
        ("a model", 16, "nobody", (), "holds no audit"),
        ("a model", 16, "ids", ("--k", 5), "ids has no 5 regions of mine to borrow (there are: 3, 6)"),
    ],
)
def test_regions_that_cannot_be_borrowed(without, cache, capsys, made_by, width, lender, options, words):
    file = saved(cache / "other.npy", np.load(without)[:, :width])
    said = ("--made-by", made_by) if made_by else ()
    likeness("import-embedding", "none", "mine", file, *said, cache=cache)
    capsys.readouterr()
    assert likeness("build", "none", "--regions-from", lender, *options, cache=cache) == 1
    assert words in capsys.readouterr().err


def test_names_and_numbers_on_the_command_line(cache, capsys):
    for command in (("embed", "a", "--name", "../x"), ("embed", "a", "--model", "x"), ("build", "a", "--k", "1")):
        with pytest.raises(SystemExit) as stop:
            likeness(*command, cache=cache)
        assert stop.value.code == 2
    identity_audit(cache)
    capsys.readouterr()
    assert likeness("build", "ids", "--k", 3, cache=cache) == 1
    assert "ids has no embedding yet: make one with `python -m backend embed ids`" in capsys.readouterr().err
    assert likeness("embed", "ids", "--model", "clip", cache=cache) == 1
    assert "hf download openai/clip-vit-base-patch32" in capsys.readouterr().err
