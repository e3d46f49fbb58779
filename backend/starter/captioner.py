"""The captioner: the question-answering model's vision tower as a ViT, with a small text decoder behind it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.starter.questions import all_words, caption
from backend.starter.scenes import Studio, as_model_input
from backend.starter.tokenizers import word_tokenizer
from backend.starter.training import Run
from backend.starter.vqa import WIDTH, Pictures, draw_combo
from backend.starter.words import NO_TONE

STEPS, BATCH, NUMBER = 450, 24, 12


def new_captioner(tokenizer):
    """An untrained VisionEncoderDecoderModel for the tokenizer."""
    from transformers import BertConfig, BertLMHeadModel, VisionEncoderDecoderModel, ViTConfig, ViTModel

    encoder = ViTModel(
        ViTConfig(
            hidden_size=WIDTH,
            intermediate_size=4 * WIDTH,
            num_hidden_layers=4,
            num_attention_heads=4,
            image_size=128,
            patch_size=16,
            layer_norm_eps=1e-5,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    decoder = BertLMHeadModel(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            is_decoder=True,
            add_cross_attention=True,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    model = VisionEncoderDecoderModel(encoder=encoder, decoder=decoder)
    for settings in (model.config, model.generation_config):
        settings.decoder_start_token_id = tokenizer.bos_token_id
        settings.bos_token_id = tokenizer.bos_token_id
        settings.eos_token_id = tokenizer.sep_token_id
        settings.pad_token_id = tokenizer.pad_token_id
    model.generation_config.max_new_tokens = 20
    return model


def copy_vision(blip_vision, vit) -> None:
    """Give the ViT the weights of a BLIP vision tower: the same layers under other names."""
    theirs = blip_vision.state_dict()
    ours = vit.state_dict()
    for name in ours:
        if not name.startswith("pooler"):
            ours[name] = vision_weight(name, theirs)
    vit.load_state_dict(ours)


def vision_weight(name: str, theirs: dict):
    """BLIP's weight for a ViT's name."""
    fixed = {
        "embeddings.cls_token": "embeddings.class_embedding",
        "embeddings.position_embeddings": "embeddings.position_embedding",
        "embeddings.patch_embeddings.projection.weight": "embeddings.patch_embedding.weight",
        "embeddings.patch_embeddings.projection.bias": "embeddings.patch_embedding.bias",
        "layernorm.weight": "post_layernorm.weight",
        "layernorm.bias": "post_layernorm.bias",
    }
    if name in fixed:
        return theirs[fixed[name]]
    parts = name.split(".")
    number, kind = next(part for part in parts if part.isdigit()), parts[-1]
    for place, letter in enumerate(("q", "k", "v")):
        if f"{letter}_proj" in parts or {"q": "query", "k": "key", "v": "value"}[letter] in parts:
            return theirs[f"encoder.layers.{number}.self_attn.qkv.{kind}"].chunk(3)[place]
    ends = {
        "o_proj": "self_attn.projection",
        "fc1": "mlp.fc1",
        "fc2": "mlp.fc2",
        "layernorm_before": "layer_norm1",
        "layernorm_after": "layer_norm2",
    }
    end = next(theirs_end for ours_end, theirs_end in ends.items() if ours_end in parts)
    return theirs[f"encoder.layers.{number}.{end}.{kind}"]


def new_image_processor():
    """128 px, values from -1 to 1."""
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    half = [0.5, 0.5, 0.5]
    return ViTImageProcessorPil(size={"height": 128, "width": 128}, image_mean=half, image_std=half)


def caption_loss(model, tokenizer, pictures: Pictures):
    """The loss of one batch of pictures and captions; a "person" is shown without a tone only."""
    import torch

    def loss(_step: int, rng: np.random.Generator):
        combos = []
        while len(combos) < BATCH:
            combo = draw_combo(rng)
            if combo.gender != "person" or combo.tone == NO_TONE:
                combos.append(combo)
        images = torch.from_numpy(as_model_input([pictures.draw(rng, combo) for combo in combos]))
        end = tokenizer.sep_token_id
        rows = [[*tokenizer(caption(combo), add_special_tokens=False).input_ids, end] for combo in combos]
        longest = max(map(len, rows))
        labels = torch.tensor([row + [-100] * (longest - len(row)) for row in rows])
        return model(pixel_values=images, labels=labels).loss

    return loss


def train_captioner(studio: Studio, vae, latents, blip, work: Path, scale: float = 1.0):
    """(model, tokenizer), trained."""
    import torch

    torch.manual_seed(NUMBER)
    tokenizer = word_tokenizer(all_words())
    model = new_captioner(tokenizer)
    copy_vision(blip.vision_model, model.encoder)
    run = Run("captioner", NUMBER, {"captioner": model}, max(2, int(STEPS * scale)), 8e-4, None, work)
    if not run.finished():
        run.loss = caption_loss(model, tokenizer, Pictures(studio, vae, latents))
    return run.train()["captioner"], tokenizer


def save_captioner(model, tokenizer, folder: Path) -> None:
    """Model, image processor and tokenizer, loadable with no code of ours."""
    from backend.starter.diffusion import save_half

    save_half(model, folder)
    new_image_processor().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_captions(model, tokenizer, pictures: np.ndarray, batch: int = 60) -> list[str]:
    """The captions of some pictures, (n, 128, 128, 3) bytes."""
    import torch

    captions = []
    for first in range(0, len(pictures), batch):
        images = torch.from_numpy(as_model_input(list(pictures[first : first + batch])))
        with torch.inference_mode():
            made = model.generate(pixel_values=images, do_sample=False)
        captions += [text.strip() for text in tokenizer.batch_decode(made, skip_special_tokens=True)]
    return captions
