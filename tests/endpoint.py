"""An OpenAI-compatible images endpoint on loopback that can be told to misbehave, one request after the other."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from samples import png

FILTERED = {"error": {"code": "content_policy_violation", "message": "Rejected by our safety system."}}


class Endpoint:
    """`script` holds what the next requests get (see Handler.do_POST); when it is empty they get `usual`.

    `asked` lists the bodies of all requests for images, `headers` those of the last request, and `pause` is how many
    seconds an image takes. Images depend on prompt and seed alone.
    """

    def __init__(self) -> None:
        self.script: list = []
        self.usual: object = "image"
        self.asked: list[dict] = []
        self.fetched: list[dict] = []
        self.headers: dict = {}
        self.pause = 0.0
        self.models = 200
        self.images: dict[str, bytes] = {}
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"endpoint": self}))
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint

    def log_message(self, *arguments) -> None:
        """Quiet."""

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self.send(self.endpoint.models, b'{"data": []}')
            return
        self.endpoint.fetched.append(dict(self.headers))
        self.send(200, self.endpoint.images.get(self.path, b"<html>gone</html>"))

    def do_POST(self) -> None:
        here = self.endpoint
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with here.lock:
            here.asked.append(body)
            here.headers = {name.title(): value for name, value in self.headers.items()}
            does = here.script.pop(0) if here.script else here.usual
        does = does(body) if callable(does) else does
        time.sleep(here.pause)
        prompt = body.get("prompt", body.get("inputs"))
        seed = body.get("seed", body.get("parameters", {}).get("seed"))
        image = png(int.from_bytes(hashlib.sha256(f"{prompt}|{seed}".encode()).digest()[:4], "big"))
        encoded = {"b64_json": base64.b64encode(image).decode()}
        if does == "image" and "inputs" in body:  # as an inference endpoint of the Hub answers
            self.send(200, image, Content_Type="image/png")
        elif does == "image":
            self.send(200, json.dumps({"created": 1, "data": [encoded]}).encode())
        elif does == "url":
            here.images[f"/{len(here.asked)}.png"] = image
            self.send(200, json.dumps({"data": [{"url": f"{here.root}/{len(here.asked)}.png"}]}).encode())
        elif does == "slow":
            time.sleep(1)
            self.send(200, b"{}")
        elif does == "drip":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(40):
                    self.wfile.write(b" ")
                    time.sleep(0.05)
        elif does == "drip headers":
            with contextlib.suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                for _ in range(40):
                    self.wfile.write(b"X-A: b\r\n")
                    time.sleep(0.05)
        elif does == "hang up":
            self.close_connection = True
            self.connection.close()
        elif does == "filtered":
            self.send(400, json.dumps(FILTERED).encode())
        elif isinstance(does, tuple):
            self.send(
                does[0], does[1] if isinstance(does[1], bytes) else json.dumps(does[1]).encode(), **dict(does[2:])
            )
        else:
            self.send(200, does if isinstance(does, bytes) else json.dumps(does).encode())
