"""What stands between the network and Gradio: nothing that the tabs do not need comes through."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote_plus

from starlette.responses import PlainTextResponse

CLOSED = (
    "upload",
    "file",
    "proxy",
    "stream",
    "process_recording",
    "vibe",
    "undo-vibe",
    "component_server",
    "deep_link",
)
"""Gradio's routes for files, recordings and code: no tab uses them."""
LARGEST = 200_000
"""Bytes in the body of a request to Gradio: the values of all controls of a tab are far fewer."""
GRADIO_READS = ("page", "deep_link")
"""Query parameters that Gradio reads itself on its page; an unknown `page` makes it fail."""


_SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")


def names_a_file(data: Any) -> bool:
    """Whether a request's data holds what Gradio takes for a file: {"path": ..., "meta": ...}, at any depth.

    Gradio would read, copy or fetch that path on its own machine. Lists and objects nested deeper than 50 count as one.
    """
    waiting = [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > 50:
            return True
        if isinstance(value, dict):
            if "meta" in value or "path" in value:
                return True
            waiting += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, list):
            waiting += [(inner, depth + 1) for inner in value]
    return False


def names_a_session(data: Any) -> bool:
    """Whether a request's session, if it names one, is named as the page does: Gradio's queue stops for everybody, or
    keeps the name for ever, where it is empty, long or no plain text."""
    session = data.get("session_hash") if isinstance(data, dict) else None
    return session is None or (isinstance(session, str) and _SESSION.fullmatch(session) is not None)


class Guard:
    """ASGI middleware: closes CLOSED, refuses bodies that name files, hides GRADIO_READS, forbids sniffing of types."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-content-type-options", b"nosniff")]
            await send(message)

        path = scope["path"].strip("/").split("/")
        answer = None
        if path[0] == "gradio_api":
            if len(path) > 1 and path[1].split("=")[0] in CLOSED:
                answer = PlainTextResponse("Not found", status_code=404)
            elif scope["method"] == "POST":
                body, answer = await _body(receive)
                receive = _again(body, receive)
        elif scope["query_string"]:
            pairs = scope["query_string"].split(b"&")
            kept = [p for p in pairs if unquote_plus(p.split(b"=")[0].decode("latin-1")) not in GRADIO_READS]
            scope = {**scope, "query_string": b"&".join(kept)}
        await (answer or self.app)(scope, receive, send_safely)


async def _body(receive: Any) -> tuple[bytes, PlainTextResponse | None]:
    """The whole body of a request, and the answer that refuses it, if any."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST:
            return b"", PlainTextResponse("The request is too large", status_code=413)
    try:
        data = json.loads(body) if body else None
        if names_a_file(data):
            return body, PlainTextResponse("Files are not taken here", status_code=400)
        if not names_a_session(data):
            return body, PlainTextResponse("This is no session of a page", status_code=400)
    except (ValueError, RecursionError):
        return body, PlainTextResponse("The request is no JSON", status_code=400)
    return body, None


def _again(body: bytes, receive: Any) -> Any:
    """A `receive` that gives a body that was read already, then what the client sends."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Any:
        return waiting.pop() if waiting else await receive()

    return receive_again
