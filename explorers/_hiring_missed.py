"""What an address of Hiring names that there is not."""

from __future__ import annotations

from collections.abc import Mapping

from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_published as published
from explorers import _hiring_view as state
from explorers._missed import missed_sentence, missed_words
from explorers._shared import Params, first


def missed(stores: Mapping[str, Audit], params: Params) -> str:
    """What an address names that there is not, and what is shown for it, in plain text; "" where there is all.

    Occupations and pairs count as there where any model of the audit was asked about them, whatever is chosen now.
    """
    view = state.from_params(stores, params)
    audit = stores[view.audit]
    sources = audit.hiring.sources
    frames = [data.frame_of(audit, model) for model in sources]
    named = (first(params, "first")[: state.LONGEST], first(params, "second")[: state.LONGEST])
    asked = any(((frame["first"] == named[0]) & (frame["second"] == named[1])).any() for frame in frames)
    held = {"pair": [", ".join(named)] if any(named) and not asked else []}
    there = {
        "audit": ("audit", stores),
        "m": ("model", sources),
        "pm": ("published model", published.MODELS),
        "kind": ("kind of pairs", state.KINDS),
        "measure": ("measure", state.MEASURES),
        "order": ("order", state.ORDERS),
        "row": ("occupation", {name for frame in frames for name in frame["occupation"].unique()}),
        "column": ("column of the model", sources),
        "pair": ("pair", ()),
        "only": ("kind of dialogues", state.ONLY),
    }
    kind = state.KINDS[view.kind].lower()
    shown = f"{state.measure_of(view).replace('_', ' ')}, {kind}, of the audit {view.audit}"
    wanted = {name: params.get(name, []) for name in there} | held
    return missed_sentence(missed_words(wanted, there, ("m", "pm")), shown)
