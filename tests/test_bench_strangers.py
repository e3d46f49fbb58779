"""Folders and files of tasks made by a stranger or by mistake: told in a sentence, or counted by reason; no guesses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from bench_sets import make_celeba, make_folder, make_pata, make_stereoset, make_utkface, make_visogender
from samples import png, write, write_csv

from backend import reading
from backend.bench_plan import chosen_task, load, plan
from backend.benchmarks import Data, base
from backend.benchmarks.base import AMBIGUOUS, column
from backend.benchmarks.tasks import TASKS, own_words, read_tasks
from backend.reading import MOST_BYTES, SpecError, text_of
from backend.records import SourceError

SHIPPED = read_tasks()
LISTS = [
    ("celeba-blond", make_celeba, "list_attr_celeba.txt"),
    ("celeba-blond", make_celeba, "list_eval_partition.txt"),
    ("celeba-blond", lambda folder: make_celeba(folder, "csv"), "list_attr_celeba.csv"),
    ("pata-race", make_pata, "pata_fairness.files.lst"),
    ("pata-race", make_pata, "pata_fairness.captions.json"),
    ("vl-stereoset", make_stereoset, "data/VLStereoSet.csv"),
    ("visogender-oo", make_visogender, "visogender_1.tsv"),
    ("folder", make_folder, "metadata.csv"),
]
TASK = "name = 'x'\nformat = '{}'\nfamily = '{}'\ntitle = 'X'\nquestion = 'Who?'\nform = 'choice'\n"


@pytest.fixture(autouse=True)
def no_hanging():
    """What waits for a pipe is stopped after some seconds."""

    def stop(*arguments):
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def loaded(name, place=None, label="", groups=(), fetch=None, tasks=SHIPPED):
    label = label or ("kind" if name == "folder" else "")
    return load(chosen_task(tasks, name, label, groups), Data(place, None, fetch))


def put(path, how, secret):
    """Put something else in a file's place."""
    path.unlink()
    if how == "link":
        path.symlink_to(secret)
    elif how == "device":
        path.symlink_to("/dev/zero")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "huge":
        write(path, b"")
        os.truncate(path, MOST_BYTES + 1)
    elif how == "folder":
        path.mkdir()
    elif how == "loop":
        path.symlink_to(path.name)


@pytest.mark.parametrize("how", ["link", "device", "pipe", "huge", "folder", "loop"])
@pytest.mark.parametrize(("name", "make", "file"), LISTS)
def test_no_list_is_read_through_a_link_from_a_pipe_or_without_a_limit(tmp_path, name, make, file, how):
    folder = make(tmp_path / "set")
    assert loaded(name, folder).items
    secret = write(tmp_path / "secret.csv", b"user;password\nx;hunter2\n")
    put(folder / file, how, secret)
    with pytest.raises(SourceError) as error:
        loaded(name, folder)
    assert (folder / file).name in str(error.value) and "\n" not in str(error.value)
    assert "password" not in str(error.value) and "hunter2" not in str(error.value)
    if how == "link":
        assert "is a link that leads out of the folder" in str(error.value)


def test_links_inside_the_folder_and_those_that_the_user_names_are_followed(tmp_path):
    folder = make_visogender(tmp_path / "real")
    os.rename(folder / "visogender_1.tsv", folder / "data.txt")
    (folder / "v.tsv").symlink_to("data.txt")
    (tmp_path / "linked").symlink_to(folder)
    for place in (folder, tmp_path / "linked", folder / "v.tsv"):
        assert len(loaded("visogender-oo", place).items) == 6
    (folder / "v.tsv").unlink()
    (folder / "v.tsv").symlink_to(write(tmp_path / "elsewhere.tsv", (folder / "data.txt").read_bytes()))
    assert len(loaded("visogender-oo", folder / "v.tsv").items) == 6
    faces = make_celeba(tmp_path / "faces")
    os.rename(faces / "list_attr_celeba.txt", tmp_path / "list.txt")
    (faces / "list_attr_celeba.txt").symlink_to(tmp_path / "list.txt")
    assert loaded("celeba-blond", faces / "list_attr_celeba.txt").items
    os.truncate(tmp_path / "elsewhere.tsv", MOST_BYTES + 1)
    os.mkfifo(tmp_path / "pipe.tsv")
    for place, words in (
        (folder / "v.tsv", r"v\.tsv is larger than 100,000,000 bytes"),
        (tmp_path / "pipe.tsv", r"pipe\.tsv is neither a folder nor a regular file; expected is"),
        (tmp_path / ("x" * 5000), "is not there; expected is"),
        (tmp_path / "a\0b", "is not there; expected is"),
        (tmp_path / "\ud800", "is not there; expected is"),
    ):
        with pytest.raises(SpecError, match=words):
            loaded("visogender-oo", place)


def test_a_pipe_that_takes_a_list_s_place_meanwhile_cannot_block(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "list.csv")
    real, asked = reading.stat.S_ISREG, []
    monkeypatch.setattr(reading.stat, "S_ISREG", lambda mode: asked.append(mode) or len(asked) == 1 or real(mode))
    with pytest.raises(SpecError, match=r"list\.csv is no regular file"):
        text_of(tmp_path / "list.csv", tmp_path)
    assert len(asked) == 2


def test_lists_in_other_encodings_and_tables_that_are_none(tmp_path):
    data = "\ufeffIDX\tr\u00f4le\nx\ty\n".encode()
    assert base.table_of(write(tmp_path / "a.tsv", data), tmp_path) == (
        ["IDX", "r\u00f4le"],
        [{"IDX": "x", "r\u00f4le": "y"}],
    )
    with pytest.raises(SpecError, match="is not UTF-8"):
        text_of(write(tmp_path / "b.toml", b"x = '\xff'"), tmp_path, errors="strict")
    for data, words in (
        (b"", "is empty or no table"),
        (b"," * 2000, "has 2,001 columns"),
        (b"IDX\n" + b"\r\n" * 600_000, "more than 1,000,000 lines"),
        (b'"' + b"x" * 10**6, "table|column"),
    ):
        with pytest.raises(SpecError, match=words):
            columns, _ = base.table_of(write(tmp_path / "c.csv", data), tmp_path)
            column(columns, tmp_path / "c.csv", "IDX")
    assert column(["Heavy_Makeup", "\u5e74\u9f62"], tmp_path, "\u5e74\u9f62") == "\u5e74\u9f62"
    for name in ("\u6027\u522b", "", "_"):
        with pytest.raises(SpecError, match="has no column"):
            column(["\u5e74\u9f62", "Heavy_Makeup"], tmp_path, name)


def test_a_folder_s_rows_find_exactly_the_file_that_they_name(tmp_path):
    folder = tmp_path / "f"
    for name in ("b/1.png", "b/2.jpg", "3.png", "c/4.png"):
        write(folder / name, png(len(name)))
    names = ["a/1.png", "1.png", "b/2", "b/2.png", "2.jpg", "3", "./3.png", "b/../c/4.png", f"{folder}/b/2.jpg"]
    write_csv(folder, [{"file_name": name, "kind": "xy"[at % 2]} for at, name in enumerate(names)])
    found = loaded("folder", folder)
    assert [item.name for item in found.items] == ["3.png", "c/4.png", "b/2.jpg"]
    assert found.left_out == {"its image is not in the folder": 6}
    write(folder / "b" / "metadata.csv", b"file_name,kind\n1.png,x\n2.jpg,y\n../c/4.png,x\n")
    (folder / "metadata.csv").unlink()
    assert [item.name for item in loaded("folder", folder).items] == ["b/1.png", "b/2.jpg", "c/4.png"]


def never(address, path):
    raise AssertionError(f"{address} was fetched")


def test_a_name_that_several_images_have_finds_none(tmp_path):
    folder = make_visogender(tmp_path / "oo")
    write(folder / "images" / "OO_1.png", png(1))
    write(folder / "other" / "OO_2.jpg", png(2))
    write(folder / "OO_3", png(3))
    found = loaded("visogender-oo", folder, fetch=lambda address, path: "no")
    assert [item.name for item in found.items] == ["OO_3", "OO_4", "OO_5", "OO_6"] and found.left_out[AMBIGUOUS] == 2
    write(folder / "images" / "OO_8.jpg", png(8))
    assert len(loaded("visogender-oo", folder, fetch=never).items) == 5
    folder = make_celeba(tmp_path / "celeba")
    write(folder / "img_celeba" / "000003.jpg", png(3))
    write(folder / "000004.jpg", png(4))
    write(folder / "img_celeba" / "000005.png", png(5))
    found = loaded("celeba-blond", folder)
    assert [item.name for item in found.items] == [f"00000{n}.jpg" for n in (4, 5, 6, 7)]
    assert found.items[0].load() == png(4) and found.left_out[AMBIGUOUS] == 1
    for make, name, more in ((make_pata, "pata-race", "0.png"), (make_stereoset, "vl-stereoset", "sub/0.png")):
        folder = make(tmp_path / name)
        whole = len(loaded(name, folder).items)
        write(folder / "images" / more, png(7))
        found = loaded(name, folder)
        assert len(found.items) == whole - 1 and found.left_out[AMBIGUOUS] == 1
    folder = make_utkface(tmp_path / "utk")
    write(folder / "again" / "20_0_2_2017.jpg.chip.jpg", png(9))
    found = loaded("utkface-age", folder)
    assert len(found.items) == 12 and found.left_out["another image in the folder has its name"] == 1


def test_a_picture_of_another_row_is_not_taken_by_the_end_of_an_address(tmp_path):
    folder = make_pata(tmp_path / "pata")
    lines = folder / "pata_fairness.files.lst"
    rows = [
        f"fashion_show_black_male_{age}|https://a.invalid/{end}"
        for age, end in enumerate(("1.jpg", "x.jpg", "x.jpg?b"))
    ]
    lines.write_text("\n".join([*rows, "fashion_show_black_male_old|https://a.invalid/own%20name.jpg"]))
    for name in ("images/0.jpg", "images/3.jpg"):
        (folder / name).unlink()
    write(folder / "images" / "x.jpg", png(5))
    write(folder / "images" / "own%20name.jpg", png(6))
    found = loaded("pata-race", folder)
    assert [item.name[0] for item in found.items] == ["1", "3"] and found.items[1].load() == png(6)
    assert sum(found.left_out.values()) == 2


def test_two_rows_of_one_name_fetch_one_picture(tmp_path):
    folder = make_visogender(tmp_path / "oo")
    table = folder / "visogender_1.tsv"
    table.write_text(table.read_text().replace("OO_2\t", "OO_1\t"))
    (folder / "images" / "OO_1.jpg").unlink()
    asked = []

    def fetch(address, path):
        asked.append(address)
        write(path, png(len(asked)))
        return ""

    found = loaded("visogender-oo", folder, fetch=fetch)
    assert asked == ["https://pictures.invalid/0.jpg", "https://pictures.invalid/7.jpg"]
    assert found.items[0].load() == png(1) and found.left_out["another row names the same image"] == 1


def test_rows_whose_name_is_none_fetch_nothing(tmp_path):
    folder = make_visogender(tmp_path / "oo")
    table = folder / "visogender_1.tsv"
    table.write_text(table.read_text().replace("OO_1\t", "/\t").replace("OO_2\t", "./.\t"))
    found = loaded(
        "visogender-oo", folder, fetch=lambda address, path: "no" if "7.jpg" in address else never(address, path)
    )
    assert len(found.items) == 4 and found.left_out["its image is not in the folder"] == 2


def test_a_thousand_folders_in_one_another(tmp_path):
    folder = make_utkface(tmp_path / "utk")
    inner = str(folder)
    for _ in range(1200):
        inner += "/a"
        os.mkdir(inner)
    try:
        for name in ("utkface-age", "celeba-blond", "folder", "visogender-oo", "vl-stereoset"):
            with pytest.raises(SpecError, match=r"utk cannot be read .maximum recursion depth"):
                loaded(name, folder)
    finally:  # not left to pytest, which would meet that limit, too
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_very_many_reasons_are_kept_in_few(tmp_path):
    found = loaded("folder", make_folder(tmp_path / "pets"))
    found.left_out.update({f"reason {n}": 1 for n in range(1000)})
    model = SimpleNamespace(SEES=True, READS=True, BLIND=True)
    model.spec = SimpleNamespace(files={}, name="m", kind="vlm", letters=False)
    kept = plan(SHIPPED, chosen_task(SHIPPED, "folder", "kind"), found, model).task.left_out
    assert len(kept) == 90 and sum(kept.values()) == found.left_out.total()


def test_reserved_and_long_labels_are_left_out(tmp_path):
    folder = make_folder(tmp_path / "pets")
    text = (folder / "metadata.csv").read_text().replace("0.png,cat,left", "0.png,unparsed,left", 1)
    (folder / "metadata.csv").write_text(text.replace("1.png,dog,left", f"1.png,{'long ' * 30},left", 1))
    found = loaded("folder", folder)
    assert found.classes == ("cat", "dog") and len(found.items) == 23
    assert found.left_out["its label has more than 100 characters"] == 1
    assert sum(n for reason, n in found.left_out.items() if "'unparsed'" in reason) == 1
    (folder / "metadata.csv").write_text(text.replace(",dog,", ",unparsed,"))
    with pytest.raises(SpecError, match="has 1 different labels: cat"):
        loaded("folder", folder)


def test_a_word_that_a_prompt_does_not_say_is_no_group(tmp_path):
    rows = [("man", "light"), ("woman", "unspecified"), ("unspecified", "dark"), ("woman", "")]
    columns = ("gender", "ethnicity", "tone", "profession", "adjective", "action", "system", "subset", "sha256", "id")
    table = pd.DataFrame(
        [{**dict.fromkeys(columns, "x"), "gender": a, "tone": b, "id": str(n)} for n, (a, b) in enumerate(rows)]
    )
    audit = SimpleNamespace(generations=table, name="made")
    found = load(chosen_task(SHIPPED, "audit", "gender", ["tone"]), Data(None, audit))
    assert [item.groups for item in found.items] == [("light",), ("",), ("",)]


@pytest.mark.parametrize("name", ["folder", "audit"])
@pytest.mark.parametrize(
    "text", ["\ud800", "x" * 10_000, "a\x1b[2Jb", " kind", "a\nb"], ids=["half", "long", "escape", "space", "line"]
)
def test_strange_names_of_columns(tmp_path, name, text):
    for label, groups in ((text, ()), ("kind", [text]), ("kind", [""])):
        with pytest.raises(SpecError, match="can be no column's name") as error:
            chosen_task(SHIPPED, name, label, groups)
        assert len(str(error.value)) < 300 and str(error.value).isprintable()


@pytest.mark.parametrize("label", ["file_name", "no such", "label_", "extra_"])
def test_columns_that_hold_no_labels(tmp_path, label):
    with pytest.raises(SpecError, match=f"--label: '{label}' is no column of .*'label_kind', 'side'"):
        loaded("folder", make_folder(tmp_path / "pets"), label)


def own(tmp_path, text):
    write(tmp_path / "t" / "tasks.toml", text.encode())
    return read_tasks(tmp_path / "t")


BOTH = "[tasks.classes]\nmasculine = 'his'\nfeminine = 'her'\n"


def test_pronouns_are_told_over_occupations_and_two_genders(tmp_path):
    place = make_visogender(tmp_path / "oo")
    for groups in (["sector"], ["sector", "specialisation"]):
        with pytest.raises(
            SpecError, match="'visogender-oo' of the family pronoun: --group: its first group must be occ"
        ):
            chosen_task(SHIPPED, "visogender-oo", "", groups)
    assert chosen_task(SHIPPED, "visogender-oo", "", ["sector", "occupation"]).groups == ("occupation", "sector")
    found = loaded("visogender-oo", place, groups=["sector", "occupation"])
    assert found.items[0].groups == ("doctor", "s")
    head = "[[tasks]]\n" + TASK.format("visogender", "pronoun")
    turned = "[tasks.classes]\nfeminine = 'her'\nmasculine = 'his'\n"
    for text, words in (
        (BOTH, "--group: its first group must be occupation"),
        ("groups = ['occupation']\n", "classes: they must be masculine and feminine, in this order, and are none"),
        ("groups = ['occupation']\n" + turned, "in this order, and are feminine, masculine"),
        ("groups = ['occupation']\n" + BOTH + "neutral = 'their'\n", "are masculine, feminine, neutral"),
    ):
        with pytest.raises(SpecError, match=words):
            chosen_task(own(tmp_path, head + text), "x")
    tasks = own(tmp_path, head + "groups = ['sector', 'occupation']\n" + BOTH)
    assert chosen_task(tasks, "x").groups == ("occupation", "sector")
    head = "[[tasks]]\n" + TASK.format("folder", "pronoun")
    tasks = own(tmp_path, head + "label = 'kind'\ngroups = ['side', 'job']\n" + BOTH)
    assert chosen_task(tasks, "x").groups == ("job", "side")
    with pytest.raises(SpecError, match="--group: its first group must be the column of occupations"):
        chosen_task(tasks, "x", "", ["side"])
    with pytest.raises(SpecError, match="and are none"):
        chosen_task(tasks, "x", "side")
    model = SimpleNamespace(SEES=True, spec=SimpleNamespace(files={}, name="m", kind="vlm", letters=False))
    wrong = replace(SHIPPED.tasks["visogender-oo"], groups=("sector",))
    with pytest.raises(SpecError, match="its first group must be occupation"):
        plan(SHIPPED, wrong, found, model)


def test_visogender_and_celeba_without_their_classes(tmp_path):
    head = "[[tasks]]\n" + TASK.format("visogender", "own")
    three = own(tmp_path, head + BOTH + "neutral = 'their'\n")
    found = loaded("x", make_visogender(tmp_path / "oo"), tasks=three)
    assert [item.label for item in found.items] == ["masculine"] * 4 + ["feminine"] * 2
    for classes in ("", "[tasks.classes]\nmasculine = 'his'\nneutral = 'their'\n"):
        with pytest.raises(SpecError, match="classes: masculine and feminine must be among them"):
            loaded("x", tmp_path / "oo", tasks=own(tmp_path, head + classes))
    tasks = own(tmp_path, "[[tasks]]\n" + TASK.format("celeba", "portrait") + "label = 'Blond_Hair'\n")
    with pytest.raises(SpecError, match="task 'x': classes: give two"):
        loaded("x", make_celeba(tmp_path / "faces"), tasks=tasks)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "[" * 15_000, "nested more than 20 deep"),
        ("tasks." + ".".join("a" * 1500) + " = 1", "nested more than 20 deep"),
        ("x = " + "{a = " * 500 + "1" + "}" * 500, "nested more than 20 deep"),
        ("x = " + "1" * 10_000, "is no TOML"),
        ("tasks = 0x" + "f" * 10_000, "a number of more than 64 bits"),
        ("[kinds]\nvlm = ['choice']", "a kind of lm"),
        ("[kinds]\nvlm = 1", "a kind of lm"),
        ("# " + "x" * 10_000 + "\n" + "\n" * 1_000_000, "larger than 1,000,000 bytes"),
    ],
    ids=[
        "lists",
        "a dotted key",
        "tables",
        "a long number",
        "a hexadecimal number",
        "a list",
        "a number",
        "a long file",
    ],
)
def test_files_of_tasks_and_of_words_that_no_reader_survives(tmp_path, text, words):
    with pytest.raises(SpecError, match=words):
        own(tmp_path, text)
    if "kinds" not in text:
        with pytest.raises(SpecError, match=words):
            own_words(SHIPPED.tasks["folder"], tmp_path / "t" / "tasks.toml", SHIPPED.forms)


@pytest.mark.parametrize("how", ["link", "device", "pipe", "huge", "folder", "loop"])
def test_files_of_tasks_that_are_none(tmp_path, how):
    tasks = write(tmp_path / "t" / "tasks.toml", b"")
    put(tasks, how, write(tmp_path / "secret.toml", b"password = 'hunter2'"))
    with pytest.raises(SpecError, match=r"tasks\.toml ") as error:
        read_tasks(tmp_path / "t")
    assert "hunter2" not in str(error.value)
    if how != "link":  # the user names this very file
        with pytest.raises(SpecError, match=r"tasks\.toml "):
            own_words(SHIPPED.tasks["folder"], tasks, SHIPPED.forms)
    words = tmp_path / "words.toml"
    words.symlink_to(TASKS / "words" / "starter.toml")
    assert own_words(SHIPPED.tasks["folder"], words, SHIPPED.forms).question != SHIPPED.tasks["folder"].question


@pytest.mark.parametrize(
    "data", ["[" * 100_000, "{" * 3, "1" * 10_000, "[[[]]]", '{"a": 1}', "null", "[1]"], ids=range(7)
)
def test_captions_that_are_none(tmp_path, data):
    folder = make_pata(tmp_path / "pata")
    write(folder / "pata_fairness.captions.json", data.encode())
    with pytest.raises(SpecError, match=r"captions\.json is not"):
        loaded("pata-race", folder)


def test_cells_that_are_nested_deep(tmp_path):
    folder = make_folder(tmp_path / "pets")
    (folder / "metadata.csv").unlink()
    rows = [json.dumps({"file_name": f"{n}.png", "kind": "xy"[n % 2]}) for n in range(4)]
    rows += [f'{{"file_name": "5.png", "kind": {"[" * depth}{"]" * depth}}}' for depth in (400, 900, 990, 100_000)]
    write(folder / "metadata.jsonl", "\n".join(rows).encode())
    assert len(loaded("folder", folder).items) == 4
