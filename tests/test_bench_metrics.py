"""Measures of benchmarks against fairlearn, scikit-learn, plain loops and the published tables."""

import numpy as np
import pandas as pd
import pytest
from samples import ROOT

from backend.metrics import benchmarks as bench
from backend.metrics.benchmark_figures import ACCURACY_GAP, FAIRNESS, fairness, performance
from backend.metrics.benchmark_scores import effectiveness, resolution, resolution_gap, stereotype_gap, stereotypes

CLASSES = ("a", "b", "c", "d")
KEYS = (*FAIRNESS, ACCURACY_GAP)
PUBLISHED = ROOT / "assets" / "published"


def made(seed, n=200, classes=CLASSES, lost=0.05):
    """Labels, answers that are right more often than not, and groups, one of which is treated worse."""
    rng = np.random.default_rng(seed)
    labels, groups = rng.choice(classes, n, p=[0.5, 0.3, 0.15, 0.05]), rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1])
    right = rng.random(n) < np.where(groups == "y", 0.4, 0.8)
    answers = np.where(right, labels, rng.choice(classes, n))
    return labels.tolist(), np.where(rng.random(n) < lost, "unparsed", answers).tolist(), groups.tolist()


@pytest.mark.parametrize("seed", range(2))
def test_performance_is_scikit_learn_s(seed):
    from sklearn.metrics import accuracy_score, f1_score

    labels, answers, _ = made(seed)
    found = performance(labels, answers, CLASSES)
    assert found["accuracy"].value == pytest.approx(accuracy_score(labels, answers))
    macro = f1_score(labels, answers, labels=sorted({*labels}), average="macro", zero_division=0)
    assert found["macro_f1"].value == pytest.approx(macro)
    each = f1_score(labels, answers, labels=CLASSES, average=None, zero_division=0)
    assert [found["f1"][name].value for name in CLASSES] == pytest.approx(each)
    assert found["macro_f1"].low < macro < found["macro_f1"].high and found["accuracy"].n == 200
    assert found["unparsed"].value == answers.count("unparsed") / 200


@pytest.mark.parametrize("seed", range(2))
def test_fairness_is_fairlearn_s(seed):
    from fairlearn import metrics

    labels, answers, groups = made(seed)
    found = fairness(labels, answers, groups, CLASSES)
    sums = {"dpr": [], "dpd": [], "eod": []}
    oracles = metrics.demographic_parity_ratio, metrics.demographic_parity_difference, metrics.equalized_odds_difference
    for name in CLASSES[:3]:  # the rare class lacks items in some groups, where fairlearn counts a rate of 0
        truth, said = (np.array([value == name for value in values], int) for values in (labels, answers))
        for (key, values), oracle in zip(sums.items(), oracles, strict=True):
            values.append(oracle(truth, said, sensitive_features=groups))
            assert found.by_class[name][key].value == pytest.approx(values[-1])
    three = [label if label != "d" else "a" for label in labels], [said if said != "d" else "a" for said in answers]
    judged = fairness(*three, groups, CLASSES[:3]).figures
    assert judged["dpr_worst"].value <= judged["dpr"].value and judged["eod_worst"].value >= judged["eod"].value
    only = fairness(labels, answers, groups, CLASSES, positive="b").figures
    wanted = [sums["dpr"][1], sums["dpr"][1], sums["dpd"][1], sums["eod"][1], sums["eod"][1]]
    assert [only[key].value for key in FAIRNESS] == pytest.approx(wanted)


def test_groups_have_their_own_figures_and_small_ones_are_named():
    labels, answers, groups = made(0)
    found = fairness(labels, answers, [*groups[:190], *[""] * 10], CLASSES)
    assert found.unknown == 10 and [group.value for group in found.groups] == ["x", "y", "z"]
    frame = pd.DataFrame({"label": labels, "answer": answers, "group": groups})[:190]
    for group in found.groups:
        mine = frame[frame.group == group.value]
        assert group.accuracy.n == len(mine) and group.small == (len(mine) < bench.SMALL)
        assert group.accuracy.value == pytest.approx((mine.label == mine.answer).mean())
        assert group.rates["b"].value == pytest.approx((mine.answer == "b").mean())
    assert found.groups[2].small and not found.groups[0].small


def test_the_accuracy_gap_is_fairlearn_s_and_sees_errors_that_shares_of_answers_hide():
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import accuracy_score

    labels, answers, groups = made(0)
    frame = MetricFrame(metrics=accuracy_score, y_true=labels, y_pred=answers, sensitive_features=groups)
    gap = fairness(labels, answers, groups, CLASSES).figures[ACCURACY_GAP]
    assert gap.value == pytest.approx(frame.difference()) and gap.n == 200
    labels, groups = ["a", "b"] * 100, ["x"] * 100 + ["y"] * 100
    swapped = ["b", "a"] * 15 + ["a", "b"] * 35  # 30 of 100 wrong, as many each way
    hidden = fairness(labels, swapped + ["a", "b"] * 50, groups, ("a", "b"))
    assert hidden.figures["dpr"].value == 1 and hidden.figures[ACCURACY_GAP].value == pytest.approx(0.3)
    assert hidden.figures[ACCURACY_GAP].low > hidden.even[ACCURACY_GAP].value > 0.02


def test_how_often_chance_is_as_uneven_is_that_of_a_chi_square_test():
    from scipy.stats import chi2_contingency

    rng, groups = np.random.default_rng(3), np.repeat(["v", "w", "x", "y"], 60)
    for rates in ([0.9, 0.9, 0.9, 0.8], [0.97, 1, 0.93, 0.88], [0.7] * 4):
        labels = np.tile(["a", "b"], 120)
        right = rng.random(240) < np.repeat(rates, 60)
        said = np.where(right, labels, np.where(labels == "a", "b", "a"))
        found = fairness(labels.tolist(), said.tolist(), groups.tolist(), ("a", "b"))
        table = [[(right & (groups == group)).sum(), (~right & (groups == group)).sum()] for group in "vwxy"]
        assert found.chance["accuracy"] == pytest.approx(chi2_contingency(table).pvalue, abs=0.06)
    labels, answers, groups_ = made(0)
    table = pd.crosstab(groups_, answers)[["b"]].assign(
        other=pd.crosstab(groups_, answers).drop(columns="b").sum(axis=1)
    )
    judged = fairness(labels, answers, groups_, CLASSES, positive="b").chance["answers"]
    assert judged == pytest.approx(chi2_contingency(table, correction=False).pvalue, abs=0.06)
    swapped = ["b", "a"] * 9 + ["a", "b"] * 21  # 18 of 60 wrong, as many each way
    hidden = fairness(["a", "b"] * 120, swapped + ["a", "b"] * 90, groups.tolist(), ("a", "b"))
    assert hidden.chance["accuracy"] < 0.005 and hidden.chance["answers"] > 0.9
    assert np.isnan(fairness(["a", "b"], ["a", "b"], ["x", "x"], ("a", "b")).chance["accuracy"])


def test_chance_alone_is_seldom_called_uneven():
    rng, few = np.random.default_rng(11), {"accuracy": 0, "answers": 0}
    for _ in range(60):
        labels = rng.choice(["a", "b", "c"], 150)
        said = np.where(rng.random(150) < 0.8, labels, rng.choice(["a", "b", "c"], 150))
        found = fairness(labels.tolist(), said.tolist(), rng.choice(["x", "y", "z"], 150).tolist(), ("a", "b", "c"))
        few = {name: n + (found.chance[name] < 0.05) for name, n in few.items()}
    assert max(few.values()) <= 8, few  # 3 are expected of 60


def test_an_undefined_ratio_says_why_and_is_neither_1_nor_infinite():
    groups = ["x", "y"] * 20
    constant = fairness(["a", "b"] * 20, ["a"] * 40, groups, ("a", "b"))
    assert np.isnan(constant.by_class["b"]["dpr"].value) and constant.by_class["b"]["dpr"].why == "answered for nobody"
    assert constant.figures["dpr"].value == 1 and constant.figures["dpr"].why == "answered for nobody: b"
    nobody = fairness(["a", "b"] * 20, ["unparsed"] * 40, groups, ("a", "b"), positive="b")
    assert np.isnan(nobody.figures["dpr"].value) and np.isnan(nobody.figures["dpr"].low)
    assert nobody.figures["dpr"].why == "answered for nobody: b" and nobody.figures["dpd_worst"].value == 0
    never = fairness(["a", "b"] * 20, ["b", "a"] + ["b"] * 38, ["x", "y"] + ["y"] * 38, ("a", "b"), positive="a")
    assert never.figures["dpr"].value == 0 and never.figures["dpr"].why == ""


def test_one_group_no_group_and_no_items():
    one = fairness(["a", "b"] * 5, ["a"] * 10, ["x"] * 10, ("a", "b"))
    assert all(np.isnan(one.figures[key].value) and one.figures[key].why for key in KEYS)
    none = fairness(["a", "b"], ["a", "b"], ["", ""], ("a", "b"))
    assert none.unknown == 2 and none.figures["dpr"].why == "no item has a group"
    empty = performance([], [], ("a", "b"))
    assert np.isnan(empty["accuracy"].value) and empty["accuracy"].n == 0
    no_positive = fairness(["a"] * 40, ["a", "b"] * 20, ["x", "y"] * 20, ("a", "b"), positive="b")
    assert no_positive.figures["eod"].value == 1  # the false positive rate is left: 0 against 1
    assert performance(["a"] * 5, ["b"] * 5, ("a", "b"))["f1"]["b"].why == "the label of no item"


@pytest.mark.parametrize(("n", "groups", "classes"), [(120, 2, 2), (300, 5, 3)])
def test_intervals_hold_equality_where_groups_are_treated_alike(n, groups, classes):
    rng, names, held, means = np.random.default_rng(7), [str(c) for c in range(classes)], dict.fromkeys(KEYS, 0), []
    for _ in range(25):
        labels = rng.choice(names, n)
        answers = np.where(rng.random(n) < 0.7, labels, rng.choice(names, n))
        found = fairness(labels.tolist(), answers.tolist(), rng.choice(list("vwxyz")[:groups], n).tolist(), names)
        for key in KEYS:
            held[key] += found.figures[key].low <= float(key.startswith("dpr")) <= found.figures[key].high
        means.append((found.figures["dpr"].value, found.even["dpr"].value))
    assert min(held.values()) >= 21, held
    value, even = np.mean(means, axis=0)
    assert value < 0.9 and abs(value - even) < 0.05  # chance alone is far from 1, and `even` says how far


def test_intervals_leave_equality_where_they_are_not():
    labels, groups = ["a", "b"] * 200, ["x"] * 200 + ["y"] * 200
    answers = labels[:200] + ["a"] * 200
    found = fairness(labels, answers, groups, ("a", "b")).figures
    assert found["dpr"].high < 0.5 and found["eod"].low > 0.9 and found["dpd_worst"].low > 0.3


def test_effectiveness_is_paired():
    rng = np.random.default_rng(3)
    labels = rng.choice(["a", "b"], 300).tolist()
    text = np.where(rng.random(300) < 0.6, labels, "a").tolist()
    image = [label if flip else said for label, said, flip in zip(labels, text, rng.random(300) < 0.3, strict=True)]
    groups = rng.choice(["x", "y", ""], 300).tolist()
    found = effectiveness(labels, image, text, ("a", "b"), {"side": groups})
    hits = np.array([[a == b for a, b in zip(labels, said, strict=True)] for said in (image, text)], float)
    assert found["accuracy"].value == pytest.approx(hits[0].mean() - hits[1].mean())
    draws = np.random.default_rng(0).integers(0, 300, (1000, 300))
    low, high = np.quantile((hits[0] - hits[1])[draws].mean(axis=1), [0.025, 0.975])
    assert found["accuracy"].low == pytest.approx(low, abs=0.01)
    assert found["accuracy"].high == pytest.approx(high, abs=0.01)
    gap = [fairness(labels, said, groups, ("a", "b")).figures["dpr"].value for said in (image, text)]
    assert found["dpr side"].value == pytest.approx(gap[0] - gap[1]) and found["dpr side"].n < 300
    nothing = effectiveness(labels, ["a"] * 300, ["unparsed"] * 300, ("a", "b"), {"side": groups}, "b")["dpr side"]
    assert np.isnan(nothing.value) and nothing.why


def test_resolution_bias_by_hand_and_in_the_sign_of_section_3_6():
    rows = [("doctor", "m", 5, 1), ("doctor", "w", 5, 4), ("nurse", "m", 4, 4), ("nurse", "w", 5, 3)]
    labels, answers, jobs = [], [], []
    for job, gender, n, right in [*rows, ("pilot", "m", 3, 3)]:
        labels += [gender] * n
        answers += [gender] * right + ["w" if gender == "m" else "m"] * (n - right)
        jobs += [job] * n
    overall, each = resolution(labels, answers, jobs, "m", "w")
    assert each["doctor"].value == pytest.approx(0.6) and each["nurse"].value == pytest.approx(-0.4)
    assert np.isnan(each["pilot"].value) and each["pilot"].why and each["doctor"].n == 10
    assert overall.value == pytest.approx(0.1) and overall.low < 0.1 < overall.high and overall.n == 22
    printed = pd.read_csv(PUBLISHED / "mapping_visogender.csv").set_index(["model", "dataset"])
    gemini = printed.loc[("Gemini 1.5 Flash", "OO")]  # answers "female" 95 % of the time (section 4.3)
    truth = ["m"] * 115 + ["w"] * 115
    said = ["m"] * 5 + ["w"] * 110 + ["w"] * 109 + ["m"] * 6
    found, _ = resolution(truth, said, ["job"] * 230, "m", "w")
    assert found.value > 0.88 and gemini.resolution_bias < -0.9  # the table prints men less women
    assert performance(truth, said, ("m", "w"))["accuracy"].value * 100 == pytest.approx(gemini.accuracy_pct, abs=0.6)


def test_gaps_of_both_scores_are_paired():
    rng = np.random.default_rng(5)
    image, text = (rng.choice(["stereotype", "other"], 200, p=[share, 1 - share]).tolist() for share in (0.4, 0.6))
    found = stereotype_gap(image, text, "stereotype")
    hits = np.array([[said == "stereotype" for said in row] for row in (image, text)], float)
    assert found.value == pytest.approx(hits[0].mean() - hits[1].mean())
    draws = np.random.default_rng(0).integers(0, 200, (2000, 200))
    low, high = np.quantile((hits[0] - hits[1])[draws].mean(axis=1), [0.025, 0.975])
    assert (found.low, found.high) == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))
    labels, jobs = rng.choice(["m", "w"], 200).tolist(), rng.choice(["a", "b", "c"], 200).tolist()
    seen, blind = (np.where(rng.random(200) < share, labels, "m").tolist() for share in (0.9, 0.3))
    gap = resolution_gap(labels, seen, blind, jobs, "m", "w")
    each = [resolution(labels, said, jobs, "m", "w")[0].value for said in (seen, blind)]
    assert gap.value == pytest.approx(each[0] - each[1]) and gap.low < gap.value < gap.high and gap.low > 0
    assert np.isnan(stereotype_gap([], [], "stereotype").value)


def test_stereotypes_by_hand_and_by_chance():
    found = stereotypes(
        ["stereotype"] * 30 + ["anti-stereotype"] * 50 + ["unrelated"] * 15 + ["unparsed"] * 5, "stereotype"
    )
    assert found.value == 0.3 and found.n == 100 and found.low < 0.3 < found.high
    assert np.isnan(stereotypes([], "stereotype").value)
    printed = pd.read_csv(PUBLISHED / "mapping_vlstereoset.csv")
    assert printed.vlbs_pct.between(0, 100).all() and (printed.vlbs_pct > 100 * bench.chance_accuracy([3])).mean() > 0.7


def test_published_constant_answers_follow_from_macro_f1_and_their_dpr_is_no_fairness():
    """Always Yes, always No: the text-only cells of CelebA follow, and the ratio of always No is no number."""
    printed = pd.read_csv(PUBLISHED / "mapping_f1_dpr.csv")
    blond = printed[(printed.dataset == "CelebA") & (printed.category == "Blond Hair") & (printed.input == "text only")]
    labels = ["Yes"] * 133 + ["No"] * 867  # 13.3 % of the test set are labelled blond
    for answer, cell in (("Yes", 11.76), ("No", 46.43)):
        row = blond[blond.macro_f1_pct == cell].iloc[0]
        found = performance(labels, [answer] * 1000, ("Yes", "No"))["macro_f1"]
        assert 100 * found.value == pytest.approx(row.macro_f1_pct, abs=0.05)
        fair = fairness(labels, [answer] * 1000, ["x", "y"] * 500, ("Yes", "No"), positive="Yes").figures["dpr"]
        if answer == "Yes":
            assert fair.value == row.demographic_parity_ratio == 1
        else:
            assert np.isnan(fair.value) and fair.why == "answered for nobody: Yes"
            assert row.demographic_parity_ratio == np.inf
    finite = printed.demographic_parity_ratio[np.isfinite(printed.demographic_parity_ratio)]
    assert finite.between(0, 1).all() and printed.macro_f1_pct.dropna().between(0, 100).all()


def test_chance_is_what_many_random_answers_give():
    rng = np.random.default_rng(0)
    labels = rng.choice(CLASSES, 20_000, p=[0.6, 0.2, 0.15, 0.05])
    table = bench.crosstab(labels, rng.choice(CLASSES, 20_000), CLASSES)
    assert float(bench.accuracy(table)) == pytest.approx(bench.chance_accuracy([4] * 10), abs=0.01)
    assert float(bench.macro_f1(table)) == pytest.approx(bench.chance_f1(table), abs=0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda: performance(["a"], [], ("a", "b")),
        lambda: performance(["z"], ["a"], ("a", "b")),
        lambda: performance(["a"], ["a"], ("a",)),
        lambda: performance(["a"], ["a"], ("a", "a")),
        lambda: fairness(["a"], ["a"], [], ("a", "b")),
        lambda: fairness(["a"], ["a"], ["x"], ("a", "b"), positive="c"),
        lambda: resolution(["neutral"], ["m"], ["job"], "m", "w"),
        lambda: bench.accuracy([[1, 2]]),
        lambda: bench.macro_f1([[1, -1, 0], [0, 0, 0]]),
        lambda: bench.crosstab(["z"], ["a"], ("a", "b")),
    ],
)
def test_wrong_calls(call):
    with pytest.raises(ValueError, match=r"needed|none of|must|needs"):
        call()


@pytest.mark.parametrize("worse", [0, 0.2])
def test_a_balanced_design_is_kept_when_items_are_drawn_anew(worse):
    """As in the starter: as many items of each label in each group, and most of them right."""
    rng, names, held = np.random.default_rng(2), ["0", "1", "2"], 0
    groups, labels = np.repeat(["x", "y", "z"], 90), np.tile(np.repeat(names, 30), 3)
    right = np.array([0.95, 0.95, 0.95 - worse])
    rates = np.array([[r / 3 + (1 - r) * (c == 0) for c in range(3)] for r in right])
    rates[:, 0] = 1 - rates[:, 1:].sum(axis=1)
    truth = float(np.mean(rates.min(axis=0) / rates.max(axis=0)))
    for _ in range(20):
        hit = rng.random(270) < np.repeat(right, 90)
        said = np.where(hit, labels, "0")
        found = fairness(labels.tolist(), said.tolist(), groups.tolist(), names)
        for one in (*found.figures.values(), *(row["dpr"] for row in found.by_class.values())):
            assert one.low <= one.value <= one.high
        held += found.figures["dpr"].low <= truth <= found.figures["dpr"].high
        assert found.even["dpr"].value > 0.85  # not the 0.7 that labels thrown anywhere would give
    assert held >= 16
    held = {"side": groups.tolist()}
    gap = effectiveness(labels.tolist(), said.tolist(), ["1"] * 3 + ["0"] * 267, names, held)["dpr side"]
    assert gap.low <= gap.value <= gap.high and gap.why.endswith("for 2")
    none = effectiveness(labels.tolist(), said.tolist(), ["0"] * 270, names, held)["dpr side"]
    assert np.isnan(none.value) and none.n == 270
    assert none.why == "without it everybody got the same answer, so no ratio tells anything"


def test_where_labels_follow_groups_no_test_tells_them_apart():
    """Men right 98 of 100, women 50 of 100, and the label is the group: nothing can be said of groups as such."""
    labels = ["man"] * 100 + ["woman"] * 100
    said = ["man"] * 98 + ["woman"] * 2 + ["woman"] * 50 + ["man"] * 50
    found = fairness(labels, said, labels, ("man", "woman"))
    assert np.isnan(found.chance["accuracy"]) and np.isnan(found.chance["answers given labels"])
    assert found.figures[ACCURACY_GAP].value == pytest.approx(0.48) and found.figures[ACCURACY_GAP].low > 0.3
    nearly = [label if n % 20 else "xy"[label == "man"] for n, label in enumerate(labels)]
    groups = ["x" if name in ("man", "x") else "y" for name in nearly]
    assert np.isnan(fairness(labels, said, groups, ("man", "woman")).chance["accuracy"])


def test_a_perfect_model_is_uneven_in_answers_only_as_labels_are():
    labels = ["a"] * 90 + ["b"] * 10 + ["a"] * 10 + ["b"] * 90
    found = fairness(labels, labels, ["x"] * 100 + ["y"] * 100, ("a", "b")).chance
    assert found["answers"] < 0.01 and found["answers given labels"] > 0.05


@pytest.mark.parametrize("size", [3, 10])
def test_the_accuracy_gap_of_few_items_has_a_wide_interval(size):
    labels, groups = ["a", "b"] * size, ["x"] * size + ["y"] * size
    said = labels[:size] + ["b" if label == "a" else "a" for label in labels[size:]]
    gap = fairness(labels, said, groups, ("a", "b")).figures[ACCURACY_GAP]
    assert gap.value == 1 and gap.low < 1 - 1 / size and gap.high == 1
