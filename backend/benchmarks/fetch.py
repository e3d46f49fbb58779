"""Fetching a picture that a benchmark names by its address; only where somebody asked for it (--fetch).

Addresses are a stranger's, and so are names, redirects and answers: nothing is fetched from this machine or from a
network that is not public, whatever a name resolves to at whatever time, and no answer takes longer than it may.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Any

from backend.pictures import MAX_BYTES, PictureError, read_facts

SECONDS, MOST_SECONDS, REDIRECTS, ADDRESSES = 20, 60, 5, 3
"""For the next part of an answer, for all of it with its redirects, hops, and addresses of one name that are tried."""
PRIVATE = "its address leads into a private network"
SLOW = "its server takes too long for the whole of it"
_UNICAST, _NAT64 = IPv6Network("2000::/3"), IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public Internet, by the registries of special addresses that `ipaddress`
    holds; of an IPv6 address that stands for an IPv4 one (mapped, 6to4, NAT64), whether that is.

    >>> [is_public(address) for address in ("8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8")]
    [True, True, True]
    >>> [is_public(address) for address in ("127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "224.0.0.1")]
    [False, False, False, False, False]
    """
    found = ip_address(address)
    if isinstance(found, IPv6Address):
        inner = IPv4Address(int(found) & 0xFFFFFFFF) if found in _NAT64 else found.ipv4_mapped or found.sixtofour
        if inner is None and found not in _UNICAST:
            return False
        found = inner or found
    return found.is_global and not found.is_multicast


def fetcher(
    progress: Callable[[int], object] = lambda done: None, allow: Callable[[str], bool] = is_public
) -> Callable[[str, Path], str]:
    """What fetches one picture: given an address and a path, it keeps the picture there, whole, and returns "", or
    why it could not. `progress(1)` is called after each. Addresses that are dead stay so: nothing is tried twice.
    `allow` says which IP addresses it may connect to. Proxies that the environment names are not used: they would
    resolve names themselves."""
    import httpx

    network = _Network(allow)
    client = httpx.Client(
        transport=_transport(network),
        trust_env=False,
        follow_redirects=True,
        timeout=SECONDS,
        max_redirects=REDIRECTS,
        headers={"Accept-Encoding": "identity"},
    )

    def fetch(address: str, path: Path) -> str:
        network.end = time.monotonic() + MOST_SECONDS
        try:
            data = _read(client, address)
            read_facts(data)
        except httpx.TimeoutException:
            return SLOW if time.monotonic() >= network.end else f"no answer within {SECONDS} s"
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


def _transport(network: _Network) -> Any:
    """How httpx speaks HTTP over connections that `network` makes, redirects included; each serves one request."""
    import httpcore
    import httpx

    class Transport(httpx.HTTPTransport):
        def __init__(self) -> None:
            context = httpx.create_ssl_context(trust_env=False)
            self._pool = httpcore.ConnectionPool(context, max_keepalive_connections=0, network_backend=network)

    return Transport()


class _Network:
    """A network backend of httpcore: it resolves a name itself, refuses it where any of its addresses is not allowed,
    and connects to the very addresses that it looked at. `end` is the time (monotonic) when all must be over."""

    def __init__(self, allow: Callable[[str], bool]) -> None:
        self.allow, self.end = allow, float("inf")

    def left(self, timeout: float | None) -> float:
        """So many seconds, or fewer where the end is near. Raises ValueError when it is past."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise ValueError(SLOW)
        return left if timeout is None else min(timeout, left)

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: Any = None, socket_options: Any = None
    ) -> _Stream:
        import httpcore

        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        if not all(map(self.allow, addresses)):
            raise ValueError(PRIVATE)
        connect = httpcore.SyncBackend().connect_tcp
        for address in addresses[:ADDRESSES]:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return _Stream(connect(address, port, self.left(timeout), local_address, socket_options), self)
        raise httpcore.ConnectError("none of its addresses answers")


class _Stream:
    """A connection whose every step is over when the network's end is: a server cannot hold it byte by byte."""

    def __init__(self, stream: Any, network: _Network) -> None:
        self.stream, self.network = stream, network

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.stream.read(max_bytes, self.network.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.stream.write(buffer, self.network.left(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        return _Stream(self.stream.start_tls(ssl_context, server_hostname, self.network.left(timeout)), self.network)

    def close(self) -> None:
        self.stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)


def _keep(data: bytes, path: Path) -> str:
    """Write it whole or not at all, and through no link that lies in a stranger's folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.is_symlink() or path.is_symlink():
        return "its place is a link"
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".fetching-", delete=False) as part:
        try:
            part.write(data)
            part.close()
            os.replace(part.name, path)
        except OSError:
            os.unlink(part.name)
            raise
    return ""


def _read(client, address: str) -> bytes:
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError("it is no http address")
    found = bytearray()
    with client.stream("GET", address) as answer:
        answer.raise_for_status()
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise ValueError("its server compresses it, which is not read")
        for chunk in answer.iter_raw():
            found += chunk
            if len(found) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES:,} bytes")
    return bytes(found)
