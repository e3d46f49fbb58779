"""What systems behind the network share: one request after the other or several at once, and patience with limits."""

from __future__ import annotations

import contextlib
import email.utils
import os
import re
import socket
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from backend.records import count
from backend.spec import Key
from backend.systems.base import Answer, Refused, Request, System, one_line

LONGEST_WAIT = 300.0
"""Seconds; a server that asks for more (Retry-After) is asked again after this long."""
LOOK = 0.25
"""Seconds between two looks at whether somebody still wants the answer."""
LARGEST_ANSWER = 150_000_000
"""Bytes of an API's answer that are read: base64 of the largest image, and some."""
FILTERED = re.compile(
    r"content[_ ]?(policy|filter|moderation)|moderation_blocked|flagged|safety (system|filter|checker)|"
    r"responsible.?ai|nsfw",
    re.I,
)
SPENT = re.compile(r"insufficient_quota|billing|exceeded your (current|monthly)", re.I)

WEB_KEYS = {
    "key_env": Key(str, "", settings=False),
    "timeout": Key((float, int), 180, low=0.05, high=3600, settings=False),
    "retries": Key(int, 6, low=0, high=50, settings=False),
    "backoff": Key((float, int), 1.0, low=0, high=60, settings=False),
}
"""The environment variable that holds the key; seconds for one answer; how often, and after how many seconds at
first, a request is made again."""


class TryAgainError(Exception):
    """An answer that may be another one later. `after` is how many seconds the server asked to wait, if it did."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class WebSystem(System):
    """A system behind an API. `batch` is the number of requests that are under way at once."""

    def __init__(self, spec) -> None:
        super().__init__(spec)
        self._stop = threading.Event()
        self._longest_wait = LONGEST_WAIT
        self._gone: Callable[[], bool] = bool

    def hurry(self, longest_wait: float, gone: Callable[[], bool]) -> None:
        """For work that others stand in line behind: at most `longest_wait` seconds between two requests, and no
        further one once `gone()` (asked from several threads)."""
        self._longest_wait, self._gone = longest_wait, gone

    @abstractmethod
    def ask(self, request: Request) -> Answer:
        """One request, made once. Raises TryAgainError where a later one may succeed, and SpecError where none can."""

    def key(self) -> str:
        """The API's key from the environment; "" where the spec names no variable. Raises SpecError, never with the
        key in it."""
        name = self.options["key_env"]
        if not name:
            return ""
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,99}", name):
            raise self.error(
                "key_env",
                "give the name of an environment variable (capital letters, digits, underscores) that holds "
                "the key, and never the key itself",
            )
        key = os.environ.get(name, "").strip()
        if not key:
            raise self.error("key_env", f"the environment variable {name} is not set: say export {name}=... first")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise self.error("key_env", f"the environment variable {name} holds no key: it has a space or odd letters")
        return key

    def plain(self, text: object) -> str:
        """Text from the server for a report: one line, short, and without the key, should the server repeat it."""
        return one_line(str(text).replace(self.key() or "\0", "***"))

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        self._stop.clear()  # a system that gave up before may be asked again
        if len(requests) == 1:
            return [self._patiently(requests[0])]
        with ThreadPoolExecutor(len(requests)) as pool:
            try:
                return list(pool.map(self._patiently, requests))
            except BaseException:
                self._stop.set()
                raise

    def _patiently(self, request: Request) -> Answer:
        """Ask until there is an answer, at most retries + 1 times, waiting twice as long each time."""
        retries, wait = self.options["retries"], float(self.options["backoff"])
        for attempt in range(1, retries + 2):
            try:
                return self.ask(request)
            except TryAgainError as error:
                reason, after = str(error), error.after
            if attempt > retries or self._ended(min(self._longest_wait, wait if after is None else max(after, 0))):
                break
            wait *= 2
        return Refused(f"no image after {count(attempt, 'request')}; the last one: {reason}")

    def _ended(self, wait: float) -> bool:
        """Wait so many seconds; whether nobody wants the answer any longer, and then at once."""
        until = time.monotonic() + wait
        while not self._gone():
            left = max(0.0, until - time.monotonic())
            if self._stop.wait(min(LOOK, left)):
                return True
            if left <= LOOK:
                return self._gone()
        return True

    def judge(self, status: int, text: str, after: str | None) -> Refused:
        """What an HTTP status other than success means. Raises TryAgainError or SpecError where it is no refusal."""
        words = self.plain(f"HTTP {status}: {text}")
        if status in (401, 403, 407):
            raise self.error("key_env", f"the server refuses the key ({words})")
        if status == 402 or (status == 429 and SPENT.search(text)):
            raise self.error("key_env", f"the account is spent ({words}); add credit, then run the same command again")
        if status == 404:
            raise self.error("model", f"the server does not know it ({words})")
        if status in (408, 409, 425, 429) or status >= 500:
            raise TryAgainError(words, retry_after(after))
        return Refused(words, "filtered" if FILTERED.search(text) else "failed")


def retry_after(header: str | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float | None:
    """Seconds in a Retry-After header, which holds seconds or a date; None where it holds neither.

    >>> retry_after("1.5"), retry_after("soon"), retry_after(None)
    (1.5, None, None)
    """
    if not header:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", header.strip()):
        return float(header)
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(header) - now()).total_seconds())
    except (ValueError, TypeError):
        return None


def read_all(chunks, most: int, deadline: float) -> bytes:
    """The bytes of an answer. Raises TryAgainError where it is too long or takes too long (`deadline`: a
    time.monotonic value)."""
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > most:
            raise TryAgainError(f"the answer has more than {most:,} bytes")
        if time.monotonic() > deadline:
            raise TryAgainError("the answer took too long")
    return bytes(data)


class Deadline:
    """A limit of time for one whole request of httpx, headers and all: its own timeouts begin anew with every byte.

    Give `trace` as the request's extension "trace", on a connection that was not used before. After `seconds` the
    connection is shut down, whoever waits for it gets an error or an early end, and `over` is true.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """What httpcore tells of a request: the connection is noted when it is made, and again when it is encrypted."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.over:
                self._end()

    def _end(self) -> None:
        self.over = True
        held = self._socket
        if held is not None:
            with contextlib.suppress(OSError):  # it was closed meanwhile
                socket.socket.shutdown(held, socket.SHUT_RDWR)  # of an encrypted one, too, without its last words

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()
