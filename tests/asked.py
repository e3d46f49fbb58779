"""What tests of models that run here share: making one of a folder, and a second opinion on its scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.probes.ask import ModelSpec, make_model

OPTIONS = ("male", "no", "no preference", "18-44 years")


def one_thread():
    """For a fixture: these models are too small to share out, and a busy machine makes threads wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def model_of(kind, folder, batch=4, **options):
    keys = {"model": str(folder), **({} if kind == "blip-vqa" else {"device": "auto", "dtype": "auto"}), **options}
    return make_model(ModelSpec("tiny", kind, "Tiny", batch, keys, Path(".")))


def alone(model, ids, tokens, **more):
    """The log-likelihood of tokens after ids: one pass, nothing shared, in numpy."""
    import torch

    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*ids, *tokens]]), **more).logits[0].double().numpy()
    logits = logits[-len(tokens) - 1 : -1]
    shares = (
        logits
        - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
        - logits.max(1, keepdims=True)
    )
    return float(shares[np.arange(len(tokens)), tokens].sum())
