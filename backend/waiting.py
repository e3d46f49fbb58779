"""Who waits for the tab Live, in order, who is taken to have left, and how work is done for whoever's turn has come."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

MOST_WAITING = 8
SILENCE = 20
"""Seconds after which a visitor who takes no news is taken to have left."""
NAME = "live"
"""What the thread that works is called."""


class LiveError(Exception):
    """Why nothing is drawn or asked, in a sentence for the visitor."""


@dataclass
class Ticket:
    visitor: str
    heard: float = field(default_factory=time.monotonic)
    stopped: threading.Event = field(default_factory=threading.Event)
    news: queue.Queue = field(default_factory=queue.Queue)
    working: bool = False

    def gone(self) -> bool:
        return self.stopped.is_set() or time.monotonic() - self.heard > SILENCE


class Line:
    """Who waits, in order. The first in line may work; whoever has left without a word is passed over."""

    def __init__(self) -> None:
        self._tickets: deque[Ticket] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def join(self, visitor: str) -> Ticket:
        with self._lock:
            self._clear()
            if self._closed:
                raise LiveError("The app is being closed.")
            if any(ticket.visitor == visitor for ticket in self._tickets):
                raise LiveError("Your last wish is still being worked on: wait for it, or cancel it.")
            if len(self._tickets) > MOST_WAITING:
                raise LiveError(f"{MOST_WAITING} others wait already. Try again in a minute or two.")
            ticket = Ticket(visitor)
            self._tickets.append(ticket)
            return ticket

    def before(self, ticket: Ticket) -> int:
        """How many come first; at 0 the ticket's turn has come, and it stays until it leaves."""
        with self._lock:
            self._clear()
            if ticket not in self._tickets:
                raise LiveError("Cancelled: you left the line.")
            place = self._tickets.index(ticket)
            ticket.working = ticket.working or place == 0
            return place

    def leave(self, ticket: Ticket) -> None:
        with self._lock:
            if ticket in self._tickets:
                self._tickets.remove(ticket)

    def stop(self, visitor: str) -> None:
        with self._lock:
            for ticket in self._tickets:
                if ticket.visitor == visitor:
                    ticket.stopped.set()

    def close(self) -> None:
        self._closed = True
        for ticket in list(self._tickets):
            ticket.stopped.set()

    def _clear(self) -> None:
        for ticket in [ticket for ticket in self._tickets if not ticket.working and ticket.gone()]:
            self._tickets.remove(ticket)

    def served(
        self, visitor: str, work: Callable[[Ticket], Any], waiting: Callable[[int], Any], begun: Any
    ) -> Iterator[Any]:
        """Wait for a turn, then work in a thread: yields `waiting(n)` while n others come first, `begun`, what the work
        puts into `ticket.news`, and last what it returns. Raises LiveError, also one that the work raises.

        A visitor has one turn at a time. Closing the generator, or leaving it for SILENCE seconds, marks the ticket as
        gone: the work asks `ticket.gone()` and ends.
        """
        ticket = self.join(visitor)
        worker = threading.Thread(target=self._work, args=(work, ticket), name=NAME)
        try:
            while before := self.before(ticket):
                ticket.heard = time.monotonic()
                yield waiting(before)
                if ticket.stopped.wait(0.3):
                    raise LiveError("Cancelled.")
            worker.start()
            yield from _listen(ticket, worker, begun)
        finally:
            ticket.stopped.set()
            if worker.ident is None:  # it was never started: nothing else leaves the line
                self.leave(ticket)

    def _work(self, work: Callable[[Ticket], Any], ticket: Ticket) -> None:
        last: _Last | LiveError
        try:
            last = _Last(work(ticket))
        except LiveError as error:
            last = error
        finally:
            self.leave(ticket)  # before the news: whoever hears it may ask again at once
        ticket.news.put(last)


@dataclass(frozen=True)
class _Last:
    """What work returned: nothing comes after it."""

    made: Any


def _listen(ticket: Ticket, worker: threading.Thread, latest: Any) -> Iterator[Any]:
    while not isinstance(latest, _Last):
        ticket.heard = time.monotonic()
        yield latest
        try:
            latest = ticket.news.get(timeout=0.4)
        except queue.Empty:
            if not worker.is_alive() and ticket.news.empty():
                raise LiveError("The work ended with an error, which the server's log tells.") from None
        if isinstance(latest, LiveError):
            raise latest
    yield latest.made
