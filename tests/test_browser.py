"""The running app in headless Chromium: what a person does, at two widths, with the keyboard, with hostile text."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from audits import make_audit
from playwright.sync_api import Page, expect, sync_playwright
from serving import serve

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
OWN = ("http://127.", "data:", "blob:http://127.")
FIGURE = ".lk-figure img"
expect.set_options(timeout=15_000)  # the machine may be busy

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Chromium is not installed: apt install chromium"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_audit(cache, "small")
    make_audit(cache, "twin")
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    process, url = serve(tmp_path_factory.mktemp("empty"))
    yield url
    process.terminate()
    process.wait(20)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """`open_page(url, width)` -> a page of a fresh profile; the test fails on any console error or foreign request."""
    contexts, problems = [], []

    def go(url: str, width: int = 1440) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("dialog", lambda d: (problems.append(f"a script ran: {d.message}"), d.dismiss()))
        page.on("request", lambda r: problems.append(r.url) if not r.url.startswith(OWN) else None)
        page.goto(url)
        return page

    yield go
    for context in contexts:
        context.close()
    assert problems == []


def choose(page: Page, box: str, text: str) -> None:
    """Choose from a dropdown the way a person does: click, type, Enter."""
    field = page.locator(f"#{box} input")
    field.click()
    field.fill(text)
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")


def no_sideways_scroll(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_first_screen_compares_systems(open_page, served):
    page = open_page(served)
    expect(page.locator("#lk-heading")).to_contain_text("Whom does each system picture as a baker?")
    expect(page.locator("#lk-grid-1 .lk-count")).to_contain_text("20 of 90 images")
    expect(page.locator("#lk-grid-2 .lk-count")).to_contain_text("20 of 60 images")
    expect(page.get_by_text("Content note.").first).to_be_visible()
    alt = page.locator("#lk-grid-2 img").nth(1).get_attribute("alt")
    assert re.fullmatch(r"Photo of a baker - Beta <b>, number \d+", alt)
    page.wait_for_function("[...document.querySelectorAll('#lk-grid-1 img')].slice(0, 5).every(i => i.naturalWidth)")


def test_choosing_changes_the_view_and_the_address(open_page, served):
    page = open_page(served)
    page.locator(FIGURE).first.wait_for()
    choose(page, "lk-subject-2", "nurse")
    expect(page.locator("#lk-heading")).to_contain_text("as a baker or a nurse?")
    expect(page).to_have_url(re.compile("p=baker&p=nurse"))
    page.get_by_role("button", name="Same profession in every system").click()
    expect(page.locator("#lk-heading")).to_contain_text("as a baker?")
    page.go_back()
    expect(page.locator("#lk-heading")).to_contain_text("as a baker or a nurse?")


def test_a_copied_address_opens_the_same_view(open_page, served):
    page = open_page(served)
    page.locator(FIGURE).first.wait_for()
    choose(page, "lk-adjective-1", "any")
    expect(page.locator("#lk-grid-1 .lk-count")).to_contain_text("30 of 90 images")
    page.get_by_role("button", name="Next page").click()
    expect(page.locator("#lk-where")).to_contain_text("Page 2 of 2")
    expect(page.locator("#lk-grid-1 .lk-count")).to_contain_text("25 to 30 shown")
    expect(page).to_have_url(re.compile("n=2"))
    words = page.locator("#lk-grid-1").inner_text()
    other = open_page(page.url)
    expect(other.locator("#lk-where")).to_contain_text("Page 2 of 2")
    assert other.locator("#lk-grid-1").inner_text() == words
    assert other.locator("#lk-adjective-1 input").input_value() == "any adjective, or none"


def test_sort_filter_and_columns(open_page, served):
    page = open_page(served + "?tab=browse&audit=small&s=Alpha&p=nurse&a=-")
    page.locator(FIGURE).first.wait_for()
    page.get_by_role("button", name="Columns, sort, filter and page size").click()
    choose(page, "lk-sort", "Seed")
    expect(page.locator("#lk-grid-1 figcaption").first).to_contain_text("seed 971")
    choose(page, "lk-labels", "mood: happy")
    expect(page.locator("#lk-grid-1 .lk-count")).to_contain_text("30 of 90 images of this system; the filter leaves 10")
    expect(page.locator("#lk-said")).to_contain_text("Only images with mood label \u201chappy\u201d.")
    expect(page).to_have_url(re.compile("label=label_mood%3Ahappy"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add a column").click()
    expect(page.locator("#lk-grid-2 .lk-count")).to_be_visible()
    page.get_by_role("button", name="Remove a column").click()
    expect(page.locator("#lk-grid-2 .lk-count")).to_be_hidden()


def test_an_empty_combination_offers_what_exists(open_page, served):
    page = open_page(served + "?tab=browse&audit=small&s=Beta+<b>&p=pilot&a=-")
    expect(page.get_by_text("No image from Beta <b> for pilot")).to_be_visible()
    page.get_by_role("link", name="nurse (30)").click()
    expect(page.locator("#lk-grid-1 .lk-count")).to_contain_text("30 of 60 images")
    assert page.locator("#lk-subject-1 input").input_value() == "nurse (30)"


def test_a_figure_opens_its_detail_and_a_link_opens_it_too(open_page, served):
    page = open_page(served)
    page.locator(FIGURE).first.wait_for()
    page.locator("#lk-grid-1 .lk-figure a").nth(1).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Seed")
    expect(dialog.get_by_role("link", name="Download the original")).to_be_visible()
    page.wait_for_function("document.querySelector('dialog img').naturalWidth === 64")
    expect(page).to_have_url(re.compile("image=[0-9a-f]{16}"))
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Download the original").click()
    assert re.fullmatch(r"small-[0-9a-f]{16}\.png", download.value.suggested_filename)
    words = dialog.locator("h2").inner_text()
    other = open_page(page.url)
    expect(other.get_by_role("dialog").locator("h2")).to_have_text(words)
    other.get_by_role("button", name="Next image").click()
    expect(other.get_by_role("dialog").locator("h2")).not_to_have_text(words)
    page.go_back()
    expect(dialog).to_be_hidden()
    expect(page).not_to_have_url(re.compile("image="))
    expect(page.locator("#lk-heading")).to_contain_text("as a baker?")


def test_the_keyboard_reaches_everything(open_page, served):
    page = open_page(served)
    page.locator(FIGURE).first.wait_for()
    page.locator("#lk-adjective-1 input").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#lk-grid-1 a[data-detail]')"):
            break
    else:
        pytest.fail("Tab does not reach the pictures")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("h2")).to_contain_text("number 1")
    page.keyboard.press("ArrowRight")
    expect(dialog.locator("h2")).to_contain_text("number 2")
    expect(dialog.locator(".lk-position")).to_have_text("2 of 20 in this column")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert page.evaluate("document.activeElement.matches('#lk-grid-1 a[data-detail]')")
    expect(page).not_to_have_url(re.compile("image="))


@pytest.mark.parametrize("tab", ["browse", "published", "about"])
def test_a_phone_needs_no_sideways_scrolling(open_page, served, tab):
    page = open_page(served + f"?tab={tab}", width=390)
    ready = {"browse": FIGURE, "published": ".js-plotly-plot", "about": ".lk-scroll table"}[tab]
    page.locator(ready).first.wait_for()
    assert no_sideways_scroll(page)
    if tab == "browse":
        page.locator(".lk-figure a").first.click()
        page.locator(".lk-detail img").wait_for()
        assert no_sideways_scroll(page)
        widths = page.evaluate("[...document.querySelectorAll('.lk-detail dd')].map(e => e.clientWidth)")
        assert min(widths) > 100


def test_tabs_are_in_the_address(open_page, served):
    page = open_page(served)
    page.locator(FIGURE).first.wait_for()
    page.get_by_role("tab", name="Published results").click()
    page.locator(".js-plotly-plot").wait_for()
    expect(page).to_have_url(re.compile(r"tab=published"))
    page.get_by_role("tab", name="About").click()
    expect(page.get_by_text("the file is empty (0 bytes)")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("tab", name="Published results")).to_have_attribute("aria-selected", "true")


def test_another_audit_is_one_choice_away(open_page, served):
    page = open_page(served)
    page.locator(FIGURE).first.wait_for()
    choose(page, "lk-audit", "twin")
    expect(page).to_have_url(re.compile("audit=twin"))
    expect(page.locator("#lk-grid-1 img").first).to_have_attribute("src", re.compile("image/twin/"))
    page.get_by_role("tab", name="About").click()
    expect(page.get_by_text("Loaded: twin, 150 images")).to_be_visible()


def test_two_visitors_do_not_see_each_other(open_page, served):
    first, second = open_page(served), open_page(served)
    for page in (first, second):
        page.locator(FIGURE).first.wait_for()
    choose(first, "lk-subject-1", "pilot")
    expect(first.locator("#lk-heading")).to_contain_text("pilot")
    second.get_by_role("button", name="Columns, sort, filter and page size").click()
    second.get_by_role("button", name="Add a column").click()
    expect(second.locator("#lk-grid-3 .lk-count")).to_be_visible()
    expect(second.locator("#lk-heading")).not_to_contain_text("pilot")


def test_no_audit_says_how_to_make_one(open_page, bare):
    page = open_page(bare, width=390)
    expect(page.get_by_text("python -m backend import")).to_be_visible()
    assert no_sideways_scroll(page)
    page.get_by_role("link", name="Published results").click()
    page.locator(".js-plotly-plot").wait_for()


def test_parameters_that_gradio_reads_do_no_harm(open_page, served):
    page = open_page(served + "?page=2&deep_link=../../etc/passwd&tab=about")
    expect(page.get_by_text("the file is empty (0 bytes)")).to_be_visible()


def test_a_link_cannot_bring_in_a_page_of_its_own(open_page, served):
    page = open_page(served + "?audit=..&image=csv%2Fbrowse")
    page.locator(FIGURE).first.wait_for()
    page.wait_for_timeout(500)
    assert page.locator("dialog").count() == 0


def test_the_page_title_names_the_view(open_page, served):
    page = open_page(served)
    expect(page).to_have_title("Whom does each system picture as a baker? \u2013 Likeness")
