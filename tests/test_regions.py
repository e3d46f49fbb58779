"""Ward's method, its cuts and the nearest region, against scikit-learn and by hand."""

import numpy as np
import pytest
from vectors import cloud

from backend import regions
from backend.regions import (
    RegionError,
    assign,
    central,
    check_identities,
    cut,
    distances,
    means,
    merges,
    top,
    unit_rows,
)


@pytest.mark.parametrize("seed", range(3))
def test_cuts_are_those_of_scikit_learn_up_to_names(seed):
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.metrics import adjusted_rand_score

    rows = cloud(seed=seed)
    joined = merges(rows)
    for k in (1, 2, 12, 24, 48, 299, 300):
        theirs = AgglomerativeClustering(k).fit_predict(rows)
        ours = cut(joined, k)
        assert adjusted_rand_score(theirs, ours) == 1
        assert set(ours) == set(range(k))


def test_distances_are_those_of_scipy():
    from scipy.spatial.distance import pdist

    rows = cloud(2500, 8)
    assert np.abs(distances(rows) - pdist(rows)).max() < 1e-7


def test_regions_are_numbered_by_size_and_of_equal_ones_by_the_smallest_row():
    angles = np.array([90, 0, 1, 2, 91, 180, 181, 270, 271])
    rows = np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], axis=1)
    assert cut(merges(rows), 4).tolist() == [1, 0, 0, 0, 1, 2, 2, 3, 3]


def test_regions_do_not_depend_on_chance():
    rows = cloud()
    assert (merges(rows) == merges(rows.copy())).all()


def test_means_by_hand():
    rows = np.array([[1.0, 0], [0, 1], [0, 1], [0, -1]])
    found = means(rows, np.array([0, 0, 1, 2]), 3)
    assert found.dtype == np.float32
    assert np.allclose(found, [[0.5**0.5, 0.5**0.5], [0, 1], [0, -1]])
    with pytest.raises(RegionError, match="length 0"):
        means(np.array([[1.0, 0], [-1, 0]]), np.array([0, 0]), 1)


def test_the_nearest_region_against_a_plain_loop(monkeypatch):
    monkeypatch.setattr(regions, "BLOCK", 64)
    vectors = (cloud(200) * 3).astype("float16")
    centroids = means(cloud(60), cut(merges(cloud(60)), 7), 7)
    found = assign(vectors, centroids)
    for row, vector in enumerate(vectors.astype(float)):
        products = sorted(((vector / np.linalg.norm(vector)) @ c, -place) for place, c in enumerate(centroids))
        assert found.region[row] == -products[-1][1]
        assert found.margin[row] == pytest.approx(products[-1][0] - products[-2][0], abs=1e-5)
    assert (found.margin >= 0).all()


def test_of_equally_near_regions_the_first_counts_and_the_margin_is_0():
    found = assign(np.array([[1.0, 1.0]]), np.array([[1, 0], [0, 1]], "float32"))
    assert (found.region[0], found.margin[0]) == (0, 0)


def test_with_one_region_the_margin_is_the_product():
    found = assign(np.array([[3.0, 4.0]]), np.array([[1, 0]], "float32"))
    assert found.region[0] == 0
    assert found.margin[0] == pytest.approx(0.6)


@pytest.mark.parametrize(("bad", "words"), [(np.nan, "no finite number"), (np.inf, "no finite"), (0, "length 0")])
def test_vectors_that_cannot_be_used(bad, words):
    vectors = np.ones((3, 2), "float32")
    vectors[1] = bad
    with pytest.raises(RegionError, match=words):
        assign(vectors, np.array([[1, 0]], "float32"))
    with pytest.raises(RegionError, match=words):
        unit_rows(vectors)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.empty((0, 2)), "has no identities .* --regions-from"),
        (np.eye(11), "11 identities cannot make 12 regions: generate more, or give --k 11"),
        (np.ones((20, 2)), "vectors are all alike, too few for 12 regions"),
        (np.eye(4)[np.arange(20) % 4], "vectors are only 4 different ones, too few for 12"),
    ],
)
def test_identities_that_make_no_regions(rows, words):
    with pytest.raises(RegionError, match=words):
        check_identities(rows, 12)


def test_the_most_central_rows_come_first():
    vectors = np.array([[1, 0], [0, 1], [1, 1], [2, 1], [0, 5]], "float16")
    rows, labels = np.array([0, 1, 2, 3, 4]), np.array([0, 1, 0, 0, 1])
    assert central(vectors, rows, labels, np.eye(2, dtype="float32")) == [[0, 3, 2], [1, 4]]
    assert central(vectors, rows[:1], labels[:1], np.eye(2, dtype="float32")) == [[0], []]


def test_phrases_are_counted_the_most_frequent_first():
    assert top(np.array(["b", "a", "c", "c"])) == (("c", 2), ("a", 1), ("b", 1))
    assert top([]) == ()


def test_a_sample_is_fixed_and_says_so(monkeypatch):
    rows, note = regions.sample(20_000)
    assert len(rows) == 20_000
    assert note == ""
    monkeypatch.setattr(regions, "MOST_IDENTITIES", 100)
    rows, note = regions.sample(1234)
    assert len(set(rows)) == 100
    assert (np.diff(rows) > 0).all()
    assert (rows == regions.sample(1234)[0]).all()
    assert "100 of the 1,234 identities" in note
