"""Averages of aligned faces: against a plain mean, whatever their order."""

import io

import numpy as np
import pytest
from PIL import Image

from backend.averages import NAMES, Average, average
from backend.metrics import sharpness
from backend.metrics.sharpness import encoded, linear, luminance
from backend.store.face_tables import picture_problem


@pytest.fixture(scope="module")
def faces():
    """Twelve pictures that have something in common: soft blobs in one place, and noise."""
    random = np.random.default_rng(0)
    y, x = np.mgrid[:256, :256]
    blob = 90 * np.exp(-((x - 128) ** 2 + (y - 140) ** 2) / 2000)
    return [
        (60 + (0.5 + random.uniform()) * blob[..., None] + random.normal(0, 8, (256, 256, 3))).clip(0, 255).astype("u1")
        for _ in range(12)
    ]


def taken(faces, order=None, **options):
    group = Average(len(faces), **options)
    for place in range(len(faces)) if order is None else order:
        group.add(faces[place])
    return group


def test_the_mean_in_linear_light(faces):
    group = taken(faces)
    plain = np.mean([linear()[face].astype("float64") for face in faces], axis=0)
    assert group.mean() == pytest.approx(plain, abs=1e-6)
    picture = group.picture()
    assert picture_problem(picture) == ""
    shown = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)
    assert np.abs(shown - encoded(plain)).mean() < 3
    assert Average(1).picture() == b""
    with pytest.raises(ValueError, match="no face to average"):
        Average(1).mean()


def test_one_face_is_its_own_average(faces):
    alone = taken(faces[:1])
    assert np.array_equal(encoded(alone.mean()), faces[0])
    found = alone.measures()
    assert found["sharpness"] == pytest.approx(found["members"])
    assert all(np.isnan(found[name]) for name in NAMES[2:])
    assert all(np.isnan(value) for value in Average(0).measures().values())


def test_the_order_of_faces_changes_no_bit(faces):
    first, again = taken(faces), taken(faces, np.random.default_rng(1).permutation(12))
    assert first.mean().tobytes() == again.mean().tobytes()
    assert first.picture() == again.picture()
    one, other = first.measures(), again.measures()
    for name in ("sharpness", "members", "ratio", "homogeneity"):
        assert one[name] == other[name]
    assert average(iter(faces), 12) == average(iter(faces), 12)


def test_the_measures_follow_from_the_faces(faces):
    found = taken(faces).measures()
    each = [sharpness.sharpness(luminance(linear()[face])) for face in faces]
    mean = sharpness.sharpness(luminance(np.mean([linear()[face].astype(float) for face in faces], axis=0)))
    assert found["members"] == pytest.approx(np.mean(each))
    assert found["sharpness"] == pytest.approx(mean)
    assert found["ratio"] == pytest.approx(mean / np.mean(each))
    assert found["homogeneity"] == pytest.approx(sharpness.homogeneity(mean, each))
    for name in ("ratio", "homogeneity"):
        assert 0 < found[f"{name}_low"] < found[name] < found[f"{name}_high"] < 1
    few = taken(faces[:4]).measures()
    assert np.isnan(few["ratio_low"])
    assert few["ratio"] > 0


def test_large_groups_have_intervals_of_a_sample(faces, monkeypatch):
    monkeypatch.setattr("backend.averages.MOST", 6)
    group = taken(faces)
    assert len(group._fields) == 6
    monkeypatch.undo()
    assert len(taken(faces)._fields) == 12
    without = taken(faces, intervals=False).measures()
    assert np.isnan(without["ratio_low"])
    assert without["homogeneity"] == taken(faces).measures()["homogeneity"]
    assert group.measures()["homogeneity"] == without["homogeneity"]
    assert group.measures()["homogeneity_low"] != taken(faces).measures()["homogeneity_low"]
