"""What leads to "Ask a model": from the detail of a picture, and from stored answers."""

from __future__ import annotations

from backend.store import Audit
from explorers._neutrality_view import Asked
from explorers._shared import address, escape

SLUG, ASK = "live", "ask"


def ask_html(audit: Audit, row: int) -> str:
    """A link from one image to asking a model about it."""
    to = address(SLUG, do=ASK, direction="image-to-text", audit=audit.name, of=str(audit.generations["id"].iat[row]))
    return f'<a class="lk-button lk-view" href="?{escape(to)}">Ask a model about this picture</a>'


def ask_address(asked: Asked, profession: str) -> str:
    """The address of the question that stored answers are about, for one profession."""
    return address(
        SLUG,
        do=ASK,
        model=asked.model,
        direction=asked.direction,
        style=asked.style,
        attribute=asked.attribute,
        culture=asked.culture,
        profession=profession,
    )
