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
    gone before, as in `| head`: nothing more is said then. 1 with a sentence where the output's disk is full."""
    try:
        status = run()
    except BrokenPipeError:
        if not _unread():
            raise
        return _given_up(141)
    if sys.stdout is None:  # closed from the start: >&-
        return status
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _given_up(141)
    except OSError as error:
        print(f"Error: what was said could not be written ({error.strerror}); the work itself is done", file=sys.stderr)
        return _given_up(1)
    return status


def _given_up(status: int) -> int:
    """Let nobody write what is left: Python does when it ends."""
    gone = os.open(os.devnull, os.O_WRONLY)
    os.dup2(gone, sys.stdout.fileno())
    os.close(gone)
    return status


def _unread() -> bool:
    """Whether it is our output that broke, and not another connection."""
    if sys.stdout is None:
        return False
    asked = select.poll()
    asked.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in asked.poll(0))
