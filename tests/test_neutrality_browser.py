"""Neutrality in headless Chromium: attributes, a cell's answers by keyboard, back and forward, PNG, at two widths."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from probe_audits import make_probed
from test_browser import browser, choose, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401 (fixtures)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_probed(cache)
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


def test_attributes_cells_by_keyboard_and_the_way_back(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=neutrality&rows=profession&order=name")
    heading = page.locator("#lk-neutral-heading h2")
    expect(heading).to_have_text("When nothing tells gender, what do models answer?")
    panel = page.locator("#lk-neutral-answers")
    expect(panel.locator("h3")).to_contain_text("All professions, Made-up language model")
    expect(page.locator(".lk-heat thead")).to_contain_text("US labour force")

    # by keyboard: Tab reaches one cell, the arrows move, Enter shows the answers and takes the focus there, Escape back
    stops = page.locator('.lk-heat a[tabindex="0"]')
    expect(stops).to_have_count(1)
    stops.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(panel.locator("h3")).to_contain_text("accountant, Made-up language model")
    expect(page).to_have_url(re.compile("row=p%3Aaccountant"))
    expect(panel).to_be_focused()
    expect(panel).to_contain_text("A person is adding up columns of receipts")
    page.keyboard.press("Escape")
    expect(page.locator(".lk-heat a[aria-current]")).to_be_focused()

    choose(page, "lk-neutral-attribute", "race")
    expect(heading).to_contain_text("race")
    expect(page.locator(".lk-heat thead")).not_to_contain_text("US labour force")
    expect(panel.locator("h3")).to_contain_text("accountant")
    page.go_back()
    expect(heading).to_contain_text("gender")
    page.go_back()
    expect(panel.locator("h3")).to_contain_text("All professions")
    page.go_forward()
    expect(panel.locator("h3")).to_contain_text("accountant")

    panel.get_by_role("link", name=re.compile("^no preference")).click()
    expect(page).to_have_url(re.compile("answer=no\\+preference"))
    expect(panel.locator(".lk-asked-pager")).to_contain_text("answer")
    with page.expect_download() as download:
        page.locator("button[data-figure]").click()
    assert download.value.suggested_filename == "likeness-neutrality-text-to-text-informed-direct-gender-ag.png"
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    page.goto(f"{page.url}&m=nobody")
    expect(page.locator("#lk-neutral-answers h3")).to_contain_text("accountant")
    expect(page.get_by_role("status").filter(has_text="no model “nobody”")).to_be_visible()
    choose(page, "lk-neutral-attribute", "age")
    expect(page.get_by_text("The address names what is not here")).to_have_count(0)


def test_a_phone_has_a_drawer_and_no_sideways_scrolling(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=neutrality&direction=image-to-text", width=390)
    expect(page.locator("#lk-neutral-models-chart .js-plotly-plot").first).to_be_visible()
    assert no_sideways_scroll(page)
    attribute = page.locator("#lk-neutral-attribute input")
    expect(attribute).to_be_hidden()
    page.get_by_role("button", name="Choose what was asked, and of whom").click()
    expect(attribute).to_be_visible()
    page.locator(".lk-heat td > a").nth(3).click()
    expect(page.locator("#lk-neutral-answers")).to_be_focused()
    expect(page.locator("#lk-neutral-answers")).to_be_in_viewport()
    page.locator("#lk-neutral-answers .lk-figure a").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Seed")
