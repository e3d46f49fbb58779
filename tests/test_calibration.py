"""Calibration and agreement: by hand, and correlations against SciPy."""

import numpy as np
import pytest
from scipy import stats

from backend.metrics.calibration import agreement, calibrate, pearson, spearman


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, 50)
    y = x + rng.integers(0, 10, 50)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)


@pytest.mark.parametrize(("x", "y"), [([1, 2], [2, 3]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5])])
def test_no_correlation_can_be_said(x, y):
    assert np.isnan(pearson(x, y))
    assert np.isnan(spearman(x, y))


def test_pairs_with_a_missing_value_are_left_out():
    found = calibrate([0.1, 0.2, np.nan], [0.1, 0.4, 0.5], [0, 0.3, 0], [1, 0.5, 1])
    assert (found.pairs, found.covered) == (2, 1)
    assert found.error == pytest.approx(0.1)
    assert found.bias == pytest.approx(0.1)
    assert found.coverage == 0.5


def test_nothing_to_calibrate():
    found = calibrate([], [], [], [])
    assert found.pairs == 0
    assert np.isnan([found.error, found.bias, found.coverage]).all()


def test_agreement_of_nothing_and_of_one_word():
    assert np.isnan(agreement([], []).share)
    one = agreement(["a", "a"], ["a", "a"])
    assert one.share == 1
    assert np.isnan(one.kappa)
    with pytest.raises(ValueError, match="same length"):
        agreement(["a"], [])
