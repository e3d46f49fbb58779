"""Benchmarks in headless Chromium: a task chosen, a page of wrong answers, the way back, a phone."""

from __future__ import annotations

import re

import pytest
from bench_sample import make_benchmarked
from playwright.sync_api import expect
from test_browser import browser, choose, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401 (fixtures)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_benchmarked(cache, "small")
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


def test_a_task_a_page_of_wrong_answers_and_the_way_back(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=benchmarks&m=made-vlm")
    expect(page.locator("#lk-bench-heading h2")).to_contain_text("Do these benchmarks measure bias")
    wrong = page.locator("#lk-bench-errors")
    expect(wrong.locator(".lk-figure").first).to_be_visible(timeout=40_000)
    choose(page, "lk-bench-task", "UTKFace, race")
    expect(page).to_have_url(re.compile("task=utkface-race"))
    expect(wrong.locator("tbody th").first).to_contain_text(".jpg")
    expect(page.locator(".lk-bench-theirs")).to_contain_text("LLaVa 34B")
    choose(page, "lk-bench-condition", "text only")
    expect(page).to_have_url(re.compile("condition=text"))
    expect(wrong).to_contain_text("text only", timeout=20_000)
    expect(wrong).to_contain_text("Page 1 of")
    wrong.get_by_role("link", name="Next answers").click()
    expect(wrong).to_contain_text("Page 2 of")
    page.go_back()
    expect(wrong).to_contain_text("Page 1 of")
    page.go_back()
    expect(wrong).to_contain_text("with image:")
    page.go_back()
    expect(wrong.locator(".lk-figure").first).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    assert no_sideways_scroll(page)
    expect(page.locator("#lk-bench-controls")).to_be_hidden()
    page.get_by_role("button", name="Choose task and models").click()
    expect(page.locator("#lk-bench-task")).to_be_visible()
