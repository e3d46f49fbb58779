"""Imports that are killed, that meet a full disk or a folder that cannot be written, or another import."""

import contextlib
import errno
import os
import shutil

import pyarrow.parquet as pq
import pytest
from samples import grown, imported, likeness, portrait_rows, python, state, write, write_csv, write_table

from backend.store import Audit, audit_names, writing
from backend.store.shards import ShardWriter


class KilledError(BaseException):
    """What no handler catches, as SIGKILL."""


def dies_at(monkeypatch, step):
    """Let the process "die" just before the step-th fsync or rename; returns the steps that were reached."""
    reached = []

    def wrap(name):
        real = getattr(os, name)

        def call(*arguments):
            reached.append(name)
            if len(reached) == step:
                raise KilledError
            return real(*arguments)

        monkeypatch.setattr(os, name, call)

    wrap("replace")
    wrap("fsync")
    return reached


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_a_kill_before_any_step_leaves_the_old_audit_or_the_new(source, cache, tmp_path, first):
    start = tmp_path / "start"
    start.mkdir()
    if not first:
        imported(source, start)
        grown(source)
    whole = tmp_path / "whole"
    shutil.copytree(start, whole)
    expected = state(imported(source, whole, "--shard-rows", 4))
    sizes = set()
    for step in range(1, 100):
        copy = tmp_path / f"step{step}"
        shutil.copytree(start, copy)
        with pytest.MonkeyPatch.context() as patch:
            reached = dies_at(patch, step)
            with contextlib.suppress(KilledError):
                likeness("import", source, "a", "--shard-rows", 4, cache=copy)
        if len(reached) < step:
            break
        if audit_names(copy):
            audit = Audit.open(copy, "a")
            assert audit.check() == []
            sizes.add(len(audit))
            [audit.thumbnail(row) for row in range(len(audit))]
        else:
            assert first
        assert state(imported(source, copy, "--shard-rows", 4)) == expected
    assert step > 12
    assert sizes == ({12} if first else {12, 15})


def test_a_kill_after_the_manifest_leaves_parts_that_are_not_counted_twice(source, cache, monkeypatch):
    def die(*arguments, **options):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        with pytest.raises(KilledError):
            likeness("import", source, "a", cache=cache)
    assert (cache / "a" / "pending" / "part-00000.parquet").is_file()
    assert len(Audit.open(cache, "a")) == 12
    grown(source)
    audit = imported(source, cache)
    assert len(audit) == audit.generations["id"].nunique() == 15


def interrupted(source, cache, patch, shards=2):
    """An import that dies before its commit, with finished shards of four images each."""
    dies_at(patch, 4 * shards + 1)
    with pytest.raises(KilledError):
        likeness("import", source, "a", "--shard-rows", 4, cache=cache)
    patch.undo()
    assert len(list((cache / "a" / "pending").glob("*.parquet"))) == shards


@pytest.mark.parametrize("damage", ["part", "shard", "none"])
def test_an_interrupted_import_goes_on_from_what_is_whole(source, cache, tmp_path, monkeypatch, capsys, damage):
    expected = state(imported(source, tmp_path / "whole", "--shard-rows", 4))
    interrupted(source, cache, monkeypatch)
    if damage == "part":
        (cache / "a" / "pending" / "part-00001.parquet").write_bytes(b"PAR1")
    if damage == "shard":
        os.truncate(cache / "a" / "images" / "shard-00001.arrow", 100)
    capsys.readouterr()
    assert state(imported(source, cache, "--shard-rows", 4)) == expected
    there = 8 if damage == "none" else 4
    told = capsys.readouterr().out
    assert "Dropped" not in told
    assert f"Going on after an interrupted import: {there} images there already." in told


def test_an_interrupted_import_of_another_source_is_dropped(source, cache, tmp_path, monkeypatch, capsys):
    interrupted(source, cache, monkeypatch)
    other = tmp_path / "other"
    write_csv(other, portrait_rows(other, ("C",), ("nurse",), 2))
    audit = imported(other, cache)
    assert "Dropped 8 images of an interrupted import of another source." in capsys.readouterr().out
    assert set(audit.generations["system"]) == {"C"}
    assert sorted(path.name for path in (cache / "a" / "images").glob("shard*")) == ["shard-00000.arrow"]


def test_leftover_files_of_a_commit_that_never_was(source, cache):
    expected = state(imported(source, cache))
    for name in ("generations.parquet.next", "images/shard-00007.arrow.next", "manifest.json.next"):
        write(cache / "a" / name, b"half of it")
    assert state(Audit.open(cache, "a")) == expected
    assert not (cache / "a" / "manifest.json.next").exists()
    assert state(imported(source, cache)) == expected


@pytest.mark.parametrize("where", ["shard", "table"])
def test_a_full_disk(source, cache, tmp_path, monkeypatch, capsys, where):
    expected = state(imported(source, tmp_path / "whole", "--shard-rows", 4))
    calls = []

    def full(real):
        def write_some(*arguments, **options):
            calls.append(1)
            if len(calls) > 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments, **options)

        return write_some

    with monkeypatch.context() as patch:
        if where == "shard":
            patch.setattr(ShardWriter, "_flush", full(ShardWriter._flush))
        else:
            patch.setattr("backend.store.writer.pq.write_table", full(pq.write_table))
        assert likeness("import", source, "a", "--shard-rows", 4, cache=cache) == 1
    error = capsys.readouterr().err
    assert "No space left on device. What was finished before is safe; make room" in error
    assert audit_names(cache) == []
    assert state(imported(source, cache, "--shard-rows", 4)) == expected
    assert "8 images there already" in capsys.readouterr().out


LIMITED = """
import resource, sys
from backend.__main__ import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


def test_a_disk_that_really_takes_no_more(source, cache):
    for number in range(6):
        write(source / f"A/nurse_{number}.png", (source / "A/nurse_0.png").read_bytes() + bytes([number]) * 20_000)
    command = ("import", source, "a", "--shard-rows", 3, "--cache", cache)
    write(source / "B/nurse_2.png", (source / "B/nurse_1.png").read_bytes() + bytes(600_000))
    done = python(LIMITED, 500_000, *command)
    assert done.returncode == 1, done.stderr
    assert "File too large. What was finished before is safe" in done.stderr
    assert "Traceback" not in done.stderr
    assert audit_names(cache) == []
    done = python(LIMITED, 50_000_000, *command)
    assert done.returncode == 0, done.stderr
    assert "Going on after an interrupted import: 6 images" in done.stdout
    assert Audit.open(cache, "a").check() == []


@contextlib.contextmanager
def nobody():
    """Work as a user whom file modes stop: root is stopped by none."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_cache(tmp_path_factory):
    """A cache folder that every user can reach, made unwritable and unmade again."""
    folder = tmp_path_factory.mktemp("open")
    above = [path for path in (folder, *folder.parents) if not path.stat().st_mode & 0o001]
    modes = [path.stat().st_mode for path in above]
    for path in above:
        path.chmod(0o755)
    yield folder
    for path, mode in zip(above, modes, strict=True):
        path.chmod(mode)


def test_a_cache_that_cannot_be_written(source, open_cache, capsys):
    imported(source, open_cache)
    grown(source)
    parents = [source, source.parent, *(path for path in source.rglob("*") if path.is_dir())]
    for path in parents:
        path.chmod(0o755)
    for path in [open_cache, *open_cache.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    capsys.readouterr()
    with nobody():
        assert likeness("import", source, "b", cache=open_cache) == 1
        assert "Permission denied. What was finished before is safe; make room or make" in capsys.readouterr().err
        assert likeness("import", source, "a", cache=open_cache) == 1
        error = capsys.readouterr().err
        assert f"cannot write {open_cache}" in error
        assert "--cache" in error
        assert likeness("build", "a", cache=open_cache) == 1
        assert "cannot write" in capsys.readouterr().err
        assert likeness("status", "a", cache=open_cache) == 0
        assert "Every file matches" in capsys.readouterr().out
        audit = Audit.open(open_cache, "a")
        assert len(audit.thumbnail(11)) > 0
    for path in [open_cache, *open_cache.rglob("*")]:
        path.chmod(0o755)
    assert len(imported(source, open_cache)) == 15


def test_files_that_cannot_be_read(source, open_cache, capsys):
    imported(source, open_cache)
    audit = open_cache / "a"
    for path in audit.rglob("*"):
        path.chmod(0o755)
    for name in ("manifest.json", "generations.parquet"):
        (audit / name).chmod(0o000)
        with nobody():
            assert likeness("status", "a", cache=open_cache) == 1
            assert audit_names(open_cache) == ["a"]
        assert f"{name} cannot be read (Permission denied)" in capsys.readouterr().err
        (audit / name).chmod(0o644)
    audit.chmod(0o000)
    with nobody():
        assert audit_names(open_cache) == []
        assert likeness("status", "a", cache=open_cache) == 1
    assert capsys.readouterr().err.startswith("Error: ")
    audit.chmod(0o755)


@pytest.mark.parametrize("place", ["cache", "name"])
def test_a_file_where_a_folder_should_be(source, cache, capsys, place):
    where = write(cache / "a", b"") if place == "name" else write(cache / "file", b"")
    target = cache if place == "name" else where
    assert likeness("import", source, "a", cache=target) == 1
    assert capsys.readouterr().err.startswith("Error: cannot write ")


def test_an_audit_that_is_being_written(source, cache, capsys):
    imported(source, cache)
    with writing(cache / "a"):
        for command in (("import", source, "a"), ("build", "a")):
            assert likeness(*command, cache=cache) == 1
            assert "another process is writing" in capsys.readouterr().err
        assert likeness("status", "a", cache=cache) == 0


@pytest.mark.parametrize("stop", ["nothing", "damaged"])
def test_a_first_import_that_keeps_nothing_leaves_nothing(tmp_path, cache, stop):
    write(tmp_path / "s/S/nurse/a.png", b"no picture")
    if stop == "damaged":
        write_table(tmp_path / "s/t.parquet", image=[{"bytes": b"x"}], system=["S"], profession=["nurse"])
    assert likeness("import", tmp_path / "s", "a", cache=cache) == 1
    assert list(cache.iterdir()) == []


def test_what_others_put_into_the_folder_of_an_import_stays(tmp_path, cache):
    write(tmp_path / "s/S/nurse/a.png", b"no picture")
    mine = write(cache / "a" / "mine.txt", b"mine")
    assert likeness("import", tmp_path / "s", "a", cache=cache) == 1
    assert [path for path in cache.rglob("*") if path.is_file()] == [mine]
