"""Waiting for a socket, for a while, or for somebody who calls."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

_SLICE_SECONDS = 0.5  # how often a wait looks up, if nobody calls


class Waker:
    """One thread waits; any other may wake it."""

    def __init__(
        self,
        look_up: Callable[[], None],
        timer: Callable[[], float] = time.monotonic,
        selector: selectors.BaseSelector | None = None,
    ) -> None:
        self._look_up = look_up
        self._timer = timer
        self._lock = threading.RLock()  # a finalizer may wake while its thread is waking or closing
        self._is_closed = False
        self._inner, self._outer = socket.socketpair()
        self._inner.settimeout(0)
        self._outer.settimeout(0)
        self._selector = selector or selectors.DefaultSelector()
        self._selector.register(self._inner, selectors.EVENT_READ)

    def wake(self) -> None:
        """Have the wait look up now, or the next one at once."""
        with self._lock, suppress(BlockingIOError):
            if not self._is_closed:
                self._outer.send(b"!")

    def until_readable(self, connection: socket.socket, seconds: float) -> None:
        """Return when there is something to read, or the time is up; `look_up` may raise to break it off."""
        deadline = self._timer() + seconds
        self._selector.register(connection, selectors.EVENT_READ)
        try:
            while (left := deadline - self._timer()) > 0:
                self._look_up()
                ready = {key.fileobj for key, _ in self._selector.select(min(left, _SLICE_SECONDS))}
                if self._inner in ready:
                    self._drain()
                if connection in ready:
                    return
        finally:
            self._selector.unregister(connection)

    def pause(self, seconds: float, is_over: Callable[[], bool]) -> None:
        """Wait so long, or until it is over."""
        deadline = self._timer() + seconds
        while not is_over() and (left := deadline - self._timer()) > 0:
            if self._selector.select(min(left, _SLICE_SECONDS)):
                self._drain()

    def close(self) -> None:
        """Let go of its sockets; waking does nothing from now on."""
        with self._lock:
            self._is_closed = True
            self._selector.close()
            self._inner.close()
            self._outer.close()

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            self._inner.recv(4096)
