"""Pictures on demand, without a page: wishes from outside, the line, cancelling, one model at a time."""

from __future__ import annotations

import io
import threading
import time

import numpy as np
import pytest
from PIL import Image
from specs import api, write_spec
from test_pipelines import opened, table

from backend import live as live_module
from backend import waiting as waiting_module
from backend.live import Drawn, Live, LiveError, News
from backend.spec import SpecError
from backend.systems import Refused
from backend.waiting import MOST_WAITING, Line

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture
def spec(tmp_path, pipelines):
    return write_spec(tmp_path, table(pipelines / "plain", "plain") + table(pipelines / "hiding", "hiding"))


@pytest.fixture
def live(spec):
    return Live(spec)


def wish(live, **values):
    asked = {"system": "plain", "prompt": "a baker", "images": 4, "seed": 5, "steps": 3, "guidance": 2.0, **values}
    return live.wish(*asked.values())


def drawn(live, visitor="me", **values) -> Drawn:
    return list(live.draw(wish(live, **values), visitor))[-1]


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("system", "nobody", "System: choose one of plain, hiding"),
        ("system", ["plain"], "System"),
        ("system", None, "System"),
        ("prompt", "", "Prompt: write 1 to 400 characters; it has 0"),
        ("prompt", " \x00\x1b ", "it has 0"),
        ("prompt", "a" * 401, "it has 401"),
        ("prompt", {"a": 1}, "Prompt"),
        ("images", 10**9, "Pictures: choose a whole number from 4 to 16"),
        ("images", 4.5, "Pictures"),
        ("images", True, "Pictures"),
        ("images", None, "Pictures"),
        ("seed", float("nan"), "Seed"),
        ("seed", -1, "Seed"),
        ("seed", float("inf"), "Seed"),
        ("steps", 0, "Steps: choose a whole number from 1 to 50"),
        ("guidance", "2", "Guidance: choose a number from 1.0 to 10.0"),
    ],
)
def test_a_wish_that_cannot_be_names_its_field(live, field, value, words):
    with pytest.raises(LiveError, match=words):
        wish(live, **{field: value})


def test_a_prompt_loses_what_no_page_can_hold(live):
    assert wish(live, prompt="a\ud800 <b>\u202ebaker\x07</b>\n").prompt == "a\ufffd <b>baker</b>"


def test_pictures_are_those_that_generate_makes(live, tmp_path, pipelines):
    made = drawn(live, images=4, seed=5)
    (system,), _ = opened(tmp_path, table(pipelines / "plain", "plain", steps=3, guidance=2.0))
    from backend.prompts import Prompt
    from backend.systems import Request

    asked = [Request(Prompt("professions", "a baker", 4), n + 1, 5 + n) for n in range(4)]
    assert list(made.pictures) == system.generate(asked)
    assert made.answers == ()  # no model is asked about systems that it was not taught


def test_news_tells_every_step(live):
    news = list(live.draw(wish(live, images=8, steps=3), "me"))  # two batches of four
    steps = [(n.step, n.steps) for n in news[:-1] if isinstance(n, News) and n.steps]
    assert steps[-1] == (6, 6)
    assert steps == sorted(steps)
    assert isinstance(news[-1], Drawn)
    assert len({pixels(picture).tobytes() for picture in news[-1].pictures}) == 8


def test_hidden_pictures_are_refusals(live):
    made = drawn(live, system="hiding")
    assert [picture.outcome for picture in made.pictures] == ["filtered"] * 4
    assert all(isinstance(picture, Refused) for picture in made.pictures)


def test_one_model_is_in_memory(live):
    drawn(live)
    first = live._loaded
    drawn(live, system="hiding")
    assert first._pipe is None
    assert live._loaded.spec.name == "hiding"


def test_a_prompt_that_is_too_long_says_what_is_left_out(live):
    made = drawn(live, prompt="b" * 100)  # a tokenizer of letters and 77 places
    assert len(made.notes) == 1
    assert "Left out: “bbb" in made.notes[0]
    assert drawn(live, prompt="b" * 60).notes == ()


def slow(live, monkeypatch, seconds=0.2):
    """Make every step take a while."""
    real = live_module._go_on
    monkeypatch.setattr(live_module, "_go_on", lambda *values: (time.sleep(seconds), real(*values))[1])


def test_cancel_ends_the_work_within_steps(live, monkeypatch):
    slow(live, monkeypatch)
    news = live.draw(wish(live, steps=50), "me")
    next(news)
    while not next(news).steps:
        pass
    live.cancel("somebody else")
    assert isinstance(next(news), News)
    began = time.monotonic()
    live.cancel("me")
    with pytest.raises(LiveError, match="Cancelled"):
        list(news)
    assert time.monotonic() - began < 5
    ended()
    assert isinstance(drawn(live), Drawn)  # the next wish is served


def ended():
    for _ in range(200):
        if not [thread for thread in threading.enumerate() if thread.name == "live"]:
            return
        time.sleep(0.05)
    raise AssertionError("the work goes on")


def test_a_visitor_who_leaves_ends_the_work(live, monkeypatch):
    slow(live, monkeypatch)
    news = live.draw(wish(live, steps=50), "me")
    next(news)
    next(news)
    news.close()
    ended()


def test_a_visitor_who_takes_no_news_is_gone(live, monkeypatch):
    monkeypatch.setattr(waiting_module, "SILENCE", 0.5)
    slow(live, monkeypatch, 0.1)
    news = live.draw(wish(live, steps=50), "me")
    next(news)
    next(news)
    ended()
    with pytest.raises(LiveError, match="Cancelled"):
        list(news)


def test_others_wait_in_order_and_not_too_many(live, monkeypatch):
    slow(live, monkeypatch)
    first = live.draw(wish(live, steps=50), "first")
    next(first)
    waiting = [live.draw(wish(live), f"visitor {n}") for n in range(MOST_WAITING)]
    assert [next(news).waiting for news in waiting] == list(range(1, MOST_WAITING + 1))
    with pytest.raises(LiveError, match="8 others wait already"):
        next(live.draw(wish(live), "one too many"))
    with pytest.raises(LiveError, match="Your last wish"):
        next(live.draw(wish(live), "visitor 3"))
    live.cancel("visitor 0")
    with pytest.raises(LiveError, match="Cancelled"):
        list(waiting[0])
    assert next(waiting[1]).waiting == 1
    first.close()
    for news in waiting:
        news.close()
    ended()


def test_a_waiting_visitor_who_left_is_passed_over():
    line = Line()
    first, lost, patient = (line.join(name) for name in ("first", "lost", "patient"))
    assert line.before(first) == 0
    first.heard -= 100  # whoever is served is stopped at the next step, not passed over
    assert line.before(patient) == 2
    lost.heard -= 100
    assert line.before(patient) == 1
    with pytest.raises(LiveError, match="you left the line"):
        line.before(lost)


def test_whose_turn_has_come_keeps_it_until_the_work_ends():
    line = Line()
    first, second = line.join("first"), line.join("second")
    assert line.before(first) == 0
    line.stop("first")  # between its turn and its work
    assert line.before(second) == 1
    line.leave(first)
    assert line.before(second) == 0


def test_a_worker_that_cannot_start_leaves_the_line(live, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            list(live.draw(wish(live), "me"))
    assert isinstance(drawn(live), Drawn)


def test_closing_ends_every_wish_and_takes_no_other(live, monkeypatch):
    slow(live, monkeypatch)
    first, second = live.draw(wish(live, steps=50), "first"), live.draw(wish(live), "second")
    next(first), next(second)
    live.close()
    for news in (first, second):
        with pytest.raises(LiveError, match="Cancelled"):
            list(news)
    ended()
    with pytest.raises(LiveError, match="being closed"):
        next(live.draw(wish(live), "late"))


def test_work_ends_after_its_time(live, monkeypatch):
    monkeypatch.setattr(live_module, "MOST_SECONDS", 0)
    with pytest.raises(LiveError, match="Stopped after 0 seconds"):
        drawn(live)


def test_a_model_that_does_not_load_is_told_and_the_next_visitor_served(tmp_path, pipelines, capsys):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model_index.json").write_text("{}")
    live = Live(write_spec(tmp_path, table(tmp_path / "broken", "broken") + table(pipelines / "plain", "plain")))
    with pytest.raises(LiveError, match="broken cannot be loaded on this machine") as told:
        drawn(live, system="broken")
    logged = capsys.readouterr().err
    assert "system 'broken': model: the pipeline cannot be loaded" in logged
    assert str(tmp_path) not in logged + str(told.value)
    assert isinstance(drawn(live), Drawn)


def test_systems_behind_an_api_draw_too(tmp_path, endpoint):
    live = Live(write_spec(tmp_path, api(endpoint, "A")))
    made = drawn(live, system="A")
    assert len([picture for picture in made.pictures if isinstance(picture, bytes)]) == 4


def test_a_server_that_draws_is_not_waited_for_as_long_as_it_asks(tmp_path, endpoint, monkeypatch):
    monkeypatch.setattr(live_module, "LONGEST_WAIT", 0.01)
    endpoint.usual = (429, b"slow down", ("Retry-After", "300"))
    live = Live(write_spec(tmp_path, api(endpoint, "A", retries="1")))
    assert all(isinstance(picture, Refused) for picture in drawn(live, system="A").pictures)
    assert len(endpoint.asked) == 8
    monkeypatch.setattr(live_module, "LONGEST_WAIT", 300)
    news = live.draw(wish(live, system="A"), "me")
    while len(endpoint.asked) < 9:
        next(news)
    live.cancel("me")
    with pytest.raises(LiveError, match="Cancelled"):
        list(news)


def test_what_a_server_that_draws_says_is_for_the_log(tmp_path, endpoint, capsys):
    where = endpoint.root.removeprefix("http://")
    live = Live(write_spec(tmp_path, api(endpoint, "A")))
    endpoint.usual = (400, f"upstream 10.1.2.3:8000 of {where} refused".encode())
    reasons = {picture.reason for picture in drawn(live, system="A").pictures}
    assert reasons == {"HTTP 400: the request failed; the server's log says more"}
    logged = capsys.readouterr().err
    assert "system 'A': HTTP 400: upstream 10.1.2.3:8000 of *** refused" in logged and where not in logged
    endpoint.close()
    live = Live(write_spec(tmp_path, api(endpoint, "A")))
    with pytest.raises(LiveError) as told:
        drawn(live, system="A")
    words = "A cannot be reached, or answers with errors only: try another model, or later; the server's log says more."
    assert str(told.value) == words
    logged = capsys.readouterr().err
    assert "base_url: *** cannot be reached" in logged and "127.0.0.1" not in logged


def test_a_spec_without_a_system_that_draws_is_refused(tmp_path):
    (tmp_path / "images").mkdir()
    text = f"[[systems]]\nname = 'F'\nkind = 'folder'\npath = '{tmp_path / 'images'}'\n"
    with pytest.raises(SpecError, match="no system in it can draw"):
        Live(write_spec(tmp_path, text))
