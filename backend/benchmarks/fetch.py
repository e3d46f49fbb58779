"""Fetching a picture that a benchmark names by its address; only where somebody asked for it (--fetch)."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from backend.pictures import MAX_BYTES, PictureError, read_facts

SECONDS, MOST_SECONDS, REDIRECTS = 20, 60, 5


def fetcher(progress: Callable[[int], object] = lambda done: None) -> Callable[[str, Path], str]:
    """What fetches one picture: given an address and a path, it keeps the picture there, whole, and returns "", or
    why it could not. `progress(1)` is called after each. Addresses that are dead stay so: nothing is tried twice."""
    import httpx

    client = httpx.Client(
        follow_redirects=True, timeout=SECONDS, max_redirects=REDIRECTS, headers={"Accept-Encoding": "identity"}
    )

    def fetch(address: str, path: Path) -> str:
        try:
            data = _read(client, address)
            read_facts(data)
        except httpx.TimeoutException:
            return f"no answer within {SECONDS} s"
        except httpx.HTTPStatusError as error:
            return f"HTTP {error.response.status_code}"
        except (httpx.TransportError, OSError):
            return "the network, or its server, could not be reached"
        except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, ValueError, PictureError) as error:
            return str(error) if type(error) is ValueError else "it is no address of a picture"
        finally:
            progress(1)
        try:
            return _keep(data, path)
        except OSError as error:
            return f"it could not be kept ({error.strerror})"

    return fetch


def _keep(data: bytes, path: Path) -> str:
    """Write it whole or not at all, and through no link that lies in a stranger's folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.is_symlink() or path.is_symlink():
        return "its place is a link"
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".fetching-", delete=False) as part:
        part.write(data)
    os.replace(part.name, path)
    return ""


def _read(client, address: str) -> bytes:
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError("it is no http address")
    found, end = bytearray(), time.monotonic() + MOST_SECONDS
    with client.stream("GET", address) as answer:
        answer.raise_for_status()
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise ValueError("its server compresses it, which is not read")
        for chunk in answer.iter_raw():
            found += chunk
            if time.monotonic() > end:
                raise ValueError(f"not whole within {MOST_SECONDS} s")
            if len(found) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES:,} bytes")
    return bytes(found)
