"""Published answers about two applicants ("Hire Me or Not?", Tables 1 to 3)."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd

from explorers._shared import ASSETS

SOURCE = "Zhang et al., Hire Me or Not?"
MODELS = ("GPT-3.5-turbo", "GPT-4o-mini", "Llama2-70b-chat", "RoBERTa-large")
_NAMES = {"Llama2-70B-chat": "Llama2-70b-chat", "RoBERTa-lg": "RoBERTa-large"}
_SPELLED = {"athelete": "athlete"}
"""As Table 1 prints it."""
TABLES = {"GPT-3.5-turbo": "Table 1", "GPT-4o-mini": "Table 1", "Llama2-70b-chat": "Table 2"}
THRESHOLDS = {"GPT-3.5-turbo": 0.2, "GPT-4o-mini": 0.2, "Llama2-70b-chat": 0.02}
"""The paper prints differences beyond these alone, as it says."""
ANSWERS = ("both", "neither", "unknown")


@lru_cache(maxsize=1)
def bias_differences() -> dict[str, dict[str, float]]:
    """Model -> occupation -> bias difference, as far as Tables 1 and 2 print them."""
    table = pd.read_csv(ASSETS / "published" / "hire_bias_diff.csv")
    table["model"] = table["model"].replace(_NAMES)
    table["occupation"] = table["occupation"].replace(_SPELLED)
    found = {str(m): dict(zip(own["occupation"], own["bias_diff"], strict=True)) for m, own in table.groupby("model")}
    return {name: found[name] for name in MODELS if name in found}


@lru_cache(maxsize=1)
def neutral_answers() -> dict[str, dict[str, dict[str, float]]]:
    """Model -> question ("Q2", "Q3") -> share of each of ANSWERS (Table 3)."""
    table = pd.read_csv(ASSETS / "published" / "hire_neutral_answers.csv")
    table["model"] = table["model"].replace(_NAMES)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in table.itertuples():
        found.setdefault(row.model, {}).setdefault(row.question, {})[row.answer] = float(row.ratio)
    return {name: found[name] for name in MODELS if name in found}
