"""Detections and averages of an audit: written, read, and gone where what they were made from has changed."""

import io

import numpy as np
import pytest
from face_audits import add_faces, averages, detections, make_face_audit
from PIL import Image
from region_audits import make_region_audit

from backend.store import Audit, FaceWriter, StoreError, write_averages
from backend.store.face_tables import AVERAGES, DETECTIONS


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return make_face_audit(tmp_path_factory.mktemp("cache"))


def test_detections_are_read_as_written(audit):
    read, written = audit.faces.detections(), detections(len(audit))
    assert list(read) == DETECTIONS.names
    assert len(DETECTIONS) == 17
    assert (read["faces"].dtype, read["cut"].dtype, read["x0"].dtype) == ("int16", "bool", "float32")
    for name in read:
        assert np.array_equal(read[name].to_numpy("float32"), written[name].to_numpy("float32"), equal_nan=True)


def test_averages_are_read_as_written(audit):
    assert audit.faces.choices() == [("toy", 4)]
    for embedding, k in (("", 0), ("toy", 4)):
        read, written = audit.faces.averages(embedding, k), averages(audit, embedding, k)
        assert list(read) == AVERAGES.names[:-1]
        assert list(read.index) == list(range(len(written)))
        for name in read:
            assert read[name].tolist() == pytest.approx(written[name].tolist(), nan_ok=True)
        for place, data in enumerate(written["picture"]):
            assert audit.faces.picture(place, embedding, k) == data
        assert Image.open(io.BytesIO(audit.faces.picture(0, embedding, k))).size == (256, 256)
    assert audit.faces.averages()["total"].sum() == len(audit)
    assert set(audit.faces.averages("toy", 4)["region"]) == {0, 1, 2, 3}


def test_what_is_not_there(audit, cache):
    for embedding, k in (("toy", 5), ("other", 4), ("", 4), ("../x", 1)):
        assert audit.faces.averages(embedding, k) is None
        with pytest.raises(StoreError, match="has no averages"):
            audit.faces.picture(0, embedding, k)
    bare = make_region_audit(cache).faces
    assert (bare.detections(), bare.averages(), bare.choices()) == (None, None, [])


def test_averages_of_other_detections_are_not_used(cache):
    make_region_audit(cache)
    add_faces(cache / "regional", "toy", 4)
    audit = Audit.open(cache, "regional")
    changed = detections(len(audit))
    changed.loc[0, "x0"] = 1
    FaceWriter(audit, {"version": 1}).finish(changed.to_numpy("float32"), 1.0, {})
    faces = Audit.open(cache, "regional").faces
    assert faces.detections()["x0"].iat[0] == 1
    assert (faces.averages(), faces.choices()) == (None, [])
    assert not faces.current("averages")


def test_what_cannot_be_is_not_written(audit):
    wrong = detections(len(audit))
    wrong.loc[0, "faces"] = 0.5
    with pytest.raises(StoreError, match="stage faces: a number of faces is none"):
        FaceWriter(audit, {}).finish(wrong.to_numpy("float32"), 1.0, {})
    with pytest.raises(StoreError, match="stage faces: 3 rows of"):
        FaceWriter(audit, {}).finish(wrong.to_numpy("float32")[:3], 1.0, {})
    with pytest.raises(StoreError, match="average faces: it counts more faces than images"):
        write_averages(audit, averages(audit).assign(n=99), {}, 1.0, {})
