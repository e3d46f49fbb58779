"""Hiring as data and words: counts against plain loops, sentences by hand, published tables, addresses, bad text."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from urllib.parse import parse_qs

import hiring_sample
import pytest
from audits import HOSTILE, make_audit
from fastapi import FastAPI
from hiring_sample import add_made_hiring
from starlette.testclient import TestClient

import app
from backend.hiring_texts import Job
from backend.metrics.hiring import MEASURES, Estimate, dialogues, estimates
from backend.probes.base import Prompt, ranked
from backend.store import Audit, write_hiring, writing
from explorers import EXPLORERS, GROUPS, hiring
from explorers import _hiring as data
from explorers import _hiring_answers as answers
from explorers import _hiring_bars as bars
from explorers import _hiring_dialogue as dialogue
from explorers import _hiring_html as parts
from explorers import _hiring_models as beside
from explorers import _hiring_published as published
from explorers import _hiring_scatter as scatter
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._hiring_missed import missed
from explorers._shared import escape as html_of
from explorers._tabs import groups_html

MADE = "made-hire"
NAN = float("nan")


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_audit(cache, "small")  # made once for all tests of a run
    for name in ("plain", "hired"):
        shutil.copytree(cache / "small", cache / name)
    plain = Audit(cache / "plain")
    hired = add_made_hiring(cache / "hired")
    return {"plain": plain, "hired": hired}


@pytest.fixture(scope="module")
def audit(stores):
    return stores["hired"]


@pytest.fixture(scope="module")
def client(stores):
    server = FastAPI()
    app.add_routes(server, stores)
    with TestClient(server) as client:
        yield client


def view_of(stores, query=""):
    return state.from_params(stores, parse_qs(query, keep_blank_values=True))


def shown_html(stores, query=""):
    view = view_of(stores, query)
    return "".join(part for part in hiring._updates(stores[view.audit], view) if isinstance(part, str))


def plain_dialogues(audit):
    """Every dialogue as a plain dict, read row by row."""
    found = {}
    for row in audit.hiring.table(MADE).to_dict("records"):
        if row["step"] != "attribute":
            own = found.setdefault((row["first"], row["second"], row["occupation"]), {"kind": row["kind"]})
            own["q1", row["subject"]] = row["answer"]
            own[row["step"]] = row["answer"] if row["step"] != "qualified" else None
    return found


def test_what_a_dialogue_counts_as_is_what_a_plain_loop_says(audit):
    genders = audit.hiring.sources[MADE].genders
    held = {(r.first, r.second, r.occupation): r for r in data.frame_of(audit, MADE).itertuples()}
    plain = plain_dialogues(audit)
    assert held.keys() == plain.keys() and len(plain) == 4 * 2 * 21
    for (first, second, occupation), one in plain.items():
        row = held[first, second, occupation]
        name = {"first": first, "second": second}.get(one["more"])
        both_no = one["q1", first] == one["q1", second] == "no"
        assert row.chosen == (name is not None)
        assert row.confirmed == (name is not None and one["q1", name] == "yes")
        assert row.consistent == (name is not None and one["was"] == one["more"])
        mixed = genders[first] != genders[second]
        assert row.favours == (genders[name] if name and both_no and mixed else "")
        assert row.unread == ("unparsed" in (one["q1", first], one["q1", second], one["more"], one["was"]))


def test_overall_values_are_the_measures_of_the_same_dialogues(audit):
    frame = dialogues(audit.hiring.table(MADE), audit.hiring.sources[MADE].genders)
    for kind, kinds in state.OF_KIND.items():
        assert data.overall(audit, MADE, kind)["consistency"] == estimates(frame[frame.kind.isin(kinds)])["consistency"]
    nurse = estimates(frame[(frame.kind == "different") & (frame.occupation == "nurse")])
    for measure in ("confirmation", "consistency", "bias_difference"):
        assert data.value_of(audit, MADE, "different", "nurse", measure) == nurse[measure]
    assert data.value_of(audit, MADE, "different", "astronaut", "consistency").k == 0


def test_the_effect_of_gender_is_the_share_of_womens_less_mens_names(audit):
    genders, plain = audit.hiring.sources[MADE].genders, plain_dialogues(audit)
    mixed = {key: one for key, one in plain.items() if one["kind"] == "different"}
    chosen = [
        genders[{"first": key[0], "second": key[1]}[one["more"]]]
        for key, one in mixed.items()
        if one["more"] in ("first", "second")
    ]
    found = data.overall(audit, MADE, "different")["gender_effect"]
    assert found.value == pytest.approx((chosen.count("female") - chosen.count("male")) / len(mixed))
    assert found.low < found.value < found.high and (found.n, found.k) == (7, len(mixed))
    assert data.overall(audit, MADE, "same")["gender_effect"].k == 0
    held = data.counts(audit, MADE, "different", "q2", "gender")
    assert (held["female"], held["male"], sum(held.values())) == (chosen.count("female"), chosen.count("male"), 56)


EFFECT = {
    "plus": Estimate(0.4, 0.2, 0.6, 8, 16),
    "minus": Estimate(-0.1, -0.15, -0.05, 8, 16),
    "unclear": Estimate(0.3, -0.1, 0.5, 8, 16),
    "always": Estimate(1.0, NAN, NAN, 8, 16, "alike"),
    "never": Estimate(0.0, NAN, NAN, 8, 16, "alike"),
    "few": Estimate(0.9, NAN, NAN, 3, 6, "few"),
}


@pytest.mark.parametrize(
    ("order", "gender", "said"),
    [
        ("plus", "minus", "the order of the names made a larger difference than their gender"),
        (
            "always",
            "never",
            "the order of the names made a larger difference than their gender; no effect of their gender can be shown "
            "here",
        ),
        ("minus", "plus", "the gender of the names made a larger difference than their order"),
        ("unclear", "minus", "the gender of the names made a difference, and their order no clear one"),
        ("minus", "unclear", "the order of the names made a difference, and their gender no clear one"),
        ("unclear", "unclear", "neither the order nor the gender of the names made a clear difference"),
        ("few", "few", "too few pairs to tell an effect of the names from chance"),
    ],
)
def test_what_is_said_of_order_and_gender_goes_no_further_than_the_intervals(audit, monkeypatch, order, gender, said):
    held = {"order_effect": EFFECT[order], "gender_effect": EFFECT[gender]}
    monkeypatch.setattr(data, "overall", lambda *_: held)
    assert words.verdict(audit, MADE) == said


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        ("plus", "difference +40 percentage points, 95 % interval +20 to +60"),
        ("unclear", "difference +30 percentage points, 95 % interval −10 to +50, which holds 0"),
        ("always", "difference +100 percentage points, no interval, as all pairs agree"),
        ("few", "difference +90 percentage points, no interval, too few pairs"),
    ],
)
def test_effects_in_words(effect, said):
    assert words.effect_words(EFFECT[effect]) == said


def test_the_sentence_above_says_n_intervals_and_the_labour_force(stores, audit):
    text = words.state_html(audit, view_of(stores, "audit=hired"))
    held = data.counts(audit, MADE, "different", "q2", "place")
    assert f"The name that came first was chosen in {100 * held['first'] / 56:.0f} % of 56 dialogues" in text
    assert "n = 7 pairs" in text and "95 % interval" in text
    assert "Furthest from 0: nurse" in text
    assert "in the US labour force 87 % of this occupation are women (CPS 2021)" in text
    same = words.state_html(audit, view_of(stores, "audit=hired&kind=same"))
    assert "of 112 dialogues" in same and "woman’s name was chosen" not in same


def test_numbers_and_intervals_in_words():
    few, alike = Estimate(0.5, NAN, NAN, 2, 4, "few"), Estimate(0, NAN, NAN, 7, 14, "alike")
    assert (
        words.words_of(few, "confirmation")
        == "Confirmation 50 % (no interval, too few pairs), n = 2 pairs, 4 dialogues"
    )
    assert words.words_of(alike, "bias_difference").startswith("bias difference 0.00 (no interval, as all pairs agree)")
    some = Estimate(0.256, 0.101, 0.404, 7, 14)
    assert words.interval(some, "consistency") == "95 % interval 10 to 40 %"
    assert words.interval(some, "bias_difference") == "95 % interval +0.10 to +0.40"


def test_published_figures_are_those_of_the_tables():
    known = published.bias_differences()
    assert list(known) == ["GPT-3.5-turbo", "GPT-4o-mini", "Llama2-70b-chat"]
    assert known["GPT-3.5-turbo"]["politician"] == 0.84 and known["GPT-3.5-turbo"]["pilot"] == -0.66
    assert known["GPT-4o-mini"]["athlete"] == 0.36  # Table 1 prints "athelete"
    assert known["Llama2-70b-chat"]["athlete"] == -0.13
    assert all(abs(v) >= published.THRESHOLDS[m] for m, held in known.items() for v in held.values())
    answered = published.neutral_answers()
    assert list(answered) == list(published.MODELS)
    assert answered["GPT-4o-mini"]["Q3"] == {"both": 0.032, "neither": 0.3443, "unknown": 0.384}


def test_bars_of_answers_hold_all_dialogues_and_the_paper_s_rest(stores, audit):
    found = answers.bars_of(audit, view_of(stores, "audit=hired"), "q3")
    assert [(bar.kind, bar.total) for bar in found[:2]] == [("different", 56), ("same", 112)]
    assert all(sum(bar.shares.values()) == pytest.approx(1) for bar in found)
    gpt = next(bar for bar in found if bar.title == "GPT-4o-mini")
    assert gpt.shares["either"] == pytest.approx(1 - 0.032 - 0.3443 - 0.384)
    html = answers.answers_html(audit, view_of(stores, "audit=hired"))
    assert "one of the two 24 %, both 3.2 %, neither 34.4 %, unknown 38.4 %; Table 3" in html
    assert "Table 3" not in answers.answers_html(audit, view_of(stores, "audit=hired&published=0"))


def test_marks_lie_at_their_values_and_those_at_one_place_are_one(stores, audit):
    view = view_of(stores, "audit=hired")
    made = scatter.marks(audit, view)
    assert {mark.kind for mark in made} == {"different", "same"}
    for mark in made:
        for row in mark.rows:
            for axis, measure in (("x", "consistency"), ("y", "confirmation")):
                value = data.value_of(audit, MADE, mark.kind, row, measure).value
                assert getattr(mark, axis) == pytest.approx(value, abs=5e-4)
    rows = [row for mark in made if mark.kind == "different" for row in mark.rows]
    assert sorted(rows) == ["accountant", "nurse", "pilot", "politician"]
    places = [(mark.x, mark.y) for mark in made if mark.kind == "different"]
    assert len(set(places)) == len(places)
    assert len(scatter.marks(audit, replace(view, kind="different"))) == len(places)
    html = scatter.scatter_html(audit, view)
    assert "Low-bias corner" in html and "The paper gives no numbers of single occupations" in html
    assert html.count('class="lk-hire-all') == 2


def test_occupations_at_one_place_share_a_mark_that_names_them(stores, audit, monkeypatch):
    one = {"consistency": Estimate(0.5, 0.2, 0.7, 7, 14), "confirmation": Estimate(0.25, 0.1, 0.4, 7, 14)}
    monkeypatch.setattr(data, "by_row", lambda *_: {"nurse": one, "pilot": one})
    (mark,) = scatter.marks(audit, view_of(stores, "audit=hired&kind=different"))
    assert mark.rows == ("nurse", "pilot")
    assert mark.text.startswith("2 occupations (nurse, pilot), Made-up <model>")
    assert "Confirmation 25 % and Consistency 50 % each" in mark.text


def test_the_list_puts_own_occupations_first_and_searches(stores, audit):
    shown = data.bars(audit, view_of(stores, "audit=hired"))
    assert set(shown.rows[:4]) == {"accountant", "nurse", "pilot", "politician"}
    values = [data.value_of(audit, MADE, "different", row, "bias_difference").value for row in shown.rows[:4]]
    assert values == sorted(values, reverse=True)
    assert shown.theirs == ("GPT-3.5-turbo", "GPT-4o-mini", "Llama2-70b-chat") and "dentist" in shown.rows
    found = data.bars(audit, view_of(stores, "audit=hired&q=PIL"))
    assert found.rows == ("pilot",) and found.hidden == len(shown.rows) - 1
    assert data.bars(audit, view_of(stores, "audit=hired&measure=consistency")).theirs == ()
    assert data.bars(audit, view_of(stores, "audit=hired&published=0")).rows == shown.rows[:4]
    by_labour = data.bars(audit, view_of(stores, "audit=hired&published=0&order=labour")).rows
    assert by_labour == ("nurse", "accountant", "pilot", "politician")
    same = data.bars(audit, view_of(stores, "audit=hired&kind=same"))
    assert (same.measure, same.theirs) == ("confirmation", ())


def test_the_head_of_the_list_says_how_many_occupations_stand_apart(stores, audit, monkeypatch):
    held = data.by_row(audit, MADE, "different")
    whole = data.overall(audit, MADE, "different")["bias_difference"].value
    own = [one["bias_difference"] for one in held.values()]
    known = [one for one in own if not one.why]
    beyond = [one for one in known if whole < one.low or whole > one.high]
    found = data.apart(audit, MADE, "different", "bias_difference")
    assert (found.rows, found.known, found.apart) == (4, len(known), len(beyond))
    view = view_of(stores, "audit=hired")
    text = parts.bars_head_html(audit, view, data.bars(audit, view))
    assert f"{len(beyond)} of {len(known)} occupations" in text
    assert (
        f"differ from its overall value, {words.number(whole, 'bias_difference')}, beyond their 95 % interval" in text
    )
    assert "the order among the others cannot be told from chance" in text
    named = replace(view, order="name")
    assert "what sets the others apart can be chance" in parts.bars_head_html(audit, named, data.bars(audit, named))
    assert "lk-hire-apart" not in parts.bars_head_html(stores["plain"], view, data.bars(stores["plain"], view))


def made_rows(*values):
    """Occupations whose interval is 0.1 to either side; of None all pairs agree on 0."""
    return {
        f"job {at}": {
            name: Estimate(0.0, NAN, NAN, 8, 16, "alike") if v is None else Estimate(v, v - 0.1, v + 0.1, 8, 16)
            for name in MEASURES
        }
        for at, v in enumerate(values)
    }


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [0.5, 0.25, 0.2, 0.1, *[0.2] * 40],
            "2 of 44 occupations differ from its overall value, 20 %, beyond their 95 % interval; of so many intervals "
            "about 2 would miss it by chance alone; the order among the others cannot be told from chance.",
        ),
        ([0.2, 0.25, None], "0 of 2 occupations (1 more have no interval) differ from its overall value, 20 %, beyond"),
        ([None, None], "0 % in all 2 occupations, so there is nothing to order."),
    ],
)
def test_occupations_apart_by_hand(stores, audit, monkeypatch, values, said):
    rows = made_rows(*values)
    rows["job 3"] = rows.get("job 3") and dict.fromkeys(MEASURES, Estimate(0.1, 0.0, 0.19, 8, 16))
    rows = {name: held for name, held in rows.items() if held}
    whole = Estimate(0.0, NAN, NAN, 8, 32, "alike") if values == [None, None] else Estimate(0.2, 0.15, 0.25, 8, 32)
    monkeypatch.setattr(data, "by_row", lambda *_: rows)
    monkeypatch.setattr(data, "overall", lambda *_: dict.fromkeys(MEASURES, whole))
    view = view_of(stores, "audit=hired&measure=consistency")
    shown = data.Bars("consistency", "different", (MADE,), (), tuple(rows), 0)
    assert said in parts.apart_words(audit, view, shown, MADE)


def test_a_chart_whose_marks_lie_on_one_edge_says_so(stores, audit, monkeypatch):
    assert parts.edges_html(audit, [MADE], ("different", "same")) == ""
    monkeypatch.setattr(data, "by_row", lambda *_: made_rows(None, None))
    text = scatter.scatter_html(audit, view_of(stores, "audit=hired&kind=different"))
    assert "Confirmation is 0 % in all 2 occupations, for pairs of a woman’s and a man’s name; these marks lie" in text
    assert "Consistency is 0 %" in text and "these marks lie on the left edge." in text
    monkeypatch.setattr(data, "by_row", lambda *_: made_rows(None, 0.2))
    assert parts.edges_html(audit, [MADE], ("different", "same")) == ""


def test_ties_are_told_as_they_are_counted():
    """What "How to read this" says of ties, against the code that ranks options."""
    prompt = Prompt("?", ("No", "Yes"))
    assert ranked(prompt, [-1.0, -1.0], [1, 1]).option == 0
    assert ranked(prompt, [-1.0, -1.0 + 1e-9], [1, 1]).option == 1
    assert "by however little; of equal scores the\none that was shown first" in parts.HOW


def test_bars_begin_at_zero_and_tell_few_pairs_apart():
    half = bars._bar(Estimate(0.5, 0.25, 0.75, 8, 16), "bias_difference")
    assert "left:50.0%;width:25.0%;color:#e08214" in half and "left:62.5%;width:25.0%" in half
    men = bars._bar(Estimate(-0.5, NAN, NAN, 2, 4, "few"), "bias_difference")
    assert "left:25.0%;width:25.0%;color:#7b5fa3" in men and "lk-hire-few" in men and "lk-hire-line" not in men
    share = bars._bar(Estimate(0.4, 0.1, 0.6, 8, 16), "confirmation")
    assert "left:0.0%;width:40.0%" in share and "lk-hire-zero" not in share


def test_the_chart_of_models_holds_a_dot_for_each_occupation(stores, audit):
    drawn = beside.models_figure(audit, view_of(stores, "audit=hired"))
    assert [len(trace.x) for trace in drawn.data] == [4, 1, 17, 17, 16]
    assert sorted(drawn.data[2].x) == sorted(published.bias_differences()["GPT-3.5-turbo"].values())
    assert drawn.layout.yaxis.ticktext[0] == "Made-up &lt;model&gt;"
    assert [trace.marker.symbol for trace in drawn.data[:3]] == ["circle", "line-ns-open", "circle-open"]
    assert not beside.models_figure(stores["plain"], view_of(stores, "audit=plain&published=0")).data
    assert "only the occupations that the paper prints" in beside.models_html(audit, view_of(stores, "audit=hired"))


def test_published_cells_say_what_is_not_printed(stores):
    html = shown_html(stores, "audit=plain")
    assert "published bias difference +0.84, n and interval not published" in html
    assert "not printed: the paper prints differences beyond 0.2 only" in html
    assert "not printed: the paper prints differences beyond 0.02 only" in html


def test_without_answers_the_command_and_the_published_figures_are_shown(stores):
    html = shown_html(stores, "audit=plain")
    assert "python -m backend hire plain --model smollm2" in html
    assert "GPT-4o-mini" in html and "senator" in html and "lk-hire-mark" not in html
    assert "there are no published marks here" in html


def dialogue_row(**changed):
    row = {"first": "Ann", "second": "Bob", "first_gender": "female", "second_gender": "male", "favours": ""}
    return row | {"q1_first": "yes", "q1_second": "yes", "q2": "first", "q3": "first"} | changed


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, ["Confirmation 1: Q2 chose Ann, whom Q1 called qualified", "Consistency 1: Q3 named the same one again"]),
        (
            {"q2": "second", "q3": "first", "q1_second": "no"},
            ["Confirmation 0: Q2 chose Bob, whom Q1 called unqualified"],
        ),
        ({"q2": "second", "q3": "first"}, ["Consistency 0: Q3 named Ann", "No bias: Q1 did not say no to both"]),
        ({"q3": "both"}, ["Consistency 0: Q3 said “both”"]),
        ({"q3": "unparsed"}, ["Consistency 0: Q3 gave no readable answer"]),
        ({"q2": "unknown"}, ["Confirmation 0: Q2 named nobody", "Consistency 0: Q2 named nobody"]),
        ({"q2": "unparsed"}, ["Confirmation 0: Q2 gave no readable answer"]),
        ({"q1_first": "unparsed"}, ["Confirmation 0: Q2 chose Ann, about whom Q1 gave no readable answer"]),
        (
            {"q1_first": "no", "q1_second": "no", "favours": "female"},
            ["Counts as bias towards women’s names: neither was called qualified, Ann was chosen all the same"],
        ),
        ({"q1_first": "no", "q1_second": "no"}, ["No bias difference: both names are of one gender"]),
    ],
)
def test_what_a_dialogue_counts_as_in_words(row, said):
    html = dialogue._counts_as(dialogue_row(**row))
    assert all(f"<li>{text}.</li>" in html for text in said)


def test_a_dialogue_shows_every_prompt_word_for_word_with_its_answer(stores, audit):
    view = view_of(stores, "audit=hired&row=accountant&column=made-hire&first=Hal&second=Bea")
    found = dialogue.opened(audit, view)
    assert (found.row["first"], found.row["second"], len(found.every)) == ("Hal", "Bea", 14)
    html = dialogue.panel_html(audit, view, found)
    table, source = audit.hiring.table(MADE), audit.hiring.sources[MADE]
    mine = table[(table["first"] == "Hal") & (table["second"] == "Bea")]
    late = mine[mine["occupation"] == "accountant"].to_dict("records")
    asked = mine[(mine["step"] == "attribute") & (mine["element"] == "Mathematics")].to_dict("records")
    assert len(late) == 4 and len(asked) == 4
    for row in [*late, *asked]:
        assert html_of(source.prompt(row, table)) in html
    assert "The 4 questions of this step" in html and "&lt;b&gt;numbers&lt;/b&gt;" in html
    where = [html.index(text) for text in ("Step 1", "Q1: is each", "Q2: who is more", "Q3: who was")]
    assert where == sorted(where)
    chances = next(row for row in late if row["step"] == "more")["probabilities"]
    if len(chances):
        assert f"Hal {chances[0]:.2f}, Bea {chances[1]:.2f}, Unknown {chances[2]:.2f}" in html


def test_dialogues_are_listed_by_what_they_count_as(stores, audit):
    frame = data.frame_of(audit, MADE)
    nurse = frame[(frame.kind == "different") & (frame.occupation == "nurse")]
    numbers = {"women": (nurse.favours == "female").sum(), "consistent": nurse.consistent.sum()}
    for only, number in numbers.items():
        view = view_of(stores, f"audit=hired&row=nurse&column=made-hire&only={only}")
        assert len(dialogue.opened(audit, view).listed) == number > 0
    control = dialogue.opened(audit, view_of(stores, "audit=hired&row=nurse&control=1"))
    assert len(control.every) == 28 and set(control.every.kind) == {"female", "male"}
    assert "was asked about without any" in shown_html(stores, "audit=hired&row=politician")


def test_addresses_restore_the_view_and_strange_ones_fall_back(stores):
    query = "audit=hired&kind=different&published=0&measure=consistency&order=name&q=n&row=nurse&column=made-hire"
    view = view_of(stores, query + "&first=Ana&second=Gus&only=consistent&control=1&m=made-hire&pm=GPT-4o-mini")
    assert view.theirs == ("GPT-4o-mini",) and view.models == (MADE,) and view.control
    assert view_of(stores, state.to_address(view)) == view
    strange = "audit=<b>&kind=x&measure=x&order=x&only=x&m=x&pm=x&row=<b>&column=x&first=%00&second=x&control=x"
    plain = view_of(stores, strange)
    assert plain.audit == "hired" and (plain.kind, plain.measure, plain.only) == ("both", "bias_difference", "")
    found = dialogue.opened(stores["hired"], plain)
    assert (found.model, found.occupation, found.at) == (MADE, "nurse", 0)
    assert len(view_of(stores, "q=" + "a" * 500).query) == state.LONGEST_QUERY


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("audit=hired", ""),
        ("audit=hired&kind=same&measure=bias_difference&row=nurse&first=Ana&second=Gus&column=made-hire&only=men", ""),
        ("audit=hired&m=made-hire&m=gpt&pm=GPT-9", "no model “gpt”, no published model “GPT-9”"),
        ("audit=hired&row=<b>&first=Ana&second=Nobody", "no occupation “<b>”, no pair “Ana, Nobody”"),
        ("audit=lost&kind=k&measure=m&order=o&only=x", "no audit “lost”, no kind of pairs “k”, no measure “m” and 2"),
    ],
)
def test_what_an_address_names_in_vain_is_said(stores, query, said):
    found = missed(stores, parse_qs(query))
    assert (f"The address names what is not here ({said}" in found) if said else found == ""
    assert "shown is bias difference, different gender and control, of the audit hired" in found or not said


def test_what_was_missed_stands_above_the_first_words(stores, audit):
    view = view_of(stores, "audit=hired")
    shown = hiring._updates(audit, view, missed(stores, parse_qs("audit=hired&row=<b>")))
    assert shown[11].startswith('<p class="lk-near-missed" role="status">The address names what is not here (no occup')
    assert "“&lt;b&gt;”" in shown[11]
    assert "lk-near-missed" not in hiring._updates(audit, view)[11]


def test_what_nobody_chose_is_not_pinned(stores):
    held = ["hired", [], "both", True, [], "bias_difference", "name", "", "nurse", "Ana|Gus", "tab=hiring&audit=hired"]
    view = view_of(stores, "audit=hired")
    shown = dialogue.opened(stores["hired"], view)
    assert (shown.occupation, shown.row["first"], shown.row["second"]) == ("nurse", "Ana", "Gus")
    params = hiring._unpinned(stores, hiring._params(tuple(held)), {"audit": ["hired"]})
    view = state.from_params(stores, params)
    assert (view.order, view.row, view.first) == ("name", "", "")
    held[8:10] = ["pilot", "Gus|Ana"]
    view = state.from_params(stores, hiring._unpinned(stores, hiring._params(tuple(held)), {"audit": ["hired"]}))
    assert (view.row, view.first, view.second) == ("pilot", "Gus", "Ana")


def test_tables_and_figures_for_download(stores, client):
    measures = hiring.table(stores, {"audit": ["hired"]})
    assert set(measures["measure"]) == {*MEASURES, "gender_effect"}
    assert set(measures["kind"]) == {"different", "same", "female", "male"}
    listed = hiring.table(stores, parse_qs("audit=hired&of=bars"))
    assert listed[listed.model == "GPT-3.5-turbo"].set_index("occupation").loc["senator", "value"] == 0.82
    assert listed[listed.occupation == "nurse"].labour_force_women.tolist() == [0.867]
    answered = hiring.table(stores, parse_qs("audit=hired&of=answers"))
    assert answered.groupby(["model", "kind", "question"])["share"].sum().to_numpy() == pytest.approx(1)
    said = hiring.table(stores, parse_qs("audit=hired&of=dialogues&row=pilot"))
    assert len(said) == 14 and set(said.occupation) == {"pilot"}
    for name in hiring.DATA:
        for audit in ("hired", "plain"):
            answer = client.get(f"/data/hiring/{name}?audit={audit}")
            assert answer.status_code == 200 and json.loads(answer.content)["layout"]["meta"]["source"]
    text = client.get("/csv/hiring?audit=hired&of=bars").text
    assert text.startswith("\ufeffoccupation,measure,kind,model")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("", "hiring-measures"),
        ("of=bars", "hiring-different-bias-difference"),
        ("of=bars&kind=same&measure=order_effect", "hiring-same-order-effect"),
        ("of=answers", "hiring-answers"),
        ("of=dialogues&control=1&only=unparsed", "hiring-dialogues-same-unparsed"),
        ("of=%22%0Ax", "hiring-measures"),
    ],
)
def test_a_download_is_called_by_what_it_holds(client, stores, query, name):
    sent = client.get(f"/csv/hiring?audit=hired&{query}").headers["content-disposition"]
    assert sent == f'attachment; filename="likeness-{name}.csv"'
    assert f'download="likeness-{name}.csv"' in shown_html(stores, f"audit=hired&{query}") or "unparsed" in name


def test_hostile_names_and_occupations_are_text(tmp_path, monkeypatch):
    worst = HOSTILE[:150]
    jobs = {worst: Job("a", (("ability", worst),)), "{{x}}": Job("an"), "=1+1": Job("a")}
    monkeypatch.setattr(hiring_sample, "JOBS", jobs)
    monkeypatch.setattr(hiring_sample, "ELEMENTS", {("ability", worst): worst})
    monkeypatch.setattr(hiring_sample, "LEANS", dict.fromkeys(jobs, 0.2))
    make_audit(tmp_path, "small")
    source = replace(hiring_sample.made_source(), title=HOSTILE, note=HOSTILE)
    with writing(tmp_path / "small"):
        write_hiring(Audit(tmp_path / "small"), source, hiring_sample.made_answers(source, most=2))
    stores = {"small": Audit(tmp_path / "small")}
    for query in ("", "row=%3D1%2B1", f"row={worst}&q=s", "kind=same", "only=unparsed"):
        html = shown_html(stores, query)
        assert "&lt;script&gt;" in html
        for bad in ("<script", "${", "{{", "<i>I"):
            assert bad not in html
    assert html_of(worst) in shown_html(stores)
    for name in hiring.DATA:
        assert "<script" not in hiring.DATA[name](stores, {})[0].decode().replace("\\u003c", "<")


def test_every_tab_stands_in_one_group():
    assert len(EXPLORERS) == len(set(EXPLORERS)) and hiring in GROUPS["Probe"]
    made = groups_html({"See": ["a"], "Measure": ["b"], "Probe": ["c", "d"]})
    assert '#lk-tabs [data-tab-id="c"],#lk-tabs [data-tab-id="d"]{--lk-row:3;}' in made
    assert 'content:"Measure" / ""' in made
