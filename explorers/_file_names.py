"""How downloads are called: a name that tells one view's file from another's, safe on any system and in a header."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 120


def file_stem(*parts: str) -> str:
    """A name of letters a to z, digits and dashes from parts, of which empty ones are left out; without an ending.

    >>> file_stem("neutrality", "", "text-to-text", "Größe & <b>", "delta_ag")
    'neutrality-text-to-text-grosse-b-delta-ag'
    """
    text = unicodedata.normalize("NFKD", " ".join(parts).casefold())
    plain = re.sub(r"[^a-z0-9]+", "-", "".join(c for c in text if not unicodedata.combining(c)))
    return plain[:LONGEST].strip("-")
