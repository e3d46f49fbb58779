"""What leads to the tab Live: a question about a picture, stored answers put again, and one about two applicants."""

from __future__ import annotations

from backend.store import Audit
from explorers._neutrality_view import Asked
from explorers._shared import address, escape

SLUG, ASK, HIRE = "live", "ask", "hire"


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


def hire_html(words: str, first: str = "", second: str = "", occupation: str = "") -> str:
    """A link to asking a model about two applicants now; what is "" is left to the tab Live."""
    to = address(SLUG, do=HIRE, first=first, second=second, occupation=occupation)
    return f'<p class="lk-hire-try"><a class="lk-button lk-view" href="?{escape(to)}">{escape(words)}</a></p>'
