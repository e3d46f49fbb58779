"""Benchmarks as data and words: figures against plain loops, sentences, published tables, addresses, bad text."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from urllib.parse import parse_qs, quote

import pytest
from audits import HOSTILE, make_audit
from bench_sample import make_benchmarked
from fastapi import FastAPI
from samples import ROOT
from starlette.testclient import TestClient

import app
from backend.metrics.benchmark_draws import Figure
from backend.metrics.benchmark_figures import Fairness, Group
from backend.metrics.benchmark_summary import Line, Summary
from backend.store import Audit
from explorers import EXPLORERS, benchmarks
from explorers import _bench as data
from explorers import _bench_asked as asked
from explorers import _bench_errors as errors
from explorers import _bench_files as files
from explorers import _bench_html as parts
from explorers import _bench_published as published
from explorers import _bench_published_html as theirs
from explorers import _bench_scatter as scatter
from explorers import _bench_verdict as verdicts
from explorers import _bench_view as state
from explorers import _bench_words as words
from explorers._missed import missed_html

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
    assert verdicts.verdict(found, stereotypes=False) == said


def told(stores, query, model="made-vlm"):
    view = view_of(stores, query)
    lead, lines = verdicts.told(stores[view.audit], view, model)
    return lead, dict(lines)


def test_sentences_have_n_and_interval(stores, audit):
    lead, lines = told(stores, "audit=benched&task=utkface-race&by=gender&m=made-vlm")
    one = data.summary_of(audit, "made-vlm", "utkface-race").line("image")
    accuracy, fair = one.performance["accuracy"], one.fairness["gender"]
    assert lead.startswith("Made-up VLM, UTKFace, race: it answers better with the image than without it; between")
    image, gap, parity = lines.values()
    said = f"{words.share(accuracy.value)} with it (95 % interval {words.span(accuracy, words.share)}, n = 200 items)"
    assert image.startswith(f"Answered as labelled in {said}, in ") and "an even draw gives 20 %" in image
    assert "points of accuracy (+" in image and " of Macro-F1 (+0." in image  # a score has no per cent
    right = {group.value: group.accuracy for group in fair.groups}
    (low, worst), (high, best) = sorted((one.value, name) for name, one in right.items())
    assert gap.startswith(
        f"From {words.share(low)} ({worst}; n = {right[worst].n}) to {words.share(high)} ({best}; n ="
    )
    assert (
        f"{words.apart(high - low)} apart (95 % interval {words.span(fair.figures['accuracy_gap'], words.apart)})"
        in gap
    )
    dpr, even = fair.figures["dpr"], fair.even["dpr"]
    assert (
        f"mean over answers, is {dpr.value:.2f} (95 % interval {words.span(dpr)}, n = 200 items); 1 is even" in parity
    )
    assert f"answered alike would show {words.span(even)}" in parity
    shown = verdicts.state_html(audit, view_of(stores, "audit=benched&task=utkface-race&m=made-vlm"))
    assert shown.count("<li>") == 3 and shown.count("<p><b>") == 1


@pytest.mark.parametrize(
    ("accuracy", "answers", "said"),
    [
        (0.01, 0.4, "accuracy is more uneven than chance alone makes, and answers are not"),
        (0.4, 0.01, "answers are more uneven than chance alone makes, and accuracy is not"),
        (0.01, 0.049, "both accuracy and answers are more uneven than chance alone makes"),
        (0.05, 0.9, "neither accuracy nor answers are more uneven than chance alone makes"),
        (NAN, 0.9, "answers are no more uneven than chance alone makes; of accuracy that cannot be said"),
        (0.01, NAN, "accuracy is more uneven than chance alone makes; of answers that cannot be said"),
        (NAN, NAN, "it cannot be said whether accuracy or answers are more uneven than chance alone"),
    ],
)
def test_even_answers_alone_never_stand_for_even_treatment(accuracy, answers, said):
    one = Figure(0.5, 0.4, 0.6, 45)
    groups = tuple(Group(name, one, {"a": one, "b": one}, False) for name in "xy")
    chance = {"accuracy": accuracy, "answers": answers, "answers given labels": 0.01}
    fair = Fairness({}, groups=groups, chance=chance)
    assert verdicts.evenness(fair, "tone").startswith(f"between groups of tone {said}")
    for given in (NAN, 0.4):
        fair = replace(fair, chance={**chance, "answers given labels": given})
        assert verdicts.evenness(fair, "tone").endswith(", as labels are") == (answers < 0.05)


def test_one_answer_for_everybody_is_not_called_even(stores, audit):
    """made-clip answers every text alone with the same word: the ratio of that is near 1."""
    fair = data.summary_of(audit, "made-clip", "utkface-race").line("text").fairness["age"]
    assert fair.figures["dpr"].value > 0.9 and verdicts.verdicts(fair)[1] == verdicts.OPEN
    name, said = verdicts.parity_words(fair, "age", audit.benchmarks.sources["made-clip"].tasks["utkface-race"])
    assert name == "How often each answer is given: cannot be said" and said.startswith("“White” is the only answer")
    nothing = Fairness(dict.fromkeys(("accuracy_gap", "dpr"), Figure(NAN, NAN, NAN, 0, "no item has a group")))
    assert verdicts.gap_words(nothing, "age") == (
        "Accuracy between groups of age: cannot be said",
        "No item has a group.",
    )


def test_what_the_image_adds_has_units_and_says_what_it_is_over(stores, audit):
    shown = parts.added_html(audit, view_of(stores, "audit=benched&task=utkface-race"))
    gap = data.summary_of(audit, "made-vlm", "utkface-race").effectiveness["accuracy"]
    assert f"<td>{words.points(gap.value)}<small>" in shown and words.points(gap.value).endswith(" points")
    lost = parts._gap(Figure(NAN, NAN, NAN, 9, "everybody got the same <answer>"), words.signed)
    assert lost.startswith("<td>not comparable<small>") and "everybody got the same &lt;answer&gt;" in lost
    ratios = {"a": Figure(0.9, 0.8, 1, 9), "b": Figure(NAN, NAN, NAN, 9)}
    lines = [
        Line(name, "", 9, {}, {"age": Fairness({}, by_class={c: {"dpr": ratios[c if left else "a"]} for c in "ab"})})
        for name, left in (("image", False), ("text", True))
    ]
    held = Summary(tuple(lines), {"dpr age": Figure(0.1, 0, 0.2, 9, "undefined for b")}, None, {})
    assert parts._both(held, "dpr age") == "over the answers given in both conditions: a"
    assert parts._both(held, "accuracy") == ""
    cell = parts._gap(held.effectiveness["dpr age"], words.signed, parts._both(held, "dpr age"))
    assert "over the answers given in both conditions: a" in cell and "undefined for b" not in cell


def test_an_undefined_ratio_says_why_and_is_not_drawn(stores, audit):
    """made-clip gives one answer to every text alone."""
    view = view_of(stores, "audit=benched&task=utkface-race&by=age&m=made-clip")
    why = data.summary_of(audit, "made-clip", "utkface-race").line("text").fairness["age"].figures["dpr"].why
    assert "answered for nobody" in why
    shown = parts.conditions_html(audit, view)
    assert why in shown.replace("&#x27;", "'") and "if groups were alike" in shown
    assert "Random, one draw" in shown and "<b>EOD</b>: how far groups are apart" in shown  # before any fold is opened
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


def test_published_rows_are_the_papers_and_told_apart(stores, audit):
    rows = {(row.model, row.condition): row for row in published.rows_of("celeba-makeup", "gender")}
    llava = rows["LLaVa 34B", "image"]
    assert (llava.macro_f1, llava.dpr) == (pytest.approx(0.7577), 0.03)
    assert rows["LLaVa Vicuna 7B", "text"].infinite and rows["LLaVa Vicuna 7B", "text"].dpr != 0
    assert len(published.rows_of("utkface-race", "age")) == len(published.rows_of("pata-race", "race")) - 2 == 8
    assert published.rows_of("starter-gender", "tone") == []
    view = view_of(stores, "audit=benched&task=celeba-makeup")
    shown = theirs.published_html(audit, view)
    assert "prints no n and no intervals" in shown and "undefined (printed as infinite)" in shown
    assert theirs.published_html(audit, view_of(stores, "audit=benched&task=celeba-makeup&published=0")) == ""
    assert "no figures of this task" in theirs.published_html(
        audit, view_of(stores, "audit=benched&task=starter-gender")
    )
    turned = theirs.published_html(audit, view_of(stores, "audit=benched&task=visogender-oo"))
    assert "<td>+0.92</td>" in turned and "Table 2 prints it the other way round" in turned
    assert "<td>67 %</td>" in theirs.published_html(audit, view_of(stores, "audit=benched&task=vl-stereoset"))


def test_published_tasks_are_those_that_ship():
    shipped = {}
    for path in (ROOT / "assets" / "benchmarks").glob("*.toml"):
        shipped |= {task["name"]: task for task in tomllib.loads(path.read_text(encoding="utf-8")).get("tasks", ())}
    for name, origin in published.TASKS.items():
        assert origin.title == shipped[name]["title"]
        compared = [] if shipped[name]["family"] == "pronoun" or name == "vl-stereoset" else shipped[name]["groups"]
        assert [group.casefold() for group in compared] == list(origin.groups)
        rows = [published.rows_of(name, by) for by in origin.groups]
        assert all(rows) if rows else len(published.pronoun_rows(name)) + len(published.stereotype_rows(name))


@pytest.mark.parametrize(
    ("task", "held"),
    [
        ("utkface-age", "AGE_GENDER_RACE_DATE"),
        ("celeba-blond", "list_attr_celeba.txt"),
        ("pata-race", "pata_fairness.captions.json"),
        ("visogender-oo", "images/IDX.jpg"),
        ("vl-stereoset", "VLStereoSet.csv"),
    ],
)
def test_a_task_without_answers_shows_what_was_published_and_what_to_run(stores, task, held):
    view = view_of(stores, f"audit=plain&task={task}&published=0")
    assert view == view_of(stores, state.to_address(view)) and (view.task, view.published) == (task, True)
    shown = shown_html(stores, f"audit=plain&task={task}")
    assert f"benchmark plain --task {task} --data path/to/images --model my-model" in shown and held in shown
    assert 'lk-bench-theirs"><h3>Published models</h3>' in shown and "Every figure as CSV" in shown
    for absent in ("What was asked", "What does the image add", "Which groups differ", "How well does it answer"):
        assert absent not in shown
    drawn = scatter.scatter_figure(stores["plain"], view)
    names = {trace.name for trace in drawn.data if trace.mode == "markers"}
    assert names == ({row.model for row in scatter.their_marks(view)}) and bool(names) == bool(view.by)
    if view.by:
        assert "audit" not in scatter.source_text(stores["plain"], view)
        assert drawn.layout.yaxis.title.text.startswith("Demographic parity ratio, as published,<br>")
        assert "▬</span> LLaVa 34B" in scatter.scatter_html(stores["plain"], view)
    offered = benchmarks._choices(stores["plain"], view)
    assert (f"{published.TASKS[task].title} (published only)", task) in offered[1].choices and not offered[4].visible


def test_own_tasks_come_first_and_are_not_offered_twice(audit):
    titled, own = benchmarks._titled(audit), list(state.tasks_of(audit))
    names = [name for _, name in titled]
    assert names[: len(own)] == own and len({*names}) == len(names) == len({*own, *published.TASKS})
    assert [name for title, name in titled if title.endswith(" (published only)")] == names[len(own) :]
    assert view_of({"benched": audit}).task == own[0]


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
    titles = drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text
    assert titles == ("Macro-F1", "Demographic parity ratio, mean over answers,<br>between groups of age")
    said = scatter.source_text(audit, view)
    assert "n: Made-up VLM 200 items" in said and "groups of age: Child, Young, Middle-Aged, Senior" in said
    makeup = scatter.scatter_figure(audit, view_of(stores, "audit=benched&task=celeba-makeup"))
    assert makeup.layout.yaxis.title.text.startswith("Demographic parity ratio, of “Yes”,")


def test_wrong_answers_have_their_picture_or_their_name(stores, audit):
    own = errors.errors_html(audit, view_of(stores, "audit=benched&task=starter-gender"))
    assert 'class="lk-figure"' in own and "data-detail=" in own and "<th scope=col>Item" not in own
    assert "<span>drawn by Alpha</span>" in own and "surest come first" in own and "did not see" not in own
    query = "audit=benched&task=utkface-race&condition=text"
    away = errors.errors_html(audit, view_of(stores, query))
    assert "lk-figure" not in away and "<th scope=col>Item" in away and "text only:" in away
    total = len(data.wrong_answers(audit, "made-vlm", "utkface-race", "text"))
    assert f"{total:,} of 200 answers are not the label" in away and "Next answers" in away
    last = errors.errors_html(audit, view_of(stores, f"{query}&p=999999"))
    assert f"Page {-(-total // errors.PAGE)} of" in last and "Next answers" not in last
    assert len(files.table(stores, parse_qs(f"{query}&of=wrong"))) == total


def test_wrong_answers_to_text_alone_claim_no_sight_and_no_order(stores):
    shown = errors.errors_html(stores["benched"], view_of(stores, "audit=benched&task=starter-gender&condition=text"))
    assert "did not see these pictures but a uniform grey one" in shown  # as its note says
    even = errors.errors_html(
        stores["benched"], view_of(stores, "audit=benched&task=utkface-race&m=made-clip&condition=text")
    )
    assert "the same probability, 1.00, so their order means nothing" in even and "surest" not in even
    assert "did not see these pictures but none" in even
    unsure = errors.errors_html(stores["benched"], view_of(stores, "audit=benched&task=celeba-makeup&m=made-api"))
    assert "It gave no probabilities, so their order means nothing" in unsure


def test_the_answers_that_groups_differ_on_most_have_the_columns(stores, audit):
    task = audit.benchmarks.sources["made-vlm"].tasks["utkface-race"]
    fair = data.summary_of(audit, "made-vlm", "utkface-race").line("image").fairness["age"]
    rates = {name: [group.rates[name].value for group in fair.groups] for name in task.classes}
    mine = sorted(task.classes, key=lambda name: max(rates[name]) - min(rates[name]), reverse=True)
    assert parts.judged(task, fair) == mine[:4] != list(task.classes[:4])
    shown = parts.groups_html(audit, view_of(stores, "audit=benched&task=utkface-race&by=age"))
    assert "Of 5 answers, the 4 that groups differ on most have a column" in shown
    assert parts.judged(replace(task, positive="Black"), fair) == ["Black"]


def test_the_question_as_put_and_its_options_are_shown(stores, audit, monkeypatch):
    source = audit.benchmarks.sources["made-vlm"]
    task = replace(source.tasks["starter-gender"], example=f"Who is this? {HOSTILE}", offered=("a <man>", "a woman"))
    changed = replace(source, tasks={**source.tasks, "starter-gender": task})
    monkeypatch.setitem(audit.benchmarks.sources, "made-vlm", changed)
    shown = asked.asked_html(audit, view_of(stores, "audit=benched&task=starter-gender"))
    assert shown.count("<blockquote>Who is this? ") == 1 and HOSTILE not in shown
    assert "Its options: <span>a &lt;man&gt;</span><span>a woman</span>" in shown
    assert shown.count("A grey image stands for no image.") == 2  # of each model that notes it


@pytest.mark.parametrize("task", ["starter-gender", "utkface-race", "celeba-makeup", "vl-stereoset", "visogender-op"])
def test_every_family_is_shown_and_nothing_hostile_gets_through(stores, task):
    shown = shown_html(stores, f"audit=benched&task={task}")
    assert "95 % interval" in shown.replace("\u00a0", " ") and "What was asked" in shown
    assert HOSTILE not in shown and "<script" not in shown and "Beta <b>" not in shown and "nurse <b>" not in shown
    assert "${" not in shown and "nan" not in shown.casefold().replace("nanc", "")


def test_the_view_is_in_the_address_and_bad_values_fall_back(stores):
    query = "task=pata&by=race&published=0&wrong=made-clip&condition=text&p=2&audit=benched"
    view = view_of(stores, query)
    assert view == view_of(stores, state.to_address(view)) and view.page == 2 and view.by == "race"
    assert view_of(stores, "task=<b>&m=x&by=${1}&wrong=../x&condition=random&p=-1&audit=none") == view_of(stores)
    assert view_of(stores).audit == "benched" and view.wrong == "made-clip"
    first_one = view_of(stores, "task=pata&audit=benched&m=made-clip&wrong=made-clip")
    assert (first_one.wrong, state.wrong_model(stores["benched"], first_one)) == ("", "made-clip")
    assert "wrong" not in state.to_address(first_one)
    for page in ("0", "١", "9" * 30, "1.5", ""):
        assert view_of(stores, f"p={page}").page == 1
    assert benchmarks._params(("benched", ["x"], "no", None, "1", 3, "text", "?p=2")) == {
        **{"audit": ["benched"], "condition": ["text"]},
        **{"m": [], "published": ["0"]},
    }


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("audit=none", "no audit “none”"),
        ("audit=benched&task=starter-tone", "no task “starter-tone”"),
        ("audit=benched&task=utkface-race&m=made-vlm&m=x&by=race", "no model “x”, no group “race”"),
        ("audit=benched&task=utkface-race&m=made-vlm&wrong=made-clip", "no model with wrong answers “made-clip”"),
        ("audit=benched&condition=random", "no condition “random”"),
        (f"audit=benched&task={quote(HOSTILE)}", f"no task “{HOSTILE[:40]}…”"),
        ("audit=benched&m=a&m=b&m=c&m=d&m=e", "no model “a”, no model “b”, no model “c” and 2 more"),
    ],
)
def test_what_an_address_names_in_vain_is_said_and_has_no_rows(stores, query, named):
    params = parse_qs(query)
    said = state.missed(stores, params)
    view = view_of(stores, query)
    title = state.titles(stores[view.audit])[view.task]
    assert f"names what is not here ({named}): shown is “{title}”, groups of {view.by}, of the audit" in said
    shown = "".join(filter(None, (missed_html(said), benchmarks._updates(stores[view.audit], view, said)[8])))
    assert 'role="status"' in shown and HOSTILE not in shown
    for of in ("", "&of=wrong"):
        found = files.table(stores, parse_qs(query + of))
        assert found.empty and len(found.columns) > 7 and view.task not in found.attrs["name"]
    assert state.missed(stores, parse_qs(state.to_address(view))) == "" == missed_html("")


def test_an_audit_without_benchmarks_says_what_to_run_and_shows_what_was_published(stores):
    shown = shown_html(stores, "audit=plain")
    assert "-m backend benchmark plain --task starter-gender --model starter-vqa" in shown
    assert "Wrong answers" not in shown and "--task utkface-race --data" in shown and "LLaVa 34B" in shown


def test_the_csv_has_every_figure_and_the_published_ones(stores, audit):
    server = FastAPI()
    app.add_routes(server, stores)
    with TestClient(server) as client:
        answer = client.get("/csv/benchmarks?audit=benched&task=utkface-race&by=age")
        assert answer.status_code == 200 and "nan" not in answer.text.casefold()
        wrong = client.get("/csv/benchmarks?audit=benched&task=starter-gender&condition=text&of=wrong")
        other = client.get("/csv/browse?audit=benched")
    named = [one.headers["content-disposition"].partition("filename=")[2] for one in (answer, wrong, other)]
    assert named[0] == '"likeness-benchmarks-utkface-race-figures.csv"' and named[2] == '"likeness-browse.csv"'
    assert named[1] == '"likeness-benchmarks-starter-gender-wrong-made-vlm-text.csv"'
    found = files.table(stores, parse_qs("audit=benched&task=utkface-race"))
    one = found[(found.model == "made-vlm") & (found.condition == "image") & (found.measure == "dpr")]
    one = one[(one.attribute == "age") & one.answer.isna()].iloc[0]
    same = data.summary_of(audit, "made-vlm", "utkface-race").line("image").fairness["age"]
    assert (one.value, one.low95, one.n) == (same.figures["dpr"].value, same.figures["dpr"].low, same.figures["dpr"].n)
    assert one.if_alike == same.even["dpr"].value
    theirs_ = found[found.source == published.SOURCE]
    assert len(theirs_) == 2 * 16 and theirs_.n.isna().all() and theirs_.low95.isna().all()
    drawn = found[(found.condition == "even draw, expected") & (found.model == "made-vlm")].set_index("measure")[
        "value"
    ]
    assert drawn["accuracy"] == pytest.approx(0.2) and 0.1 < drawn["macro_f1"] < 0.3
    gap = found[(found.measure == "accuracy_gap") & (found.model == "made-vlm") & (found.condition == "image")]
    assert set(gap.attribute) == {"age", "gender"} and gap.if_alike.notna().all()
    assert set(files.table(stores, parse_qs("audit=plain")).source) == {published.SOURCE}


def test_what_is_said_of_the_paper_is_in_its_tables():
    import pandas as pd

    folder = published.ASSETS / "published"
    scores = pd.read_csv(folder / "mapping_vlstereoset.csv").pivot_table("vlbs_pct", "model", "input").dropna()
    lower = scores["text only"] - scores["with image"]
    assert (round(scores["text only"].min()), round(scores["text only"].max())) == (49, 59)
    assert (round(lower.min()), round(lower.max())) == (5, 17)
    pata = pd.read_csv(folder / "mapping_f1_dpr.csv").query("dataset == 'PATA'")
    f1 = pata.pivot_table("macro_f1_pct", ["model", "category"], "input").dropna()
    blind = pata.query("input == 'text only'")["demographic_parity_ratio"]
    assert (len(f1), (f1["text only"] > f1["with image"]).sum()) == (12, 8)
    assert (blind.min(), blind.max(), (blind >= 0.96).sum()) == (0.77, 1, 10)
    said = " ".join(asked.CANNOT.split())
    for words_ in ("in 49 to 59 % without", "in 5 to 17 points fewer", "in 8 of 12 comparisons", "0.77 to 1.00, 10 of"):
        assert words_ in said
