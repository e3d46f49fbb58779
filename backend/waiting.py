"""Who waits for the tab Live, in order, and who is taken to have left."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from dataclasses import dataclass, field

MOST_WAITING = 8
SILENCE = 20
"""Seconds after which a visitor who takes no news is taken to have left."""


class LiveError(Exception):
    """Why nothing is drawn, in a sentence for the visitor."""


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
                raise LiveError("Your last wish is still being drawn: wait for it, or cancel it.")
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
