"""Stages: what is missing or stale is computed, and only that."""

import dataclasses

import numpy as np
import pytest
from samples import grown, imported, likeness, write

from backend import build as building
from backend.build import build, status
from backend.metrics.colour import colourfulness
from backend.pictures import read_pixels
from backend.store import Audit


def stage_row(cache, name="colourfulness"):
    return next(row for row in status(Audit.open(cache, "a")) if row["stage"] == name)


@pytest.fixture
def calls(monkeypatch, no_faces):
    """The rows on which a stage was computed, in place of the real stages; the value is twice the row."""
    rows = []

    def value(audit, row):
        rows.append(row)
        return float("nan") if row == 5 else row * 2.0

    stage = building.Stage("doubled", value, {"version": 1}, ("numpy",))
    monkeypatch.setattr(building, "STAGES", (stage,))
    return rows


def test_colourfulness_of_every_image(source, cache, capsys):
    audit = imported(source, cache, "--shard-rows", 5)
    assert audit.measure("colourfulness") is None
    assert stage_row(cache)["state"] == "missing"
    assert likeness("build", "a", "--workers", 2, cache=cache) == 0
    assert "Ran colourfulness, faces, averages." in capsys.readouterr().out
    audit = Audit.open(cache, "a")
    expected = [colourfulness(read_pixels(audit.image(row)[0])) for row in range(12)]
    assert list(audit.measure("colourfulness")) == expected
    entry = audit.manifest["stages"]["colourfulness"]
    assert entry["rows"] == 12
    assert set(entry["versions"]) == {"pillow", "numpy"}
    assert stage_row(cache)["state"] == "done"
    assert not (cache / "a" / "measures" / "colourfulness.parts").exists()
    assert likeness("build", "a", cache=cache) == 0
    assert capsys.readouterr().out == "Every stage is up to date.\n"


def test_only_new_shards_are_computed_again(source, cache, calls):
    before = imported(source, cache, "--shard-rows", 5)
    assert build(cache, "a", 2) == ["doubled"]
    assert sorted(calls) == list(range(12))
    calls.clear()
    grown(source)
    imported(source, cache, "--shard-rows", 5)
    assert stage_row(cache, "doubled")["state"] == "stale"
    assert Audit.open(cache, "a").measure("doubled") is None
    assert build(cache, "a", 2) == ["doubled"]
    assert sorted(calls) == [12, 13, 14]
    after = Audit.open(cache, "a").measure("doubled")
    assert np.array_equal(after, [2.0 * row if row != 5 else np.nan for row in range(15)], equal_nan=True)
    assert build(cache, "a", 2) == []
    assert len(before.measure("doubled") if "doubled" in before.manifest["stages"] else after[:12]) == 12


def test_an_audit_opened_before_keeps_its_rows(source, cache, calls):
    imported(source, cache)
    build(cache, "a", 2)
    before = Audit.open(cache, "a")
    grown(source)
    imported(source, cache)
    build(cache, "a", 2)
    assert len(before.measure("doubled")) == len(before) == 12


def test_other_parameters_make_a_stage_stale(source, cache, calls, monkeypatch):
    imported(source, cache, "--shard-rows", 5)
    build(cache, "a", 2)
    calls.clear()
    changed = dataclasses.replace(building.STAGES[0], parameters={"version": 2})
    monkeypatch.setattr(building, "STAGES", (changed,))
    assert stage_row(cache, "doubled")["state"] == "stale"
    assert build(cache, "a", 2) == ["doubled"]
    assert len(calls) == 12


@pytest.mark.parametrize("damage", [None, b"", b"\x93NUMPY half"])
def test_a_build_that_is_stopped_goes_on(source, cache, calls, monkeypatch, damage):
    imported(source, cache, "--shard-rows", 4)
    whole = building.STAGES[0]

    def value(audit, row):
        if row >= 8:
            raise KeyboardInterrupt
        return whole.value(audit, row)

    monkeypatch.setattr(building, "STAGES", (dataclasses.replace(whole, value=value),))
    assert likeness("build", "a", "--workers", 2, cache=cache) == 130
    assert stage_row(cache, "doubled")["state"] == "missing"
    assert sorted(calls) == list(range(8))
    if damage is not None:
        parts = sorted((cache / "a" / "measures" / "doubled.parts").glob("*.npy"))
        parts[0].write_bytes(damage)
    calls.clear()
    monkeypatch.setattr(building, "STAGES", (whole,))
    assert build(cache, "a", 2) == ["doubled"]
    assert len(calls) == (4 if damage is None else 8)
    assert np.nansum(Audit.open(cache, "a").measure("doubled")) == 2 * sum(range(12)) - 10


def test_a_full_disk_in_a_build(source, cache, calls, monkeypatch, capsys):
    imported(source, cache, "--shard-rows", 4)
    real = np.save

    def save(file, values):
        if values[0] >= 8:
            raise OSError(28, "No space left on device")
        real(file, values)

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", save)
        assert likeness("build", "a", "--workers", 1, cache=cache) == 1
    assert "No space left on device. What was finished before is safe" in capsys.readouterr().err
    calls.clear()
    assert build(cache, "a", 1) == ["doubled"]
    assert sorted(calls) == list(range(4, 12))


def test_progress_counts_every_row(source, cache, calls):
    imported(source, cache, "--shard-rows", 5)
    seen = []
    build(cache, "a", 2, lambda stage, total: lambda rows: seen.append((stage, total, rows)))
    assert seen == [("doubled", 12, 5), ("doubled", 12, 5), ("doubled", 12, 2)]


def test_status_prints_every_stage(source, cache, capsys):
    imported(source, cache)
    capsys.readouterr()
    assert likeness("status", "a", cache=cache) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("a: 12 images, 2 systems, in ")
    assert [line.split()[:3] for line in lines[2:7]] == [
        ["images", "done", "12"],
        ["thumbnails", "done", "12"],
        ["colourfulness", "missing", "0"],
        ["faces", "missing", "0"],
        ["averages", "missing", "0"],
    ]
    assert lines[7] == "Every file matches the manifest's hash."


def test_an_audit_that_is_not_there(cache, capsys):
    for command in ("build", "status"):
        assert likeness(command, "nothing", cache=cache) == 1
        assert "holds no audit: make one with `python -m backend import SOURCE nothing`" in capsys.readouterr().err
    assert list(cache.iterdir()) == []


def test_a_damaged_measure_is_found(source, cache, capsys):
    imported(source, cache)
    build(cache, "a", 2)
    write(cache / "a" / "measures" / "colourfulness.parquet", b"PAR1")
    assert likeness("build", "a", cache=cache) == 1
    assert "measures/colourfulness.parquet is damaged" in capsys.readouterr().err
