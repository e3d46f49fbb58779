"""Colourfulness against hand-worked values and an independent float64 implementation."""

import numpy as np
import pytest

from backend.metrics.colour import colourfulness


def plain(colour, size=(5, 7)):
    return np.full((*size, 3), colour, dtype=np.uint8)


def by_the_paper(pixels):
    red, green, blue = np.moveaxis(pixels.astype(np.float64), 2, 0)
    rg, yb = red - green, 0.5 * (red + green) - blue
    return np.hypot(rg.std(), yb.std()) + 0.3 * np.hypot(rg.mean(), yb.mean())


@pytest.mark.parametrize(
    ("colour", "expected"),
    [
        ((0, 0, 0), 0.0),
        ((127, 127, 127), 0.0),
        ((255, 255, 255), 0.0),
        ((255, 0, 0), 85.53),  # 0.3 * sqrt(255^2 + 127.5^2)
        ((0, 255, 0), 85.53),
        ((0, 0, 255), 76.5),  # 0.3 * 255
        ((255, 255, 0), 76.5),
    ],
)
def test_plain_colours_by_hand(colour, expected):
    assert colourfulness(plain(colour)) == pytest.approx(expected, abs=0.005)


def test_half_red_half_cyan_by_hand():
    pixels = np.concatenate([plain((255, 0, 0)), plain((0, 255, 255))])
    # rg is 255 and -255 (mean 0, deviation 255), yb is 127.5 and -127.5: sqrt(255^2 + 127.5^2)
    assert colourfulness(pixels) == pytest.approx(285.1, abs=0.005)


@pytest.mark.parametrize("seed", range(20))
def test_random_images_agree_with_float64(seed):
    random = np.random.default_rng(seed)
    low, high = sorted(random.integers(0, 257, 2))
    pixels = random.integers(low, max(high, low + 1), (*random.integers(1, 60, 2), 3)).clip(0, 255).astype(np.uint8)
    assert colourfulness(pixels) == pytest.approx(by_the_paper(pixels), rel=1e-9, abs=1e-6)


def test_large_extreme_images_do_not_overflow():
    pixels = np.zeros((3000, 3000, 3), dtype=np.uint8)
    pixels[:1500] = (0, 0, 255)
    pixels[1500:] = (255, 255, 0)
    assert colourfulness(pixels) == pytest.approx(255.0)


def test_a_view_that_is_not_contiguous():
    pixels = np.random.default_rng(3).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    assert colourfulness(pixels[::2, ::-3]) == pytest.approx(by_the_paper(pixels[::2, ::-3]))


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (4, 4, 1), (0, 4, 3), (4, 0, 3), (1, 4, 4, 3)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="shape"):
        colourfulness(np.zeros(shape, dtype=np.uint8))
