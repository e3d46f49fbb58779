"""A real but random text-to-image pipeline of some kilobytes, in the format that diffusers writes."""

from __future__ import annotations

import json
from pathlib import Path


def make_pipeline(folder: Path, seed: int = 0, hides: bool = False) -> Path:
    """Save a StableDiffusionPipeline: U-Net, VAE and CLIP with random weights, for images of 32 x 32 pixels.

    With `hides` it has a safety checker, which hides every image.
    """
    import torch
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    torch.manual_seed(seed)
    unet = UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=4,
    )
    vae = AutoencoderKL(
        block_out_channels=(8, 8),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=4,
    )
    config = CLIPTextConfig(
        vocab_size=64,
        bos_token_id=52,
        eos_token_id=53,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    pipe = StableDiffusionPipeline(
        vae=vae,
        text_encoder=CLIPTextModel(config),
        tokenizer=tokenizer(folder.with_name(folder.name + "-words"), CLIPTokenizer),
        unet=unet,
        scheduler=DDIMScheduler(clip_sample=False, steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    (with_checker(pipe) if hides else pipe).save_pretrained(folder)
    return folder


def tokenizer(folder: Path, kind):
    """A CLIP tokenizer that knows letters alone."""
    letters = [*"abcdefghijklmnopqrstuvwxyz-"]
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({word: index for index, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return kind(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=77)


def with_checker(pipe):
    """The same pipeline with a safety checker whose thresholds hide everything."""
    import torch
    from diffusers import StableDiffusionPipeline
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
    from transformers import CLIPConfig, CLIPImageProcessor

    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = CLIPConfig(vision_config={**vision, "image_size": 32, "patch_size": 16}, projection_dim=8)
    checker = StableDiffusionSafetyChecker(config)
    with torch.no_grad():
        checker.concept_embeds_weights.fill_(-2)
    processor = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    parts = {**pipe.components, "safety_checker": checker, "feature_extractor": processor}
    return StableDiffusionPipeline(**parts, requires_safety_checker=True)


def make_blip(folder: Path, seed: int = 0, captions: bool = False) -> Path:
    """Save a BlipForQuestionAnswering with random weights and its processor, for pictures of 32 x 32 pixels.

    With `captions` it is a BlipForConditionalGeneration.
    """
    import torch
    from transformers import (
        BertTokenizer,
        BlipConfig,
        BlipForConditionalGeneration,
        BlipForQuestionAnswering,
        BlipProcessor,
    )
    from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

    torch.manual_seed(seed)
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "[DEC]",
        "?",
        "who",
        "is",
        "this",
        "man",
        "woman",
        "no",
        "preference",
    ]
    tokens = BertTokenizer(vocab={word: place for place, word in enumerate(words)}, bos_token="[DEC]")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    marks = {"bos_token_id": 5, "eos_token_id": 3, "sep_token_id": 3, "pad_token_id": 0}
    text = {**sizes, **marks, "vocab_size": len(words), "encoder_hidden_size": 16, "max_position_embeddings": 64}
    vision = {**sizes, "image_size": 32, "patch_size": 16, "initializer_range": 0.5}
    kind = BlipForConditionalGeneration if captions else BlipForQuestionAnswering
    model = kind(BlipConfig(text_config={**text, "initializer_range": 0.5}, vision_config=vision))
    model.save_pretrained(folder)
    images = BlipImageProcessorPil(size={"height": 32, "width": 32}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    BlipProcessor(images, tokens).save_pretrained(folder)
    return folder
