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
MOST = 60
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
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with contextlib.chdir(ROOT):  # where a new server finds the app
        multiprocessing.get_context("forkserver").set_forkserver_preload(["app"])
        forkserver.ensure_running()
    arguments = [*names, "--cache", str(cache), "--port", str(port)]
    process = App(target=run, args=(arguments, {**os.environ, "HF_HUB_OFFLINE": "1"}), daemon=True)
    process.start()
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


def run(arguments: list[str], environment: Mapping[str, str]) -> None:
    """`python app.py ARGUMENTS`, in a process that has imported it."""
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    import app

    sys.exit(app.main(arguments))
