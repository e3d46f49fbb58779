"""POST /query: what a body may be, how many are worked on at once, and what a hostile client gets."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI

import app
from explorers import _query

OURS = {"X-Likeness": "query"}
PATH = "/query/fake/echo?k=12"


def echo(stores, params, body):
    return (f"{params['k'][0]} {len(body)}".encode(), "text/html") if body else "The picture is empty"


@pytest.fixture
def served(monkeypatch):
    """`served(ask, **seconds)` -> the app's routes with one tab, whose query `echo` is `ask`."""

    def make(ask=echo, **seconds):
        monkeypatch.setattr(app, "EXPLORERS", (SimpleNamespace(SLUG="fake", QUERY={"echo": ask}),))
        monkeypatch.setattr(app, "Queries", lambda: _query.Queries(**seconds))
        server = FastAPI()
        app.add_routes(server, {"small": object()})
        return server

    return make


def ask(server, *requests):
    """The answers to requests that are sent at once; each is (method, path, headers, content)."""

    async def go():
        transport = httpx.ASGITransport(server)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            sent = [client.request(m, path, headers=h, content=c) for m, path, h, c in requests]
            return await asyncio.gather(*sent)

    return asyncio.run(go())


async def endless():
    """A chunked body that says no length and never ends; it counts what was taken."""
    while True:
        endless.taken += 1_000_000
        yield b"x" * 1_000_000


async def silent():
    yield b"x"
    await asyncio.sleep(60)


def test_a_body_is_answered(served):
    (answer,) = ask(served(), ("POST", PATH, OURS, b"x" * 7))
    assert (answer.status_code, answer.text) == (200, "12 7")
    assert answer.headers["x-likeness"] == "echo"
    assert answer.headers["cache-control"] == "no-store"


def test_a_refusal_is_a_sentence(served):
    (answer,) = ask(served(), ("POST", PATH, OURS, b""))
    assert (answer.status_code, answer.text) == (422, "The picture is empty")
    assert answer.headers["x-likeness"] == "problem"
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    "headers", [{}, {"X-Likeness": "picture"}, {"Content-Type": "application/x-www-form-urlencoded"}]
)
def test_what_another_site_can_send_is_refused(served, headers):
    (answer,) = ask(served(), ("POST", PATH, headers, b"x"))
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_only_post_is_answered(served, method):
    (answer,) = ask(served(), (method, PATH, OURS, b""))
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/query/fake/other", "/query/other/echo", "/query/fake/__class__"])
def test_only_what_a_tab_offers_is_there(served, path):
    assert ask(served(), ("POST", path, OURS, b"x"))[0].status_code == 404


def test_a_length_that_is_too_large_is_refused_unread(served):
    headers = OURS | {"Content-Length": "20000001"}
    endless.taken = 0
    (answer,) = ask(served(), ("POST", PATH, headers, endless()))
    assert (answer.status_code, answer.text) == (413, _query.TOO_LARGE)
    assert endless.taken <= 1_000_000


@pytest.mark.parametrize("length", [{}, {"Content-Length": "5"}, {"Content-Length": "-1"}, {"Content-Length": "x"}])
def test_a_body_without_end_is_read_no_further_than_the_limit(served, length):
    endless.taken = 0
    (answer,) = ask(served(), ("POST", PATH, OURS | length, endless()))
    assert answer.status_code == 413
    assert endless.taken <= 22_000_000


def test_a_body_that_stops_coming_is_given_up(served):
    began = time.monotonic()
    (answer,) = ask(served(reading=0.1), ("POST", PATH, OURS, silent()))
    assert answer.status_code == 408
    assert time.monotonic() - began < 5


def test_bodies_that_come_slowly_do_not_pile_up(served):
    slow = [("POST", PATH, OURS, silent()) for _ in range(_query.READERS + 3)]
    answers = ask(served(reading=0.3), *slow)
    assert sorted(answer.status_code for answer in answers) == [408] * _query.READERS + [503] * 3


def test_two_are_worked_on_at_once_and_the_third_waits(served):
    most, now, lock = 0, 0, threading.Lock()

    def slow(stores, params, body):
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.1)
        with lock:
            now -= 1
        return b"done", "text/html"

    answers = ask(served(slow), *[("POST", PATH, OURS, b"x")] * 5)
    assert [answer.status_code for answer in answers] == [200] * 5
    assert most == _query.WORKERS


def test_who_waits_too_long_is_told_so_and_places_come_back(served):
    go_on = threading.Event()

    def stuck(stores, params, body):
        go_on.wait(10)
        return b"done", "text/html"

    server = served(stuck, waiting=0.1, working=0.3)

    async def go():
        transport = httpx.ASGITransport(server)
        async with httpx.AsyncClient(transport=transport, base_url="http://app", headers=OURS) as client:
            first = await asyncio.gather(*[client.post(PATH, content=b"x") for _ in range(3)])
            still = await client.post(PATH, content=b"x")  # work that is over its time keeps its place
            go_on.set()
            await asyncio.sleep(0.2)
            return first, still, await client.post(PATH, content=b"x")

    first, still, after = asyncio.run(go())
    told = sorted((answer.status_code, answer.text) for answer in (*first, still))
    assert [status for status, _ in told] == [503] * 4
    assert sum(text == _query.BUSY for _, text in told) == 2
    assert (after.status_code, after.text) == (200, "done")
