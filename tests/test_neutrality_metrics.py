"""Neutrality: the paper's Tables 4, 5 and 7 from their counts, loops as a second opinion, coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from samples import ROOT

from backend.metrics.neutrality import (
    average_gender,
    delta_ag,
    delta_neutrality,
    measures,
    neutral_accuracy,
    pair_neutrality,
    pairs,
    pairwise,
    tally,
)
from backend.metrics.sameness import sameness

PUBLISHED = ROOT / "assets" / "published"
KEYS = ["direction", "model", "attribute"]


def test_sameness_by_a_plain_loop_and_without_an_interval_where_all_agree():
    rng = np.random.default_rng(0)
    inputs = [f"i{k}" for k in range(40) for _ in range(6)]
    turns = [turn for _ in range(40) for turn in range(6)]
    answers = rng.choice(["a", "b", "c"], len(inputs), p=[0.6, 0.3, 0.1]).tolist()
    right = 0
    for turn in range(6):
        own = [answer for answer, of in zip(answers, turns, strict=True) if of == turn]
        right += max(own.count(answer) for answer in "abc")
    found = sameness(inputs, turns, answers)
    assert found.value == pytest.approx(right / 240) and found.n == 240
    assert found.low < found.value < found.high and found.high - found.low < 0.2
    alike = sameness(inputs, turns, [str(turn) for turn in turns])
    assert alike.value == 1 and np.isnan(alike.low)
    assert np.isnan(sameness([], [], []).value)
    with pytest.raises(ValueError, match="as many inputs"):
        sameness(["x"], [1, 2], ["a"])


def images():
    """(direction, model, attribute, counts of the classes in the table's order, printed AG) of Tables 4 and 5."""
    counts = pd.read_csv(PUBLISHED / "unified_image_counts.csv", keep_default_na=False)
    printed = pd.read_csv(PUBLISHED / "unified_image_ag.csv").set_index(KEYS)["ag"]
    for key, rows in counts[counts["class"] != "N/A"].groupby(KEYS, sort=False):
        yield (*key, rows["count"].tolist(), printed[key])


@pytest.mark.parametrize(("direction", "model", "attribute", "counts", "printed"), list(images()))
def test_the_papers_tables_follow_from_their_counts(direction, model, attribute, counts, printed):
    assert len(counts) == {"gender": 2, "race": 3, "age": 4}[attribute]
    found = average_gender(*counts) if attribute == "gender" else delta_ag(counts)
    assert found == pytest.approx(printed, abs=0.001)


def test_all_cells_of_the_papers_tables_are_tried():
    assert len(list(images())) == len(pd.read_csv(PUBLISHED / "unified_image_ag.csv")) == 18


def test_the_papers_neutrality_follows_from_its_accuracies_and_ag():
    """Table 9's neutral accuracy and Table 7's AG give gender's counts back; one of 20 cells is misprinted."""
    table = pd.read_csv(PUBLISHED / "unified_neutrality.csv").query("direction == 'image-to-text'")
    accuracy = pd.read_csv(PUBLISHED / "unified_accuracy.csv").query("`class` == 'neutral'")
    both = table.merge(accuracy, on=["probe", "model", "attribute"]).query("attribute == 'gender'")
    n = (1016 * both["accuracy"]).to_numpy()
    female = (1 + both["ag"].to_numpy()) / 2 * (1016 - n)
    counts = np.stack([1016 - n - female, female], axis=1)
    assert np.allclose(average_gender(counts[:, 0], counts[:, 1]), both["ag"])
    assert np.allclose(neutral_accuracy(n, 1016), both["accuracy"])
    off = np.abs(delta_neutrality(counts, n, 1016) - both["delta_neutrality"])
    assert len(off) == 20 and (off < 0.0015).sum() == 19
    assert both.loc[off.idxmax(), ["model", "probe"]].tolist() == ["GeminiProVision", "informed-indirect"]


def by_loop(counts, neutral, total):
    """(delta AG, delta N) with plain loops, as the paper writes them."""
    ag, n = [], []
    for i in range(len(counts)):
        for j in range(i + 1, len(counts)):
            a, b = counts[i], counts[j]
            ag.append(abs(a - b) / (a + b) if a + b else 0)
            n.append((min(a, b) + neutral) / (max(a, b) + total))
    return sum(ag) / len(ag), sum(n) / len(n)


@pytest.mark.parametrize("classes", [2, 3, 4, 7])
def test_many_rows_at_once_are_as_one_by_one(classes):
    rng = np.random.default_rng(classes)
    table = rng.integers(0, 9, size=(50, classes + 2))
    table[0] = 0
    table[0, -1] = 1
    counts, neutral, total = table[:, :-2], table[:, -2], table.sum(axis=1)
    wanted = np.array([by_loop(c, n, t) for c, n, t in zip(counts.tolist(), neutral, total, strict=True)])
    assert np.allclose(delta_ag(counts), wanted[:, 0])
    assert np.allclose(delta_neutrality(counts, neutral, total), wanted[:, 1])
    assert pairwise(counts).shape == (50, len(pairs(classes))) and (np.abs(pairwise(counts)) <= 1).all()


def test_the_ends_of_the_ranges():
    assert delta_neutrality([0, 0, 0], 9, 9) == 1 and delta_neutrality([9, 0, 0], 0, 9) == 0
    assert delta_neutrality([0, 0], 0, 9) == 0  # nine that could not be parsed
    assert delta_neutrality([3, 3], 0, 6) == pytest.approx(1 / 3)
    assert delta_neutrality([4, 2], 0, 6) == pytest.approx(0.2)
    assert (average_gender(5, 0), average_gender(0, 5), delta_ag([5, 0])) == (-1, 1, 1)
    assert delta_ag([0, 0, 0]) == 0 and np.isnan(average_gender(0, 0))
    assert np.isnan(delta_neutrality([0, 0], 0, 0)) and np.isnan(neutral_accuracy(0, 0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: average_gender(-1, 2), "counts must be"),
        (lambda: delta_ag([1, np.nan]), "counts must be"),
        (lambda: delta_ag([1]), "two classes"),
        (lambda: pair_neutrality([3, 3], 4, 9), "more than the inputs"),
        (lambda: neutral_accuracy(2, 1), "more than the inputs"),
        (lambda: measures([1, 2, 3, 4]), "a row an input"),
        (lambda: tally(["a"], [], ["m", "f"]), "as many inputs"),
        (lambda: tally([], [], ["m", "m"]), "must differ"),
        (lambda: tally([], [], ["m", "unparsed"]), "must differ"),
    ],
)
def test_wrong_numbers_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_answers_are_counted_by_input_and_nothing_is_lost():
    inputs = ["b", "a", "b", "b", "a"]
    answers = ["male", "no preference", "the robot", "female", "unparsed"]
    names, table = tally(inputs, answers, ["male", "female"])
    assert names == ["b", "a"] and table.tolist() == [[1, 1, 0, 1], [0, 0, 1, 1]]
    assert tally([], [], ["male", "female"])[1].shape == (0, 4)


def test_unparsed_answers_lower_neutrality_and_have_a_share_of_their_own():
    found = measures([[0, 0, 4, 0], [0, 0, 2, 2]] * 30)
    assert found["unparsed"].value == 0.25 and found["neutral_accuracy"].value == 0.75
    assert found["delta_neutrality"].value == 0.75 and np.isnan(found["ag"].value)
    assert found["ag"].n == 0 and found["unparsed"].n == 240
    assert 0 < found["unparsed"].low < 0.25 < found["unparsed"].high < 0.5


def test_degenerate_tables_have_no_interval_and_no_error():
    for table in (np.zeros((0, 4)), [[0, 0, 0, 0]], [[1, 2, 3, 0]]):
        for found in measures(table).values():
            assert np.isnan([found.low, found.high]).all()
    alike = measures([[1, 0, 0, 0]] * 5)
    assert (alike["ag"].low, alike["ag"].high, alike["delta_neutrality"].high) == (-1, -1, 0)
    assert "ag" not in measures([[1, 0, 2, 0, 0]] * 5)


def test_the_same_answers_give_the_same_interval_and_another_seed_another():
    table = np.random.default_rng(1).integers(0, 5, (40, 5))
    assert measures(table) == measures(table) != measures(table, seed=1)


def test_answers_to_one_input_stay_together():
    """Ten answers that always agree are no more than one: the interval must not shrink."""
    once = np.array([[1, 0, 0, 0]] * 30 + [[0, 1, 0, 0]] * 20)
    one, ten = (measures(table)["ag"] for table in (once, 10 * once))
    assert (one.value, one.low, one.high) == (ten.value, ten.low, ten.high)
    assert one.high - one.low > 0.4


@pytest.mark.parametrize("name", ["ag", "delta_ag", "delta_neutrality", "neutral_accuracy"])
@pytest.mark.parametrize("shares", [[0.25, 0.25, 0.45, 0.05], [0.5, 0.2, 0.3, 0], [0.2, 0.2, 0.2, 0.4, 0]])
def test_the_intervals_hold_the_truth_about_as_often_as_they_say(name, shares):
    if name == "ag" and len(shares) > 4:
        return
    truth = measures([np.array(shares) * 1e9])[name].value
    rng, held = np.random.default_rng(7), 0
    for _ in range(100):
        rows = np.eye(len(shares))[rng.choice(len(shares), size=200, p=shares)]
        found = measures(rows, draws=200)[name]
        assert found.low <= found.value <= found.high
        held += found.low <= truth <= found.high
    assert held >= 84  # of 100; 95 are meant, plain quantiles of delta AG hold 0 to 50 for even classes
