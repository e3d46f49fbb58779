"""The tab Live in a browser: a wish, its pictures, an address, two visitors who see only what is theirs."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request

import pytest
from audits import make_audit
from playwright.sync_api import expect
from specs import write_spec
from test_browser import browser, choose, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401
from test_pipelines import table
from tiny import make_pipeline

BOARD = "#lk-live-board"
AT_ONCE = """() => {
  const board = document.querySelector("#lk-live-board");
  new MutationObserver((_, me) => {
    if (board.querySelector("progress")) { me.disconnect(); document.querySelector("#lk-live-cancel").click(); }
  }).observe(board, { childList: true, subtree: true });
}"""


@pytest.fixture(scope="module")
def served_live(tmp_path_factory):
    import warnings

    folder = tmp_path_factory.mktemp("live")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_pipeline(folder / "plain")
    make_audit(folder / "cache", "small")
    os.environ["LIKENESS_SYSTEMS"] = str(write_spec(folder, table(folder / "plain", "Tiny <i>system</i>")))
    process, url = serve(folder / "cache")
    del os.environ["LIKENESS_SYSTEMS"]
    yield url
    process.terminate()
    process.wait(20)


@pytest.mark.parametrize("width", [1440, 390])
def test_a_wish_is_drawn(open_page, served_live, width):  # noqa: F811
    page = open_page(served_live + "?tab=live", width)
    page.locator("#lk-live-prompt").get_by_role("textbox").fill("a <b>baker</b> ${x}")
    page.get_by_role("button", name="Draw", exact=True).click()
    expect(page.locator(f"{BOARD} h3")).to_have_text("a <b>baker</b> ${x}", timeout=60_000)
    figures = page.locator(f"{BOARD} img")
    expect(figures).to_have_count(8)
    assert figures.nth(2).get_attribute("alt") == "a <b>baker</b> ${x}: Tiny <i>system</i>, seed 3, number 3"
    assert figures.nth(2).get_attribute("src").startswith("data:image/png;base64,")
    expect(page.locator(BOARD)).to_contain_text("No model is asked about these pictures")
    expect(page).to_have_url(re.compile("tab=live&system=Tiny.*images=8&seed=1&steps=20&guidance=2"))
    assert page.locator(f"{BOARD} a[download]").count() == 8
    assert no_sideways_scroll(page)


def test_an_address_fills_the_controls_and_starts_nothing(open_page, served_live):  # noqa: F811
    page = open_page(served_live + "?tab=live&prompt=a+judge&images=99&seed=12&steps=x&system=nobody")
    expect(page.locator("#lk-live-prompt").get_by_role("textbox")).to_have_value("Photo portrait of a firefighter")
    page = open_page(served_live + "?tab=live&prompt=a+judge&images=12&seed=12&steps=7&guidance=3")
    expect(page.locator("#lk-live-prompt").get_by_role("textbox")).to_have_value("a judge")
    expect(page.locator(BOARD)).to_contain_text("Nothing is drawn yet")


def test_two_visitors_see_what_is_theirs(open_page, served_live):  # noqa: F811
    pages = [open_page(served_live + f"?tab=live&prompt={words}&steps=50") for words in ("alpha", "omega")]
    for page in pages:
        page.get_by_role("button", name="Draw", exact=True).click()
    for page, words, other in zip(pages, ("alpha", "omega"), ("omega", "alpha"), strict=True):
        expect(page.locator(f"{BOARD} h3")).to_have_text(words, timeout=60_000)
        assert other not in page.locator(BOARD).inner_text()


def test_cancel_says_so(open_page, served_live):  # noqa: F811
    page = open_page(served_live + "?tab=live&prompt=long&steps=50&images=16")
    page.locator(BOARD).wait_for(state="attached")
    page.evaluate(AT_ONCE)  # the tiny system may be done before a click by hand comes
    page.get_by_role("button", name="Draw", exact=True).click()
    expect(page.locator(f"{BOARD} [role=alert]")).to_contain_text("Cancelled")
    expect(page.locator(f"{BOARD} img")).to_have_count(0)


def test_a_profession_fills_the_prompt(open_page, served_live):  # noqa: F811
    page = open_page(served_live + "?tab=live")
    choose(page, "lk-live-profession", "office worker")
    words = "Photo portrait of an office worker"
    expect(page.locator("#lk-live-prompt").get_by_role("textbox")).to_have_value(words)


def ask_raw(url: str, data: list, number: int) -> str:
    """What the queue answers to data that no page would send."""
    body = json.dumps({"data": data, "fn_index": number, "session_hash": "raw"}).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url + "gradio_api/queue/join", body, headers)) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        return str(error.code)
    with urllib.request.urlopen(url + "gradio_api/queue/data?session_hash=raw", timeout=30) as stream:
        return stream.read().decode()


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, {"a": 1}, "System: choose one of"),
        (1, "a" * 10_000, "it has 10,000"),
        (2, 1e9, "Pictures: choose a whole number"),
        (3, "NaN", "Seed: choose a whole number"),
        (4, [1], "Steps: choose a whole number"),
        (5, None, "Guidance: choose a number"),
    ],
)
def test_tampered_data_ends_with_a_sentence(served_live, place, value, words):
    with urllib.request.urlopen(served_live + "config") as answer:
        events = json.load(answer)["dependencies"]
    number = next(event["id"] for event in events if event["queue"])
    data = ["Tiny <i>system</i>", "a", 4, 1, 2, 2.0]
    data[place] = value
    told = ask_raw(served_live, data, number)
    assert words in told or "error" in told.lower()
    assert "data:image" not in told
    assert "Traceback" not in told
    file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    assert ask_raw(served_live, [*data[:place], file, *data[place + 1 :]], number) == "400"
