"""Shards, links and leftovers made by a stranger, in audits and in sources: nothing outside a folder is touched."""

import json
import os
import shutil
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from samples import imported, likeness, outcomes, png, portrait_rows, write, write_csv, write_table
from strangers import MEASURE, REPORT, SHARD, TABLE, refused, seal

from backend.build import STAGES, build
from backend.store import Audit, StoreError
from backend.store.shards import SCHEMA


def shard_of(folder, batch, **options):
    """Write a shard, and let the manifest list it."""
    options = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(str(folder / SHARD), batch.schema, options=options) as stream:
        stream.write_batch(batch)
    seal(folder, lambda manifest: manifest["shards"][SHARD].update(rows=2))


def unreadable(folder, *words):
    """The audit opens (shards are read when they are needed), and each image is refused with a sentence."""
    audit = Audit(folder)
    for row in range(2):
        for read in (audit.image, audit.thumbnail):
            with pytest.raises(StoreError) as error:
                read(row)
            assert all(word in str(error.value) for word in ("shard-00000.arrow is damaged", *words)), error.value
    seal(folder, lambda manifest: manifest["stages"].clear())
    assert likeness("build", "a", cache=folder.parent) == 1


def images(*contents):
    return pa.array(contents, SCHEMA.field("image").type)


GOOD = {"bytes": b"x", "path": None}


@pytest.mark.parametrize(
    "columns",
    [
        {"image": images(GOOD, GOOD)},
        {"image": images(GOOD, GOOD), "thumbnail": pa.array(["a", "b"])},
        {"image": pa.array([{"data": b"x"}] * 2), "thumbnail": images(GOOD, GOOD)},
        {"image": images(None, None), "thumbnail": images(None, None)},
        {"image": images(*[{"bytes": None, "path": "/etc/passwd"}] * 2), "thumbnail": images(GOOD, None)},
        {"image": images(), "thumbnail": images()},
        {"image": pa.array([1, 2]), "thumbnail": pa.array([1, 2])},
    ],
)
def test_what_a_shard_must_be(folder, columns):
    shard_of(folder, pa.RecordBatch.from_pydict(columns))
    unreadable(folder)


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_compressed_shard_is_never_unpacked(folder, compression):
    huge = images(*[{"bytes": bytes(20_000_000), "path": None}] * 2)
    batch = pa.record_batch([huge, huge], schema=SCHEMA)
    shard_of(folder, batch, compression=compression)
    del huge, batch
    pool = pa.system_memory_pool()
    before, default = pool.bytes_allocated(), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        unreadable(folder, "compressed")
        assert pool.max_memory() - before < 2_000_000
    finally:
        pa.set_memory_pool(default)


def test_a_shard_whose_images_overlap(folder):
    """Both columns at one place of the file: together they are larger than it is."""
    large, small = (images(*[{"bytes": bytes(size), "path": None}] * 2) for size in (50_000, 3))
    shard_of(folder, pa.record_batch([large, small], schema=SCHEMA))
    data = (folder / SHARD).read_bytes()
    place = (
        data.index(struct.pack("<q", 100_000)) - 24
    )  # where the buffers of the first column's offsets and bytes stand
    other = place + 7 * 16  # each column has seven buffers
    data = data[:other] + data[place : place + 32] + data[other + 32 :]
    (folder / SHARD).write_bytes(data)
    with pa.memory_map(str(folder / SHARD)) as source:
        assert sum(batch.nbytes for batch in pa.ipc.open_stream(source)) > source.size()
    seal(folder)
    unreadable(folder, "larger than the file")


def linked(folder, name, outside):
    """Put a link to what lies outside in the place of something in an audit."""
    path = folder / name
    target = outside / name.replace("/", "_")
    if path.is_dir():
        shutil.copytree(path, target)
        shutil.rmtree(path)
    else:
        target.write_bytes(path.read_bytes() if path.is_file() else b"precious")
        path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


LINKS = ["images", "measures", "pending", "manifest.json", "manifest.json.next", TABLE, REPORT, SHARD, MEASURE]
LINKS += [
    "pending/journal.jsonl",
    ".lock",
    "generations.parquet.next",
    "pending/part-00002.parquet",
    "images/shard-00002.arrow.next",
]
LINKS += ["measures/colourfulness.parts", "measures/colourfulness.parquet.next", "images/shard-00009.arrow"]


@pytest.mark.parametrize("name", LINKS)
def test_links_in_an_audit_are_never_followed(folder, tmp_path, name, capsys):
    outside = tmp_path / "outside"
    outside.mkdir()
    if name == "pending":
        (folder / name).mkdir()
        write(folder / name / "part-00009.parquet", b"precious")
    if name.endswith(".parts"):
        (folder / name).mkdir()
        write(folder / name / "x.npy", b"precious")
    seal(folder, lambda manifest: manifest["stages"].clear())
    linked(folder, name, outside)
    before = contents(outside)
    refused(folder, name, "is a link")
    source = tmp_path / "source"
    write_csv(source, portrait_rows(source, ("C",), ("nurse",), 1))
    assert likeness("import", source, "a", cache=folder.parent) == 1
    assert "is a link" in capsys.readouterr().err
    assert contents(outside) == before
    assert (folder / name).is_symlink()


def test_an_audit_that_is_itself_behind_a_link_is_opened(folder, tmp_path):
    """A cache on another disk is the user's own doing."""
    os.rename(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert len(Audit(folder)) == 4
    assert likeness("build", "a", cache=folder.parent) == 0


PART = {"rows": "2", "image_bytes": "1", "thumbnail_bytes": "1", "source": "x"}


@pytest.mark.parametrize("notes", [{}, {**PART, "rows": "x"}, {**PART, "rows": "9" * 5000}, {b"\xff": b"\xff"}, PART])
@pytest.mark.parametrize("columns", ["none", "all", "wrong"])
def test_pending_parts_of_a_stranger(folder, tmp_path, notes, columns):
    table = pq.read_table(folder / TABLE)
    if columns != "all":
        table = pa.table({"id": [1, 2], "source": [None, 1.5], "animated": ["x", "y"]}) if columns == "wrong" else table
        table = table if columns == "wrong" else table.select([])
    (folder / "pending").mkdir()
    pq.write_table(table.replace_schema_metadata(notes), folder / "pending" / "part-00002.parquet")
    shutil.copy(folder / SHARD, folder / "images" / "shard-00002.arrow")
    source = tmp_path / "source"
    write_csv(source, portrait_rows(source, ("C",), ("nurse",), 1))
    assert likeness("import", source, "a", cache=folder.parent) == 0
    assert len(Audit(folder)) == 5


@pytest.mark.parametrize("kind", ["text", "object", "shape", "zip", "short", "note"])
def test_parts_of_a_stage_of_a_stranger(folder, kind):
    seal(folder, lambda manifest: manifest["stages"].clear())
    audit = Audit(folder)
    parts = folder / "measures" / "colourfulness.parts"
    parts.mkdir()
    text = repr(sorted(STAGES[0].parameters.items()))
    (parts / "parameters.txt").write_bytes(b"\xff" if kind == "note" else text.encode())
    values = {"text": np.array(["a", "b"]), "object": np.array([None, {}]), "shape": np.zeros((1, 2))}
    for _, _, shard in audit.shards():
        path = parts / f"{shard[:32]}.npy"
        if kind in values:
            np.save(path, values[kind])
        else:
            path.write_bytes({"zip": b"PK\x03\x04", "note": b""}.get(kind, b"\x93NUMPY\x01\x00\x08\x00{'a': (("))
    build(folder.parent, "a", 1)
    assert np.isfinite(Audit(folder).measure("colourfulness")).all()


@pytest.mark.parametrize("name", ["metadata.csv", "metadata.jsonl", "metadata.parquet"])
@pytest.mark.parametrize("below", ["", "sub"])
def test_metadata_that_is_a_link_out_of_the_folder(tmp_path, cache, capsys, name, below):
    folder = tmp_path / "s" / below
    write(folder / "a.png", png())
    row = {"file_name": "a.png", "system": "S", "profession": "nurse"}
    secret = write_csv(tmp_path, [row], name="secret.csv")
    if name == "metadata.jsonl":
        write(secret, json.dumps(row).encode())
    if name == "metadata.parquet":
        write_table(secret, **{key: [value] for key, value in row.items()})
    (folder / name).symlink_to(secret)
    assert likeness("import", tmp_path / "s", "a", cache=cache) == 1
    assert f"{folder / name} is a link that leads out of the folder, and is not followed" in capsys.readouterr().err
    assert list(cache.iterdir()) == []
    (folder / name).unlink()
    shutil.move(secret, folder / "own")
    (folder / name).symlink_to("own")
    assert len(imported(tmp_path / "s", cache)) == 1


def test_tables_that_are_links_out_of_the_folder_are_left_out(tmp_path, cache, capsys):
    columns = {"system": ["S"], "profession": ["nurse"]}
    secret = write_table(tmp_path / "secret.parquet", image=[{"bytes": png(0)}], **columns)
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "link.parquet").symlink_to(secret)
    assert likeness("import", folder, "a", cache=cache) == 1
    assert "link.parquet is a link that leads out of the folder, and is not followed" in capsys.readouterr().err
    write_table(folder / "deep/good.parquet", image=[{"bytes": png(1)}], **columns)
    (folder / "again.parquet").symlink_to("deep/good.parquet")
    audit = imported(folder, cache)
    assert audit.image(0)[0] == png(1)
    assert len(audit) == 1
    told = outcomes(audit)
    assert told["link.parquet"].startswith("left out: a link that leads out of the folder")
    assert "exact duplicate" in told["deep/good.parquet, row 1"]
    assert len(imported(folder / "link.parquet", cache, name="b")) == 1  # named by its user: no surprise
