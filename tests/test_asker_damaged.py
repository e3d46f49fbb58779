"""Question-answering models that are damaged, incomplete or of another kind: said, and never taken."""

from __future__ import annotations

import builtins
import json
import shutil

import pytest
from tiny import make_blip, make_pipeline

from backend.describe import DescribeError, load_asker

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture
def folder(tmp_path):
    return make_blip(tmp_path / "blip")


def test_a_model_without_all_of_its_tensors_is_refused(folder):
    from safetensors.torch import load_file, save_file

    weights = folder / "model.safetensors"
    tensors = load_file(weights)
    del tensors[next(name for name in tensors if "text_decoder" in name and "crossattention" in name)]
    save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(DescribeError, match=r"it lacks 1 of the model's tensors"):
        load_asker(folder)


def test_a_model_that_is_cut_off_is_refused(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(DescribeError, match="damaged: save it again with save_pretrained"):
        load_asker(folder)


def test_a_model_of_another_kind_is_refused(folder, tmp_path):
    with pytest.raises(DescribeError, match="no BLIP model for questions"):
        load_asker(make_pipeline(tmp_path / "pipe"))
    config = json.loads((folder / "config.json").read_text())
    config["text_config"]["hidden_size"] = 32
    shutil.copytree(folder, tmp_path / "other")
    (tmp_path / "other" / "config.json").write_text(json.dumps(config))
    with pytest.raises(DescribeError, match="no BLIP model for questions"):
        load_asker(tmp_path / "other")


def test_a_missing_library_is_named_with_the_remedy(folder, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name == "transformers":
            raise ImportError("No module named 'transformers'")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DescribeError, match=r"pip install -r requirements.txt \(No module named 'transformers'\)"):
        load_asker(folder)
