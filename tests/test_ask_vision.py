"""Models that see pictures: scores against one forward pass, pictures and texts that take turns, BLIP."""

from __future__ import annotations

import math

import asked
import numpy as np
import pytest
from asked import OPTIONS, alone, model_of
from PIL import Image
from samples import ROOT
from tiny import make_blip
from tiny_ask import QwenProcessor, make_llava, make_qwen

from backend.describe import load_asker
from backend.probes.ask import ProbeError, Prompt, ask, load_models, make_model


@pytest.fixture(autouse=True)
def one_thread():
    yield from asked.one_thread()


PICTURES = [Image.effect_noise((90, 70), 80).convert("RGB"), Image.new("L", (60, 120), 90), None]


@pytest.mark.parametrize("make", [make_llava, make_qwen])
def test_a_vlm_reads_a_picture_once_and_scores_alike(tmp_path, monkeypatch, make):
    """Pictures and texts alone take turns: nothing of one picture may be left for the next."""
    import torch
    from transformers import AutoProcessor

    folder = make(tmp_path / "m")
    if make is make_qwen:  # its own processor wants torchvision
        monkeypatch.setattr(AutoProcessor, "from_pretrained", lambda place, **_: QwenProcessor(place))
    model = model_of("vlm", folder)
    model.check()
    prompts = [Prompt(f"{'x' * n} who?\n- no\n", OPTIONS, picture=p) for n in (0, 9) for p in PICTURES]
    said = ask(model, prompts)
    for prompt, answer in zip(prompts, said, strict=True):
        inputs, options = model.encoded(prompt)
        more = {k: v for k, v in inputs.items() if k not in ("input_ids", "attention_mask", "mm_token_type_ids")}
        for tokens, total in zip(options, answer.loglikelihoods, strict=True):
            if make is make_qwen:
                model.model.model.rope_deltas = None
                kinds = inputs["mm_token_type_ids"][0].tolist() + [0] * len(tokens)
                more["mm_token_type_ids"] = torch.tensor([kinds])
            ids = inputs["input_ids"][0].tolist()
            assert alone(model.model, ids, tokens, **more) == pytest.approx(total, abs=1e-3)
    pairs = [said[place].loglikelihoods for place in range(3)]
    assert not np.allclose(pairs[0], pairs[1], atol=0.1) and not np.allclose(pairs[0], pairs[2], atol=0.1)
    image = "<image>" if make is make_llava else "<|image_pad|>"
    assert ask(model, [Prompt(f"two {image} pictures", OPTIONS, picture=PICTURES[0])])[0].outcome == "refused"


def test_blip_scores_all_options_as_describe_scores_one(tmp_path):
    folder = make_blip(tmp_path / "blip")
    model = model_of("blip-vqa", folder)
    model.check()
    pictures = [picture for picture in PICTURES if picture]
    options = ("man", "woman", "no preference")
    said = ask(model, [Prompt("who is this?", options, picture=picture) for picture in pictures])
    asker = load_asker(folder)
    ends = asker._model.config.text_config.sep_token_id
    for picture, answer in zip(pictures, said, strict=True):
        assert answer.tokens == (1, 1, 2) and math.isclose(sum(answer.probabilities), 1)
        whole = asker.ask([picture], "who is this?", ["man", "woman"])[0]
        # describe counts the end of an answer, too: with it the two are in the same proportion
        closed = [_closed(asker, picture, option, ends) for option in options[:2]]
        shares = np.exp([a + b for a, b in zip(answer.loglikelihoods, closed, strict=False)])
        assert dict(zip(options, shares / shares.sum(), strict=False))[whole.text] == pytest.approx(whole.probability)
    with pytest.raises(ProbeError, match="it has no picture"):
        ask(model, [Prompt("who is this?", options)])
    long = Prompt("who " * 80, options, picture=pictures[0])
    assert "this model reads 64" in ask(model, [long])[0].reason


def _closed(asker, picture, option, ends):
    """ln p(end | option) of a BLIP model."""
    import torch

    processor, model = asker._processor, asker._model
    pixels = processor.image_processor(images=[picture.convert("RGB")], return_tensors="pt").pixel_values
    with torch.inference_mode():
        seen = model.vision_model(pixel_values=pixels).last_hidden_state
        ids = processor.tokenizer(["who is this?"], return_tensors="pt").input_ids
        read = model.text_encoder(input_ids=ids, encoder_hidden_states=seen, return_dict=True).last_hidden_state
        given = [
            model.config.text_config.bos_token_id,
            *processor.tokenizer(option, add_special_tokens=False).input_ids,
        ]
        logits = model.text_decoder(input_ids=torch.tensor([given]), encoder_hidden_states=read).logits
    return logits[0, -1].log_softmax(-1)[ends].item()


def test_the_starters_model_can_be_asked():
    specs = {spec.name: spec for spec in load_models(ROOT / "assets" / "probes" / "models.toml")}
    kinds = {"smollm2": "lm", "smollm2-letters": "lm", "starter-vqa": "blip-vqa"}
    assert {name: spec.kind for name, spec in specs.items()} == kinds
    model = make_model(specs["starter-vqa"])
    model.check()
    prompt = Prompt("What word best describes this person's gender?", ("woman", "man"), picture=PICTURES[0])
    assert ask(model, [prompt])[0].outcome == "answered"
