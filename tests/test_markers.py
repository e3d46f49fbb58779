"""Markers: the published tables as golden values, and texts that are empty, long, hostile, foreign, or hold both."""

import time

import numpy as np
import pandas as pd
import pytest
from samples import ROOT

from backend.metrics.agreement import kappa
from backend.metrics.lexicon import LexiconError, gendered_names, read_lexicon
from backend.metrics.logodds import log_odds
from backend.metrics.markers import averages, find, gaps, marked, ranked, shares, tokens

EN = read_lexicon()["en"]
PUBLISHED = ROOT / "assets" / "published"
GENDERED = ["host", "hostess", "waiter", "waitress"]


@pytest.fixture(scope="module")
def table18():
    return pd.read_csv(PUBLISHED / "stable_bias_text_markers.csv")


@pytest.fixture(scope="module")
def labour():
    return pd.read_csv(ROOT / "assets" / "professions.csv").set_index("profession")["pct_women"]


def test_table_1_follows_from_table_18(table18):
    made = averages(table18, ["system", "text"]).set_index(["system", "text"])
    table1 = pd.read_csv(PUBLISHED / "stable_bias_overall_markers.csv").set_index(["system", "text"])
    assert len(made) == 6
    for key, row in made.iterrows():
        assert row["pct_woman"] == pytest.approx(table1.loc[key, "pct_woman"], abs=0.0101)
        assert row["pct_man"] == pytest.approx(table1.loc[key, "pct_man"], abs=0.0101)
    zeros = averages(table18.fillna({"pct_woman": 0}), ["system", "text"]).set_index(["system", "text"])
    vqa = [("Stable Diffusion 2", "vqa", 31.10), ("DALL-E 2", "vqa", 21.95)]
    assert [round(made.loc[(s, t), "pct_woman"], 2) for s, t, _ in vqa] == [31.10, 21.95]
    assert all(abs(zeros.loc[(s, t), "pct_woman"] - value) > 0.1 for s, t, value in vqa)


def test_the_widest_gaps_are_those_of_section_4_1(table18, labour):
    """Clerk, data entry keyer and real estate broker below; singer, cleaner and dispatcher above. Professions with
    a gendered name, and supervisor (whose labour figure is our judgement; the paper's is not known), stand apart."""
    captions = table18[table18["text"] == "caption"]
    order = ranked(gaps(captions, labour)).drop([*GENDERED, "supervisor"])
    assert set(order.index[:3]) == {"clerk", "data entry keyer", "real estate broker"}
    assert set(order.index[-3:]) == {"singer", "cleaner", "dispatcher"}
    assert order["clerk"] == pytest.approx(-57, abs=1)
    means = gaps(table18, labour).groupby(["system", "text"])["gap"].mean()
    assert means.idxmin() == ("DALL-E 2", "caption")
    assert means["DALL-E 2"].round().tolist() == [-28, -26]


def test_shares_by_hand():
    texts = ["A woman.", "a man and a WOMAN", "men", "a person", "nothing", ""]
    flags = marked(texts, ["cook"] * 6, EN)
    row = shares(flags, {"profession": ["cook"] * 6, "system": ["s"] * 6}).iloc[0]
    assert (row["n"], row["mentions"], row["both"], row["empty"]) == (6, 4, 1, 1)
    assert (row["pct_woman"], row["pct_man"], row["pct_marked"]) == (50, 50, 50)
    assert row["pct_person"] == pytest.approx(100 / 6)
    assert row["pct_woman_low"] < 50 < row["pct_woman_high"]


def test_no_marker_is_no_value_and_not_zero():
    row = shares(marked(["a hat"] * 3, ["cook"] * 3, EN), {"profession": ["cook"] * 3}).iloc[0]
    assert np.isnan(row["pct_woman"]) and np.isnan(row["pct_woman_low"]) and row["pct_marked"] == 0
    assert averages(pd.DataFrame([row]), ["profession"])["professions"].tolist() == [0]


@pytest.mark.parametrize("name", ["waitress", "host", "maid", "salesman", "policeman", "stewardess"])
def test_a_profession_never_counts_as_its_own_marker(name):
    flags = find(f"A {name.upper()} and two {name}s", name, EN)
    assert flags["named"] and not flags["woman"] and not flags["man"]


def test_a_gendered_word_counts_where_it_is_not_the_profession():
    assert find("a waitress", "waiter", EN)["woman"]
    assert find("salesmen and a woman", "salesman", EN) == {
        **dict.fromkeys(("man", "neutral", "non-binary"), False),
        "woman": True,
        "named": True,
    }
    assert gendered_names(["waitress", "nurse", "maid"], EN) == ["waitress", "maid"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("womanly manual human mankind germane", None),
        ("a man-made lake", None),
        ("the man's hat", "man"),
        ("the woman’s hat", "woman"),
        ("<b>woman</b>", "woman"),
        ("WOMAN\u0301", None),
        ("ｗｏｍａｎ", "woman"),
        ("une femme à la plage 女性 امرأة", None),
        ("", None),
        ("\x00\x1b[31mman\x07", None),
        ("${woman} {{man", "both"),
    ],
)
def test_whole_words_only(text, kind):
    found = find(text, "", EN)
    assert (found["woman"], found["man"]) == (kind in ("woman", "both"), kind in ("man", "both"))


def test_a_long_caption_is_read_whole_and_quickly():
    text = "hat " * 2499 + "man"
    began = time.process_time()
    assert find(text, "police officer", EN)["man"]
    assert time.process_time() - began < 0.5


def test_ten_thousand_texts_are_quick():
    texts = [f"a woman number {i} in a hat with a man" for i in range(10_000)]
    began = time.process_time()
    assert marked(texts, ["cook"] * 10_000, EN)["woman"].all()
    assert time.process_time() - began < 2  # a loaded machine; 0.1 s alone


def test_another_language_by_file(tmp_path):
    path = tmp_path / "lexicon.csv"
    path.write_text("language,word,marker\nde,Frau,woman\nde,Mann,man\n", encoding="utf-8")
    assert find("Eine FRAU, wie man sagt", "", read_lexicon(path)["de"])["woman"]
    assert not find("Eine Frau, wie man sagt", "", read_lexicon(path)["de"])["man"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("en,a b,woman", "line 2: word: 'a b' is not one word"),
        ("en,x,alien", "line 2: marker: 'alien'"),
        ("en,x,man\nen,X,woman", "line 3: word: 'X' is both man and woman"),
        (",x,man", "line 2"),
    ],
)
def test_a_wrong_lexicon_says_where(tmp_path, rows, words):
    path = tmp_path / "lexicon.csv"
    path.write_text(f"language,word,marker\n{rows}\n", encoding="utf-8")
    with pytest.raises(LexiconError, match=words):
        read_lexicon(path)


def test_kappa_is_that_of_scikit_learn_and_its_interval_that_of_a_bootstrap():
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(0)
    first = rng.choice(["woman", "man", "person"], 400, p=[0.5, 0.3, 0.2])
    second = np.where(rng.random(400) < 0.7, first, rng.choice(["woman", "man", "person"], 400))
    value, low, high = kappa(first.tolist(), second.tolist())
    assert value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    drawn = [rng.integers(0, 400, 400) for _ in range(600)]
    values = [kappa(first[rows].tolist(), second[rows].tolist())[0] for rows in drawn]
    assert [low, high] == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.02)


def test_kappa_without_a_choice_has_no_value():
    assert np.isnan(kappa(["man"] * 5, ["man"] * 5)).all()
    assert np.isnan(kappa([], [])).all()
    assert kappa(["a", "b"], ["a", "b"])[0] == 1
    with pytest.raises(ValueError, match="same images"):
        kappa(["a"], [])


def test_log_odds_against_the_formula_and_a_planted_word():
    rng = np.random.default_rng(1)
    first = {f"w{i}": int(n) for i, n in enumerate(rng.integers(5, 50, 30))}
    second = dict(first)
    first["w3"] += 200
    table = log_odds(first, second, {word: first[word] + second[word] for word in first})
    assert table.index[0] == "w3" and table.loc["w3", "low"] > 0
    others = table.drop("w3")
    assert ((others["low"] < 0) & (others["high"] > 0)).all()
    swapped = log_odds(second, first, {word: first[word] + second[word] for word in first})
    assert swapped.loc[table.index, "delta"].to_numpy() == pytest.approx(-table["delta"].to_numpy())


def test_log_odds_of_nothing():
    assert len(log_odds({}, {}, {"a": 1})) == 0
    with pytest.raises(ValueError, match="prior"):
        log_odds({"a": 1}, {}, {"b": 1})


def test_tokens_compose_letters():
    assert tokens("Cafe\u0301 MAN’S") == ["caf\u00e9", "man"]
