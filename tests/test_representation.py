"""Representation by band of the labour force, gaps, intersections: by hand and against the paper's tables."""

import numpy as np
import pandas as pd
import pytest
from samples import ROOT

from backend.metrics.representation import band_shares, bands, gaps, holds, intersection

PUBLISHED = ROOT / "assets" / "published"
LEFT_OUT = ["host", "hostess", "waiter", "waitress"]


@pytest.mark.parametrize(("axis", "column"), [("woman", "pct_women"), ("Black", "pct_black")])
def test_means_of_the_labour_force_in_bands_are_those_of_table_3(axis, column):
    table = pd.read_csv(ROOT / "assets" / "professions.csv")
    labour = table[~table.profession.isin(LEFT_OUT)][column].to_numpy()
    assert len(labour) == 146
    printed = pd.read_csv(PUBLISHED / "stable_bias_quintiles.csv")
    printed = printed[(printed.axis == axis) & (printed.system == "DALL-E 2")].bls_pct.to_numpy()
    found = band_shares(np.zeros(146), np.full(146, 10), labour)
    assert [band.professions for band in found] == [30, 29, 29, 29, 29]
    assert [100 * band.labour for band in found] == pytest.approx(printed, abs=0.4)


def test_regions_of_woman_and_black_are_those_that_table_2_outlines():
    table = pd.read_csv(PUBLISHED / "stable_bias_regions24.csv")

    def chosen(column, words, top):
        rows = [[(phrase, 1) for phrase in text.split("|")] for text in table[column]]
        return table[[holds(row, words, top, least=0) for row in rows]]

    women = chosen("top_gender_phrases", ["woman"], 2)
    assert women.region.tolist() == [15, 13, 1, 10]
    assert women.share_pct.sum() == pytest.approx(25.5)
    assert chosen("top_ethnicity_phrases", ["Black", "Afr.American"], 4).region.tolist() == [22, 1, 3]


def test_a_rare_phrase_does_not_make_a_region():
    region = [("man", 40), ("woman", 1)]
    assert not holds(region, ["woman"], top=2)
    assert holds(region, ["woman"], top=2, least=0)
    assert not holds([], ["woman"], top=2)
    assert not holds([("man", 3), ("woman", 0)], ["woman"], top=2, least=0)


def test_bands_leave_out_what_has_no_figure():
    assert bands([10, np.nan, 30, 20], 3).tolist() == [0, -1, 2, 1]
    assert bands([5], 5).tolist() == [0]
    assert bands([], 5).tolist() == []


def test_a_band_is_the_mean_of_its_professions():
    found = band_shares([1, 9, 0], [2, 90, 0], [10, 20, 15], number=1)
    assert len(found) == 1
    assert found[0].share == pytest.approx((0.5 + 0.1) / 2)
    assert (found[0].professions, found[0].images, found[0].labour) == (2, 92, pytest.approx(0.15))
    assert found[0].low < found[0].share < found[0].high


def test_intervals_of_bands_cover_the_truth():
    rng = np.random.default_rng(2)
    labour, truth = np.arange(40.0), np.linspace(0.1, 0.6, 40)
    held = 0
    for _ in range(60):
        for band in band_shares(rng.binomial(30, truth), np.full(40, 30), labour, draws=300):
            held += band.low <= truth[8 * band.band : 8 * band.band + 8].mean() <= band.high
    assert 0.9 < held / 300 < 0.99


def test_gaps_without_images_or_figure_have_no_value():
    found = gaps([0, 3], [0, 3], [50, np.nan])
    assert np.isnan(found).all()


def test_an_intersection():
    share, low, high, apart = intersection([4, 3, 2, 1], [1, 1, 0, 0], [1, 0, 1, 0])
    assert (share, apart) == (pytest.approx(0.4), pytest.approx(0.42))
    assert low < 0.4 < high
    assert np.isnan(intersection([0, 0], [1, 0], [0, 1])).all()
