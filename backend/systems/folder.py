"""Kind "folder": images that exist already, in any layout that `import` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from backend.importers import open_source
from backend.records import AXES, UNSPECIFIED, Item, SourceError
from backend.spec import Key, find
from backend.systems.base import Answer, Refused, Request, System, checked

_WORDS = ("subset", "profession", "adjective", "action", *AXES)


class Folder(System):
    """The n-th image of a prompt is the n-th one in the folder's order that has its text or, where the folder records
    no prompt, its words."""

    KEYS: ClassVar = {
        "path": Key(str, settings=False),
        **{name: Key((int, float), 0, settings=False) for name in ("width", "height", "steps", "guidance")},
    }

    MOST_FAILURES = 0

    def __init__(self, spec) -> None:
        super().__init__(spec)
        self._items: dict[tuple[str, ...], list[Item]] | None = None

    @property
    def seeded(self) -> bool:
        return False

    def check(self) -> str:
        """Read the folder's names and tables. Images of other systems in it are passed over."""
        path = find(self.options["path"], self.spec.folder)
        if not path.exists():
            raise self.error(
                "path", f"{self.options['path']} does not exist: give a folder of images or a .parquet file"
            )
        try:
            source = open_source(str(path), self.spec.name)
            items = [item for item in source.items if isinstance(item, Item)]
        except SourceError as error:
            raise self.error("path", str(error)) from error
        self._items = {}
        for item in items:
            if item.values["system"] == self.spec.name:
                self._items.setdefault(_key(item.values), []).append(item)
        if not self._items:
            raise self.error("path", f"{path} holds no image of a system of this name; rename one of them")
        return ""

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        return [self._find(request) for request in requests]

    def _find(self, request: Request) -> Answer:
        if self._items is None:
            self.check()
        prompt = request.prompt
        found = self._items.get(("", prompt.text)) or self._items.get(_words(vars(prompt)), [])
        if len(found) < request.number:
            return Refused(f"the folder has {len(found)} images for this prompt")
        try:
            return checked(found[request.number - 1].load())
        except OSError as error:
            return Refused(f"the file cannot be read ({error.strerror or error})")


def _words(values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(str(values.get(word) or (UNSPECIFIED if word in AXES else "")).casefold() for word in _WORDS)


def _key(values: Mapping[str, str]) -> tuple[str, ...]:
    return ("", values["prompt"]) if values.get("prompt") else _words(values)
