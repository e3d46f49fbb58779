"""The panel "Ask a model" without a browser: HTML, address, stored answers beside new ones, pictures from outside."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import re
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import unquote

import httpx
import numpy as np
import pandas as pd
import pytest
from audits import HOSTILE
from fastapi import FastAPI
from PIL import Image
from probe_audits import make_probed
from samples import encode, noise
from scripted import Scripted
from test_live_ask import MODELS, asking, file, values  # noqa: F401 (fixtures)

import app
from backend.live_answers import summary
from backend.live_ask import MOST_SENT, SIDE, Asked, scaled, sent
from backend.live_questions import Question, settled
from backend.probes.actions import Action
from backend.probes.ask import Answer
from backend.probes.base import ANSWERED, UNPARSED
from backend.probes.prompts import expand, read_options, read_styles
from backend.waiting import LiveError
from explorers import live
from explorers._grid import detail
from explorers._live_ask import answers_frame, asked_html, prompt_html, sentence
from explorers._live_ask_controls import run
from explorers._live_ask_stored import stored_html
from explorers._live_ask_view import AskView, from_params, other_picture, portraits, to_address
from explorers._shared import params_of


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_probed(tmp_path_factory.mktemp("probed"))


def made(chooses=lambda probe, at: at % 3, text="", **changes) -> Asked:
    """An answer to nine prompts, with probabilities that differ from prompt to prompt."""
    said = {"model": "made-lm", "direction": "text-to-text", "style": "informed-direct", "attribute": "gender"}
    said |= {"culture": "", "profession": "nurse", "action": "A <subject> is at work", **changes}
    probes = expand(Action(said["profession"], said["action"]), read_options()[0], read_styles()[0])
    rng, answers = np.random.default_rng(0), []
    for at, probe in enumerate(probes):
        option = chooses(probe, at)
        chances = tuple(rng.dirichlet([1.0] * 3))
        answers.append(Answer(ANSWERED, option, text or probe.prompt.options[option], (), (), chances))
    return Asked(Question(**said), "Made", tuple(probes), tuple(answers), "0" * 64, "", "", (), 1.0)


def plain(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


# ---- the prompt and the answers as HTML ----
def test_the_first_prompt_stands_there_as_it_is_sent(asking):  # noqa: F811
    question = asking.question(values(asking, profession=HOSTILE, action="A <subject> is reading <b>${x}</b> {action}"))
    probes = asking.probes(question)
    html = prompt_html(asking.known["made"], probes, AskView(question))
    assert "The first of 9 prompts: 3 wordings × 3 orders" in html
    shown = re.search(r"<pre[^>]*>(.*?)</pre>", html, re.S)[1]
    assert "<" not in shown and "{" not in shown and "$" not in shown
    import html as codes

    assert codes.unescape(shown) == probes[0].prompt.text


def test_words_that_tell_are_minded(asking):  # noqa: F811
    question = asking.question(values(asking, action="A <subject> is calling her son"))
    told = plain(prompt_html(asking.known["made"], asking.probes(question), AskView(question)))
    assert "her (gender), son (gender)" in told


def test_the_answer_holds_every_number_and_no_markup_of_strangers():
    asked = replace(made(text=HOSTILE * 30, profession=HOSTILE), title=HOSTILE, notes=(HOSTILE,))
    html = asked_html({}, asked, AskView(asked.question), None)
    assert "<script" not in html and "${" not in html and "{{" not in html
    said = summary(asked.probes, asked.answers)
    words = plain(html)
    for one in said.spreads:
        assert f"chosen in {one.chosen} of 9" in words
        assert f"{100 * one.mean:.0f} %" in words
    assert html.count("<tr>") == 1 + 9 and "No open audit holds answers" in words


def test_the_sentence_says_what_was_first_and_how_far_it_moved():
    asked = made(lambda probe, at: 0)
    said = summary(asked.probes, asked.answers)
    text = sentence(asked, said)
    top = max(said.spreads, key=lambda one: one.mean)
    assert f"gave the most probability to “{top.name}”" in text and "3 of 9 chose it" in text
    assert "The option shown first was chosen in 9 of 9 prompts; if place played no part, that would be 1 in 3." in text
    bare = replace(asked, answers=tuple(Answer(UNPARSED, None, "hm") for _ in asked.answers))
    assert "No option was chosen in any of 9 prompts" in sentence(bare, summary(bare.probes, bare.answers))


def test_the_csv_has_a_row_a_prompt_and_runs_no_formula():
    asked = made(text="=1+1")
    frame = answers_frame(asked)
    assert len(frame) == 9 and frame["prompt"].tolist() == [probe.prompt.text for probe in asked.probes]
    html = asked_html({}, asked, AskView(asked.question), None)
    link = re.search(r'href="(data:text/csv[^"]*)"', html)[1]
    table = pd.read_csv(io.StringIO(unquote(link.partition(",")[2]).lstrip("\ufeff")))
    assert (table["raw_answer"] == "'=1+1").all()
    assert table["probabilities: male"].to_numpy() == pytest.approx(frame["probabilities: male"].to_numpy())


# ---- stored answers ----
def test_stored_answers_are_those_of_the_audit(audit):
    asked = made(profession="baker")
    html = stored_html({"probed": audit}, asked, summary(asked.probes, asked.answers))
    table = audit.probes.table("made-lm")
    mine = table[(table["style"] == "informed-direct") & (table["attribute"] == "gender")]
    rows = re.findall(r"<tr><th scope=row>.*?</tr>", html, re.S)
    assert len(rows) == 3
    for row, part in ((rows[1], mine[mine["profession"] == "baker"]), (rows[2], mine)):
        for name in ("male", "female", "no preference", "unparsed"):
            number = int((part["answer"] == name).sum())
            assert f"{100 * number / len(part):.0f} % ({number:,})" in plain(row).replace("( ", "(")
        assert f"{len(part):,} answers" in row and f"n = {part['input'].nunique()} input" in row
    assert "in other words" in html and "of other weights" not in html
    link = re.search(r'href="\?(tab=neutrality[^"]*)"', html)[1].replace("&amp;", "&")
    assert params_of(link)["row"] == ["p:baker"] and params_of(link)["m"] == ["made-lm"]
    other = made(profession="astronaut of <b>")
    assert "None is about astronaut of &lt;b&gt;." in stored_html(
        {"p": audit}, other, summary(other.probes, other.answers)
    )
    none = made(style="blind-indirect", attribute="age")  # whose stored classes are others
    assert "nothing to set this beside" in stored_html({"p": audit}, none, summary(none.probes, none.answers))


# ---- the view and its address ----
def test_an_address_restores_the_view(asking, audit):  # noqa: F811
    stores = {"probed": audit}
    said = {"profession": "a & b <c> ${d}", "action": "A <subject> is at 100 % & more", "attribute": "age"}
    view = from_params(stores, asking.known, {name: [value] for name, value in said.items()})
    again = from_params(stores, asking.known, params_of(to_address(asking.known, view)))
    assert again == view and view.question.profession == said["profession"] and view.of == ""
    view = from_params(stores, asking.known, {"direction": ["image-to-text"], "of": ["nothing"], "audit": ["none"]})
    assert view.question.model == "sees" and view.audit == "probed" and audit.row_of(view.of) is not None
    assert from_params(stores, asking.known, params_of(to_address(asking.known, view))) == view
    seen = {view.of}
    for _ in portraits(audit)[1:]:
        view = other_picture(stores, view)
        seen.add(view.of)
    assert len(seen) == len(portraits(audit))
    assert from_params({}, asking.known, {"direction": ["image-to-text"]}).of == ""


def test_every_picture_leads_to_the_panel(audit):
    link = re.search(r'href="\?(tab=live[^"]*)"', detail(audit, 5))[1].replace("&amp;", "&")
    assert params_of(link)["of"] == [audit.generations["id"].iat[5]] and params_of(link)["do"] == ["ask"]


def test_a_question_from_the_page_is_asked_or_refused_in_a_sentence(asking, audit):  # noqa: F811
    stores = {"probed": audit}
    *_, (board, _) = run(asking, stores, values(asking), "", "me")
    assert "<h3>Made &lt;i&gt;lm&lt;/i&gt;: gender, nurse</h3>" in board
    picture = {**values(asking), "model": "sees", "direction": "image-to-text", "audit": "probed", "of": ""}
    *_, (board, _) = run(asking, stores, picture, "", "me")
    assert Scripted.last.asked[0].picture is not None and "image/probed/" in board
    own = "data:image/png;base64," + base64.b64encode(encode(noise(3))).decode()
    *_, (board, _) = run(asking, stores, picture, own, "me")
    assert own in board and Scripted.last.asked[-1].picture.size == (24, 16)
    for wrong in ({"attribute": "height"}, {"action": "x" * 30_000}, {"model": {"path": "/etc/passwd"}}):
        ((board, _),) = run(asking, stores, {**values(asking), **wrong}, "", "me")
        assert board.startswith('<p class="lk-problem" role="alert">') and len(board) < 300
    *_, (board, _) = run(asking, stores, picture, "data:text/html;base64,PGI+", "me")
    assert "reload the page" in board


# ---- pictures from outside ----
@pytest.mark.parametrize(("size", "kind"), [((1500, 1000), "webp"), ((128, 96), "png"), ((1, 900), "png")])
def test_a_picture_is_scaled_to_what_travels(size, kind):
    data, media = scaled(encode(noise(1, size), "PNG"))
    assert media == f"image/{kind}" and len(data) <= MOST_SENT
    shown = Image.open(io.BytesIO(data))
    assert max(shown.size) == min(max(size), SIDE)
    assert sent(f"data:{media};base64,{base64.b64encode(data).decode()}") == data


@pytest.mark.parametrize("text", ["x", "data:image/svg+xml;base64,AAAA", "data:image/png;base64," + "A" * 300_000])
def test_what_is_no_picture_of_the_page_is_refused(text):
    with pytest.raises(LiveError, match="reload the page"):
        sent(text)
    with pytest.raises(LiveError, match="did not come whole"):
        sent("data:image/png;base64,&&&")
    assert sent("") is None and sent(["x"]) is None


@pytest.fixture
def served(monkeypatch, audit):
    monkeypatch.setattr(app, "EXPLORERS", (SimpleNamespace(SLUG="live", QUERY=live.QUERY),))
    server = FastAPI()
    app.add_routes(server, {"probed": audit})
    return server


BAD = {
    "no header": (encode(noise()), {}, 403, "open its tab"),
    "21 MB": (bytes(21_000_000), None, 413, "more than 20 MB"),
    "empty": (b"", None, 422, "The file is empty"),
    "half a JPEG": (encode(noise(1, (200, 200)), "JPEG")[:3000], None, 422, "Damaged picture"),
    "a bomb": (encode(Image.new("L", (10_000, 5_000))), None, 422, "more than the limit of 40,000,000; scale it down."),
    "a larger bomb": (encode(Image.new("1", (16_000, 12_000))), None, 422, "scale it down."),
    "text": (os.urandom(500), None, 422, "No picture that can be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_hostile_uploads_get_a_sentence(served, name):
    body, headers, status, words = BAD[name]

    async def go():
        transport = httpx.ASGITransport(served)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            head = {"X-Likeness": "query"} if headers is None else headers
            return await client.post("/query/live/picture", content=body, headers=head)

    answer = asyncio.run(go())
    assert answer.status_code == status and words in answer.text and len(answer.text) < 200
    assert "--max" not in answer.text


def test_settled_needs_no_values(asking):  # noqa: F811
    assert settled(asking.known, {}).model == "made"
