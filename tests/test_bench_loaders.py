"""Loaders of benchmarks: made-up copies in the real layouts, wrong lines counted, wrong calls in a sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from bench_sets import (
    make_celeba,
    make_folder,
    make_pata,
    make_stereoset,
    make_utkface,
    make_visogender,
)
from samples import PORTRAITS, ROOT, png, write

from backend.bench_plan import chosen_task, load
from backend.benchmarks import FORMATS, Data
from backend.benchmarks.fetch import fetcher
from backend.benchmarks.tasks import TASKS, own_words, read_tasks
from backend.records import SourceError
from backend.spec import SpecError
from backend.store import Audit

SHIPPED = read_tasks()
REFERENCE = ROOT.parent / "shared" / "reference"


def loaded(name, place=None, label="", groups=(), audit=None, fetch=None):
    return load(chosen_task(SHIPPED, name, label, groups), Data(place, audit, fetch))


def test_utkface_is_read_from_names(tmp_path):
    found = loaded("utkface-age", make_utkface(tmp_path / "UTKFace"))
    assert len(found.items) == 12 and found.source == "UTKFace"
    assert Counter(item.label for item in found.items) == {"Child": 4, "Young": 2, "Middle-Aged": 2, "Senior": 4}
    item = next(item for item in found.items if "/20_0_2" in item.name)
    assert (item.label, item.groups, item.load()[:4]) == ("Young", ("Male", "Asian"), b"\x89PNG")
    assert found.left_out == {
        "the age in its name is above 116": 1,
        "the gender or race in its name is none that UTKFace has": 1,
        "its name is not AGE_GENDER_RACE_DATE": 2,
    }
    assert loaded("utkface-race", tmp_path / "UTKFace", groups=["gender"]).items[0].groups in (("Male",), ("Female",))


@pytest.mark.parametrize("kind", ["txt", "csv"])
def test_celeba_reads_its_test_set(tmp_path, kind):
    found = loaded("celeba-blond", make_celeba(tmp_path / "celeba", kind), groups=["gender", "age"])
    assert [(item.name, item.label, item.groups) for item in found.items[:3]] == [
        ("000003.jpg", "Yes", ("Female", "Young")),
        ("000004.jpg", "No", ("Female", "Young")),
        ("000005.jpg", "Yes", ("Male", "Young")),
    ]
    assert len(found.items) == 5 and found.left_out["its image is not in the folder"] == 1
    assert sum("neither 1 nor -1" in reason for reason in found.left_out) == (kind == "txt")
    with pytest.raises(SpecError, match=r"no column 'Heavy_Makeup'; it has .*'Blond_Hair'"):
        loaded("celeba-makeup", tmp_path / "celeba")
    next((tmp_path / "celeba").glob("list_eval*")).unlink()
    with pytest.raises(SpecError, match="no list_eval_partition"):
        loaded("celeba-blond", tmp_path / "celeba")


def test_pata_and_vl_stereoset_bring_their_own_captions(tmp_path):
    found = loaded("pata-race", make_pata(tmp_path / "pata"))
    assert [(item.label, item.groups) for item in found.items] == [("positive", ("indian",)), ("positive", ("black",))]
    assert found.items[0].options[1] == ("negative", "a photo of a thief at a show") and found.classes[0] == "positive"
    assert found.left_out["its image is not in the folder, and its address was not tried (--fetch tries)"] == 1
    assert found.left_out["its scene has no captions of both kinds"] == 1
    assert found.left_out["its line is not SCENE_RACE_GENDER_AGE|ADDRESS"] == 1
    found = loaded("vl-stereoset", make_stereoset(tmp_path / "vls"))
    assert [(item.label, item.groups) for item in found.items] == [
        ("anti-stereotype", ("race",)),
        ("stereotype", ("gender",)),
    ]
    assert found.items[0].options == (
        ("stereotype", "She is weak 0"),
        ("anti-stereotype", "She is strong 0"),
        ("unrelated", "Fish swim"),
    )
    assert sum(found.left_out.values()) == 2
    write(tmp_path / "pata" / "pata_fairness.captions.json", b'[{"short": 1}]')
    with pytest.raises(SpecError, match="is not PATA's list of captions"):
        loaded("pata-race", tmp_path / "pata")


@pytest.mark.parametrize(("order", "extra"), [(1, ()), (-1, ()), (1, ("Notes", "Split")), (-1, ("Zoom",))])
def test_visogender_finds_columns_by_name_in_any_order(tmp_path, order, extra):
    found = loaded("visogender-oo", make_visogender(tmp_path / "oo", 1, order, extra))
    assert [item.label for item in found.items] == ["masculine"] * 4 + ["feminine"] * 2
    assert found.items[0].words == {"occupation": "doctor", "other": "mixing spoon", "wrong": "woman"}
    assert found.items[0].groups == ("doctor",) and sum(found.left_out.values()) == 2
    found = loaded("visogender-op", make_visogender(tmp_path / "op", 2, order, extra))
    assert found.items[2].words["wrong_other"] == "man" and found.items[2].groups == ("doctor", "feminine")
    with pytest.raises(SpecError, match="IDX, Occupation and Participant"):
        loaded("visogender-op", tmp_path / "oo")
    with pytest.raises(SpecError, match="no column 'Participant'; it has '"):
        loaded("visogender-op", tmp_path / "oo" / "visogender_1.tsv")
    write(tmp_path / "oo" / "old.tsv", (tmp_path / "oo" / "visogender_1.tsv").read_bytes())
    with pytest.raises(SpecError, match="holds 2 such tables"):
        loaded("visogender-oo", tmp_path / "oo")
    assert len(loaded("visogender-oo", tmp_path / "oo" / "old.tsv").items) == 6


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="../shared/reference, with VisoGender's own tables, is absent")
@pytest.mark.parametrize(("name", "rows"), [("OO_10052025", 230), ("OP_11012024", 460)])
def test_visogender_s_own_tables(tmp_path, name, rows):
    data = (REFERENCE / f"visogender_{name}.tsv").read_bytes()
    write(tmp_path / "v" / "table.tsv", data)
    kind = name[:2].lower()
    for number in (1, 100, 200):
        write(tmp_path / "v" / "images" / kind / f"{name[:2]}_{number}.png", png(number))
    found = loaded(f"visogender-{kind}", tmp_path / "v")
    assert len(found.items) == 3 and sum(found.left_out.values()) == rows - 3
    assert {item.label for item in found.items} <= {"masculine", "feminine"} and found.items[0].words["occupation"]


def test_a_folder_of_labels_and_its_wrong_calls(tmp_path):
    folder = make_folder(tmp_path / "pets")
    found = loaded("folder", folder, "kind", ["side"])
    assert found.classes == ("cat", "dog") and len(found.items) == 24 and found.items[1].groups == ("left",)
    assert found.left_out == {
        "another row names the same image": 1,
        "its image is not in the folder": 1,
        "its label is 'Pass', which says that nobody can tell": 1,
        "it has no label": 1,
    }
    for label, group, words in (
        ("colour", [], "--label: 'colour' is no column .*'label_kind', 'side'"),
        ("", [], "--label: say which column"),
        ("kind", ["tail"], "--group: 'tail' is no column .*'label_kind', 'side'"),
        ("side", ["a", "a"], "each once"),
    ):
        with pytest.raises(SourceError, match=words):
            loaded("folder", folder, label, group)
    rows = "file_name,label_kind\n0.png,cat\n1.png,cat\n../../secret.png,dog\n/etc/passwd,dog\n"
    write(tmp_path / "one" / "metadata.csv", rows.encode())
    write(tmp_path / "one" / "0.png", png())
    with pytest.raises(SpecError, match="has 1 different labels: cat"):
        loaded("folder", tmp_path / "one", "kind")


@pytest.mark.skipif(not PORTRAITS.is_dir(), reason="../shared/portraits is absent: its images may not be published")
def test_real_portraits_with_human_labels():
    found = loaded("folder", PORTRAITS, "label_gender", ["profession"])
    assert found.classes == ("Female", "Male") and Counter(item.label for item in found.items) == {
        "Male": 191,
        "Female": 156,
    }
    assert found.left_out["it has no label"] == 92 and sum(found.left_out.values()) == 145
    assert found.items[0].load()[:2] == b"\xff\xd8"


def test_an_audit_s_own_words():
    audit = Audit.open(ROOT / "cache", "starter")
    found = loaded("starter-gender", audit=audit)
    assert Counter(item.label for item in found.items) == {"man": 60, "woman": 60}
    assert found.items[0].name == audit.generations["id"].iat[found.items[0].row] and found.items[0].sha256
    assert found.left_out["another image with the same prompt and seed stands for it"] == 240
    assert set(found.left_out.values()) == {1800, 240, 180}
    assert len(loaded("starter-tone", audit=audit).items) == 150
    assert len(loaded("starter-profession", audit=audit).classes) == 20
    assert loaded("audit", label="system", audit=audit, groups=["tone"]).classes[0] == "amplified"
    with pytest.raises(SpecError, match="--label: 'mood' is no column of starter; it has 'gender'"):
        loaded("audit", label="mood", audit=audit)
    with pytest.raises(SpecError, match="--label: say what"):
        loaded("audit", audit=audit)


def test_one_of_the_images_that_are_alike_counts_and_those_of_an_unknown_seed_all_do():
    audit = Audit.open(ROOT / "cache", "starter")
    task = SHIPPED.tasks["starter-gender"]

    def items(table, once):
        own = replace(task, more={**task.more, "once_per": once})
        return FORMATS["audit"].load(own, Data(audit=SimpleNamespace(generations=table, name="a"))).items

    table = audit.generations.copy()
    found = items(table, ["prompt", "seed"])
    systems = Counter((table["system"].iat[item.row], item.label) for item in found)
    assert len(systems) == 6 and min(systems.values()) >= 15  # each system has its share of each label
    assert [item.name for item in items(table, ["prompt", "seed"])] == [item.name for item in found]
    assert len(items(table, [])) == 360 and len(items(table, ["prompt"])) == 12
    table["seed"] = pd.array([pd.NA] * len(table), "Int64")
    assert len(items(table, ["prompt", "seed"])) == 360
    with pytest.raises(SpecError, match=r"once_per: 'id' is none of prompt, seed"):
        items(table, ["id"])
    with pytest.raises(SpecError, match=r"once_per: '3' is none of"):
        items(table, [3])


@pytest.mark.parametrize("name", [name for name, task in SHIPPED.tasks.items() if task.format != "audit"])
def test_a_copy_that_is_missing_or_empty_is_told_with_its_layout(tmp_path, name):
    layout = FORMATS[SHIPPED.tasks[name].format].layout.split(" ")[-1][:20]
    (tmp_path / "empty").mkdir()
    for place in (None, tmp_path / "nowhere", tmp_path / "empty"):
        with pytest.raises(SourceError) as error:
            loaded(name, place, "kind" if name == "folder" else "")
        assert "--data" in str(error.value) and "expected is" in str(error.value) and layout in str(error.value)


def test_wrong_tasks_are_told_with_the_valid_choices(tmp_path):
    with pytest.raises(SpecError, match=r"--task: 'mmlu' is none of .*utkface-race"):
        chosen_task(SHIPPED, "mmlu")
    for name, label in (("starter-gender", ""), ("folder", "gender")):
        with pytest.raises(SpecError, match="--group: 'gender' is what is asked about"):
            chosen_task(SHIPPED, name, label, ["tone", "gender"])
    with pytest.raises(SpecError, match="--label: task 'utkface-age' asks about age"):
        chosen_task(SHIPPED, "utkface-age", "race")
    with pytest.raises(SpecError, match=r"--group: 'tone' is none of task 'utkface-race': age, gender"):
        loaded("utkface-race", make_utkface(tmp_path / "u"), groups=["tone"])


TASK = "name = 'x'\nformat = 'folder'\nfamily = 'portrait'\ntitle = 'X'\nquestion = 'Who?'\nform = 'choice'\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1", "unknown key"),
        ("[[tasks]]\n" + TASK.replace("folder", "imagenet"), "format: 'imagenet' is not one of utkface, celeba"),
        ("[[tasks]]\n" + TASK.replace("portrait", "selfie"), "family: 'selfie' is not one of portrait"),
        ("[[tasks]]\n" + TASK.replace("choice", "poll"), "form: 'poll' is none of choice, yes-no"),
        ("[[tasks]]\n" + TASK.replace("Who?", "Who is {name}?"), r"question: its places can be \{label\}"),
        ("[[tasks]]\n" + TASK + "groups = ['a', 'b', 'c', 'd']", "groups: give at most 3"),
        (
            "[[tasks]]\n" + TASK + "positive = 'yes'\n[tasks.classes]\na = 'a'\nb = 'b'",
            "positive: 'yes' is none of a, b",
        ),
        ("[[tasks]]\n" + TASK + "[tasks.classes]\na = 'a'", "give 2 to 50"),
        ("[[tasks]]\n" + TASK + "[tasks.classes]\na = 'A'\nb = 'a!'", "two texts are alike"),
        ("[[tasks]]\n" + TASK + "[tasks.classes]\nunparsed = 'A'\nb = 'b'", "write CLASS = 'text'"),
        ("[[tasks]]\n" + TASK + "[[tasks]]\n" + TASK, "'x' is there twice"),
        ("tasks = [1]", "is no table"),
        ("[forms.a]\ntemplate = 'x'\noptions = 'letters'", r"hold \{options\} and \{question\}"),
        ("[kinds]\nvlm = 'poll'", "a kind of lm"),
        ("= 1", "is no TOML"),
    ],
)
def test_task_files_are_checked(tmp_path, text, words):
    write(tmp_path / "t" / "tasks.toml", text.encode())
    with pytest.raises(SpecError, match=words):
        read_tasks(tmp_path / "t")
    with pytest.raises(SpecError, match=r"holds no \.toml file"):
        read_tasks(tmp_path)


def test_own_tasks_use_the_shipped_forms_and_models_have_their_own_words(tmp_path):
    write(tmp_path / "t" / "tasks.toml", ("[[tasks]]\n" + TASK).encode())
    own = read_tasks(tmp_path / "t")
    assert set(own.tasks) == {"x"} and own.forms == SHIPPED.forms
    words = TASKS / "words" / "starter.toml"
    assert "this person's" in own_words(SHIPPED.tasks["folder"], words, SHIPPED.forms).question
    task = SHIPPED.tasks["starter-gender"]
    assert own_words(task, words, SHIPPED.forms) == task == own_words(task, None, SHIPPED.forms)
    write(tmp_path / "w.toml", b"[words.starter-gender.classes]\nman = 'man'")
    with pytest.raises(SpecError, match="classes: give one text for each of man, woman"):
        own_words(task, tmp_path / "w.toml", SHIPPED.forms)
    write(tmp_path / "w.toml", b"[words.starter-gender.classes]\nwoman = 'lady'\nman = 'gentleman'")
    found = own_words(task, tmp_path / "w.toml", SHIPPED.forms)
    assert list(found.classes.items()) == [("man", "gentleman"), ("woman", "lady")]
    assert replace(found, classes=task.classes) == task


def loopback(address):
    """What these tests let a fetcher connect to: the endpoint's own address, and no other."""
    return address == "127.0.0.1"


def test_fetching_counts_dead_addresses_and_keeps_what_is_whole(tmp_path, endpoint):
    folder = make_visogender(tmp_path / "oo")
    endpoint.images["/ok.png"] = png(99)
    table = folder / "visogender_1.tsv"
    for name in ("OO_1", "OO_2", "OO_3"):
        (folder / "images" / f"{name}.jpg").unlink()
    text = table.read_text().replace("https://pictures.invalid/0.jpg", f"{endpoint.root}/ok.png")
    text = text.replace("https://pictures.invalid/1.jpg", f"{endpoint.root}/gone.png")
    text = text.replace("https://pictures.invalid/2.jpg", "file:///etc/passwd")
    table.write_text(text.replace("https://pictures.invalid/7.jpg", "http://127.0.0.1:9/7.jpg"))
    tried = []
    found = loaded("visogender-oo", folder, fetch=fetcher(tried.append, allow=loopback))
    reasons = {reason.rpartition(": ")[2]: n for reason, n in found.left_out.items() if "its address" in reason}
    assert reasons["it is no http address"] == 1 and len(tried) == 4 and sum(reasons.values()) == 3
    assert reasons["it is no address of a picture"] == 1
    assert reasons["the network, or its server, could not be reached"] == 1
    assert (folder / "images" / "OO_1.jpg").read_bytes() == png(99) and not list(folder.rglob("*.part"))
    again = loaded("visogender-oo", folder)
    assert len(again.items) == len(found.items) == 4
    (tmp_path / "victim").write_text("mine")
    (folder / "images" / "OO_1.jpg.part").symlink_to(tmp_path / "victim")
    linked = folder / "linked.jpg"
    linked.symlink_to(tmp_path / "victim")
    fetch = fetcher(allow=loopback)
    assert fetch(f"{endpoint.root}/ok.png", linked) == "its place is a link"
    assert fetch(f"{endpoint.root}/ok.png", folder / "images" / "OO_1.jpg") == ""
    assert (tmp_path / "victim").read_text() == "mine"
    assert sum(again.left_out.values()) == sum(found.left_out.values())
