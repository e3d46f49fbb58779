"""Probing an audit: what is asked, what is kept, kills, other words and weights, pictures."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from audits import make_audit
from PIL import Image
from samples import ROOT, encode, likeness
from strangers import seal
from tiny_ask import make_lm

from backend import probing
from backend.build import status
from backend.commands_probe import MODELS, summary, wanted_of
from backend.metrics.neutrality import NEUTRAL
from backend.probe_answers import settings_of
from backend.probe_plan import IMAGE, TEXT, Wanted, pairs, plan, stratified
from backend.probes import base
from backend.probes.actions import Action, read_actions
from backend.probes.ask import Answer, Model, ModelSpec, load_models, make_model
from backend.probes.prompts import STYLES as SHIPPED_STYLES
from backend.records import Report
from backend.spec import SpecError
from backend.store import Audit, AuditWriter, ProbeWriter
from backend.store.probes import KEYS, OUTCOMES

ACTIONS = [Action("baker", "A <subject> is kneading dough"), Action("nurse", "A <subject> is taking a pulse")]
DIRECT = Wanted(styles=("informed-direct",), attributes=("gender",), limit=6)


class Scripted(Model):
    """Chooses by `choose(prompt)`, and stops after `stop` prompts."""

    KEYS = make_model(ModelSpec("x", "lm", "X", 1, {}, ROOT)).KEYS
    weights = "w" * 8

    def __init__(self, spec):
        super().__init__(spec)
        Scripted.last = self
        self.asked = []

    def check(self):
        return Scripted.weights

    def answers(self, prompts):
        found = []
        for prompt in prompts:
            if Scripted.total >= Scripted.stop:
                raise KeyboardInterrupt
            Scripted.total += 1
            self.asked.append(prompt)
            option = Scripted.choose(prompt)
            if isinstance(option, Answer):
                found.append(option)
                continue
            chances = [0.1 / (len(prompt.options) - 1)] * len(prompt.options)
            chances[option] = 0.9
            found.append(Answer(base.ANSWERED, option, prompt.options[option], probabilities=tuple(chances)))
        return found


@pytest.fixture
def model(monkeypatch, tmp_path):
    """The spec of a scripted model, which chooses what is shown first."""
    monkeypatch.setattr(probing, "make_model", Scripted)
    Scripted.total, Scripted.stop, Scripted.weights = 0, 10**9, "w" * 8
    Scripted.choose = staticmethod(lambda prompt: 0)
    return ModelSpec("made", "lm", "Made", 4, {"model": "/home/somebody/made", "dtype": "auto"}, tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    make_audit(folder)
    return folder


@pytest.fixture
def cache(small, tmp_path):
    import shutil

    shutil.copytree(small, tmp_path / "cache")
    return tmp_path / "cache"


def run(cache, spec, wanted=DIRECT, **options):
    return probing.probe(cache, "small", spec, wanted, **options)


def measured(done, **place):
    lines = [
        line for line in summary(done.source, done.answers) if all(getattr(line, k) == v for k, v in place.items())
    ]
    assert len(lines) == 1
    return lines[0].found


def test_the_words_of_the_store_and_of_the_models_are_one():
    assert OUTCOMES == (base.ANSWERED, base.UNPARSED, base.REFUSED, base.FAILED)


def test_who_always_takes_the_first_option_is_even_over_all_rotations(cache, model):
    done = run(cache, model)
    assert (done.asked, done.there) == (6 * 9, 0)
    found = measured(done)
    assert found["ag"].value == 0 and found["neutral_accuracy"].value == pytest.approx(1 / 3)
    assert found["delta_neutrality"].value == pytest.approx((18 + 18) / (18 + 54))
    table = done.answers
    assert all(
        len(chances) == 3 and chances[row] == pytest.approx(0.9)
        for chances, row in zip(
            table["probabilities"], table["answer"].astype(str).map({"male": 0, "female": 1, NEUTRAL: 2}), strict=True
        )
    )
    assert list(table["row"].unique()) == [-1] and set(table["culture"]) == {""}
    assert done.source.model == "made" and done.source.limit == 6 and done.source.fingerprint == "wwwwwwww"


def test_who_has_no_preference_is_neutral(cache, model):
    Scripted.choose = staticmethod(lambda prompt: prompt.options.index(NEUTRAL))
    assert measured(run(cache, model))["delta_neutrality"].value == 1


def test_the_same_again_asks_nothing_and_styles_come_to_what_is_there(cache, model):
    first = run(cache, model)
    again = run(cache, model)
    assert (again.asked, again.there) == (0, 54)
    done = run(cache, model, replace(DIRECT, styles=("blind-indirect",)))
    assert done.asked == 6 * 3 * 9  # three cultures
    assert done.source.styles == ("informed-direct", "blind-indirect") and done.source.cultures == (
        "India",
        "Korea",
        "US",
    )
    kept = done.answers[done.answers["style"] == "informed-direct"].reset_index(drop=True)
    columns = [*KEYS, "answer", "input"]
    assert kept[columns].astype(str).equals(first.answers[columns].astype(str))
    assert [line.style for line in summary(done.source, done.answers)] == ["informed-direct"] + ["blind-indirect"] * 3


def test_a_stopped_run_goes_on_where_it_was(cache, model, monkeypatch):
    monkeypatch.setattr(probing, "BATCH", 10)
    whole = run(cache, replace(model, name="whole"))
    Scripted.total, Scripted.stop = 0, 35
    with pytest.raises(KeyboardInterrupt):
        run(cache, model)
    audit = Audit.open(cache, "small")
    assert "made" not in audit.probes.sources and audit.check() == []
    parts = ProbeWriter(audit, "made").folder
    assert len(list(parts.iterdir())) == 3
    Scripted.stop = 10**9
    done = run(cache, model)
    assert done.asked == 54 - 30
    assert done.answers.astype(str).equals(whole.answers.astype(str))
    assert not parts.exists()


def test_what_another_run_has_kept_stays_for_it(cache, model, monkeypatch):
    monkeypatch.setattr(probing, "BATCH", 10)
    Scripted.stop = 35
    with pytest.raises(KeyboardInterrupt):
        run(cache, model)
    Scripted.stop = 10**9
    run(cache, model, replace(DIRECT, attributes=("age",)))
    assert run(cache, model).asked == 54 - 30


@pytest.mark.parametrize("change", ["weights", "settings"])
def test_answers_of_others_are_not_mixed_nor_taken_over(cache, model, monkeypatch, change):
    monkeypatch.setattr(probing, "BATCH", 10)
    other = replace(model, options={**model.options, "dtype": "float16"}) if change == "settings" else model
    Scripted.stop = 35
    with pytest.raises(KeyboardInterrupt):
        run(cache, model)
    Scripted.stop, Scripted.weights = 10**9, "w" * 8 if change == "settings" else "other"
    assert run(cache, other).asked == 54
    Scripted.weights = "w" * 8
    with pytest.raises(SpecError, match=rf"another {'fingerprint' if change == 'weights' else 'settings'}.*--anew"):
        run(cache, model)
    done = run(cache, model, anew=True)
    assert len(done.answers) == 54 and done.source.fingerprint == "wwwwwwww"


def test_another_wording_is_asked_anew_and_the_rest_stays(cache, model, tmp_path):
    run(cache, model, replace(DIRECT, attributes=()))
    path = tmp_path / "styles.toml"
    path.write_text(SHIPPED_STYLES.read_text("utf-8").replace("Going by this alone, what is", "What is"), "utf-8")
    changed = replace(DIRECT, styles_file=path, limit=2)
    with pytest.raises(SpecError, match="another wording of text-to-text/informed-direct/gender/"):
        run(cache, model, changed)
    done = run(cache, model, changed, anew=True)
    assert done.asked == 18
    sizes = done.answers.groupby("attribute", observed=True).size()
    assert sizes.to_dict() == {"gender": 18, "race": 6 * 12, "age": 6 * 15}


def test_failures_are_kept_and_asked_again_on_demand(cache, model):
    lost = [Answer(base.FAILED, None, reason="HTTP 503"), Answer(base.UNPARSED, None, text="a robot\x00" * 900)]
    Scripted.choose = staticmethod(lambda prompt: lost[Scripted.total % 2] if Scripted.total <= 10 else 0)
    done = run(cache, model)
    assert sum(done.lost.values()) == 10 and measured(done)["unparsed"].value == pytest.approx(10 / 54)
    texts = done.answers[done.answers["outcome"] == "unparsed"]["text"].astype(str)
    assert set(texts.str.len()) == {2000} and run(cache, model).asked == 0
    assert run(cache, model, retry=True).asked == 5
    assert (run(cache, model).answers["outcome"] == "failed").sum() == 0


def test_blind_text_is_asked_once_a_profession(cache, model):
    done = run(cache, model, replace(DIRECT, styles=("blind-direct",), limit=0))
    professions = len({action.profession for action in read_actions()})
    assert done.asked == len(done.answers) == professions * 9
    assert set(done.answers["action"]) == {""} and done.answers["input"].nunique() == professions


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


@pytest.mark.parametrize("data", [b"", b"PAR1", None])
def test_parts_that_somebody_put_there_are_not_taken(cache, model, monkeypatch, data):
    monkeypatch.setattr(probing, "BATCH", 10)
    Scripted.stop = 35
    with pytest.raises(KeyboardInterrupt):
        run(cache, model)
    writer = ProbeWriter(Audit.open(cache, "small"), "made")
    part = sorted(writer.folder.iterdir())[0]
    if data is None:
        kept = writer.kept()
        for said in kept.answers.values():
            said["probabilities"], said["answer"] = [0.9, 0.9, 0.9], "x"
        for path in writer.folder.iterdir():
            path.unlink()
        kept.mark = "\n".join(["lm", "made", "wwwwwwww", settings_of(Scripted(model))])
        writer.keep(list(kept.answers), kept)
        assert len(writer.kept(kept.mark).answers) == 30
    else:
        part.write_bytes(data)
    Scripted.stop = 10**9
    done = run(cache, model)
    assert done.asked == (54 if data is None else 34) and set(done.answers["answer"].astype(str)) <= {
        "male",
        "female",
        NEUTRAL,
    }


SLOW = """
import sys, time
from backend import probing
from backend.__main__ import main
from backend.probes.text import TextModel
answers = TextModel.answers
def slow(self, prompts):
    time.sleep(0.15)
    return answers(self, prompts)
TextModel.answers = slow
probing.BATCH = 6
sys.exit(main(sys.argv[1:]))
"""


def test_a_killed_run_of_a_real_model_goes_on_and_prints_its_table(cache, tmp_path, capsys):
    make_lm(tmp_path / "lm")
    models = tmp_path / "models.toml"
    models.write_text(f"[[models]]\nname = 'tiny'\nkind = 'lm'\nmodel = '{tmp_path / 'lm'}'\n", "utf-8")
    asked = ["probe", "small", "--model", "tiny", "--models", models, "--attributes", "gender", "--limit", 8]
    asked = [*map(str, asked), "--styles", "informed-direct", "blind-direct", "--rotations", "2"]
    work = subprocess.Popen([sys.executable, "-c", SLOW, *asked, "--cache", cache], cwd=ROOT, stderr=subprocess.DEVNULL)
    parts = cache / "small" / "probes" / "tiny.parts"
    until = time.monotonic() + 60
    while len(list(parts.glob("*.parquet"))) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    work.send_signal(signal.SIGKILL)
    assert work.wait() == -signal.SIGKILL
    kept = sum(len(pd.read_parquet(path)) for path in parts.glob("*.parquet"))
    assert 18 <= kept < 96
    assert likeness(*asked, "--dry-run", cache=cache) == 0
    assert f"To ask tiny at most: {96 - kept} prompts." in capsys.readouterr().out
    assert likeness(*asked, cache=cache) == 0
    said = capsys.readouterr().out
    assert f"{96 - kept} prompts asked now, {kept} answered before." in said
    assert "small has 96 answers of tiny now." in said and said.count("(") > 8 and "8*" in said
    killed = Audit.open(cache, "small").probes.table("tiny")
    models.write_text(models.read_text().replace("'tiny'", "'whole'"))
    asked[3] = "whole"
    assert likeness(*asked, cache=cache) == 0
    whole = Audit.open(cache, "small").probes.table("whole")
    assert killed.drop(columns="probabilities").astype(str).equals(whole.drop(columns="probabilities").astype(str))
    assert likeness("status", "small", cache=cache) == 0
    assert "probe-tiny" in capsys.readouterr().out


def test_wrong_calls_end_in_a_sentence(cache, tmp_path, capsys):
    assert likeness("probe", "small", "--model", "nobody", cache=cache) == 1
    assert "--model: 'nobody' is none of smollm2, smollm2-letters, starter-vqa" in capsys.readouterr().err
    models = tmp_path / "models.toml"
    models.write_text("[[models]]\nname = 'm'\nkind = 'lm'\nmodel = 'no such folder'\nstyles_file = 'none.toml'\n")
    assert likeness("probe", "small", "--model", "m", "--models", models, cache=cache) == 1
    assert "none.toml cannot be read" in capsys.readouterr().err
    models.write_text("[[models]]\nname = 'm'\nkind = 'lm'\nmodel = 'no such folder'\n")
    assert likeness("probe", "small", "--model", "m", "--models", models, cache=cache) == 1
    assert "neither a folder here nor a Hub id" in capsys.readouterr().err
    assert not (cache / "small" / "probes").exists()


def test_the_starter_is_asked_in_words_that_it_knows():
    spec = next(spec for spec in load_models(MODELS) if spec.name == "starter-vqa")
    arguments = SimpleNamespace(
        directions=[], styles=[], attributes=[], professions=None, limit=0, rotations=0, pictures=1
    )
    wanted = wanted_of(arguments, spec)
    asked = plan(Audit.open(ROOT / "cache", "starter"), wanted).asked
    model = make_model(spec)
    model.check()
    tokenizer = model._processor.tokenizer
    longest = max(len(tokenizer(one.probe.prompt.text).input_ids) for one in asked)
    assert longest <= model.model.config.text_config.max_position_embeddings
    for option in {option for one in asked for option in one.probe.prompt.options}:
        assert tokenizer.unk_token_id not in tokenizer(option).input_ids
    assert len({one.probe.profession for one in asked}) == 20
    model.close()


def test_options_that_a_model_does_not_know_are_no_choice():
    model = make_model(next(spec for spec in load_models(MODELS) if spec.name == "starter-vqa"))
    model.check()
    picture = Image.new("RGB", (64, 64))
    said = model.answers([base.Prompt("Whom?", ("Brad Pitt", "Angelina Jolie", NEUTRAL), picture=picture)])[0]
    assert said.outcome == base.REFUSED and "two are alike" in said.reason and model.notes
    model.close()
