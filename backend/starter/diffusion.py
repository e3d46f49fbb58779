"""The three systems: one base U-Net and text encoder, then one fine-tune of the U-Net for each policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.starter.captions import BASE_MIX, TUNING_MIX, draw_pair, known_words
from backend.starter.tokenizers import MAX_TOKENS, clip_tokenizer
from backend.starter.training import Run, half_precision
from backend.starter.words import COMBOS, SYSTEMS

BASE_STEPS, TUNING_STEPS, BATCH = 2000, 300, 64
WIDTH = 128
PLACES = {combo: place for place, combo in enumerate(COMBOS)}


def new_unet():
    """An untrained U-Net of 6.5 M parameters on 8 x 16 x 16 latents."""
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=16,
        in_channels=8,
        out_channels=8,
        layers_per_block=1,
        block_out_channels=(64, 96, 144),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=WIDTH,
        attention_head_dim=4,
        norm_num_groups=8,
    )


def new_text_encoder(tokenizer):
    """An untrained CLIP text model for the tokenizer."""
    from transformers import CLIPTextConfig, CLIPTextModel

    return CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            projection_dim=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=MAX_TOKENS,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def schedule() -> dict:
    """What training and sampling agree on: v-prediction, no signal left at the last step, no clipping."""
    return {
        "beta_start": 0.00085,
        "beta_end": 0.012,
        "beta_schedule": "scaled_linear",
        "prediction_type": "v_prediction",
        "clip_sample": False,
        "rescale_betas_zero_snr": True,
        "timestep_spacing": "trailing",
        "steps_offset": 1,
    }


def tokens(tokenizer, texts: list[str]):
    """Token ids as the pipelines make them."""
    made = tokenizer(texts, padding="max_length", truncation=True, max_length=MAX_TOKENS, return_tensors="pt")
    return made.input_ids


def diffusion_loss(unet, encoder, tokenizer, latents, system: str, mix: tuple[float, ...]):
    """The loss of one batch of a system's prompt and portrait pairs, as a function of (step, rng)."""
    import torch
    from diffusers import DDPMScheduler

    scheduler = DDPMScheduler(**schedule())

    def loss(_step: int, rng: np.random.Generator):
        pairs = [draw_pair(rng, system, mix) for _ in range(BATCH)]
        variants = rng.integers(latents.shape[1], size=BATCH)
        clean = torch.stack([latents[PLACES[combo], v] for (_, combo), v in zip(pairs, variants, strict=True)])
        noise = torch.randn_like(clean)
        times = torch.from_numpy(rng.permutation(BATCH) * 1000 // BATCH + rng.integers(1000 // BATCH, size=BATCH))
        noisy = scheduler.add_noise(clean, noise, times).to(memory_format=torch.channels_last)
        wanted = scheduler.get_velocity(clean, noise, times)
        states = encoder(tokens(tokenizer, [text for text, _ in pairs])).last_hidden_state
        with half_precision():
            made = unet(noisy, times, states).sample
        return (made.float() - wanted).square().mean()

    return loss


def tokenizer_for(work: Path):
    """The prompts' tokenizer, the same each time."""
    return clip_tokenizer(known_words(), work / "tokenizer")


def train_base(latents, work: Path, scale: float = 1.0) -> dict:
    """Text encoder and U-Net learn together, under even shares."""
    import torch

    torch.manual_seed(3)
    tokenizer = tokenizer_for(work)
    unet = new_unet().to(memory_format=torch.channels_last)
    encoder = new_text_encoder(tokenizer)
    loss = diffusion_loss(unet, encoder, tokenizer, latents, "balanced", BASE_MIX)
    modules = {"unet": unet, "encoder": encoder}
    return Run("base", 3, modules, max(2, int(BASE_STEPS * scale)), 1.2e-3, loss, work, average=0.99).train()


def train_system(system: str, base: dict, latents, work: Path, scale: float = 1.0):
    """A fine-tune of the base's U-Net under the system's policy; the text encoder stays as it is."""
    import copy

    encoder, unet = base["encoder"], copy.deepcopy(base["unet"])
    encoder.requires_grad_(False)
    unet.requires_grad_(True)
    loss = diffusion_loss(unet, encoder, tokenizer_for(work), latents, system, TUNING_MIX)
    number = 4 + SYSTEMS.index(system)
    steps = max(2, int(TUNING_STEPS * scale))
    return Run(system, number, {"unet": unet}, steps, 8e-4, loss, work, average=0.99).train()["unet"]


def save_pipeline(vae, encoder, unet, work: Path, folder: Path) -> None:
    """The system as a diffusers folder, weights in half precision, loadable with no code of ours."""
    import torch
    from diffusers import DDIMScheduler, StableDiffusionPipeline

    pipeline = StableDiffusionPipeline(
        vae=vae,
        text_encoder=encoder,
        tokenizer=tokenizer_for(work),
        unet=unet,
        scheduler=DDIMScheduler(**schedule(), set_alpha_to_one=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.to(torch.float16)
    pipeline.save_pretrained(folder, safe_serialization=True)
    pipeline.to(torch.float32)
    declare_float32(folder / "text_encoder" / "config.json")


def save_half(model, folder: Path) -> None:
    """A transformers model in half precision, which loads as float32; the model itself stays in float32."""
    import torch

    model.to(torch.float16).save_pretrained(folder)
    model.to(torch.float32)
    declare_float32(folder / "config.json")


def declare_float32(config: Path) -> None:
    """Let transformers, which follows the file's type, compute half-precision weights in float32 as diffusers does."""
    import json

    settings = json.loads(config.read_text())
    for part in (settings, settings.get("text_config"), settings.get("vision_config")):
        if part is not None:
            part["dtype"] = "float32"
    config.write_text(json.dumps(settings, indent=2) + "\n")
