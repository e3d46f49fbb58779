"""The command line: its exit statuses, its sentences, and what signals and other processes do to it."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from samples import PORTRAITS, ROOT, imported, likeness, outcomes, png, process, state, write

from backend.__main__ import main
from backend.store import Audit, audit_names


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["paint"],
        ["import"],
        ["import", "x"],
        ["import", "x", "a", "--workers", "0"],
        ["import", "x", "a", "--workers", "two"],
        ["import", "x", "a", "--workers", "²"],
        ["import", "x", "a", "--shard-rows", "-1"],
        ["import", "x", "a", "--max-megapixels", "179"],
        ["import", "x", "a", "--colour"],
        ["generate", "x"],
        ["generate", "x", "a", "--limit-per-prompt", "0"],
        ["generate", "x", "a", "--shard-rows", "many"],
        ["status"],
        ["build", "a", "b"],
    ],
)
def test_wrong_arguments_exit_2(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: python -m backend" in capsys.readouterr().err


@pytest.mark.parametrize("command", [(), ("import",), ("generate",), ("build",), ("status",)])
def test_help(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    assert "usage: python -m backend" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["import", ".", "../a"], "'../a' is no audit name"),
        (["status", "a b"], "'a b' is no audit name"),
        (["import", ".", "a", "--map", "model"], "--map model: write COLUMN=FIELD"),
        (["import", ".", "a", "--map", "model=brand"], "FIELD one of system, profession"),
    ],
)
def test_wrong_names_exit_1_with_a_sentence(arguments, words, cache, capsys):
    assert likeness(*arguments, cache=cache) == 1
    assert words in capsys.readouterr().err
    assert list(cache.iterdir()) == []


def test_the_report_on_the_terminal(source, cache, capsys):
    for number in range(25):
        write(source / f"bad_{number}.png", b"x")
    imported(source, cache)
    out = capsys.readouterr().out
    assert "Read 37 items: 12 added to a, 0 there already, 25 left out." in out
    assert out.count("left out: bad_") == 20
    assert "and 5 more; the audit's import_report.parquet and its About tab list all." in out
    imported(source, cache)
    assert "0 added to a, 12 there already, 25 left out." in capsys.readouterr().out


def test_a_terminal_that_lacks_a_letter(source, cache):
    write(source / "看護師.png", png(50))
    work = process("import", source, "a", cache=cache, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    out, error = work.communicate(timeout=60)
    assert work.returncode == 0, error
    assert "left out: ???.png" in out
    assert "看護師.png" in outcomes(Audit.open(cache, "a"))


def many(tmp_path, count=3000):
    """A source that takes some seconds to import."""
    for number in range(count):
        write(tmp_path / f"many/S/nurse/{number}.png", png(number, (4, 4)))
    return tmp_path / "many"


def wait_for_parts(cache, parts):
    deadline = time.monotonic() + 60
    while len(list(cache.glob("a/pending/*.parquet"))) < parts:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_two_imports_into_one_name_and_an_interrupt(tmp_path, source, cache, capsys):
    folder = many(tmp_path)
    work = process("import", folder, "a", "--shard-rows", 50, "--workers", 2, cache=cache)
    wait_for_parts(cache, 1)
    work.send_signal(signal.SIGSTOP)
    assert likeness("import", source, "a", cache=cache) == 1
    error = capsys.readouterr().err
    assert f"another process is writing {cache / 'a'}: wait until it has ended, or choose another name" in error
    work.send_signal(signal.SIGCONT)
    work.send_signal(signal.SIGINT)
    _, error = work.communicate(timeout=60)
    assert work.returncode == 130, error
    assert "Stopped. What was finished is kept; run the same command again to go on." in error
    assert "Traceback" not in error
    assert audit_names(cache) == []
    audit = imported(folder, cache, "--shard-rows", 1000)
    assert len(audit) == 3000
    assert "Going on after an interrupted import" in capsys.readouterr().out
    assert audit.check() == []


@pytest.mark.skipif(not PORTRAITS.is_dir(), reason="../shared/portraits is absent: its images may not be published")
@pytest.mark.parametrize("parts", [1, 5])
def test_an_import_that_is_killed_goes_on(tmp_path, parts):
    command = ("import", "../shared/portraits", "a", "--shard-rows", 50, "--workers", 2)
    cache = tmp_path / "cache"
    work = process(*command, cache=cache)
    wait_for_parts(cache, parts)
    work.kill()
    work.communicate()
    assert work.returncode == -signal.SIGKILL
    assert audit_names(cache) == []
    again = process(*command, cache=cache)
    out, error = again.communicate(timeout=60)
    assert again.returncode == 0, error
    there = int(re.search(r"Going on after an interrupted import: (\d+) images", out)[1])
    assert there >= 50 * parts
    assert f"{492 - there} added to a, {there} there already (of which {there} from the interrupted import)" in out
    whole = imported(ROOT.parent / "shared" / "portraits", tmp_path / "whole", "--shard-rows", 50)
    audit = Audit.open(cache, "a")
    assert state(audit) == state(whole)
    assert audit.check() == []
    assert audit.manifest["shards"] == whole.manifest["shards"]


@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_reader_that_stops_reading(tmp_path, cache, buffered):
    imported(write(tmp_path / "in" / "Alpha" / "nurse" / "1.png", png()).parents[2], cache)
    command = [sys.executable, "-m", "backend", "status", "a", "--cache", str(cache)]
    reader, writer = os.pipe()
    os.close(reader)
    more = {"stderr": subprocess.PIPE, "env": {**os.environ, "PYTHONUNBUFFERED": buffered}}
    done = subprocess.run(command, cwd=ROOT, stdout=writer, text=True, timeout=120, **more)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has /dev/full")
def test_an_output_that_is_full_or_closed(tmp_path, cache):
    imported(write(tmp_path / "in" / "Alpha" / "nurse" / "1.png", png()).parents[2], cache)
    command = f"{sys.executable} -m backend status a --cache {cache}"
    for end, status, words in ((">/dev/full", 1, "could not be written (No space left"), (">&-", 0, "")):
        shell = ["bash", "-c", f"{command} {end}"]
        more = {"stderr": subprocess.PIPE, "env": {**os.environ, "PYTHONUNBUFFERED": ""}}
        done = subprocess.run(shell, cwd=ROOT, text=True, timeout=120, **more)
        assert done.returncode == status and words in done.stderr and "Traceback" not in done.stderr
