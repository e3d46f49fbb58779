"""What must not come through from the network, tried on the app as it is served."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest
from audits import make_audit
from test_browser import serve

from explorers._guard import names_a_file


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_audit(cache, "small")
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


def ask(url: str, body: object = None) -> tuple[int, str]:
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")


@pytest.fixture(scope="module")
def events(url):
    """How many events the page has."""
    return len(json.loads(ask(url + "config")[1])["dependencies"])


def test_no_request_makes_gradio_read_a_file_of_this_machine(url, events, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("canary")
    for number in range(events):
        value = {"path": str(secret), "meta": {"_type": "gradio.FileData"}}
        for data in ([value], [[value]], [{"x": [value]}]):
            body = {"fn_index": number, "data": data, "session_hash": "x"}
            status, text = ask(url + "gradio_api/run/predict", body)
            assert status == 400
            assert text == "Files are not taken here"
    hidden = b'{"fn_index":0,"data":[{"p\\u0061th":"' + str(secret).encode() + b'"}],"session_hash":"x"}'
    assert ask(url + "gradio_api/queue/join", hidden)[0] == 400


@pytest.mark.parametrize(
    "path",
    [
        "gradio_api/file=/etc/passwd",
        "gradio_api/file%3D/etc/passwd",
        "gradio_api/file/etc/passwd",
        "gradio_api/upload",
        "gradio_api/proxy=http://127.0.0.1/",
        "gradio_api/component_server",
        "gradio_api//file=/etc/passwd",
    ],
)
def test_routes_that_no_tab_needs_are_closed(url, path):
    assert ask(url + path)[0] == 404
    assert ask(url + path, {})[0] in (404, 405)


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"\xff", b'{"data": "' + b"x" * 300_000 + b'"}'])
def test_a_body_that_is_no_request_is_refused(url, body):
    assert ask(url + "gradio_api/run/predict", body)[0] in (400, 413)


@pytest.mark.parametrize("value", [None, 7, [], {}, ["x"] * 50, "<script>", "\x00", True, [None], {"a": 1}])
def test_handlers_take_any_value_and_tell_nothing(url, events, value):
    for number in range(events):
        body = {"fn_index": number, "data": [value] * 26, "session_hash": "y", "event_data": value}
        status, text = ask(url + "gradio_api/run/predict", body)
        assert status in (200, 400, 404, 422, 500)
        assert "Traceback" not in text
        assert "/work" not in text
        assert "site-packages" not in text


def test_parameters_that_gradio_reads_are_hidden_however_written(url):
    for query in ("page=x", "%70age=x", "p%61ge=x&tab=about", "deep_link=../../x"):
        assert ask(f"{url}?{query}")[0] == 200


def test_types_are_not_sniffed(url):
    for path in ("", "detail/small/0000000000000001", "csv/browse", "ui/app.js", "gradio_api/info"):
        with urllib.request.urlopen(url + path, timeout=30) as answer:
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_names_a_file():
    assert names_a_file([1, {"a": [{"path": "x"}]}])
    assert names_a_file({"meta": {}})
    deep: list = []
    for _ in range(100):
        deep = [deep]
    assert names_a_file(deep)
    assert not names_a_file({"fn_index": 1, "data": [None, "x", {"value": 3}]})


@pytest.mark.parametrize("name", ["", "h" * 65, "\ud800", "x<gradio-sep>y", 5, ["a"], {"a": 1}])
def test_no_odd_session_reaches_gradios_queue(url, name):
    """An empty name stops Gradio's queue for everybody; a long one is kept for ever."""
    events = json.loads(ask(url + "config")[1])["dependencies"]
    number = next(event["id"] for event in events if event["queue"])
    body = {"data": ["mirror", "", 4, 1, 1, 1], "fn_index": number, "session_hash": name}
    for _ in range(8):
        assert ask(url + "gradio_api/queue/join", body) == (400, "This is no session of a page")
    status, told = ask(url + "gradio_api/queue/join", {**body, "session_hash": "a1b2c3"})
    assert (status, "event_id" in told) == (200, True)


def test_statistics_are_nobodys_business(url):
    assert ask(url + "gradio_api/monitoring/summary")[0] in (403, 404)
    assert ask(url + "monitoring/summary")[0] in (403, 404)
