"""The command `actions`: its two files, going on after a stop, and models that answer oddly."""

from __future__ import annotations

import csv
import difflib
import json
import signal
import subprocess
import sys
import time

import pytest
from endpoint import Endpoint
from samples import ROOT
from test_ask_chat import says

from backend import acting
from backend.__main__ import main
from backend.acting import REVIEW
from backend.probe_plan import chosen_actions
from backend.probes.actions import problems
from backend.probes.ask import ProbeError

JOBS = {
    "Bakers": ("shaping loaves by hand", "glazing buns with a brush", "weighing flour on a scale"),
    "Welders": ("melting two pipes into one behind a mask", "grinding sparks off an iron gate"),
    "Nurses": ("changing a bandage at a bedside", "measuring blood pressure with a cuff"),
}


class Ratio:
    """How many letters two names share, as difflib counts them."""

    name = "difflib"

    def scores(self, pairs):
        return [difflib.SequenceMatcher(None, a.casefold(), b.casefold()).ratio() for a, b in pairs]


def able(body):
    """What a good model answers: actions of a job, and the job of an action, which comes second."""
    said = body["messages"][-1]["content"]
    if said.startswith("Sentence: "):
        job = next(job for job, some in JOBS.items() if said.partition(" is ")[2] in some)
        return says(json.dumps(["human", job.removesuffix("s").lower(), "x"]))
    job = said.removeprefix("Occupation: ")
    return says("\n".join(f"- A <subject> is {action}." for action in JOBS[job]))


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A folder with a list of professions and an endpoint as the model "far"."""
    endpoint = Endpoint()
    endpoint.usual = able
    monkeypatch.setattr(acting, "similarity", Ratio)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text("".join(f"{line}\n" for line in ("profession", *JOBS)), "utf-8")
    model = f"name = 'far'\nkind = 'openai-chat'\nmodel = 'm'\nbase_url = '{endpoint.root}/v1'\nretries = 0\nbatch = 2"
    starter = "[[models]]\nname = 'seer'\nkind = 'blip-vqa'\nmodel = 'assets/starter/blip-vqa'\n"
    (tmp_path / "models.toml").write_text(f"[[models]]\n{model}\n{starter}", "utf-8")
    yield endpoint
    endpoint.close()


def run(*more, jobs="jobs.csv"):
    return main(["actions", jobs, "--model", "far", "--models", "models.toml", *map(str, more)])


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_both_files_are_written_and_can_be_probed_with(here, tmp_path, capsys):
    assert run("--keep", 2) == 0
    said = capsys.readouterr().out
    assert "3 professions: 7 proposals, 6 kept." in said and "compared by difflib" in said
    assert "not kept: 1 x others of this profession have a better guess: 2 are kept" in said
    actions = chosen_actions(tmp_path / "jobs-actions.csv")
    assert [(one.profession, one.text) for one in actions] == [
        (job, f"A <subject> is {action}") for job, some in JOBS.items() for action in some[:2]
    ]
    assert problems(actions) == []
    rows = table("jobs-actions-review.csv")
    assert tuple(rows[0]) == REVIEW and [row["kept"] for row in rows] == ["yes", "yes", "no", *["yes"] * 4]
    assert (rows[0]["guess"], rows[0]["guesses"], rows[0]["score"]) == ("baker", '["human", "baker", "x"]', "0.9091")
    assert rows[0]["line"] == "'- A <subject> is shaping loaves by hand." and rows[0]["measure"] == "difflib"
    assert sorted(path.name for path in tmp_path.glob("jobs*")) == [
        "jobs-actions-review.csv",
        "jobs-actions.csv",
        "jobs.csv",
    ]
    asked = len(here.asked)
    assert run() == 1 and "jobs-actions.csv is there already: give another --out" in capsys.readouterr().err
    assert len(here.asked) == asked


@pytest.mark.parametrize(
    ("answer", "reasons"),
    [
        (says(""), {"the answer holds no text"}),
        (says(" \n "), {"the model wrote nothing"}),
        ((400, b"no"), {"HTTP 400: no"}),
        (says("I cannot help with that."), {"holds <subject> 0 times, not once"}),
        (says("Ein <subject> knetet Teig"), {'says no action: it does not begin with "A <subject> is ...ing"'}),
        (says("<subject> 揉面"), {"is not in Latin letters"}),
        (says("A <subject> is baking bread"), {"holds baking (the profession)"}),
        (says("=HYPERLINK(1)"), {"holds <subject> 0 times, not once"}),
        (says("A <subject> is kneading" + " so" * 300), {"has 304 words and 923 characters; at most 20 and 400"}),
    ],
)
def test_a_model_that_answers_oddly_keeps_nothing_and_says_why(here, answer, reasons, capsys):
    here.usual = answer
    assert run("--limit", 1) == 1
    rows = table("jobs-actions-review.csv")
    assert {row["why_not"] for row in rows} == reasons and {row["kept"] for row in rows} == {"no"}
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    assert table("jobs-actions.csv") == [] and len(here.asked) == 4  # as often as it may be asked for more
    told = capsys.readouterr()
    assert "Without any action: 1 profession (Bakers)." in told.out and "Then:" not in told.out
    assert "Nothing was kept." in told.err


def test_a_guesser_that_says_nothing_keeps_nothing(here):
    here.usual = lambda body: says(" ") if "Sentence" in body["messages"][-1]["content"] else able(body)
    assert run("--limit", 1) == 1
    assert {row["why_not"] for row in table("jobs-actions-review.csv")} == {"no guess: the model wrote nothing"}


@pytest.fixture
def stops(monkeypatch):
    """Makes the next run stop, as by ctrl-C, where it comes to a profession."""
    found, at = acting._propose, []

    def propose(name, *more):
        if name in at:
            at.remove(name)
            raise KeyboardInterrupt
        return found(name, *more)

    monkeypatch.setattr(acting, "_propose", propose)
    return at.append


def wished(here):
    """The professions that actions were wanted for, in their order, once for each request."""
    said = [body["messages"][-1]["content"] for body in here.asked]
    return [text.removeprefix("Occupation: ") for text in said if text.startswith("Occupation: ")]


def test_a_stopped_run_goes_on_where_it_was(here, stops, tmp_path, capsys):
    assert run("--out", "whole.csv") == 0
    stops("Nurses")
    assert run() == 130 and "run the same command again" in capsys.readouterr().err
    journal = tmp_path / "jobs-actions-unfinished.jsonl"
    assert journal.is_file() and not (tmp_path / "jobs-actions.csv").exists()
    assert run("--seed", 1) == 1 and "was begun with other values of seed: go on as it was" in capsys.readouterr().err
    assert run("--proposals", 4, "--seed", 1) == 1 and "other values of proposals, seed" in capsys.readouterr().err
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]) + lines[2][:30])  # as a kill leaves it
    (tmp_path / "jobs-actions-review.csv").write_text("half")  # a kill between the two files
    here.asked.clear()
    stops("Nurses")
    assert run() == 130 and set(wished(here)) == {"Welders"}
    here.asked.clear()
    capsys.readouterr()
    assert run() == 0 and "3 professions (2 of them in an earlier run)" in capsys.readouterr().out
    assert set(wished(here)) == {"Nurses"}
    for end in ("", "-review"):
        assert (tmp_path / f"jobs-actions{end}.csv").read_bytes() == (tmp_path / f"whole{end}.csv").read_bytes()
    assert not journal.exists() and not list(tmp_path.glob("*.lock"))


def test_a_text_that_brings_nothing_new_is_the_last(here):
    assert run("--proposals", 5) == 0
    assert wished(here) == [name for name in JOBS for _ in range(2)]
    here.asked.clear()
    assert run("--proposals", 2, "--out", "two.csv") == 0 and wished(here) == list(JOBS)


def test_a_file_that_somebody_made_in_the_meantime_is_not_written_over(here, tmp_path, monkeypatch, capsys):
    found = acting._propose
    made = tmp_path / "jobs-actions.csv"
    monkeypatch.setattr(acting, "_propose", lambda *more: made.write_text("mine") and found(*more))
    assert run() == 1 and "jobs-actions.csv is there already" in capsys.readouterr().err
    assert made.read_text() == "mine" and not (tmp_path / "jobs-actions-review.csv").exists()
    made.unlink()
    here.asked.clear()
    assert run() == 0 and here.asked == []


def test_two_runs_do_not_write_one_journal(here, tmp_path, capsys):
    import filelock

    with filelock.FileLock(tmp_path / "jobs-actions-unfinished.lock"):
        assert run() == 1 and "another run is writing" in capsys.readouterr().err


@pytest.mark.parametrize("held", [b"", b"[]\n", b'{"model": ', b"\xff\n\xfe"])
def test_a_journal_without_a_beginning_begins_anew(here, tmp_path, held):
    (tmp_path / "jobs-actions-unfinished.jsonl").write_bytes(held)
    assert run() == 0 and len(table("jobs-actions.csv")) == 6


def test_what_a_stranger_wrote_into_a_journal_is_asked_again(here, stops, tmp_path):
    assert run("--out", "whole.csv") == 0
    stops("Welders")
    assert run() == 130
    journal = tmp_path / "jobs-actions-unfinished.jsonl"
    header = journal.read_bytes().splitlines(keepends=True)[0]
    good = json.loads(journal.read_bytes().splitlines()[1])[1][0]
    rows = [["Bakers", [good | {"score": "1"}]], ["Bakers", [good | {"kept": 5, "text": 7}]], ["Welders", "x"]]
    rows += [["Nurses", [{"line": "a"}]], ["Nurses", [good | {"more": 1}]], ["Nurses", [good]], 7, [[], []], None]
    journal.write_bytes(header + b"".join(json.dumps(row).encode() + b"\n" for row in rows) + b"[" * 9000)
    here.asked.clear()
    assert run() == 0 and set(wished(here)) == set(JOBS)
    assert (tmp_path / "jobs-actions-review.csv").read_bytes() == (tmp_path / "whole-review.csv").read_bytes()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--model", "seer"), "models of kind blip-vqa do not write"),
        (("--guesser", "seer"), "models of kind blip-vqa do not write"),
        (("--guesser", "nobody"), "--model: 'nobody' is none of far, seer"),
        (("--out", "nowhere/x.csv"), "--out: there is no folder nowhere"),
        (("--models", "none.toml"), "none.toml cannot be read"),
    ],
)
def test_wrong_calls_are_told_before_anything_is_asked(here, more, words, capsys):
    assert run(*more) == 1
    assert words in capsys.readouterr().err and here.asked == []


def test_an_endpoint_that_cannot_be_used_leaves_nothing_behind(here, tmp_path, capsys):
    here.usual = (401, b"no such key")
    assert run() == 1 and "key_env: the server refuses the key" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobs.csv", "models.toml"]


@pytest.mark.parametrize("more", [("--keep", "0"), ("--at-least", "2"), ("--seed", "-1"), ("--proposals", "99")])
def test_numbers_out_of_range_are_refused(here, more):
    with pytest.raises(SystemExit) as told:
        run(*more)
    assert told.value.code == 2


def test_without_a_measure_nothing_is_asked(here, monkeypatch, capsys):
    def none():
        raise ProbeError("say pip install")

    monkeypatch.setattr(acting, "similarity", none)
    assert run() == 1 and "say pip install" in capsys.readouterr().err and here.asked == []


def test_all_published_titles_go_through(here, monkeypatch, tmp_path):
    class Many:
        AT_ONCE = 4

        def write(self, talks, temperature, seed):
            if temperature:
                return [acting_said(f"A <subject> is lifting thing number {seed}\nA <subject> is lifting thing {seed}")]
            return [acting_said('["worker"]') for _ in talks]

        def close(self):
            """Nothing is held."""

    monkeypatch.setattr(acting, "writer_of", lambda model: Many())
    monkeypatch.setattr(acting.os, "fsync", lambda handle: None)
    titles = ROOT / "assets" / "probes" / "bls-professions.csv"
    assert run("--proposals", 2, "--keep", 1, jobs=str(titles)) == 0
    kept = table("bls-professions-actions.csv")
    assert len({row["profession"] for row in kept}) == len(kept) > 1000
    assert len(table("bls-professions-actions-review.csv")) >= 2032


def acting_said(text):
    from backend.probes.writing import Written

    return Written(text)


KILLED = """
import sys, time
sys.path.insert(0, "tests")
from test_actions_command import Ratio, acting, main
acting.similarity = Ratio
propose = acting._propose
def slow(*more):
    time.sleep(0.3)
    return propose(*more)
acting._propose = slow
sys.exit(main(sys.argv[1:]))
"""


def test_a_killed_run_gives_the_same_files(here, tmp_path):
    assert run("--out", "whole.csv") == 0
    call = ["actions", tmp_path / "jobs.csv", "--model", "far", "--models", tmp_path / "models.toml", "--out"]
    some = [sys.executable, "-c", KILLED, *map(str, call), str(tmp_path / "part.csv")]
    work = subprocess.Popen(some, cwd=ROOT, stderr=subprocess.DEVNULL)
    journal, until = tmp_path / "part-unfinished.jsonl", time.monotonic() + 60
    while (not journal.is_file() or journal.read_bytes().count(b"\n") < 3) and time.monotonic() < until:
        time.sleep(0.01)
    work.send_signal(signal.SIGKILL)
    assert work.wait() == -signal.SIGKILL and not (tmp_path / "part.csv").exists()
    here.asked.clear()
    assert run("--out", "part.csv") == 0 and "Bakers" not in wished(here) and "Nurses" in wished(here)
    assert (tmp_path / "part-review.csv").read_bytes() == (tmp_path / "whole-review.csv").read_bytes()
    assert (tmp_path / "part.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
