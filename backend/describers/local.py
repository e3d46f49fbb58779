"""Describers that run here: a captioner, a question-answering model, and any image-to-text model of transformers."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from backend.describe import Answer, DescribeError, load_asker
from backend.describers.base import CAPTION, Describer, Said
from backend.spec import Key, find
from backend.systems.pipeline import folder_hash

LONGEST = 40
"""Tokens of a caption."""
_LOADING = (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError)


class Local(Describer):
    """A model in this process, from a folder (relative to the file, or to the repository) or by its Hub id."""

    KEYS: ClassVar = {"model": Key(str)}
    PACKAGES: ClassVar = ("torch", "transformers")

    def place(self) -> str:
        """The folder, or the Hub id where there is no such folder."""
        model = self.spec.options["model"]
        folder = find(model, self.spec.folder)
        if folder.is_dir():
            return str(folder)
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", model):
            raise self.error("model", f"{model[:200]!r} is neither a folder here nor a Hub id (OWNER/NAME)")
        return model

    def check(self) -> str:
        place = self.place()
        try:
            self.load(place)
        except _LOADING as error:
            words = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:200]
            raise DescribeError(
                f"describer {self.spec.name!r}: model: {place[:200]} cannot be loaded as a {self.spec.kind} ({words}); "
                "check its name, the network and HF_HUB_OFFLINE, or give the folder of a downloaded model"
            ) from error
        return folder_hash(Path(place)) if Path(place).is_dir() else self.commit()

    def commit(self) -> str:
        """The Hub's commit of the loaded model, or ""."""
        return str(getattr(getattr(self.model, "config", None), "_commit_hash", None) or "")

    @abstractmethod
    def load(self, place: str) -> None:
        """Load the model as `self.model`, and what it needs."""


class Captioner(Local):
    """A VisionEncoderDecoderModel (ViT-GPT2, the starter's captioner). A caption's probability is the product of its
    tokens' probabilities under greedy search, its end included."""

    QUESTIONS: ClassVar = (CAPTION,)

    def __init__(self, spec) -> None:
        super().__init__(spec)
        if spec.questions:
            raise self.error("questions", "a captioner is asked none; leave them out, or take kind vqa")

    def load(self, place: str) -> None:
        from transformers import AutoImageProcessor, AutoTokenizer, VisionEncoderDecoderModel

        self.model = VisionEncoderDecoderModel.from_pretrained(place).eval()
        self._images = AutoImageProcessor.from_pretrained(place)
        self._tokens = AutoTokenizer.from_pretrained(place)

    def describe(self, pictures: Sequence[Any]) -> list[list[Said]]:
        import torch

        pixels = self._images(images=[p.convert("RGB") for p in pictures], return_tensors="pt").pixel_values
        config = self.model.generation_config
        config.max_length = None
        pad = config.pad_token_id if config.pad_token_id is not None else self._tokens.eos_token_id
        with torch.inference_mode():
            made = self.model.generate(
                pixels,
                attention_mask=None,
                max_new_tokens=LONGEST,
                do_sample=False,
                num_beams=1,
                pad_token_id=pad,
                output_logits=True,
                return_dict_in_generate=True,
            )
        said = made.sequences[:, -len(made.logits) :]
        chances = torch.stack(made.logits, dim=1).float().log_softmax(-1).gather(2, said[..., None])[..., 0]
        ends = config.eos_token_id if config.eos_token_id is not None else pad
        over = torch.isin(said, torch.tensor(ends)).cumsum(1)
        counted = (over == 0) | ((over == 1) & torch.isin(said, torch.tensor(ends)))
        totals = (chances * counted).sum(1).exp().tolist()
        texts = self._tokens.batch_decode(said, skip_special_tokens=True)
        return [[Answer(text.strip(), total)] for text, total in zip(texts, totals, strict=True)]


class Vqa(Local):
    """A BLIP model for questions; where a question has choices, the likeliest of them."""

    def load(self, place: str) -> None:
        self.asker = load_asker(place)
        self.model = self.asker._model

    def describe(self, pictures: Sequence[Any]) -> list[list[Said]]:
        return self.asker.ask_many(pictures, {question.ask: question.choices for question in self.questions})


class Pipeline(Local):
    """Any model that the `image-text-to-text` pipeline of transformers runs. It gives no probability.

    A question with choices lists them in the question; other answers count as outside them."""

    KEYS: ClassVar = {
        "model": Key(str),
        "prompt": Key(str, ""),
    }
    QUESTIONS: ClassVar = (CAPTION,)

    def load(self, place: str) -> None:
        from transformers import pipeline

        self._pipe = pipeline("image-text-to-text", model=place)
        self.model = self._pipe.model

    def describe(self, pictures: Sequence[Any]) -> list[list[Said]]:
        pictures = [picture.convert("RGB") for picture in pictures]
        columns = [self._ask(pictures, question) for question in self.questions]
        return [list(row) for row in zip(*columns, strict=True)]

    def _ask(self, pictures: list[Any], question) -> list[Said]:
        words = asked(question) or self.spec.options["prompt"]
        options = {"max_new_tokens": LONGEST, "return_full_text": False}
        made = self._pipe(images=pictures, text=[words] * len(pictures), **options)
        entries = [entry[0] if isinstance(entry, list) else entry for entry in made]
        return [Answer(str(entry["generated_text"]).strip(), float("nan")) for entry in entries]


def asked(question) -> str:
    """A question as a model that writes freely is asked it: with its choices, where it has some.

    >>> from backend.describers.base import Question
    >>> asked(Question("gender", "Who is this?", ("woman", "man")))
    'Who is this? Answer with one of: woman; man.'
    """
    if not question.choices:
        return question.ask
    return f"{question.ask} Answer with one of: {'; '.join(question.choices)}."
