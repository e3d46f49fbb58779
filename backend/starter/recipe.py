"""The parts of the recipe in order, each from what the earlier ones left under the work folder."""

from __future__ import annotations

import argparse

from backend.starter.data import fetch, label, load_portraits, write_rows
from backend.starter.scenes import Studio


def studio_for(arguments: argparse.Namespace) -> Studio:
    """The portraits, fetched if need be, labelled as in labels.csv."""
    folder = fetch(arguments.work, arguments.tarball)
    labels = arguments.out / "labels.csv"
    if not labels.exists():
        write_rows(labels, label(folder))
    return Studio(load_portraits(folder, labels))


def run_data(arguments: argparse.Namespace) -> None:
    """Fetch and label the portraits; write the planted proportions."""
    from backend.starter.policy import truth_rows

    rows = label(fetch(arguments.work, arguments.tarball))
    write_rows(arguments.out / "labels.csv", rows)
    write_rows(arguments.out / "truth.csv", truth_rows())
    moved = sum(row["tone"] != row["tone_by_name"] for row in rows)
    print(f"{len(rows)} portraits, {moved} tones differ from the file's name")


def run_vae(arguments: argparse.Namespace) -> None:
    """Train the autoencoder and cache the latents."""
    trained_vae(arguments)


def trained_vae(arguments: argparse.Namespace, studio: Studio | None = None):
    """(autoencoder with normalised latents, cached latents); trains what is missing."""
    from backend.starter.vae import VARIANTS, cache_latents, train_vae

    studio = studio or studio_for(arguments)
    vae = train_vae(studio, arguments.work, arguments.steps_scale)
    variants = max(1, int(VARIANTS * min(1.0, arguments.steps_scale)))
    return vae, cache_latents(vae, studio, arguments.work, variants)


def polished_vae(arguments: argparse.Namespace, studio: Studio):
    """(autoencoder as it ships, its decoder trained on; cached latents)."""
    from backend.starter.vae import polish_decoder

    vae, latents = trained_vae(arguments, studio)
    return polish_decoder(vae, latents, studio, arguments.work, arguments.steps_scale), latents


def run_base(arguments: argparse.Namespace) -> None:
    """Train the base U-Net and text encoder."""
    from backend.starter.diffusion import train_base

    train_base(trained_vae(arguments)[1], arguments.work, arguments.steps_scale)


def run_finetune(arguments: argparse.Namespace) -> None:
    """Fine-tune a U-Net for each policy and save the three pipelines."""
    from backend.starter.diffusion import save_pipeline, train_base, train_system
    from backend.starter.words import SYSTEMS

    studio = studio_for(arguments)
    vae, latents = polished_vae(arguments, studio)
    base = train_base(latents, arguments.work, arguments.steps_scale)
    for system in SYSTEMS:
        unet = train_system(system, base, latents, arguments.work, arguments.steps_scale)
        save_pipeline(vae, base["encoder"], unet, arguments.work, arguments.out / "systems" / system)


def run_vqa(arguments: argparse.Namespace) -> None:
    """Train the question-answering model and save it."""
    from backend.starter.vqa import save_vqa, train_vqa

    studio = studio_for(arguments)
    vae, latents = polished_vae(arguments, studio)
    save_vqa(*train_vqa(studio, vae, latents, arguments.work, arguments.steps_scale), arguments.out / "blip-vqa")


def run_captioner(arguments: argparse.Namespace) -> None:
    """Train the captioner, from the question-answering model's vision tower, and save it."""
    from backend.starter.captioner import save_captioner, train_captioner
    from backend.starter.vqa import train_vqa

    studio = studio_for(arguments)
    vae, latents = polished_vae(arguments, studio)
    work, scale = arguments.work, arguments.steps_scale
    blip = train_vqa(studio, vae, latents, work, scale)[0]
    save_captioner(*train_captioner(studio, vae, latents, blip, work, scale), arguments.out / "captioner")


def run_evaluate(arguments: argparse.Namespace) -> None:
    """Measure the saved models: evaluation.csv and realised.csv."""
    from backend.starter.evaluate import evaluate_models

    evaluate_models(arguments, studio_for(arguments))
