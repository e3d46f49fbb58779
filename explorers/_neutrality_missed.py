"""What an address of Neutrality names that there is not."""

from __future__ import annotations

from collections.abc import Mapping

from backend.metrics.neutrality import NEUTRAL, UNPARSED
from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_view as state
from explorers._missed import missed_sentence, missed_words
from explorers._neutrality_measures import MEASURES
from explorers._neutrality_view import COMPARE, NeutralityView
from explorers._shared import Params


def missed(stores: Mapping[str, Audit], params: Params) -> str:
    """What an address names that there is not, and what is shown for it, in plain text; "" where there is all.

    A row or column of another choice of rows, styles or models is not missed: it opens once that is chosen.
    """
    view = state.from_params(stores, params)
    audit = stores[view.audit]
    there = {
        "audit": ("audit", stores),
        "direction": ("direction", state.DIRECTIONS),
        "style": ("style", [*state.styles_of(audit, view.direction), COMPARE]),
        "attribute": ("attribute", state.attributes_of(audit, view.direction)),
        "culture": ("names from", [*_cultures(audit, view), COMPARE]),
        "m": ("model", state.models_of(audit, view)),
        "measure": ("measure", MEASURES),
        "rows": ("kind of rows", state.ROWS),
        "order": ("order", state.ORDERS),
        "row": ("row", _rows(audit, view)),
        "column": ("column", [one.column for one in state.asked_of(audit)]),
        "answer": ("answer", (*state.classes_of(audit, view), NEUTRAL, UNPARSED)),
    }
    how = "several styles" if view.style == COMPARE else view.style
    shown = f"{view.attribute}, {state.DIRECTIONS[view.direction].lower()}, {how}, of the audit {view.audit}"
    return missed_sentence(missed_words(params, there, ("m",)), shown)


def _cultures(audit: Audit, view: NeutralityView) -> list[str]:
    return state.cultures_of(audit, view.direction, view.style, view.attribute)


def _rows(audit: Audit, view: NeutralityView) -> set[str]:
    """The keys of every row that a view could have."""
    columns = tuple(state.series_of(audit, view))
    professions = data.professions_of(audit, columns) if columns else ()
    return {data.ALL, *(row.key for kind in state.ROWS for row in data.grouped(kind, professions))}
