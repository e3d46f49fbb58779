"""Nearest neighbours as data: addresses and walks, filters, what a neighbourhood holds, hostile names, pictures."""

from __future__ import annotations

import base64
import csv
import io
from dataclasses import replace
from urllib.parse import parse_qs

import numpy as np
import pytest
from audits import HOSTILE, make_audit
from fastapi import FastAPI
from PIL import Image
from region_audits import make_region_audit
from samples import encode, imported, noise, png, write, write_csv
from starlette.testclient import TestClient

import app
from backend import vector_stages
from backend.build import build
from backend.neighbours import Kind
from backend.store import Audit
from explorers import _grid, _neighbours_html, _neighbours_links, _neighbours_picture, neighbours
from explorers import _neighbours as near
from explorers._neighbours import NearView
from explorers._neighbours_summary import Field, Line, fields_of, sentence

OURS = {"X-Likeness": "query"}


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_region_audit(cache)
    with pytest.MonkeyPatch.context() as patch:  # a map takes long to compile, and no neighbour needs one
        patch.setattr(vector_stages.projection, "project", lambda vectors, *rest: np.asarray(vectors[:, :2], "float32"))
        build(cache, "regional", workers=1)
    return Audit.open(cache, "regional")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return make_audit(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def stores(audit, plain):
    return {audit.name: audit, plain.name: plain}


@pytest.fixture(scope="module")
def client(stores):
    server = FastAPI()
    app.add_routes(server, stores)
    with TestClient(server) as client:
        yield client


def read(stores, query: str) -> NearView:
    return near.from_params(stores, parse_qs(query, keep_blank_values=True))


def ids(audit, *rows) -> list[str]:
    return [str(audit.generations["id"].iat[row]) for row in rows]


def test_an_address_restores_its_view_with_the_walk(stores, audit):
    of, *trail = ids(audit, 7, 3, 9, 3)
    view = NearView("regional", "embedding-toy", of, 48, "Beta <b>", "nurse", "professions", tuple(trail))
    assert read(stores, near.to_address(view)) == view
    assert read(stores, near.to_address(replace(view, k=24, trail=()))) == replace(view, k=24, trail=())


def test_an_address_of_an_uploaded_picture_holds_no_image(stores, audit):
    view = NearView("regional", "colour", ids(audit, 7)[0], picture=True, trail=tuple(ids(audit, 1)))
    query = near.to_address(view)
    assert "of=" not in query
    assert "trail" not in query
    assert read(stores, query).picture


@pytest.mark.parametrize(
    "query",
    [
        "",
        "audit=../../etc&kind=<script>&of=${x}&k=-1&system=nobody&subject=%00&subset=x&trail=a,b,,<i>",
        "audit=regional&kind=colour&k=1000000&of=" + "f" * 5000,
        "k=\u0661\u0662&trail=" + "0" * 10_000,
        "&".join(["kind=embedding-x&trail=1,2"] * 200),
    ],
)
def test_a_hostile_address_opens_the_default(stores, audit, query):
    view = read(stores, query)
    assert view == NearView("regional", "colour", near.default_image(audit))
    assert "<figure" in _neighbours_html.board_html(audit, view)


@pytest.mark.parametrize("query", ["", "audit=regional&kind=colour&k=48&system=Alpha&subject=nurse", "picture=1&of=x"])
def test_an_address_that_names_what_there_is_says_nothing(stores, query):
    assert near.missed(stores, parse_qs(query)) == ""


def test_what_an_address_lacks_is_said_once_bounded_and_escaped(stores, audit):
    query = "audit=<b>gone&kind=zzz&of=" + "f" * 5000 + "&k=7&system=${x}&subject=nurse"
    said = near.missed(stores, parse_qs(query))
    for words in ("no audit “<b>gone”", "compare “zzz”", "no image “" + "f" * 40 + "…”", "neighbours “7”", "no system"):
        assert words in said
    assert "nurse" not in said
    assert len(said) < 400
    html = _neighbours_html.heading_html(audit, read(stores, query), said)
    assert "no audit “&lt;b&gt;gone”" in html
    assert "${" not in html


def test_the_first_image_is_the_first_of_the_most_frequent_profession(audit, plain):
    for store in (audit, plain):
        table = store.generations.iloc[store.rows(subset="professions")]
        counts = table["subject"].astype("str").value_counts()
        subject = min(counts.index[counts == counts.max()])
        first = near.default_image(store)
        assert first == str(table["id"][table["subject"] == subject].iat[0])
        html = _neighbours_html.query_html(store, NearView(store.name, "colour", first))
        assert f"Shown first: it is the first image for {subject}, and no profession here has more images." in html
        other = str(table["id"].iat[-1])
        assert "Shown first" not in _neighbours_html.query_html(store, NearView(store.name, "colour", other))


def test_a_walk_keeps_twelve_steps_and_leads_back(audit):
    names = ids(audit, *range(20))
    view = NearView("regional", "colour", names[0])
    for name in names[1:]:
        view = near.walked(view, name)
    assert view.of == names[19]
    assert view.trail == tuple(names[7:19])
    assert near.returned(view, 2) == NearView("regional", "colour", names[9], trail=tuple(names[7:9]))
    assert near.walked(view, names[9]) == near.returned(view, 2)  # the walk has been there
    assert near.walked(view, view.of) == view
    after = near.walked(replace(view, picture=True), names[5])
    assert (after.trail, after.picture) == ((), False)


@pytest.mark.parametrize("kind", ["colour", "colourfulness", "embedding-toy"])
def test_filters_leave_only_what_they_name(audit, kind):
    of = ids(audit, int(audit.rows(system="Beta <b>", subject="nurse")[0]))[0]
    view = NearView("regional", kind, of, 48, "Beta <b>", "nurse")
    found = near.near(audit, view)
    table = audit.generations.iloc[found.found.rows]
    assert len(table) == 19  # of 20, without the image itself
    assert set(table["system"]) == {"Beta <b>"}
    assert set(table["subject"]) == {"nurse"}
    assert (np.diff(found.found.distance) >= 0).all()
    assert len(found.searched) == 19


def test_a_filter_that_leaves_nothing_says_so_and_how_to_go_on(audit):
    view = NearView("regional", "colour", ids(audit, 0)[0], subject="nurse", subset="identities")
    html = _neighbours_html.board_html(audit, view)
    assert "No image is left to search" in html
    assert "Search all images" in html


def test_what_a_neighbourhood_holds_is_counted_by_hand(audit):
    identity = audit.rows(subset="identities", system="Alpha", gender="woman")
    rows = np.array([*identity[:6], *audit.rows(subject="nurse")[:3]])
    fields = {field.name: field for field in fields_of(audit, rows, np.arange(len(audit)))}
    assert list(fields) == ["system", "subject", "gender", "tone"]  # no ethnicity is named by any prompt
    assert fields["gender"].lines == (Line("woman", 6, 40), Line("unspecified", 3, 120), Line("man", 0, 40))
    assert fields["gender"].others is None
    subject = fields["subject"]
    assert subject.lines == (Line("identity prompt: woman + light", 6, 20), Line("nurse", 3, 40))
    assert (subject.others, subject.folded) == (Line("", 0, 140), 5)


def test_the_sentence_reads_the_bars():
    system = Field("system", (Line("amplified", 17, 780), Line("mirror", 7, 780)))
    subject = Field("subject", (Line("nurse", 8, 780),))
    said = sentence([subject, system], 24, 2339)
    assert said.startswith(
        "Most often the 24 nearest were made by amplified: 17 (71 %, 95 % interval 51 to 85); "
        "it made 33 % of the 2,339 images searched. Most often the 24 nearest come from prompts for nurse: 8 (33 %"
    )
    assert "which the interval holds: no difference can be told. What is most frequent was picked out, and" in said
    assert said.endswith("neighbours are no independent draws: the intervals are too narrow.")
    few = sentence([Field("system", (Line("mirror", 7, 780),))], 12, 2339)
    assert "12 images are few: read the intervals, not the percentages." in few
    assert sentence([], 24, 2339) == ""


@pytest.mark.parametrize(("k", "later"), [(12, True), (48, True), (10, False)])
def test_what_was_measured_of_a_graph_is_said(audit, monkeypatch, k, later):
    monkeypatch.setattr(near, "SIZES", (10, 12, 48))
    view = read({"regional": audit}, f"kind=colour&k={k}")
    found = near.near(audit, view)
    found = replace(found, found=replace(found.found, exact=False, recall=0.9991))
    html = _neighbours_html.found_html(audit, view, found, "")
    assert "99.9 % of the true ten nearest of a sample were found" in html
    assert ("for later ones it was not measured" in html) == later


def test_neighbours_of_the_same_prompt_and_seed_say_so(plain):
    table = plain.generations
    same = table.groupby(["prompt", "seed"], observed=True)["id"].transform("size").to_numpy() > 1
    row = int(np.flatnonzero(same)[0])
    others = (table["prompt"] == table["prompt"].iat[row]) & (table["seed"] == table["seed"].iat[row])
    found = near.near(plain, NearView("small", "colour", ids(plain, row)[0], 48)).found
    rows = np.flatnonzero(others)
    listed = replace(found, rows=rows[rows != row][:1], distance=np.array([0.5]))
    view = NearView("small", "colour", ids(plain, row)[0])
    assert "<span>same prompt and seed</span>" in _neighbours_html.figures_html(plain, view, listed)
    assert "same prompt" not in _neighbours_html.figures_html(plain, replace(view, picture=True), listed)
    unlike = replace(listed, rows=np.flatnonzero(~others)[:1])
    assert "same prompt" not in _neighbours_html.figures_html(plain, view, unlike)


def test_how_near_images_lie_is_counted(audit):
    vectors = np.asarray(audit.vectors.embedding("toy"), float)
    products = vectors @ vectors.T
    np.fill_diagonal(products, -2)
    found = near.typical(audit, "embedding-toy")
    assert len(found) == 200
    assert np.allclose(found, np.sort(np.maximum(1 - products.max(axis=1), 0)), atol=1e-3)


def test_how_near_images_lie_is_left_out_where_it_would_take_long(audit, monkeypatch):
    near.typical.cache_clear()
    monkeypatch.setattr(near, "TYPICAL_WORK", 19 * len(audit))
    assert near.typical(audit, "colour") == ()
    near.typical.cache_clear()


def test_hostile_names_are_escaped(audit, plain):
    first = ids(plain, int(plain.rows(system="Beta <b>")[0]))[0]
    html = ""
    for store, view in (
        (plain, NearView("small", "colour", first, 48, system="Beta <b>", trail=(first, first))),
        (audit, NearView("regional", "embedding-toy", ids(audit, 199)[0], 48)),
    ):
        html += _neighbours_html.heading_html(store, view) + _neighbours_html.query_html(store, view)
        html += _neighbours_html.board_html(store, view) + _neighbours_html.notes_html(store)
    assert "Beta &lt;b&gt;" in html
    assert HOSTILE[:30] not in html
    for wrong in ("<script", "Beta <b>", "${", "{{"):
        assert wrong not in html


def test_every_detail_leads_to_its_neighbours(client, audit):
    name = ids(audit, 5)[0]
    html = client.get(f"/detail/regional/{name}").text
    assert f"?tab=neighbours&amp;audit=regional&amp;kind=colour&amp;of={name}" in html
    assert f"kind=embedding-toy&amp;of={name}" in html


def not_ready(audit):
    why = "Made for <other> images. Run `python -m backend build regional`."
    return (Kind("colour", "Colours", True, "", ""), Kind("words", "Visual words", False, why, ""))


def test_what_is_not_ready_says_why_and_with_which_command(audit, monkeypatch):
    monkeypatch.setattr(_neighbours_links.neighbours, "kinds", not_ready)
    _neighbours_links.kinds_of.cache_clear()
    view = read({"regional": audit}, "kind=words")
    assert view.kind == "words"  # a link that was sent shows what it was about
    heading, board = _neighbours_html.heading_html(audit, view), _neighbours_html.board_html(audit, view)
    assert "disabled>Visual words</button>" in heading
    for html in (heading, board):
        assert "Made for &lt;other&gt; images. Run <code>python -m backend build regional</code>." in html
    assert "By Colours" in board
    assert "Run `python" in near.table({"regional": audit}, {"kind": ["words"]})["problem"].iat[0]
    assert "kind=words" not in _grid.detail(audit, 0)
    _neighbours_links.kinds_of.cache_clear()


def test_an_image_without_visual_words_says_so_and_offers_the_rest(cache, tmp_path):
    rows = [{"file_name": f"{number}.png", "system": "A", "profession": "nurse"} for number in range(9)]
    for number, row in enumerate(rows):
        data = encode(Image.new("RGB", (96, 96), "red")) if number == 8 else png(number, (96, 96))
        write(tmp_path / "source" / row["file_name"], data)
    write_csv(tmp_path / "source", rows)
    imported(tmp_path / "source", cache, name="even")
    build(cache, "even", workers=1)
    audit = Audit.open(cache, "even")
    even = int(np.flatnonzero(audit.generations["source"] == "8.png")[0])
    view = NearView("even", "words", ids(audit, even)[0])
    board = _neighbours_html.board_html(audit, view)
    assert "no visual words" in board
    assert "By Colours" in board
    assert "<figure" not in board
    assert "<figure" in _neighbours_html.board_html(audit, replace(view, of=ids(audit, (even + 1) % 9)[0]))
    said = _neighbours_picture.picture({"even": audit}, {"kind": ["words"]}, encode(Image.new("RGB", (96, 96), "blue")))
    assert "no visual words" in said


def test_the_csv_has_the_neighbours_with_their_distance(client, audit):
    of = ids(audit, 4)[0]
    text = client.get(f"/csv/neighbours?audit=regional&kind=colour&of={of}&k=12").text.removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["rank"] for row in rows] == [str(rank) for rank in range(1, 13)]
    assert {row["query"] for row in rows} == {of}
    assert of not in {row["id"] for row in rows}
    distance = [float(row["distance"]) for row in rows]
    assert distance == sorted(distance)
    assert "choose it again" in client.get("/csv/neighbours?audit=regional&picture=1").text


def post(client, body, query="audit=regional&kind=colour"):
    return client.post(f"/query/neighbours/picture?{query}", content=body, headers=OURS)


def test_an_image_of_the_audit_that_is_uploaded_finds_itself(client, audit):
    answer = post(client, audit.image(6)[0])
    assert (answer.status_code, answer.headers["x-likeness"]) == (200, "picture")
    assert answer.text.count("<figure") == 24
    first = answer.text.index("<figure")
    assert f"image/regional/{ids(audit, 6)[0]}/thumbnail" in answer.text[first : first + 600]
    assert "Your picture: PNG, 24 x 16 pixels." in answer.text
    assert '<p class="lk-state" role="status">Nearest images are always found' in answer.text
    assert "The nearest is 0.000 away. Of 200 images of the audit itself, the nearest other is" in answer.text
    assert "Most often" not in answer.text  # the prompts of others say nothing about it
    assert "of the 24 nearest" not in answer.text.split("<details")[0]
    assert "of all 200 images searched" in answer.text.split("<details")[1]
    file = answer.text.split("data:text/csv;base64,")[1].split('"')[0]
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(file).decode("utf-8-sig"))))
    assert (rows[0]["query"], rows[0]["id"]) == ("uploaded picture", ids(audit, 6)[0])


def test_filters_hold_for_a_picture_too(client):
    text = post(client, png(3), "audit=regional&kind=colour&subject=nurse&system=Alpha&k=48").text
    assert text.count("<figure") == 20
    assert "20 nearest images, of 48 asked for" in text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty"),
        (b"%PDF-1.7 x", "PDF"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'></svg>", "SVG"),
        (png(1)[:200], "damaged"),
        (b"<script>alert(1)</script>", "no picture"),
    ],
)
def test_what_is_no_picture_is_refused_in_a_sentence(client, body, words):
    answer = post(client, body)
    assert (answer.status_code, answer.headers["x-likeness"]) == (422, "problem")
    assert words in answer.text
    assert answer.text.endswith(".")
    assert "--max" not in answer.text


def test_fifty_megapixels_are_refused(client):
    answer = post(client, encode(Image.new("1", (10_000, 5_000))))
    assert answer.status_code == 422
    assert "50,000,000 pixels" in answer.text


def test_a_moving_picture_says_that_its_first_frame_counts(client):
    moving = io.BytesIO()
    noise(1).save(moving, "GIF", save_all=True, append_images=[noise(2)])
    assert "it moves: its first frame is compared" in post(client, moving.getvalue()).text


def test_a_picture_for_a_kind_that_is_not_ready(stores, monkeypatch):
    monkeypatch.setattr(_neighbours_links.neighbours, "kinds", not_ready)
    _neighbours_links.kinds_of.cache_clear()
    said = _neighbours_picture.picture(stores, {"kind": ["words"]}, png(1))
    assert said == "Made for <other> images. Run python -m backend build regional."
    _neighbours_links.kinds_of.cache_clear()


def test_the_tab_offers_its_query():
    assert list(neighbours.QUERY) == ["picture"]
