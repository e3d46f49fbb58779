"""Diversity: hand-made counts, the paper's printed entropies, the intervals' coverage, and that no loop is needed."""

import math

import numpy as np
import pandas as pd
import pytest
from samples import ROOT

from backend.metrics.bootstrap import SHARED_UP_TO, pooled_resamples, resample
from backend.metrics.diversity import diversity_intervals, missing_bits, rank_bounds, resampled_bits
from backend.metrics.entropy import entropy_bits

PUBLISHED = ROOT / "assets" / "published"


@pytest.mark.parametrize(
    ("counts", "bits"),
    [([1, 1], 1), ([7, 0, 0], 0), ([1] * 8, 3), ([4, 2, 2], 1.5), ([3, 1], 2 - 0.75 * math.log2(3))],
)
def test_entropy_by_hand(counts, bits):
    assert entropy_bits(counts) == pytest.approx(bits)


def test_nothing_has_no_entropy():
    assert np.isnan(entropy_bits([[0, 0], [0, 0]])).all()
    assert np.isnan(diversity_intervals([[0, 0]])[0]).all()
    assert np.isnan(missing_bits([0, 0]))


@pytest.mark.parametrize("wrong", [[-1, 2], [np.nan, 1], [np.inf, 1]])
def test_wrong_counts_are_refused(wrong):
    for function in (missing_bits, resampled_bits, resample):
        with pytest.raises(ValueError, match="counts must be"):
            function(wrong)


def bounds(shares, regions):
    """The lowest and highest entropy in bits that shares of some of the regions leave: the rest in one, or spread."""
    rest, free = max(0.0, 1 - sum(shares)), regions - len(shares)
    low = sum(-p * math.log2(p) for p in (*shares, rest) if p > 0)
    return low, low + (rest * math.log2(free) if rest else 0)


def test_printed_entropies_are_bits_over_12_regions():
    """Tables 14 to 16 print four regions' shares of 120 rows; the entropy must lie between what the others allow."""
    table = pd.read_csv(PUBLISHED / "stable_bias_profession_diversity.csv")
    names = [name for name in table if name.startswith("pct_cluster")]
    outside = 0
    for row in table.itertuples():
        low, high = bounds([getattr(row, name) / 100 for name in names], 12)
        outside += not low - 0.02 <= row.entropy_bits <= high + 0.02
    assert len(table) == 120
    assert outside == 0


def test_printed_entropies_of_systems_lie_within_their_regions_shares():
    shares = pd.read_csv(PUBLISHED / "stable_bias_cluster12_share.csv")
    printed = pd.read_csv(PUBLISHED / "stable_bias_diversity.csv")
    rows = printed[(printed.embedding == "BLIP VQA") & (printed.clusters == 12) & (printed.dataset == "professions")]
    for row in rows.itertuples():
        own = shares[shares.system == row.system].pct_of_professions_images / 100
        low, high = bounds(own.tolist(), 12)
        assert low - 0.02 <= row.entropy_bits <= high + 0.02


def test_resamples_keep_their_total_and_their_mean():
    for counts in ([60, 30, 10, 0], [SHARED_UP_TO, SHARED_UP_TO // 2, 7]):
        drawn = resample(counts, draws=4000)
        assert (drawn.sum(axis=0) == sum(counts)).all()
        n, p = sum(counts), np.array(counts) / sum(counts)
        assert drawn.mean(axis=1) == pytest.approx(n * p, abs=5 * math.sqrt(n / 4000))
        assert drawn.var(axis=1) == pytest.approx(n * p * (1 - p), rel=0.15, abs=0.01)


def test_the_table_of_resamples_has_the_entropy_of_each():
    counts = [5, 3, 2]
    assert resampled_bits(counts, draws=50) == pytest.approx(entropy_bits(resample(counts, draws=50).T))


def test_intervals_do_not_depend_on_the_other_rows():
    alone = diversity_intervals([[12, 8, 10]])
    among = diversity_intervals([[1, 2, 27], [12, 8, 10], [30, 0, 0]])
    assert alone[0][0] == among[0][1]
    assert alone[1][0] == among[1][1]


def test_intervals_cover_the_truth():
    """200 samples of 60 images from known shares over 12 regions: 85 % or more of the 95 % intervals hold the truth."""
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(12, 0.5), 200)
    counts = np.stack([rng.multinomial(60, p) for p in shares])
    low, high = diversity_intervals(counts)
    truth = entropy_bits(shares)
    assert ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean() > 0.85
    assert (entropy_bits(counts) < truth).mean() > 0.6  # the plain value is too low
    assert abs((entropy_bits(counts) + missing_bits(counts) - truth).mean()) < abs(
        (entropy_bits(counts) - truth).mean()
    )


def test_pooled_shares():
    drawn = pooled_resamples([30, 0, 0], [60, 20, 0], draws=2000)
    assert drawn.mean() == pytest.approx(0.25, abs=0.01)
    assert np.isnan(pooled_resamples([0], [0], draws=2)).all()
    with pytest.raises(ValueError, match="no hit may exceed"):
        pooled_resamples([3], [2])


def test_ranks_without_an_interval_take_part_in_nothing():
    best, worst = rank_bounds([5, np.nan, 1], [6, np.nan, 2])
    assert best.tolist() == [1, 0, 2]
    assert worst.tolist() == [1, 0, 2]
