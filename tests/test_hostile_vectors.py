"""Embeddings, regions and maps made by a stranger, every hash right: refused with a sentence, or not used."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from strangers import changed, paths, refused, seal, used
from vectors import as_file, built_regions, clustered, identity_audit, saved

from backend.build import build
from backend.store import Audit, EmbeddingWriter, StoreError
from backend.store.summaries import from_json

EMBEDDING = "embeddings/mine.npy"
MAP = "map/mine.npy"
TABLE, CENTROIDS, SUMMARY = (f"regions/mine-3.{ending}" for ending in ("parquet", "npy", "json"))


@pytest.fixture(scope="module")
def made(embedded_ids, tmp_path_factory):
    """An audit with vectors, three regions and a map."""
    return built_regions(embedded_ids, tmp_path_factory.mktemp("made"), (3,))


@pytest.fixture
def folder(made, cache, no_map, no_faces, no_neighbours):
    """A copy of that audit, to be changed."""
    shutil.copytree(made, cache / "ids")
    return cache / "ids"


def test_the_model_is_well(folder):
    seal(folder)
    audit = Audit(folder)
    used(audit)
    assert audit.vectors.choices() == [("mine", 3)]


def with_bytes(folder, name, data):
    (folder / name).write_bytes(data)
    seal(folder)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (EMBEDDING, b""),
        (EMBEDDING, as_file(np.ones((63, 16)), "float16")),
        (EMBEDDING, as_file(np.ones((64, 16)), "float32")),
        (EMBEDDING, as_file(np.ones((16, 64)), "float16")),
        (MAP, as_file(np.ones((64, 3)), "float32")),
        (MAP, as_file(np.ones((64, 2)), "float64")),
        (CENTROIDS, as_file(np.ones((3, 15)), "float32")),
        (CENTROIDS, b"\x93NUMPY\x01\x00v\x00" + b"(" * 300),
    ],
)
def test_arrays_of_another_shape_or_type(folder, name, data):
    with_bytes(folder, name, data)
    refused(folder, name, "is no array of")


def test_an_array_of_objects_is_never_unpickled(folder, tmp_path):
    np.save(tmp_path / "x.npy", np.full((64, 16), None), allow_pickle=True)
    shutil.copy(tmp_path / "x.npy", folder / EMBEDDING)
    seal(folder)
    refused(folder, EMBEDDING, "is no array of")


@pytest.mark.parametrize(("name", "shape"), [(MAP, (64, 2)), (CENTROIDS, (3, 16))])
def test_numbers_that_are_none(folder, name, shape):
    for bad in (np.nan, np.inf):
        values = np.ones(shape)
        values[-1, -1] = bad
        with_bytes(folder, name, as_file(values, "float32"))
        refused(folder, name, "no finite number")


def test_vectors_that_are_no_numbers_stop_a_build_with_a_sentence(folder):
    with_bytes(folder, EMBEDDING, as_file(np.full((64, 16), np.nan), "float16"))
    with pytest.raises(StoreError, match="holds what is no finite number"):
        build(folder.parent, "ids", 1, ks=(3,))


@pytest.mark.parametrize("width", [None, "16", 0, -1, 65_537, 17, 1.0, True])
def test_an_embedding_s_width(folder, width):
    def change(manifest):
        manifest["stages"]["embed-mine"]["parameters"]["width"] = width

    seal(folder, change)
    refused(folder, "embed")


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("region", pa.array([3] * 64, pa.int16()), "a region that is not there"),
        ("region", pa.array([-1] * 64, pa.int16()), "a region that is not there"),
        ("member", pa.array([-2] * 64, pa.int16()), "a region that is not there"),
        ("member", pa.array([None] * 64, pa.int16()), "gaps"),
        ("margin", pa.array([float("nan")] * 64, pa.float32()), "no finite number"),
        ("margin", pa.array([0.5] * 64, pa.float64()), "not those of regions"),
        ("more", pa.array(["x"] * 64), "not those of regions"),
    ],
)
def test_the_table_of_regions(folder, column, values, words):
    table = pq.read_table(folder / TABLE)
    columns = {name: table.column(name) for name in table.column_names} | {column: values}
    pq.write_table(pa.table(columns), folder / TABLE)
    seal(folder)
    refused(folder, TABLE, words)


def test_a_table_of_regions_of_another_length(folder):
    pq.write_table(pq.read_table(folder / TABLE).slice(1), folder / TABLE)
    seal(folder)
    refused(folder, TABLE, "differ in rows")


ODD = (None, [], {}, "x", -1, 10**400, 1e308, True, [None], {"x": None}, "\ud800", "x" * 2000, "gone")


def test_no_value_in_a_summary_makes_a_traceback(folder):
    whole = json.loads((folder / SUMMARY).read_text())
    places = [place for place in paths(whole) if place and place[:2] not in (("regions", 1), ("regions", 2))]
    places = [place for place in places if type(place[-1]) is str or place[-1] == 0]
    wrong, rows = 0, 64
    for place in places:
        for value in ODD:
            try:
                from_json(json.dumps(changed(whole, place, value)).encode(), 3, rows)
            except ValueError:
                wrong += 1
    assert wrong > len(places) * 5


@pytest.mark.parametrize("text", ["[" * 100_000, "null", "[]", "{}", '{"a": NaN}', "9" * 5000, "\x00"])
def test_a_summary_that_is_none(folder, text):
    (folder / SUMMARY).write_text(text)
    seal(folder)
    refused(folder, SUMMARY, "describes no regions")


def test_a_row_that_is_not_there(folder):
    whole = json.loads((folder / SUMMARY).read_text())
    whole["regions"][0]["central"][0] = 64
    (folder / SUMMARY).write_text(json.dumps(whole))
    seal(folder)
    refused(folder, SUMMARY, "not between 0 and 63")


@pytest.mark.parametrize(
    ("stage", "files"),
    [
        ("embed-mine", [MAP]),
        ("map-mine", [MAP, EMBEDDING]),
        ("regions-mine-3", [TABLE]),
        ("regions-mine-3", [TABLE, CENTROIDS, "measures/colourfulness.parquet"]),
    ],
)
def test_stages_with_files_of_others(folder, stage, files):
    def change(manifest):
        manifest["stages"][stage]["files"] = files

    seal(folder, change)
    refused(folder, "manifest.json", stage)


def test_regions_of_vectors_that_changed_are_not_used(folder, cache, tmp_path):
    audit = Audit(folder)
    with_bytes(folder, EMBEDDING, as_file(clustered(audit)[::-1], "float16"))
    audit = Audit(folder)
    assert audit.vectors.embeddings() == ["mine"]
    assert audit.vectors.choices() == []
    assert audit.vectors.map("mine") is None
    with pytest.raises(StoreError, match="has no 3 regions"):
        audit.vectors.regions("mine", 3)


def test_an_embedding_of_fewer_images_is_not_used(folder):
    def change(manifest):
        manifest["stages"]["embed-mine"]["rows"] = 63

    seal(folder, change)
    vectors = Audit(folder).vectors
    assert vectors.embeddings() == vectors.choices() == []
    assert vectors.map("mine") is None
    for ask in (vectors.embedding, vectors.parameters):
        with pytest.raises(StoreError, match="has no embedding 'mine' of all its images"):
            ask("mine")


def test_parts_that_somebody_put_there_are_not_taken(cache, tmp_path):
    """A part of another shape is computed anew."""
    audit = identity_audit(cache)
    shard = audit.shards()[0][2]
    parts = cache / "ids" / "embeddings" / "mine.parts"
    parts.mkdir(parents=True)
    (parts / f"{shard[:32]}.npy").write_bytes(as_file(np.ones((8, 15)), "float16"))
    writer = EmbeddingWriter(audit, "mine", {"width": 16})
    assert writer.load(shard, 8) is None
    writer.save(shard, np.ones((8, 16)))
    assert writer.load(shard, 8).shape == (8, 16)
    assert saved(tmp_path / "x.npy", np.ones((8, 16), "float16")).read_bytes() == writer._part(shard).read_bytes()
