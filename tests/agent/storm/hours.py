"""Virtual time for real threads: it passes only while every thread of the agent waits, and then at once.

One thread goes on at a time, in an order that depends on nothing but what they wait for. Sockets are real: a
thread that waits for an answer counts as waiting once the endpoint has its request in hand. Even on loopback what
one side has sent or closed may reach the other later, and time does not pass before it has.
"""

from __future__ import annotations

import queue
import select
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

ENDPOINT = "endpoint"  # the name of the endpoint's threads; only those that hold a request are waited for
BEGINNING = datetime(2026, 3, 2, 12, 0, tzinfo=timezone.utc)
_FIRST_GLANCE_SECONDS = 0.0003  # of real time; each glance waits longer than the one before, up to:
_LAST_GLANCE_SECONDS = 0.01
_MOST_GLANCES = 30_000
_LEAST_SECONDS = 1e-6  # of any wait: less may be too little for a sum of floats to grow


@dataclass(eq=False)
class _Wait:
    until: float
    is_ready: Callable[[], bool]
    thread: threading.Thread
    key: str  # of those who are ready at the same time the first by this goes on
    answer_on: socket.socket | None = None  # an answer is waited for
    holds: socket.socket | None = None  # a request is held, whose answer somebody waits for
    is_approval: bool = False  # the request that is held
    go: threading.Event = field(default_factory=threading.Event)


class Hours:
    """The time, and everybody who waits."""

    def __init__(self) -> None:
        self._now = 0.0
        self._waits: list[_Wait] = []
        self._news = threading.Condition()
        self._strangers = set(threading.enumerate())
        self._answering: set[threading.Thread] = set()  # that went on with a request which they held
        self._is_over = False

    # For those who live in it.

    def monotonic(self) -> float:
        return self._now

    def date(self) -> datetime:
        return BEGINNING + timedelta(seconds=self._now)

    def wait(
        self, seconds: float, is_ready: Callable[[], bool] = lambda: False, key: str = "", **kind: Any
    ) -> None:
        """Let so much time pass, or less if it is ready before."""
        me = threading.current_thread()
        wait = _Wait(self._now + max(seconds, _LEAST_SECONDS), is_ready, me, f"{me.name} {key}", **kind)
        with self._news:
            if self._is_over:
                return
            self._answering.discard(me)
            self._waits.append(wait)
            self._news.notify_all()
        wait.go.wait()

    def has_answered(self) -> None:
        """Whoever held a request is done with it."""
        with self._news:
            self._answering.discard(threading.current_thread())
            self._news.notify_all()

    # For whoever lets it pass.

    def pass_until(self, end: float, is_over: Callable[[], bool] = lambda: False) -> None:
        """Let time pass, up to an instant or until it is over."""
        while True:
            self._settle()
            if is_over():
                return
            wait = self._next()
            if wait is None or (wait.until > end and not wait.is_ready()):
                self._now = max(self._now, end)
                return
            if not wait.is_ready():
                self._now = max(self._now, wait.until)
            with self._news:
                self._waits.remove(wait)
                if wait.holds:
                    self._answering.add(wait.thread)
            wait.go.set()

    def close(self) -> None:
        """Nobody waits any more."""
        with self._news:
            self._is_over = True
            waits, self._waits = self._waits, []
        for wait in waits:
            wait.go.set()

    def _next(self) -> _Wait | None:
        with self._news:
            ready = [wait for wait in self._waits if wait.is_ready()]
            if ready:
                return min(ready, key=lambda wait: wait.key)
            return min(self._waits, key=lambda wait: (wait.until, wait.key), default=None)

    def _settle(self) -> None:
        """Return when every thread waits, in this time or for an answer that is held in it."""
        busy: list[str] = []
        pause = _FIRST_GLANCE_SECONDS
        with self._news:
            for _ in range(_MOST_GLANCES):
                busy = self._busy()
                if not busy:
                    return
                self._news.wait(pause)
                pause = min(pause * 1.5, _LAST_GLANCE_SECONDS)
        raise AssertionError(f"these wait for something else than virtual time: {', '.join(busy)}")

    def _busy(self) -> list[str]:
        waiting = {wait.thread for wait in self._waits}
        busy = [
            thread.name
            for thread in threading.enumerate()
            if thread not in self._strangers | waiting and thread.name != ENDPOINT
        ]
        approving = [name for name in busy if name.startswith("approve ")]  # a thread that does nothing but ask
        busy += [thread.name for thread in self._answering if thread.is_alive()]
        if len(busy) > len(approving):
            return busy
        held = [wait for wait in self._waits if wait.holds and not is_readable(wait.holds)]
        if len(approving) > sum(wait.is_approval for wait in held):
            return approving
        return self._under_way(held)

    def _under_way(self, held: list[_Wait]) -> list[str]:
        """Questions that have not arrived, answers that have not, and ends of connections that were left."""
        asked = {
            wait.answer_on.getsockname()
            for wait in self._waits
            if wait.answer_on and not is_readable(wait.answer_on)
        }
        in_hand = {_other_side(wait.holds) for wait in held if wait.holds and not wait.is_approval}
        return [f"what is on its way from {place}" for place in asked ^ in_hand]


def _other_side(connection: socket.socket) -> Any:
    try:
        return connection.getpeername()
    except OSError:  # broken off a moment ago: the next glance finds it readable
        return None


def is_readable(connection: socket.socket) -> bool:
    """Whether there is something to read, be it the end."""
    if connection.fileno() < 0:
        return True
    return bool(select.select([connection], [], [], 0)[0])


class WaitingSelector(selectors.DefaultSelector):
    """A selector whose time is virtual, and whose sockets are real."""

    def __init__(self, hours: Hours) -> None:
        super().__init__()
        self._hours = hours

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "the watcher never waits without a bound"
        others = [key.fileobj for key in list(self.get_map().values())[1:]]
        self._hours.wait(
            timeout, lambda: bool(super(WaitingSelector, self).select(0)), answer_on=others[0] if others else None
        )
        return super().select(0)


class Inbox:
    """The keeper's queue, whose time is virtual."""

    def __init__(self, hours: Hours) -> None:
        self._hours = hours
        self._messages: deque[Any] = deque()

    def send(self, message: Any) -> None:
        self._messages.append(message)

    def get(self, timeout: float) -> Any:
        self._hours.wait(timeout, lambda: bool(self._messages))
        return self.get_nowait()

    def get_nowait(self) -> Any:
        if not self._messages:
            raise queue.Empty
        return self._messages.popleft()
