"""Audits on the disk: what is added, how it is read, and how damage is found."""

import json
import os

import numpy as np
import pytest
from samples import grown, imported, likeness, outcomes, portrait_rows, write, write_csv

from backend.store import Audit, StoreError, audit_folder, audit_names
from backend.store import files as store_files


def test_a_second_import_adds_only_what_is_new(source, cache):
    before = imported(source, cache)
    ids = list(before.generations["id"])
    first = [before.thumbnail(row) for row in range(12)]
    grown(source)
    after = imported(source, cache)
    assert list(after.generations["id"])[:12] == ids
    assert list(after.generations["number"])[12:] == [4, 5, 6]
    assert list(after.generations["source"])[12:] == [f"A/nurse_{number}.png" for number in (10, 11, 12)]
    assert [after.thumbnail(row) for row in range(12)] == first
    assert len(after.manifest["shards"]) == 2
    assert [(s["added"], s["already"]) for s in after.manifest["sources"]] == [(12, 0), (3, 12)]
    assert imported(source, cache).manifest["shards"] == after.manifest["shards"]


def test_the_report_keeps_what_other_sources_left_out(source, tmp_path, cache):
    write(source / "stray.png", b"x")
    imported(source, cache)
    other = tmp_path / "elsewhere" / "source"
    write_csv(other, portrait_rows(other, ("C",), ("nurse",), 1))
    write(other / "odd.png", b"x")
    audit = imported(other, cache)
    assert set(outcomes(audit)) == {"stray.png", "odd.png"}
    assert [entry["label"] for entry in audit.manifest["sources"]] == ["source", "source (2)"]
    (source / "stray.png").unlink()
    assert set(outcomes(imported(source, cache))) == {"odd.png"}


def test_the_images_open_as_a_data_set(source, cache):
    import datasets

    audit = imported(source, cache, "--shard-rows", 5)
    stored = datasets.load_from_disk(str(audit.folder / "images"))
    assert len(stored) == 12
    assert stored[7]["image"].size == (24, 16)
    raw = stored.cast_column("image", datasets.Image(decode=False))[7]["image"]["bytes"]
    assert raw == audit.image(7)[0]


def test_reading_by_row_and_by_column(source, cache):
    audit = imported(source, cache, "--shard-rows", 5)
    assert [audit.row_of(name) for name in audit.generations["id"]] == list(range(12))
    assert audit.row_of("nothing") is None
    assert list(audit.rows(system="B", profession=["nurse", "cat"])) == [6, 7, 8]
    assert list(audit.rows(system="Z")) == []
    assert len(audit.rows()) == 12
    assert [end - start for start, end, _ in audit.shards()] == [5, 5, 2]
    assert audit_names(cache) == ["a"]
    assert audit_names(cache / "none") == []


@pytest.mark.parametrize("name", ["", ".", "..", "../a", "a/b", "a\\b", "a" * 65, "-a", "a b", "a\n", "é", ".lock"])
def test_names_that_are_no_audit_names(cache, name):
    with pytest.raises(StoreError, match="is no audit name"):
        audit_folder(cache, name)


def refused(cache, capsys, *words):
    """Every command says what is wrong, names the file and changes nothing."""
    for command in (("status", "a"), ("build", "a")):
        capsys.readouterr()
        assert likeness(*command, cache=cache) == 1
        error = capsys.readouterr().err
        assert error.startswith("Error: ")
        assert all(word in error for word in words), error
        assert "Restore" in error


@pytest.mark.parametrize("damage", ["empty", "half", "flipped", "array"])
def test_a_damaged_manifest(source, cache, capsys, damage):
    imported(source, cache)
    path = cache / "a" / "manifest.json"
    data = path.read_bytes()
    changed = data.replace(b'"added": 12', b'"added": 13')
    path.write_bytes({"empty": b"", "half": data[: len(data) // 2], "flipped": changed, "array": b"[]"}[damage])
    refused(cache, capsys, "manifest.json is damaged")
    assert likeness("import", source, "a", cache=cache) == 1


def test_a_manifest_of_a_later_format(source, cache, capsys):
    imported(source, cache)
    path = cache / "a" / "manifest.json"
    manifest = json.loads(path.read_text()) | {"format": 2}
    path.write_text(json.dumps(manifest | {"sha256": store_files._seal(manifest)}))
    assert likeness("status", "a", cache=cache) == 1
    assert "has format 2, and this version of Likeness reads format 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["generations.parquet", "import_report.parquet", "images/state.json"])
@pytest.mark.parametrize("damage", ["flipped", "truncated", "gone"])
def test_damaged_tables_are_found_on_opening(source, cache, capsys, name, damage):
    imported(source, cache)
    path = cache / "a" / name
    data = path.read_bytes()
    middle = len(data) // 2
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-9] if damage == "truncated" else data[:middle] + b"\x99" + data[middle + 1 :])
    refused(cache, capsys, name)


def test_a_truncated_shard_is_found_on_opening(source, cache, capsys):
    imported(source, cache)
    path = cache / "a" / "images" / "shard-00000.arrow"
    os.truncate(path, path.stat().st_size - 10)
    refused(cache, capsys, "shard-00000.arrow is damaged", "bytes instead of")


def test_a_flipped_byte_in_a_shard_is_found_by_status_and_build(source, cache, capsys):
    audit = imported(source, cache)
    path = cache / "a" / "images" / "shard-00000.arrow"
    data = bytearray(path.read_bytes())
    data[data.index(audit.image(5)[0]) + 40] ^= 1
    path.write_bytes(data)
    refused(cache, capsys, "shard-00000.arrow is damaged: its content does not match")
    assert len(Audit.open(cache, "a")) == 12


def test_damage_anywhere_in_a_shard_reads_as_bytes_or_raises_store_error(source, cache):
    imported(source, cache, "--shard-rows", 3)
    path = cache / "a" / "images" / "shard-00000.arrow"
    data = path.read_bytes()
    random = np.random.default_rng(5)
    for _ in range(60):
        changed = bytearray(data)
        for place in random.integers(0, 900, 3):
            changed[place] = random.integers(0, 256)
        path.unlink()  # a new file: the map of the one before must not change below it
        path.write_bytes(changed)
        try:
            audit = Audit.open(cache, "a")
            assert all(isinstance(audit.image(row)[0], bytes) for row in range(3))
        except StoreError as error:
            assert "shard-00000.arrow" in str(error)


def test_a_reader_that_meets_a_commit_sees_the_new_audit(source, cache, monkeypatch):
    imported(source, cache)
    grown(source)
    real, calls = store_files.check_files, []

    def check(*arguments, **options):
        calls.append(1)
        if len(calls) == 1:  # another process commits between the manifest and the tables
            with monkeypatch.context() as patch:
                patch.setattr("backend.store.reader.check_files", real)
                imported(source, cache)
        return real(*arguments, **options)

    monkeypatch.setattr("backend.store.reader.check_files", check)
    assert len(Audit.open(cache, "a")) == 15


@pytest.mark.parametrize("name", ["../outside.parquet", "/etc/passwd", "images/../../x"])
def test_a_manifest_that_points_outside_is_refused(source, cache, name):
    audit = imported(source, cache)
    manifest = {**audit.manifest, "files": {**audit.manifest["files"], name: {"bytes": 1, "sha256": "0"}}}
    manifest["sha256"] = store_files._seal(manifest)
    write(audit.folder / "manifest.json", json.dumps(manifest).encode())
    with pytest.raises(StoreError, match="outside its folder"):
        Audit.open(cache, audit.name)
