"""What is asked of a model: inputs, rotations, professions, and which pictures go with which input."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from audits import make_audit
from PIL import Image
from samples import ROOT, encode
from scripted import DIRECT, Scripted, scripted
from strangers import seal

from backend import probing
from backend.build import status
from backend.probe_plan import IMAGE, TEXT, Wanted, pairs, plan, stratified
from backend.probes.actions import Action, read_actions
from backend.probes.ask import ModelSpec
from backend.records import Report
from backend.spec import SpecError
from backend.store import Audit, AuditWriter

ACTIONS = [Action("baker", "A <subject> is kneading dough"), Action("nurse", "A <subject> is taking a pulse")]


@pytest.fixture
def model(monkeypatch, tmp_path):
    return scripted(monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    make_audit(folder)
    return folder


@pytest.fixture
def cache(small):
    return small


def test_fewer_inputs_are_spread_over_professions_and_only_added_to():
    shown = [(action, ()) for action in read_actions()]
    few, more = stratified(shown, 20), stratified(shown, 200)
    assert len({action.profession for action, _ in few}) == 20 and more[:20] == few
    assert len({action.profession for action, _ in more}) == len({action.profession for action, _ in shown})
    assert [action.profession for action, _ in few] != sorted(action.profession for action, _ in few)


def test_fewer_rotations_put_every_option_everywhere(cache):
    audit = Audit.open(cache, "small")
    one, two = (plan(audit, Wanted(attributes=("gender", "age"), rotations=n)).asked for n in (1, 2))
    assert {ask.identity for ask in one} < {ask.identity for ask in two}
    first = pd.Series([ask.probe.classes[0] for ask in one if ask.place[1] == "informed-direct"])
    shares = first.value_counts(normalize=True)
    assert len(shares) == 7 and shares.min() > 0.05
    for ask_set in (one, two):
        by_input = pd.Series([(*ask.place, ask.probe.input) for ask in ask_set]).value_counts()
        assert by_input.nunique() == 1


@pytest.mark.parametrize(
    ("text", "asked"),
    [("profession\nBaker\nnurse\n", 4), ("profession,action\ncoder,A <subject> is typing\n", 1)],
)
def test_professions_of_one_s_own(cache, tmp_path, text, asked):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    assert plan(Audit.open(cache, "small"), Wanted(professions=path)).inputs() == asked + text.count("\n") - 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("profession\nwizard\n", "line 2: 'wizard' has no action"),
        ("job\nbaker\n", "profession, action"),
        ("", "columns"),
    ],
)
def test_wrong_professions(cache, tmp_path, text, words):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with pytest.raises(SpecError, match=words):
        plan(Audit.open(cache, "small"), Wanted(professions=path))


def test_names_that_are_not_there_are_told(cache):
    with pytest.raises(SpecError, match="--attributes: 'mood' is none of gender, race, age"):
        plan(Audit.open(cache, "small"), replace(DIRECT, attributes=("mood",)))
    with pytest.raises(SpecError, match="reads text only"):
        probing.directions_of(ModelSpec("x", "lm", "X", 1, {}, ROOT), (IMAGE,))


ROWS = {
    "neutral": [("baker", "kneading dough"), ("", "Taking a pulse"), ("", "no such action"), ("nurse", "pouring tea")],
    "identities": [("person", ""), ("unspecified", ""), ("woman", ""), ("person", "dark"), ("child", "")],
}


def pictured(cache, subset, rows=None, first_row=1):
    """An audit of pictures in one colour each: (row * 20, 0, 0); or more of them for it."""
    report = Report()
    with AuditWriter(cache, subset, "test") as writer:
        for number, (first, second) in enumerate(rows or ROWS[subset], start=first_row):
            row = {
                "id": f"{number:016x}",
                "subset": subset,
                "system": "S",
                "prompt": f"{first} {second}",
                "profession": first if subset == "neutral" else "",
                "action": second if subset == "neutral" else "",
                "adjective": "",
                "gender": first if subset == "identities" else "unspecified",
                "ethnicity": "unspecified",
                "tone": second if subset == "identities" and second else "unspecified",
                "seed": 1,
                "number": number,
                "width": 8,
                "height": 8,
                "format": "PNG",
                "animated": False,
                "bytes": 1,
                "sha256": f"{number:064x}",
                "source": f"{number}.png",
            }
            data = encode(Image.new("RGB", (8, 8), ((number - 1) * 20, 0, 0)))
            writer.add(row, data, data)
        writer.finish("test", report, {})
    return Audit.open(cache, subset)


def test_neutral_pictures_go_with_their_own_action(tmp_path):
    found = pairs(pictured(tmp_path, "neutral"), ACTIONS)
    shown = {(action.profession, action.text): rows for action, rows in found.pairs}
    assert shown == {
        ("baker", "A <subject> is kneading dough"): (0,),
        ("nurse", "A <subject> is taking a pulse"): (1,),
        ("nurse", "A <subject> is pouring tea"): (3,),
    }
    assert "3 pictures of the subset neutral" in found.note


def test_portraits_of_a_person_take_their_place_and_it_is_said(tmp_path, model):
    audit = pictured(tmp_path, "identities")
    found = pairs(audit, ACTIONS)
    assert [action for action, _ in found.pairs] == ACTIONS and {rows for _, rows in found.pairs} == {(0,), (1,)}
    assert found == pairs(audit, ACTIONS) and "no neutral pictures" in found.note
    Scripted.choose = staticmethod(
        lambda prompt: prompt.options.index("male" if prompt.picture.getpixel((0, 0))[0] else "female")
    )
    path = tmp_path / "mine.csv"
    path.write_text("profession,action\n" + "".join(f"p{n},A <subject> is doing {n}\n" for n in range(4)))
    wanted = Wanted((IMAGE,), ("informed-direct", "blind-direct"), ("gender",), path, pictures=2)
    done = probing.probe(tmp_path, "identities", replace(model, kind="vlm"), wanted)
    assert len(done.answers) == 2 * 4 * 2 * 9 and set(done.answers["row"]) == {0, 1}
    right = done.answers["row"].map({0: "female", 1: "male"}) == done.answers["answer"].astype(str)
    assert right.all() and "no neutral pictures" in done.source.note


def test_an_audit_without_such_pictures_says_so(cache):
    with pytest.raises(SpecError, match="has no pictures without gender, ethnicity and tone"):
        plan(Audit.open(cache, "small"), Wanted((IMAGE,)))


def test_a_picture_that_cannot_be_read_is_a_failure(tmp_path, model, monkeypatch):
    audit = pictured(tmp_path, "identities")
    path = tmp_path / "mine.csv"
    path.write_text("profession,action\n" + "".join(f"p{n},A <subject> is doing {n}\n" for n in range(4)))
    image = Audit.image
    monkeypatch.setattr(Audit, "image", lambda self, row: (b"none", "image/png") if row == 0 else image(self, row))
    wanted = Wanted((IMAGE,), ("informed-direct",), ("gender",), path)
    done = probing.probe(tmp_path, audit.name, replace(model, kind="vlm"), wanted)
    failed = done.answers[done.answers["row"] == 0]
    assert (
        len(failed) == 18 and set(failed["outcome"]) == {"failed"} and failed["text"].astype(str).str.len().min() > 10
    )
    assert set(done.answers[done.answers["row"] == 1]["outcome"]) == {"answered"}


def test_images_that_come_later_change_no_answer(tmp_path, model):
    pictured(tmp_path, "identities")
    path = tmp_path / "mine.csv"
    path.write_text("profession,action\np,A <subject> is doing it\n")
    for directions in ((TEXT,), (IMAGE,)):
        wanted = Wanted(directions, ("informed-direct",), ("gender",), path)
        probing.probe(tmp_path, "identities", replace(model, kind="vlm"), wanted)
    audit = pictured(tmp_path, "identities", [("man", "")], 6)
    state = {row["stage"]: row["state"] for row in status(audit)}
    assert len(audit) == 6 and state["probe-made"] == "done" and len(audit.probes.table("made")) == 18
    seal(audit.folder, lambda manifest: manifest["stages"]["probe-made"].update(inputs=["0" * 64]))
    audit = Audit(audit.folder)
    assert {row["stage"]: row["state"] for row in status(audit)}["probe-made"] == "stale"
    assert set(audit.probes.table("made")["direction"]) == {TEXT}
