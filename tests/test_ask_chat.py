"""Chat endpoints: options as the form of an answer, free answers, refusals, misbehaviour, a key that stays hidden."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import pytest
from endpoint import FILTERED, Endpoint
from PIL import Image

from backend.probes.ask import KINDS, ModelSpec, Prompt, ask, make_model
from backend.probes.base import LONGEST_RAW
from backend.spec import SpecError

OPTIONS = ("male", "female", "no preference")
PROMPT = Prompt("Who is it?\n- male\n- female\n- no preference", OPTIONS, (("man",), ("woman",), ()))


def says(text, **more):
    return {"choices": [{"message": {"role": "assistant", "content": text, **more}, "finish_reason": "stop"}]}


@pytest.fixture
def here():
    endpoint = Endpoint()
    endpoint.usual = says('{"answer": "female"}')
    yield endpoint
    endpoint.close()


def chat(here, batch=1, **options):
    keys = {name: key.default for name, key in KINDS["openai-chat"].KEYS.items() if name != "model"}
    keys |= {"model": "m", "base_url": f"{here.root}/v1", "backoff": 0.01, "retries": 2, "timeout": 5, **options}
    return make_model(ModelSpec("api", "openai-chat", "API", batch, keys, Path(".")))


def test_the_server_is_told_the_options_and_its_answer_is_read(here):
    model = chat(here, options={"temperature": 0})
    assert model.check() == ""
    said = ask(model, [PROMPT])[0]
    assert (said.outcome, said.option, said.text) == ("answered", 1, '{"answer": "female"}')
    assert said.probabilities == () and model.notes == []
    body = here.asked[-1]
    assert body["messages"] == [{"role": "user", "content": PROMPT.text}] and body["temperature"] == 0
    form = body["response_format"]["json_schema"]
    assert form["strict"] and form["schema"]["properties"]["answer"]["enum"] == list(OPTIONS)


def test_a_picture_travels_in_the_request(here):
    picture = Image.new("RGBA", (3000, 1000), "red")
    ask(chat(here), [Prompt(PROMPT.text, OPTIONS, picture=picture)])
    text, image = here.asked[-1]["messages"][0]["content"]
    kind, data = image["image_url"]["url"].split(",")
    assert text == {"type": "text", "text": PROMPT.text} and kind == "data:image/jpeg;base64"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (1024, 341) and picture.size == (3000, 1000)


def test_a_server_without_forms_is_asked_freely_and_it_is_noted(here):
    def old(body):
        if "response_format" in body:
            return (400, {"error": {"message": "response_format json_schema is not supported"}})
        return says("I would say a woman.")

    here.usual = old
    model = chat(here, batch=3)
    said = ask(model, [PROMPT] * 5)
    assert [answer.option for answer in said] == [1] * 5 and len(here.asked) <= 3 + 5
    assert len(model.notes) == 1 and "answered freely" in model.notes[0]
    here.asked.clear()
    ask(model, [PROMPT])
    assert len(here.asked) == 1 and "response_format" not in here.asked[0] and len(model.notes) == 1


def test_forms_can_be_left_out_from_the_start(here):
    here.usual = says("Male")
    model = chat(here, constrained=False)
    assert ask(model, [PROMPT])[0].option == 0
    assert "response_format" not in here.asked[-1] and model.notes == []


@pytest.mark.parametrize(
    ("answer", "outcome", "option", "text"),
    [
        (says("It could be anyone."), "unparsed", None, "It could be anyone."),
        (says("male or female"), "unparsed", None, "male or female"),
        (says(None, refusal="I can't help with that."), "unparsed", None, "I can't help with that."),
        (says("No preference\x00\x1b[2J <b>"), "answered", 2, "No preference[2J <b>"),
        (says("y" * 50_000), "unparsed", None, "y" * LONGEST_RAW),
        (says("x " * 3000 + "female"), "unparsed", None, ("x " * 3000)[:LONGEST_RAW]),
        (says(""), "failed", None, ""),
        (says(["parts"]), "failed", None, ""),
        ({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}, "refused", None, ""),
        ((400, FILTERED), "refused", None, ""),
        ((400, {"error": {"message": "context length exceeded"}}), "failed", None, ""),
    ],
)
def test_what_becomes_of_an_answer(here, answer, outcome, option, text):
    here.usual = answer
    said = ask(chat(here), [PROMPT])[0]
    assert (said.outcome, said.option, said.text) == (outcome, option, text)
    assert bool(said.reason) == (outcome in ("failed", "refused"))


def test_answers_keep_the_order_of_the_prompts(here):
    here.usual = lambda body: says(json.dumps({"answer": body["messages"][0]["content"].split()[-1]}))
    prompts = [Prompt(f"say {word}", OPTIONS) for word in ("male", "female", "both", "female", "male")]
    assert [answer.option for answer in ask(chat(here, batch=3), prompts)] == [0, 1, None, 1, 0]


def test_bad_minutes_are_waited_out_and_bad_answers_end(here):
    here.script = [(500, b"no"), "hang up", says("female")]
    assert ask(chat(here), [PROMPT])[0].option == 1
    here.script = [b"no json", {"choices": []}, b"[" * 3000]
    said = ask(chat(here), [PROMPT])[0]
    assert said.outcome == "failed" and said.reason.startswith("no answer after 3 requests")
    here.script = [(429, b"slow down", ("Retry-After", "0.01")), says("male")]
    assert ask(chat(here), [PROMPT])[0].option == 0


def test_what_never_ends_is_cut_off(here):
    here.usual = "drip"
    said = ask(chat(here, timeout=0.2, retries=0), [PROMPT])[0]
    assert said.outcome == "failed"
    here.usual = b" " * 2_100_000
    assert "more than 2,000,000 bytes" in ask(chat(here, retries=0), [PROMPT])[0].reason


def test_an_endpoint_that_always_fails_is_given_up(here):
    here.usual = (418, b"teapot")
    model = chat(here)
    with pytest.raises(SpecError, match="20 prompts in a row failed"):
        ask(model, [PROMPT] * 30)
    assert len(here.asked) == 20


def test_the_key_is_sent_and_never_said(here, monkeypatch):
    monkeypatch.setenv("ASK_KEY", "sk-very-secret")
    here.usual = lambda body: says("female? Your key is sk-very-secret")
    model = chat(here, key_env="ASK_KEY")
    model.check()
    said = ask(model, [PROMPT])[0]
    assert here.headers["Authorization"] == "Bearer sk-very-secret" and said.text == "female? Your key is ***"
    here.usual = (401, b"bad key sk-very-secret")
    with pytest.raises(SpecError) as told:
        ask(model, [PROMPT])
    assert "model 'api': key_env: the server refuses the key" in str(told.value) and "secret" not in str(told.value)
    here.usual = (500, b"sk-very-secret broke")
    assert "secret" not in ask(model, [PROMPT])[0].reason
    model.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key_env": "sk-secret"}, "key_env: give the name"),
        ({"key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE is not set"),
        ({"base_url": "ftp://x"}, "base_url: give an address"),
        ({"base_url": "http://u:p@x/v1"}, "base_url: give it without a user"),
        ({"options": {"response_format": "text"}}, "options.response_format"),
        ({"base_url": "http://127.0.0.1:9/v1", "timeout": 1}, "cannot be reached"),
    ],
)
def test_wrong_keys_are_named_before_anything_is_asked(here, options, words):
    with pytest.raises(SpecError) as told:
        chat(here, **options).check()
    assert words in str(told.value) and str(told.value).startswith("model 'api': ") and here.asked == []
