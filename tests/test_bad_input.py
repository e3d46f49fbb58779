"""What goes wrong in real folders: each file by its name in the report, and everything else imported."""

import io
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from samples import (
    encode,
    imported,
    likeness,
    noise,
    outcomes,
    png,
    portrait_rows,
    thumbnail,
    write,
    write_csv,
    write_table,
)

from backend.importers import folder as folders

TOLD = {
    "truncated.jpg": "damaged picture",
    "empty.png": "0 bytes",
    "text.png": "no picture that can be read",
    "bomb.png": "more than the limit of 64,000,000",
    "zcopy.png": "exact duplicate of S/nurse/with space.png",
    "drawing.svg": "no image by its name",
    "notes.txt": "no image by its name",
    "pipe.png": "no regular file",
    "link.png": "outside the folder",
    "broken.png": "no such file",
    "loop.png": "cannot be read",
    "top.png": "lies neither at SYSTEM/PROFESSION/",
    "moving.webp": "noted: the file moves",
    "moving.gif": "noted: the file moves",
}
"""What the report says of each file in trouble()."""


def trouble():
    """Files that are imported, and files that are not: name -> bytes."""
    sixteen = np.linspace(0, 65535, 64 * 64).reshape(64, 64).astype(np.uint16)
    palette = Image.new("P", (64, 64), 0)
    palette.putpalette([9, 9, 9, 255, 0, 0])
    exif = Image.Exif()
    exif[0x0112] = 6
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    moving = {"save_all": True, "append_images": frames[1:]}
    good = {
        "cmyk.jpg": encode(Image.new("RGB", (40, 40), "red").convert("CMYK"), "JPEG"),
        "sixteen.png": encode(Image.fromarray(sixteen)),
        "palette.png": encode(palette, transparency=bytes([0, 255])),
        "photo.jpg": encode(noise(size=(60, 40)), "JPEG", exif=exif),
        "moving.webp": encode(frames[0], "WEBP", **moving),
        "moving.gif": encode(frames[0], "GIF", **moving),
        "with space.png": png(1),
        "quote'\".png": png(2),
        "<script>alert(1)<.png": png(3),
        "看護師 é.png": png(4),
        "wrong-suffix.jpg": png(5),
    }
    bad = {
        "truncated.jpg": encode(noise(6), "JPEG")[:500],
        "empty.png": b"",
        "text.png": b"this is no picture",
        "bomb.png": encode(Image.new("1", (20_000, 20_000))),
        "zcopy.png": png(1),
        "drawing.svg": b"<svg/>",
        "notes.txt": b"notes",
    }
    return good, bad


def test_a_folder_full_of_trouble(tmp_path, cache):
    folder = tmp_path / "s"
    place = folder / "S" / "nurse"
    good, bad = trouble()
    for name, data in {**good, **bad}.items():
        write(place / name, data)
    os.mkfifo(place / "pipe.png")
    os.symlink("/etc/hostname", place / "link.png")
    os.symlink("nowhere", place / "broken.png")
    os.symlink("loop.png", place / "loop.png")
    write(place / ".hidden.png", png(8))
    write(folder / "top.png", png(9))
    audit = imported(folder, cache)

    names = [name.removeprefix("S/nurse/") for name in audit.generations["source"]]
    assert sorted(names) == sorted(good)
    told = {name.removeprefix("S/nurse/"): words for name, words in outcomes(audit).items()}
    assert told.keys() == TOLD.keys()
    assert all(words in told[name] for name, words in TOLD.items()), told

    def row(name):
        return names.index(name)

    table = audit.generations
    assert tuple(table[["width", "height"]].iloc[row("photo.jpg")]) == (40, 60)
    assert thumbnail(audit, row("photo.jpg")).size == (40, 60)
    assert np.asarray(thumbnail(audit, row("cmyk.jpg"))).mean(axis=(0, 1)) == pytest.approx([254, 0, 0], abs=12)
    assert np.asarray(thumbnail(audit, row("palette.png"))).min() > 250
    assert np.asarray(thumbnail(audit, row("sixteen.png"))).mean() == pytest.approx(127, abs=8)
    assert table["animated"].sum() == 2
    assert audit.image(row("wrong-suffix.jpg"))[1] == "image/png"

    again = imported(folder, cache)
    assert len(again) == len(good)
    assert outcomes(again) == outcomes(audit)


def test_file_names_that_are_no_utf8(tmp_path, cache):
    root = os.fsencode(tmp_path / "s")
    os.makedirs(root + b"/Syst\xe9me/nurse")
    for number, name in enumerate([b"caf\xe9.png", b"th\xe8.txt"]):
        with open(root + b"/Syst\xe9me/nurse/" + name, "wb") as file:
            file.write(png(number))
    with open(root + b"/\xff.png", "wb") as file:
        file.write(png(7))
    audit = imported(tmp_path / "s", cache)
    assert list(audit.generations["source"]) == ["Syst\ufffdme/nurse/caf\ufffd.png"]
    assert list(audit.generations["system"]) == ["Syst\ufffdme"]
    assert set(outcomes(audit)) == {"Syst\ufffdme/nurse/th\ufffd.txt", "\ufffd.png"}


def test_names_that_point_outside(tmp_path, cache):
    folder = tmp_path / "s"
    write(tmp_path / "secret.png", png(1))
    write(folder / "good.png", png(2))
    os.symlink(tmp_path, folder / "up")
    os.symlink(tmp_path / "secret.png", folder / "link.png")
    names = ["good.png", "../../etc/passwd", "../secret.png", "/etc/passwd", str(folder / "good.png"), "up/secret.png"]
    names += ["link.png", ".", "", "x" * 5000, "good.png/x"]
    write_csv(folder, [{"file_name": name, "system": "S", "profession": "nurse"} for name in names])
    audit = imported(folder, cache)
    assert list(audit.generations["source"]) == ["good.png"]
    told = outcomes(audit)
    assert sum("outside the folder" in words for words in told.values()) == 4
    assert sum("absolute path" in words for words in told.values()) == 2
    assert told["metadata.csv, line 10"] == "left out: the row has no file_name; fill it or remove the row"
    assert "no regular file" in told["."]
    assert "cannot be read" in told["x" * 5000]
    assert "no such file" in told["good.png/x"]
    assert len(told) == 10


def one(tmp_path, text: bytes, name="metadata.csv", file="a.png"):
    write(tmp_path / "s" / file, png())
    write(tmp_path / "s" / name, text)
    return tmp_path / "s"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_encodings_and_delimiters(tmp_path, cache, encoding, delimiter):
    text = "file_name;system;profession;extra\r\né.png;S;nurse;ü\r\n".replace(";", delimiter)
    audit = imported(one(tmp_path, text.encode(encoding), file="é.png"), cache)
    assert list(audit.generations["extra_extra"]) == ["ü"]
    told = outcomes(audit)
    assert told == ({"metadata.csv": told.get("metadata.csv")} if encoding == "latin-1" else {})
    assert encoding != "latin-1" or told["metadata.csv"] == "noted: the file is not UTF-8; it was read as Latin-1"


def test_rows_and_files_that_do_not_match(tmp_path, cache):
    folder = tmp_path / "s"
    rows = portrait_rows(folder, ["A"], ["nurse"], 3)
    write(folder / "stray.png", png(90))
    write(folder / "README.md", b"hello")
    path = write_csv(folder, [*rows, {"file_name": "gone.png", "system": "A", "profession": "nurse"}])
    with path.open("a") as file:
        file.write("A/nurse_0.png,A,nurse,too,many\n,,\nA/nurse_1.png\nA/nurse_0.png,A,nurse\nA/nurse_2.png,A,\n")
    audit = imported(folder, cache)
    assert len(audit) == 3
    told = outcomes(audit)
    assert "no such file" in told["gone.png"]
    assert "no row of the metadata names this file" in told["stray.png"]
    assert "no row of the metadata names this file" in told["README.md"]
    assert "5 cells for 3 columns" in told["metadata.csv, line 6"]
    assert "no system is named" in told["A/nurse_1.png"]
    assert "nothing says what the prompt asked for" in told["A/nurse_2.png"]
    assert len(told) == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "its first line must name the columns"),
        (b"path,system\na.png,S\n", "no column 'file_name'; it has 'path', 'system'"),
        (b"file_name,profession\na.png,nurse\n", "--map COLUMN=system, or name the one system with --system NAME"),
        (b"file_name,system,a,a\na.png,S,1,2\n", "names the column 'a' twice: rename one"),
        (b"file_name,system,,\na.png,S,1,2\n", "2 columns without a name"),
        (b"x" * 11_000_000, "its first line must name the columns"),
        (b'file_name,system\na.png,"' + b"x" * 11_000_000, "Mend the line"),
        (b"\x00\x01\x02\xff" * 100, "no column 'file_name'"),
    ],
)
def test_metadata_that_cannot_be_used(tmp_path, cache, capsys, text, words):
    assert likeness("import", one(tmp_path, text), "a", cache=cache) == 1
    error = capsys.readouterr().err
    assert words in error
    assert str(tmp_path / "s" / "metadata.csv") in error


def test_bad_lines_of_jsonl(tmp_path, cache):
    good = b'{"file_name": "a.png", "system": "S", "profession": "nurse"}\n'
    lines = [
        b"\xef\xbb\xbf" + good,
        b"{oops\n",
        b"[1, 2]\n",
        b"\n",
        b"7\n",
        b"9" * 5000 + b"\n",
        b"[" * 100_000 + b"\n",
    ]
    lines += [b'{"file_name": "\\ud800.png", "system": "S", "profession": "nurse"}\n', b'{"file_name": null}\n']
    lines += [b'{"file_name": ["a.png"], "system": {"a": 1}, "profession": NaN}\n']
    audit = imported(one(tmp_path, b"".join(lines), "metadata.jsonl"), cache)
    assert len(audit) == 1
    told = outcomes(audit)
    for number in (2, 3, 5, 6, 7):
        assert "no JSON" in told[f"metadata.jsonl, line {number}"]
    assert "no such file" in told["\ufffd.png"]
    assert "no file_name" in told["metadata.jsonl, line 9"]
    assert len(told) == 8


def test_a_damaged_metadata_table(tmp_path, cache, capsys):
    assert likeness("import", one(tmp_path, b"PAR1 nonsense", "metadata.parquet"), "a", cache=cache) == 1
    assert "cannot be read as Parquet" in capsys.readouterr().err


def test_a_metadata_file_of_very_many_columns_is_refused_at_once(tmp_path, cache, capsys):
    text = ",".join(["file_name", *(f"c{n}" for n in range(200_000))]) + "\n"
    assert likeness("import", one(tmp_path, text.encode(), "metadata.csv"), "a", cache=cache) == 1
    assert "200001 columns" in capsys.readouterr().err


def test_a_metadata_table_of_few_bytes_and_many_rows(tmp_path, cache, capsys):
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(30_000_000, np.int8)), ["a.png"])
    bomb = io.BytesIO()
    pq.write_table(pa.table(dict.fromkeys(("file_name", "system", "profession", "prompt"), names)), bomb)
    assert len(bomb.getvalue()) < 500_000
    assert likeness("import", one(tmp_path, bomb.getvalue(), "metadata.parquet"), "a", cache=cache) == 1
    assert "metadata.parquet unpacks to 30,000,000 rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    "odd",
    [
        pa.array([2**60], pa.int64()).cast(pa.timestamp("ms")),
        pa.array([2**60], pa.int64()).cast(pa.timestamp("us", "UTC")),
        pa.array([2**62], pa.int64()).cast(pa.duration("s")),
        pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
        pa.array([0], pa.timestamp("us", tz="No/Where")),
        pa.array([b"\xff"], pa.binary()).view(pa.string()),
    ],
    ids=["ms", "us", "duration", "date", "zone", "text"],
)
def test_values_out_of_range(tmp_path, cache, capsys, odd):
    values = {"system": ["S"], "profession": ["nurse"], "odd": odd}
    write(tmp_path / "m/a.png", png())
    write_table(tmp_path / "m/metadata.parquet", file_name=["a.png"], **values)
    assert likeness("import", tmp_path / "m", "a", cache=cache) == 1
    assert "the column 'odd' holds what cannot be read" in capsys.readouterr().err
    write_table(tmp_path / "t/bad.parquet", image=[{"bytes": png(1)}], **values)
    write_table(tmp_path / "t/good.parquet", image=[{"bytes": png(2)}], system=["S"], profession=["nurse"])
    audit = imported(tmp_path / "t", cache)
    assert len(audit) == 1
    assert "damaged after row 0 of 1" in outcomes(audit)["bad.parquet"]


def test_an_empty_folder(tmp_path, cache, capsys):
    (tmp_path / "s").mkdir()
    assert likeness("import", tmp_path / "s", "a", cache=cache) == 1
    assert "is empty: it holds no image and no metadata.csv. Give" in capsys.readouterr().err
    assert list(cache.iterdir()) == []


def test_nothing_that_can_be_imported(tmp_path, cache, capsys):
    for number in range(30):
        write(tmp_path / f"s/S/nurse/{number}.png", b"no picture")
    assert likeness("import", tmp_path / "s", "a", cache=cache) == 1
    told = capsys.readouterr()
    assert told.err == "Nothing was imported.\n"
    assert told.out.count("no picture that can be read") == 30
    assert likeness("status", "a", cache=cache) == 1


def test_a_folder_that_cannot_be_listed(source, cache, monkeypatch):
    """Root may list everything, so the refusal of the system is simulated."""
    real = os.scandir

    def scandir(path):
        if str(path).endswith("/B"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    (source / "metadata.csv").unlink()
    (source / "A" / "nurse").mkdir()
    write(source / "A/nurse/x.png", png(70))
    monkeypatch.setattr(folders.os, "scandir", scandir)
    assert "cannot be listed (Permission denied)" in outcomes(imported(source, cache))["B"]


def test_a_limit_of_the_readers_own(tmp_path, cache):
    write(tmp_path / "s/S/nurse/a.png", encode(Image.new("1", (2000, 1000))))
    write(tmp_path / "s/S/nurse/b.png", png())
    audit = imported(tmp_path / "s", cache, "--max-megapixels", 1)
    assert "2,000 x 1,000 = 2,000,000 pixels, more than the limit of 1,000,000" in outcomes(audit)["S/nurse/a.png"]
    assert len(imported(tmp_path / "s", cache, "--max-megapixels", 2)) == 2
