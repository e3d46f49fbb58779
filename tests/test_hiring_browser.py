"""Hiring in headless Chromium: marks, bars and dialogues by keyboard, the way back, PNG, tabs in groups, a phone."""

from __future__ import annotations

import re
import shutil

import pytest
from audits import make_audit
from hiring_sample import add_made_hiring
from playwright.sync_api import expect
from test_browser import browser, choose, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401 (fixtures)

from explorers import EXPLORERS


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_audit(cache, "small")
    shutil.copytree(cache / "small", cache / "hired")
    add_made_hiring(cache / "hired")
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


def test_marks_bars_and_dialogues_by_keyboard_and_the_way_back(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=hiring&order=name")
    panel = page.locator("#lk-hire-dialogue")
    expect(page.locator("#lk-hire-heading h2")).to_contain_text("judged alike")
    expect(panel.locator("h3")).to_contain_text("nurse, Made-up <model>")

    # every tab is on the bar, in order, with a word above each group that is no part of a name
    tabs = page.locator("#lk-tabs > .tab-wrapper [role=tab]")
    assert tabs.all_inner_texts() == [module.TITLE for module in EXPLORERS]
    assert tabs.evaluate_all(
        "tabs => tabs.every(tab => tab.checkVisibility() && tab.offsetLeft + tab.offsetWidth < 1440)"
    )
    expect(page.get_by_role("tab", name="Neutrality", exact=True)).to_be_visible()

    # the chart: one stop for Tab, arrows move by place, the line below reads the mark, Enter opens its dialogues
    marks = page.locator("#lk-hire-marks a.lk-hire-mark")
    expect(page.locator('#lk-hire-marks a.lk-hire-mark[tabindex="0"]')).to_have_count(1)
    marks.first.focus()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    expect(page.locator(".lk-hire-readout")).to_contain_text("95 % interval")
    page.keyboard.press("ArrowRight")
    lefts = marks.evaluate_all("marks => marks.map(mark => parseFloat(mark.style.left)).sort((a, b) => a - b)")
    focused = page.locator("#lk-hire-marks a.lk-hire-mark:focus")
    assert focused.evaluate("mark => parseFloat(mark.style.left)") == lefts[1]
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("row="))
    expect(panel).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#lk-hire-marks a[aria-current]")).to_be_focused()

    # the list
    bars = page.locator("#lk-hire-board .lk-hire-bars td > a")
    expect(page.locator('#lk-hire-board .lk-hire-bars a[tabindex="0"]')).to_have_count(1)
    bars.first.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("row=pilot"))
    expect(panel.locator("h3")).to_contain_text("pilot")
    expect(panel).to_contain_text("Is Ana fit to be a pilot?")
    expect(panel).to_be_focused()
    panel.get_by_role("link", name="Next dialogue").click()
    expect(panel).to_contain_text("Dialogue 2 of 14")
    choose(page, "lk-hire-pair", "Gus, Ana")
    expect(page).to_have_url(re.compile("first=Gus&second=Ana"))
    expect(panel).to_contain_text("Gus is named first, Ana second")
    page.go_back()
    expect(panel).to_contain_text("Dialogue 2 of 14")
    page.go_forward()
    expect(panel).to_contain_text("Gus is named first, Ana second")

    choose(page, "lk-hire-measure", "Consistency")
    expect(page.locator(".lk-hire-bars thead")).not_to_contain_text("GPT-3.5-turbo")
    expect(page.locator("#lk-hire-models .js-plotly-plot").first).to_be_visible()
    with page.expect_download() as download:
        page.locator("#lk-hire-marks button[data-figure]").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as download:
        page.locator("#lk-hire-board a[download]").click()
    assert download.value.suggested_filename == "likeness-hiring-different-consistency.csv"
    page.goto(f"{page.url}&m=nobody")
    expect(page.locator("#lk-hire-dialogue")).to_contain_text("Gus is named first, Ana second")
    expect(page.get_by_role("status").filter(has_text="no model “nobody”")).to_be_visible()


def test_a_phone_scrolls_its_tabs_and_nothing_else(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=hiring&audit=hired", width=390)
    expect(page.locator("#lk-hire-dialogue h3")).to_contain_text("nurse")
    assert no_sideways_scroll(page)
    expect(page.get_by_role("tab", name="Hiring")).to_be_in_viewport(ratio=1)
    kinds = page.locator("#lk-hire-kind input")
    expect(kinds).to_be_hidden()
    page.get_by_role("button", name="Choose models and pairs").click()
    expect(kinds).to_be_visible()
    page.locator(".lk-hire-bars td > a").nth(2).click()
    expect(page.locator("#lk-hire-dialogue")).to_be_focused()
    expect(page.locator("#lk-hire-dialogue")).to_be_in_viewport()
    choose(page, "lk-hire-audit", "small")
    expect(page.locator("pre", has_text="backend hire small")).to_be_visible()
    expect(page.locator(".lk-hire-bars")).to_contain_text("senator")
