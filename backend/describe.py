"""Pictures -> answers of a question-answering model, each with its probability."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BATCH = 32
LONGEST_ANSWER = 10
"""Tokens of an answer that is not chosen from a list."""


class DescribeError(Exception):
    """A describing model that cannot be used. The message names it and the remedy."""


@dataclass(frozen=True)
class Answer:
    """What a model answered, and with what probability (0 to 1).

    To an open question: the product of the probabilities of the answer's tokens, its end included. With choices: the
    likelihood of this choice among all choices.
    """

    text: str
    probability: float


class Asker:
    """A BLIP model that answers questions about pictures; made by `load_asker`."""

    def __init__(self, model: Any, processor: Any) -> None:
        self._model, self._processor = model, processor

    def ask(self, pictures: Sequence[Any], question: str, choices: Sequence[str] = ()) -> list[Answer]:
        """One answer a picture (a PIL image). With `choices`, the one that the model finds likeliest."""
        return [row[0] for row in self.ask_many(pictures, {question: choices})]

    def ask_many(self, pictures: Sequence[Any], questions: dict[str, Sequence[str]]) -> list[list[Answer]]:
        """A row of answers a picture, one for each question; `questions` maps each to its choices, or to ()."""
        import torch

        rows: list[list[Answer]] = []
        for start in range(0, len(pictures), BATCH):
            some = [picture.convert("RGB") for picture in pictures[start : start + BATCH]]
            pixels = self._processor.image_processor(images=some, return_tensors="pt").pixel_values
            with torch.inference_mode():
                seen = self._model.vision_model(pixel_values=pixels).last_hidden_state
                columns = [self._one(seen, question, list(choices)) for question, choices in questions.items()]
            rows += [list(row) for row in zip(*columns, strict=True)]
        return rows

    def _one(self, seen: Any, question: str, choices: list[str]) -> list[Answer]:
        import torch

        ids = self._processor.tokenizer([question], return_tensors="pt", truncation=True).input_ids
        read = self._model.text_encoder(
            input_ids=ids.expand(len(seen), -1),
            encoder_hidden_states=seen,
            encoder_attention_mask=torch.ones(seen.shape[:2], dtype=torch.long),
            return_dict=True,
        ).last_hidden_state
        return self._choose(read, choices) if choices else self._say(read)

    def _say(self, read: Any) -> list[Answer]:
        import torch

        tokenizer, config = self._processor.tokenizer, self._model.config.text_config
        made = self._model.text_decoder.generate(
            input_ids=torch.full((len(read), 1), config.bos_token_id),
            encoder_hidden_states=read,
            encoder_attention_mask=torch.ones(read.shape[:2], dtype=torch.long),
            eos_token_id=config.sep_token_id,
            pad_token_id=config.pad_token_id,
            max_new_tokens=LONGEST_ANSWER,
            do_sample=False,
            num_beams=1,
            output_logits=True,
            return_dict_in_generate=True,
        )
        said = made.sequences[:, 1:]
        logits = torch.stack(made.logits, dim=1).float().log_softmax(-1)
        each = logits.gather(2, said[..., None])[..., 0]
        ended = (said == config.sep_token_id).cumsum(1)
        counted = (ended == 0) | ((ended == 1) & (said == config.sep_token_id))
        chances = (each * counted).sum(1).exp().tolist()
        texts = tokenizer.batch_decode(said, skip_special_tokens=True)
        return [Answer(text.strip(), chance) for text, chance in zip(texts, chances, strict=True)]

    def _choose(self, read: Any, choices: list[str]) -> list[Answer]:
        import torch

        totals = torch.stack([self._likelihood(read, choice) for choice in choices], dim=1)
        shares = totals.softmax(1)
        best = shares.argmax(1).tolist()
        return [Answer(choices[place], float(row[place])) for place, row in zip(best, shares, strict=True)]

    def _likelihood(self, read: Any, choice: str) -> Any:
        """The log-likelihood of one answer, its end included, for each picture."""
        import torch

        config = self._model.config.text_config
        ids = self._processor.tokenizer(choice, add_special_tokens=False).input_ids
        wanted = torch.tensor([*ids, config.sep_token_id]).expand(len(read), -1)
        given = torch.tensor([config.bos_token_id, *ids]).expand(len(read), -1)
        logits = self._model.text_decoder(
            input_ids=given,
            encoder_hidden_states=read,
            encoder_attention_mask=torch.ones(read.shape[:2], dtype=torch.long),
        ).logits
        return logits.float().log_softmax(-1).gather(2, wanted[..., None])[..., 0].sum(1)


def load_asker(model: str | Path) -> Asker:
    """A `BlipForQuestionAnswering` with its processor, from a folder or by its Hub id. Raises DescribeError."""
    name = str(model)
    folder = Path(model).expanduser()
    if not folder.is_dir() and not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise DescribeError(f"{name[:200]!r} is neither a folder here nor a Hub id (OWNER/NAME)")
    try:
        loaded, processor, lacking = _load(name)
    except ImportError as error:
        raise DescribeError(f"questions need transformers: say pip install -r requirements.txt ({error})") from error
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
        raise _unusable(name, folder.is_dir(), f"{type(error).__name__}: {error}") from error
    if lacking:
        raise _unusable(name, folder.is_dir(), f"it lacks {lacking} of the model's tensors")
    return Asker(loaded.eval(), processor)


def _load(name: str) -> tuple[Any, Any, int]:
    """The model, its processor, and how many tensors the checkpoint lacks: transformers fills those with noise."""
    from safetensors import SafetensorError
    from transformers import BlipForQuestionAnswering, BlipProcessor

    try:
        loaded, found = BlipForQuestionAnswering.from_pretrained(name, output_loading_info=True)
    except SafetensorError as error:
        raise OSError(str(error)) from error
    return loaded, BlipProcessor.from_pretrained(name), len(found["missing_keys"])


def _unusable(name: str, here: bool, why: str) -> DescribeError:
    remedy = "it is no BLIP model for questions, or it is damaged: save it again with save_pretrained"
    if not here:
        remedy = "check its name and the network, unset HF_HUB_OFFLINE, or give the folder of a downloaded model"
    words = re.sub(r"\s+", " ", why)[:200]
    return DescribeError(f"{name[:200]} cannot be loaded; {remedy} ({words})")
