"""Where a command writes: a terminal that lacks letters, or a reader that stops reading."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Callable


def forgiving() -> None:
    """Let a terminal that lacks a letter of some name show "?" in its place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def written(run: Callable[[], int]) -> int:
    """What `run` returns, once all that it said is written; 141 (as shells count it) where the reader of our output was
    gone before, as in `| head`: nothing more is said then."""
    try:
        status = run()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        if not _unread():
            raise
        gone = os.open(os.devnull, os.O_WRONLY)  # Python writes what is left when it ends
        os.dup2(gone, sys.stdout.fileno())
        os.close(gone)
        return 141


def _unread() -> bool:
    """Whether it is our output that broke, and not another connection."""
    asked = select.poll()
    asked.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in asked.poll(0))
