"""Representation as data and words: shares and bands by hand, sorting, calibration, hostile names, small groups."""

from __future__ import annotations

from urllib.parse import parse_qs

import numpy as np
import pytest
from audits import make_audit
from fastapi import FastAPI
from region_audits import make_region_audit
from starlette.testclient import TestClient

import app
from explorers import _representation as data
from explorers import _representation_calibration as calibration
from explorers import _representation_charts as charts
from explorers import _representation_view as state
from explorers import _representation_words as words
from explorers._representation_view import RepresentationView

WOMAN, DARK = ("gender", "woman"), ("tone", "dark")
VIEW = RepresentationView("regional", "toy", 4, WOMAN, DARK)


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_region_audit(tmp_path_factory.mktemp("cache"), labels=True)


@pytest.fixture(scope="module")
def client(audit):
    server = FastAPI()
    app.add_routes(server, {audit.name: audit})
    with TestClient(server) as client:
        yield client


def test_the_defaults_are_woman_and_another_axis(audit):
    assert state.from_params({"regional": audit}, {}) == VIEW


def test_an_address_restores_its_view(audit):
    view = RepresentationView("regional", "toy", 4, DARK, WOMAN, ("Beta <b>",), ("nurse",), True, "gap")
    assert state.from_params({"regional": audit}, parse_qs(state.to_address(view))) == view


@pytest.mark.parametrize("query", ["one=gender:king&other=x&s=nobody&p=<script>&sort=-drop&published=2", "k=99&sort="])
def test_a_hostile_address_opens_a_view(audit, query):
    assert state.from_params({"regional": audit}, parse_qs(query, keep_blank_values=True)) == VIEW


def test_numbers_by_profession(audit):
    frame = data.shown(audit, VIEW).set_index(["system", "profession"])
    nurse, carpenter = frame.loc[("Alpha", "nurse")], frame.loc[("Alpha", "carpenter")]
    assert (nurse.n, nurse.one, nurse.other) == (20, 1.0, 0.5)
    assert nurse.diversity == pytest.approx(1)
    assert carpenter.diversity == pytest.approx(2)
    assert carpenter.labour == 3.1
    assert carpenter.gap == pytest.approx(0.5 - 0.031)
    assert carpenter.gap_low > 0
    assert (nurse.rank_best, nurse.rank_worst) == (3, 3)


def test_bands_by_hand(audit):
    bands = data.bands_of(audit, VIEW, WOMAN)["Alpha"]  # carpenter 3.1 %, teacher 79.2 %, nurse 86.7 % women
    assert [(band.band, band.share, band.images) for band in bands] == [(0, 0.5, 20), (1, 0.5, 20), (3, 1.0, 20)]
    assert bands[-1].low < 1


def test_both_phrases_at_once(audit):
    name, n, share, low, high, apart = data.both(audit, VIEW)[0]
    assert (name, n) == ("Alpha", 60)
    assert share == pytest.approx(20 / 60)  # region 1 alone
    assert low < share < high
    assert apart == pytest.approx(40 / 60 * 30 / 60)


def test_sorting_turns_round():
    once = state.sorted_by(VIEW, "gap")
    assert (once.sort, state.sorted_by(once, "gap").sort) == ("-gap", "gap")
    assert state.sorted_by(VIEW, "profession").sort == "profession"


def test_the_order_of_the_table(audit):
    view = RepresentationView("regional", "toy", 4, WOMAN, DARK, sort="one")
    assert data.shown(audit, view).one.tolist() == [0.5] * 4 + [1.0] * 2
    chosen = RepresentationView("regional", "toy", 4, WOMAN, DARK, ("Alpha",), ("nurse",))
    assert data.shown(audit, chosen).profession.tolist() == ["nurse"]


def test_hostile_names_are_escaped(audit):
    view = RepresentationView("regional", "toy", 4, WOMAN, DARK, published=True)
    html = words.heading_html(audit, view) + words.stack_html(audit, view) + words.diversity_html(audit, view)
    html += words.band_html(audit, view, WOMAN) + words.band_html(audit, view, DARK) + words.both_html(audit, view)
    html += words.summary_html(audit, view) + words.summary_html(audit, view, "adjective")
    html += calibration.labels_html(audit, view)
    assert "Beta &lt;b&gt;" in html
    for wrong in ("Beta <b>", "<script", "${", "{{"):
        assert wrong not in html
    for figure in (charts.stack_figure(audit, view), charts.diversity_figure(audit, view)):
        assert "Beta <b>" not in figure.to_json().replace("\\u003c", "<")


def test_every_chart_says_its_n_and_interval(audit):
    for html in (words.diversity_html(audit, VIEW), words.band_html(audit, VIEW, WOMAN)):
        assert "95 %" in html
        assert "n = " in html
    assert "n: 60 images a bar" in words.stack_html(audit, VIEW)
    assert "stands for no group" in words.band_html(audit, VIEW, DARK)


def test_too_few_images_say_so(audit, monkeypatch):
    monkeypatch.setattr(words, "FEWEST", 30)
    assert "too few images" in words.summary_html(audit, VIEW)
    monkeypatch.setattr(words, "FEWEST_BAND", 100)
    assert "Too few images to show a band" in words.band_html(audit, VIEW, WOMAN)


def test_the_published_systems_are_a_layer(audit):
    plain = charts.band_figure(audit, VIEW, WOMAN)
    layered = charts.band_figure(audit, RepresentationView("regional", "toy", 4, WOMAN, DARK, published=True), WOMAN)
    assert len(plain.data) == 3  # the labour force and two systems
    assert len(layered.data) == 3 + 12
    dreamshaper = next(trace for trace in layered.data if trace.name == "DreamShaper (published)")
    assert list(dreamshaper.y) == [22.1, 31.7, 61.2, 83.7, 94.3]


def test_planted_shares_are_those_of_the_starter_alone(audit, monkeypatch):
    assert calibration.planted(audit, *WOMAN).empty
    table = calibration.truth().head(0).copy()
    for system in ("Alpha", "Beta <b>"):
        for profession, share in (("nurse", 0.9), ("carpenter", 0.5), ("teacher", 0.4)):
            table.loc[len(table)] = [system, profession, "gender", "woman", share, "", ""]
    monkeypatch.setattr(calibration, "truth", lambda: table)
    calibration.planted.cache_clear()
    calibration.recovered.cache_clear()
    found = calibration.recovered(audit, audit.vectors.regions("toy", 4), *WOMAN, "paper")
    every = calibration.calibrated(found)[-1]
    assert (every[0], every[1], every[2].pairs) == ("all systems", 120, 6)
    assert every[2].error == pytest.approx((0.1 + 0 + 0.1) / 3)
    html = calibration.truth_html(audit, VIEW)
    assert "7 points" in html
    assert "Beta &lt;b&gt;" in html
    assert len(calibration.truth_figure(audit, VIEW).data) == 3
    calibration.planted.cache_clear()
    calibration.recovered.cache_clear()


def test_labels_against_region_phrases(audit):
    found = calibration.labelled(audit, audit.vectors.regions("toy", 4))
    assert [(one.axis, one.column) for one in found] == [("gender", "label_gender")]
    labels = audit.generations["label_gender"].astype("str").to_numpy()
    region = audit.vectors.regions("toy", 4).region
    judged = labels != "Pass"
    agreed = (labels == "Female") == (region < 2)
    assert (found[0].found.n, found[0].found.agreed) == (judged.sum(), agreed[judged].sum())
    assert int(found[0].table.to_numpy().sum()) == len(audit)


def test_the_csv_has_every_number(client):
    text = client.get("/csv/representation?audit=regional").text
    assert len(text.strip().splitlines()) == 1 + 6
    assert "share_woman" in text
    assert len(client.get("/csv/representation?audit=regional&of=adjectives").text.strip().splitlines()) == 1 + 4
    assert "labour" in client.get("/csv/representation?audit=regional&of=bands").text.splitlines()[0]


def test_an_audit_without_regions_opens(tmp_path):
    plain = make_audit(tmp_path)
    view = state.from_params({"small": plain}, {})
    assert view == RepresentationView("small")
    assert "problem" in data.table({"small": plain}, {})


def test_labour_figures():
    assert data.labour_of(["nurse", "nobody"], WOMAN)[0] == 86.7
    assert data.labour_of(["nurse"], ("gender", "man"))[0] == pytest.approx(13.3)
    assert np.isnan(data.labour_of(["nurse", "nobody"], DARK)).all()
