"""Sharpness, its ratio and homogeneity: against plain loops, and in simulations where the truth is known."""

import numpy as np
import pytest

from backend.metrics.sharpness import (
    FEWEST,
    WEIGHTS,
    WHITE,
    encoded,
    gradients,
    gram,
    homogeneity,
    linear,
    luminance,
    oval,
    sharpness,
    sharpness_intervals,
    sharpness_ratio,
)


def fields(count, shared, random, pixels=50):
    """Gradient fields of faces that share a part, each with noise of its own strength."""
    strength = np.exp(0.2 * random.normal(size=(count, 1, 1)))
    return shared + strength * random.normal(size=(count, 2, pixels))


def norms(values):
    return np.sqrt(np.mean(np.sum(values**2, axis=-2), axis=-1))


def of_group(values):
    """Ratio and homogeneity of a group's fields."""
    each = norms(values)
    average = norms(values.mean(axis=0))
    return sharpness_ratio(average, each.mean()), homogeneity(average, each)


def test_srgb_and_back():
    assert encoded(linear()).tolist() == list(range(256))
    assert (np.diff(linear().astype(int)) > 0).all()
    assert sum(WEIGHTS) == pytest.approx(1)
    assert luminance(np.full((2, 3), WHITE)) == pytest.approx(1)


def test_the_oval_keeps_within_the_picture():
    inside = oval()
    assert not (inside[:2].any() or inside[-2:].any() or inside[:, :2].any() or inside[:, -2:].any())
    assert inside.sum() == pytest.approx(np.pi * 72 * 84, rel=0.002)
    rows, columns = np.nonzero(inside)
    assert (rows.mean(), columns.mean()) == (pytest.approx(144.5), pytest.approx(127.5))


def test_gradients_against_numpy():
    light = np.random.default_rng(0).uniform(size=(256, 256))
    down, across = np.gradient(light)
    assert gradients(light)[0] == pytest.approx(across[oval()])
    assert gradients(light)[1] == pytest.approx(down[oval()])
    assert sharpness(light) == pytest.approx(np.sqrt(np.mean((across**2 + down**2)[oval()])))


def test_sharpness_falls_with_blur_and_grows_with_contrast():
    light = np.random.default_rng(0).uniform(size=(256, 256))
    blurred = sum(np.roll(light, (y, x), (0, 1)) for y in range(3) for x in range(3)) / 9
    assert sharpness(blurred) < sharpness(light) / 2
    assert sharpness(light / 2) == pytest.approx(sharpness(light) / 2)
    assert sharpness(1 - light) == pytest.approx(sharpness(light))


def test_homogeneity_is_the_mean_over_pairs():
    random = np.random.default_rng(1)
    values = fields(9, random.normal(size=(2, 50)), random)
    products = [
        np.mean(np.sum(values[i] * values[j], axis=0)) for i in range(len(values)) for j in range(len(values)) if i != j
    ]
    assert of_group(values)[1] == pytest.approx(np.sqrt(np.mean(products)) / norms(values).mean())
    for i in range(9):
        assert gram(values)[i, i] == pytest.approx(norms(values)[i] ** 2)
    assert gram(values)[2, 5] == pytest.approx(np.mean(np.sum(values[2] * values[5], axis=0)))


def test_both_stay_within_0_and_1():
    random = np.random.default_rng(2)
    for count in (2, 3, 10, 40):
        for share in (0, 0.1, 1, 10):
            ratio, alike = of_group(fields(count, share * random.normal(size=(2, 50)), random))
            assert 0 <= alike <= 1
            assert alike <= ratio <= 1
    same = np.tile(fields(1, 0, random), (7, 1, 1))
    assert of_group(same) == pytest.approx((1, 1))
    opposed = np.concatenate([same[:1], -same[:1]])
    assert of_group(opposed) == pytest.approx((0, 0))


def test_what_cannot_be_said():
    assert np.isnan(homogeneity(0.1, [0.1]))
    assert np.isnan(homogeneity(0.0, []))
    assert np.isnan(homogeneity(0.0, [0.0, 0.0]))
    assert np.isnan(sharpness_ratio(0.0, 0.0))
    assert np.isnan(sharpness_intervals(np.ones((FEWEST - 1,) * 2))).all()
    assert np.isnan(sharpness_intervals(np.zeros((9, 9)))).all()
    one = np.zeros((9, 9))
    one[0, 0] = 1
    for low, high in sharpness_intervals(one):
        assert 0 <= low <= high <= 1


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_homogeneity_does_not_depend_on_n_and_the_ratio_does(share):
    """Groups of 10 and of 160 from one population: the same homogeneity on average, a smaller ratio."""
    random = np.random.default_rng(3)
    shared = share * random.normal(size=(2, 50))
    means = {n: np.mean([of_group(fields(n, shared, random)) for _ in range(60)], axis=0) for n in (10, 160)}
    if share:
        assert means[10][1] == pytest.approx(means[160][1], abs=0.02)
    else:
        assert means[160][1] < means[10][1] < 0.1
        assert means[160][0] == pytest.approx(means[10][0] / 4, rel=0.1)
    assert means[160][0] < means[10][0]


@pytest.mark.parametrize(("share", "n"), [(0.1, 30), (0.5, 30), (1.0, 30), (1.0, 8)])
def test_intervals_cover_the_truth(share, n):
    """Of 150 groups, about 95 in 100 have an interval that holds what endless faces would give; small ones fewer."""
    random = np.random.default_rng(4)
    shared = share * random.normal(size=(2, 50))
    many = fields(20_000, shared, random)
    each, pairs = norms(many), norms(shared) ** 2
    truth = np.sqrt(pairs + (np.mean(each**2) - pairs) / n) / each.mean(), np.sqrt(pairs) / each.mean()
    held = np.zeros(2)
    for _ in range(150):
        ends = sharpness_intervals(gram(fields(n, shared, random)), draws=300)
        held += [low <= value <= high for value, (low, high) in zip(truth, ends, strict=True)]
    assert (held / 150 >= (0.88 if n >= 30 else 0.8)).all(), held / 150


def test_a_face_drawn_twice_is_not_alike():
    """Faces without anything in common: pairs of a face with itself would make the interval begin well above 0."""
    random = np.random.default_rng(5)
    products = gram(fields(12, 0, random, pixels=4000))
    (low, high) = sharpness_intervals(products)[1]
    assert low == 0
    assert high < 0.1
