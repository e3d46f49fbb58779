"""Questions that come with a body: POST /query/SLUG/NAME, bounded in size, in time and in how many run at once.

A tab offers them as `QUERY`, name -> function(stores, params, body), which answers with (bytes, media type), or with a
sentence that says why not. Bodies stay in memory and are gone with the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

MOST_BYTES = 20_000_000
"""A larger body is refused as soon as it is known to be larger, whatever it says of its length."""
READERS = 8
"""Bodies that are read or wait for their turn at once: together at most READERS * MOST_BYTES in memory."""
WORKERS = 2
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
TOO_LARGE = f"The picture has more than {MOST_BYTES // 1_000_000} MB: scale it down, then try again"
BUSY = "Other pictures are being compared: try again in a moment"

Ask = Callable[[bytes], tuple[bytes, str] | str]


def problem(words: str, status: int) -> Response:
    """A refusal as a sentence that the page may show as it is."""
    headers = {"X-Likeness": "problem", "Cache-Control": "no-store"}
    return PlainTextResponse(words, status_code=status, headers=headers)


class TooLarge(Exception):
    """A body that has more bytes than MOST_BYTES."""


class Queries:
    """Reads bodies and lets at most WORKERS of them be worked on; one for an app.

    `reading`, `waiting` and `working` are the seconds that a body may take to come, to wait for its turn, and to be
    answered. Work that is over its time keeps its place until it ends, so that there are never more than WORKERS.
    """

    def __init__(self, reading: float = 30, waiting: float = 3, working: float = 60) -> None:
        self.reading, self.waiting, self.working = reading, waiting, working
        self._readers = 0
        self._places = asyncio.Semaphore(WORKERS)

    async def answer(self, request: Request, ask: Ask, name: str) -> Response:
        """What `ask` makes of the request's body, or why it was refused."""
        if request.method != "POST":
            return Response("Only POST", status_code=405, headers={"Allow": "POST"}, media_type="text/plain")
        if request.headers.get("x-likeness") != "query":  # no form of another site can send it
            return problem("This address is for the page of this app: open its tab", 403)
        if self._readers >= READERS:
            return problem(BUSY, 503)
        self._readers += 1
        try:
            async with asyncio.timeout(self.reading):
                body = await _read(request.headers.get("content-length", ""), request.stream())
            if not await self._turn():
                return problem(BUSY, 503)
        except TooLarge:
            return problem(TOO_LARGE, 413)
        except TimeoutError:
            return problem("The picture took too long to come: try a smaller one or a better connection", 408)
        except ClientDisconnect:
            return problem("The picture did not come whole", 400)
        finally:
            self._readers -= 1
        return await self._work(ask, body, name)

    async def _turn(self) -> bool:
        """Wait for a place to work in; whether there was one in time."""
        try:
            async with asyncio.timeout(self.waiting):
                return await self._places.acquire()
        except TimeoutError:
            return False

    async def _work(self, ask: Ask, body: bytes, name: str) -> Response:
        task = asyncio.ensure_future(run_in_threadpool(ask, body))
        task.add_done_callback(self._done)
        try:
            made = await asyncio.wait_for(asyncio.shield(task), self.working)
        except TimeoutError:
            return problem("Comparing this picture takes too long: try again in a minute, or with a smaller one", 503)
        if isinstance(made, str):
            return problem(made, 422)
        return Response(made[0], media_type=made[1], headers={"X-Likeness": name, "Cache-Control": "no-store"})

    def _done(self, task: asyncio.Future[object]) -> None:
        self._places.release()
        if not task.cancelled():
            task.exception()  # whoever waits sees it; asked for here so that nobody waiting is no complaint


async def _read(length: str, pieces: AsyncIterator[bytes]) -> bytes:
    """A body of at most MOST_BYTES, read piece by piece. Raises TooLarge."""
    if length.isascii() and length.isdigit() and int(length[:12]) > MOST_BYTES:
        raise TooLarge
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MOST_BYTES:
            raise TooLarge
    return bytes(body)
