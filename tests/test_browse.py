"""The Bias explorer's view as data: selection, order, addresses, and its HTML."""

from __future__ import annotations

from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from audits import make_audit

from explorers import _browse, _grid
from explorers._browse import BrowseView
from explorers._grid import ANY, Choice
from explorers._shared import csv_chunks


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_audit(tmp_path_factory.mktemp("cache"))


def parsed(query: str) -> dict[str, list[str]]:
    return parse_qs(query, keep_blank_values=True)


def test_the_first_view_is_the_subject_that_most_systems_share(audit):
    view = _browse.default_view(audit)
    assert [choice.system for choice in view.columns] == ["Alpha", "Beta <b>"]
    assert {choice.subject for choice in view.columns} == {"baker"}
    assert {choice.adjective for choice in view.columns} == {""}


def test_an_address_restores_its_view(audit):
    view = BrowseView(
        "small",
        (Choice("Beta <b>", "nurse", "calm"), Choice("Alpha", "", ANY), Choice("Alpha", "pilot", "")),
        sort="colourful",
        size=48,
        page=2,
        labels=("label_mood:happy", "label_mood:"),
    )
    assert _browse.from_params({"small": audit}, parsed(_browse.to_address(view))) == view


@pytest.mark.parametrize(
    "query",
    [
        "",
        "audit=../../etc&s=<script>&p=${x}&a={{x}}",
        "s=Alpha&n=-1&size=1000000&sort=drop",
        "s=Alpha&n=99999999999999999999&label=id:x&label=:&label=label_mood:angry",
        "n=\u0663&size=\u0662\u0664",
        "&".join(["s=Alpha&p=nurse&a=calm"] * 50),
    ],
)
def test_a_hostile_address_opens_a_view(audit, query):
    view = _browse.from_params({"small": audit}, parsed(query))
    assert view.audit == "small"
    assert 1 <= len(view.columns) <= _browse.MOST_COLUMNS
    assert view.size in _browse.SIZES
    assert view.labels == ()
    assert all(_browse.column_html(audit, view, choice) for choice in view.columns)


def test_rows_of_a_choice(audit):
    table = audit.generations
    rows = _grid.rows_of(audit, Choice("Alpha", "nurse", "calm"))
    expected = np.flatnonzero(
        (table["system"].astype(str) == "Alpha")
        & (table["subject"].astype(str) == "nurse")
        & (table["adjective"].astype(str) == "calm")
    )
    assert rows.tolist() == expected.tolist()
    assert len(rows) == 10
    assert len(_grid.rows_of(audit, Choice("Alpha"))) == 90
    assert len(_grid.rows_of(audit, Choice("nobody"))) == 0


def test_labels_of_one_column_widen(audit):
    nurse = Choice("Alpha", "nurse")
    assert len(_grid.rows_of(audit, nurse, ["label_mood:happy"])) == 10
    assert len(_grid.rows_of(audit, nurse, ["label_mood:happy", "label_mood:sad"])) == 20
    assert len(_grid.rows_of(audit, nurse, ["label_mood:"])) == 10
    assert len(_grid.rows_of(audit, nurse, ["id:anything"])) == 30


def test_orders(audit):
    rows = _grid.rows_of(audit, Choice("Alpha", "nurse"))
    numbers = audit.generations["number"].to_numpy()
    assert numbers[_grid.arranged(audit, rows, "number")].tolist() == list(range(1, 31))
    assert numbers[_grid.arranged(audit, rows, "seed")].tolist() == [*range(29, 0, -1), 30]
    colours = audit.measure("colourfulness")
    down = colours[_grid.arranged(audit, rows, "colourful")]
    assert (np.diff(down) <= 0).all()
    assert sorted(down) == colours[_grid.arranged(audit, rows, "grey")].tolist()


def test_a_page_counts_what_it_shows(audit):
    view = BrowseView("small", (Choice("Alpha", "nurse"),), size=24, page=2)
    html = _browse.column_html(audit, view, view.columns[0])
    assert "30 of 90 images" in html
    assert "25 to 30 shown" in html
    assert "2 different prompts, the first: \u201c&lt;script&gt;" in html
    assert html.count("<figure") == 6
    assert _browse.pages(audit, view) == 2


def test_alt_text_is_prompt_system_and_number(audit):
    view = BrowseView("small", (Choice("Beta <b>", "nurse"),))
    html = _browse.column_html(audit, view, view.columns[0])
    assert 'alt="Photo of a nurse - Beta &lt;b&gt;, number 2"' in html
    assert 'loading="lazy"' in html
    assert "<script" not in html
    assert "${" not in html
    assert "{{" not in html


def test_an_empty_column_offers_what_exists(audit):
    view = BrowseView("small", (Choice("Beta <b>", "pilot"), Choice("Alpha", "pilot")))
    html = _browse.column_html(audit, view, view.columns[0])
    assert "0 of 60 images" in html
    assert "No image from Beta &lt;b&gt; for pilot" in html
    assert "nurse (30)" in html
    assert "baker (30)" in html
    assert "<figure" not in html


def test_an_empty_column_offers_to_drop_the_filter(audit):
    view = BrowseView("small", (Choice("Alpha", "nurse", "calm"),), labels=("label_mood:sad",))
    html = _browse.column_html(audit, view, view.columns[0])
    assert "without the label filter (10)" in html
    assert "with any adjective (10)" in html


def test_labels_are_counted_with_n_and_interval(audit):
    html = _grid.summary(audit, _grid.rows_of(audit, Choice("Alpha", "nurse")))
    # 10 happy, 10 sad, 10 without. Wilson 95 % of 10 in 20 is 0.299 to 0.701.
    assert "of 20, 10 more without one" in html
    assert "happy</th><td>10</td><td>50 %</td><td>30 to 70 %</td>" in html


def test_a_filter_does_not_change_what_labels_are_counted_over(audit):
    plain = BrowseView("small", (Choice("Alpha", "nurse"),))
    filtered = BrowseView("small", plain.columns, labels=("label_mood:happy",))
    html = _browse.column_html(audit, filtered, filtered.columns[0])
    assert _grid.summary(audit, _grid.rows_of(audit, plain.columns[0])) in html
    assert "30 of 90 images</b> of this system; the filter leaves 10" in html
    assert html.count("<figure") == 10


def test_a_filter_and_an_order_are_said(audit):
    columns = (Choice("Alpha", "nurse"),)
    assert _browse.state_html(audit, BrowseView("small", columns)) == ""
    html = _browse.state_html(
        audit, BrowseView("small", columns, sort="grey", labels=("label_mood:", "label_mood:sad"))
    )
    assert "Only images with mood label \u201c(none)\u201d or \u201csad\u201d." in html
    assert "least colourful first" in html
    assert "Clear filter and order" in html
    assert "&lt;x&gt;" in _browse.state_html(audit, BrowseView("small", columns), "<x>")


def test_the_heading_names_the_labour_force():
    html = _browse.heading_html(BrowseView("small", (Choice("Alpha", "nurse"), Choice("B", "accountant"))))
    assert "Whom does each system picture as a nurse or an accountant?" in html
    assert "62 % of the 1,630,000 people employed as \u201cAccountants and auditors\u201d" in html
    assert _browse.labour_html(["astronaut", "identity prompt: woman"]) == ""


def test_same_profession_in_every_system(audit):
    view, said = _browse.shared(
        audit, BrowseView("small", (Choice("Alpha", "nurse", "calm"), Choice("Alpha", "pilot")))
    )
    assert view.columns == (Choice("Alpha", "nurse", "calm"), Choice("Beta <b>", "nurse", "calm"))
    assert said == ""
    pilot = BrowseView("small", (Choice("Alpha", "pilot"), Choice("Alpha", "nurse")))
    assert _browse.shared(audit, pilot) == (pilot, "Only Alpha has images for pilot.")


def test_another_column_is_one_not_shown_yet(audit):
    view = BrowseView("small", (Choice("Alpha", "nurse"), Choice("Alpha", "baker"), Choice("Alpha", "pilot")))
    new = _browse.another(audit, view)
    assert (new.system, new.subject) == ("Beta <b>", "baker")


@pytest.mark.parametrize(
    ("name", "article"),
    [("nurse", "a"), ("artist", "an"), ("underwriter", "an"), ("university professor", "a"), ("IT specialist", "an")],
)
def test_articles(name, article):
    assert _browse._article(name) == article


def test_csv_comes_in_pieces_without_formulas():
    frame = pd.DataFrame({"=x": ["=1", "\n=2", "a"], "n": [-1, 2, 3]})
    text = "".join(csv_chunks(frame, rows=2))
    assert text == "\ufeff'=x,n\n'=1,-1\n\"'\n=2\",2\na,3\n"


@pytest.mark.parametrize("cell", [" =1", "\u00a0+1", "\uff1d1+1", "\uff0b1", "\uff0d1", " \uff20SUM(1)", "  -1"])
def test_full_width_signs_and_signs_after_spaces_are_formulas(cell):
    assert "".join(csv_chunks(pd.DataFrame({cell: [cell]}))) == f"\ufeff'{cell}\n'{cell}\n"
