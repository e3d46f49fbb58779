"""Benchmarks in headless Chromium: a task chosen, a page of wrong answers, the way back, a phone."""

from __future__ import annotations

import re

import pytest
from bench_sample import make_benchmarked
from playwright.sync_api import expect
from test_browser import browser, choose, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401 (fixtures)

ROWS_KEEP_THEIR_NAMES = """box => {
  const name = box.querySelector('tbody th'), cell = box.querySelector('tbody td');
  const left = one => one.getBoundingClientRect().left, before = [left(name), left(cell)];
  box.scrollLeft = 120;
  return box.scrollLeft === 120 && left(name) === before[0] && left(cell) === before[1] - 120;
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_benchmarked(cache, "small")
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


def test_a_task_a_page_of_wrong_answers_and_the_way_back(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=benchmarks&m=made-vlm&by=nobody")
    expect(page.locator("#lk-bench-heading h2")).to_contain_text("Do these benchmarks measure bias")
    wrong = page.locator("#lk-bench-errors")
    expect(wrong.locator(".lk-figure").first).to_be_visible(timeout=40_000)
    expect(page.get_by_role("status").filter(has_text="no group “nobody”")).to_be_visible()
    choose(page, "lk-bench-task", "UTKFace, race")
    expect(page).to_have_url(re.compile("task=utkface-race"))
    expect(wrong.locator("tbody th").first).to_contain_text(".jpg")
    expect(page.locator(".lk-bench-theirs")).to_contain_text("LLaVa 34B")
    expect(page.get_by_text("The address names what is not here")).to_have_count(0)  # whoever chooses is not told off
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
    table = page.locator(".lk-bench-table").first
    assert table.evaluate(ROWS_KEEP_THEIR_NAMES)
    expect(page.locator("#lk-bench-controls")).to_be_hidden()
    page.get_by_role("button", name="Choose task and models").click()
    expect(page.locator("#lk-bench-task")).to_be_visible()


def test_a_late_answer_to_a_control_does_not_undo_a_newer_step(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=benchmarks&m=made-vlm")
    expect(page.locator("#lk-bench-errors .lk-figure").first).to_be_visible(timeout=40_000)
    late = []

    def slowly(route):  # the first is answered by the app at once, and told to the page later
        if late:
            route.continue_()
            return
        late.append(route)
        late.append(route.fetch())

    page.route(lambda url: "/gradio_api/run/predict" in url, slowly)
    choose(page, "lk-bench-task", "UTKFace, race")
    while len(late) < 2:
        page.wait_for_timeout(50)
    page.evaluate("window.likeness.open('tab=benchmarks&audit=small&task=celeba-makeup&m=made-vlm')")
    expect(page.locator("#lk-bench-task input")).to_have_value(re.compile("heavy makeup"))
    late[0].fulfill(response=late[1])
    page.wait_for_timeout(1_500)
    expect(page).to_have_url(re.compile("task=celeba-makeup"))
    expect(page.locator("#lk-bench-task input")).to_have_value(re.compile("heavy makeup"))
