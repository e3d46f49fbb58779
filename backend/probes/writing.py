"""Free text from a model: what the kinds "lm" and "openai-chat" write where no options are given."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from backend.probes.base import LONGEST_RAW, Model
from backend.probes.chat import IN_A_ROW, ChatAPI, said_in
from backend.probes.text import TEMPLATE, TextModel, marks_of
from backend.records import clean_text
from backend.spec import SpecError, SystemSpec
from backend.systems.base import Refused
from backend.systems.images_api import ImagesAPI

MOST_BYTES = 2_000_000
_FIELDS = ("seed", "temperature", "max_tokens")
"""What a server that does not take one of these fields is asked without."""


@dataclass(frozen=True)
class Talk:
    """What a model goes on from: what a user and it have said in turn, the user last, and when it has said enough."""

    turns: tuple[str, ...]
    enough: Callable[[str], bool] = lambda text: False
    most: int = 100
    """Tokens that are written at most."""

    def messages(self) -> list[dict[str, str]]:
        """The turns as chat templates and endpoints take them."""
        return [{"role": ("user", "assistant")[turn % 2], "content": text} for turn, text in enumerate(self.turns)]


@dataclass(frozen=True)
class Written:
    """The text that a model wrote: lines without control characters, at most LONGEST_RAW characters; or why not."""

    text: str = ""
    reason: str = ""


def plain_lines(text: str) -> str:
    """A text from outside with its line breaks, other control characters left out; what was thought aloud goes.

    >>> plain_lines("<think>hm</think>One\\r\\n\\x1b[2Jtwo ")
    'One\\n[2Jtwo'
    """
    lines = (clean_text(line) for line in text.rpartition("</think>")[2].splitlines())
    return "\n".join(lines).strip()[:LONGEST_RAW]


class Writer(ABC):
    """A model that writes. Its `check` must have been called."""

    AT_ONCE: ClassVar[int] = 1
    """How many texts cost about as much as one."""

    @abstractmethod
    def write(self, talks: Sequence[Talk], temperature: float, seed: int) -> list[Written]:
        """A text for each talk. The same call gives the same texts, as far as the model can be told a seed.

        A temperature of 0 takes the likeliest token each time. What one talk fails with is told in its place; SpecError
        and ProbeError where no talk can succeed.
        """

    def close(self) -> None:  # noqa: B027
        """Free what the writer holds beside the model."""


def check_writes(model: Model) -> None:
    """Raise SpecError where a model's kind cannot write."""
    if not isinstance(model, TextModel | ChatAPI):
        raise model.error("kind", f"models of kind {model.spec.kind} do not write; take one of kind lm or openai-chat")


def writer_of(model: Model) -> Writer:
    """How a model is asked for free text. Raises SpecError where its kind cannot write."""
    check_writes(model)
    return LocalWriter(model) if isinstance(model, TextModel) else EndpointWriter(model)


class LocalWriter(Writer):
    """All talks of a call are one batch, padded on the left: its texts do not depend on earlier calls."""

    AT_ONCE = 4

    def __init__(self, model: TextModel) -> None:
        self.held = model

    def write(self, talks: Sequence[Talk], temperature: float, seed: int) -> list[Written]:
        rows: dict[int, list[int]] = {}
        found: dict[int, Written] = {}
        for place, talk in enumerate(talks):
            ids, reason = self._tokens(talk)
            if reason:
                found[place] = Written(reason=reason)
            else:
                rows[place] = ids
        if rows:
            some = [talks[place] for place in rows]
            for place, text in zip(rows, self._batch(list(rows.values()), some, temperature, seed), strict=True):
                found[place] = Written(plain_lines(text), "" if text.strip() else "the model wrote nothing")
        return [found[place] for place in range(len(talks))]

    def _tokens(self, talk: Talk) -> tuple[list[int], str]:
        """The tokens of a talk, and why it cannot be put to this model ("" where it can)."""
        tokenizer, text = self.held.tokenizer, "\n".join(talk.turns)
        mark = next((mark for mark in marks_of(tokenizer) if mark in text), None)
        if mark:
            return [], f"what is asked holds {mark!r}, a mark of this model"
        if tokenizer.chat_template:
            text = tokenizer.apply_chat_template(
                talk.messages(), tokenize=False, add_generation_prompt=True, **TEMPLATE
            )
            ids = tokenizer(text, add_special_tokens=False, verbose=False).input_ids
        else:
            ids = tokenizer(text + "\n", verbose=False).input_ids
        held = getattr(self.held.model.config.get_text_config(), "max_position_embeddings", None)
        most = min(tokenizer.model_max_length, held or tokenizer.model_max_length)
        if len(ids) + talk.most > most:
            return [], f"what is asked has {len(ids):,} tokens, and the answer {talk.most:,}; this model holds {most:,}"
        return ids, ""

    def _batch(self, rows: list[list[int]], talks: list[Talk], temperature: float, seed: int) -> list[str]:
        import torch
        from transformers import GenerationConfig

        model, tokenizer = self.held.model, self.held.tokenizer
        longest = max(map(len, rows))
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in rows], device=model.device)
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=model.device)
        ends = {tokenizer.eos_token_id, *_numbers(model.generation_config.eos_token_id)} - {None}
        sampled = {"temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature else {}
        how = GenerationConfig(
            max_new_tokens=max(talk.most for talk in talks),
            do_sample=bool(temperature),
            eos_token_id=sorted(ends) or None,
            pad_token_id=min(ends, default=0),
            **sampled,
        )

        def written(all_ids: Any) -> list[str]:
            return tokenizer.batch_decode(all_ids[:, longest:], skip_special_tokens=True)

        def done(all_ids: Any, *_: Any, **__: Any) -> Any:
            texts = zip(talks, written(all_ids), strict=True)
            return torch.tensor([talk.enough(text) for talk, text in texts], device=all_ids.device)

        devices = [model.device] if model.device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices):
            torch.manual_seed(seed)
            made = model.generate(ids, attention_mask=mask, generation_config=how, stopping_criteria=[done])
        return written(made)


def _numbers(value: int | Sequence[int] | None) -> list[int]:
    return [] if value is None else [value] if isinstance(value, int) else list(value)


@dataclass(frozen=True)
class _Wish:
    """One talk on its way to an endpoint."""

    talk: Talk
    temperature: float
    seed: int


class _Client(ImagesAPI):
    """The rules of systems behind an API, for free text. `taken` are the fields of _FIELDS that the server takes."""

    def __init__(self, spec: SystemSpec) -> None:
        super().__init__(spec)
        self.taken = set(_FIELDS)

    def ask(self, request: _Wish) -> Any:
        wish = {"seed": request.seed, "temperature": request.temperature, "max_tokens": request.talk.most}
        sent = set(self.taken)
        body = {"model": self.options["model"], "messages": request.talk.messages()}
        body |= {name: value for name, value in wish.items() if name in sent}
        body |= self.options["options"]
        address = f"{self._base()}/chat/completions"
        status, headers, data = self._send("POST", address, MOST_BYTES, ours=True, json=body)
        if status in (400, 422):
            words = data[:5000].decode("utf-8", errors="replace")
            named = {name for name in sent - self.options["options"].keys() if re.search(rf"\b{name}\b", words)}
            if named:
                self.taken = self.taken - named
                return self.ask(request)
        if status != 200:
            return self._refusal(status, headers, data)
        said = said_in(data)
        return said if isinstance(said, Refused) else said.replace(self.key() or "\0", "***")

    def error(self, key: str, words: str) -> SpecError:
        return SpecError(f"model {self.spec.name!r}: {key}: {words}")


class EndpointWriter(Writer):
    """One request a talk; `batch` requests are under way at once."""

    def __init__(self, model: ChatAPI) -> None:
        spec = model.spec
        self.held = model
        self._client = _Client(SystemSpec(spec.name, spec.kind, dict(spec.options), {}, spec.folder))
        self._failed = 0

    def write(self, talks: Sequence[Talk], temperature: float, seed: int) -> list[Written]:
        found: list[Written] = []
        wishes = [_Wish(talk, temperature, seed) for talk in talks]
        for start in range(0, len(wishes), self.held.spec.batch):
            for said in self._client.generate(wishes[start : start + self.held.spec.batch]):
                if isinstance(said, Refused):
                    reason = said.reason.replace("no image after", "no answer after")
                    self._failed += 1
                    if self._failed >= IN_A_ROW:
                        raise self.held.error("base_url", f"{IN_A_ROW} requests in a row failed ({reason})")
                    found.append(Written(reason=reason))
                    continue
                self._failed = 0
                text = plain_lines(said)
                found.append(Written(text, "" if text else "the model wrote nothing"))
        left_out = [name for name in _FIELDS if name not in self._client.taken]
        if left_out:
            note = f"The server does not take {', '.join(left_out)}: it was asked without."
            self.held.notes[:] = list(dict.fromkeys([*self.held.notes, note]))
        return found

    def close(self) -> None:
        self._client.close()
