"""A small server on the loopback that answers as the Hugging Face Hub does, as far as streaming a data set asks."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "5b6c7d8e9f" * 4
PATH = re.compile(r"(/api)?/datasets/([^/]+/[^/]+)(?:/(revision|tree|paths-info|resolve)/[^/]+(/.*)?)?")


class Hub(ThreadingHTTPServer):
    """Data sets by name, each a mapping of paths to bytes. `asked` lists what was asked for, as "METHOD /path"."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.sets: dict[str, Mapping[str, bytes]] = {}
        self.private: set[str] = set()
        self.broken: dict[str, HTTPStatus | str] = {}
        """Paths of files whose content fails: with a status, or "cut" off half-way."""
        self.asked: list[str] = []

    @property
    def endpoint(self) -> str:
        """What HF_ENDPOINT is to be."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *arguments: object) -> None:
        """Say nothing: `Hub.asked` keeps what was asked."""

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        for files in self.server.sets.values():
            for name, data in files.items():
                if path == f"/cdn/{_oid(data)}":
                    return self._content(name, data, {})
        found = PATH.fullmatch(path)
        if not found:
            return self._fail(HTTPStatus.NOT_FOUND, "")
        api, name, what, rest = found.groups()
        if name in self.server.private:
            return self._fail(HTTPStatus.UNAUTHORIZED, "", "Invalid username or password.")
        files = self.server.sets.get(name)
        if files is None:
            return self._fail(HTTPStatus.NOT_FOUND, "RepoNotFound", "Repository not found")
        rest = (rest or "").strip("/")
        if not api and what == "resolve":
            return self._file(files, rest)
        if what in (None, "revision"):
            return self._json(_info(name, files))
        if what == "tree":
            deep = parse_qs(urlsplit(self.path).query).get("recursive", ["false"])[0].lower() in ("true", "1")
            tree = _tree(files, rest, deep)
            return self._json(tree) if tree else self._fail(HTTPStatus.NOT_FOUND, "EntryNotFound")
        if what == "paths-info":
            text = body.decode()
            wanted = json.loads(text)["paths"] if text.startswith("{") else parse_qs(text)["paths"]
            return self._json([entry for entry in _tree(files, "", True) if entry["path"] in wanted])
        return self._fail(HTTPStatus.NOT_FOUND, "")

    def _file(self, files: Mapping[str, bytes], path: str) -> None:
        """The file, or, for Parquet, where another server is said to keep it: here the same one, under /cdn/."""
        if path not in files:
            return self._fail(HTTPStatus.NOT_FOUND, "EntryNotFound", "Entry not found")
        headers = {"ETag": f'"{_oid(files[path])}"', "X-Repo-Commit": COMMIT}
        if not path.endswith(".parquet"):
            return self._content(path, files[path], headers)
        headers |= {"Location": f"/cdn/{_oid(files[path])}", "X-Linked-Size": str(len(files[path]))}
        return self._send(HTTPStatus.FOUND, b"", headers)

    def _content(self, path: str, data: bytes, headers: Mapping[str, str]) -> None:
        broken = self.server.broken.get(path)
        if isinstance(broken, HTTPStatus):
            return self._fail(broken, "")
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None:
            return self._send(HTTPStatus.OK, data, headers, cut=broken is not None)
        first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
        headers = {**headers, "Content-Range": f"bytes {first}-{last}/{len(data)}"}
        return self._send(HTTPStatus.PARTIAL_CONTENT, data[first : last + 1], headers, cut=broken is not None)

    def _json(self, value: object) -> None:
        self._send(HTTPStatus.OK, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _fail(self, status: HTTPStatus, code: str, message: str = "") -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message, "Content-Type": "application/json"}
        body = json.dumps({"error": message or status.phrase}).encode()
        self._send(status, body, {name: value for name, value in headers.items() if value})

    def _send(self, status: HTTPStatus, body: bytes, headers: Mapping[str, str], cut: bool = False) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = cut


def _oid(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def _info(name: str, files: Mapping[str, bytes]) -> dict[str, object]:
    return {
        "_id": "64f0c0ffee",
        "id": name,
        "author": name.split("/")[0],
        "sha": COMMIT,
        "lastModified": "2023-06-01T00:00:00.000Z",
        "private": False,
        "gated": False,
        "disabled": False,
        "tags": [],
        "downloads": 0,
        "likes": 0,
        "siblings": [{"rfilename": path} for path in files],
    }


def _tree(files: Mapping[str, bytes], below: str, deep: bool) -> list[dict[str, object]]:
    start = below + "/" if below else ""
    entries: dict[str, dict[str, object]] = {}
    for path, data in files.items():
        if path.startswith(start):
            steps = path[len(start) :].split("/")
            for depth in range(1, len(steps)):
                if depth == 1 or deep:
                    folder = start + "/".join(steps[:depth])
                    entries[folder] = {"type": "directory", "oid": _oid(folder.encode()), "size": 0, "path": folder}
            if deep or len(steps) == 1:
                entries[path] = {"type": "file", "oid": _oid(data), "size": len(data), "path": path}
    return list(entries.values())


@contextmanager
def serving() -> Iterator[Hub]:
    """A hub that answers until the block ends."""
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
