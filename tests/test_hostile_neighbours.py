"""What finds images that are like another, made by a stranger, every hash right: a sentence, never a crash."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from neighbour_audits import everything, forget, make_neighbour_audit, read, refused, replaced
from strangers import changed, paths, seal

from backend.build import status
from backend.neighbours import colour, graphs, kinds, models, search, vectors
from backend.store import Audit, ColourWriter, StoreError, WordsWriter, frames

ROWS = 40
COLOUR = "neighbours/colour.npy"
CODEBOOK, OFFSETS, POSTINGS, GRAPH = (
    f"neighbours/words-{part}.npy" for part in ("codebook", "offsets", "postings", "graph")
)
LEVELS, LINKS = (f"neighbours/embedding-mine-{part}.npy" for part in ("levels", "links"))
KINDS = {COLOUR: "colour", LEVELS: "embedding-mine", LINKS: "embedding-mine"}


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


def test_the_model_is_well(folder):
    seal(folder)
    assert everything(folder) == []


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((COLOUR, "float32"), (CODEBOOK, "float32"), (OFFSETS, "int64"), (POSTINGS, "uint16")),
        *((GRAPH, "int32"), (LEVELS, "uint8"), (LINKS, "int32")),
    ],
)
def test_arrays_of_another_shape_or_type(folder, name, dtype):
    whole = read(folder, name, dtype)
    for values in (b"", b"\x93NUMPY", whole[:-1], whole.astype("float64"), whole[None], np.full(3, None)):
        if isinstance(values, np.ndarray) and values.dtype == object:
            np.save(folder / name, values, allow_pickle=True)
            seal(folder)
        else:
            replaced(folder, name, values)
        refused(folder, KINDS.get(name, "words"), name, "is no array of")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1])
def test_colours_that_are_none(folder, value):
    values = read(folder, COLOUR, "float32")
    values[3, 7] = value
    replaced(folder, COLOUR, values)
    refused(folder, "colour", "colour.npy")


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5, 2])
def test_a_codebook_that_is_none(folder, value):
    values = read(folder, CODEBOOK, "float32")
    values[1, 5] = value
    replaced(folder, CODEBOOK, values)
    refused(folder, "words", "its codebook holds what is no number from 0 to 1")


LOW, HIGH = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    "change",
    [
        {0: 1},
        {0: -1},
        {-1: 0},
        {-1: HIGH},
        {5: -1},
        {5: HIGH},
        {5: LOW},
        {3: 10**6},
        {1: 1, 2: LOW, 3: -1},
        {1: HIGH, 2: LOW, 3: 0},
    ],
)
def test_offsets_that_lead_elsewhere(folder, change):
    values = read(folder, OFFSETS, "int64")
    for place, value in change.items():
        values[place] = value
    replaced(folder, OFFSETS, values)
    refused(folder, "words", "its rows do not begin and end where words do")


@pytest.mark.parametrize(
    ("place", "pair", "words"),
    [
        (0, (65_535, 1), "a word that is not in the codebook"),
        (-1, (65_535, 1), "a word that is not in the codebook"),
        (0, (0, 0), "a word that is not in the codebook"),
        (1, (0, 1), "a word twice"),
    ],
)
def test_words_that_are_not_there(folder, place, pair, words):
    values = read(folder, POSTINGS, "uint16")
    values[place] = pair
    replaced(folder, POSTINGS, values)
    refused(folder, "words", words)


@pytest.mark.parametrize(
    ("row", "change", "words"),
    [
        (0, {0: ROWS}, "a row that is not there"),
        (39, {-1: 2**31 - 1}, "a row that is not there"),
        (5, {3: -2}, "a row that is not there"),
        (5, {0: 5}, "as its own neighbour"),
        (5, {0: 9, 1: 9}, "a row twice"),
        (5, {0: -1}, "its graph has gaps"),
    ],
)
def test_graphs_of_words_that_lead_nowhere(folder, row, change, words):
    values = read(folder, GRAPH, "int32")
    for place, value in change.items():
        values[row, place] = value
    replaced(folder, GRAPH, values)
    refused(folder, "words", words)


@pytest.mark.parametrize("value", [np.nan, np.inf, 3.0, 0.0])
def test_vectors_that_are_not_of_length_1(folder, value, monkeypatch):
    values = read(folder, "embeddings/mine.npy", "float16")
    values[9] = value
    replaced(folder, "embeddings/mine.npy", values)
    for most in (10, 10**6):
        monkeypatch.setattr(graphs, "MOST_EXACT", most)

        def change(manifest):
            sealed = [manifest["files"][name]["sha256"] for name in ("embeddings/mine.npy", "generations.parquet")]
            manifest["stages"]["neighbours-embedding-mine"]["inputs"] = sealed

        seal(folder, change)
        refused(folder, "embedding-mine", "the vector of row 9 is not of length 1")


@pytest.mark.parametrize("stage", ["neighbours-colour", "neighbours-words", "neighbours-embedding-mine"])
def test_no_value_in_a_stage_makes_a_traceback(folder, stage):
    whole = json.loads((folder / "manifest.json").read_text())["stages"][stage]
    opened = 0
    for place in (place for place in paths(whole) if place and place[0] != "versions"):
        for value in (None, [], "x", -1, 1e308, True, "../../x", "gone"):
            other = changed(whole, place, value)
            seal(folder, lambda found, other=other: found["stages"].update({stage: other}))
            try:
                audit = Audit(folder)
                status(audit)
                kinds(audit)
                opened += 1
                search(audit, stage.removeprefix("neighbours-"), 0, 5)
            except StoreError as error:
                assert str(error)
    assert opened > 10


@pytest.mark.parametrize(
    ("stage", "files"),
    [
        ("neighbours-colour", [CODEBOOK]),
        ("neighbours-words", [CODEBOOK, OFFSETS, POSTINGS]),
        ("neighbours-embedding-mine", [LEVELS, "embeddings/mine.npy"]),
        ("neighbours-embedding-mine", [LEVELS, "../x.npy"]),
    ],
)
def test_stages_with_files_of_others(folder, stage, files):
    seal(folder, lambda found: found["stages"][stage].update(files=files))
    with pytest.raises(StoreError, match=r"manifest\.json.*has a file that is not listed"):
        Audit(folder)


def test_a_share_that_is_none_is_not_shown(folder):
    for value in ("<b>", 7, -1, None, True):
        for stage in ("neighbours-words", "neighbours-embedding-mine"):
            more = {"recall": value, "recall_rows": "<b>", "codebook": "<b>", "exact": False}
            seal(folder, lambda found, stage=stage, more=more: found["stages"][stage]["parameters"].update(more))
        notes = " ".join(kind.note for kind in kinds(Audit(folder)))
        assert "<b>" not in notes
        assert "0.0% of the true ten nearest (n = ? images)" in notes


@pytest.mark.parametrize("value", [np.nan, np.inf, -1, 1e30])
def test_colours_of_an_interrupted_build_that_are_none_are_measured_anew(folder, value):
    writer = ColourWriter(Audit(folder), colour.PARAMETERS)
    writer.start()
    good = np.zeros((8, colour.WIDTH), "float32")
    writer.save("0", good)
    assert (writer.load("0", 8) == good).all()
    good[3, 7] = value
    writer.save("0", good)
    assert writer.load("0", 8) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.5, 2, None])
def test_a_codebook_of_an_interrupted_build_that_is_none_is_made_anew(folder, value):
    writer = WordsWriter(Audit(folder), {"version": 1, "words": 4})
    writer.start()
    good = np.full((4, 128), 0.5, "float32")
    writer.save_codebook(good)
    assert (writer.load_codebook() == good).all()
    bad = good[:0] if value is None else good.copy()
    if value is not None:
        bad[1, 5] = value
    writer.save_codebook(bad)
    assert writer.load_codebook() is None


def test_words_of_an_interrupted_build_that_could_not_be_written_are_found_anew(folder):
    writer = WordsWriter(Audit(folder), {"version": 1, "words": 4})
    writer.start()
    for row, word, count, taken in ((7, 3, 65_535, True), (8, 3, 1, False), (7, 4, 1, False), (7, 3, 65_536, False)):
        writer.save("0", np.array([[row, word, count]], np.int32))
        assert (writer.load("0", 8, 4) is not None) == taken


def test_no_more_than_two_models_are_kept(monkeypatch):
    monkeypatch.setattr(models, "_MODELS", {})
    loads = []
    monkeypatch.setattr(models, "_load", lambda *told: loads.append(told[3]) or object())
    ask = [{"kind": "clip", "fingerprint": mark} for mark in "aabacab"]
    made = [models.model_of("x", told) for told in ask]
    assert made[0] is made[1] is made[3]
    assert "".join(loads) == "abcab"  # the oldest goes
    assert len(models._MODELS) == models.MOST_MODELS == 2


def test_a_table_that_unpacks_to_a_hundred_times_its_size_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    random = np.random.default_rng(0)
    for ratio, words in (("high", True), ("low", False)):
        values = np.zeros(2_000_000) if ratio == "high" else random.random(2_000_000)
        pq.write_table(pa.table({"x": values}), path, compression="zstd", use_dictionary=False)
        monkeypatch.setattr(frames, "_ALWAYS", 1_000_000)
        if words:
            with pytest.raises(StoreError, match=r"x\.parquet.* its [0-9,]+ bytes unpack to 16,"):
                frames.read_frame(path, lambda schema: "")
        else:
            assert len(frames.read_frame(path, lambda schema: "")) == 2_000_000


def test_an_audit_whose_build_found_no_visual_words_says_that_this_can_be(folder):
    forget(folder, "neighbours-words")
    why = next(kind.why for kind in kinds(Audit(folder)) if kind.name == "words")
    assert "found no keypoints (images are too even)" in why
    forget(folder, "neighbours-colour")
    why = next(kind.why for kind in kinds(Audit(folder)) if kind.name == "words")
    assert why.startswith("Not made yet. Run `python -m backend build near`")


def test_a_search_leaves_the_number_of_threads_as_it_is(folder):
    import faiss

    before, seen = faiss.omp_get_max_threads(), []
    faiss.omp_set_num_threads(2)
    try:
        for kind in ("colour", "embedding-mine"):
            search(Audit(folder), kind, 0, 5)
            seen.append(faiss.omp_get_max_threads())
        with vectors.one_thread():
            seen.append(faiss.omp_get_max_threads())
    finally:
        faiss.omp_set_num_threads(before)
    assert seen == [2, 2, 1]
