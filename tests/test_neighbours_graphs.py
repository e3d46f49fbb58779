"""The graph by which a large embedding is searched: built, searched, and refused where a stranger made it wrong."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from neighbour_audits import agrees, everything, forget, make_neighbour_audit, plain_distances, read, refused, replaced
from samples import likeness
from strangers import seal

from backend.build import build, status
from backend.neighbours import NeighbourError, Query, graphs, kinds, search
from backend.store import Audit
from backend.store.neighbours import Links

ROWS = 40
LEVELS, LINKS = (f"neighbours/embedding-mine-{part}.npy" for part in ("levels", "links"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs, "MOST_EXACT", 10)
        return make_neighbour_audit(tmp_path_factory.mktemp("made")).folder


@pytest.fixture
def folder(made, cache, monkeypatch):
    monkeypatch.setattr(graphs, "MOST_EXACT", 10)
    shutil.copytree(made, cache / "near")
    return cache / "near"


def states(folder):
    return {row["stage"]: row["state"] for row in status(Audit(folder))}


def test_a_large_embedding_is_searched_by_a_graph(folder):
    graphed = Audit(folder)
    plain = plain_distances(graphed, "embedding-mine")
    kind = kinds(graphed)[-1]
    assert kind.ready
    assert "A graph (HNSW) is searched, which finds 100.0% of the true ten nearest (n = 40 images)" in kind.note
    random = np.random.default_rng(2)
    for row in range(40):
        found = search(graphed, "embedding-mine", row, 10)
        agrees(found, plain[row], np.delete(np.arange(40), row), 10)
        assert (found.exact, found.recall) == (False, 1.0)
        rows = random.permutation(40)[:7]
        narrow = search(graphed, "embedding-mine", row, 10, rows)
        agrees(narrow, plain[row], np.setdiff1d(rows, [row]), 10)
        assert narrow.exact
    assert len(search(graphed, "embedding-mine", 0, 1000).rows) == 39
    query = Query(
        "embedding-mine", np.asarray(graphed.vectors.embedding("mine")[4], "float32"), graphed.manifest["sha256"]
    )
    assert search(graphed, "embedding-mine", query, 1).rows.tolist() == [4]


def test_a_graph_is_made_once_and_again_when_vectors_change(folder, cache):
    near = folder
    forget(near, "neighbours-embedding-mine")
    assert build(cache, "near", 1) == ["neighbours-embedding-mine"]
    first = [(near / "neighbours" / f"embedding-mine-{part}.npy").read_bytes() for part in ("levels", "links")]
    assert build(cache, "near", 1) == []
    assert states(near)["neighbours-embedding-mine"] == "done"
    forget(near, "neighbours-embedding-mine")
    build(cache, "near", 1)
    again = [(near / "neighbours" / f"embedding-mine-{part}.npy").read_bytes() for part in ("levels", "links")]
    assert first == again  # one worker
    audit = Audit(near)
    told = audit.manifest["stages"]["neighbours-embedding-mine"]
    assert told["inputs"] == audit.vectors.inputs("mine")
    assert told["parameters"]["recall"] == 1
    vectors = np.array(audit.vectors.embedding("mine"))[::-1].astype("float32")
    np.save(cache / "v.npy", vectors)
    assert likeness("import-embedding", "near", "mine", cache / "v.npy", cache=cache) == 0
    assert states(near)["neighbours-embedding-mine"] == "stale"
    with pytest.raises(NeighbourError, match="python -m backend build near"):
        search(Audit(near), "embedding-mine", 0, 5)
    assert build(cache, "near", 1) == ["neighbours-embedding-mine"]
    assert len(search(Audit(near), "embedding-mine", 0, 5).rows) == 5


@pytest.mark.parametrize("value", [ROWS, 2**31 - 1, -2, -(2**31)])
@pytest.mark.parametrize("place", [0, 63, -1, 1000])
def test_links_out_of_range(folder, place, value):
    values = read(folder, LINKS, "int32")
    values[place] = value
    replaced(folder, LINKS, values)
    refused(folder, "embedding-mine", "its graph names a row that is not there")


@pytest.mark.parametrize("value", [0, 7, 255])
def test_levels_that_no_row_has(folder, value):
    values = read(folder, LEVELS, "uint8")
    values[4] = value
    replaced(folder, LEVELS, values)
    refused(folder, "embedding-mine", "no possible number of levels")


def test_levels_that_differ_from_the_links_in_size(folder):
    values = read(folder, LEVELS, "uint8")
    values[4] = values[4] % 6 + 1
    replaced(folder, LEVELS, values)
    refused(folder, "embedding-mine", "differ in size")


def test_links_to_a_row_on_a_level_where_it_is_not(folder):
    """Row 0 is on two levels, and its link on the upper one leads to a row on one: FAISS would read beyond the end."""
    levels = np.ones(ROWS, np.uint8)
    levels[0] = 2
    links = np.full(ROWS * 64 + 32, -1, np.int32)
    links[64] = ROWS - 1
    replaced(folder, LEVELS, levels)
    replaced(folder, LINKS, links)

    def change(manifest):
        manifest["stages"]["neighbours-embedding-mine"]["parameters"] |= {"links": len(links), "entry": 0}

    seal(folder, change)
    refused(folder, "embedding-mine", "leads to a row on a level where that row is not")


@pytest.mark.parametrize("entry", [-1, ROWS, 2**40, "0", None, 1.0, True])
def test_searches_that_begin_nowhere(folder, entry):
    seal(folder, lambda found: found["stages"]["neighbours-embedding-mine"]["parameters"].update(entry=entry))
    refused(folder, "embedding-mine", "does not begin at its highest level")


def test_rings_and_gaps_in_a_graph_are_only_poor(folder):
    """A graph without any link, and one of a single ring: searches find k images all the same."""
    for links in (np.full(ROWS * 64, -1, np.int32), np.repeat((np.arange(ROWS) + 1) % ROWS, 64).astype(np.int32)):
        replaced(folder, LEVELS, np.ones(ROWS, np.uint8))
        replaced(folder, LINKS, links)
        more = {"links": len(links), "entry": 0}
        seal(folder, lambda found, more=more: found["stages"]["neighbours-embedding-mine"]["parameters"].update(more))
        assert len(search(Audit(folder), "embedding-mine", 3, 12).rows) == 12
        assert everything(folder) == []


def test_no_links_that_pass_the_check_make_faiss_crash(made, monkeypatch):
    """Links drawn by chance: each set is refused or searched, in this process."""
    audit, random = Audit(made), np.random.default_rng(0)
    vectors = np.array(audit.vectors.embedding("mine"))
    searched = 0
    for _ in range(150):
        levels = random.choice([1, 2, 3], ROWS, p=[0.9, 0.08, 0.02]).astype(np.uint8)
        size = int((64 + 32 * (levels.astype(int) - 1)).sum())
        links = random.integers(-1, ROWS if random.random() < 0.9 else ROWS + 1, size).astype(np.int32)
        if random.random() < 0.8:
            begins = np.concatenate([[0], np.cumsum(64 + 32 * (levels.astype(int) - 1))])
            for row in np.flatnonzero(levels > 1):
                links[begins[row] + 64 : begins[row + 1]] = -1
        found = Links(levels, links, int(random.integers(0, ROWS)) if random.random() < 0.3 else int(levels.argmax()))
        if not found.problem(graphs.M):
            index = graphs.restored(vectors, found.levels, found.links, found.entry)
            for row in range(0, ROWS, 5):
                rows, _ = graphs.search(index, vectors[row].astype("float32"), 10)
                assert ((rows >= 0) & (rows < ROWS)).all()
            searched += 1
    assert 20 < searched < 150
