"""Kind "clip": a model with two towers, which sets a picture against texts and reads no question (zero-shot)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from backend.probes.base import REFUSED, Answer, ProbeError, Prompt, ranked
from backend.probes.text import Local


class ClipModel(Local):
    """A CLIP-type model of AutoModel (CLIP, SigLIP, ...): the option most like the picture is its answer.

    `probabilities` are the softmax over the options of the model's own logits (cosine times its scale), as in zero-shot
    classification (Radford and others 2021, section 3.1.2). The prompt's text is not read: options have to be whole
    captions.
    """

    READS: ClassVar = False
    BLIND: ClassVar = False

    def load(self, place: str) -> list[str]:
        from transformers import AutoModel, AutoProcessor

        self.processor = AutoProcessor.from_pretrained(place, trust_remote_code=False)
        lacking = self.loaded(AutoModel, place)
        if not hasattr(self.model, "get_text_features") or not hasattr(self.model, "logit_scale"):
            raise ValueError("it does not set pictures against texts")
        self._texts: dict[str, Any] = {}
        return lacking

    def answers(self, prompts: Sequence[Prompt]) -> list[Answer]:
        import torch

        for number, prompt in enumerate(prompts, start=1):
            if prompt.picture is None:
                raise ProbeError(
                    f"prompt {number}: it has no picture, and a CLIP model sets pictures against texts only"
                )
        with torch.inference_mode():
            seen = self._seen(prompts)
            return [self._one(prompt, seen[id(prompt.picture)]) for prompt in prompts]

    def _seen(self, prompts: Sequence[Prompt]) -> dict[int, Any]:
        """The vector of every picture, each read once, by its id."""
        pictures = list({id(prompt.picture): prompt.picture for prompt in prompts}.values())
        found: dict[int, Any] = {}
        for start in range(0, len(pictures), self.spec.batch):
            some = pictures[start : start + self.spec.batch]
            shown = self.processor.image_processor(images=[one.convert("RGB") for one in some], return_tensors="pt")
            rows = _unit(self.model.get_image_features(pixel_values=shown.pixel_values.to(self.model.device)))
            found.update(zip(map(id, some), rows, strict=True))
        return found

    def _one(self, prompt: Prompt, seen: Any) -> Answer:
        import torch

        limit = self.model.config.text_config.max_position_embeddings
        for option in prompt.options:
            if option not in self._texts:
                ids = self.processor.tokenizer([option], return_tensors="pt", **self._padding(limit))
                if ids.input_ids.shape[1] > limit:
                    reason = f"a caption has {ids.input_ids.shape[1]:,} tokens; this model reads {limit:,}: shorten it"
                    return Answer(REFUSED, None, reason=reason)
                held = {key: value.to(self.model.device) for key, value in ids.items()}
                self._texts[option] = _unit(self.model.get_text_features(**held))[0]
        texts = torch.stack([self._texts[option] for option in prompt.options])
        shares = ((texts @ seen).float() * self.model.logit_scale.float().exp()).log_softmax(-1)
        return ranked(prompt, shares.tolist(), [1] * len(prompt.options))

    def _padding(self, limit: int) -> dict[str, Any]:
        """SigLIP was trained on texts of one length; to CLIP, padding is nothing."""
        if getattr(self.model, "logit_bias", None) is None:
            return {}
        return {"padding": "max_length", "max_length": limit}


def _unit(found: Any) -> Any:
    """Vectors of length 1; some versions of transformers give the tower's whole output instead of its vector."""
    rows = getattr(found, "pooler_output", found)
    return rows / rows.norm(dim=-1, keepdim=True)
