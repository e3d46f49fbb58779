"""Server time of a page of 60 thumbnails: our HTML and 60 image requests, against a gr.Gallery of 60 PIL images."""

from __future__ import annotations

import asyncio
import re
import shutil
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import gradio as gr
import httpx
from fastapi import FastAPI
from PIL import Image

from app import make_app
from backend.store import Audit
from benchmarks import _report
from benchmarks._process import ran, workplace
from benchmarks._report import Figure, milliseconds, spread
from explorers._browse import BrowseView, column_html
from explorers._grid import Choice

FASTER, MOST = 50, 50
Fetch = Callable[[str], Awaitable[tuple[int, bytes]]]


def urls(html: str) -> list[str]:
    """The images that a browser would ask for, as it sees the column."""
    return ["/" + found for found in re.findall(r'<img src="([^"]+)"', html)]


def bare(app: FastAPI) -> Fetch:
    """Ask the app as a server would, with no client between: the scope of a GET, and the messages that come back."""

    async def fetch(path: str) -> tuple[int, bytes]:
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http"}
        scope |= {"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "extensions": {}}
        scope |= {"headers": [(b"host", b"test")], "client": ("127.0.0.1", 1), "server": ("test", 80), "state": {}}
        status, body = 0, []

        async def receive() -> dict:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict) -> None:
            nonlocal status
            status = message.get("status", status)
            body.append(message.get("body", b""))

        await app(scope, receive, send)
        return status, b"".join(body)

    return fetch


def through(client: httpx.AsyncClient) -> Fetch:
    """Ask through httpx, whose own work counts then."""

    async def fetch(path: str) -> tuple[int, bytes]:
        answer = await client.get(path)
        return answer.status_code, answer.content

    return fetch


async def page(audit: Audit, size: int, fetch: Fetch) -> float:
    """Milliseconds for a column's HTML and then every image in it, one after the other."""
    view = BrowseView(audit.name, (Choice(str(audit.generations["system"].iat[0])),), size=size)
    started = time.perf_counter()
    answers = [await fetch(path) for path in urls(column_html(audit, view, view.columns[0]))]
    took = 1000 * (time.perf_counter() - started)
    if len(answers) != size or any(status != 200 or body[8:12] != b"WEBP" for status, body in answers):
        raise RuntimeError(f"not {size} thumbnails: {[status for status, _ in answers]}")
    return took


async def nothing(scope: dict, receive: Callable, send: Callable) -> None:
    """An app that answers at once with the shortest body that `page` takes for a picture."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"RIFF0000WEBP"})


async def turns(audit: Audit, images: list[Image.Image], cache: Path, repeats: int) -> list[tuple[float, ...]]:
    """Milliseconds with the bare app, through httpx, of httpx alone, and of a gallery; the first turn is left out."""
    app = make_app({audit.name: audit})
    async with (
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client,
        httpx.AsyncClient(transport=httpx.ASGITransport(nothing), base_url="http://test") as empty,
    ):
        fetches = bare(app), through(client), through(empty)
        found = []
        for _ in range(repeats + 1):
            found.append((*[await page(audit, len(images), fetch) for fetch in fetches], gallery(images, cache)))
    return found[1:]


def gallery(images: list[Image.Image], cache: Path) -> float:
    """Milliseconds of a gr.Gallery's postprocess: every image is encoded to the disk."""
    component = gr.Gallery()
    component.GRADIO_CACHE = str(cache)
    took = milliseconds(lambda: component.postprocess(images))
    shutil.rmtree(cache)
    return took


def run(size: int, repeats: int) -> list[Figure]:
    """Import `size` pictures of 512 px as one system, then take turns."""
    with workplace() as folder:
        source = folder / "all"
        ran("-m", "benchmarks._images", source, size)
        paths = sorted(source.rglob("*.jpg"))
        (folder / "one" / "system" / "nurse").mkdir(parents=True)
        for path in paths:
            path.rename(folder / "one" / "system" / "nurse" / path.name)
        ran("-m", "backend", "import", folder / "one", "bench", "--cache", folder)
        audit = Audit.open(folder, "bench")
        images = [Image.open(path).copy() for path in sorted((folder / "one").rglob("*.jpg"))]
        took = asyncio.run(turns(audit, images, folder / "gallery", repeats))
    return figures(size, *map(list, zip(*took, strict=True)))


def figures(size: int, bare: list[float], client: list[float], empty: list[float], theirs: list[float]) -> list[Figure]:
    """The table's lines from the milliseconds of every turn."""
    base = statistics.median(theirs)
    target = f"at least {FASTER}x and below {MOST} ms"
    lines = []
    kinds = (
        ("the ASGI app called directly (server time)", bare, target),
        ("through httpx (server and client)", client, ""),
    )
    for words, took, wanted in kinds:
        middle = statistics.median(took)
        met = base / middle >= FASTER and middle < MOST
        cells = spread(took, "ms"), spread(theirs, "ms", 0), f"{base / middle:.0f}x"
        lines.append(Figure(f"page of {size} thumbnails, {words}", *cells, wanted, met if wanted else None))
    lines.append(
        Figure("page: the same through httpx with an app that does nothing (client time)", spread(empty, "ms"))
    )
    return lines


if __name__ == "__main__":
    _report.main(run, __doc__, size=60, repeats=5)
