"""The server: whether it can listen, and an end that waits for no picture."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn

PATIENCE = 5
"""Seconds that open connections get at the end."""


def can_listen(host: str, port: int) -> bool:
    """Whether a server can be bound there."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError:
        return False
    return True


class Server(uvicorn.Server):
    """A server that calls `closing` at the first Ctrl-C: whoever works for a visitor then stops."""

    def __init__(self, config: uvicorn.Config, closing: Sequence[Callable[[], object]]) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: Any) -> None:
        for close in self._closing:
            close()
        super().handle_exit(sig, frame)


def serve(app: Any, host: str, port: int, closing: Sequence[Callable[[], object]]) -> None:
    """Serve until interrupted."""
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=PATIENCE)
    with contextlib.suppress(KeyboardInterrupt):
        Server(config, closing).run()
