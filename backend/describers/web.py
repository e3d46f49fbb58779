"""Kind "openai-vision": any endpoint that answers POST .../chat/completions about an image as OpenAI's does."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from backend.describe import Answer
from backend.describers.base import CAPTION, Describer, DescriberSpec, Question, Said, Unsaid
from backend.describers.local import asked
from backend.spec import Key, SpecError, SystemSpec
from backend.systems.base import Refused
from backend.systems.images_api import ImagesAPI
from backend.systems.web import WEB_KEYS, TryAgainError

MOST_BYTES = 2_000_000
"""Bytes of an answer that are read; a caption has a few hundred."""
LARGEST_SIDE = 1024
IN_A_ROW = 20
"""After so many failures in a row the endpoint is given up; what was finished is kept."""


@dataclass(frozen=True)
class _Wanted:
    url: str
    words: str


class _Client(ImagesAPI):
    """The rules of systems behind an API (key from the environment, patience, no redirects), for questions."""

    KEYS: ClassVar = {
        "model": Key(str),
        "base_url": Key(str, "https://api.openai.com/v1"),
        "options": Key(dict, {}),
        "prompt": Key(str, "Describe this image in one sentence."),
        **WEB_KEYS,
    }

    def ask(self, request: _Wanted) -> Any:
        parts = [{"type": "text", "text": request.words}, {"type": "image_url", "image_url": {"url": request.url}}]
        messages = [{"role": "user", "content": parts}]
        body = {"model": self.options["model"], "messages": messages, **self.options["options"]}
        address = f"{self._base()}/chat/completions"
        status, headers, data = self._send("POST", address, MOST_BYTES, ours=True, json=body)
        if status != 200:
            return self._refusal(status, headers, data)
        try:
            text = json.loads(data)["choices"][0]["message"]["content"]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise TryAgainError(f"the answer is not as it should be ({type(error).__name__})") from None
        if not isinstance(text, str):
            return Refused("the answer holds no text")
        return Answer(text, float("nan"))

    def error(self, key: str, words: str) -> SpecError:
        return SpecError(f"describer {self.spec.name!r}: {key}: {words}")


class VisionAPI(Describer):
    """One request a picture and question; `batch` requests are under way at once. It gives no probability."""

    KEYS: ClassVar = _Client.KEYS
    QUESTIONS: ClassVar = (CAPTION,)
    PACKAGES: ClassVar = ("httpx",)

    def __init__(self, spec: DescriberSpec) -> None:
        super().__init__(spec)
        self._client = _Client(SystemSpec(spec.name, spec.kind, dict(spec.options), {}, spec.folder))
        self._failed = 0

    def check(self) -> str:
        return self._client.check()

    def describe(self, pictures: Sequence[Any]) -> list[list[Said]]:
        urls = [_data_url(picture) for picture in pictures]
        columns = [self._column(urls, question) for question in self.questions]
        return [list(row) for row in zip(*columns, strict=True)]

    def _column(self, urls: list[str], question: Question) -> list[Said]:
        words = asked(question) or self.spec.options["prompt"]
        said: list[Said] = []
        for answer in self._client.generate([_Wanted(url, words) for url in urls]):
            self._failed = self._failed + 1 if isinstance(answer, Refused) else 0
            if self._failed >= IN_A_ROW:
                raise self.error("base_url", f"{IN_A_ROW} questions in a row failed ({answer.reason})")
            said.append(Unsaid(answer.reason) if isinstance(answer, Refused) else answer)
        return said

    def close(self) -> None:
        self._client.close()


def _data_url(picture: Any) -> str:
    """A picture as a data URL: JPEG, at most LARGEST_SIDE pixels a side."""
    small = picture.convert("RGB")
    small.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=90)
    return f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}"
