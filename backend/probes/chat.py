"""Kind "openai-chat": any endpoint that answers POST .../chat/completions as OpenAI's does, pictures or not."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from backend.probes.base import (
    ANSWERED,
    FAILED,
    LONGEST_RAW,
    REFUSED,
    UNPARSED,
    Answer,
    Model,
    ModelSpec,
    Prompt,
)
from backend.probes.parsing import parse
from backend.records import clean_text
from backend.spec import Key, SpecError, SystemSpec
from backend.systems.base import Refused
from backend.systems.images_api import ImagesAPI
from backend.systems.web import WEB_KEYS, TryAgainError

MOST_BYTES = 2_000_000
"""Bytes of an answer that are read; an option has a few."""
LARGEST_SIDE = 1024
IN_A_ROW = 20
"""After so many failures in a row the endpoint is given up."""
_UNKNOWN = re.compile(r"response_format|json_schema|structured|guided", re.I)
"""What servers that cannot be told the form of an answer name when they refuse it."""


class _Client(ImagesAPI):
    """The rules of systems behind an API (key from the environment, patience, no redirects), for options."""

    KEYS: ClassVar = {
        "model": Key(str),
        "base_url": Key(str, "https://api.openai.com/v1"),
        "options": Key(dict, {}),
        "constrained": Key(bool, True),
        **WEB_KEYS,
    }

    def __init__(self, spec: SystemSpec) -> None:
        super().__init__(spec)
        self.constrained: bool = self.options["constrained"]

    def ask(self, request: Prompt) -> Any:
        constrained = self.constrained
        body = {"model": self.options["model"], "messages": [{"role": "user", "content": content(request)}]}
        if constrained:
            body["response_format"] = answer_format(request.options)
        body |= self.options["options"]
        address = f"{self._base()}/chat/completions"
        status, headers, data = self._send("POST", address, MOST_BYTES, ours=True, json=body)
        if constrained and status in (400, 422) and _UNKNOWN.search(data[:5000].decode("utf-8", errors="replace")):
            self.constrained = False
            return self.ask(request)
        if status != 200:
            return self._refusal(status, headers, data)
        return self._read(request, data)

    def _read(self, request: Prompt, data: bytes) -> Answer | Refused:
        said = said_in(data)
        if isinstance(said, Refused):
            return said
        text = clean_text(said).replace(self.key() or "\0", "***")
        also = request.also or ((),) * len(request.options)
        place = parse(text, [(option, *more) for option, more in zip(request.options, also, strict=True)])
        return Answer(UNPARSED if place is None else ANSWERED, place, text[:LONGEST_RAW])

    def error(self, key: str, words: str) -> SpecError:
        return SpecError(f"model {self.spec.name!r}: {key}: {words}")


def said_in(data: bytes) -> str | Refused:
    """The text of the first choice in a server's answer. Raises TryAgainError where it is no such answer."""
    try:
        choice = json.loads(data)["choices"][0]
        message, ended = choice["message"], choice.get("finish_reason")
        said = message.get("content") or message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise TryAgainError(f"the answer is not as it should be ({type(error).__name__})") from None
    if ended == "content_filter":
        return Refused("the server's filter kept the answer back", "filtered")
    return said if isinstance(said, str) else Refused("the answer holds no text")


class ChatAPI(Model):
    """One request a prompt; `batch` requests are under way at once. It gives no probabilities.

    Unless `constrained` is false the server is told that the answer must be one of the options; one that cannot be told
    so is asked without, and `notes` says it. What a model answers then is read by `parsing.parse`.
    """

    KEYS: ClassVar = _Client.KEYS
    PACKAGES: ClassVar = ("httpx",)

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__(spec)
        self._client = _Client(SystemSpec(spec.name, spec.kind, dict(spec.options), {}, spec.folder))
        self._failed = 0

    def check(self) -> str:
        return self._client.check()

    def answers(self, prompts: Sequence[Prompt]) -> list[Answer]:
        found: list[Answer] = []
        asked = self._client.constrained
        for start in range(0, len(prompts), self.spec.batch):
            for said in self._client.generate(prompts[start : start + self.spec.batch]):
                self._failed = self._failed + 1 if isinstance(said, Refused) else 0
                found.append(_refused(said) if isinstance(said, Refused) else said)
                if self._failed >= IN_A_ROW:
                    raise self.error("base_url", f"{IN_A_ROW} prompts in a row failed ({found[-1].reason})")
        if asked and not self._client.constrained:
            self.notes.append("The server cannot be told the options as a form of the answer: it answered freely.")
        return found

    def close(self) -> None:
        self._client.close()


def _refused(said: Refused) -> Answer:
    reason = said.reason.replace("no image after", "no answer after")
    return Answer(REFUSED if said.outcome == "filtered" else FAILED, None, reason=reason)


def answer_format(options: Sequence[str]) -> dict[str, Any]:
    """The form of an answer that is one of the options, as OpenAI's structured outputs take it (JSON schema).

    >>> answer_format(["a", "b"])["json_schema"]["schema"]["properties"]
    {'answer': {'type': 'string', 'enum': ['a', 'b']}}
    """
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": list(options)}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


def content(prompt: Prompt) -> str | list[dict[str, Any]]:
    """A prompt as the content of a message; its picture as a data URL: JPEG, at most LARGEST_SIDE pixels a side."""
    if prompt.picture is None:
        return prompt.text
    small = prompt.picture.convert("RGB")
    small.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=90)
    url = f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}"
    return [{"type": "text", "text": prompt.text}, {"type": "image_url", "image_url": {"url": url}}]
