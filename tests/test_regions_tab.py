"""Identity regions as data: shares by hand, addresses, the map's binary, hostile names, audits without regions."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

import numpy as np
import pytest
from audits import make_audit
from fastapi import FastAPI
from region_audits import make_region_audit
from starlette.testclient import TestClient

import app
from explorers import _regions, _regions_groups, _regions_map
from explorers._regions import RegionsView


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_region_audit(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make_audit(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def regions(audit):
    return audit.vectors.regions("toy", 4)


@pytest.fixture(scope="module")
def client(audit, plain):
    server = FastAPI()
    app.add_routes(server, {audit.name: audit, plain.name: plain})
    with TestClient(server) as client:
        yield client


def test_shares_are_those_that_were_made(audit, regions):
    table = _regions.shares(audit, regions)
    own = table[(table.system == "Alpha") & (table.subset == "professions")]
    assert own.images.tolist() == [20, 20, 10, 10]  # nurses fall in regions 0 and 1 only
    assert own.n.tolist() == [60] * 4
    assert (own.low < own.share).all()
    assert (own.share < own.high).all()
    identities = table[(table.system == "Beta <b>") & (table.subset == "identities")]
    assert identities.images.tolist() == [10] * 4


def test_a_phrase_holds_its_regions(regions):
    assert _regions_groups.mask_of(regions, "gender", "woman").tolist() == [True, True, False, False]
    assert _regions_groups.mask_of(regions, "tone", "dark").tolist() == [False, True, False, True]
    assert _regions_groups.mask_of(regions, "", "").tolist() == [False] * 4
    assert _regions_groups.name_of(regions, 3) == "3 (man, dark)"
    assert _regions_groups.axes_of(regions) == ("gender", "tone")


def test_an_address_restores_its_view(audit):
    view = RegionsView("regional", "toy", 4, "gender", 2, (0.5, -1.25, 3, 4))
    parsed = parse_qs(_regions.to_address(view), keep_blank_values=True)
    assert _regions.from_params({"regional": audit}, parsed) == view


@pytest.mark.parametrize(
    "query",
    [
        "",
        "audit=../x&embedding=<b>&k=-1&colour=id&region=99",
        "k=\u0664&area=1,2,3",
        "area=nan,1,2,3",
        "area=1e999,0,0,0",
    ],
)
def test_a_hostile_address_opens_a_view(audit, query):
    view = _regions.from_params({"regional": audit}, parse_qs(query))
    assert view == RegionsView("regional", "toy", 4)


def test_the_map_is_binary_and_aligned(audit, regions):
    data = _regions_map.points(audit, regions)
    length = int.from_bytes(data[:4], "little")
    head = json.loads(data[4 : 4 + length])
    n, at = head["n"], 4 + length
    assert n == len(audit)
    assert at % 8 == 0
    x = np.frombuffer(data, "<f4", n, at)
    assert np.array_equal(x, audit.vectors.map("toy")[:, 0])
    ids = data[at + 8 * n : at + 16 * n]
    assert ids[8:16].hex() == audit.generations["id"].iat[1]
    codes = np.frombuffer(data, "<u2", n, at + 16 * n + 2 * n * head["fields"].index("region"))
    assert np.array_equal(codes, regions.region)
    systems = np.frombuffer(data, "<u2", n, at + 16 * n)
    assert head["names"]["system"][systems[-1]] == "Beta <b>"
    assert len(data) == at + n * (16 + 2 * len(head["fields"]))
    assert 94_500 * (16 + 2 * len(head["fields"])) < 4_000_000


def test_the_route_serves_points_and_pictures(client, audit):
    answer = client.get("/data/regions/points?audit=regional&k=4")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    ids = ",".join(audit.generations["id"][:3])
    html = client.get(f"/data/regions/gallery?audit=regional&ids={ids},ffffffffffffffff,<script>").text
    assert html.count("<figure") == 3
    assert "<script" not in html


@pytest.mark.parametrize("path", ["/data/regions/x", "/data/nothing/points", "/data/regions/points?audit=small"])
def test_what_is_not_there_is_not_found(client, path):
    assert client.get(path).status_code == 404


def test_hostile_names_are_escaped(audit, regions):
    view = RegionsView("regional", "toy", 4)
    html = _regions.cards_html(audit, regions, view) + _regions_map.map_html(audit, regions, view)
    html += _regions.heading_html(audit, regions) + _regions.quality_html(audit, regions)
    assert "Beta &lt;b&gt;" in html
    assert "a note &lt;i&gt;" in html
    for wrong in ("<b>,", "Beta <b>", "<script", "${", "{{"):
        assert wrong not in html
    assert "Beta <b>" not in _regions.share_figure(audit, regions).to_json().replace("\\u003c", "<")


def test_the_heading_reads_the_largest_region(audit, regions):
    html = _regions.heading_html(audit, regions)
    assert "40 of 120 images of profession prompts (33 %, 95 % interval 26 to 42 %)" in html
    assert "woman (100 %)" in html


def test_the_csv_has_every_region(client):
    text = client.get("/csv/regions?audit=regional").text
    assert len(text.strip().splitlines()) == 1 + 4 * 4
    assert "woman 20" in text
    assert "no identity regions" in client.get("/csv/regions?audit=small").text


def test_an_audit_without_identities_says_what_to_do(plain, audit):
    html = _regions_groups.missing_html(plain)
    assert "no <b>identity prompts</b>" in html
    assert "--regions-from" in html
    assert _regions_groups.missing_html(audit) == ""
    assert _regions.from_params({"small": plain}, {}) == RegionsView("small")
    assert _regions.from_params({"small": plain, "regional": audit}, {}).audit == "regional"
