"""Intervals against hand arithmetic, scipy and their degenerate cases."""

import numpy as np
import pytest
from scipy.stats import binomtest

from backend.metrics.intervals import multinomial_interval, wilson


def first_share(counts):
    return counts[:, 0] / counts.sum(axis=1)


@pytest.mark.parametrize("n", [1, 2, 10, 210, 1016])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_agrees_with_scipy_for_every_count(n, confidence):
    for k in sorted({0, 1, n // 3, n // 2, n - 1, n}):
        expected = binomtest(k, n).proportion_ci(confidence, method="wilson")
        assert wilson(k, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_by_hand():
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=5e-5)


def test_wilson_has_no_value_without_trials_and_keeps_missing_values_missing():
    assert np.isnan(wilson(0, 0)).all()
    low, high = wilson([np.nan, 3], [10, 10])
    assert np.isnan([low[0], high[0]]).all()
    assert 0 < low[1] < 0.3 < high[1] < 1


def test_wilson_holds_the_share_and_narrows_as_n_grows():
    shares = np.linspace(0, 1, 41)
    low, high = wilson(shares * 210, 210)
    assert ((low >= 0) & (low <= shares) & (shares <= high) & (high <= 1)).all()
    assert low[0] == 0 and high[-1] == 1 and high[0] > 0 and low[-1] < 1
    wide_low, wide_high = wilson(shares * 97, 97)
    assert (wide_high - wide_low > high - low).all()


@pytest.mark.parametrize("bad", [(11, 10, 0.95), (-1, 10, 0.95), (1, -2, 0.95), (1, 10, 1.0), (1, 10, 0.0)])
def test_wilson_refuses_what_is_no_share(bad):
    with pytest.raises(ValueError, match="must lie between"):
        wilson(*bad)


def test_multinomial_interval_of_a_share_is_close_to_wilson_and_repeats():
    found = multinomial_interval([300, 700, 16], first_share)
    assert found == multinomial_interval([300, 700, 16], first_share)
    assert found == pytest.approx(wilson(300, 1016), abs=0.005)


def test_multinomial_interval_by_hand():
    assert multinomial_interval([50, 50], first_share) == pytest.approx((0.4, 0.6), abs=0.011)


@pytest.mark.parametrize("counts", [[0, 0], [np.nan, 3], [np.inf, 3]])
def test_multinomial_interval_has_no_value_without_counts(counts):
    assert np.isnan(multinomial_interval(counts, first_share)).all()


def test_multinomial_interval_leaves_out_draws_without_a_value():
    assert np.isnan(multinomial_interval([3, 4], lambda c: np.full(len(c), np.nan))).all()
    assert multinomial_interval([5, 0], first_share) == (1.0, 1.0)
