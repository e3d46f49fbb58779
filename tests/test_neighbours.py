"""Searches for images that are like another: against plain ones, with filters, for several visitors at once."""

import gc
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest
from neighbour_audits import EVEN, agrees, make_neighbour_audit, plain_distances
from samples import python

from backend.neighbours import NeighbourError, Query, finders, graphs, kinds, query_of, search
from backend.neighbours.search import _AUDITS
from backend.store import Audit, StoreError

KINDS = ("colour", "colourfulness", "words", "embedding-mine")


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_neighbour_audit(tmp_path_factory.mktemp("near"))


@pytest.fixture(scope="module")
def plain(audit):
    """Distances of every two images, by kind."""
    return {kind: plain_distances(audit, kind) for kind in KINDS}


def test_every_kind_is_ready_and_says_how_it_searches(audit):
    found = {kind.name: kind for kind in kinds(audit)}
    assert tuple(found) == KINDS
    assert all(kind.ready and kind.why == "" for kind in found.values())
    assert [kind.title for kind in found.values()] == [
        "Colours",
        "Colourfulness alone",
        "Visual words (structure)",
        "Content (mine)",
    ]
    assert all("Exact: no nearer image was passed over." in kind.note for kind in found.values())
    assert f"sorted into {len(audit.neighbours.words().codebook)} kinds" in found["words"].note


def queries(kind):
    return [row for row in range(40) if kind != "words" or row not in EVEN]


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_is_what_comparing_all_gives(audit, plain, kind):
    for row in queries(kind):
        for k in (1, 10, 38, 1000):
            found = search(audit, kind, row, k)
            agrees(found, plain[kind][row], np.delete(np.arange(40), row), k)
            assert found.exact
            assert found.recall is None


@pytest.mark.parametrize("kind", KINDS)
def test_filters_are_part_of_the_search(audit, plain, kind):
    random = np.random.default_rng(1)
    for row in queries(kind):
        rows = random.permutation(40)[: random.integers(1, 41)]
        for k in (1, 5, 40):
            agrees(search(audit, kind, row, k, rows), plain[kind][row], np.setdiff1d(rows, [row]), k)


@pytest.mark.parametrize("kind", KINDS)
def test_filters_without_rows_find_nothing(audit, kind):
    for rows in (np.array([], int), np.array([]), np.array([5])):
        found = search(audit, kind, 5, 10, rows)
        assert found.rows.tolist() == found.distance.tolist() == []
    assert search(audit, kind, 5, 10, np.array([6, 6, 6])).rows.tolist() == [6]


@pytest.mark.parametrize("kind", KINDS[:3])
def test_a_picture_of_the_audit_is_at_distance_0_from_itself(audit, kind):
    for row in (1, 5, 8):
        found = search(audit, kind, query_of(audit, kind, audit.image(row)[0]), 3)
        assert (found.rows[0], found.distance[0]) == (row, 0)
        assert found.distance[1] > 0


def test_what_is_equally_near_goes_by_row():
    order = finders.nearest_of(np.array([1.0, 0.0, 1.0, 1.0, 0.0]), np.array([9, 4, 2, 7, 3]), 4)
    assert order[0].tolist() == [3, 4, 2, 7]


def test_an_image_of_one_colour_has_no_visual_words_and_says_so(audit):
    for row in EVEN:
        with pytest.raises(NeighbourError, match=r"no keypoints \(it is too even\)"):
            search(audit, "words", row, 5)
        assert len(search(audit, "colour", row, 5).rows) == 5
    found = search(audit, "words", 0, 39)
    assert set(EVEN) <= set(found.rows[found.distance == 1].tolist())


def test_distances_are_named(audit):
    assert {kind: search(audit, kind, 0, 1).distance_name.split(" (")[0] for kind in KINDS} == {
        "colour": "difference in colours",
        "colourfulness": "difference in colourfulness",
        "words": "cosine distance",
        "embedding-mine": "cosine distance",
    }


@pytest.mark.parametrize(
    ("kind", "query", "k", "rows", "words"),
    [
        ("colour", -1, 5, None, "near has no row -1: its rows go from 0 to 39"),
        ("colour", 40, 5, None, "no row 40"),
        ("colour", "0", 5, None, "no row 0"),
        ("colour", True, 5, None, "no row True"),
        ("colour", 1.0, 5, None, r"no row 1\.0"),
        ("colour", 0, 0, None, "returns 1 to 1,000 images"),
        ("colour", 0, 1001, None, "returns 1 to 1,000 images"),
        ("colour", 0, "9", None, "returns 1 to 1,000 images"),
        ("colour", 0, 5, np.array([40]), "rows must be whole numbers from 0 to 39"),
        ("colour", 0, 5, np.array([-1]), "rows must be whole numbers"),
        ("colour", 0, 5, np.array([0.5]), "rows must be whole numbers"),
        ("colour", 0, 5, np.array([[1, 2]]), "rows must be whole numbers"),
        ("taste", 0, 5, None, "no neighbours by 'taste': choose one of colour, colourfulness, words, embedding-mine"),
        (None, 0, 5, None, "no neighbours by 'None'"),
        ("embedding-other", 0, 5, None, "no neighbours by 'embedding-other'"),
        ("colour", Query("words", np.zeros(101), "now"), 5, None, "read for another search"),
        ("colour", Query("colour", np.zeros(100), "now"), 5, None, "read for another search"),
        ("colour", Query("colour", np.zeros(101), "another"), 5, None, "read for another search"),
    ],
)
def test_what_cannot_be_searched(audit, kind, query, k, rows, words):
    if isinstance(query, Query) and query.made_for == "now":
        query = replace(query, made_for=audit.manifest["sha256"])
    with pytest.raises(NeighbourError, match=words):
        search(audit, kind, query, k, rows)


def test_whole_numbers_of_numpy_are_rows(audit):
    assert (search(audit, "colour", np.int64(3), np.int32(4)).rows == search(audit, "colour", 3, 4).rows).all()


def test_several_visitors_load_once_and_find_the_same(audit, monkeypatch):
    loaded, fresh = [], Audit(audit.folder)
    real = finders.Structure.__init__
    monkeypatch.setattr(finders.Structure, "__init__", lambda self, audit: loaded.append(1) or real(self, audit))
    expected = search(audit, "words", 0, 5).rows.tolist()
    found, start = [], threading.Barrier(8)

    def visit():
        start.wait()
        found.append(search(fresh, "words", 0, 5).rows.tolist())

    threads = [threading.Thread(target=visit) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [expected] * 8
    assert len(loaded) == 1


def test_what_was_loaded_goes_with_its_audit(audit):
    fresh = Audit(audit.folder)
    search(fresh, "colour", 0, 5)
    there = weakref.ref(fresh)
    assert fresh in _AUDITS
    del fresh
    gc.collect()
    assert there() is None


def test_a_large_embedding_without_its_graph_names_the_command(audit, monkeypatch):
    monkeypatch.setattr(graphs, "MOST_EXACT", 10)
    fresh = Audit(audit.folder)
    assert kinds(fresh)[-1].why == "Not made yet. Run `python -m backend build near`."
    with pytest.raises(NeighbourError, match=r"Content \(mine\): Not made yet. Run `python -m backend build near`"):
        search(fresh, "embedding-mine", 0, 5)


def test_an_audit_that_was_not_built_names_the_command(tmp_path):
    audit = make_neighbour_audit(tmp_path / "cache", built=False)
    found = {kind.name: kind for kind in kinds(audit)}
    assert [name for name, kind in found.items() if kind.ready] == ["embedding-mine"]
    for name in ("colour", "colourfulness", "words"):
        assert found[name].why == "Not made yet. Run `python -m backend build near`."
        for call in (lambda name=name: search(audit, name, 0, 5), lambda name=name: query_of(audit, name, b"")):
            with pytest.raises(StoreError, match="python -m backend build near"):
                call()


def test_searching_imports_no_torch(audit):
    code = """
import sys
from pathlib import Path
from backend.store import Audit
from backend import neighbours
audit = Audit(Path(sys.argv[1]))
for kind in neighbours.kinds(audit):
    neighbours.search(audit, kind.name, 0, 5)
print(sorted({"torch", "transformers", "gradio", "numba", "pynndescent", "cv2"} & set(sys.modules)))
"""
    done = python(code, audit.folder)
    assert done.stdout.strip() == "[]", done.stderr
