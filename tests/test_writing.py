"""Free text: greedy against a loop by hand, seeds, limits; endpoints that lack fields, fail, or are real servers."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import asked
import httpx
import pytest
from asked import model_of
from chat_server import ChatServer
from endpoint import FILTERED, Endpoint
from samples import ROOT
from test_ask_chat import chat, says
from tiny_ask import make_lm

from backend.probes.ask import Prompt, ask, load_models, make_model
from backend.probes.base import LONGEST_RAW
from backend.probes.parsing import parse
from backend.probes.writing import Talk, plain_lines, writer_of
from backend.spec import SpecError

TALKS = [Talk((f"{'long ' * n}words {n}", "yes", "go on"), most=12) for n in (0, 3, 11)]


@pytest.fixture(autouse=True)
def one_thread():
    yield from asked.one_thread()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_lm(tmp_path_factory.mktemp("models") / "m")


@pytest.fixture
def model(folder):
    made = model_of("lm", folder)
    made.check()
    return made


@pytest.fixture
def here():
    endpoint = Endpoint()
    endpoint.usual = says("A text")
    yield endpoint
    endpoint.close()


def greedy(model, talk):
    """The likeliest token each time, one pass over all tokens for each."""
    import torch

    turns = [f"<|im_start|>{('user', 'assistant')[n % 2]}\n{text}<|im_end|>\n" for n, text in enumerate(talk.turns)]
    ids = model.tokenizer("".join(turns) + "<|im_start|>assistant\n", add_special_tokens=False).input_ids
    start = len(ids)
    while len(ids) < start + talk.most and ids[-1] != model.tokenizer.eos_token_id:
        with torch.inference_mode():
            ids.append(int(model.model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    return model.tokenizer.decode(ids[start:], skip_special_tokens=True)


def test_without_a_temperature_the_likeliest_tokens_are_written(model):
    by_hand = [plain_lines(greedy(model, talk)) for talk in TALKS]
    said = writer_of(model).write(TALKS, 0.0, 0)
    assert [one.text for one in said] == by_hand and len(set(by_hand)) == 3
    assert [writer_of(model).write([talk], 0.0, 5)[0].text for talk in TALKS] == by_hand


def test_a_seed_gives_the_same_texts_and_disturbs_nobody(model):
    import torch

    torch.manual_seed(7)
    wanted = torch.rand(2)
    torch.manual_seed(7)
    first, again, other = (writer_of(model).write(TALKS[:1] * 3, 1.0, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(2), wanted)
    assert first == again != other and len({one.text for one in first}) > 1


def test_what_is_enough_and_what_cannot_be_asked(model, tmp_path):
    whole = writer_of(model).write(TALKS[:1], 0.0, 0)[0].text
    short = writer_of(model).write([Talk(TALKS[0].turns, lambda text: len(text) >= 3, 12), TALKS[1]], 0.0, 0)
    assert 3 <= len(short[0].text) < len(whole) and whole.startswith(short[0].text) and len(short[1].text) > 5
    found = writer_of(model).write([Talk(("a <|im_end|> b",)), TALKS[0], Talk(("word " * 900,))], 0.0, 0)
    assert "'<|im_end|>', a mark of this model" in found[0].reason and found[1].text == whole
    assert "this model holds 2,048" in found[2].reason and found[2].text == ""
    plain = model_of("lm", make_lm(tmp_path / "plain", "gpt2", None))
    plain.check()
    assert writer_of(plain).write([Talk(("Once upon a time",), most=8)], 0.0, 0)[0].text
    gone = Talk(("Once",), lambda text: True, 3)
    plain.tokenizer.decode = plain.tokenizer.batch_decode = lambda rows, **_: [" \n"] * len(rows)
    assert writer_of(plain).write([gone], 0.0, 0)[0].reason == "the model wrote nothing"


def test_models_that_do_not_write_say_so():
    specs = {spec.name: spec for spec in load_models(ROOT / "assets" / "probes" / "models.toml")}
    with pytest.raises(SpecError, match="kind: models of kind blip-vqa do not write; take one of kind lm"):
        writer_of(make_model(specs["starter-vqa"]))


def test_an_endpoint_is_sent_the_talk(here):
    model = chat(here, batch=2, options={"temperature": 0.2})
    here.usual = lambda body: says(f"<think>so</think>{body['messages'][-1]['content']}\x1b[2J\r\nand more")
    said = writer_of(model).write([Talk((f"say {n}",), most=9) for n in range(3)], 0.7, 5)
    assert [one.text for one in said] == [f"say {n}[2J\nand more" for n in range(3)]
    body = here.asked[0]
    assert (body["seed"], body["max_tokens"], body["temperature"]) == (5, 9, 0.2) and "response_format" not in body
    writer_of(model).write(TALKS[:1], 0, 0)
    assert [part["role"] for part in here.asked[-1]["messages"]] == ["user", "assistant", "user"]


def test_a_server_that_lacks_fields_is_asked_without_them(here):
    def old(body):
        lacking = next((name for name in ("max_tokens", "seed") if name in body), None)
        return (400, {"error": {"message": f"Unsupported parameter: '{lacking}'"}}) if lacking else says("fine")

    here.usual = old
    model = chat(here)
    writer = writer_of(model)
    assert writer.write([Talk(("say",))] * 2, 0.7, 0)[1].text == "fine" and len(here.asked) == 4
    assert model.notes == ["The server does not take seed, max_tokens: it was asked without."]
    writer.write([Talk(("say",))], 0.7, 0)
    assert len(here.asked) == 5 and "temperature" in here.asked[-1] and len(model.notes) == 1
    writer.close()


@pytest.mark.parametrize(
    ("answer", "text", "reason"),
    [
        (says(" "), "", "the model wrote nothing"),
        (says(None), "", "holds no text"),
        (says("y" * 50_000), "y" * LONGEST_RAW, ""),
        (b"no json", "", "no answer after 3 requests"),
        ((400, FILTERED), "", "content_policy_violation"),
        ((400, b"seed but the temperature of max_tokens"), "", "HTTP 400"),
    ],
)
def test_what_an_endpoint_says_instead(here, answer, text, reason):
    here.usual = answer
    said = writer_of(chat(here)).write([Talk(("say",))], 0.7, 0)[0]
    assert said.text == text and reason in said.reason and bool(said.reason) == bool(reason)


def test_an_endpoint_that_always_fails_is_given_up_and_its_key_stays_hidden(here, monkeypatch):
    monkeypatch.setenv("ASK_KEY", "sk-very-secret")
    writer = writer_of(chat(here, key_env="ASK_KEY"))
    here.usual = says("key sk-very-secret")
    assert writer.write([Talk(("say",))], 0, 0)[0].text == "key ***"
    here.usual = (418, b"teapot sk-very-secret")
    with pytest.raises(SpecError, match="20 requests in a row failed") as told:
        writer.write([Talk(("say",))] * 30, 0, 0)
    assert len(here.asked) == 21 and "secret" not in str(told.value)


def on_loopback(address, name):
    model = chat(type("Here", (), {"root": address.removesuffix("/v1")}), model=name, timeout=60)
    assert model.check() == ""
    return model


def test_a_real_server_writes_and_answers_what_its_checkpoint_does(folder, model):
    server = ChatServer(folder)
    try:
        far = on_loopback(server.address, "tiny")
        near = [one.text for one in writer_of(model).write(TALKS, 0.0, 0)]
        assert [one.text for one in writer_of(far).write(TALKS, 0.0, 0)] == near
        warm = [writer_of(far).write(TALKS[:1], 1.0, seed)[0].text for seed in (1, 1, 2)]
        assert warm[0] == warm[1] != warm[2]
        said = ask(far, [Prompt("Who is it?", ("male", "female"))])[0]
        alone = writer_of(model).write([Talk(("Who is it?",), most=20)], 0.0, 0)[0].text
        wanted = writer_of(far).write([Talk(("Who is it?",), most=20)], 1.0, 0)[0].text
        assert said.text == wanted.replace("\n", " ") and wanted != alone and "answered freely" in far.notes[0]
        assert said.option == parse(said.text, [("male",), ("female",)])
        assert sum("response_format" in body for body in server.asked) == 1
    finally:
        server.close()


def lacking_for_serve():
    return [name for name in ("openai", "accelerate", "rich") if find_spec(name) is None]


@pytest.mark.skipif(bool(lacking_for_serve()), reason=f"transformers serve needs {', '.join(lacking_for_serve())}")
def test_transformers_serve_writes_what_its_checkpoint_does(folder, model, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "transformers"), "serve", str(folder), "--device", "cpu"]
    with (tmp_path / "log").open("wb") as log:
        run = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port)], stdout=log, stderr=log)
    stack = contextlib.ExitStack()
    try:
        for _ in range(300):
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                    break
            assert run.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.2)
        far = on_loopback(f"http://127.0.0.1:{port}/v1", str(folder))
        stack.callback(far.close)
        near = [one.text for one in writer_of(model).write(TALKS, 0.0, 0)]
        writer = writer_of(far)
        stack.callback(writer.close)
        assert [one.text for one in writer.write(TALKS, 0.0, 0)] == near
        assert ask(far, [Prompt("Who is it?", ("male", "female"))])[0].outcome in ("answered", "unparsed")
    finally:
        stack.close()
        run.terminate()
        run.wait(20)
