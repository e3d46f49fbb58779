"""The tabs about regions in headless Chromium: the map's selection, its CSV, its address, and the charts."""

from __future__ import annotations

import csv
import re

import pytest
from playwright.sync_api import Page, expect
from region_audits import make_region_audit
from test_browser import browser, no_sideways_scroll, open_page, pytestmark, serve  # noqa: F401 (fixtures)

MAP = ".lk-map-plot .js-plotly-plot, .lk-map-plot.js-plotly-plot"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_region_audit(cache, "regional")
    process, url = serve(cache)
    yield url
    process.terminate()
    process.wait(20)


def drawn(page: Page) -> None:
    """Wait until the map can be used."""
    page.wait_for_function("document.querySelector('.lk-map')?.likenessMap?.drawn", timeout=30_000)


def test_a_box_on_the_map_fills_the_gallery_and_the_csv(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=regions")
    drawn(page)
    page.get_by_role("button", name="Box").click()
    box = page.locator(".lk-map-plot").bounding_box()
    page.mouse.move(box["x"] + 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4, steps=6)
    page.mouse.up()
    expect(page.locator(".lk-map-chosen")).to_contain_text(
        "120 of 200 images in the area drawn on the map; 1 to 48 shown"
    )
    expect(page.locator(".lk-map-gallery figure")).to_have_count(48)
    expect(page).to_have_url(re.compile("area="))
    with page.expect_download() as download:
        page.get_by_role("button", name="Download selection (CSV)").click()
    rows = list(csv.DictReader(download.value.path().read_text("utf-8-sig").splitlines()))
    assert len(rows) == 120
    assert {row["region"] for row in rows} == {"0", "1"}
    page.get_by_role("button", name="Next images").click()
    expect(page.locator(".lk-map-chosen")).to_contain_text("49 to 96 shown")
    other = open_page(page.url)
    expect(other.locator(".lk-map-chosen")).to_contain_text("120 of 200 images")
    other.locator(".lk-map-gallery a").first.click()
    expect(other.get_by_role("dialog")).to_contain_text("Seed")


def test_a_region_of_a_card_is_shown_and_the_colour_is_in_the_address(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=regions")
    drawn(page)
    page.locator("#lk-region-2").get_by_role("link", name="Show its images on the map").click()
    expect(page.locator(".lk-map-chosen")).to_contain_text("40 of 200 images in region 2 (man, light)")
    page.locator(".lk-map-colour").select_option("gender")
    expect(page).to_have_url(re.compile("colour=gender.*region=2|region=2.*colour=gender"))
    expect(page.locator(".lk-map-legend")).to_contain_text("woman (40)")
    page.get_by_role("button", name="Clear selection").click()
    expect(page.locator(".lk-map-gallery figure")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("region="))


def test_representation_charts_sort_and_address(open_page, served):  # noqa: F811
    page = open_page(served + "?tab=representation")
    page.locator("#lk-repr-band-one .js-plotly-plot").wait_for()
    page.locator("#lk-repr-published input").check()
    expect(page).to_have_url(re.compile("published=1"))
    expect(page.get_by_role("link", name="Published bands (CSV)")).to_be_visible()
    page.get_by_role("link", name="Difference (95 %)").click()
    expect(page).to_have_url(re.compile("sort=-gap"))
    expect(page.locator("#lk-repr-published input")).to_be_checked()
    with page.expect_download() as download:
        page.locator('button[data-chart="lk-repr-diversity"]').click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("tab", ["regions", "representation"])
def test_a_phone_needs_no_sideways_scrolling(open_page, served, tab):  # noqa: F811
    page = open_page(served + f"?tab={tab}", width=390)
    page.locator(".js-plotly-plot").first.wait_for()
    assert no_sideways_scroll(page)
