"""Kind "diffusers", with a real pipeline: tiny random weights, saved and loaded as diffusers does."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from samples import likeness, outcomes, state
from specs import PROMPTS, write_spec
from test_crash import KilledError, dies_at

from backend.generate import requests_of
from backend.pictures import read_picture, read_pixels
from backend.spec import SpecError, load_spec
from backend.store import Audit, audit_names
from backend.systems import KEYS, Refused, make_system
from backend.systems.pipeline import SCHEDULERS

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def table(model, name="tiny", **keys) -> str:
    values = {"size": 32, "steps": 2, "batch": 4, **keys}
    lines = "".join(f"{key} = {value}\n" for key, value in values.items())
    return f"[[systems]]\nname = '{name}'\nkind = 'diffusers'\nmodel = '{model}'\n{lines}"


def opened(folder, systems, prompts=PROMPTS):
    spec = load_spec(write_spec(folder, systems, prompts), KEYS)
    return [make_system(system) for system in spec.systems], requests_of(spec)


def generated(spec, cache, *options, status=0):
    assert likeness("generate", spec, "a", *options, cache=cache) == status
    return Audit.open(cache, "a")


def test_an_image_depends_on_prompt_and_seed_alone(tmp_path, pipelines):
    (system,), requests = opened(tmp_path, table(pipelines / "plain"))
    four = system.generate(requests[:4])
    assert system.generate(requests[:4]) == four
    system.close()
    assert system.generate(requests[:4]) == four
    assert len(set(four)) == 4
    assert {read_picture(data).format for data in four} == {"PNG"}
    single = [system.generate([request])[0] for request in requests[:4]]
    turned = system.generate(requests[3::-1])[::-1]
    for others in (single, turned):  # the last bits of sums can depend on the batch, nothing else
        differences = [np.abs(read_pixels(a).astype(int) - read_pixels(b)) for a, b in zip(four, others, strict=True)]
        assert max(difference.max() for difference in differences) <= 2
    apart = np.abs(read_pixels(four[0]).astype(int) - read_pixels(four[1])).max()
    assert apart > 20


def test_killed_twice_and_resumed_to_the_same_audit(tmp_path, pipelines, cache, monkeypatch):
    spec = write_spec(tmp_path, table(pipelines / "plain") + table(pipelines / "hiding", "hiding"))
    whole = generated(spec, tmp_path / "whole", "--shard-rows", 3)
    assert len(whole) == 12
    assert set(outcomes(whole).values()) == {"filtered: the system's safety checker hid the image"}
    assert len(outcomes(whole)) == 12
    for step in (6, 9):
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            dies_at(patch, step)
            likeness("generate", spec, "a", "--shard-rows", 3, cache=cache)
        assert audit_names(cache) == []
        assert len(list(cache.glob("a/pending/part*"))) >= 1
    audit = generated(spec, cache, "--shard-rows", 3)
    assert state(audit) == state(whole)
    assert outcomes(audit) == outcomes(whole)
    assert audit.manifest["shards"] == whole.manifest["shards"]
    record = whole.manifest["sources"][0]["generated"]["tiny"]
    assert record["settings"]["model"] == "plain"
    assert set(record["versions"]) == {"diffusers", "transformers", "torch"}
    assert len(record["weights"]) == 64


def test_one_prompt_that_fails_costs_no_other(tmp_path, pipelines, cache, monkeypatch):
    from diffusers import StableDiffusionPipeline

    real = StableDiffusionPipeline.__call__

    def call(self, prompt, **options):
        if "Photo portrait of an artist" in prompt:
            raise RuntimeError("CUDA out of\nmemory")
        return real(self, prompt, **options)

    spec = write_spec(tmp_path, table(pipelines / "plain"))
    with monkeypatch.context() as patch:
        patch.setattr(StableDiffusionPipeline, "__call__", call)
        audit = generated(spec, cache)
    assert len(audit) == 9
    assert set(outcomes(audit).values()) == {"failed: RuntimeError: CUDA out of memory"}
    assert len(generated(spec, cache)) == 9
    assert len(generated(spec, cache, "--retry-failed")) == 12


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers(tmp_path, pipelines, name):
    keys = {"scheduler": f"'{name}'", "steps": 3, "format": "'webp'", "negative_prompt": "'odd'"}
    (system,), requests = opened(tmp_path, table(pipelines / "plain", **keys))
    (image,) = system.generate(requests[:1])
    assert read_picture(image).format == "WEBP"
    assert type(system._pipe.scheduler).__name__ == SCHEDULERS[name][0]
    assert not isinstance(image, Refused)


def test_other_weights_do_not_mix(tmp_path, pipelines, cache, capsys):
    shutil.copytree(pipelines / "plain", tmp_path / "model")
    spec = write_spec(tmp_path, table("model"))
    generated(spec, cache, "--limit-per-prompt", 1)
    weights = next((tmp_path / "model" / "unet").glob("*.safetensors"))
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert likeness("generate", spec, "a", cache=cache) == 1
    assert "made with other settings or weights" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "none/here/at/all"}, "is neither a folder here nor a Hub id (OWNER/NAME)"),
        (
            {"model": "nobody/nothing"},
            "nobody/nothing is no folder here and cannot be had from the Hub. Check its name",
        ),
        ({"model": "."}, "is no pipeline: its model_index.json cannot be read"),
        ({"device": "'cuda'"}, "device: 'cuda' is not there; use auto, cpu, cuda or mps"),
        ({"device": "'gpu'"}, "device: 'gpu' is not there"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_before_anything_runs(tmp_path, pipelines, cache, change, words, capsys):
    import torch

    if "cuda" in change.get("device", "") and torch.cuda.is_available():
        pytest.skip("this machine has what the test lacks")
    spec = write_spec(tmp_path, table(**{"model": pipelines / "plain", **change}))
    assert likeness("generate", spec, "a", cache=cache) == 1
    assert words in capsys.readouterr().err
    assert list(cache.iterdir()) == []


def test_weights_that_do_not_load(tmp_path, pipelines, cache, capsys):
    shutil.copytree(pipelines / "plain", tmp_path / "model")
    os.truncate(next((tmp_path / "model" / "unet").glob("*.safetensors")), 100)
    spec = write_spec(tmp_path, table("model"))
    assert likeness("generate", spec, "a", cache=cache) == 1
    told = capsys.readouterr()
    assert "system 'tiny': model: the pipeline cannot be loaded (" in told.err
    assert "Nothing was generated" in told.err
    (system,), _ = opened(tmp_path, table("model"))
    with pytest.raises(SpecError, match="cannot be loaded"):
        system.generate(requests_of(load_spec(spec, KEYS))[:1])
