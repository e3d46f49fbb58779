"""The view of "Ask a model" and its address: the question, and the audit's picture that it is about. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from backend.live_questions import IMAGE, NAMES, Known, Question, names_action, settled
from backend.records import UNSPECIFIED
from backend.store import Audit
from explorers._live_ask_links import ASK, SLUG
from explorers._shared import Params, address, first


@dataclass(frozen=True)
class AskView:
    """Everything the panel shows, and all that its address holds: `audit` and `of` name a picture of an open audit."""

    question: Question
    audit: str = ""
    of: str = ""

    @property
    def about_picture(self) -> bool:
        return self.question.direction == IMAGE


@lru_cache(maxsize=32)
def portraits(audit: Audit) -> np.ndarray:
    """The rows that a question is offered about: neutral pictures; else identities whose prompts say no ethnicity and
    no tone; else all."""
    found = audit.rows(subset="neutral")
    if not len(found):
        found = audit.rows(subset="identities", ethnicity=UNSPECIFIED, tone=UNSPECIFIED)
    return found if len(found) else np.arange(len(audit))


def view_of(stores: Mapping[str, Audit], known: Mapping[str, Known], values: Mapping[str, Any]) -> AskView:
    """The view nearest to what an address or the controls hold (texts by name). There must be a model."""
    question = settled(known, values)
    if question.direction != IMAGE or not stores:
        return AskView(question)
    name = values.get("audit") if values.get("audit") in stores else next(iter(stores))
    audit = stores[name]
    of = values.get("of") if isinstance(values.get("of"), str) else ""
    if audit.row_of(of or "") is None:
        rows = portraits(audit)
        of = str(audit.generations["id"].iat[int(rows[0])]) if len(rows) else ""
    return AskView(question, name, of or "")


def from_params(stores: Mapping[str, Audit], known: Mapping[str, Known], params: Params) -> AskView:
    """The view that an address asks for. What it names and nothing has falls back to the default, without error."""
    return view_of(stores, known, {name: first(params, name) for name in (*NAMES, "audit", "of")})


def to_address(known: Mapping[str, Known], view: AskView) -> str:
    """The query string that restores a view; the visitor's own picture is not in it."""
    question = view.question
    style = known[question.model].styles_of(question.direction).get(question.style)
    said = asdict(question) | ({} if style and names_action(style) else {"action": ""})
    return address(SLUG, do=ASK, **said, audit=view.audit, of=view.of)


def other_picture(stores: Mapping[str, Audit], view: AskView) -> AskView:
    """The view with the next picture that is offered; steps of a golden section, so that neighbours differ."""
    audit = stores.get(view.audit)
    rows = portraits(audit) if audit else ()
    if not len(rows):
        return view
    here = np.flatnonzero(rows == audit.row_of(view.of))
    at = int(here[0]) if len(here) else -1
    step = next(n for n in range(max(1, round(len(rows) * 0.382)), len(rows) + 1) if np.gcd(n, len(rows)) == 1)
    return replace(view, of=str(audit.generations["id"].iat[int(rows[(at + step) % len(rows)])]))
