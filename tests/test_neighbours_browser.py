"""Nearest neighbours in headless Chromium: from a detail view, a walk and back, a picture by file, paste and drop."""

from __future__ import annotations

import base64
import re

import pytest
from audits import make_audit
from playwright.sync_api import Page, expect
from samples import png
from test_browser import OWN, browser, no_sideways_scroll, pytestmark, serve  # noqa: F401 (fixtures)

GIVE = """([name, data, kind, target]) => {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0)), carried = new DataTransfer();
  carried.items.add(new File([bytes], name, {type: "image/png"}));
  const how = {bubbles: true, cancelable: true};
  const event = kind === "paste" ? new ClipboardEvent(kind, {...how, clipboardData: carried})
    : new DragEvent(kind, {...how, dataTransfer: carried});
  document.querySelector(target).dispatchEvent(event);
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_audit(cache, "small")
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


@pytest.fixture
def page(browser, served):  # noqa: F811
    """A page of a fresh profile. A refused picture (422) is an answer, anything else that the console says is not."""
    context, problems = browser.new_context(viewport={"width": 1440, "height": 900}), []
    page = context.new_page()
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" and " 422 " not in m.text else None)
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.on("dialog", lambda d: (problems.append(f"a script ran: {d.message}"), d.dismiss()))
    page.on("request", lambda r: problems.append(r.url) if not r.url.startswith(OWN) else None)
    yield page
    context.close()
    assert problems == []


def image_of(page: Page) -> str:
    """The id of the image whose neighbours are shown."""
    return re.search(r"small/([0-9a-f]{16})/", page.locator(".lk-near-query img").get_attribute("src"))[1]


def walk(page: Page, number: int) -> str:
    """Walk to a neighbour; returns its id."""
    figure = page.locator(".lk-near-found figure").nth(number)
    name = re.search(r"small/([0-9a-f]{16})/", figure.locator("img").get_attribute("src"))[1]
    figure.get_by_role("link", name="Walk here").click()
    expect(page.locator(f'.lk-near-query img[src*="{name}"]')).to_be_visible()
    return name


def give(page: Page, kind: str, name: str, data: bytes) -> None:
    page.evaluate(GIVE, [name, base64.b64encode(data).decode(), kind, "#lk-near-board"])


def test_a_walk_from_a_detail_and_back(page, served):
    page.goto(served)
    page.locator("#lk-grid-1 .lk-figure a").nth(1).click()
    dialog = page.get_by_role("dialog")
    start = re.search("image=([0-9a-f]{16})", page.url)[1]
    dialog.get_by_role("link", name="Colours").click()
    expect(page.get_by_role("heading", name="Which images are most like this one, by colour?")).to_be_visible()
    assert image_of(page) == start
    page.go_back()  # to the picture that led here, which is open
    expect(dialog.get_by_role("link", name="Colours")).to_be_visible()
    assert f"image={start}" in page.url
    expect(dialog.locator(".lk-position")).to_contain_text("in this column")
    page.go_forward()
    expect(page.locator(f'.lk-near-query img[src*="{start}"]')).to_be_visible()
    expect(dialog).to_be_hidden()
    page.go_back()
    dialog.get_by_role("button", name="Close").click()  # and closing it goes back to the page it was opened on
    expect(page).not_to_have_url(re.compile("image="))
    expect(page.get_by_role("heading", name="Whom does each")).to_be_visible()
    page.locator("#lk-grid-1 .lk-figure a").nth(1).click()
    dialog.get_by_role("link", name="Colours").click()
    expect(page.locator(f'.lk-near-query img[src*="{start}"]')).to_be_visible()
    steps = [start, walk(page, 3), walk(page, 5), walk(page, 0)]
    page.wait_for_function("document.activeElement.matches('.lk-near-query a')")
    expect(page.locator(".lk-trail li")).to_have_count(4)
    expect(page).to_have_url(re.compile("trail=" + "%2C".join(steps[:3])))
    address = page.url
    page.locator(".lk-trail a").nth(1).click()
    expect(page.locator(f'.lk-near-query img[src*="{steps[1]}"]')).to_be_visible()
    expect(page.locator(".lk-trail li")).to_have_count(2)
    page.go_back()
    expect(page.locator(f'.lk-near-query img[src*="{steps[3]}"]')).to_be_visible()
    assert page.url == address
    page.go_back()
    expect(page.locator(f'.lk-near-query img[src*="{steps[2]}"]')).to_be_visible()
    page.go_forward()
    expect(page.locator(f'.lk-near-query img[src*="{steps[3]}"]')).to_be_visible()
    words = page.locator(".lk-near-found").inner_text()
    page.set_viewport_size({"width": 390, "height": 900})
    page.reload()
    expect(page.locator(".lk-trail li")).to_have_count(4)
    assert page.locator(".lk-near-found").inner_text() == words
    assert no_sideways_scroll(page)
    page.get_by_role("button", name="Filters and number of neighbours").click()
    field = page.locator("#lk-near-subject input")
    field.click()
    field.fill("nurse")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    expect(page.locator(".lk-near-only")).to_contain_text("Searched: only images for nurse.")
    expect(page).to_have_url(re.compile("subject=nurse"))
    expect(page.locator(".lk-near-found figcaption").first).to_contain_text("nurse")
    page.locator(".lk-near-found a[data-detail]").nth(1).focus()
    page.keyboard.press("Tab")  # from a picture to its own "Walk here"
    assert page.evaluate("document.activeElement.matches('.lk-walk')")
    page.keyboard.press("Enter")
    expect(page.locator(".lk-trail li")).to_have_count(5)


def test_a_picture_of_ones_own(page, served, tmp_path):
    page.goto(served + "?tab=neighbours&audit=small&kind=colour&k=12")
    expect(page.locator(".lk-near-found figure")).to_have_count(12)
    board, choose = page.locator("#lk-near-board"), page.get_by_label("Upload an image")
    choose.set_input_files({"name": "mine.png", "mimeType": "image/png", "buffer": png(1)})
    expect(page.get_by_role("heading", name="Which images are most like your picture, by colour?")).to_be_visible()
    expect(board).to_contain_text("Your picture: PNG, 24 x 16 pixels.")
    expect(page.locator(".lk-near-own")).to_contain_text("mine.png")
    page.wait_for_function("document.querySelector('.lk-near-own img').naturalWidth === 24")
    expect(page.locator(".lk-near-found figure")).to_have_count(12)
    assert "mine" not in page.url
    page.get_by_role("link", name="Colourfulness alone").click()  # the page sends the picture again
    expect(board).to_contain_text("difference in colourfulness")
    give(page, "paste", "image.png", png(2, (30, 20)))
    expect(board).to_contain_text("Your picture: PNG, 30 x 20 pixels.")
    page.set_viewport_size({"width": 390, "height": 900})
    assert no_sideways_scroll(page)
    give(page, "drop", "dropped.png", png(3, (40, 20)))
    expect(board).to_contain_text("Your picture: PNG, 40 x 20 pixels.")
    choose.set_input_files({"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"})
    expect(board.get_by_role("alert")).to_contain_text("it is a PDF")
    expect(page.locator(".lk-near-own figure")).to_contain_text("No picture")
    expect(page.locator(".lk-near-own")).not_to_contain_text("This browser")
    large = tmp_path / "large.png"
    large.write_bytes(b"x" * 20_000_001)
    choose.set_input_files(large)
    expect(page.locator(".lk-near-problem")).to_contain_text("more than the limit of 20 MB")
    give(page, "paste", "image.png", png(4))
    walk(page, 2)
    expect(page).not_to_have_url(re.compile("picture"))
    page.get_by_role("button", name="Back to your picture").click()
    expect(board).to_contain_text("Your picture: PNG, 24 x 16 pixels.")
    page.reload()
    expect(board).to_contain_text("No address holds one, and nothing keeps it: choose it again")
    board.get_by_role("link", name="go on with an image of the audit").click()
    expect(page.locator(".lk-near-query img")).to_be_visible()
    expect(page.get_by_role("button", name="Back to your picture")).to_be_hidden()


def test_an_image_without_its_audit_opens_and_counts_no_column(page, served):
    page.goto(served + "?tab=neighbours&kind=colour&k=12&system=nobody")
    expect(page.locator(".lk-near-missed")).to_contain_text("no system “nobody”")
    figures = page.locator(".lk-near-found a[data-detail]")
    name = figures.nth(2).get_attribute("data-detail").rpartition("/")[2]
    page.goto(served + "?tab=neighbours&kind=colour&k=12&image=" + name)
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(f'img[src*="{name}"]')).to_be_visible()
    expect(dialog.locator(".lk-position")).to_have_text("3 of 12")


def test_walks_line_up_and_on_a_phone_the_picture_is_on_the_first_screen(page, served):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(served + "?tab=neighbours&audit=small&kind=colour&k=12")
    expect(page.locator(".lk-near-found figure")).to_have_count(12)
    box = page.locator(".lk-near-query img").bounding_box()
    assert box["y"] + box["height"] <= 844
    tops = page.locator(".lk-walk").evaluate_all(
        "links => links.map(a => [a.closest('figure').offsetTop, a.offsetTop])"
    )
    assert len({tuple(top) for top in tops}) == len({top for top, _ in tops}) > 1
