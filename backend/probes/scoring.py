"""Log-likelihoods of many short options after many prompts: what prompts have in common is read once.

Three things are shared through the key-value cache: the beginning of all prompts (a system message), the longer
beginning of prompts that lie side by side when sorted (one scene, other options), and a prompt over all its options.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

Tokens = Sequence[int]
MOST_CACHED = 8192
"""Tokens whose keys and values are held at once: prompts, and options times the length of their prompt."""
STEP = 32
"""What one call of the model costs beside its tokens, in tokens; batches are cut so that the whole costs least."""


def common(texts: Sequence[Tokens]) -> int:
    """How many tokens all texts begin with in common.

    >>> common([(1, 2, 3), (1, 2), (1, 2, 4)])
    2
    """
    first, last = min(texts), max(texts)
    return next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))


def batches(texts: Sequence[Tokens], most: int, trunk: int = 0) -> list[list[int]]:
    """Which prompts are read together: lists of their places, sorted so that neighbours begin alike.

    By hand: of two scenes with two endings each, 100 tokens of a scene are read once for both.

    >>> scenes = [(1,) * 100 + (7,), (2,) * 100 + (7,), (1,) * 100 + (8,), (2,) * 100 + (8,)]
    >>> batches(scenes, most=4)
    [[0, 2], [1, 3]]

    A batch of b prompts with h tokens in common costs (h - trunk) + b * (longest - h) + STEP; a prompt joins where that
    is no more than beginning a batch. At most `most` prompts, and b * longest at most MOST_CACHED.
    """

    def cost(places: list[int]) -> int:
        longest = max(len(texts[place]) for place in places)
        head = _head([texts[place] for place in places]) if len(places) > 1 else trunk
        return head - trunk + len(places) * (longest - head) + STEP

    found: list[list[int]] = []
    for place in sorted(range(len(texts)), key=lambda place: tuple(texts[place])):
        joined = [*found[-1], place] if found else []
        fits = 0 < len(joined) <= most and len(joined) * max(len(texts[one]) for one in joined) <= MOST_CACHED
        if fits and cost(joined) <= cost(found[-1]) + cost([place]):
            found[-1] = joined
        else:
            found.append([place])
    return found


def _head(texts: Sequence[Tokens]) -> int:
    """How much of the texts is read once for all: what they have in common, but not the last token of any."""
    return min(common(texts), min(map(len, texts)) - 1)


class Scorer:
    """Scores with one causal language model of transformers; made for one thread."""

    def __init__(self, model: Any) -> None:
        self.model = model
        takes = inspect.signature(model.forward).parameters
        self._positions, self._keeps = "position_ids" in takes, "logits_to_keep" in takes
        self._trunk: tuple[Tokens, Any] = ((), None)
        config = model.config.get_text_config()
        windows = (getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size"))
        self._window = min((window for window in windows if window), default=None)

    def begin(self, tokens: Tokens, cache: Any) -> None:
        """Go on from tokens that were read elsewhere (with a picture): the next prompts begin with them."""
        self._trunk = (tuple(tokens), cache)

    def sums(
        self, prompts: Sequence[Tokens], options: Sequence[Sequence[Tokens]], batch: int = 16
    ) -> list[list[float]]:
        """For each prompt the sum of ln p(token | all before it) over the tokens of each of its options.

        Prompts and options are lists of token numbers, none empty. A model that looks back only so far reads longer
        prompts one at a time: its window would count the padding of a batch.
        """
        import torch

        totals: list[list[float]] = [[] for _ in prompts]
        if not prompts:
            return totals
        longest = max(map(len, prompts)) + max(len(option) for some in options for option in some)
        if self._window and longest > self._window:
            batch = 1
        texts = [tuple(prompt) for prompt in prompts]
        with torch.inference_mode():
            trunk = self._read_trunk(texts)
            for places in batches(texts, batch, trunk):
                some = [texts[place] for place in places]
                found = self._batch(some, [options[place] for place in places], trunk)
                for place, sums in zip(places, found, strict=True):
                    totals[place] = sums
        return totals

    def _read_trunk(self, texts: list[Tokens]) -> int:
        """Read what all prompts begin with, unless the last call left it; how many tokens it has (0: not worth it)."""
        tokens = texts[0][: _head(texts)]
        known, _ = self._trunk
        if known and all(text[: len(known)] == known and len(text) > len(known) for text in texts):
            return len(known)
        if len(texts) == 1 or not tokens:
            self._trunk = ((), None)
            return 0
        self._trunk = (tokens, self._forward([tokens], None, 0, [0])[1])
        return len(tokens)

    def _batch(self, texts: list[Tokens], options: list[Sequence[Tokens]], trunk: int) -> list[list[float]]:
        head = max(trunk, _head(texts)) if len(texts) > 1 else trunk
        cache = copy.deepcopy(self._trunk[1]) if trunk else None
        if head > trunk:
            cache = self._forward([texts[0][trunk:head]], cache, trunk, [0])[1]
        if cache is not None and len(texts) > 1:
            cache.batch_repeat_interleave(len(texts))
        rests = [text[head:] for text in texts]
        longest = max(map(len, rests))
        pads = [longest - len(rest) for rest in rests]
        first, cache = self._forward(rests, cache, head, pads)
        first = first[:, -1].float().log_softmax(-1)
        sums = [[first[row, option[0]].item() for option in some] for row, some in enumerate(options)]
        self._tails(texts, options, cache, (head, pads), sums)
        return sums

    def _tails(self, texts, options, cache, shape: tuple[int, list[int]], sums: list[list[float]]) -> None:
        """Add what the second and later tokens of options have: a row an option, as many at once as may be cached."""
        import torch

        head, pads = shape
        rows = [(row, k) for row, some in enumerate(options) for k, option in enumerate(some) if len(option) > 1]
        width = len(texts[0]) + pads[0] + max((len(options[row][k]) for row, k in rows), default=0)
        most = max(1, MOST_CACHED // width)
        for start in range(0, len(rows), most):
            some = rows[start : start + most]
            state = copy.deepcopy(cache) if start + most < len(rows) else cache
            state.batch_select_indices(torch.tensor([row for row, _ in some], device=self.model.device))
            given = [options[row][k][:-1] for row, k in some]
            before = [(head, pads[row], len(texts[row])) for row, _ in some]
            logits = self._after(given, state, before).float().log_softmax(-1)
            for line, (row, k) in enumerate(some):
                wanted = torch.tensor(options[row][k][1:], device=logits.device)
                sums[row][k] += logits[line, : len(wanted)].gather(1, wanted[:, None]).sum().item()

    def _forward(self, rests: list[Tokens], cache: Any, before: int, pads: list[int]) -> tuple[Any, Any]:
        """Read rows of tokens after `before` tokens that all have: logits of the last place, and the cache.

        Shorter rows are padded on their left, so that all end at the same place.
        """
        import torch

        ids = torch.tensor([[0] * pad + list(rest) for rest, pad in zip(rests, pads, strict=True)])
        options: dict[str, Any] = {"logits_to_keep": 1} if self._keeps else {}
        if any(pads):
            mask = torch.ones(len(rests), before + ids.shape[1], dtype=torch.long)
            for row, pad in enumerate(pads):
                mask[row, before : before + pad] = 0
            options["attention_mask"] = mask.to(self.model.device)
            if self._positions:
                places = torch.arange(ids.shape[1])[None] - torch.tensor(pads)[:, None]
                options["position_ids"] = (places.clamp(min=0) + before).to(self.model.device)
        made = self.model(input_ids=ids.to(self.model.device), cache=cache, use_cache=True, **options)
        return made.logits, made.cache

    def _after(self, given: list[Tokens], cache: Any, before: list[tuple[int, int, int]]) -> Any:
        """Logits of every place of some rows, each after its own prompt: (shared tokens, pads after them, tokens)."""
        import torch

        longest = max(map(len, given))
        ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in given])
        options: dict[str, Any] = {}
        if any(pad for _, pad, _ in before):
            head, pad, length = before[0]
            mask = torch.ones(len(given), length + pad + longest, dtype=torch.long)
            for row, (head, pad, _) in enumerate(before):
                mask[row, head : head + pad] = 0
            options["attention_mask"] = mask.to(self.model.device)
            if self._positions:
                lengths = torch.tensor([length for _, _, length in before])
                options["position_ids"] = (lengths[:, None] + torch.arange(longest)[None]).to(self.model.device)
        return self.model(input_ids=ids.to(self.model.device), cache=cache, use_cache=True, **options).logits


def one_by_one(model: Any, prompt: Tokens, option: Tokens) -> float:
    """The same sum from one forward pass over prompt and option, nothing shared: what `Scorer` is checked against."""
    import torch

    ids = torch.tensor([[*prompt, *option]], device=model.device)
    with torch.inference_mode():
        logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].float().log_softmax(-1)
    return logits.gather(1, ids[0, len(prompt) :, None]).sum().item()
