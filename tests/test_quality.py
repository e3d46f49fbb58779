"""How regions are judged: by hand, at their extremes, and against what the paper's tables determine."""

import csv
import math

import numpy as np
import pytest
from samples import ROOT
from vectors import cloud

from backend.metrics.entropy import entropy_bits
from backend.quality import REFITS, prompt_entropy, prompt_numbers, stability
from backend.regions import cut, merges

PUBLISHED = ROOT / "assets" / "published"


def rows_of(name):
    with (PUBLISHED / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_entropy_at_its_ends():
    assert entropy_bits([1] * 8) == 3
    assert entropy_bits([0, 7, 0]) == 0
    assert math.isnan(entropy_bits([0, 0]))
    assert entropy_bits([[1, 0], [1, 0]], axis=0).tolist()[0] == 1
    with pytest.raises(ValueError, match="0 or more"):
        entropy_bits([-1, 2])


def test_the_mean_over_prompts_and_not_over_images():
    prompts = np.array([0] * 8 + [1] * 2)
    regions = np.array([0] * 8 + [0, 1])
    mean, low, high, number = prompt_entropy(prompts, regions, 5)
    assert (mean, number) == (0.5, 2)
    assert (low, high) == (0, 1)
    assert prompt_entropy(np.arange(9), np.zeros(9, int), 3)[:3] == (0, 0, 0)
    with pytest.raises(ValueError, match="no image"):
        prompt_entropy(np.array([], int), np.array([], int), 3)


def test_prompts_are_told_apart_by_all_their_words():
    numbers = prompt_numbers([np.array(["man", "woman", "man"]), np.array(["dark", "dark", "light"])])
    assert len(set(numbers)) == 3


def composition(axis):
    """Share of each phrase in each region of the paper's Table 8: (regions, phrases)."""
    rows = [row for row in rows_of("stable_bias_cluster_composition.csv") if row["clusters"] == "12"]
    phrases = sorted({row["phrase"] for row in rows if row["axis"] == axis})
    table = np.zeros((12, len(phrases)))
    for row in rows:
        if row["axis"] == axis:
            table[int(row["cluster"]), phrases.index(row["phrase"])] = float(row["pct"]) / 100
    return table


def test_the_paper_s_entropy_lies_where_its_composition_lets_it():
    """Table 5 gives 1.10 bits for 12 regions. Table 8 tells the phrases of each region; with 120 images a word of
    ethnicity and 510 a word of gender, sizes follow. The regions of a prompt vary at most as much as those of its word
    of ethnicity alone, and at least as much less the information in the word of gender (2 bits)."""
    tables = {axis: composition(axis) for axis in ("gender", "ethnicity")}
    each = {"gender": 510, "ethnicity": 120}
    equations = np.concatenate([table.T for table in tables.values()])
    totals = np.concatenate([[each[axis]] * table.shape[1] for axis, table in tables.items()])
    sizes = np.linalg.lstsq(equations, totals, rcond=None)[0]
    assert sizes.sum() == pytest.approx(2040, rel=0.01)
    by_word = {axis: entropy_bits((sizes[:, None] * table).T.clip(0)).mean() for axis, table in tables.items()}
    published = {row["clusters"]: float(row["entropy_bits"]) for row in rows_of("stable_bias_cluster_entropy.csv")[:3]}
    assert by_word["ethnicity"] - 2 < published["12"] < min(by_word.values())
    assert entropy_bits(sizes) > by_word["ethnicity"]


def test_regions_that_are_far_apart_are_stable_and_noise_is_not():
    clear = cloud(200, 20, groups=5, seed=3) + np.repeat(np.eye(5), 40, axis=0) @ np.eye(5, 20) * 50
    clear /= np.linalg.norm(clear, axis=1, keepdims=True)
    joined = merges(clear)
    mean, low, high = stability(clear, {5: cut(joined, 5)})[5]
    assert (mean, low, high) == (1, 1, 1)
    noise = np.random.default_rng(0).normal(size=(200, 50))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    unclear, low, high = stability(noise, {5: cut(merges(noise), 5)})[5]
    assert low <= unclear <= high
    assert unclear < 0.5
    assert stability(noise, {5: cut(merges(noise), 5)})[5] == (unclear, low, high)


def test_a_k_that_no_resample_allows_has_no_stability():
    rows = cloud(30)
    found = stability(rows, {k: cut(merges(rows), k) for k in (3, 30)})
    assert set(found) == {3}
    assert REFITS == 20
