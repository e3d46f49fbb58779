"""The autoencoder that all three systems share: 128 px pictures to 8 x 16 x 16 latents and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.starter.scenes import Studio, as_model_input, draw_scene
from backend.starter.training import Run, half_precision, rng_for, save_atomically
from backend.starter.words import COMBOS

STEPS, SMALL_PART, SMALL_BATCH, BATCH, VARIANTS = 2300, 0.45, 8, 4, 14
SHARP_STEPS, SHARP_BATCH = 2200, 8
NUMBER, POLISH_NUMBER, POLISH_STEPS, SHARP_NUMBER = 1, 2, 400, 7


def new_vae():
    """An untrained autoencoder."""
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=(16, 32, 64, 96),
        layers_per_block=1,
        latent_channels=8,
        norm_num_groups=1,  # more groups normalise each colour away: a picture's own hue is lost
        sample_size=128,
        mid_block_add_attention=False,
        scaling_factor=1.0,
    )


def picture_loss(made, wanted):
    """L1 + 2 x L2 + L1 of the differences between neighbouring pixels."""
    difference = made - wanted
    across = (difference[..., :, 1:] - difference[..., :, :-1]).abs().mean()
    down = (difference[..., 1:, :] - difference[..., :-1, :]).abs().mean()
    return difference.abs().mean() + 2 * difference.square().mean() + across + down


def autoencoder_loss(vae, studio: Studio, batch: int, small_batch: int = 0, small_until: int = 0):
    """The loss of one batch of whole pictures as a function of (step, rng); at half the size before `small_until`."""
    import torch

    def loss(step: int, rng: np.random.Generator):
        small = step < small_until
        chosen = rng.choice(len(COMBOS), small_batch if small else batch, replace=False)
        pictures = [studio.render(draw_scene(rng, COMBOS[i])) for i in chosen]
        wanted = torch.from_numpy(as_model_input(pictures))
        if small:
            wanted = torch.nn.functional.avg_pool2d(wanted, 2)
        wanted = wanted.to(memory_format=torch.channels_last)
        with half_precision():
            posterior = vae.encode(wanted).latent_dist
            latents = posterior.mean + torch.exp(0.5 * posterior.logvar) * torch.randn_like(posterior.mean)
            made = vae.decode(latents).sample
        mean, logvar = posterior.mean.float(), posterior.logvar.float()
        spread = 0.5 * (mean.square() + logvar.exp() - 1 - logvar).mean()
        return picture_loss(made.float(), wanted) + 2e-4 * spread

    return loss


def train_vae(studio: Studio, work: Path, scale: float = 1.0):
    """Train it on whole pictures, first on small ones, then in larger batches; latents not yet normalised."""
    import torch

    steps, sharp_steps = max(2, int(STEPS * scale)), max(2, int(SHARP_STEPS * scale))
    torch.manual_seed(NUMBER)
    vae = new_vae().to(memory_format=torch.channels_last)
    first = autoencoder_loss(vae, studio, BATCH, SMALL_BATCH, int(SMALL_PART * steps))
    vae = Run("vae", NUMBER, {"vae": vae}, steps, 1.3e-3, first, work).train()["vae"].train()
    second = autoencoder_loss(vae, studio, SHARP_BATCH)
    return Run("vae-sharp", SHARP_NUMBER, {"vae": vae}, sharp_steps, 1.2e-3, second, work).train()["vae"]


def polish_decoder(vae, latents, studio: Studio, work: Path, scale: float = 1.0):
    """Train the decoder alone a little longer, latents fixed and a little noisy; the same autoencoder."""
    import torch

    vae.requires_grad_(False)
    vae.decoder.requires_grad_(True)
    vae.post_quant_conv.requires_grad_(True)
    vae.to(memory_format=torch.channels_last)

    def loss(_step: int, rng: np.random.Generator):
        chosen = rng.choice(len(COMBOS), SHARP_BATCH, replace=False)
        variants = rng.integers(latents.shape[1], size=SHARP_BATCH)
        pictures = [cached_picture(studio, place, variant) for place, variant in zip(chosen, variants, strict=True)]
        wanted = torch.from_numpy(as_model_input(pictures)).to(memory_format=torch.channels_last)
        clean = torch.stack([latents[place, variant] for place, variant in zip(chosen, variants, strict=True)])
        noisy = (clean + 0.08 * torch.randn_like(clean)).to(memory_format=torch.channels_last)
        with half_precision():
            made = vae.decode(noisy).sample
        return picture_loss(made.float(), wanted)

    run = Run("decoder", POLISH_NUMBER, {"vae": vae}, max(2, int(POLISH_STEPS * scale)), 8e-4, loss, work)
    return run.train()["vae"]


def cached_picture(studio: Studio, place: int, variant: int) -> np.ndarray:
    """The render behind a cached latent."""
    rng = rng_for(2, place)
    scenes = [draw_scene(rng, COMBOS[place]) for _ in range(variant + 1)]
    return studio.render(scenes[-1])


def fold_normalisation(vae, mean, deviation) -> None:
    """Fold per-channel normalisation of the latents into the convolutions around them, so that scaling is 1."""
    import torch

    channels = len(mean)
    with torch.no_grad():
        into, out = vae.quant_conv, vae.post_quant_conv
        into.bias[:channels] = (into.bias[:channels] - mean) / deviation
        into.weight[:channels] /= deviation[:, None, None, None]
        into.bias[channels:] -= 2 * deviation.log()
        out.bias += (out.weight[:, :, 0, 0] * mean).sum(dim=1)
        out.weight *= deviation[None, :, None, None]


def encode(vae, pictures: list[np.ndarray]):
    """The mean latents of some pictures."""
    import torch

    with torch.inference_mode():
        batch = torch.from_numpy(as_model_input(pictures)).to(memory_format=torch.channels_last)
        return vae.encode(batch).latent_dist.mean.contiguous()


def decode(vae, latents) -> np.ndarray:
    """Latents as (n, 128, 128, 3) bytes."""
    import torch

    with torch.inference_mode():
        pictures = vae.decode(latents.to(memory_format=torch.channels_last)).sample
        return ((pictures.clamp(-1, 1) + 1) * 127.5).round().byte().permute(0, 2, 3, 1).contiguous().numpy()


def cache_latents(vae, studio: Studio, work: Path, variants: int = VARIANTS):
    """Latents of `variants` renders of each portrait, (combos, variants, 8, 16, 16); normalises the autoencoder.

    Writes latents.pt and vae.pt (the normalised weights) under `work`; a rerun reads them.
    """
    import torch

    target = work / "latents.pt"
    if target.exists():
        state = torch.load(target, weights_only=True)
        vae.load_state_dict(state["vae"])
        return state["latents"].float()
    rows = []
    for place, combo in enumerate(COMBOS):
        rng = rng_for(2, place)
        pictures = [studio.render(draw_scene(rng, combo)) for _ in range(variants)]
        rows.append(encode(vae, pictures))
        if place % 60 == 59:
            print(f"latents {place + 1}/{len(COMBOS)}", flush=True)
    latents = torch.stack(rows)
    mean, deviation = latents.mean(dim=(0, 1, 3, 4)), latents.std(dim=(0, 1, 3, 4))
    fold_normalisation(vae, mean, deviation)
    latents = (latents - mean[:, None, None]) / deviation[:, None, None]
    save_atomically({"latents": latents.half(), "vae": vae.state_dict()}, target)
    return latents
