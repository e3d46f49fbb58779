"""Start of the app with a large audit: seconds to the first page beyond `import gradio`, and resident memory."""

from __future__ import annotations

import http.client
import json
import re
import socket
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from benchmarks import _report
from benchmarks._process import python, ran, resident, workplace
from benchmarks._report import Figure, spread

BEYOND, MEMORY = 2.0, 600
THUMBNAILS = 60
PATIENCE = 120


@dataclass(frozen=True)
class Started:
    """One start: seconds to the first 200, MB resident after that page, and after a view and its thumbnails."""

    seconds: float
    first: float
    later: float


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def ask(port: int, path: str, body: dict | None = None) -> tuple[int, bytes]:
    """One request to the app: its status and body. Raises OSError where nobody listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def wait_for_page(process: subprocess.Popen, port: int) -> None:
    """Ask for the page until it is there."""
    for _ in range(PATIENCE * 100):
        if process.poll() is not None:
            process.output.seek(0)  # type: ignore[attr-defined]
            raise RuntimeError(f"the app ended:\n{process.output.read()[-2000:]}")  # type: ignore[attr-defined]
        try:
            if ask(port, "/")[0] == 200:
                return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError(f"no page within {PATIENCE} s")


def view(port: int, systems: list[str]) -> list[str]:
    """Open a view as the page's own script does, and return its first image addresses."""
    config = json.loads(ask(port, "/config")[1])
    load = next(d for d in config["dependencies"] if any(event == "load" for _, event in d["targets"]))
    wanted = urlencode({"tab": "browse", "s": systems, "p": [""] * 2, "a": ["-"] * 2, "size": 36}, doseq=True)
    body = {"data": [None] * len(load["inputs"]), "fn_index": load["id"], "session_hash": "bench"}
    status, answer = ask(port, f"/gradio_api/run/predict?{wanted}", body)
    found = re.findall(r'<img src="(image/[^"]+)"', "".join(filter_text(json.loads(answer).get("data", []))))
    if status != 200 or len(found) < THUMBNAILS:
        raise RuntimeError(f"the view holds {len(found)} images: {answer[:500]!r}")
    return [f"/{path}" for path in found[:THUMBNAILS]]


def filter_text(values: object) -> list[str]:
    """Every text in an answer, however deep."""
    if isinstance(values, str):
        return [values]
    inside = values.values() if isinstance(values, dict) else values if isinstance(values, list) else ()
    return [text for value in inside for text in filter_text(value)]


def start(cache: Path, systems: list[str]) -> Started:
    """Start the app, wait for its page, then look at a view with its thumbnails."""
    port = free_port()
    began = time.perf_counter()
    with python("app.py", "bench", "--cache", cache, "--port", port) as process:
        wait_for_page(process, port)
        seconds = time.perf_counter() - began
        first = resident(process.pid)
        if any(ask(port, path)[0] != 200 for path in view(port, systems)):
            raise RuntimeError("a thumbnail is missing")
        return Started(seconds, first, resident(process.pid))


def run(size: int, repeats: int) -> list[Figure]:
    """Make the audit, then take turns: `import gradio` alone, and the app. One turn before is not counted."""
    with workplace() as cache:
        rows = int(ran("-m", "benchmarks._audit", cache, "bench", size).printed)
        command = "from backend.store import Audit; import json, sys; from pathlib import Path; "
        command += (
            "print(json.dumps(list(Audit.open(Path(sys.argv[1]), 'bench').generations['system'].cat.categories)))"
        )
        systems = json.loads(ran("-c", command, cache).printed)[:2]
        turns = [(ran("-c", "import gradio").seconds, start(cache, systems)) for _ in range(repeats + 1)][1:]
    bare, apps = [seconds for seconds, _ in turns], [app for _, app in turns]
    beyond = [app.seconds - seconds for seconds, app in turns]
    middle, ratio = statistics.median(beyond), statistics.median(app.seconds for app in apps) / statistics.median(bare)
    memory = statistics.median(app.later for app in apps)
    words = f"start with {rows:,} rows: "
    return [
        Figure(
            f"{words}to the first page (baseline: python -c 'import gradio')",
            spread([app.seconds for app in apps], "s", 2),
            spread(bare, "s", 2),
            f"{ratio:.2f}x as long",
        ),
        Figure(
            f"{words}beyond the import", spread(beyond, "s", 2), "", "", f"at most {BEYOND:.0f} s", middle <= BEYOND
        ),
        Figure(f"{words}resident after the first page", spread([app.first for app in apps], "MB", 0)),
        Figure(
            f"{words}resident after a view and {THUMBNAILS} thumbnails",
            spread([app.later for app in apps], "MB", 0),
            "",
            "",
            f"at most {MEMORY} MB",
            memory <= MEMORY,
        ),
    ]


if __name__ == "__main__":
    _report.main(run, __doc__, size=94_500, repeats=5)
