"""The app as a process: forked from one that has imported it, so that only the first waits for that."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import sys
import time
import urllib.request
from collections.abc import Mapping
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST = 120
"""Seconds until the first answer: the machine may be busy."""


class App(ForkServerProcess):
    """What `serve` starts, with the names that subprocess.Popen has."""

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self, seconds: float) -> int:
        """Its exit status. It is killed where it has not ended in time, and that is an error."""
        self.join(seconds)
        if self.exitcode is None:
            self.kill()
            self.join()
            raise TimeoutError(f"the app had not ended after {seconds} s")
        return self.exitcode


def serve(cache: Path, *names: str) -> tuple[App, str]:
    """Start the app on a free port and wait for its first answer; returns the process and its address."""
    port = free_port()
    process = forked([*names, "--cache", str(cache), "--port", str(port)])
    url = f"http://127.0.0.1:{port}/"
    until = time.monotonic() + MOST
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return process, url
        except OSError:
            time.sleep(0.1)
    ended = process.poll()
    process.kill()
    process.join()
    raise RuntimeError(f"the app did not answer within {MOST} s" if ended is None else f"the app ended with {ended}")


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def forked(arguments: list[str], errors: Path | None = None) -> App:
    """`python app.py ARGUMENTS`, forked from a process that has imported it; `errors` is where its stderr goes."""
    with contextlib.chdir(ROOT):  # where a new server finds the app
        multiprocessing.get_context("forkserver").set_forkserver_preload(["app"])
        forkserver.ensure_running()
    process = App(target=run, args=(arguments, {**os.environ, "HF_HUB_OFFLINE": "1"}, errors), daemon=True)
    process.start()
    return process


def run(arguments: list[str], environment: Mapping[str, str], errors: Path | None) -> None:
    """What `forked` starts."""
    if errors is not None:
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    import app

    sys.exit(app.main(arguments))
