"""Benchmarks as data and words: figures against plain loops, sentences, published tables, addresses, bad text."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from audits import HOSTILE, make_audit
from bench_sample import make_benchmarked
from fastapi import FastAPI
from starlette.testclient import TestClient

import app
from backend.metrics.benchmark_draws import Figure
from backend.metrics.benchmark_summary import Summary
from backend.store import Audit
from explorers import EXPLORERS, benchmarks
from explorers import _bench as data
from explorers import _bench_errors as errors
from explorers import _bench_files as files
from explorers import _bench_html as parts
from explorers import _bench_published as published
from explorers import _bench_published_html as theirs
from explorers import _bench_scatter as scatter
from explorers import _bench_view as state
from explorers import _bench_words as words

NAN = float("nan")


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_benchmarked(cache, "small").folder.rename(cache / "benched")  # "small" is made once for all tests of a run
    make_audit(cache, "small").folder.rename(cache / "plain")
    return {name: Audit.open(cache, name) for name in ("plain", "benched")}


@pytest.fixture(scope="module")
def audit(stores):
    return stores["benched"]


def view_of(stores, query=""):
    return state.from_params(stores, parse_qs(query, keep_blank_values=True))


def shown_html(stores, query=""):
    view = view_of(stores, query)
    return "".join(part for part in benchmarks._updates(stores[view.audit], view) if isinstance(part, str))


def test_it_is_a_tab_after_hiring():
    slugs = [module.SLUG for module in EXPLORERS]
    assert slugs[slugs.index("hiring") + 1] == "benchmarks" and benchmarks.TITLE == "Benchmarks"


def test_figures_are_those_of_a_plain_loop(audit):
    found = data.summary_of(audit, "made-vlm", "celeba-makeup")
    rows = audit.benchmarks.table("made-vlm").to_dict("records")
    mine = [row for row in rows if row["task"] == "celeba-makeup" and row["condition"] == "image"]
    right = sum(row["answer"] == row["label"] for row in mine)
    line = found.line("image")
    assert (line.items, line.performance["accuracy"].value) == (len(mine), pytest.approx(right / len(mine)))
    yes = {
        group: sum(row["answer"] == "Yes" for row in mine if row["group_1"] == group)
        / sum(row["group_1"] == group for row in mine)
        for group in ("Male", "Female")
    }
    figure = line.fairness["gender"].figures["dpr"]
    assert figure.value == pytest.approx(min(yes.values()) / max(yes.values()))
    wrong = data.wrong_answers(audit, "made-vlm", "celeba-makeup", "image")
    assert set(wrong["item"]) == {row["item"] for row in mine if row["answer"] != row["label"]}
    sure = wrong["sure"].dropna().tolist()
    assert sure == sorted(sure, reverse=True) and len(wrong) == len(mine) - right


GAPS = {
    "up": Figure(0.4, 0.3, 0.5, 90),
    "down": Figure(-0.2, -0.3, -0.1, 90),
    "none": Figure(0.1, -0.1, 0.3, 90),
    "one": Figure(0.1, NAN, NAN, 1),
}


@pytest.mark.parametrize(
    ("accuracy", "f1", "said"),
    [
        ("up", "up", "it answers better with the image than without it"),
        ("none", "up", "it answers better with the image than without it"),
        ("down", "none", "it answers worse with the image than without it"),
        ("down", "up", "the image raises one of accuracy and Macro-F1 and lowers the other"),
        ("none", "none", "the image makes no clear difference, so the task does not show what this model sees"),
        ("one", "one", "the image makes no clear difference, so the task does not show what this model sees"),
    ],
)
def test_what_is_said_of_the_image_goes_no_further_than_the_intervals(accuracy, f1, said):
    found = Summary((), {"accuracy": GAPS[accuracy], "macro_f1": GAPS[f1]}, None, {})
    assert words.verdict(found, stereotypes=False) == said


def test_sentences_have_n_and_interval(stores, audit):
    view = view_of(stores, "audit=benched&task=utkface-race&by=gender&m=made-vlm")
    lead, rest = words.told(audit, view, "made-vlm")
    one = data.summary_of(audit, "made-vlm", "utkface-race").line("image")
    accuracy, fair = one.performance["accuracy"], one.fairness["gender"].figures["dpr"]
    assert lead == "Made-up VLM, UTKFace, race: it answers better with the image than without it."
    assert (
        f"answered as labelled in {words.share(accuracy.value)} (95 % interval {words.span(accuracy, words.share)}"
        in rest
    )
    assert "n = 200 items" in rest and "an even draw gives 20 %" in rest
    assert f"Between groups of gender the demographic parity ratio (mean over answers) is {fair.value:.2f}" in rest
    assert "answered alike come to" in rest


def test_an_undefined_ratio_says_why_and_is_not_drawn(stores, audit):
    """made-clip gives one answer to every text alone."""
    view = view_of(stores, "audit=benched&task=utkface-race&by=age&m=made-clip")
    why = data.summary_of(audit, "made-clip", "utkface-race").line("text").fairness["age"].figures["dpr"].why
    assert "answered for nobody" in why
    shown = parts.conditions_html(audit, view)
    assert why in shown.replace("&#x27;", "'") and "if groups were alike" in shown
    assert "“White” is the only answer it gave, so a ratio near 1 tells nothing" in shown
    assert parts.figure_html(Figure(NAN, NAN, NAN, 0, "no <b>")) == (
        '<td>undefined<small><span class="lk-bench-why">no &lt;b&gt;</span></small></td>'
    )


def test_small_groups_are_flagged_and_not_dropped(stores, audit):
    shown = parts.groups_html(audit, view_of(stores, "audit=benched&task=celeba-makeup&m=made-api"))
    found = data.summary_of(audit, "made-api", "celeba-makeup").line("image").fairness["gender"].groups
    assert found and all(group.small for group in found)
    assert shown.count(" †</td>") == len(found)
    assert "†" in parts.n_html(19) and "†" not in parts.n_html(20)


def test_published_rows_are_the_papers_and_told_apart(stores):
    rows = {(row.model, row.condition): row for row in published.rows_of("celeba-makeup", "gender")}
    llava = rows["LLaVa 34B", "image"]
    assert (llava.macro_f1, llava.dpr) == (pytest.approx(0.7577), 0.03)
    assert rows["LLaVa Vicuna 7B", "text"].infinite and rows["LLaVa Vicuna 7B", "text"].dpr != 0
    assert len(published.rows_of("utkface-race", "age")) == len(published.rows_of("pata", "race")) - 2 == 8
    assert published.rows_of("starter-gender", "tone") == []
    view = view_of(stores, "audit=benched&task=celeba-makeup")
    shown = theirs.published_html(view)
    assert "prints no n and no intervals" in shown and "undefined (printed as infinite)" in shown
    assert theirs.published_html(view_of(stores, "audit=benched&task=celeba-makeup&published=0")) == ""
    assert "No figures of this task" in theirs.published_html(view_of(stores, "audit=benched&task=starter-gender"))
    turned = theirs.published_html(view_of(stores, "audit=benched&task=visogender-oo"))
    assert "<td>+0.92</td>" in turned and "Table 2 prints it the other way round" in turned
    assert "<td>67 %</td>" in theirs.published_html(view_of(stores, "audit=benched&task=vl-stereoset"))


def test_the_chart_joins_image_and_text_and_keeps_published_hollow(stores, audit):
    view = view_of(stores, "audit=benched&task=utkface-race&by=age&m=made-vlm")
    drawn = scatter.scatter_figure(audit, view)
    marks = [trace for trace in drawn.data if trace.mode == "markers"]
    own = [trace for trace in marks if "circle" in trace.marker.symbol]
    hollow = [trace for trace in marks if "circle-open" in trace.marker.symbol]
    assert len(own) == 1 and len(hollow) == len({row.model for row in scatter.their_marks(view)}) > 3
    image, text = (data.summary_of(audit, "made-vlm", "utkface-race").line(name) for name in ("image", "text"))
    ends = [line.performance["macro_f1"].value for line in (image, text)]
    assert [list(trace.x) for trace in drawn.data if trace.mode == "lines" and list(trace.x) == ends]
    assert list(drawn.data[0].x) == list(drawn.data[0].y) == [0, 1]
    assert "4 of 8 published rows" not in scatter.scatter_html(audit, view_of(stores, "audit=benched&published=0"))
    lost = sum(row.infinite for row in published.rows_of("utkface-race", "age"))
    assert lost and f"{lost} of 8 published rows have an undefined ratio" in scatter.scatter_html(audit, view)
    assert not scatter.scatter_figure(audit, view_of(stores, "audit=benched&task=vl-stereoset")).data


def test_wrong_answers_have_their_picture_or_their_name(stores, audit):
    own = errors.errors_html(audit, view_of(stores, "audit=benched&task=starter-gender"))
    assert 'class="lk-figure"' in own and "data-detail=" in own and "<th scope=col>Item" not in own
    query = "audit=benched&task=utkface-race&condition=text"
    away = errors.errors_html(audit, view_of(stores, query))
    assert "lk-figure" not in away and "<th scope=col>Item" in away and "text only:" in away
    total = len(data.wrong_answers(audit, "made-vlm", "utkface-race", "text"))
    assert f"{total:,} of 200 answers are not the label" in away and "Next answers" in away
    last = errors.errors_html(audit, view_of(stores, f"{query}&p=999999"))
    assert f"Page {-(-total // errors.PAGE)} of" in last and "Next answers" not in last
    assert len(files.table(stores, parse_qs(f"{query}&of=wrong"))) == total


@pytest.mark.parametrize("task", ["starter-gender", "utkface-race", "celeba-makeup", "vl-stereoset", "visogender-op"])
def test_every_family_is_shown_and_nothing_hostile_gets_through(stores, task):
    shown = shown_html(stores, f"audit=benched&task={task}")
    assert "95 % interval" in shown.replace("\u00a0", " ") and "What was asked" in shown
    assert HOSTILE not in shown and "<script" not in shown and "Beta <b>" not in shown and "nurse <b>" not in shown
    assert "${" not in shown and "nan" not in shown.casefold().replace("nanc", "")


def test_the_view_is_in_the_address_and_bad_values_fall_back(stores):
    query = "task=pata&m=made-clip&by=race&published=0&wrong=made-clip&condition=text&p=2&audit=benched"
    view = view_of(stores, query)
    assert view == view_of(stores, state.to_address(view)) and view.page == 2 and view.by == "race"
    assert view_of(stores, "task=<b>&m=x&by=${1}&wrong=../x&condition=random&p=-1&audit=none") == view_of(stores)
    assert view_of(stores).audit == "benched"
    for page in ("0", "١", "9" * 30, "1.5", ""):
        assert view_of(stores, f"p={page}").page == 1
    assert benchmarks._params(("benched", ["x"], "no", None, "1", 3, "text", "?p=2")) == {
        **{"audit": ["benched"], "condition": ["text"]},
        **{"m": [], "published": ["0"]},
    }


def test_an_audit_without_benchmarks_says_what_to_run(stores):
    shown = shown_html(stores, "audit=plain")
    assert "-m backend benchmark plain --task starter-gender --model starter-vqa" in shown
    assert "Wrong answers" not in shown


def test_the_csv_has_every_figure_and_the_published_ones(stores, audit):
    server = FastAPI()
    app.add_routes(server, stores)
    with TestClient(server) as client:
        answer = client.get("/csv/benchmarks?audit=benched&task=utkface-race&by=age")
        assert answer.status_code == 200 and "nan" not in answer.text.casefold()
    found = files.table(stores, parse_qs("audit=benched&task=utkface-race"))
    one = found[(found.model == "made-vlm") & (found.condition == "image") & (found.measure == "dpr")]
    one = one[(one.attribute == "age") & one.answer.isna()].iloc[0]
    same = data.summary_of(audit, "made-vlm", "utkface-race").line("image").fairness["age"]
    assert (one.value, one.low95, one.n) == (same.figures["dpr"].value, same.figures["dpr"].low, same.figures["dpr"].n)
    assert one.if_alike == same.even["dpr"].value
    theirs_ = found[found.source == published.SOURCE]
    assert len(theirs_) == 2 * 16 and theirs_.n.isna().all() and theirs_.low95.isna().all()
    assert files.table(stores, parse_qs("audit=plain")).empty
