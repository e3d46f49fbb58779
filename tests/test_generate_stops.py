"""Generation that is killed, interrupted, or meets a full disk: the same audit in the end, and nothing asked twice."""

from __future__ import annotations

import signal
import time

from samples import likeness, outcomes, process, state
from specs import api, generated, write_spec

from backend.ingest import AHEAD
from backend.store import Audit, audit_names
from backend.store.journal import Journal


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def parts(cache):
    return len(list(cache.glob("a/pending/part*.parquet")))


def test_killed_twice_and_resumed_to_the_same_audit(spec, endpoint, cache, tmp_path):
    endpoint.usual = lambda body: "filtered" if body["seed"] % 5 == 0 else "image"
    whole = generated(spec, tmp_path / "whole")
    lost, reasons = len(endpoint.asked) - len(whole), outcomes(whole)
    assert lost
    assert set(outcomes(whole).values()) == {
        "filtered: HTTP 400: content_policy_violation Rejected by our safety system."
    }
    endpoint.asked, endpoint.pause = [], 0.03
    for finished in (1, 3):
        work = process("generate", spec, "a", "--shard-rows", 3, cache=cache)
        wait_for(lambda enough=finished: parts(cache) >= enough)
        work.kill()
        _, error = work.communicate()
        assert work.returncode == -signal.SIGKILL, error
        assert audit_names(cache) == []
    endpoint.pause = 0
    work = process("generate", spec, "a", "--shard-rows", 3, cache=cache)
    out, error = work.communicate(timeout=60)
    assert work.returncode == 0, error
    assert "Going on after an interrupted run: " in out
    audit = Audit.open(cache, "a")
    assert state(audit) == state(whole)
    assert audit.check() == []
    assert outcomes(audit) == reasons
    filtered = [body for body in endpoint.asked if body["seed"] % 5 == 0]
    assert len(filtered) <= lost + 2  # what was under way when a kill came is asked again, what was known is not


def test_an_interrupt_keeps_every_image(spec, endpoint, cache, tmp_path):
    endpoint.pause = 0.03
    work = process("generate", spec, "a", cache=cache)
    wait_for(lambda: len(endpoint.asked) > 8)
    work.send_signal(signal.SIGINT)
    _, error = work.communicate(timeout=60)
    assert work.returncode == 130, error
    assert "Stopped. What was finished is kept; run the same command again to go on." in error
    assert "Traceback" not in error
    assert parts(cache) == 1
    assert audit_names(cache) == []
    assert likeness("generate", spec, "a", "--dry-run", cache=cache) == 0
    endpoint.pause = 0
    audit = generated(spec, cache)
    assert len(audit) == 24
    assert len(endpoint.asked) <= 24 + AHEAD + 1
    assert state(audit) == state(generated(spec, tmp_path / "whole"))


def test_another_spec_takes_over_what_an_interrupted_run_left(spec, endpoint, cache, tmp_path):
    endpoint.pause = 0.02
    work = process("generate", spec, "a", "--shard-rows", 2, cache=cache)
    wait_for(lambda: parts(cache) >= 2)
    work.kill()
    work.communicate()
    there = 2 * parts(cache)
    endpoint.asked, endpoint.pause = [], 0
    other = write_spec(tmp_path, api(endpoint, "C"), name="other.toml")
    assert len(generated(other, cache)) == there + 12
    assert len(endpoint.asked) == 12
    assert len(generated(spec, cache)) == 36


def test_a_full_disk(spec, endpoint, cache, monkeypatch, capsys):
    real, calls = Journal.add, []

    def add(self, *entry):
        calls.append(entry)
        if len(calls) > 2:
            raise OSError(28, "No space left on device")
        real(self, *entry)

    endpoint.usual = lambda body: "filtered" if "honest" in body["prompt"] else "image"
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "add", add)
        assert likeness("generate", spec, "a", cache=cache) == 1
    assert "No space left on device. What was finished before is safe; make room" in capsys.readouterr().err
    assert len(generated(spec, cache)) == 12


def test_a_journal_cut_short(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "s")
    journal.add("a\n", "failed", "é")
    journal.add("b", "filtered", "r")
    assert Journal(path, "s").entries == [("a\n", "failed", "é"), ("b", "filtered", "r")]
    path.write_bytes(path.read_bytes()[:-5])
    Journal(path, "s").add("c", "failed", "r")
    assert [entry[0] for entry in Journal(path, "s").entries] == ["a\n", "c"]
    assert Journal(path, "t").entries == []
    assert not path.exists()
