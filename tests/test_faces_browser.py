"""Average faces in headless Chromium: choose, compare by keyboard, members, back and forward, at two widths."""

from __future__ import annotations

import re

import pytest
from face_audits import make_face_audit
from playwright.sync_api import Page, expect
from test_browser import browser, choose, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401 (fixtures)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_face_audit(cache)
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


def face(page: Page, subject: str, system: str):
    """One average of the grid by what stands in its row and column."""
    row = page.locator(".lk-faces-grid [role=row]", has=page.get_by_role("rowheader", name=subject))
    return row.locator(".lk-face", has_text=system)


def loaded(page: Page) -> bool:
    """Whether the averages on the screen came."""
    return page.evaluate(
        "[...document.querySelectorAll('.lk-compare img')].every((i) => i.complete && i.naturalWidth === 256)"
    )


def test_averages_are_compared_and_followed_to_their_images(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=faces")
    expect(page.locator("h2").filter(visible=True)).to_contain_text("How alike are the faces")
    expect(page.locator(".lk-faces-grid .lk-face")).to_have_count(6)
    page.wait_for_function("document.querySelectorAll('.lk-compare img').length === 2")
    page.wait_for_timeout(200)
    assert loaded(page)

    # A and B, then the slider by keyboard; its place and the mode go into the address without a step in the history
    first_a = face(page, "teacher", "Alpha").get_by_role("link", name=re.compile("as A$"))
    first_a.click()
    expect(page.locator(".lk-compare-pair")).to_contain_text("A teacher")
    expect(page).to_have_url(re.compile("a=Alpha&a=teacher"))
    expect(first_a).to_be_focused()
    face(page, "nurse", "Beta").get_by_role("link", name=re.compile("as B$")).click()
    expect(page.locator(".lk-compare-pair")).to_contain_text("B nurse")
    expect(page.locator(".lk-compare-pair")).to_contain_text("A teacher")
    steps = page.evaluate("history.length")
    slider = page.get_by_role("slider", name="How much of A shows over B")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    expect(page.locator(".lk-compare-said")).to_have_text("A on the left 45 %, B on the right 55 %")
    expect(page).to_have_url(re.compile("at=45"))
    page.get_by_role("button", name="Blend").click()
    expect(page.locator(".lk-compare-said")).to_have_text("45 % A over B")
    expect(page).to_have_url(re.compile("mode=blend"))
    assert page.evaluate("history.length") == steps

    # the images behind an average, reached with the arrow keys; the slider stays where it was
    page.locator(".lk-faces-grid .lk-face-picture").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#lk-faces-members")).to_be_focused()
    expect(page.locator("#lk-faces-members figure")).to_have_count(20)
    expect(page.locator("#lk-faces-missed")).to_contain_text(re.compile("[23] images gave no face"))
    expect(page).to_have_url(re.compile("mode=blend&at=45"))
    expect(page.locator(".lk-compare-said")).to_have_text("45 % A over B")
    choose(page, "lk-faces-split", "toy")
    expect(page.locator(".lk-faces-regions .lk-face")).to_have_count(5)
    page.locator(".lk-faces-regions .lk-face-picture").nth(1).click()
    expect(page.locator("#lk-faces-members figure")).to_have_count(5)
    shown = page.url
    page.locator("#lk-faces-members figure a").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Seed")
    page.keyboard.press("Escape")
    expect(page).to_have_url(shown)  # closing a picture is a step back, too: two at once would be one
    page.go_back()
    expect(page.locator("#lk-faces-members figure")).to_have_count(20)
    page.go_forward()
    expect(page.locator("#lk-faces-members figure")).to_have_count(5)

    # Escape closes what lies behind the average, also the regions that open by themselves
    page.locator("#lk-faces-members").click()
    page.keyboard.press("Escape")
    expect(page.locator("#lk-faces-members")).to_have_count(0)
    expect(page).to_have_url(re.compile("&c=-"))

    # a copied address on a phone
    phone = open_page(shown, width=390)
    expect(phone.locator("#lk-faces-members figure")).to_have_count(5)
    expect(phone.locator("#lk-faces-members h3")).to_be_in_viewport()
    expect(phone.locator(".lk-compare-said")).to_have_text("45 % A over B")
    expect(phone.locator("#lk-faces-chart .js-plotly-plot")).to_be_visible()
    assert no_sideways_scroll(phone)
    expect(phone.locator("#lk-faces-controls")).to_be_hidden()
    phone.get_by_role("button", name="Choose systems and professions").click()
    expect(phone.locator("#lk-faces-controls")).to_be_visible()
    phone.get_by_role("button", name="Compare A and B").click()
    expect(phone.locator(".lk-compare-frame")).to_be_in_viewport(ratio=0.9)
    phone.get_by_role("button", name="Wipe").click()
    box = phone.locator(".lk-compare-frame").bounding_box()
    phone.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    phone.mouse.down()
    phone.mouse.move(box["x"] + box["width"] / 4, box["y"] + 40, steps=3)
    phone.mouse.up()
    expect(phone.locator(".lk-compare-said")).to_contain_text("A on the left 25 %")
    with phone.expect_download() as download:
        phone.get_by_role("link", name="Download this grid (PNG)").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


def test_boxes_are_emptied_and_passed_through(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=faces")
    expect(page.locator(".lk-faces-grid .lk-face")).to_have_count(6)
    page.wait_for_function(
        "!!window.likenessFaces && document.querySelectorAll('#lk-faces-systems .token').length === 2"
    )
    start = page.url
    page.locator("#lk-faces-systems input").focus()
    for _ in range(10):
        page.keyboard.press("Tab")
    page.wait_for_timeout(300)
    assert page.url == start
    steps = page.evaluate("history.length")

    page.locator("#lk-faces-subjects .token-remove").first.click()
    expect(page.locator(".lk-faces-which")).to_contain_text("2 rows that were chosen")
    expect(page.locator(".lk-faces-grid .lk-face")).to_have_count(4)
    page.locator("#lk-faces-subjects .remove-all").click()
    expect(page.locator(".lk-faces-which")).to_contain_text("All 3 professions")
    expect(page).to_have_url(re.compile("&p=$"))
    page.locator("#lk-faces-systems .token-remove").first.click()
    expect(page.locator(".lk-faces-grid .lk-face")).to_have_count(3)
    page.locator("#lk-faces-systems .token-remove").first.click()  # the last one: all systems again
    expect(page.locator("#lk-faces-systems .token")).to_have_count(2)
    expect(page.locator(".lk-faces-grid .lk-face")).to_have_count(6)
    page.wait_for_timeout(300)
    assert page.evaluate("history.length") == steps + 4  # one for each: the server's own updates make none

    face(page, "teacher", "Alpha").locator(".lk-face-picture").click()
    expect(page.locator("#lk-faces-members")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#lk-faces-members")).to_have_count(0)
    expect(face(page, "teacher", "Alpha").locator(".lk-face-picture")).to_be_focused()
    expect(face(page, "teacher", "Alpha").locator(".lk-face-picture")).to_be_in_viewport()
