"""Published figures: golden values of the papers, and the tab's rows, figures, words and addresses."""

import asyncio
import itertools
import json
import re
from urllib.parse import parse_qs, unquote

import gradio as gr
import numpy as np
import pandas as pd
import pytest

from explorers import _published_markers as markers
from explorers import _published_neutrality as neutrality
from explorers import _published_neutrality_words as answers
from explorers import published

PUBLISHED = published.markers.ASSETS / "published"


def read(name):
    return pd.read_csv(PUBLISHED / f"{name}.csv")


# Golden values


@pytest.mark.parametrize("row", range(6))
def test_table_1_of_stable_bias_follows_from_table_18(row):
    printed = read("stable_bias_overall_markers").iloc[row]
    table = read("stable_bias_text_markers")
    own = table[(table.system == printed.system) & (table.text == printed.text)]
    assert len(own) == 150
    assert own.pct_woman.mean() == pytest.approx(printed.pct_woman, abs=0.01)
    assert own.pct_man.mean() == pytest.approx(printed.pct_man, abs=0.01)


def test_a_profession_without_a_marker_has_no_value_and_counting_it_as_0_would_miss_table_1():
    table = read("stable_bias_text_markers")
    gone = table[table.pct_woman.isna()]
    assert set(zip(gone.profession, gone.system, gone.text, strict=True)) == {
        ("baker", "DALL-E 2", "vqa"),
        ("cook", "DALL-E 2", "vqa"),
        ("head cook", "DALL-E 2", "vqa"),
        ("police officer", "Stable Diffusion 2", "vqa"),
    }
    assert gone.pct_man.isna().all()
    kept = table.dropna()
    assert np.allclose(kept.pct_woman + kept.pct_man, 100, atol=0.011)
    dalle = table[(table.system == "DALL-E 2") & (table.text == "vqa")].pct_woman
    assert dalle.mean() == pytest.approx(21.95, abs=0.01)
    assert dalle.fillna(0).mean() == pytest.approx(21.52, abs=0.01)


def mean_imbalance(counts):
    return np.mean([abs(a - b) / (a + b) if a + b else 0 for a, b in itertools.combinations(counts, 2)])


def test_ag_of_the_unified_framework_follows_from_its_counts():
    counts = read("unified_image_counts")
    for row in read("unified_image_ag").itertuples():
        own = counts[(counts.direction == row.direction) & (counts.model == row.model)]
        own = own[(own.attribute == row.attribute) & own["class"].notna()].set_index("class")["count"]
        if row.attribute == "gender":
            assert (own.Female - own.Male) / (own.Female + own.Male) == pytest.approx(row.ag, abs=0.0006)
        else:
            assert mean_imbalance(own) == pytest.approx(row.ag, abs=0.0006)


def test_delta_ag_is_the_mean_of_the_pairwise_values():
    pairs = read("unified_pairwise_ag").assign(size=lambda t: t.ag.abs())
    means = pairs.groupby(["probe", "model", "attribute"])["size"].mean()
    table = neutrality.pick("image-to-text").set_index(["probe", "model", "attribute"])
    assert len(means) == 20
    assert means.to_numpy() == pytest.approx(table.ag.loc[means.index].to_numpy(), abs=0.0011)


def test_gender_neutrality_follows_from_table_9_and_ag_in_19_of_20_cells():
    table = neutrality.cells()
    gender = table[(table.direction == "image-to-text") & (table.attribute == "gender")]
    misfit = gender[gender.low.isna()]
    assert len(gender) == 20
    assert misfit[["model", "probe"]].to_numpy().tolist() == [["GeminiProVision", "informed-indirect"]]
    counts = neutrality.gender_counts(misfit.iloc[0], 0.921)
    assert neutrality.pair_neutrality(np.array([counts]))[0] == pytest.approx(0.863, abs=0.001)
    fits = gender.drop(misfit.index)
    assert ((fits.low <= fits.delta_neutrality) & (fits.delta_neutrality <= fits.high)).all()
    assert ((fits.ag_low <= fits.ag) & (fits.ag <= fits.ag_high)).all()
    assert table[(table.direction == "text-to-text") | (table.attribute != "gender")].low.isna().all()


def test_the_pairwise_values_of_race_contradict_each_other():
    """Ratios of counts multiply: whatever the order within each pair, some signed sum of log ratios must be 0."""
    race = read("unified_pairwise_ag").query("attribute == 'race'")
    for _, own in race.groupby(["probe", "model"]):
        logs = 2 * np.arctanh(own.ag.to_numpy())
        sums = [abs(logs @ signs) for signs in itertools.product([1, -1], repeat=3)]
        assert min(sums) > 0.04  # rounding to three decimals moves it by less than 0.02


def test_professions_are_those_of_table_18():
    labour = pd.read_csv(published.FILES["professions.csv"])
    assert set(labour.profession) == set(markers.names())
    assert len(labour) == 150 and labour.notna().all().all() and labour.pct_women.between(0, 100).all()


# Neutrality and AG


def test_neutrality_by_hand():
    counts = np.array([[0, 0, 10], [10, 0, 0], [5, 5, 0], [2, 4, 4]])
    assert neutrality.pair_neutrality(counts) == pytest.approx([1, 0, 1 / 3, 6 / 14])


@pytest.mark.parametrize(
    ("shade", "expected"),
    [("rgb(0, 0, 0)", "#ffffff"), ("rgb(255, 255, 255)", "#000000"), ("rgb(0, 34, 78)", "#ffffff")],
)
def test_ink_stands_out(shade, expected):
    assert neutrality.ink(shade) == expected


@pytest.mark.parametrize("measure", ["neutrality", "ag"])
@pytest.mark.parametrize(("direction", "models", "lines"), [("image-to-text", 20, 24), ("both", 30, 38)])
def test_heatmap_has_a_line_per_model_and_heading(measure, direction, models, lines):
    shown = neutrality.pick(direction)
    found = neutrality.lines(shown)
    assert len(found) == lines and sum(own is not None for _, own in found) == models
    figure = neutrality.figure(shown, measure)
    values = [v for trace in figure.data if trace.type == "heatmap" for line in trace.z for v in line if v is not None]
    column = neutrality.MEASURES[measure][0]
    assert sorted(values) == pytest.approx(sorted(shown[column]))
    printed = [text for trace in figure.data if trace.type == "scatter" for text in trace.text]
    assert len(printed) == 3 * models


def test_ag_of_gender_is_on_a_signed_scale_and_the_rest_is_not():
    gender, _, rest, _ = neutrality.figure(neutrality.pick("both"), "ag").data
    assert (gender.zmin, gender.zmax) == (-1, 1)
    assert (rest.zmin, rest.zmax) == (0, 1)
    assert gender.colorscale != rest.colorscale
    assert ">0<" in neutrality.legend("ag") and "no sign" in neutrality.legend("ag")


def test_words_about_neutrality_hold_real_numbers_and_say_where_no_interval_can_be():
    shown = neutrality.pick("image-to-text")
    assert "0.963 (95 % interval 0.9" in answers.sentence(shown, "neutrality")
    assert "0.060 (no interval can be derived)" in answers.sentence(shown, "neutrality")
    assert "GPT4V (image to text, casting task, profession only) on gender, 0.963" in answers.sentence(
        shown, "neutrality"
    )
    assert "a tie. The intervals of 4 other cells overlap." in answers.sentence(shown, "neutrality")
    assert "Without an interval a close rank cannot be judged" in answers.sentence(shown, "neutrality")
    assert answers.note(shown).startswith("n = 1,016") and "19 of the 60 cells" in answers.note(shown)
    assert "no interval can be derived, none is shown" in answers.note(neutrality.pick("text-to-text"))


def test_the_share_behind_ag_has_its_own_n_and_an_interval_that_agrees_with_that_of_ag():
    sentence = answers.sentence(neutrality.pick("image-to-text"), "ag")
    assert "86 % chose female (about 19 of 22 answers, Wilson 95 % interval 67 to 95; AG +0.727" in sentence
    assert "95 % interval 0.333 to 0.905; the other 994 of n = 1,016 answers were neutral" in sentence
    assert "The intervals of 16 other cells reach as far from even." in sentence
    unknown = answers.sentence(neutrality.pick("text-to-text"), "ag")
    assert "94 % chose female" in unknown and "is not published, so neither the share nor AG has an" in unknown
    known = neutrality.cells().dropna(subset="n_chose")
    assert len(known) == 19
    assert (2 * known.n_female / known.n_chose - 1).to_numpy() == pytest.approx(known.ag.to_numpy(), abs=0.0005)


def test_an_end_without_rivals_says_so():
    shown = neutrality.cells().dropna(subset="low").head(2)  # 0.241 and 0.107, intervals apart
    assert answers.sentence(shown, "neutrality").count("No other cell’s interval overlaps.") == 2
    close = shown.assign(high=0.3, low=0.1)
    assert answers.sentence(close, "neutrality").count("One other cell’s interval overlaps.") == 2


def test_neutrality_table_holds_n_and_intervals_and_says_why_some_are_missing():
    table = answers.numbers(neutrality.pick("both"), "ag")
    assert (table["Inputs (n)"] == "1,016").all()
    assert table["Gender: answers that chose"].str.startswith("about ").sum() == 19
    assert (table["Gender: answers that chose"] == "not published").sum() == 11
    assert table["Gender AG"].str.contains(" to ").sum() == 19
    assert "not published" in answers.WITHOUT and "No intervals drawn" in published.SOURCES["neutrality"]
    assert {"n_inputs", "n_chose", "n_female"} <= set(answers.download(neutrality.pick("both")).columns)


@pytest.mark.parametrize("measure", ["neutrality", "ag"])
def test_words_above_the_heatmap_explain_what_its_headings_say(measure):
    lead, *asked = answers.intro(measure)
    assert lead.startswith("A cell is")
    assert all(word in " ".join(asked) for word in ("Direct question", "(indirect)", "(blind)", "(informed)"))


# Markers


def test_colours_are_distinct_and_never_run_out():
    colours = [published.colour(index) for index in range(len(published.PALETTE))]
    assert len(set(colours)) == len(colours)
    assert published.colour(len(colours)) == colours[0]


def test_the_default_shows_the_widest_gaps_without_gendered_names():
    shown = markers.pick("caption", "top", "gap", [])
    places = shown.drop_duplicates("row")
    assert len(places) == markers.TOP and not places.profession.isin(markers.GENDERED).any()
    mean_gaps = shown.groupby("row").distance.mean()
    assert mean_gaps.is_monotonic_decreasing
    everyone = markers.markers().query("text == 'caption'")
    others = everyone[~everyone.profession.isin([*places.profession, *markers.GENDERED])]
    assert mean_gaps.min() >= others.gap.abs().groupby(others.profession).mean().max()


def test_sorting_and_naming():
    by_name = markers.pick("vqa", "all", "name", []).drop_duplicates("row").profession.tolist()
    assert len(by_name) == 150 and by_name == sorted(by_name, key=str.lower)
    labour = markers.pick("vqa", "all", "labour", []).drop_duplicates("row").labour_pct_women
    assert labour.is_monotonic_decreasing
    assert set(markers.pick("vqa", "top", "gap", ["nurse", "waiter"]).profession) == {"nurse", "waiter"}


def test_figure_has_systems_with_intervals_and_the_labour_force_and_no_mark_without_a_value():
    shown = markers.pick("vqa", "top", "name", ["baker", "nurse"])
    first, second, dalle, labour, _ = markers.figure(shown, "vqa").data
    assert [len(trace.x) for trace in (first, second, dalle, labour)] == [2, 2, 1, 2]
    assert [trace.marker.color for trace in (first, second, dalle)] == [markers.colour(i) for i in range(3)]
    baker = shown[(shown.profession == "baker") & (shown.system == "Stable Diffusion 1.4")].iloc[0]
    assert first.error_x.array[0] == pytest.approx(baker.high - baker.pct_woman)
    assert first.error_x.arrayminus[0] == pytest.approx(baker.pct_woman - baker.low)
    assert "0 of" not in markers.note(shown, "vqa") and "baker (DALL-E 2)" in markers.note(shown, "vqa")
    table = markers.numbers(shown)
    assert table["DALL-E 2"].tolist()[0] == "no value" and (table["Images per system (n)"] == 210).all()
    assert table["DALL-E 2"].tolist()[1] == f"100.0 % ({shown.low[shown.system == 'DALL-E 2'].iloc[1]:.1f} to 100.0)"
    assert "n = 210" in markers.table_note("vqa") and "short answers" in markers.table_note("vqa")


def test_figure_and_words_of_a_view_without_any_value():
    shown = markers.pick("vqa", "top", "name", ["baker"])
    shown = shown.assign(pct_woman=np.nan, low=np.nan, high=np.nan, gap=np.nan, distance=np.nan)
    assert markers.sentence(shown, "vqa") == "No short answer shown here held a woman or a man word."
    markers.figure(shown, "vqa")


def test_sentence_reads_the_widest_gap_with_its_interval():
    shown = markers.pick("caption", "top", "gap", [])
    sentence = markers.sentence(shown, "caption")
    assert (
        sentence.startswith("Widest mean gap shown")
        and "“supervisor”" in sentence
        and "1 % hold a woman word (95 % interval 0 to 4 or wider; n = 210" in sentence
    )
    assert "Widest" not in markers.sentence(markers.pick("caption", "top", "gap", ["nurse"]), "caption")
    assert "71 % of this occupation are women (CPS 2021)" in sentence
    assert "n = 210" in markers.note(shown, "caption") and "97 to 99 %" in markers.note(shown, "caption")
    assert "1.5 times as wide" in markers.note(shown, "vqa")
    assert "itself gendered" in markers.note(markers.pick("caption", "all", "gap", []), "caption")


def test_wrap_breaks_a_long_name_once_where_it_balances():
    assert markers.wrap("customer service representative") == "customer service<br>representative"
    assert markers.wrap("nurse") == "nurse"


# The tab


DEFAULT = {name: next(iter(options)) for name, options in published.OPTIONS.items()} | {"p": []}


def test_an_address_brings_the_same_view_back():
    states = [DEFAULT, DEFAULT | {"figure": "neutrality", "measure": "ag", "direction": "both", "p": ["CEO", "nurse"]}]
    for state in states:
        assert published.chosen(parse_qs(published.to_address(state))) == state
    assert published.to_address(DEFAULT) == "tab=published"


@pytest.mark.parametrize(
    "params",
    [
        {"figure": ["<script>"], "text": ["../../etc"], "rows": ["999"], "order": ["'"], "p": ["${x}", "", "NURSE"]},
        {"figure": [], "measure": [""], "direction": ["\x00"], "unknown": ["1"], "p": []},
        {},
    ],
)
def test_hostile_addresses_open_the_default(params):
    assert published.chosen(params) == DEFAULT


@pytest.fixture(scope="module")
def tab():
    async def make():  # inside a running loop, because gr.Blocks opens one where none runs, and never closes it
        with gr.Blocks() as demo, gr.Tab(published.TITLE):
            bar = gr.HTML()
            return demo, bar, published.build({}, bar)

    return asyncio.run(make())


@pytest.mark.parametrize(
    "query", ["", "figure=neutrality", "figure=neutrality&measure=ag&direction=both", "p=nurse&text=vqa"]
)
def test_open_fills_every_output(tab, query):
    _, _, view = tab
    values = list(view.open(parse_qs(query)))
    assert len(values) == len(view.outputs)
    chart = next(value for value in values if hasattr(value, "plot"))
    plot = json.loads(chart.plot)
    assert plot["config"] == {"displayModeBar": False}
    assert plot["layout"]["meta"]["height"] == plot["layout"]["height"]


def test_changes_are_private_quick_and_write_the_address(tab):
    demo, bar, view = tab
    changes = [fn for fn in demo.fns.values() if bar in fn.outputs]
    assert len(changes) == 7
    for change in changes:
        assert not change.queue and change.show_progress == "hidden" and change.api_visibility == "private"
        assert change.outputs[-1] is bar
    values = changes[0].fn("markers", "vqa", "top", "gap", ["nurse"], "neutrality", "image-to-text")
    assert values[-1] == "tab=published&text=vqa&p=nurse"
    assert len(values) == len(view.outputs) - 7 + 1


@pytest.mark.parametrize("query", ["", "p=nurse", "figure=neutrality"])
def test_heading_reserves_the_rows_height_and_names_the_chart(tab, query):
    values = tab[2].open(parse_qs(query))
    heading = next(value for value in values if isinstance(value, str) and "<h2>" in value)
    layout = json.loads(next(value for value in values if hasattr(value, "plot")).plot)["layout"]
    assert f"min-height: {layout['height']}px" in heading
    assert 'id="published-chart-name"' in heading and "numbers are in the table below" in heading
    assert "published-chart-name" in published.NAME_PARTS


def test_downloads_hold_what_is_shown_and_nothing_can_break_out():
    html = published.files_html(markers.download(markers.pick("caption", "top", "name", ["nurse"])), "markers")
    data = unquote(re.search(r'href="data:text/csv;charset=utf-8,([^"]*)"', html)[1])
    lines = data.strip().splitlines()
    assert len(lines) == 4 and lines[0].startswith("profession,system,text,pct_woman,n_images,wilson95_low")
    assert 'href="files/published/stable_bias_text_markers.csv"' in html
    assert "<b>" not in published.table_html(pd.DataFrame({"<b>": ["<b>${x}"]}), "<b>")


def test_files_exist_and_every_published_table_is_described():
    assert all(path.is_file() for path in published.FILES.values())
    readme = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    assert all(f"| {path.name} |" in readme for path in PUBLISHED.glob("*.csv"))


@pytest.mark.parametrize("figure", ["markers", "neutrality"])
def test_notes_have_three_parts_and_measured_words(figure):
    how, cannot, source = published.notes(figure)
    assert how and cannot and "](https://" in source
    assert not re.search(r"images of (wo)?men|draws (wo)?men", (how + cannot).lower())
