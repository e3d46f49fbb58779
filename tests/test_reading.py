"""Every TOML file that somebody can give: what would hang, break off or fill the memory is refused with a sentence."""

import json
import os
from pathlib import Path

import pytest
from samples import ROOT

from backend.benchmarks.tasks import own_words, read_tasks
from backend.describers.spec import read_describers
from backend.probes.ask import load_models
from backend.probes.drawing import read_drawing
from backend.probes.hiring import read_questions
from backend.probes.prompts import read_options, read_styles
from backend.reading import MOST_TOML, SpecError, text_of, toml_of
from backend.spec import load_spec

TASKS = read_tasks()
READERS = {
    "spec": lambda path: load_spec(path, {}),
    "describers": lambda path: read_describers(path, {}),
    "models": load_models,
    "drawing": read_drawing,
    "questions": read_questions,
    "styles": read_styles,
    "options": lambda path: read_options([path]),
    "tasks": lambda path: read_tasks(path.parent),
    "words": lambda path: own_words(TASKS.tasks["starter-gender"], path, TASKS.forms),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_no_reader_takes(tmp_path, name):
    path = tmp_path / "given.toml"
    for text, words in (
        ("x = " + "[" * 5_000, "nested more than 20 deep"),
        ("x" + ".x" * 3_000 + " = 1", "nested more than 20 deep"),
        ('"x y"' + ' . "x y"' * 90_000 + " = 1", "nested more than 20 deep"),
        ("a." * 150 + '"\\"".' * 60_000 + "x = 1", "nested more than 20 deep"),
        ("x = 0x" + "f" * 9_000, "more than 64 bits"),
        ("\n" * (MOST_TOML + 1), "larger than 1,000,000 bytes"),
        ("= 1", "is no TOML"),
    ):
        path.write_text(text)
        with pytest.raises(SpecError, match=rf"given\.toml .*{words}"):
            READERS[name](path)
    path.write_bytes(b"x = '\xff'")
    with pytest.raises(SpecError, match=r"given\.toml is not UTF-8"):
        READERS[name](path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SpecError, match=r"given\.toml is no regular file"):
        READERS[name](path)


def test_a_path_that_no_system_has():
    with pytest.raises(SpecError, match=r"cannot be read .*null byte"):
        toml_of(Path("a\0b.toml"), "give another")


def test_a_folder_that_becomes_a_link_meanwhile(tmp_path, monkeypatch):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "deep" / "list.csv").write_text("ours")
    (tmp_path / "out" / "list.csv").write_text("secret")
    assert text_of(tmp_path / "in" / "deep" / "list.csv", tmp_path / "in") == "ours"
    real = os.path.realpath

    def exchanged(path, *more):
        found = real(path, *more)
        if str(path).endswith("deep/list.csv") and not (tmp_path / "in" / "deep").is_symlink():
            (tmp_path / "in" / "deep").rename(tmp_path / "in" / "was")
            (tmp_path / "in" / "deep").symlink_to(tmp_path / "out")
        return found

    monkeypatch.setattr(os.path, "realpath", exchanged)
    with pytest.raises(SpecError, match=r"is no regular file|leads out of the folder"):
        text_of(tmp_path / "in" / "deep" / "list.csv", tmp_path / "in")


def test_a_long_list_on_one_line_is_read(tmp_path):
    names = [f"Teller of tales, no. {number} of the U.S. guild" for number in range(5_000)]
    (tmp_path / "given.toml").write_text(f"names = {json.dumps(names)}")
    assert toml_of(tmp_path / "given.toml", "") == {"names": names}


def test_the_shipped_files_are_read():
    assert load_models(ROOT / "assets" / "probes" / "models.toml") and TASKS.tasks
