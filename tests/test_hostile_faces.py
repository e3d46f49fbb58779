"""Detections and average faces made by a stranger, every hash right: refused with a sentence, or not used."""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from face_audits import drawn, make_face_audit
from PIL import Image
from samples import encode, noise
from strangers import ODD, changed, paths, refused, seal, used

from backend.face_stages import average_faces
from backend.store import Audit, StoreError
from backend.store.face_tables import MOST_BYTES, POINTS, picture_problem

DETECTED, ALL, BY_REGION = (f"faces/{name}.parquet" for name in ("detections", "averages", "averages-toy-4"))
NAN, INF, ROWS = float("nan"), float("inf"), 200


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_face_audit(tmp_path_factory.mktemp("cache")).folder


@pytest.fixture
def folder(made, cache):
    """An audit with detections and averages, to be changed."""
    shutil.copytree(made, cache / "faced")
    return cache / "faced"


def sealed(folder):
    """Every hash right again, also those that the stages say they were made from."""
    seal(folder)

    def inputs(manifest):
        files = manifest["files"]
        hashes = [files[name]["sha256"] for name in (DETECTED, "generations.parquet")]
        manifest["stages"]["averages"]["inputs"] = hashes
        manifest["stages"]["averages-toy-4"]["inputs"] = [*hashes, files["regions/toy-4.parquet"]["sha256"]]

    seal(folder, inputs)


def rewritten(folder, name, column, values):
    """A table of faces with one column changed: values are an array, or one for the first row that has a face."""
    table = pq.read_table(folder / name)
    if not isinstance(values, pa.Array):
        kept = table.column(column).to_pylist()
        kept[0] = values
        values = pa.array(kept, table.schema.field(column).type)
    place = table.schema.get_field_index(column)
    table = table.set_column(place, column, values) if place >= 0 else table.append_column(column, values)
    pq.write_table(table, folder / name)
    sealed(folder)


def test_the_model_is_well(folder):
    sealed(folder)
    audit = Audit(folder)
    used(audit)
    assert audit.faces.choices() == [("toy", 4)]
    assert len(audit.faces.detections()) == len(audit)
    assert audit.faces.detections()["faces"].iat[0] == 1
    assert audit.faces.averages()["n"].iat[0] > 0


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("faces", -1, "below 0"),
        ("faces", 0, "one that is cut"),
        ("faces", pa.array([1] * ROWS, pa.int16()), "one number for every picture with a face"),
        ("faces", pa.array([None] * ROWS, pa.int16()), "gaps"),
        ("faces", pa.array([1] * ROWS, pa.int32()), "not those of faces"),
        ("cut", pa.array([0] * ROWS, pa.int8()), "not those of faces"),
        ("x0", NAN, "'x0' does not have one number"),
        ("x0", INF, "'x0' does not have one number"),
        ("x0", 1e9, "lies in no picture"),
        ("x1", -50, "a box in it is empty"),
        ("mouth_y", -INF, "'mouth_y' does not have one number"),
        ("mouth_y", -1e30, "lies in no picture"),
        ("left_eye_x", NAN, "'left_eye_x' does not have one number"),
        ("score", 1.5, "not from 0 to 1"),
        ("presence", -0.5, "not from 0 to 1"),
        ("sharpness", 7, "not from 0 to 1"),
        ("sharpness", NAN, "'sharpness' does not have one number"),
        ("sharpness", pa.array(["x"] * ROWS), "not those of faces"),
        ("more", pa.array([1.0] * ROWS, pa.float32()), "not those of faces"),
    ],
)
def test_the_table_of_detections(folder, column, values, words):
    assert len(Audit(folder)) == ROWS
    rewritten(folder, DETECTED, column, values)
    refused(folder, DETECTED, words)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("system", "Nobody", "a system or a subject that the audit does not have"),
        ("subject", "<b>", "a system or a subject that the audit does not have"),
        ("subject", "\x00" * 10_000, "a system or a subject that the audit does not have"),
        ("region", 0, "a region that is not there"),
        ("region", -2, "a region that is not there"),
        ("total", 0, "images that are not there"),
        ("total", 2**31 - 1, "images that are not there"),
        ("n", -1, "images that are not there"),
        ("n", 150, "more faces than images"),
        ("several", 150, "more faces than images"),
        ("n", 0, "a group without faces has one"),
        ("ratio", 1.01, "'ratio' holds a number that is not from 0 to 1"),
        ("homogeneity", -0.01, "'homogeneity' holds a number that is not from 0 to 1"),
        ("members", INF, "'members' holds a number that is not from 0 to 1"),
        ("homogeneity_high", 0.0, "an interval of 'homogeneity' in it ends before it begins"),
        ("picture", b"", "it is no lossy WebP"),
        ("picture", None, "gaps"),
        ("sharpness", None, "gaps"),
    ],
)
def test_the_table_of_averages(folder, column, values, words):
    rewritten(folder, ALL, column, values)
    refused(folder, ALL, words)


@pytest.mark.parametrize(("column", "region"), [("region", -1), ("region", 4), ("region", 32_767)])
def test_regions_that_are_not_there(folder, column, region):
    rewritten(folder, BY_REGION, column, region)
    refused(folder, BY_REGION, "a region that is not there")


def test_one_group_twice(folder):
    table = pq.read_table(folder / ALL)
    pq.write_table(pa.concat_tables([table.slice(0, 1), table.slice(0, 1)]), folder / ALL)
    sealed(folder)
    refused(folder, ALL, "two averages of one group")


def test_more_groups_than_images(folder):
    """A table of many rows in few bytes is not read."""
    table = pq.read_table(folder / ALL).slice(0, 1)
    pq.write_table(pa.concat_tables([table] * 201).combine_chunks(), folder / ALL)
    sealed(folder)
    refused(folder, ALL, "it has 201 rows, more than the 200 that it can have")


@pytest.mark.parametrize("name", [DETECTED, ALL, BY_REGION])
@pytest.mark.parametrize("damage", [b"", b"PAR1", "other", "short"])
def test_tables_that_are_none(folder, name, damage):
    if damage == "other":
        shutil.copy(folder / "generations.parquet", folder / name)
    elif damage == "short":
        pq.write_table(pq.read_table(folder / name).slice(1).drop_columns("sharpness"), folder / name)
    else:
        (folder / name).write_bytes(damage)
    sealed(folder)
    refused(folder, name)


def test_detections_of_another_length(folder):
    pq.write_table(pq.read_table(folder / DETECTED).slice(1), folder / DETECTED)
    sealed(folder)
    refused(folder, DETECTED, "differ in rows")


def webp(size=(256, 256), **options):
    return encode(noise(1, size), "WEBP", **options)


def with_size(data, width, height):
    """A WebP whose head says another size than its pixels have."""
    return data[:26] + width.to_bytes(2, "little") + height.to_bytes(2, "little") + data[30:]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<svg onload=alert(1)>", "no lossy WebP"),
        (b"RIFF", "no lossy WebP"),
        (encode(noise(1, (256, 256))), "no lossy WebP"),
        (encode(noise(1, (256, 256)), "GIF"), "no lossy WebP"),
        (webp(lossless=True), "no lossy WebP"),
        (webp(exif=b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x00"), "no lossy WebP"),
        (encode(Image.new("RGBA", (256, 256), (1, 2, 3, 4)), "WEBP"), "no lossy WebP"),
        (webp((255, 256)), "it has 255 x 256 pixels"),
        (webp((16_383, 1)), "it has 16383 x 1 pixels"),
        (with_size(drawn(1), 256, 16_383), "it has 256 x 16383 pixels"),
        (drawn(1) + b"<script>alert(1)</script>", "length is not what it says"),
        (drawn(1)[:-9], "length is not what it says"),
        (drawn(1)[:4] + b"\xff\xff\xff\xff" + drawn(1)[8:], "length is not what it says"),
        (drawn(1)[:16] + b"\x00\x00\x00\x00" + drawn(1)[20:], "length is not what it says"),
        (drawn(1)[:30], "length is not what it says"),
        (drawn(1)[:26], "length is not what it says"),
        (b"\x00" * (MOST_BYTES + 1), "more than 262,144 bytes"),
    ],
)
def test_pictures_that_are_no_webp_of_ours(folder, data, words):
    rewritten(folder, ALL, "picture", data)
    refused(folder, ALL, "a picture in it", words)


def test_every_quality_of_ours_is_taken():
    for quality in (1, 50, 90, 100):
        assert picture_problem(webp(quality=quality)) == ""
    assert len(webp(quality=100)) < MOST_BYTES


def test_one_large_picture_that_stands_for_many(folder):
    table = pq.read_table(folder / ALL)
    one = pa.array([b"\x00" * 5_000_000], pa.binary()).take(pa.array([0] * len(table)))
    rewritten(folder, ALL, "picture", one)
    refused(folder, ALL, "more than 262,144 bytes")


@pytest.mark.parametrize("name", [DETECTED, ALL, "faces"])
def test_links(folder, tmp_path, name):
    shutil.move(folder / name, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", folder / name)
    refused(folder, "is a link")


@pytest.mark.parametrize(
    ("stage", "files"),
    [
        ("faces", [ALL]),
        ("faces", []),
        ("averages", [DETECTED, ALL]),
        ("averages-toy-4", [ALL]),
        ("averages-toy-4", [BY_REGION, "generations.parquet"]),
    ],
)
def test_stages_with_files_of_others(folder, stage, files):
    def change(manifest):
        manifest["stages"][stage]["files"] = files

    seal(folder, change)
    refused(folder, "manifest.json", stage)


@pytest.mark.parametrize("name", ["faces/../x.parquet", "faces/a/b.parquet", "faces/.hidden", "/faces/x", "face/x"])
def test_files_that_no_audit_has(folder, name):
    def change(manifest):
        manifest["files"][name] = manifest["files"][ALL]

    seal(folder, change)
    refused(folder, "manifest.json")


def test_no_value_in_a_stage_s_entry_makes_a_traceback(folder, capsys):
    """Refused, or opened without what the entry says nothing true of."""
    whole = json.loads((folder / "manifest.json").read_text())
    names = ("faces", "averages", "averages-toy-4")
    places = [place for place in paths({name: whole["stages"][name] for name in names}) if len(place) in (1, 2)]
    for place in places:
        for value in ODD:
            seal(folder, lambda _, place=place, value=value: changed(whole, ("stages", *place), value))
            try:
                faces = Audit(folder).faces
                faces.detections(), faces.averages(), faces.choices()
            except StoreError as error:
                assert str(error)


def test_eyes_and_mouth_in_one_place_stop_a_build_with_a_sentence(folder):
    for name in POINTS:
        rewritten(folder, DETECTED, name, 5.0)
    with pytest.raises(StoreError, match="tells of a face in image 0000000000000001 that is not there"):
        average_faces(Audit(folder), 1)


def test_faces_of_other_images_are_not_used(folder):
    def fewer(manifest):
        manifest["stages"]["faces"]["rows"] = 199

    def others(manifest):
        manifest["stages"]["faces"]["inputs"] = ["0" * 64]

    for change in (fewer, others):
        shutil.copy(folder / "manifest.json", folder / "kept")
        seal(folder, change)
        faces = Audit(folder).faces
        assert faces.detections() is faces.averages() is None
        assert faces.choices() == []
        shutil.move(folder / "kept", folder / "manifest.json")


def test_averages_of_regions_that_changed_are_not_used(folder):
    table = pq.read_table(folder / "regions/toy-4.parquet")
    region = table.column("region").to_numpy()[::-1]
    pq.write_table(table.set_column(0, "region", pa.array(region, pa.int16())), folder / "regions/toy-4.parquet")
    seal(folder)
    faces = Audit(folder).faces
    assert faces.averages() is not None
    assert faces.choices() == []
    assert faces.averages("toy", 4) is None
