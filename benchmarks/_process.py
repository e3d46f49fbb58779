"""Programs as processes of their own: how long they take and how much memory they peak at.

Linux hands a parent's peak on to a child at fork, so whoever measures a child here imports nothing large itself.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


@dataclass(frozen=True)
class Ran:
    """A process that has ended: wall-clock and CPU seconds, its own peak resident memory in MB (10**6), its output."""

    seconds: float
    cpu: float
    peak: float
    printed: str


@contextmanager
def python(*arguments: object) -> Iterator[subprocess.Popen]:
    """`python ARGUMENTS` at the root of the project; it is ended, if need be killed, at the end of the block."""
    command = [sys.executable, *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **QUIET}, stdout=out, stderr=subprocess.STDOUT, text=True
        )
        process.output = out  # type: ignore[attr-defined]
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()


def ran(*arguments: object) -> Ran:
    """Run `python ARGUMENTS` to its end. Raises RuntimeError with what it printed where it fails."""
    started = time.perf_counter()
    with python(*arguments) as process:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        process.output.seek(0)  # type: ignore[attr-defined]
        printed = process.output.read()  # type: ignore[attr-defined]
    if process.returncode:
        raise RuntimeError(f"python {' '.join(map(str, arguments))} failed:\n{printed[-2000:]}")
    return Ran(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, printed)


def resident(pid: int) -> float:
    """A running process's resident memory in MB (10**6), from /proc."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024 / 1e6


def busy() -> float:
    """Seconds that all CPUs of the machine together have worked, for whomever, since it started."""
    fields = Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:]
    spent = [int(field) for field in fields[:8]]  # user nice system idle iowait irq softirq steal
    return (sum(spent) - spent[3] - spent[4]) / os.sysconf("SC_CLK_TCK")


@contextmanager
def workplace() -> Iterator[Path]:
    """A temporary folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="likeness-benchmark-") as folder:
        yield Path(folder)
