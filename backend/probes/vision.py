"""Kinds "vlm" and "blip-vqa": models that run here, see a picture, and score the options of a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from backend.describe import DescribeError, load_asker
from backend.probes.base import FAILED, REFUSED, Answer, ProbeError, Prompt, ranked
from backend.probes.scoring import Scorer, common
from backend.probes.text import TEMPLATE, TRIAL, Local, marked, marks_of, tolerance, too_long
from backend.spec import Key


class VisionModel(Local):
    """A model of AutoModelForImageTextToText with a processor that has a chat template (LLaVA, Qwen-VL, ...).

    The message holds the picture, then the text; options follow as for kind lm. What prompts about one picture begin
    with, the picture included, is read once.
    """

    def load(self, place: str) -> list[str]:
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self.processor = AutoProcessor.from_pretrained(place, trust_remote_code=False)
        self.tokenizer = getattr(self.processor, "tokenizer", None)
        if self.tokenizer is None or not getattr(self.processor, "chat_template", None):
            raise ValueError("its processor has no tokenizer or no chat template")
        lacking = self.loaded(AutoModelForImageTextToText, place)
        config = self.model.config
        self._image = getattr(config, "image_token_id", None) or getattr(config, "image_token_index", None)
        if self._image is None:
            raise ValueError("its configuration names no token for a picture")
        self._marks = [*marks_of(self.tokenizer), str(self.tokenizer.convert_ids_to_tokens(self._image))]
        self.scorer = Scorer(self.model)
        if not lacking:
            self._try()
        return lacking

    def _try(self) -> None:
        """Reading the picture once must change nothing. Raises ValueError."""
        import torch
        from PIL import Image

        prompt = Prompt(*TRIAL[0], picture=Image.linear_gradient("L"))
        inputs, options = self.encoded(prompt)
        try:
            answer = self._about_one([prompt])[0]
        except (AttributeError, NotImplementedError) as error:
            raise ValueError(f"its memory of a prompt cannot be shared between options: {error}") from error
        if not answer.loglikelihoods:
            raise ValueError(answer.reason)
        for option, total in zip(options, answer.loglikelihoods, strict=True):
            whole = extended(inputs, option)
            with torch.inference_mode():
                logits = self.model(**whole).logits[0, -len(option) - 1 : -1].float().log_softmax(-1)
            alone = logits.gather(1, whole["input_ids"][0, -len(option) :, None]).sum().item()
            if abs(alone - total) > tolerance(self.model) * len(option):
                raise ValueError("its memory of a prompt cannot be shared between options")

    def answers(self, prompts: Sequence[Prompt]) -> list[Answer]:
        found: dict[int, Answer] = {}
        groups: dict[int, list[int]] = {}
        for place, prompt in enumerate(prompts):
            refusal = marked(prompt, self._marks)
            if refusal is None:
                groups.setdefault(id(prompt.picture), []).append(place)
            else:
                found[place] = refusal
        for places in groups.values():
            answers = self._about_one([prompts[place] for place in places])
            found.update(zip(places, answers, strict=True))
        return [found[place] for place in range(len(prompts))]

    def _about_one(self, prompts: list[Prompt]) -> list[Answer]:
        """Answers to prompts about one picture, or about none."""
        inputs, options = zip(*(self.encoded(prompt) for prompt in prompts), strict=True)
        ids = [one["input_ids"][0].tolist() for one in inputs]
        longest = max(len(row) + max(map(len, some)) for row, some in zip(ids, options, strict=True))
        most = getattr(self.model.config.get_text_config(), "max_position_embeddings", None) or longest
        if longest > most and len(prompts) > 1:
            return [self._about_one([prompt])[0] for prompt in prompts]
        if longest > most:
            return [too_long(longest, most)]
        head = min(common(ids), min(map(len, ids)) - 1)
        if any(self._image in row[head:] for row in ids):  # the picture does not come first
            if len(prompts) > 1:
                return [self._about_one([prompt])[0] for prompt in prompts]
            return [Answer(FAILED, None, reason="the model's template puts nothing behind the picture")]
        self._begin(inputs[0], head)
        sums = self.scorer.sums(ids, options, batch=1)
        return [
            ranked(prompt, some, [len(option) for option in texts])
            for prompt, some, texts in zip(prompts, sums, options, strict=True)
        ]

    def _begin(self, inputs: dict[str, Any], head: int) -> None:
        """Read the picture and the first `head` tokens, for the scorer to go on from."""
        import torch

        inner = getattr(self.model, "model", None)
        if hasattr(inner, "rope_deltas"):
            inner.rope_deltas = None  # Qwen-VL's places of the last picture would be taken for this one's
        if not head:
            self.scorer.begin((), None)
            return
        with torch.inference_mode():
            made = self.model(**trimmed(inputs, head), use_cache=True)
        self.scorer.begin(tuple(inputs["input_ids"][0, :head].tolist()), made.cache)

    def encoded(self, prompt: Prompt) -> tuple[dict[str, Any], list[list[int]]]:
        """The model's inputs for a prompt with its picture, and the tokens of each option after it."""
        parts = [] if prompt.picture is None else [{"type": "image"}]
        said = [{"role": "user", "content": [*parts, {"type": "text", "text": prompt.text}]}]
        text = self.processor.apply_chat_template(said, tokenize=False, add_generation_prompt=True, **TEMPLATE)
        pictures = {} if prompt.picture is None else {"images": [prompt.picture.convert("RGB")]}
        inputs = dict(self.processor(text=[text], return_tensors="pt", **pictures))
        between = "" if text[-1:].isspace() else " "
        whole = [text, *(text + between + option for option in prompt.options)]
        ids = self.tokenizer(whole, verbose=False).input_ids
        shared = common(ids)
        length = inputs["input_ids"].shape[1] - (len(ids[0]) - shared)
        inputs = {key: value.to(self.model.device) for key, value in trimmed(inputs, length).items()}
        return inputs, [row[shared:] for row in ids[1:]]


OF_TOKENS = {"input_ids": 0, "attention_mask": 1, "mm_token_type_ids": 0, "token_type_ids": 0}
"""The inputs that have a value for every token, and what it is for a token of text."""


def trimmed(inputs: dict[str, Any], length: int) -> dict[str, Any]:
    """A model's inputs with only the first tokens; what belongs to the picture stays whole."""
    return {key: value[:, :length] if key in OF_TOKENS else value for key, value in inputs.items()}


def extended(inputs: dict[str, Any], tokens: Sequence[int]) -> dict[str, Any]:
    """A model's inputs with tokens of text after them."""
    import torch

    ids = torch.tensor([list(tokens)], device=inputs["input_ids"].device)
    more = {key: ids if key == "input_ids" else torch.full_like(ids, text) for key, text in OF_TOKENS.items()}
    return {key: torch.cat([value, more[key]], dim=1) if key in more else value for key, value in inputs.items()}


UNKNOWN = "The model does not know all words of the prompts; to it, those that it does not know are alike."


class BlipModel(Local):
    """A BLIP model for questions, as backend.describe has it: the prompt is its question.

    An option's likelihood is that of its own tokens, its end not counted, as for every model here (`describe` ranks
    choices by the sum, the end included).
    """

    KEYS: ClassVar = {"model": Key(str)}
    BLIND: ClassVar = False

    def load(self, place: str) -> list[str]:
        try:
            self.asker = load_asker(place)
        except DescribeError as error:
            raise ValueError(str(error)) from error
        self.model, self._processor = self.asker._model, self.asker._processor
        return []

    def answers(self, prompts: Sequence[Prompt]) -> list[Answer]:
        import torch

        for number, prompt in enumerate(prompts, start=1):
            if prompt.picture is None:
                raise ProbeError(f"prompt {number}: it has no picture, and a BLIP model answers about pictures only")
        seen: dict[int, Any] = {}
        with torch.inference_mode():
            return [self._one(prompt, seen) for prompt in prompts]

    def _one(self, prompt: Prompt, seen: dict[int, Any]) -> Answer:
        import torch

        tokenizer, config = self._processor.tokenizer, self.model.config.text_config
        refusal = marked(prompt, marks_of(tokenizer))
        if refusal is not None:
            return refusal
        question = tokenizer([prompt.text], return_tensors="pt", verbose=False).input_ids
        if question.shape[1] > config.max_position_embeddings:
            return too_long(question.shape[1], config.max_position_embeddings)
        if tokenizer.unk_token_id in question and UNKNOWN not in self.notes:
            self.notes.append(UNKNOWN)
        key = id(prompt.picture)
        if key not in seen:
            pixels = self._processor.image_processor(images=[prompt.picture.convert("RGB")], return_tensors="pt")
            seen[key] = self.model.vision_model(pixel_values=pixels.pixel_values).last_hidden_state
        read = self.model.text_encoder(
            input_ids=question,
            encoder_hidden_states=seen[key],
            encoder_attention_mask=torch.ones(seen[key].shape[:2], dtype=torch.long),
            return_dict=True,
        ).last_hidden_state
        options = [tokenizer(option, add_special_tokens=False).input_ids for option in prompt.options]
        if len({tuple(row) for row in options}) < len(options):
            return Answer(REFUSED, None, reason="the model does not know the options' words: two are alike to it")
        longest = max(map(len, options))
        wanted = torch.tensor([row + [config.pad_token_id] * (longest - len(row)) for row in options])
        given = torch.cat([torch.full((len(options), 1), config.bos_token_id), wanted[:, :-1]], dim=1)
        logits = self.model.text_decoder(
            input_ids=given,
            encoder_hidden_states=read.expand(len(options), -1, -1),
            encoder_attention_mask=torch.ones((len(options), read.shape[1]), dtype=torch.long),
        ).logits
        each = logits.float().log_softmax(-1).gather(2, wanted[..., None])[..., 0]
        lengths = [len(row) for row in options]
        return ranked(prompt, [each[place, :count].sum().item() for place, count in enumerate(lengths)], lengths)
