"""Neutrality as data and words: counts against the metrics, published figures, addresses, hostile text."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from urllib.parse import parse_qs

import numpy as np
import pytest
from fastapi import FastAPI
from probe_audits import make_probed
from starlette.testclient import TestClient

import app
from backend.metrics.neutrality import measures, pairwise, tally
from backend.probe_plan import wording
from backend.probes.prompts import OPTIONS, read_options, read_styles
from backend.probes.vision import UNKNOWN as WORDS_UNKNOWN
from explorers import _neutrality as data
from explorers import _neutrality_answers as answers
from explorers import _neutrality_cautions as cautions
from explorers import _neutrality_charts as charts
from explorers import _neutrality_models as beside
from explorers import _neutrality_names as casting
from explorers import _neutrality_published as published
from explorers import _neutrality_view as state
from explorers import _neutrality_words as words
from explorers import neutrality
from explorers._neutrality_html import heat_html, notes_html
from explorers._neutrality_measures import MEASURES, _weights, cells_of, pairs_of, resampled
from explorers._neutrality_missed import missed
from explorers._neutrality_view import Asked
from explorers._shared import escape as html_of
from explorers._shared import labour_force

LM = Asked("made-lm", "text-to-text", "informed-direct", "gender", "")


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_probed(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def stores(audit):
    return {audit.name: audit}


@pytest.fixture(scope="module")
def client(stores):
    server = FastAPI()
    app.add_routes(server, stores)
    with TestClient(server) as client:
        yield client


def view_of(stores, query=""):
    return state.from_params(stores, parse_qs(query, keep_blank_values=True))


def stored(audit, asked):
    table = audit.probes.table(asked.model)
    for name in ("direction", "style", "attribute", "culture"):
        table = table[table[name] == getattr(asked, name)]
    return table


def random_tables(columns, seed=0):
    rng = np.random.default_rng(seed)
    sizes = [0, 1, 2, 19, 20, 20, 31, 64]
    return [rng.multinomial(9, rng.dirichlet(np.ones(columns)), size=size).reshape(size, columns) for size in sizes]


@pytest.mark.parametrize(("measure", "columns"), [(m, c) for m in MEASURES for c in (4, 5, 6) if m != "ag" or c == 4])
def test_many_cells_at_once_are_what_one_is(measure, columns):
    tables = random_tables(columns)
    for table, cell in zip(tables, cells_of(tables, measure, fewest=2), strict=True):
        one = measures(table)[measure] if len(table) else None
        assert cell.few == ("not asked" if not len(table) else "too few inputs" if len(table) < 2 else "")
        if not cell.few:
            assert (cell.value, cell.low, cell.high) == pytest.approx((one.value, one.low, one.high), nan_ok=True)


def test_long_tables_are_drawn_by_distinct_rows_with_like_intervals(monkeypatch):
    table = random_tables(4)[-1].repeat(8, axis=0)
    exact = cells_of([table], "delta_neutrality")[0]
    monkeypatch.setattr("backend.metrics.bootstrap.SHARED_UP_TO", 100)
    other, whole = cells_of([table], "delta_neutrality")[0], measures(table)["delta_neutrality"]
    assert (other.value, other.low, other.high) == pytest.approx((whole.value, whole.low, whole.high))
    assert resampled(table[None]).sum(axis=2).tolist() == [[9 * len(table)] * 1000]
    assert (other.low, other.high) == pytest.approx((exact.low, exact.high), abs=0.003)
    assert not _weights(64).flags.writeable


def test_inputs_that_all_agree_have_no_interval_in_words():
    cell = cells_of([np.tile([2, 0, 1, 0], (30, 1))], "ag")[0]
    assert (cell.low, cell.high) == (-1, -1)
    assert words.cell_words(cell, "ag").startswith("AG −1.00 (no interval, as all inputs agree), n = 30 inputs")


def test_too_few_inputs_or_choices_have_no_interval():
    few, choices = np.tile([1, 0, 0, 0], (19, 1)), np.tile([0, 0, 1, 0], (40, 1))
    found = cells_of([few, choices, np.vstack([choices, few])], "ag")
    assert [cell.few for cell in found] == ["too few inputs", "none chosen", "too few choices"]
    assert all(np.isnan(cell.low) for cell in found)
    assert cells_of([choices], "delta_neutrality")[0].few == ""


@pytest.mark.parametrize("asked", [LM, LM._replace(attribute="age"), LM._replace(style="blind-indirect", culture="US")])
def test_totals_are_those_of_the_measure_on_the_same_rows(audit, asked):
    table = stored(audit, asked)
    classes = audit.probes.sources["made-lm"].classes[asked.attribute]
    _, counted = tally(table["input"].tolist(), table["answer"].tolist(), classes)
    expected = measures(counted)
    for name in MEASURES:
        if name in expected:
            cell, one = data.total(audit, asked, name), expected[name]
            assert (cell.value, cell.low, cell.high) == pytest.approx((one.value, one.low, one.high))
            assert (cell.inputs, cell.answers) == (len(counted), counted.sum())


def test_cells_by_profession_are_those_of_a_plain_count(audit):
    table, professions = stored(audit, LM), data.professions_of(audit, (LM,))
    cells = data.cells(audit, LM, "ag", "profession", professions)
    for name, own in table.groupby(table["profession"].astype(str)):
        male, female = (int((own["answer"] == answer).sum()) for answer in ("male", "female"))
        assert cells[f"p:{name}"].counts[:2] == (male, female)
        assert cells[f"p:{name}"].value == pytest.approx((female - male) / (female + male), nan_ok=True)
        assert cells[f"p:{name}"].few == "too few inputs"  # each has one or two


def test_groups_and_fifths_hold_every_profession_once(audit):
    professions = tuple(labour_force().index)
    assert set(data.groups()) == set(professions)
    assert len(set(data.groups().values())) == 21
    for kind in ("group", "band"):
        held = [name for row in data.grouped(kind, professions) for name in row.professions]
        assert sorted(held) == sorted(professions)
    bands = data.grouped("band", professions)
    assert [len(row.professions) for row in bands] == [30] * 5
    assert [row.women for row in bands] == sorted(row.women for row in bands)
    assert data.grouped("group", ("nobody",))[0].label == data.OTHER
    single = data.grouped("profession", (*professions, "nobody"))
    assert [row.women for row in single[:-1]] == (labour_force()["pct_women"] / 100).tolist()
    assert np.isnan(single[-1].women)


def test_the_labour_force_is_on_the_scale_of_ag(stores, audit):
    shown = data.heat(audit, view_of(stores, "rows=profession"))
    row = next(row for row in shown.rows if row.label == "accountant")
    assert shown.labour(row) == pytest.approx(2 * 0.62 - 1)
    assert data.heat(audit, view_of(stores, "measure=delta_neutrality")).sign == 0
    assert data.heat(audit, view_of(stores, "attribute=race")).sign == 0


def test_wordings_and_orders(audit):
    found = data.turns(audit, LM, "delta_neutrality")
    table = stored(audit, LM)
    for name, numbers in (("paraphrase", [0, 1, 2]), ("rotation", [0, 1])):
        assert [number for number, _ in found[name]] == numbers
        for number, cell in found[name]:
            own = table[table[name] == number]
            _, counted = tally(own["input"].tolist(), own["answer"].tolist(), ("male", "female"))
            assert cell.value == pytest.approx(measures(counted)["delta_neutrality"].value)


def test_orders(stores, audit):
    def labels(order, **more):
        query = f"rows=profession&order={order}" + "".join(f"&{name}={value}" for name, value in more.items())
        return [row.label for row in data.heat(audit, view_of(stores, query)).rows[1:]]

    assert labels("name") == sorted(labels("name"), key=str.casefold)
    women = labour_force()["pct_women"].reindex(labels("labour")).dropna().tolist()
    assert women == sorted(women, reverse=True)
    assert sorted(labels("alike")) == sorted(labels("name"))
    nested = labels("group")
    assert set(nested[nested.index("Community and social service") + 1 :][:2]) == {"clergy", "career counselor"}
    assert labels("name", q="ENGINEER") == ["aerospace engineer", "civil engineer"]


def test_rows_that_have_enough_inputs_are_the_default(audit, monkeypatch):
    assert data.usual_rows(audit, (LM,)) == "profession"  # 16 inputs a fifth are too few as well
    monkeypatch.setattr(data, "FEWEST", 10)
    assert data.usual_rows(audit, (LM,)) == "band"
    monkeypatch.setattr(data, "FEWEST", 2)
    assert data.usual_rows(audit, (LM,)) == "profession"


def test_an_address_restores_its_view(stores):
    query = (
        "audit=probed&direction=text-to-text&style=informed-indirect&attribute=gender&culture=India&measure=delta_ag"
        "&m=made-lm&published=0&rows=group&order=alike&q=a&full=1&row=g%3ALegal&column=c&answer=male&n=3"
    )
    view = view_of(stores, query)
    assert view_of(stores, state.to_address(view)) == view
    assert parse_qs(query) == {k: v for k, v in parse_qs(state.to_address(view)).items() if k != "tab"}


@pytest.mark.parametrize(
    "query",
    [
        "audit=x&direction=y&style=z&attribute=<script>&culture=Mars&measure=ag%00&m=nobody&rows=-&order=drop&n=-1",
        "style=compare&culture=compare&n=999999&row=p%3Anobody&column=/../..&answer=<b>",
        "direction=image-to-image&style=blind-indirect&attribute=age&measure=ag&n=1e9",
        "direction=text-to-text&style=blind-direct&q=" + "x" * 5000,
    ],
)
def test_a_hostile_address_opens_a_view(stores, audit, query):
    view = view_of(stores, query)
    parts = neutrality._updates(audit, view)
    text = "".join(part for part in parts if isinstance(part, str))
    assert "When nothing tells" in text
    assert "<script" not in text.lower()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", ""),
        ("attribute=race&measure=ag&row=b%3Afourth&column=made-lm%2Fblind-direct%2F", ""),
        ("style=informed-indirect&culture=compare&m=made-lm&answer=unparsed&rows=band&order=alike", ""),
        ("m=made-lm&m=gpt-9", "no model “gpt-9”"),
        (
            "attribute=size&direction=up&style=sly&culture=Mars",
            "no direction “up”, no style “sly”, no attribute “size” ",
        ),
        ("row=p%3Anobody&column=x&answer=<b>", "no row “p:nobody”, no column “x”, no answer “<b>”"),
        ("audit=lost&measure=m&rows=r&order=o", "no audit “lost”, no measure “m”, no kind of rows “r” and 1 more"),
    ],
)
def test_what_an_address_names_in_vain_is_said(stores, query, said):
    params = parse_qs(query)
    found = missed(stores, params)
    assert (f"({said}" in found) if said else found == ""
    assert missed(stores, parse_qs(state.to_address(view_of(stores, query)))) == "" or "row=" in query


def test_what_was_missed_stands_above_the_first_words(stores, audit):
    said = missed(stores, {"attribute": ["<b>size"]})
    shown = neutrality._updates(audit, view_of(stores), said)
    assert shown[13].startswith('<p class="lk-near-missed" role="status">The address names what is not here (no attrib')
    assert "“&lt;b&gt;size”): shown is gender, text to text, informed-direct, of the audit probed.</p>" in shown[13]
    assert "lk-near-missed" not in neutrality._updates(audit, view_of(stores))[13]


def test_ag_becomes_delta_ag_where_there_are_more_classes(stores, audit):
    assert state.measure_of(audit, view_of(stores, "attribute=gender")) == "ag"
    assert state.measure_of(audit, view_of(stores, "attribute=race&measure=ag")) == "delta_ag"
    assert state.measure_of(audit, view_of(stores, "attribute=race")) == "delta_neutrality"


def test_what_nobody_chose_is_not_pinned(stores):
    kept = parse_qs("tab=neutrality&audit=probed&attribute=gender")
    asked = {"attribute": ["race"], "measure": ["ag"], "rows": ["profession"]}
    assert neutrality._unpinned(stores, dict(asked), kept) == {"attribute": ["race"], "measure": [""], "rows": [""]}
    chosen = kept | {"measure": ["ag"], "rows": ["group"]}
    assert neutrality._unpinned(stores, dict(asked), chosen) == asked


def test_columns_of_styles_and_cultures(stores, audit):
    one = state.series_of(audit, view_of(stores))
    assert [asked.model for asked in one] == ["made-lm", "made-api"]
    several = state.series_of(audit, view_of(stores, "style=compare&culture=compare&m=made-lm"))
    assert [asked.culture for asked in several] == ["", "", *["US", "India", "Korea"] * 2]
    assert {asked.style for asked in several[2:5]} == {"informed-indirect"}
    chosen = state.series_of(audit, view_of(stores, "style=compare&culture=India&m=made-lm"))
    assert [asked.culture for asked in chosen] == ["", "", "India", "India"]


def test_choices_without_answers_are_marked_and_addresses_restore_them(stores, audit, monkeypatch):
    own = (LM, LM._replace(attribute="tone"), LM._replace(style="blind-direct"))
    own += (LM._replace(model="made-vlm", direction="image-to-text"),)
    monkeypatch.setattr(state, "asked_of", lambda _: own)
    monkeypatch.setitem(audit.probes.sources["made-lm"].classes, "tone", ("male", "female"))
    state.without.cache_clear()

    def labels(query):
        view = view_of(stores, query)
        made = neutrality._choices(audit, view)
        assert [box.value for box in made[1:4]] == [view.direction, view.style, view.attribute]
        return [{value: said for said, value in box.choices} for box in made[1:4]]

    directions, styles, attributes = labels("attribute=tone")
    assert directions["text-to-text"] == "Text to text" and directions["image-to-text"] == "Image to text"
    assert directions["text-to-image"] == "Text to image (published only)"  # tone is not asked there: gender is shown
    assert styles["informed-direct"].endswith("(informed-direct)")
    assert styles["blind-direct"].endswith("(blind-direct) (no answers)")
    assert attributes == {"gender": "gender", "tone": "tone"} | {n: f"{n} (published only)" for n in ("race", "age")}
    assert labels("m=made-lm")[0]["image-to-text"] == "Image to text (other models)"
    assert view_of(stores, "style=blind-direct&attribute=tone").style == "blind-direct"
    state.without.cache_clear()


@pytest.mark.parametrize("direction", state.DIRECTIONS)
def test_what_the_paper_has_is_known_without_making_it(direction):
    for style in state.STYLES:
        for attribute in (*published.ATTRIBUTES, "tone"):
            made = [published.figures(direction, style, attribute, measure) for measure in MEASURES]
            assert published.known(direction, style, attribute) == any(made)


def test_models_with_other_classes_are_left_out_and_named(stores, audit, monkeypatch):
    view = view_of(stores)
    monkeypatch.setitem(audit.probes.sources["made-api"].classes, "gender", ("a", "b"))
    assert [asked.model for asked in state.series_of(audit, view)] == ["made-lm"]
    assert [asked.model for asked in state.left_out(audit, view)] == ["made-api"]


def test_published_figures_are_those_of_the_tables():
    table2 = published.figures("image-to-text", "informed-direct", "race", "delta_neutrality")
    assert {one.model: one.value for one in table2}["GPT4V"] == 0.925
    assert all(np.isnan(one.low) for one in table2)
    table4 = {one.model: one for one in published.figures("text-to-image", "informed-direct", "age", "delta_ag")}
    assert table4["SDXL"].value == pytest.approx(0.712, abs=5e-4)
    assert table4["SDXL"].low < 0.712 < table4["SDXL"].high
    assert table4["SDXL"].counts == (13, 597, 329, 9, 0, 68)
    table9 = {one.model: one for one in published.figures("image-to-text", "blind-direct", "age", "neutral_accuracy")}
    assert table9["LLaVA"].value == 0.302
    assert table9["LLaVA"].low == pytest.approx(0.2748, abs=1e-3)
    assert published.figures("text-to-text", "blind-direct", "gender", "ag") == ()
    assert published.figures("image-to-image", "informed-direct", "race", "ag") == ()
    assert published.figures("text-to-image", "informed-direct", "gender", "delta_neutrality") == ()
    assert published.pairwise("blind-direct", "race").loc["Asian -- Caucasian", "CoDi"] == -0.887
    assert published.pairwise("blind-indirect", "race").empty


def test_published_figures_of_other_classes_are_not_set_beside(stores, audit, monkeypatch):
    monkeypatch.setitem(audit.probes.sources["made-lm"].classes, "gender", ("female", "male"))
    view = view_of(stores, "m=made-lm")
    assert charts.published_of(audit, view) == []
    assert "asked about other classes" in beside.models_html(audit, view, data.heat(audit, view))


def test_notes_and_limits_of_models_are_told(stores, audit, monkeypatch):
    view = view_of(stores, "direction=image-to-text")
    shown = data.heat(audit, view)
    assert "at most 40 inputs were allowed" in notes_html(audit, shown)
    assert "it has no neutral ones" in cautions.cautions_html(audit, view, shown.columns)
    assert "are left out" not in notes_html(audit, shown)
    monkeypatch.setattr(audit.probes, "current", lambda name: False)
    assert "are left out: the audit" in notes_html(audit, shown)


def test_published_marks_are_hollow_and_apart(stores, audit):
    view = view_of(stores)
    figure = charts.models_figure(audit, view, data.heat(audit, view))
    hollow = [trace for trace in figure.data if "open" in str(trace.marker.symbol) and "published" in str(trace.name)]
    assert [len(trace.x) for trace in hollow] == [5]
    assert hollow[0].error_x.array == (None,) * 5
    assert "<b>Published</b>" in figure.layout.yaxis.ticktext
    without = view_of(stores, "published=0")
    labels = charts.models_figure(audit, without, data.heat(audit, without)).layout.yaxis.ticktext
    assert "<b>Published</b>" not in labels


def test_pairs_by_hand(audit):
    asked = LM._replace(attribute="race")
    table = data.answers_of(audit, asked).table()
    value, low, high = pairs_of(table)
    assert value == pytest.approx(pairwise(table.sum(axis=0)[:3]))
    assert (low < value).all()
    assert (value < high).all()


def test_the_sentence_has_n_and_an_interval(stores, audit):
    view = view_of(stores)
    said = words.sentence_html(audit, view, data.heat(audit, view))
    cell = data.total(audit, LM, "ag")
    assert f"Of {cell.chosen:,} answers that chose" in said
    assert f"95 % interval {words.span(cell.low, cell.high, 'ag')}" in said
    assert "n = 81 inputs" in said


def test_a_row_that_stands_out_is_held_against_the_labour_force(stores, audit, monkeypatch):
    monkeypatch.setattr("explorers._neutrality_measures._few", lambda *rest: "")
    data.cells.cache_clear()
    view = view_of(stores, "rows=profession&m=made-lm")
    shown = data.heat(audit, view)
    row, asked = data.standout(shown)
    cells = {r.label: (shown.cells[r.key, asked.column], shown.labour(r)) for r in shown.rows[1:]}
    apart = {name: abs(cell.value - labour) for name, (cell, labour) in cells.items() if labour == labour}
    assert row.label == max(apart, key=apart.get)
    assert f"Furthest from the labour force, by profession: {row.label}" in words.sentence_html(audit, view, shown)
    data.cells.cache_clear()


def test_the_answers_behind_a_cell(stores, audit):
    view = view_of(stores, "row=p%3Aaccountant&column=made-lm%2Finformed-direct%2F&rows=profession")
    shown = data.heat(audit, view)
    row, asked = data.open_cell(shown, view)
    found = answers.behind(audit, asked, row.professions)
    assert found["profession"].unique().tolist() == ["accountant"]
    assert len(found) == 12
    assert f"?{html_of(state.to_address(replace(view, order='value')))}" in heat_html(audit, view, shown)
    html = answers.panel_html(audit, view, shown)
    assert html.count("<tr>") == 2 + 12
    assert "A person is adding up columns of receipts" in html
    male = answers.behind(audit, asked, row.professions, "male")
    assert set(male["answer"]) <= {"male"}
    assert "lk-shares" in html


CAST = Asked("made-lm", "text-to-text", "informed-indirect", "gender", "India")


def with_wording(audit, monkeypatch, asked, change=""):
    """The audit's source with the hash of what the shipped files offer in a casting question."""
    styles = {style.name: style for style in read_styles()}
    one = next(o for o in read_options() if (o.attribute, o.probe, o.culture) == ("gender", "indirect", asked.culture))
    name = f"{asked.direction}/{asked.style}/{asked.attribute}/{asked.culture}"
    digest = wording(styles[f"{asked.direction}/{asked.style}"], one, letters=True)
    source = replace(audit.probes.sources[asked.model], wordings={name: digest + change})
    monkeypatch.setitem(audit.probes.sources, asked.model, source)


def test_casting_questions_say_which_name_stood_for_which_class(stores, audit, monkeypatch):
    query = "style=informed-indirect&culture=India&m=made-lm&row=all&column=made-lm%2Finformed-indirect%2FIndia"
    with_wording(audit, monkeypatch, CAST)
    listed = tomllib.loads(OPTIONS.read_text(encoding="utf-8"))["options"]
    held = next(one["classes"] for one in listed if one.get("culture") == "India")
    assert casting.offered(audit, CAST) == {n: row[0] for n, row in held.items()} | {"no preference": "no preference"}
    view = view_of(stores, query)
    html = answers.panel_html(audit, view, data.heat(audit, view))
    assert "Offered for the classes: male: “Abhishek Bachchan”, female: “Aishwarya Rai”." in html
    assert 'male<small class="lk-stood">“Abhishek Bachchan”</small>' in html
    assert "no preference<small" not in html
    raw = neutrality.table(stores, parse_qs(query + "&of=answers"))
    assert set(zip(raw["answer"], raw["answer_as_offered"], strict=True)) == {
        ("male", "Abhishek Bachchan"),
        ("female", "Aishwarya Rai"),
        ("no preference", "no preference"),
        ("unparsed", ""),
    }
    how = casting.how_html(audit, view_of(stores))  # of the direct question, too
    assert "Casting questions about gender offered India (male: “Abhishek Bachchan”, female: “Aishwarya Rai”)." in how
    assert casting.how_html(audit, view_of(stores, "direction=text-to-image")) == ""


def test_names_are_told_only_where_the_audit_has_the_hash_of_the_files(stores, audit, monkeypatch):
    view = view_of(stores, "style=informed-indirect&culture=India&m=made-lm")
    for change in (None, "0"):
        if change:
            with_wording(audit, monkeypatch, CAST, change)
        html = answers.panel_html(audit, view, data.heat(audit, view))
        assert "What was offered for each class is not known here" in html
        assert "Bachchan" not in html + casting.how_html(audit, view)
    with_wording(audit, monkeypatch, CAST)
    monkeypatch.setitem(audit.probes.sources["made-lm"].classes, "gender", ("female", "male"))
    assert casting.offered(audit, CAST) == {}
    assert "Offered" not in answers.panel_html(audit, view_of(stores), data.heat(audit, view_of(stores)))


def test_answers_to_words_that_a_model_does_not_know_are_marked(stores, audit, monkeypatch):
    view = view_of(stores, "m=made-lm")
    assert "does not know all words" not in answers.panel_html(audit, view, data.heat(audit, view))
    noted = replace(audit.probes.sources["made-lm"], note=f"Shown: nothing. {WORDS_UNKNOWN}")
    monkeypatch.setitem(audit.probes.sources, "made-lm", noted)
    assert f"{WORDS_UNKNOWN} Which ones is not stored" in answers.panel_html(audit, view, data.heat(audit, view))


def test_pages_of_answers(stores, audit):
    last = view_of(stores, "row=all&column=made-lm%2Finformed-direct%2F&n=900")
    html = answers.panel_html(audit, last, data.heat(audit, last))
    assert "481 to 486 of 486 answers" in html
    assert "Previous answers" in html
    assert "Next answers" not in html


def test_pictures_stand_beside_answers_about_them(stores, audit):
    view = view_of(stores, "direction=image-to-text&row=p%3ACEO&column=made-vlm%2Finformed-direct%2F&rows=profession")
    html = answers.panel_html(audit, view, data.heat(audit, view))
    assert html.count("<figure") == 2
    assert "detail/probed/" in html


def test_hostile_text_is_escaped(stores, audit):
    for query in ("", "style=compare&culture=compare", "row=all&column=made-api%2Finformed-direct%2F&answer=unparsed"):
        view = view_of(stores, query + "&full=1")
        html = "".join(part for part in neutrality._updates(audit, view) if isinstance(part, str))
        assert "&lt;script&gt;" in html
        for wrong in ("<script", "<b>bold", "${alert", "{{alert"):
            assert wrong not in html
        shown = data.heat(audit, view)
        for figure in (charts.models_figure(audit, view, shown), charts.heat_figure(audit, view, shown)):
            assert "<script" not in figure.to_json().replace("\\u003c", "<")


def test_tables_and_the_figure_for_its_png(client):
    cells = client.get("/csv/neutrality?rows=profession").text.strip().splitlines()
    assert len(cells) == 1 + 2 * 42  # 41 professions and all of them, in two models
    assert "low95" in cells[0]
    models = client.get("/csv/neutrality?of=models").text
    assert models.count("Table 8") == 5
    assert models.count("this audit") == 2
    raw = client.get("/csv/neutrality?of=answers&row=p%3Aaccountant&column=made-lm%2Finformed-direct%2F").text
    assert len(raw.strip().splitlines()) == 1 + 12
    assert "probability_no preference" in raw
    figure = json.loads(client.get("/data/neutrality/heatmap?rows=profession").content)
    assert np.array(figure["data"][0]["z"], dtype=object).shape == (42, 3)
    assert figure["layout"]["meta"]["question"].startswith("AG of gender")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("", "neutrality-text-to-text-informed-direct-gender-ag"),
        ("attribute=race&of=models", "neutrality-models-text-to-text-informed-direct-race-delta-neutrality"),
        (
            "of=answers&style=informed-indirect&culture=India",
            "neutrality-answers-text-to-text-informed-indirect-gender-india",
        ),
        ("of=%22%0Ax&style=compare&measure=unparsed", "neutrality-text-to-text-compare-gender-us-unparsed"),
    ],
)
def test_a_download_is_called_by_what_it_holds(client, stores, audit, query, name):
    sent = client.get(f"/csv/neutrality?audit=probed&{query}").headers["content-disposition"]
    assert sent == f'attachment; filename="likeness-{name}.csv"'
    html = "".join(part for part in neutrality._updates(audit, view_of(stores, query)) if isinstance(part, str))
    assert f'download="likeness-{name}.csv"' in html or "of=models" in query


def test_hostile_attributes_make_harmless_file_names(stores, audit):
    view = replace(view_of(stores), attribute='../Größe"\r\n<b>', culture="中文" * 100)
    assert state.file_name(audit, view, "answers") == "neutrality-answers-text-to-text-informed-direct-grosse-b"


def test_an_audit_without_probes_shows_what_to_run_and_the_published_figures(stores, audit, monkeypatch):
    monkeypatch.setattr(audit.probes, "sources", {})
    state.asked_of.cache_clear()
    view = view_of(stores)
    html = "".join(part for part in neutrality._updates(audit, view) if isinstance(part, str))
    assert ".venv/bin/python -m backend probe probed --model smollm2" in html
    assert "Table 8" in html
    assert data.heat(audit, view) is None
    models = neutrality.table(stores, {})["model"].tolist()
    assert models == ["LLaMA-Chat", "Mistral-Instruct", "GeminiPro", "GPT4", "CoDi"]
    assert neutrality.DATA["heatmap"](stores, {}) is None
    monkeypatch.undo()
    state.asked_of.cache_clear()


def test_numbers_are_short_and_true():
    assert words.number(-0.001, "ag") == "0.00"
    assert words.number(float("nan"), "ag") == "no value"
    assert words.span(float("nan"), float("nan"), "ag") == "no interval"
    assert words.shade(0, "ag") == ("rgb(247, 247, 247)", "#000000")
    assert words.shade(1.2, "delta_ag") == words.shade(1, "delta_ag")


def test_answers_that_do_not_depend_on_the_input_are_told(audit, monkeypatch):
    """Three columns: one follows the order, one always says the same, one depends on the input."""
    known = data.answers_of(audit, LM)
    frame = known.frame.copy()

    def told(answers):
        frame["answer"] = answers
        made = data.Answers(frame, audit.probes.sources["made-lm"].classes["gender"])
        monkeypatch.setattr(cautions.data, "answers_of", lambda *_: made)
        monkeypatch.setattr(cautions.words, "column_title", lambda *_: "<b>model</b>")
        cautions.same_of.cache_clear()
        return cautions.cautions_html(audit, None, (LM,))

    follows = told(["male" if turn else "female" for turn in frame["rotation"]])
    assert "100 % of answers were the one that most inputs got" in follows and "&lt;b&gt;model" in follows
    assert "486 of 486 answers are “no preference”" in told(["no preference"] * len(frame))
    assert "486 of 486 answers are “male”" in told(["male"] * len(frame))
    by_input = {name: "male" if at % 2 else "female" for at, name in enumerate(frame["input"].unique())}
    assert told([by_input[name] for name in frame["input"]]) == ""
    cautions.same_of.cache_clear()
