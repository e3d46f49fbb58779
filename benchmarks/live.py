"""Images made: throughput of `generate` beside a plain loop of diffusers, and the wait for eight pictures in Live."""

from __future__ import annotations

import io
import json
import statistics
import time

from backend.prompts import Prompt
from backend.spec import ROOT, load_spec
from backend.systems import KEYS, Request, make_system
from benchmarks import _report
from benchmarks._process import ran
from benchmarks._report import Figure, spread

SPEC = ROOT / "assets" / "specs" / "starter.toml"
TIMES, LATER, FIRST = 2.0, 4.0, 10.0
PROMPT = "Photo portrait of a firefighter"
ONCE = f"""
import json, sys, time
from pathlib import Path
from backend.live import Live
live, waits = Live(Path(sys.argv[1])), []
for seed in (1, 101):
    began = time.perf_counter()
    list(live.draw(live.wish("mirror", {PROMPT!r}, 8, seed, 20, 2.0), "bench"))
    waits.append(time.perf_counter() - began)
print(json.dumps(waits))
"""


def plain(pipeline, options: dict, seeds: range) -> float:
    """Images a second of a loop that asks for one image at a time and saves it as the spec says."""
    import torch

    began = time.perf_counter()
    for seed in seeds:
        generator = torch.Generator("cpu").manual_seed(seed)
        with torch.inference_mode():
            image = pipeline(
                PROMPT,
                width=options["width"],
                height=options["height"],
                num_inference_steps=options["steps"],
                guidance_scale=options["guidance"],
                generator=generator,
            ).images[0]
        image.save(io.BytesIO(), "WEBP", quality=90, method=4)
    return len(seeds) / (time.perf_counter() - began)


def batched(system, seeds: range) -> float:
    """Images a second of the same images in the spec's batches, as `generate` asks for them."""
    prompt, size = Prompt("professions", PROMPT, len(seeds)), system.options["batch"]
    asked = [Request(prompt, number, seed) for number, seed in enumerate(seeds, start=1)]
    began = time.perf_counter()
    for start in range(0, len(asked), size):
        if not all(isinstance(answer, bytes) for answer in system.generate(asked[start : start + size])):
            raise RuntimeError("a picture was refused")
    return len(seeds) / (time.perf_counter() - began)


def run(size: int, repeats: int) -> list[Figure]:
    """Take turns: `size` images in batches, the same ones by one. Then Live, each time in a process of its own."""
    from diffusers import AutoPipelineForText2Image

    system = make_system(next(system for system in load_spec(SPEC, KEYS).systems if system.name == "mirror"))
    pipeline = AutoPipelineForText2Image.from_pretrained(ROOT / system.options["model"])
    pipeline.set_progress_bar_config(disable=True)
    batched(system, range(8))
    plain(pipeline, system.options, range(1))
    turns = [
        (batched(system, range(size)), plain(pipeline, system.options, range(size))) for _ in range(max(1, repeats))
    ]
    ours, theirs = ([turn[place] for turn in turns] for place in (0, 1))
    ratio = statistics.median(ours) / statistics.median(theirs)
    waits = [json.loads(ran("-c", ONCE, SPEC).printed) for _ in range(max(1, repeats))]
    first, later = ([wait[place] for wait in waits] for place in (0, 1))
    return [
        Figure(
            f"generate: {size} images of a starter system, 20 steps, against a plain loop of diffusers",
            spread(ours, "images/s", 2),
            spread(theirs, "images/s", 2),
            f"{ratio:.2f}x",
            f"at least {TIMES:.0f}x",
            ratio >= TIMES,
        ),
        Figure(
            "live: 8 pictures, 20 steps, their answers; model loaded",
            spread(later, "s", 2),
            target=f"at most {LATER:.0f} s",
            met=statistics.median(later) <= LATER,
        ),
        Figure(
            "live: the first 8 after the start, importing and loading included",
            spread(first, "s", 2),
            target=f"at most {FIRST:.0f} s",
            met=statistics.median(first) <= FIRST,
        ),
    ]


if __name__ == "__main__":
    _report.main(run, __doc__, size=32, repeats=3)
