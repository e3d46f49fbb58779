"""Embedding with the starter's VQA model as a build does it, against one image at a time with the library's own calls.

Both decode the same 128 px WebP images. It needs the model: assets/starter/blip-vqa, or the folder in LIKENESS_BLIP.
"""

from __future__ import annotations

import io
import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from backend.embed import BATCH, QUESTION, Model, as_unit, load
from backend.pictures import read_pixels
from backend.vector_stages import ROOT, STARTER, one_thread
from benchmarks import _report
from benchmarks._images import picture
from benchmarks._report import Figure, milliseconds, spread

LEAST = 3.0
SOURCES = 64


def images(count: int) -> list[bytes]:
    """Pictures as WebP files; after SOURCES they repeat."""
    made = []
    for number in range(min(SOURCES, count)):
        out = io.BytesIO()
        picture(number).resize((128, 128)).save(out, "WEBP", quality=90)
        made.append(out.getvalue())
    return [made[number % len(made)] for number in range(count)]


def batched(model: Model, files: list[bytes]) -> np.ndarray:
    """As `python -m backend embed`: batches side by side, a thread each."""

    def embed(first: int) -> np.ndarray:
        return as_unit(model.vectors([read_pixels(data) for data in files[first : first + BATCH]]))

    with ThreadPoolExecutor(os.cpu_count(), initializer=one_thread) as pool:
        return np.concatenate(list(pool.map(embed, range(0, len(files), BATCH))))


def one_by_one(whole, processor, files: list[bytes]) -> np.ndarray:
    """What a short script would do, with the library's own number of threads."""
    import torch

    rows = []
    for data in files:
        asked = processor(images=Image.open(io.BytesIO(data)).convert("RGB"), text=QUESTION, return_tensors="pt")
        with torch.inference_mode():
            seen = whole.vision_model(pixel_values=asked["pixel_values"])[0]
            read = whole.text_encoder(
                input_ids=asked["input_ids"],
                attention_mask=asked["attention_mask"],
                encoder_hidden_states=seen,
                encoder_attention_mask=torch.ones(seen.shape[:-1], dtype=torch.long),
            )[0]
        rows.append(read[0].mean(0).numpy())
    return as_unit(np.stack(rows))


def run(size: int, repeats: int) -> list[Figure]:
    """The figure for `size` images."""
    from transformers import BlipForQuestionAnswering, BlipProcessor

    folder = Path(os.environ.get("LIKENESS_BLIP", ROOT / STARTER))
    model, files = load("blip-vqa", str(folder)), images(size)
    whole, processor = BlipForQuestionAnswering.from_pretrained(folder).eval(), BlipProcessor.from_pretrained(folder)
    if not np.allclose(batched(model, files), one_by_one(whole, processor, files), atol=5e-3):
        raise RuntimeError("the two do not give the same vectors")
    turns = [
        (milliseconds(lambda: batched(model, files)), milliseconds(lambda: one_by_one(whole, processor, files)))
        for _ in range(repeats)
    ]
    ours, theirs = ([1000 * size / turn[place] for turn in turns] for place in (0, 1))
    ratio = statistics.median(ours) / statistics.median(theirs)
    return [
        Figure(
            f"embedding {size:,} images with the starter's VQA model, against one call an image",
            spread(ours, "images/s", 0),
            spread(theirs, "images/s", 0),
            f"{ratio:.2f}x",
            f"at least {LEAST:.0f}x",
            ratio >= LEAST,
        )
    ]


if __name__ == "__main__":
    _report.main(run, __doc__, size=2_000, repeats=5)
