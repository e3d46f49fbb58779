"""Kind "openai-images": any endpoint that answers POST .../images/generations as OpenAI's does."""

from __future__ import annotations

import base64
import binascii
import json
import threading
import time
from typing import Any, ClassVar
from urllib.parse import urlsplit

from backend.pictures import MAX_BYTES
from backend.records import clean_text
from backend.spec import Key
from backend.systems.base import Answer, Refused, Request, checked
from backend.systems.web import LARGEST_ANSWER, WEB_KEYS, Deadline, TryAgainError, WebSystem, read_all

LARGEST_OPTION = 2**53
"""Beyond it JSON's numbers are not the same for everybody."""
_OURS = ("model", "prompt", "n", "size", "response_format", "seed")


def _fits(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= LARGEST_OPTION)


class ImagesAPI(WebSystem):
    """One request an image. `options` holds further fields of the request (quality, style, ...); `send_seed` sends the
    seed to servers that take one; `response_format = ""` leaves that field out."""

    KEYS: ClassVar = {
        "model": Key(str),
        "base_url": Key(str, "https://api.openai.com/v1"),
        "send_seed": Key(bool, False),
        "response_format": Key(str, "b64_json", ("b64_json", "url", ""), settings=False),
        "options": Key(dict, {}),
        **WEB_KEYS,
        "steps": Key(int, 1, settings=False),
        "guidance": Key((float, int), 0, settings=False),
    }

    def __init__(self, spec) -> None:
        super().__init__(spec)
        self._clients: dict[bool, Any] = {}
        self._lock = threading.Lock()

    @property
    def seeded(self) -> bool:
        return self.options["send_seed"]

    def check(self) -> str:
        """Try the address and the key by listing models. No answer holds the weights, so none are told apart."""
        try:
            address = urlsplit(self.options["base_url"])
        except ValueError as error:
            raise self.error("base_url", f"no address ({error})") from error
        if address.scheme not in ("http", "https") or not address.hostname:
            raise self.error("base_url", "give an address that begins with https:// or http://")
        if address.username or address.password or address.query or address.fragment:
            raise self.error("base_url", "give it without a user, password, ? or #; keys come from key_env")
        for name, value in self.options["options"].items():
            if name in _OURS or not _fits(value):
                raise self.error(f"options.{clean_text(name)}", f"give a text or a number, and none of {_OURS}")
        try:
            status, headers, data = self._send("GET", f"{self._base()}/models", LARGEST_ANSWER, ours=True)
        except TryAgainError as error:
            raise self.error("base_url", f"{address.hostname} cannot be reached ({error}); check the network") from None
        if status in (401, 403):
            self._refusal(status, headers, data)
        if 300 <= status < 400:
            raise self.error("base_url", "the server sends us elsewhere; give the address that it sends to")
        return ""

    def _base(self) -> str:
        return self.options["base_url"].rstrip("/")

    def _http(self, ours: bool) -> Any:
        """The client for the API (`ours`), which sends the key, or that for any other address, which does not."""
        import httpx

        with self._lock:
            if ours not in self._clients:
                key = self.key() if ours else ""
                headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
                alone = httpx.Limits(max_keepalive_connections=0)  # a connection each: Deadline ends its own
                self._clients[ours] = httpx.Client(headers=headers, timeout=self.options["timeout"], limits=alone)
            return self._clients[ours]

    def _body(self, request: Request) -> dict[str, Any]:
        options = self.options
        body = {"model": options["model"], "prompt": request.prompt.text, "n": 1}
        body["size"] = f"{options['width']}x{options['height']}"
        if options["response_format"]:
            body["response_format"] = options["response_format"]
        if options["send_seed"]:
            body["seed"] = request.seed
        return {**body, **options["options"]}

    def ask(self, request: Request) -> Answer:
        address = f"{self._base()}/images/generations"
        status, headers, data = self._send("POST", address, LARGEST_ANSWER, ours=True, json=self._body(request))
        if status != 200:
            return self._refusal(status, headers, data)
        try:
            image = json.loads(data)["data"][0]
            encoded, url = image.get("b64_json"), image.get("url")
            if encoded:
                return checked(base64.b64decode(encoded, validate=True))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
            raise TryAgainError(f"the answer is not as it should be ({type(error).__name__})") from None
        if isinstance(url, str) and url:
            return self._fetch(url)
        return Refused("the answer holds neither b64_json nor url")

    def _refusal(self, status: int, headers: Any, data: bytes) -> Refused:
        text = data[:5000].decode("utf-8", errors="replace")
        try:
            error = json.loads(data)["error"]
            text = f"{error.get('code') or error.get('type') or ''} {error.get('message') or ''}"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # no JSON, or of another shape: the text itself says why
        return self.judge(status, text, headers.get("retry-after"))

    def _fetch(self, url: str) -> Answer:
        """The image behind an address in an answer: without our key, and without following it elsewhere."""
        if not url.lower().startswith(("http://", "https://")):
            return Refused("the answer's url is neither http:// nor https://")
        status, _, data = self._send("GET", url, MAX_BYTES, ours=False)
        if status != 200:
            raise TryAgainError(f"HTTP {status} at the url of the answer")
        return checked(data)

    def _send(self, method: str, url: str, most: int, ours: bool, **options: Any) -> tuple[int, Any, bytes]:
        """Status, headers and at most `most` bytes of an answer. Only `ours` sends the key. Raises TryAgainError.

        A compressed answer is not read: a few bytes of it can stand for more than the memory holds.
        """
        import httpx

        client, seconds = self._http(ours), self.options["timeout"]
        until = time.monotonic() + seconds
        with Deadline(seconds) as limit:
            try:
                with client.stream(method, url, extensions={"trace": limit.trace}, **options) as answer:
                    packed = answer.headers.get("content-encoding", "").strip().lower()
                    if packed not in ("", "identity"):
                        words = f"the answer is compressed ({packed}), though we ask for one that is not"
                        raise TryAgainError(self.plain(f"HTTP {answer.status_code}: {words}"))
                    found = answer.status_code, answer.headers, read_all(answer.iter_raw(), most, until)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                words = "the answer took too long" if limit.over else f"{type(error).__name__}: {error}"
                raise TryAgainError(self.plain(words)) from None
        if limit.over:  # what was read may be cut short
            raise TryAgainError("the answer took too long")
        return found

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients = {}
