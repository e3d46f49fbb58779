"""Where Live's systems come from: --systems, a spec that cannot be used, models and libraries that are not there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from samples import ROOT
from serving import forked, free_port
from specs import api, write_spec
from test_pipelines import table
from tiny import make_pipeline

from backend import installed
from backend import live as live_module
from backend.describe import DescribeError
from backend.live import Drawn, Live, LiveError

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def first_answer(port: int) -> str:
    """The page's configuration, as soon as the app answers."""
    for _ in range(1200):  # the machine may be busy
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/config", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the app did not answer within 120 s")


def started(cache: Path, systems: Path) -> tuple[str, str]:
    """The page's configuration and what the app said on the terminal, started with --systems."""
    port, errors = free_port(), cache / "errors.txt"
    process = forked(["--cache", str(cache), "--port", str(port), "--systems", str(systems)], errors)
    try:
        page = first_answer(port)
    finally:
        process.terminate()
        process.wait(20)
    return page, errors.read_text("utf-8")


def test_systems_of_another_spec_are_offered(cache, tmp_path, endpoint):
    spec, port = write_spec(tmp_path, api(endpoint, "My endpoint")), free_port()
    command = [sys.executable, "app.py", "--cache", str(cache), "--port", str(port), "--systems", str(spec)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        page = first_answer(port)
    finally:
        process.terminate()
        told = process.communicate(timeout=20)[1]
    assert "My endpoint" in page
    assert '"mirror"' not in page
    assert told == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("title = ", "is no TOML"),
        ("[[systems]]\nname = 'x'\n[neutral]\n", "neutral.templates: is missing"),
    ],
)
def test_a_spec_that_cannot_be_used_is_told_and_the_app_lives_on(cache, tmp_path, text, words):
    spec = tmp_path / "my.toml"
    if text is not None:
        spec.write_text(text)
    page, told = started(cache, spec)
    assert "Error: Live: " in told
    assert words in told
    assert words in page
    assert "Traceback" not in told
    assert "Published results" in page


@pytest.fixture
def starter(tmp_path, monkeypatch):
    """A pipeline that lies where those of the starter do."""
    monkeypatch.setattr(installed, "STARTER", tmp_path / "starter")
    folder = make_pipeline(tmp_path / "starter" / "tiny")
    return write_spec(tmp_path, table(folder))


def draw(live: Live) -> Drawn:
    return list(live.draw(live.wish("tiny", "photo portrait of a zebra", 4, 1, 1, 2.0), "me"))[-1]


def test_models_that_are_not_there_are_told_before_anything_is_asked(starter, tmp_path):
    assert installed.lacking(Live(starter).systems.values()) == ()
    (tmp_path / "starter" / "tiny").rename(tmp_path / "starter" / "elsewhere")
    (said,) = installed.lacking(Live(starter).systems.values())
    assert said.startswith("Not in this copy: tiny. ")
    assert "python -m backend.starter train" in said


def test_libraries_that_are_not_there_are_told(starter, monkeypatch):
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == "torch" else name)
    assert installed.lacking(Live(starter).systems.values()) == (
        "Not installed: torch. Say pip install -r requirements.txt, then start again.",
    )


def test_a_library_that_fails_while_drawing_is_told(starter, monkeypatch):
    def fails(spec):
        raise ImportError("No module named 'diffusers'")

    monkeypatch.setattr(live_module, "make_system", fails)
    with pytest.raises(LiveError, match=r"A library is missing: say pip install -r requirements.txt \(No module"):
        draw(Live(starter))


def test_pictures_are_shown_where_no_model_can_be_asked(starter, monkeypatch):
    def refuses(model):
        raise DescribeError("the model is damaged")

    monkeypatch.setattr(live_module, "load_asker", refuses)
    made = draw(Live(starter))
    assert len(made.pictures) == 4
    assert all(isinstance(picture, bytes) for picture in made.pictures)
    assert made.answers == ()
    assert made.notes == (
        "tiny was never taught 1 word of this prompt: zebra. What it draws for them means nothing.",
        "No model could be asked: the model is damaged.",
    )


def test_a_cut_that_is_shown_in_part_says_so(starter, monkeypatch):
    monkeypatch.setattr(live_module, "load_asker", lambda model: pytest.fail("this prompt needs no answers"))
    monkeypatch.setattr(live_module, "of_starter", lambda system: False)
    live = Live(starter)
    for letters, end in ((100, "b”."), (400, "b …”.")):
        (note,) = list(live.draw(live.wish("tiny", "b" * letters, 4, 1, 1, 2.0), "me"))[-1].notes
        assert note.endswith(end)


def test_the_tone_is_called_a_tone_and_the_answers_no_facts():
    from samples import png

    from backend.describe import Answer
    from explorers._live import drawn_html

    wish = live_module.Wish("mirror", "a judge", 4, 1, 20, 2.0)
    answers = (tuple(Answer(word, 0.5) for word in ("man", "dark", "<b>judge")),) * 4
    page = drawn_html(Drawn(wish, (png(),) * 4, answers, (), 1.0))
    assert "<th scope=col>Answer: skin tone, asked as ethnicity</th>" in page
    assert "answers, not facts" in page
    assert "&lt;b&gt;judge</b> 4 of 4 (100 %, 95 % interval 51 to 100 %)" in page
