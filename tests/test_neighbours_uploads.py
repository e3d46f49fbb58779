"""Pictures from outside as queries: the good, the odd and the hostile."""

from __future__ import annotations

import io
import os
import shutil
import threading

import numpy as np
import pytest
from neighbour_audits import drawing, make_neighbour_audit
from PIL import Image
from samples import encode, likeness, noise
from vectors import tiny_blip

from backend.neighbours import NeighbourError, models, query_of, search, upload
from backend.store import Audit

OWN = ("colour", "colourfulness", "words")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_neighbour_audit(tmp_path_factory.mktemp("uploads"))


def found(audit, kind, data):
    return search(audit, kind, query_of(audit, kind, data), 3)


def moving():
    """Three frames as an animated GIF; the first is a drawing of the audit."""
    frames = [drawing(4), noise(1, (96, 96)), noise(2, (96, 96))]
    return encode(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=50)


@pytest.mark.parametrize("kind", OWN)
def test_the_first_frame_of_a_moving_picture_counts(audit, kind):
    still = encode(Image.open(io.BytesIO(moving())).convert("RGB"))
    assert (query_of(audit, kind, moving()).vector == query_of(audit, kind, still).vector).all()


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize(
    ("image", "options"),
    [
        (drawing(50).convert("L"), {"kind": "PNG"}),
        (drawing(50).convert("1"), {"kind": "PNG"}),
        (drawing(50).convert("P"), {"kind": "GIF"}),
        (drawing(50).convert("CMYK"), {"kind": "JPEG"}),
        (drawing(50).convert("RGBA"), {"kind": "WEBP"}),
        (Image.fromarray(np.asarray(drawing(50).convert("L")).astype("uint16") * 257), {"kind": "PNG"}),
        (drawing(50).resize((700, 40)), {"kind": "BMP"}),
    ],
)
def test_pictures_of_every_mode(audit, kind, image, options):
    query = query_of(audit, kind, encode(image, **options))
    assert np.isfinite(query.vector).all()
    assert len(search(audit, kind, query, 5).rows) == 5


def test_a_turned_picture_is_turned_upright(audit):
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = encode(drawing(60).transpose(Image.Transpose.ROTATE_90), "PNG", exif=exif)
    for kind in OWN:
        straight = query_of(audit, kind, encode(drawing(60))).vector
        assert np.allclose(query_of(audit, kind, turned).vector, straight, atol=1e-6)


@pytest.mark.parametrize("image", [noise(1, (10, 10)), Image.new("RGB", (300, 200), "red"), noise(1, (1, 1))])
def test_even_and_tiny_pictures_have_colours_but_no_visual_words(audit, image):
    assert len(found(audit, "colour", encode(image)).rows) == 3
    assert len(found(audit, "colourfulness", encode(image)).rows) == 3
    with pytest.raises(NeighbourError, match=r"no keypoints \(it is too even or too small\), so it has no"):
        query_of(audit, "words", encode(image))


def cut(data, share=0.5):
    return data[: int(len(data) * share)]


LARGE = Image.new("L", (10_000, 5_000))
BAD = {
    "empty": (b"", "the file is empty"),
    "pdf": (b"%PDF-1.7\n" + b"x" * 100, "it is a PDF; export it as PNG or JPEG"),
    "svg": (b' <svg xmlns="http://www.w3.org/2000/svg"></svg>', "it is an SVG drawing; export it as PNG or JPEG"),
    "xml": (b'<?xml version="1.0"?><svg/>', "it is an SVG drawing"),
    "tiff": (encode(noise(), "TIFF"), "no picture that can be read; use one of"),
    "text": (b"a portrait", "no picture that can be read; use one of"),
    "noise": (os.urandom(1000) + bytes(19_000_000), "no picture that can be read"),
    "30 MB": (os.urandom(1000) + bytes(30_000_000), "30.0 MB, more than the limit of 20 MB; scale it down"),
    "50 megapixels": (encode(LARGE), "10,000 x 5,000 = 50,000,000 pixels, more than the limit of 40,000,000; scale it"),
    "half a JPEG": (cut(encode(noise(1, (200, 200)), "JPEG")), "damaged picture"),
    "half a PNG": (cut(encode(noise(1, (200, 200)))), "damaged picture"),
    "no bytes": (None, "no picture was given"),
    "a path": ("/etc/passwd", "no picture was given"),
}


@pytest.mark.parametrize("kind", (*OWN, "embedding-mine"))
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_usable_picture_is_refused_with_a_sentence(audit, kind, name):
    data, words = BAD[name]
    with pytest.raises(NeighbourError) as error:
        query_of(audit, kind, data)
    assert words in str(error.value)
    assert "--max-megapixels" not in str(error.value)


def test_a_damaged_byte_is_a_sentence_or_a_picture(audit):
    random = np.random.default_rng(0)
    for kind, whole in (
        ("JPEG", encode(drawing(5), "JPEG")),
        ("PNG", encode(drawing(5))),
        ("WEBP", encode(drawing(5), "WEBP")),
    ):
        for _ in range(40):
            data = bytearray(whole)
            for place in random.integers(0, len(data), 4):
                data[place] = random.integers(0, 256)
            for name in OWN:
                try:
                    assert np.isfinite(query_of(audit, name, bytes(data)).vector).all(), kind
                except NeighbourError as error:
                    assert str(error)


def test_large_pictures_are_read_one_at_a_time(audit, monkeypatch):
    inside, most = [], []
    real = upload.read_pixels

    def slow(data, max_pixels):
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.02)
        pixels = real(data, max_pixels=max_pixels)
        inside.pop()
        return pixels

    monkeypatch.setattr(upload, "read_pixels", slow)
    threads = [threading.Thread(target=query_of, args=(audit, "colour", encode(noise(n)))) for n in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert most == [1] * 6


def test_nothing_of_a_picture_is_kept(audit):
    before = sorted(path for path in audit.folder.rglob("*"))
    for kind in OWN:
        found(audit, kind, encode(drawing(70)))
    assert sorted(path for path in audit.folder.rglob("*")) == before


def test_imported_vectors_have_no_model_here(audit):
    with pytest.raises(NeighbourError, match="the vectors of the embedding mine were imported, so no model here can"):
        query_of(audit, "embedding-mine", encode(drawing(1)))


@pytest.fixture
def embedded(audit, tmp_path, monkeypatch):
    """A copy of the audit with an embedding of a tiny VQA model that lies in the Hub's cache."""
    hub = tmp_path / "hub"
    snapshot = hub / "models--tiny--blip" / "snapshots" / "abc"
    tiny_blip(snapshot)
    (hub / "models--tiny--blip" / "refs").mkdir()
    (hub / "models--tiny--blip" / "refs" / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(hub), raising=False)
    monkeypatch.setattr(models, "_MODELS", {})
    cache = tmp_path / "cache"
    cache.mkdir()
    shutil.copytree(audit.folder, cache / "near")
    assert likeness("embed", "near", "--from", "tiny/blip", "--workers", 1, cache=cache) == 0
    return Audit.open(cache, "near"), snapshot


def test_a_model_in_the_hub_s_cache_places_a_picture(embedded, monkeypatch):
    audit, _ = embedded
    loaded, real = [], models.embed.load
    monkeypatch.setattr(models.embed, "load", lambda *told: loaded.append(told) or real(*told))
    threads, queries = [], []
    for _ in range(3):
        ask = threading.Thread(target=lambda: queries.append(query_of(audit, "embedding-blip-vqa", audit.image(5)[0])))
        threads.append(ask)
        ask.start()
    [thread.join() for thread in threads]
    assert len(loaded) == 1
    assert len(queries) == 3
    nearest = search(audit, "embedding-blip-vqa", queries[0], 40)
    assert nearest.distance[nearest.rows == 5][0] < 1e-3
    assert nearest.distance[nearest.rows == 5][0] <= nearest.distance[0] + 1e-3


def test_another_model_of_the_same_name_is_not_loaded(embedded, monkeypatch):
    audit, snapshot = embedded
    (snapshot / "config.json").write_text((snapshot / "config.json").read_text() + " ")
    monkeypatch.setattr(models.embed, "load", lambda *told: pytest.fail("loaded"))
    with pytest.raises(NeighbourError, match="the model of the embedding blip-vqa here is not the one that made"):
        query_of(audit, "embedding-blip-vqa", encode(drawing(1)))


def test_a_model_that_is_not_here_is_not_downloaded(embedded, monkeypatch):
    audit, snapshot = embedded
    shutil.rmtree(snapshot)
    monkeypatch.setattr(models.embed, "_download", lambda place: pytest.fail("downloaded"))
    with pytest.raises(NeighbourError, match=r"embedding blip-vqa \(tiny/blip\) is not on this machine: choose"):
        query_of(audit, "embedding-blip-vqa", encode(drawing(1)))


@pytest.mark.parametrize("label", ["../../etc", "/etc", "a" * 300, "", "x/y/z", "tiny/blip\n"])
def test_no_name_that_an_audit_gives_leads_to_a_folder(label):
    with pytest.raises(NeighbourError, match="is not on this machine"):
        models.model_of("mine", {"kind": "blip-vqa", "model": label, "fingerprint": "0" * 64})
