"""Probing an audit with text: what is asked, what is kept, stops, other words and weights, parts of strangers."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from audits import make_audit
from scripted import DIRECT, Scripted, measured, run, scripted

from backend import probing
from backend.commands_probe import summary
from backend.metrics.neutrality import NEUTRAL
from backend.probe_answers import settings_of
from backend.probes import base
from backend.probes.actions import read_actions
from backend.probes.ask import Answer
from backend.probes.prompts import STYLES as SHIPPED_STYLES
from backend.spec import SpecError
from backend.store import Audit, ProbeWriter
from backend.store.probes import KEYS, OUTCOMES


@pytest.fixture
def model(monkeypatch, tmp_path):
    return scripted(monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    make_audit(folder)
    return folder


@pytest.fixture
def cache(small, tmp_path):
    shutil.copytree(small, tmp_path / "cache")
    return tmp_path / "cache"


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
