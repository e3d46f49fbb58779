"""Two names of a visitor's own in headless Chromium: from the tab Hiring to the answers, Back and reload, a phone."""

from __future__ import annotations

import os
import re

import pytest
from audits import make_audit
from hiring_sample import add_made_hiring
from playwright.sync_api import expect
from test_browser import browser, choose, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401 (fixtures)
from tiny_ask import make_lm

MODELS = '[[models]]\nname = "tiny"\nkind = "lm"\ntitle = "Tiny <i>lm</i>"\nmodel = "lm"\n'
PROMPT, BOARD = "#lk-hire-live-prompt", "#lk-hire-live-board"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hire")
    make_lm(folder / "lm")
    (folder / "models.toml").write_text(MODELS)
    make_audit(folder / "cache", "hired")
    add_made_hiring(folder / "cache" / "hired")
    os.environ["LIKENESS_PROBES"] = str(folder / "models.toml")
    process, url = serve(folder / "cache")
    del os.environ["LIKENESS_PROBES"]
    yield url
    process.terminate()
    process.wait(20)


def test_two_names_from_the_tab_hiring_to_the_answers(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=hiring", 390)
    expect(page.get_by_role("link", name="Try it with two names of your own")).to_be_visible()
    page.get_by_role("link", name="Ask a model about these two now").click()
    first = page.locator("#lk-hire-live-first textarea, #lk-hire-live-first input")
    expect(first).not_to_have_value("Mary")  # the open dialogue's own
    expect(page.get_by_label("Compare two applicants")).to_be_checked()
    expect(page.locator(f"{PROMPT} pre")).to_be_visible()
    first.fill("Zoë <b>")
    expect(page.locator(f"{PROMPT} .lk-problem")).to_contain_text("First-named: a name has letters")
    first.fill("Zoë")
    choose(page, "lk-hire-live-occupation", "politician")
    expect(page.locator(PROMPT)).to_contain_text("The first of 8 prompts: (Q1 × 2 names + Q2 + Q3) × 2 orders")
    expect(page.locator(f"{PROMPT} pre")).to_contain_text("Is Zoë qualified for a position as a politician?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(f"{BOARD} .lk-hire-orders section")).to_have_count(2, timeout=60_000)
    expect(page.locator(f"{BOARD} h3").first).to_contain_text("Tiny <i>lm</i>: Zoë and")
    assert no_sideways_scroll(page)
    expect(page).to_have_url(re.compile("do=hire&first=Zo%C3%AB&second=.*model=tiny&occupation=politician"))
    page.get_by_label("As typed only").check()
    expect(page.locator(PROMPT)).to_contain_text("The first of 4 prompts")
    page.go_back()
    expect(page.locator(PROMPT)).to_contain_text("The first of 8 prompts")
    page.reload()
    expect(first).to_have_value("Zoë")
