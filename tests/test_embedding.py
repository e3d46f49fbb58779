"""Embedding an audit: whole, killed, grown, and from vectors that somebody brings."""

import re
import time

import numpy as np
import pytest
from samples import likeness, portrait_rows, process, write_csv
from vectors import clustered, identity_audit, saved, tiny_blip

from backend import vector_stages
from backend.build import build, status
from backend.embed import as_unit, load
from backend.pictures import read_pixels
from backend.store import Audit


@pytest.fixture(scope="module")
def blip(tmp_path_factory):
    return tiny_blip(tmp_path_factory.mktemp("models") / "blip")


def test_embed_writes_every_image_s_vector(cache, blip, capsys):
    identity_audit(cache)
    assert likeness("embed", "ids", "--from", blip, "--workers", 2, cache=cache) == 0
    assert "ids has the embedding blip-vqa: 64 vectors of 16 numbers." in capsys.readouterr().out
    audit = Audit.open(cache, "ids")
    vectors = audit.vectors.embedding("blip-vqa")
    assert (vectors.dtype, vectors.shape) == (np.float16, (64, 16))
    assert isinstance(vectors, np.memmap)
    assert np.allclose(np.linalg.norm(vectors.astype(float), axis=1), 1, atol=2e-3)
    model = load("blip-vqa", str(blip))
    alone = as_unit(np.concatenate([model.vectors([read_pixels(audit.image(row)[0])]) for row in range(64)]))
    assert np.allclose(vectors, alone, atol=2e-3)
    entry = audit.manifest["stages"]["embed-blip-vqa"]
    assert entry["parameters"] == model.parameters()
    assert set(entry["versions"]) == {"torch", "transformers", "numpy", "pillow"}
    assert not (cache / "ids" / "embeddings" / "blip-vqa.parts").exists()
    assert audit.check() == []


class KilledError(BaseException):
    """The process dies."""


@pytest.mark.parametrize("shards", [0, 1, 5, 8])
def test_an_embedding_that_was_killed_goes_on(cache, blip, monkeypatch, shards):
    identity_audit(cache)
    assert likeness("embed", "ids", "--from", blip, "--name", "whole", cache=cache) == 0
    seen, batch = [], vector_stages._batch

    def counted(audit, model, rows):
        if len(seen) == shards:
            raise KilledError
        seen.append(rows)
        return batch(audit, model, rows)

    with monkeypatch.context() as patch:
        patch.setattr(vector_stages, "_batch", counted)
        if shards < 8:
            with pytest.raises(KilledError):
                likeness("embed", "ids", "--from", blip, "--workers", 1, cache=cache)
        else:
            patch.setattr(vector_stages.EmbeddingWriter, "write", lambda self, parts, versions: [*parts][99])
            with pytest.raises(IndexError):
                likeness("embed", "ids", "--from", blip, "--workers", 1, cache=cache)
    assert Audit.open(cache, "ids").vectors.embeddings() == ["whole"]
    monkeypatch.setattr(vector_stages, "_batch", lambda *of: seen.append(of[2]) or batch(*of))
    assert likeness("embed", "ids", "--from", blip, cache=cache) == 0
    assert len(seen) == 8
    files = [(cache / "ids" / "embeddings" / f"{name}.npy").read_bytes() for name in ("whole", "blip-vqa")]
    assert files[0] == files[1]


def test_a_process_that_is_killed_at_any_time_loses_at_most_a_shard(cache, blip):
    identity_audit(cache)
    run = process("embed", "ids", "--from", blip, "--workers", 1, cache=cache)
    parts = cache / "ids" / "embeddings" / "blip-vqa.parts"
    while run.poll() is None and len(list(parts.glob("*.npy"))) < 2:
        time.sleep(0.01)
    run.kill()
    run.communicate()
    assert likeness("embed", "ids", "--from", blip, cache=cache) == 0
    assert Audit.open(cache, "ids").vectors.embedding("blip-vqa").shape == (64, 16)


def test_only_new_images_are_embedded_again(cache, blip, no_map, monkeypatch, capsys):
    identity_audit(cache)
    likeness("embed", "ids", "--from", blip, cache=cache)
    build(cache, "ids", 1, ks=(3,))
    before = np.array(Audit.open(cache, "ids").vectors.embedding("blip-vqa"))
    source = cache.parent / "more"
    write_csv(source, portrait_rows(source, ("A",), ("welder",), 3))
    assert likeness("import", source, "ids", cache=cache) == 0
    audit = Audit.open(cache, "ids")
    assert audit.vectors.embeddings() == audit.vectors.choices() == []
    assert {row["stage"]: row["state"] for row in status(audit)}["regions-blip-vqa-3"] == "stale"
    capsys.readouterr()
    assert likeness("build", "ids", cache=cache) == 0
    assert "Not done: the embedding blip-vqa: " in capsys.readouterr().out
    seen, batch = [], vector_stages._batch
    monkeypatch.setattr(vector_stages, "_batch", lambda *of: seen.append(of[2]) or batch(*of))
    likeness("embed", "ids", "--from", blip, cache=cache)
    assert seen == [range(64, 67)]
    assert (Audit.open(cache, "ids").vectors.embedding("blip-vqa")[:64] == before).all()
    assert build(cache, "ids", 1, ks=(3,)) == ["regions-blip-vqa", "map-blip-vqa", "averages-blip-vqa-3"]
    assert len(Audit.open(cache, "ids").vectors.regions("blip-vqa", 3).region) == 67


def test_an_image_that_cannot_be_read_stops_with_its_name(cache, blip, monkeypatch, capsys):
    audit = identity_audit(cache)
    monkeypatch.setattr(Audit, "image", lambda self, row: (b"no picture", "image/png"))
    assert likeness("embed", "ids", "--from", blip, "--workers", 1, cache=cache) == 1
    error = capsys.readouterr().err
    assert f"image {audit.generations['id'].iat[0]} cannot be embedded: no picture that can be read" in error


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (np.ones((63, 4), "float32"), "63 rows and ids has 64 images"),
        (np.ones(64, "float32"), r"the shape \(64,\)"),
        (np.ones((64, 1), "float32"), "2 to 8,192 columns"),
        (np.ones((64, 4), "int32"), "not hold floating-point numbers but int32"),
        (np.where(np.arange(256).reshape(64, 4) == 40, np.nan, 1), "vector 10 holds what is no finite number"),
        (np.where(np.arange(256).reshape(64, 4) // 4 == 7, 0.0, 1), "vector 7 is 0 throughout"),
        (np.full((64, 4), None), "no .npy file of numbers"),
        (b"", "no .npy file of numbers"),
        (b"\x93NUMPY\x01\x00\x76\x00" + b"(" * 118, "no .npy file of numbers"),
    ],
)
def test_vectors_from_outside_that_cannot_be_used(cache, tmp_path, capsys, vectors, words):
    identity_audit(cache)
    file = tmp_path / "v.npy"
    file.write_bytes(vectors) if isinstance(vectors, bytes) else np.save(file, vectors, allow_pickle=True)
    capsys.readouterr()
    assert likeness("import-embedding", "ids", "mine", file, cache=cache) == 1
    error = capsys.readouterr().err
    assert re.search(words, error), error
    assert Audit.open(cache, "ids").vectors.embeddings() == []


def test_vectors_from_outside_are_brought_to_length_1(ids, tmp_path, cache):
    vectors = ids.vectors.embedding("mine")
    assert np.allclose(vectors, as_unit(clustered(ids)))
    file = saved(tmp_path / "f.npy", np.asfortranarray(clustered(ids)))
    assert likeness("import-embedding", "ids", "again", file, cache=cache) == 0
    assert (Audit.open(cache, "ids").vectors.embedding("again") == vectors).all()
