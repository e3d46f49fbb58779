"""Average faces as data: order, pairs, addresses, escaping, the pictures and the sheet, audits without faces."""

from __future__ import annotations

import io
from dataclasses import replace
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from face_audits import make_face_audit
from fastapi import FastAPI
from PIL import Image
from region_audits import make_region_audit
from starlette.testclient import TestClient

import app
from explorers import (
    _faces,
    _faces_chart,
    _faces_compare,
    _faces_html,
    _faces_members,
    _faces_sheet,
    _faces_view,
    faces,
)
from explorers._faces import Average, Cell
from explorers._faces_view import FacesView, from_params, to_address

BETA = "Beta <b>"
HOSTILE = "<script>alert(1)</script> ${x} {{y}} \"q\" 'q' é 你 " + "long" * 100


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_face_audit(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make_region_audit(tmp_path_factory.mktemp("cache"), "small")


@pytest.fixture(scope="module")
def client(audit, plain):
    server = FastAPI()
    app.add_routes(server, {audit.name: audit, plain.name: plain})
    with TestClient(server) as client:
        yield client


class Made:
    """Averages as the store gives them, made up: a system's subjects with n and homogeneity."""

    def __init__(self, values):
        rows = []
        for (system, subject), (n, homogeneity) in values.items():
            row = {"system": system, "subject": subject, "region": -1, "total": 30, "n": n, "several": 0}
            for name in ("ratio", "homogeneity"):
                enough = homogeneity if n >= 5 else np.nan
                row |= {name: homogeneity, f"{name}_low": enough - 0.05, f"{name}_high": enough + 0.05}
            rows.append(row | {"sharpness": 0.1, "members": 0.2})
        self.frame = pd.DataFrame(rows)

    def averages(self, embedding="", k=0):
        return self.frame

    def detections(self):
        return pd.DataFrame({"faces": [1], "sharpness": [0.1], "cut": [False]})

    def choices(self):
        return []

    def picture(self, place, embedding="", k=0):
        return b"no picture"


class Stub:
    """What the tab asks of an audit, around made up averages."""

    name = "stub"

    def __init__(self, values):
        self.faces = Made(values)
        self.manifest = {"sha256": "0" * 64}
        names = [subject for _, subject in values]
        self.generations = pd.DataFrame({"subject": pd.Categorical(names)})
        self.vectors = type("Vectors", (), {"choices": lambda self: []})()

    def rows(self, **wanted):
        return np.arange(len(self.generations))


def many(systems=2, professions=12):
    """Professions p00 ... whose homogeneity rises with their number; every system a little above the one before."""
    return Stub(
        {(f"S{s}", f"p{p:02}"): (20, 0.1 + 0.05 * p + 0.01 * s * p) for s in range(systems) for p in range(professions)}
    )


def view_of(audit, query=""):
    return from_params({audit.name: audit}, parse_qs(query, keep_blank_values=True))


def test_the_first_view_holds_the_most_and_the_least_alike():
    audit = many()
    view = view_of(audit)
    assert view.systems == ("S0", "S1")
    assert _faces_view.chosen(audit, view) == ("p11", "p10", "p09", "p08", "p03", "p02", "p01", "p00")
    said = "8 of 12 professions: the 4 most and the 4 least alike, by their mean homogeneity over these systems."
    assert said in _faces_html.grid_html(audit, view)


def test_the_first_views_rule_outlives_other_controls_and_the_rows_are_always_explained():
    audit = many()
    for query in ("sort=name", "s=S0", "sort=unlike&s=S1"):
        view = view_of(audit, query)
        assert view.rule
        assert len(_faces_view.chosen(audit, view)) == 8
        assert "p=" not in to_address(view)
        assert "8 of 12 professions: the 4 most and the 4 least alike, by" in _faces_html.grid_html(audit, view)
    assert "All 12 professions." in _faces_html.grid_html(audit, view_of(audit, "p="))
    html = _faces_html.grid_html(audit, view_of(audit, "p=p01&p=p02"))
    assert "2 rows that were chosen; there are 12 professions." in html
    assert "Show all 12</a>" in html
    assert "Show the 4 most and the 4 least alike</a>" in html


def test_what_an_address_names_in_vain_is_said_escaped_and_bounded(audit):
    assert _faces_html.unknown_html(view_of(audit, "p=nurse&s=Alpha")) == ""
    html = _faces_html.heading_html(audit, view_of(audit, "p=nurse&p=<i>&s=" + "x" * 500))
    assert "&lt;i&gt;" in html
    assert "<i>" not in html
    assert "which the audit faced does not have" in html
    assert "x" * 60 not in html
    assert "and 397 more" in _faces_html.unknown_html(view_of(audit, "&".join(f"s=x{i}" for i in range(400))))


def changed_by(audit, query, **boxes):
    """What the tab answers where the boxes hold a view's values but for some."""
    view = view_of(audit, query)
    split = ":".join(map(str, view.split)) if view.split[0] else ""
    held = {"audit": audit.name, "s": list(view.systems), "p": list(view.subjects), "sort": view.sort, "split": split}
    values = (*(held | boxes).values(), query)
    kept = parse_qs(query, keep_blank_values=True)
    after = from_params({audit.name: audit}, faces._params(values, kept, view))
    return view, after, faces._held(values, after)


def test_boxes_that_hold_the_view_already_change_nothing(audit):
    for query in ("tab=faces", "tab=faces&p=", "tab=faces&p=nurse&s=Alpha&sort=name&split=toy:4&c=-"):
        before, after, held = changed_by(audit, query)
        assert after.controls == before.controls
        assert all(held)


def test_emptied_boxes_mean_all(audit):
    before, after, held = changed_by(audit, "tab=faces&s=Alpha", s=[])
    assert after.systems == ("Alpha", BETA)
    assert held == [True, False, True, True, True]  # the box of systems is filled
    before, after, held = changed_by(audit, "tab=faces", p=[])
    assert (before.rule, after.rule, after.subjects) == (True, False, ())
    assert all(held)


def test_another_order_keeps_the_rule_and_another_split_opens_anew(audit):
    _, after, _ = changed_by(audit, "tab=faces", sort="name")
    assert after.rule
    _, after, _ = changed_by(audit, "tab=faces&split=toy:4&c=-", sort="name")
    assert after.closed
    _, after, _ = changed_by(audit, "tab=faces&c=-", split="toy:4")
    assert not after.closed


@pytest.mark.parametrize(
    ("sort", "first_one", "last_one"), [("alike", "c", "a"), ("unlike", "b", "a"), ("name", "a", "c")]
)
def test_rows_are_sorted_and_those_without_a_value_come_last(sort, first_one, last_one):
    audit = Stub({("S", "a"): (3, 0.9), ("S", "b"): (9, 0.2), ("S", "c"): (9, 0.7)})
    names = _faces_view.chosen(audit, view_of(audit, f"p=&sort={sort}"))
    assert (names[0], names[-1]) == (first_one, last_one)


def test_rows_are_sorted_by_the_labour_force_where_it_counts_them():
    audit = Stub({("S", name): (9, 0.5) for name in ("carpenter", "nursing assistant", "wizard")})
    assert "women" in _faces.sorts_of(audit)
    view = view_of(audit, "p=&sort=women")
    assert _faces_view.chosen(audit, view) == ("nursing assistant", "carpenter", "wizard")
    assert "women" not in _faces.sorts_of(many())


def test_all_professions_are_those_that_a_shown_system_has():
    audit = Stub({("S", "a"): (9, 0.9), ("T", "b"): (9, 0.2)})
    assert _faces_view.chosen(audit, view_of(audit, "p=&s=S")) == ("a",)
    assert _faces_view.chosen(audit, view_of(audit, "p=a&p=b&s=S")) == ("a", "b")


def test_what_is_compared_first_is_the_subject_whose_systems_differ_most():
    audit = many()
    assert _faces_view.pair_of(audit, view_of(audit)) == (Cell("S0", "p11"), Cell("S1", "p11"))
    alone = many(systems=1)
    assert _faces_view.pair_of(alone, view_of(alone, "p=")) == (Cell("S0", "p00"), Cell("S0", "p11"))
    one = Stub({("S", "a"): (9, 0.5)})
    assert "Choose A and B" in _faces_compare.compare_html(one, view_of(one))


def average(n, value, low, high, name="S"):
    return Average(Cell(name, "p"), 0, 30, n, 0, value, low, high, 0.5, 0.4, 0.6)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (average(9, 0.5, 0.4, 0.6), average(9, 0.8, 0.7, 0.9, "T"), "B are more alike than those of A"),
        (average(9, 0.8, 0.7, 0.9), average(9, 0.5, 0.4, 0.6, "T"), "A are more alike than those of B"),
        (average(9, 0.5, 0.4, 0.7), average(9, 0.6, 0.5, 0.9, "T"), "overlap"),
        (average(4, 0.5, np.nan, np.nan), average(9, 0.8, 0.7, 0.9, "T"), "cannot be said"),
        (average(9, 0.5, 0.4, 0.6), average(9, 0.5, 0.4, 0.6), "the same average"),
    ],
)
def test_a_verdict_goes_as_far_as_the_intervals(a, b, said):
    assert said in _faces_compare.verdict(a, b)


def test_few_faces_look_like_few():
    assert _faces_html.alike_words(average(9, 0.512, 0.4, 0.63)) == "0.51 (0.40 to 0.63)"
    assert _faces_html.alike_words(average(4, 0.512, np.nan, np.nan)) == "few faces"
    assert _faces_html.alike_words(average(4, 0.512, 0.4, 0.6)) == "few faces"
    assert _faces_html.found_words(average(0, np.nan, np.nan, np.nan)) == "0 of 30 images"
    audit = Stub({("S", "a"): (0, np.nan), ("S", "b"): (4, 0.4), ("T", "a"): (9, 0.4)})
    html = _faces_html.grid_html(audit, view_of(audit, "p="))
    assert "no face found in 30 images" in html
    assert "few faces" in html
    assert html.count("most gave none") == 2
    assert "no images" in html  # T was never asked for b
    assert html.count("<img") == 2


def test_an_audit_in_which_no_face_was_found_says_so():
    audit = Stub({("S", "a"): (0, np.nan), ("S", "b"): (0, np.nan)})
    view = view_of(audit)
    html = _faces_html.heading_html(audit, view)
    assert "No average here has 5 faces or more" in html
    assert "S 60 of 60. Where many are missed" in html
    assert "Choose A and B" in _faces_compare.compare_html(audit, view)
    assert not _faces_chart.chart_figure(audit, view).data[0].x


def test_the_sentence_names_the_extremes_with_n_and_interval():
    html = _faces_html.heading_html(audit := many(), view_of(audit))
    assert "“p11” by S1</b>, 0.76 (95 % interval 0.71 to 0.81, n = 20 faces)" in html
    assert "“p00” by S0</b>, 0.10 (95 % interval 0.05 to 0.15, n = 20 faces); the intervals do not overlap" in html
    assert "S0 80 of 240, S1 80 of 240. Where many are missed" in html
    near = Stub({("S", "a"): (9, 0.50), ("S", "b"): (9, 0.52)})
    assert "the intervals overlap: they may not differ" in _faces_html.heading_html(near, view_of(near))


def test_an_address_restores_its_view(audit):
    view = FacesView(
        "faced",
        ("Alpha", BETA),
        ("carpenter", "nurse"),
        "name",
        ("toy", 4),
        1,
        Cell(BETA, "nurse", 1),
        2,
        3,
        Cell("Alpha", "nurse"),
        Cell("Alpha", "carpenter", 3),
        "blend",
        0,
    )
    assert view_of(audit, to_address(view)) == view
    assert view_of(audit, to_address(replace(view, subjects=()))).subjects == ()
    assert len(_faces_view.chosen(audit, replace(view, subjects=()))) == 3


@pytest.mark.parametrize(
    "query",
    [
        "",
        "audit=../x&s=<b>&p=nobody&sort=id&split=toy:5&n=-1&a=Alpha&b=x&b=y&c=1&mode=<script>&at=-3&f=0&m=x",
        "n=\u0664&at=1e9&c=Alpha&c=nurse&c=0&split=toy",  # a region without regions
        "split=toy:4&c=Alpha&c=nurse&c=99&a=Alpha&a=nurse&a=-2&b=Alpha&b=nurse&b=\u0661",
        "&".join(f"s=x{i}" for i in range(400)),
    ],
)
def test_a_hostile_address_opens_a_view(audit, query):
    view = replace(view_of(audit, query), split=("", 0))
    assert view == view_of(audit)
    assert _faces_members.panel_html(audit, view) == _faces_members.HINT


def test_places_past_the_end_show_the_last_page(audit):
    view = view_of(audit, "n=9999999&c=Alpha&c=nurse&f=9999999&m=99999&at=999999")
    assert view.at == 100
    assert _faces_view.on_page(audit, view)
    assert _faces_members.panel_html(audit, view).count("<figure") == 20


def test_a_long_grid_has_pages():
    audit = many(professions=70)
    view = view_of(audit, "p=&n=3")
    assert len(_faces_view.on_page(audit, view)) == 10
    html = _faces_html.grid_html(audit, view)
    assert "Page 3 of 3" in html
    assert "Next professions" not in html


def test_the_members_are_the_images_behind_an_average(audit):
    cell = Cell("Alpha", "nurse")
    view = replace(view_of(audit), cell=cell)
    inside, without = _faces_view.members(audit, view, cell)
    one = _faces_view.average_of(audit, view, cell)
    assert (len(inside), len(inside) + len(without)) == (one.n, one.total)
    html = _faces_members.panel_html(audit, view)
    assert html.count("<figure") == 20
    assert html.count(" faces</span>") == one.several
    listed = html.index('id="lk-faces-missed"')
    assert html[listed:].count("<figure") == len(without) == 2
    assert f"{len(inside)} of 20 images gave the faces" in html


def test_a_split_shows_the_regions_beside_the_whole(audit):
    view = view_of(audit, "split=toy:4&c=Alpha&c=nurse")
    html = _faces_members.panel_html(audit, view)
    assert "All images" in html
    assert html.count("lk-face-region") == 1 + 2  # nurses fall into two of the four regions
    assert "2 regions of 4 hold none" in html
    region = Cell("Alpha", "nurse", 1)
    inside, without = _faces_view.members(audit, view, region)
    assert (audit.vectors.regions("toy", 4).region[np.concatenate([inside, without])] == 1).all()


def test_a_face_that_was_not_aligned_is_no_member(audit, monkeypatch):
    frame = audit.faces.detections().copy()
    inside, _ = _faces_view.members(audit, view_of(audit), Cell("Alpha", "nurse"))
    frame.loc[inside[0], "sharpness"] = np.nan
    monkeypatch.setattr(audit.faces, "detections", lambda: frame)
    _faces.faced.cache_clear()
    _, without = _faces_view.members(audit, view_of(audit), Cell("Alpha", "nurse"))
    assert inside[0] in without
    view = replace(view_of(audit), cell=Cell("Alpha", "nurse"))
    assert "not aligned" in _faces_members.panel_html(audit, view)
    _faces.faced.cache_clear()


def test_hostile_names_are_escaped(audit):
    stub = Stub({(HOSTILE, HOSTILE): (9, 0.5), (BETA, HOSTILE): (9, 0.9)})
    for one, view in ((stub, view_of(stub)), (audit, view_of(audit, f"split=toy:4&c={BETA}&c=nurse&p="))):
        html = _faces_html.heading_html(one, view) + _faces_html.grid_html(one, view)
        html += _faces_compare.compare_html(one, view) + _faces_chart.legend_html(one, view)
        html += _faces_members.panel_html(audit, view) if one is audit else ""
        assert "Beta &lt;b&gt;" in html
        for wrong in ("Beta <b>", "<script", "${", "{{"):
            assert wrong not in html
        drawn = _faces_chart.chart_figure(one, view).to_json().replace("\\u003c", "<")
        assert "Beta <b>" not in drawn
        assert "<script" not in drawn


def test_the_chart_has_a_mark_for_every_average_with_faces_enough():
    audit = Stub({("S", "a"): (4, 0.9), ("S", "b"): (9, 0.2), ("T", "b"): (9, 0.7)})
    drawn = _faces_chart.chart_figure(audit, view_of(audit, "p="))
    assert [list(trace.x) for trace in drawn.data] == [[0.2], [0.7]]
    assert drawn.data[1].error_x.array[0] == pytest.approx(0.05)


def test_the_route_serves_averages_that_can_be_kept(client, audit):
    version = _faces_html.version(audit)
    answer = client.get(f"/data/faces/average?audit=faced&c=Alpha&c=nurse&v={version}")
    assert answer.headers["content-type"] == "image/webp"
    assert "immutable" in answer.headers["cache-control"]
    place = _faces.averages(audit)[Cell("Alpha", "nurse")].place
    assert answer.content == audit.faces.picture(place)
    old = client.get("/data/faces/average?audit=faced&c=Alpha&c=nurse&v=old")
    assert "cache-control" not in old.headers
    part = client.get("/data/faces/average?audit=faced&split=toy:4&c=Alpha&c=nurse&c=1")
    assert part.content == audit.faces.picture(
        _faces.averages(audit, ("toy", 4))[Cell("Alpha", "nurse", 1)].place, "toy", 4
    )


@pytest.mark.parametrize(
    "query",
    [
        "",
        "audit=faced",
        "audit=none&c=Alpha&c=nurse",
        "audit=small&c=Alpha&c=nurse",
        "audit=faced&c=Alpha",
        "audit=faced&c=Alpha&c=x",
        "audit=faced&c=Alpha&c=nurse&c=1",
        "audit=faced&c=Alpha&c=nurse&c=%00",
    ],
)
def test_nonsense_is_not_found(client, query):
    assert client.get(f"/data/faces/average?{query}").status_code == 404


def test_the_sheet_is_the_grid_as_a_picture(client, audit):
    answer = client.get("/data/faces/sheet?audit=faced&p=nurse&p=carpenter")
    assert answer.headers["content-type"] == "image/png"
    picture = Image.open(io.BytesIO(answer.content))
    step = _faces_sheet.FACE + _faces_sheet.WORDS + _faces_sheet.GAP
    assert picture.size == (760, _faces_sheet.HEAD + 2 * step + _faces_sheet.FOOT)
    face = np.asarray(picture)[_faces_sheet.HEAD + 80, _faces_sheet.NAMES + 80]
    assert abs(face.astype(int) - 190).max() < 12  # the middle of the oval that was made up
    assert client.get("/data/faces/sheet?audit=small").status_code == 404


def test_a_sheet_of_hostile_names_and_damaged_pictures_is_drawn():
    stub = Stub({(HOSTILE, HOSTILE): (9, 0.5), (BETA, HOSTILE): (0, np.nan)})
    picture = Image.open(io.BytesIO(_faces_sheet.sheet(stub, view_of(stub))))
    assert picture.height == _faces_sheet.HEAD + 212 + _faces_sheet.FOOT
    largest = many(systems=6, professions=70)
    assert np.prod(Image.open(io.BytesIO(_faces_sheet.sheet(largest, view_of(largest, "p=")))).size) < 9e6


def test_one_sheet_is_drawn_at_a_time(client, monkeypatch):
    class Taken:
        def acquire(self, timeout):
            return False

    monkeypatch.setattr(_faces_sheet, "_one_sheet", Taken())
    assert client.get("/data/faces/sheet?audit=faced").status_code == 503


def test_words_keep_to_their_width():
    lines = _faces_sheet.lines_of(HOSTILE, 18, 176, 5)
    assert len(lines) <= 5
    assert all(_faces_sheet.font(18).getlength(line) <= 176 for line in lines)
    assert _faces_sheet.lines_of("nurse", 18, 176, 5) == ["nurse"]
    assert _faces_sheet.plain("Ärztin in Łódź") == "Arztin in Lodz"


def test_the_csv_has_every_average(client):
    text = client.get("/csv/faces?audit=faced&p=&split=toy:4").text
    frame = pd.read_csv(io.StringIO(text.lstrip("\ufeff")))
    assert len(frame) == 6 + 2 * (4 + 2 + 4)  # nurses fall into two of the four regions
    assert (frame.total == frame.n + frame.without_face).all()
    assert "homogeneity_low_bootstrap95" in frame
    assert (frame["region"] >= 0).sum() == 20
    assert "no average faces" in client.get("/csv/faces?audit=small").text


def test_the_csv_keeps_back_what_the_screen_does_and_rounds():
    audit = Stub({("S", "a"): (4, 0.123456), ("S", "b"): (9, 0.123456)})
    frame = _faces_view.table({"stub": audit}, {"p": [""]}).set_index("subject")
    assert frame.loc["a", ["homogeneity", "ratio", "homogeneity_low_bootstrap95"]].isna().all()
    assert frame.loc["b", "homogeneity"] == 0.1235
    assert frame["region"].isna().all()
    assert "mean_sharpness_of_members" in frame


def test_what_opens_by_itself_stays_closed(audit):
    open_one, closed = view_of(audit, "split=toy:4"), view_of(audit, "split=toy:4&c=-")
    assert "lk-faces-close" in _faces_members.panel_html(audit, open_one)
    assert _faces_members.panel_html(audit, closed) == _faces_members.HINT
    assert to_address(closed).endswith("&c=-")
    assert "Click an average to see its regions" in _faces_html.grid_html(audit, closed)


def test_an_audit_without_faces_says_what_to_run(plain, audit):
    html = _faces_html.without_html(plain)
    assert "python -m backend build small" in html
    assert "?tab=browse" in html
    assert view_of(plain) == FacesView("small")
    assert from_params({"small": plain, "faced": audit}, {}).audit == "faced"
    assert len(faces._updates(plain, view_of(plain))) == len(faces._updates(audit, view_of(audit)))


def test_why_two_averages_are_compared_first_is_true_of_them(audit):
    view = from_params({audit.name: audit}, {})
    one = next(a for a in _faces_view.shown(audit, view) if a.enough)
    other = next(a for a in _faces_view.shown(audit, view) if a.cell.subject != one.cell.subject)
    assert "between two systems for one profession" in _faces_compare._why(view, one, one)
    assert "the least and the most alike here" in _faces_compare._why(view, one, other)
    assert _faces_compare._why(replace(view, a=one.cell), one, other) == ""
