"""Colours and visual words of single pictures, weights and graphs: against other implementations."""

import numpy as np
import pytest
from neighbour_audits import drawing
from PIL import Image
from samples import noise

from backend.metrics.colour import colourfulness
from backend.neighbours import colour, words


def test_lab_agrees_with_scikit_image():
    skimage = pytest.importorskip("skimage.color")
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    assert np.abs(colour.lab(pixels) - skimage.rgb2lab(pixels)).max() < 0.02


def by_hand(pixels):
    """The histogram, pixel by pixel and corner by corner."""
    found = np.zeros((4, 5, 5))
    for values in colour.lab(pixels.reshape(-1, 3)):
        places = []
        for value, centres in zip(values, (colour.LIGHTNESS, colour.OPPONENT, colour.OPPONENT), strict=True):
            step = centres[1] - centres[0]
            place = min(max((value - centres[0]) / step, 0), len(centres) - 1)
            below = min(int(place), len(centres) - 2)
            places.append(((below, 1 - (place - below)), (below + 1, place - below)))
        for lightness, first in places[0]:
            for red, second in places[1]:
                for yellow, third in places[2]:
                    found[lightness, red, yellow] += first * second * third
    return found.ravel() / (pixels.size / 3)


@pytest.mark.parametrize("seed", range(4))
def test_histograms_agree_with_a_plain_loop(seed):
    pixels = np.asarray(noise(seed, (13, 9)) if seed % 2 else drawing(seed).resize((13, 9)))
    found = colour.histogram(pixels)
    assert np.allclose(found, by_hand(pixels))
    assert found.sum() == pytest.approx(1)


def test_features_are_colourfulness_and_roots():
    pixels = np.asarray(drawing(3).resize((40, 30)))
    found = colour.features(pixels)
    assert found.dtype == np.float32
    assert found.shape == (colour.WIDTH,)
    assert found[0] * colour.SCALE == pytest.approx(colourfulness(pixels), rel=1e-5)
    assert 2 * (found[1:] ** 2).sum() == pytest.approx(1, rel=1e-5)


def test_where_a_colour_lies_does_not_count_and_a_small_shift_is_small():
    pixels = np.asarray(drawing(3).resize((60, 60)))
    mirrored = colour.features(pixels[:, ::-1])
    assert np.linalg.norm(colour.features(pixels) - mirrored) < 1e-5
    shifted = colour.features((pixels.astype(int) + 4).clip(0, 255).astype(np.uint8))
    other = colour.features(np.asarray(drawing(4).resize((60, 60))))
    assert np.linalg.norm(colour.features(pixels) - shifted) < 0.25 * np.linalg.norm(colour.features(pixels) - other)


@pytest.mark.parametrize("size", [(1, 1), (3000, 2), (2, 3000), (64, 64), (65, 64)])
def test_pictures_of_every_shape_have_colours(size):
    assert np.isfinite(colour.features(np.asarray(noise(1, size)))).all()


@pytest.fixture(scope="module")
def found():
    """The descriptors of thirty drawings, the last one even."""
    pictures = [*(drawing(seed).convert("L") for seed in range(29)), Image.new("L", (50, 50), 9)]
    return [words.descriptors(np.asarray(picture)) for picture in pictures]


@pytest.fixture(scope="module")
def codebook(found):
    return words.make_codebook(np.concatenate(found), 30)


def test_descriptors_are_those_of_opencv(found):
    import cv2

    grey = np.asarray(drawing(0).convert("L"))
    _, theirs = cv2.SIFT_create().detectAndCompute(grey, None)
    assert len(theirs) < words.KEYPOINTS
    assert np.array_equal(found[0], theirs)
    assert found[-1].shape == (0, 128)
    many = words.descriptors(np.asarray(noise(1, (400, 400)).convert("L")))
    assert many.shape == (words.KEYPOINTS, 128)


def test_descriptors_do_not_depend_on_the_number_of_threads(found):
    import cv2

    before = cv2.getNumThreads()
    try:
        for threads in (1, 3):
            cv2.setNumThreads(threads)
            assert np.array_equal(words.descriptors(np.asarray(drawing(0).convert("L"))), found[0])
    finally:
        cv2.setNumThreads(before)


def test_roots_make_the_dot_product_bhattacharyya_s(found):
    rows = words.rooted(found[0])
    shares = found[0].astype(float) / found[0].sum(axis=1, keepdims=True)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.allclose(rows @ rows.T, np.sqrt(shares[:, None] * shares[None]).sum(axis=2), atol=1e-5)
    assert (words.rooted(np.zeros((2, 128), np.uint8)) == 0).all()


def test_a_codebook_is_the_same_again_and_not_larger_than_its_sample_allows(found, codebook):
    everything = np.concatenate(found)
    assert codebook.shape == (30, 128)
    assert np.array_equal(words.make_codebook(everything, 30), codebook)
    assert len(words.make_codebook(everything[:45], 60)) == 4
    assert len(words.make_codebook(everything[:3], 60)) == 1


def test_words_are_those_of_a_brute_force_matcher(found, codebook):
    import cv2

    for each in found:
        seen, counts = words.count_words(each, codebook)
        matches = cv2.BFMatcher().match(words.rooted(each), codebook) if len(each) else ()
        theirs = np.bincount([match.trainIdx for match in matches], minlength=30) if matches else np.zeros(30, int)
        ours = np.zeros(30, int)
        ours[seen] = counts
        assert np.array_equal(ours, theirs)


@pytest.fixture(scope="module")
def table(found, codebook):
    """Offsets, words and counts of the drawings, and the same as a dense table."""
    pairs = [words.count_words(each, codebook) for each in found]
    offsets = np.concatenate([[0], np.cumsum([len(seen) for seen, _ in pairs])])
    dense = np.zeros((len(pairs), 30), int)
    for row, (seen, counts) in enumerate(pairs):
        dense[row, seen] = counts
    return offsets, *(np.concatenate([pair[place] for pair in pairs]) for place in (0, 1)), dense


@pytest.fixture(scope="module")
def matrix(table):
    offsets, seen, counts, dense = table
    return words.weighted(offsets, seen, counts, words.inverse_frequencies(seen, len(dense), 30))


def test_weights_are_those_of_scikit_learn(table, matrix):
    from sklearn.feature_extraction.text import TfidfTransformer

    theirs = TfidfTransformer().fit_transform(table[-1]).toarray()
    assert np.allclose(matrix.toarray(), theirs, atol=1e-6)
    frequencies = words.inverse_frequencies(table[1], len(table[-1]), 30)
    for row, dense in enumerate(table[-1][:-1]):
        seen = np.flatnonzero(dense)
        assert np.allclose(words.query_vector(seen, dense[seen], frequencies), theirs[row], atol=1e-6)


def test_the_graph_of_a_few_images_is_exact(table, matrix):
    from sklearn.metrics.pairwise import cosine_similarity

    near, exact = words.graph(matrix)
    assert exact
    assert near.shape == (30, words.NEIGHBOURS)
    cosine = cosine_similarity(table[-1] * words.inverse_frequencies(table[1], 30, 30))
    np.fill_diagonal(cosine, -1)
    for row in range(29):
        assert sorted(near[row][near[row] >= 0].tolist()) == [other for other in range(29) if other != row]
        assert np.allclose(cosine[row, near[row, :28]], np.sort(cosine[row, :29])[::-1][:28], atol=1e-6)
    assert (near[29] == -1).all()
    assert words.recall(matrix, near) == (1.0, 29)


def test_recall_counts_what_a_graph_has(table, matrix):
    near, _ = words.graph(matrix)
    worse = near.copy()
    worse[:, :5] = near[:, 20:25]  # five of the true ten are gone
    worse[:, 20:25] = -1
    share, rows = words.recall(matrix, worse)
    assert rows == 29
    assert 0.5 <= share < 0.75  # ties with the tenth count


def test_an_audit_without_words_has_an_empty_graph():
    empty = words.weighted(np.zeros(4, int), np.empty(0, int), np.empty(0, int), np.ones(5))
    near, exact = words.graph(empty)
    assert exact
    assert (near == -1).all()
    assert words.recall(empty, near) == (1.0, 0)


def test_the_graph_of_many_images_is_found_by_descent_and_the_same_again(monkeypatch):
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(80, 0.2), 12)
    rows = [random.choice(80, 60, p=shares[number % 12]) for number in range(400)]
    rows[7] = np.empty(0, int)
    pairs = [np.unique(row, return_counts=True) for row in rows]
    offsets = np.concatenate([[0], np.cumsum([len(seen) for seen, _ in pairs])])
    seen, counts = (np.concatenate([pair[place] for pair in pairs]) for place in (0, 1))
    matrix = words.weighted(offsets, seen, counts, words.inverse_frequencies(seen, 400, 80))
    monkeypatch.setattr(words, "EXACT_ROWS", 100)
    near, exact = words.graph(matrix)
    assert not exact
    assert near.dtype == np.int32
    assert (near[7] == -1).all()
    assert not (near == 7).any()
    others = np.delete(np.arange(400), 7)
    assert (near[others] >= 0).all()
    assert (near != np.arange(400)[:, None]).all()
    assert all(len(set(row)) == words.NEIGHBOURS for row in near[others])
    assert words.recall(matrix, near)[0] > 0.95
    assert np.array_equal(words.graph(matrix)[0], near)
