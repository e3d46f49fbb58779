"""Writing what is needed to find images that are like another. Whoever writes holds the audit's lock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backend.store.reader import Audit
from backend.store.stages import StageWriter
from backend.store.vector_writers import EmbeddingWriter


class ColourWriter(EmbeddingWriter):
    """Writes the colours of all images shard by shard; `parameters` must have their "width"."""

    DTYPE = "float32"

    def __init__(self, audit: Audit, parameters: Mapping[str, Any]) -> None:
        StageWriter.__init__(self, audit, "neighbours-colour", parameters)
