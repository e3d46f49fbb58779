"""What leads to "Ask a model": the link that the detail of every picture has."""

from __future__ import annotations

from backend.store import Audit
from explorers._shared import address, escape

SLUG, ASK = "live", "ask"


def ask_html(audit: Audit, row: int) -> str:
    """A link from one image to asking a model about it."""
    to = address(SLUG, do=ASK, direction="image-to-text", audit=audit.name, of=str(audit.generations["id"].iat[row]))
    return f'<a class="lk-button lk-view" href="?{escape(to)}">Ask a model about this picture</a>'
