"""Sources that are well made: folders with metadata, laid-out folders, and the tables of published data sets."""

import os

import pyarrow as pa
import pytest
from samples import imported, likeness, outcomes, png, portrait_rows, process, write, write_csv, write_table

from backend.importers import open_source
from backend.importers.folder import natural
from backend.records import Item, SourceError


def columns(audit, *names):
    return list(audit.generations[list(names)].astype("object").itertuples(index=False, name=None))


def test_a_folder_with_metadata(source, cache):
    audit = imported(source, cache)
    assert len(audit) == 12
    assert columns(audit, "system", "profession", "number")[:4] == [
        ("A", "nurse", 1),
        ("A", "nurse", 2),
        ("A", "nurse", 3),
        ("A", "welder", 1),
    ]
    assert audit.image(4) == ((source / "A/welder_1.png").read_bytes(), "image/png")
    assert set(audit.generations["subset"]) == {"professions"}
    assert outcomes(audit) == {}


def test_a_folder_with_metadata_in_each_of_its_folders(tmp_path, cache):
    for system in "AB":
        rows = portrait_rows(tmp_path / "s" / system, [system], ["nurse"], 2)
        write_csv(tmp_path / "s" / system, rows)
    audit = imported(tmp_path / "s", cache)
    assert list(audit.generations["source"]) == [f"{s}/{s}/nurse_{n}.png" for s in "AB" for n in (0, 1)]


def test_a_folder_laid_out_by_system_and_profession(tmp_path, cache):
    for number, name in enumerate(["S 1/Social_Worker/p10.png", "S 1/Social_Worker/p9.png", "T/nurse/a.png"]):
        write(tmp_path / "s" / name, png(number))
    audit = imported(tmp_path / "s", cache)
    assert columns(audit, "system", "profession", "number", "source") == [
        ("S 1", "social worker", 1, "S 1/Social_Worker/p9.png"),
        ("S 1", "social worker", 2, "S 1/Social_Worker/p10.png"),
        ("T", "nurse", 1, "T/nurse/a.png"),
    ]


def test_a_folder_laid_out_by_profession_needs_a_system(tmp_path, cache, capsys):
    write(tmp_path / "s/nurse/a.png", png())
    assert likeness("import", tmp_path / "s", "a", cache=cache) == 1
    assert "with --system NAME" in capsys.readouterr().out
    audit = imported(tmp_path / "s", cache, "--system", "Mine")
    assert columns(audit, "system", "profession") == [("Mine", "nurse")]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_other_kinds_of_metadata(tmp_path, cache, kind):
    write(tmp_path / "s/a.png", png())
    if kind == "jsonl":
        line = b'{"file_name": "a.png", "system": "S", "gender": "woman", "score": 1.5, "tags": ["x", "\xc3\xa9"]}\n'
        write(tmp_path / "s/metadata.jsonl", line)
    else:
        table = {"file_name": ["a.png"], "system": ["S"], "gender": ["woman"], "score": [1.5], "tags": [["x", "é"]]}
        write_table(tmp_path / "s/metadata.parquet", **table)
    audit = imported(tmp_path / "s", cache)
    assert columns(audit, "subset", "system", "profession") == [("identities", "S", "")]
    expected = [("woman", "unspecified", "1.5", '["x", "é"]')]
    assert columns(audit, "gender", "ethnicity", "extra_score", "extra_tags") == expected


def test_map_goes_before_the_known_names(tmp_path, cache):
    rows = portrait_rows(tmp_path / "s", ["A"], ["nurse"], 1)
    write_csv(tmp_path / "s", [{**row, "model": "M", "no": "7", "job title": "Welder"} for row in rows])
    audit = imported(tmp_path / "s", cache, "--map", "model=system", "--map", "job title=profession")
    assert columns(audit, "system", "profession", "number", "extra_system") == [("M", "welder", 7, "A")]
    assert columns(audit, "extra_profession") == [("nurse",)]


def test_given_numbers_are_kept_and_missing_ones_go_on(tmp_path, cache):
    rows = portrait_rows(tmp_path / "s", ["A"], ["nurse"], 5)
    numbers = ["", "999999999999999", "4", "", "x"]
    write_csv(tmp_path / "s", [{**row, "number": n} for row, n in zip(rows, numbers, strict=True)])
    audit = imported(tmp_path / "s", cache)
    assert list(audit.generations["number"]) == [10**15, 999999999999999, 4, 10**15 + 1, 10**15 + 2]


def images(count):
    return [{"bytes": png(seed), "path": None} for seed in range(count)]


def identities(count):
    import datasets

    features = datasets.Features(
        {name: datasets.Value("string") for name in ("ethnicity", "gender", "image_path", "model")}
        | {"no": datasets.Value("int32"), "image": datasets.Image()}
    )
    return features, {
        "ethnicity": ["African-American", ""] * (count // 2),
        "gender": ["woman", "non-binary"] * (count // 2),
        "no": list(range(1, count + 1)),
        "image_path": [f"identities/{n}.png" for n in range(count)],
        "image": images(count),
        "model": ["SD_14"] * count,
    }


def test_the_layout_of_tti_bias_identities(tmp_path, cache):
    features, table = identities(4)
    path = write_table(tmp_path / "train-00000.parquet", features, **table)
    audit = imported(path, cache)
    assert columns(audit, "subset", "system", "ethnicity", "gender", "number")[:2] == [
        ("identities", "SD_14", "African-American", "woman", 1),
        ("identities", "SD_14", "unspecified", "non-binary", 2),
    ]
    assert audit.generations["source"][1] == "train-00000.parquet, row 2 identities/1.png"
    assert audit.image(3)[0] == png(3)


def test_the_layout_of_tti_bias_professions(tmp_path, cache):
    import datasets

    table = {
        "adjective": ["no_adjective", "ambitious"],
        "profession": ["Social_Worker", "CEO"],
        "no": [1, 1],
        "image_path": ["a.png", "b.png"],
        "image": images(2),
        "model": ["DallE", "SD_2"],
    }
    features = datasets.Features({name: datasets.Value("string") for name in table})
    features |= {"no": datasets.Value("int64"), "image": datasets.Image()}
    path = write_table(tmp_path / "p/data/train-0.parquet", datasets.Features(features), **table)
    audit = imported(path.parent.parent, cache)
    assert columns(audit, "subset", "adjective", "profession", "system", "number") == [
        ("professions", "", "social worker", "DallE", 1),
        ("professions", "ambitious", audit.generations["profession"][1], "SD_2", 1),
    ]


def test_the_layout_of_professions_v2(tmp_path, cache):
    import datasets

    features = datasets.Features(
        {
            "profession": datasets.Value("string"),
            "model": datasets.ClassLabel(names=["x", "y"]),
            "no": datasets.Value("int32"),
            "seed": datasets.Value("int64"),
            "image": datasets.Image(),
        }
    )
    table = {"profession": ["nurse"] * 2, "model": [0, 1], "no": [1, 2], "seed": [2**63 - 1, 5], "image": images(2)}
    path = write_table(tmp_path / "v2.parquet", features, **table)
    audit = imported(path, cache, "--map", "model=system")
    assert columns(audit, "profession", "number", "seed") == [("nurse", 1, 2**63 - 1), ("nurse", 2, 5)]
    assert list(audit.generations["system"]) == ["x", "y"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.struct([("bytes", pa.binary())]), "both"])
def test_plain_columns_of_images(tmp_path, cache, kind):
    if kind == "both":
        kind = pa.struct([("path", pa.string()), ("bytes", pa.binary())])
    data = [png(0), png(1)] if not pa.types.is_struct(kind) else [{"bytes": png(n)} for n in (0, 1)]
    path = write_table(
        tmp_path / "it's [1] *.parquet", picture=pa.array(data, kind), system=["A", "A"], job=["nurse", "nurse"]
    )
    audit = imported(path, cache)
    assert [audit.image(row)[0] for row in (0, 1)] == [png(0), png(1)]
    assert set(audit.generations["profession"]) == {"nurse"}


def test_one_damaged_table_among_good_ones(tmp_path, cache):
    folder = tmp_path / "s"
    for number in range(4):
        features, table = identities(20)
        table["image"] = [{"bytes": png(100 * number + n), "path": None} for n in range(20)]
        write_table(folder / f"{number}.parquet", features, **table)
    data = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(data[:-500])
    data = (folder / "2.parquet").read_bytes()
    middle = len(data) // 3
    (folder / "2.parquet").write_bytes(data[:middle] + b"\xff" * 3000 + data[middle + 3000 :])
    write_table(folder / "labels.parquet", name=["a"], score=[1])
    audit = imported(folder, cache)
    told = outcomes(audit)
    assert "no Parquet file that can be read" in told["1.parquet"]
    assert "no column of images" in told["labels.parquet"]
    assert any(name.startswith("2.parquet") for name in told)
    sources = audit.generations["source"].str[:9].value_counts()
    assert sources["0.parquet"] == sources["3.parquet"] == 20


def test_words_for_no_adjective(tmp_path, cache):
    rows = portrait_rows(tmp_path / "s", ["A"], ["nurse"], 3)
    write_csv(tmp_path / "s", [{**row, "adjective": w} for row, w in zip(rows, ("-", "none", "None"), strict=True)])
    assert set(imported(tmp_path / "s", cache).generations["adjective"]) == {""}


@pytest.mark.parametrize("as_image", [False, True])
def test_paths_in_a_table_are_never_followed(tmp_path, cache, capsys, as_image):
    import datasets

    secret = write(tmp_path / "secret.png", png())
    paths = [str(secret), "https://example.invalid/x.png"]
    table = {"picture": paths, "system": ["A"] * 2, "profession": ["nurse"] * 2}
    features = None
    if as_image:
        table = {**table, "picture": [{"bytes": None, "path": path} for path in paths]}
        kinds = {"system": datasets.Value("string"), "profession": datasets.Value("string")}
        features = datasets.Features({"picture": datasets.Image(decode=False), **kinds})
        path = tmp_path / "t.parquet"
        array = pa.array(table["picture"], pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
        write_table(path, picture=array, system=table["system"], profession=table["profession"])
    else:
        path = write_table(tmp_path / "t.parquet", features, **table)
        assert likeness("import", path, "a", cache=cache) == 1
        assert "--map COLUMN=image" in capsys.readouterr().err
    assert likeness("import", path, "a", "--map", "picture=image", cache=cache) == 1
    out = capsys.readouterr().out
    assert out.count("paths in a table are not followed") == 2
    assert "0 added" in out


def test_a_second_column_of_images_is_not_decoded(tmp_path, cache):
    import datasets

    secret = write(tmp_path / "secret.png", png())
    features = datasets.Features(
        {"image": datasets.Image(), "mask": datasets.Image(decode=False), "system": datasets.Value("string")}
    )
    table = {"image": images(1), "mask": [{"bytes": None, "path": str(secret)}], "system": ["S"]}
    stored = datasets.Dataset.from_dict(table, features=features)
    stored = stored.add_column("profession", ["nurse"])
    path = tmp_path / "t.parquet"
    stored.to_parquet(str(path))
    audit = imported(path, cache)
    assert columns(audit, "extra_mask")[0][0].startswith("{")


def test_images_beside_tables_are_named(tmp_path, cache):
    features, table = identities(2)
    write_table(tmp_path / "s/t.parquet", features, **table)
    write(tmp_path / "s/extra/a.png", png(9))
    assert "import them from a folder of their own" in outcomes(imported(tmp_path / "s", cache))["extra/a.png"]


def test_the_hub_out_of_reach(cache, capsys):
    assert likeness("import", "tti-bias/identities", "a", cache=cache) == 1
    error = capsys.readouterr().err
    assert "'tti-bias/identities' is no folder here, and as a data set it cannot be had from the Hub" in error
    assert "fetch its Parquet files elsewhere" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("path", ["nowhere", "./no/where", "~nobody-here/x", "a\x00b", "x" * 5000, "/dev/null"])
def test_an_unknown_source(cache, capsys, path):
    assert likeness("import", path, "a", cache=cache) == 1
    assert capsys.readouterr().err.startswith("Error: ")
    with pytest.raises(SourceError):
        open_source(path)


def test_a_file_that_is_no_table(tmp_path, cache, capsys):
    assert likeness("import", write(tmp_path / "a.zip", b"x"), "a", cache=cache) == 1
    assert "give the folder that holds the images" in capsys.readouterr().err


def test_items_come_one_after_the_other(source):
    opened = open_source(str(source))
    items = list(opened.items)
    assert opened.total == 12
    assert all(isinstance(item, Item) for item in items)
    assert opened.label == "source"


@pytest.mark.parametrize("name", ["a/1²2.png", "²", "1" * 40, "٣", "é\udcff"])
def test_any_name_has_a_place_in_natural_order(name):
    ordered = sorted([name, "10", "2", "a"], key=natural)
    assert ordered.index("2") < ordered.index("10")


def test_memory_stays_flat(tmp_path):
    peaks = []
    for count in (300, 1300):
        folder = tmp_path / str(count)
        for number in range(count):
            write(folder / f"S/nurse/{number}.png", png(number, (8, 8)) + bytes(60_000))
        work = process("import", folder, "a", "--shard-rows", 50, "--workers", 2, cache=tmp_path / f"cache{count}")
        _, status, usage = os.wait4(work.pid, 0)
        work.returncode = os.waitstatus_to_exitcode(status)
        work.stdout.close()
        work.stderr.close()
        assert work.returncode == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] < peaks[0] + 40, peaks  # MB; the images of the second are 60 MB larger
