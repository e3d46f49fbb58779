"""Kind "openai-images": a real server on loopback that misbehaves in every way we could think of."""

from __future__ import annotations

import base64
import io
import threading
import time
import tracemalloc
import zlib
from datetime import UTC, datetime

import pytest
from PIL import Image
from samples import encode, png
from specs import PROMPTS, api, write_spec

from backend.generate import requests_of
from backend.pictures import MAX_BYTES
from backend.spec import SpecError, load_spec
from backend.systems import KEYS, Refused, make_system
from backend.systems.web import retry_after

SECRET = "sk-secret-0123456789"


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    return "'MY_KEY'"


def opened(folder, system, prompts=PROMPTS):
    """The one system of a spec, and what the spec wants of it."""
    spec = load_spec(write_spec(folder, system, prompts), KEYS)
    return make_system(spec.systems[0]), requests_of(spec)


def asked(folder, endpoint, *script, **keys):
    """One request of the stub, with what its answers are to be; the answer."""
    system, requests = opened(folder, api(endpoint, **keys))
    endpoint.script = list(script)
    system.check()
    try:
        return system.generate(requests[:1])[0]
    finally:
        system.close()


def size(answer) -> tuple[int, int]:
    return Image.open(io.BytesIO(answer)).size


def test_a_request_says_what_the_spec_says(tmp_path, endpoint, key):
    answer = asked(tmp_path, endpoint, key_env=key, size="256", options="{quality = 'hd'}")
    assert size(answer) == (24, 16)
    (body,) = endpoint.asked
    assert body == {
        "model": "m",
        "prompt": "Photo portrait of a nurse",
        "n": 1,
        "size": "256x256",
        "response_format": "b64_json",
        "seed": body["seed"],
        "quality": "hd",
    }
    assert endpoint.headers["Authorization"] == f"Bearer {SECRET}"


def test_without_key_seed_and_response_format(tmp_path, endpoint):
    assert size(asked(tmp_path, endpoint, send_seed="false", response_format="''")) == (24, 16)
    assert endpoint.asked[0].keys() == {"model", "prompt", "n", "size"}
    assert "Authorization" not in endpoint.headers


def test_an_image_by_address_is_fetched_without_the_key(tmp_path, endpoint, key):
    assert size(asked(tmp_path, endpoint, "url", key_env=key)) == (24, 16)
    (headers,) = endpoint.fetched
    assert "Authorization" not in headers


LIMIT = (429, {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}, ("Retry-After", "0.05"))


@pytest.mark.parametrize(
    "trouble",
    [
        LIMIT,
        (429, b"not JSON"),
        (500, b""),
        (503, b"<html>"),
        (408, b""),
        b"{",
        b"[]",
        b"null",
        b'{"data": []}',
        b'{"data": ["x"]}',
        b'{"data": [{"b64_json": "!"}]}',
        b'{"data": [{"b64_json": 5}]}',
        b"[" * 100_000,
        "hang up",
        {"data": [{"url": "http://127.0.0.1:1/x.png"}]},
        {"data": [{"url": "http://[::1"}]},
        {"data": [{"url": "http://a b"}]},
    ],
    ids=str,
)
def test_trouble_that_passes_is_waited_for(tmp_path, endpoint, trouble):
    assert size(asked(tmp_path, endpoint, trouble, trouble)) == (24, 16)
    assert len(endpoint.asked) == 3


def test_retry_after_is_kept(tmp_path, endpoint):
    limit = (*LIMIT[:2], ("Retry-After", "0.4"))
    started = time.monotonic()
    asked(tmp_path, endpoint, limit, backoff="0")
    assert 0.4 <= time.monotonic() - started < 5


def test_retry_after_as_a_date_and_as_nonsense():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert retry_after("Thu, 01 Jan 2026 00:00:07 GMT", lambda: now) == 7
    assert retry_after("Wed, 31 Dec 2025 23:00:00 GMT", lambda: now) == 0
    assert retry_after("Thu, 01 Jan 2026 00:00:07", lambda: now) is None
    assert retry_after("-5") is None


@pytest.mark.parametrize("trouble", ["slow", "drip", "drip headers"])
def test_a_slow_answer_is_not_waited_for_for_ever(tmp_path, endpoint, trouble):
    system, requests = opened(tmp_path, api(endpoint, retries="1", timeout="0.2"))
    system._http(ours=True)  # which takes its time on a busy machine
    endpoint.script = [trouble] * 3
    started = time.monotonic()
    answer = system.generate(requests[:1])[0]
    assert time.monotonic() - started < 1.5
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    system.close()
    assert isinstance(answer, Refused)
    assert answer.outcome == "failed"
    assert answer.reason.startswith("no image after 2 requests; the last one: ")
    assert len(endpoint.asked) == 2


def test_trouble_that_stays_ends(tmp_path, endpoint):
    endpoint.usual = (500, b"sorry")
    answer = asked(tmp_path, endpoint)
    assert answer == Refused("no image after 4 requests; the last one: HTTP 500: sorry")
    assert len(endpoint.asked) == 4


def test_a_system_that_gave_up_asks_again_and_counts_what_it_asked(tmp_path, endpoint):
    system, requests = opened(tmp_path, api(endpoint, batch="2"))
    endpoint.usual = (403, b"blocked")
    with pytest.raises(SpecError, match="the server refuses the key"):
        system.generate(requests[:2])
    endpoint.asked.clear()
    endpoint.usual, endpoint.script = "image", [(500, b""), (500, b"")]
    assert size(system.generate(requests[:1])[0]) == (24, 16) and len(endpoint.asked) == 3
    endpoint.usual = lambda body: system._stop.set() or (500, b"sorry")  # as another request's refusal does
    assert system.generate(requests[:1]) == [Refused("no image after 1 request; the last one: HTTP 500: sorry")]
    system.close()


@pytest.mark.parametrize(
    ("answer", "outcome", "words"),
    [
        ("filtered", "filtered", "content_policy_violation Rejected by our safety system."),
        ((400, {"error": {"code": "moderation_blocked", "message": "no"}}), "filtered", "moderation_blocked"),
        ((400, {"error": {"code": "content_filter"}}), "filtered", "content_filter"),
        ((400, {"error": {"type": "invalid_request_error", "message": "bad size"}}), "failed", "HTTP 400"),
        ((400, {"error": "flat"}), "failed", "flat"),
        ((302, b"", ("Location", "http://127.0.0.1:1/")), "failed", "HTTP 302"),
        ({"data": [{}]}, "failed", "neither b64_json nor url"),
        ({"data": [{"url": 5}]}, "failed", "neither b64_json nor url"),
        ({"data": [{"url": "file:///etc/passwd"}]}, "failed", "neither http:// nor https://"),
        (
            {"data": [{"b64_json": base64.b64encode(b"GIF?").decode()}]},
            "failed",
            "no usable image: no picture that can",
        ),
        ({"data": [{"b64_json": base64.b64encode(png()[:200]).decode()}]}, "failed", "no usable image: damaged"),
        (
            {"data": [{"b64_json": base64.b64encode(encode(Image.new("1", (20_000, 20_000)))).decode()}]},
            "failed",
            "no usable image",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_answers_that_are_no_image(tmp_path, endpoint, answer, outcome, words):
    refused = asked(tmp_path, endpoint, answer)
    assert isinstance(refused, Refused)
    assert refused.outcome == outcome
    assert words in refused.reason
    assert len(endpoint.asked) == 1


def test_an_answer_that_is_too_large(tmp_path, endpoint, monkeypatch):
    monkeypatch.setattr("backend.systems.images_api.LARGEST_ANSWER", 1000)
    answer = asked(tmp_path, endpoint, retries="0")
    assert "more than 1,000 bytes" in answer.reason
    monkeypatch.undo()
    monkeypatch.setattr("backend.systems.images_api.MAX_BYTES", 1000)
    assert "more than 1,000 bytes" in asked(tmp_path, endpoint, "url", retries="0").reason
    assert MAX_BYTES > 1000


@pytest.mark.parametrize(("way", "size"), [("gzip", 1000), ("br", 1000), ("gzip, br", 1000), ("GZIP", 200_000_000)])
def test_a_compressed_answer_is_not_unpacked(tmp_path, endpoint, way, size):
    squeezed = zlib.compressobj(1, wbits=31)
    body = b"".join(squeezed.compress(bytes(1_000_000)) for _ in range(size // 1_000_000)) + squeezed.flush()
    tracemalloc.start()
    for status in (200, 400):
        answer = asked(tmp_path, endpoint, (status, body, ("Content-Encoding", way)), retries="0")
        words = f"HTTP {status}: the answer is compressed ({way.lower()}), though we ask for one that is not"
        assert answer == Refused(f"no image after 1 request; the last one: {words}")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000
    assert endpoint.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((401, {"error": {"message": f"Incorrect API key provided: {SECRET}"}}), "key_env: the server refuses the key"),
        ((403, b""), "key_env: the server refuses the key"),
        ((402, b"pay"), "key_env: the account is spent"),
        ((429, {"error": {"code": "insufficient_quota", "message": "m"}}), "key_env: the account is spent"),
        ((404, {"error": {"code": "model_not_found"}}), "model: the server does not know it"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_answers_after_which_no_request_can_succeed(tmp_path, endpoint, key, answer, words):
    with pytest.raises(SpecError) as stopped:
        asked(tmp_path, endpoint, answer, key_env=key)
    assert f"system 'api': {words}" in str(stopped.value)
    assert SECRET not in str(stopped.value)
    assert len(endpoint.asked) == 1


def test_the_key_is_in_no_reason_even_where_the_server_repeats_it(tmp_path, endpoint, key):
    answer = asked(tmp_path, endpoint, (400, f"key {SECRET} is odd".encode()), key_env=key)
    assert answer == Refused("HTTP 400: key *** is odd")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"key_env": "'NOT_THERE_1'"}, "key_env: the environment variable NOT_THERE_1 is not set: say export"),
        ({"key_env": f"'{SECRET}'"}, "key_env: give the name of an environment variable"),
        ({"key_env": "'ODD'"}, "key_env: the environment variable ODD holds no key"),
        ({"base_url": "'ftp://x'"}, "base_url: give an address that begins with https:// or http://"),
        ({"base_url": "'http://['"}, "base_url: no address"),
        ({"base_url": "'http://me:pw@127.0.0.1/v1'"}, "base_url: give it without a user"),
        ({"base_url": "'http://127.0.0.1:1/v1'"}, "base_url: 127.0.0.1 cannot be reached (ConnectError"),
        ({"options": "{prompt = 'x'}"}, "options.prompt: give a text or a number, and none of"),
        ({"options": "{x = []}"}, "options.x: give a text"),
        ({"options": "{x = nan}"}, "options.x: give a text"),
        ({"options": "{x = 1" + "0" * 400 + "}"}, "a number of more than 64 bits"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_is_said_before_anything_is_asked(tmp_path, endpoint, monkeypatch, keys, words):
    monkeypatch.setenv("ODD", "a b\u00e9\n")
    with pytest.raises(SpecError) as refused:
        opened(tmp_path, api(endpoint, **keys))[0].check()
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)
    assert endpoint.asked == []


def test_a_refused_key_is_found_before_anything_is_asked(tmp_path, endpoint, key):
    endpoint.models = 401
    system, _ = opened(tmp_path, api(endpoint, key_env=key))
    with pytest.raises(SpecError, match="the server refuses the key"):
        system.check()
    assert endpoint.asked == []


def test_a_server_that_sends_us_elsewhere(tmp_path, endpoint):
    endpoint.models = 308
    system, _ = opened(tmp_path, api(endpoint))
    with pytest.raises(SpecError, match="base_url: the server sends us elsewhere; give the address that it sends to"):
        system.check()


def test_a_server_that_lists_no_models_is_good_enough(tmp_path, endpoint):
    endpoint.models = 404
    assert size(asked(tmp_path, endpoint)) == (24, 16)


def test_several_requests_at_once_keep_their_order(tmp_path, endpoint):
    system, requests = opened(tmp_path, api(endpoint, batch="6"))
    endpoint.pause = 0.2
    endpoint.usual = lambda body: "filtered" if "honest" in body["prompt"] else "image"
    started = time.monotonic()
    answers = system.generate(requests[:6])
    assert time.monotonic() - started < 1
    assert [isinstance(answer, Refused) for answer in answers] == [False] * 3 + [True] * 3
    single = [system.generate([request])[0] for request in requests[:3]]
    assert answers[:3] == single
    system.close()
