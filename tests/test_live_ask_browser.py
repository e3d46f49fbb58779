"""The panel "Ask a model" in headless Chromium: prompt and controls, an answer, a picture, Back and reload."""

from __future__ import annotations

import os
import re

import pytest
from audits import make_audit
from playwright.sync_api import expect
from samples import png
from test_browser import browser, choose, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401 (fixtures)
from tiny_ask import make_lm
from vectors import tiny_blip

MODELS = """
[[models]]
name = "tiny"
kind = "lm"
title = "Tiny <i>lm</i>"
model = "lm"

[[models]]
name = "eye"
kind = "blip-vqa"
title = "Tiny eye"
model = "blip"
styles_file = "starter-styles.toml"
"""
BOARD, PROMPT = "#lk-ask-board", "#lk-ask-prompt pre"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    from samples import ROOT

    folder = tmp_path_factory.mktemp("ask")
    make_lm(folder / "lm")
    tiny_blip(folder / "blip")
    styles = (ROOT / "assets" / "probes" / "starter-styles.toml").read_text()
    (folder / "starter-styles.toml").write_text(styles)
    (folder / "models.toml").write_text(MODELS)
    make_audit(folder / "cache", "small")
    os.environ["LIKENESS_PROBES"] = str(folder / "models.toml")
    process, url = serve(folder / "cache")
    del os.environ["LIKENESS_PROBES"]
    yield url
    process.terminate()
    process.wait(20)


def ask(page):
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(f"{BOARD} h3").first).to_be_visible(timeout=60_000)


def test_the_prompt_follows_the_controls_and_is_asked(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=live", 390)
    page.get_by_label("Ask a model").check()
    expect(page.locator(PROMPT)).to_contain_text('occupation: "nurse"')
    expect(page.locator("#lk-ask-prompt")).to_contain_text("The first of 9 prompts")
    choose(page, "lk-ask-attribute", "age")
    expect(page.locator("#lk-ask-prompt")).to_contain_text("The first of 15 prompts: 3 wordings × 5 orders")
    action = page.locator("#lk-ask-action textarea")
    action.fill("A person is closing ${x}")
    expect(page.locator("#lk-ask-prompt .lk-problem")).to_contain_text("write <subject> once")
    action.fill("A <subject> is closing <b>${x}</b> {options}")
    expect(page.locator(PROMPT)).to_contain_text("A person is closing <b>${x}</b> {options}")
    ask(page)
    expect(page.locator(f"{BOARD} h3").first).to_have_text("Tiny <i>lm</i>: age, nurse")
    expect(page.locator(".lk-ask-bars li")).to_have_count(5)
    page.locator(".lk-ask-each > summary").click()
    expect(page.locator(".lk-ask-each tbody > tr")).to_have_count(15)
    assert no_sideways_scroll(page)
    expect(page).to_have_url(re.compile(r"do=ask&model=tiny.*attribute=age.*closing\+%3Cb%3E"))
    page.reload()
    expect(page.locator(PROMPT)).to_contain_text("A person is closing <b>${x}</b> {options}")
    page.go_back()
    expect(page.locator(PROMPT)).to_contain_text("bandage")


def test_a_picture_of_ones_own_goes_with_the_question(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=live&do=ask&direction=image-to-text")
    expect(page.locator("#lk-ask-portrait img")).to_be_visible()
    first = page.locator("#lk-ask-portrait img").get_attribute("src")
    page.get_by_role("button", name="Another picture").click()
    expect(page.locator("#lk-ask-portrait img")).not_to_have_attribute("src", first)
    page.locator("#lk-ask-upload input").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": png(3)})
    expect(page.locator(".lk-ask-own")).to_contain_text("24 × 16 pixels")
    expect(page.locator("#lk-ask-portrait")).to_be_hidden()
    ask(page)
    expect(page.locator(".lk-ask-about img")).to_have_attribute("src", re.compile("^data:image/png"))
    page.get_by_label("Draw pictures").check()
    expect(page.locator("#lk-live-draw")).to_be_visible()
    page.get_by_label("Ask a model").check()
    expect(page.locator(".lk-ask-own img")).to_be_visible()
    page.get_by_role("button", name="Back to the audit").click()
    expect(page.locator("#lk-ask-portrait img")).to_be_visible()


def test_the_detail_of_a_picture_leads_here(open_page, served):  # noqa: F811
    page = open_page(served)
    page.locator(".lk-figure a").first.click()
    link = page.get_by_role("link", name="Ask a model about this picture")
    of = re.search("of=([0-9a-f]{16})", link.get_attribute("href"))[1]
    link.click()
    expect(page.locator("#lk-ask-portrait img")).to_have_attribute("src", re.compile(of))
