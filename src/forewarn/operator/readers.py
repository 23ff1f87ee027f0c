"""Threads for reading the store and for other long work that must not run on the guests' loop.

A few threads and a bounded queue. Work whose client has gone is dropped before it begins.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from forewarn.errors import ForewarnError, Stopping

R = TypeVar("R")

_THREADS = 2  # more would only compete with the guests' loop for the interpreter
_MOST_WAITING = 32
_JOIN_SECONDS = 1.0


class TooBusy(ForewarnError):
    """Too much work waits already; nothing was done."""


class ClientGone(Exception):
    """The client closed its connection; nobody waits for the result."""


class _Job(NamedTuple):
    act: Callable[[], Any]
    future: Future[Any]
    is_wanted: Callable[[], bool]


class ReaderPool:
    """Runs work on a few threads of its own, in the order in which it came."""

    def __init__(self, threads: int = _THREADS, most_waiting: int = _MOST_WAITING) -> None:
        self._most_threads = threads
        self._most_waiting = most_waiting
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._is_closed = False

    async def call(
        self, act: Callable[[], R], is_wanted: Callable[[], bool] = lambda: True, *, may_refuse: bool = True
    ) -> R:
        """Run it on a thread; raises `TooBusy` if too much waits, `ClientGone` if nobody wants it any more.

        Pass `may_refuse=False` for the next part of a response that has begun, and for requests that change
        something.
        """
        return await asyncio.wrap_future(self._submit(act, is_wanted, may_refuse=may_refuse))

    def _submit(self, act: Callable[[], R], is_wanted: Callable[[], bool], *, may_refuse: bool) -> Future[R]:
        future: Future[R] = Future()
        with self._changed:
            if self._is_closed:
                raise Stopping("The service is stopping.", "Try again when it is back.")
            if len(self._jobs) >= self._most_waiting:
                self._drop_unwanted()
            if len(self._jobs) >= self._most_waiting and may_refuse:
                raise TooBusy("Too much work is waiting already.", "Try again in a few seconds.")
            self._jobs.append(_Job(act, future, is_wanted))
            if self._idle < len(self._jobs) and len(self._threads) < self._most_threads:
                thread = threading.Thread(target=self._run, name=f"reader-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return future

    def _drop_unwanted(self) -> None:
        kept = [job for job in self._jobs if not job.future.cancelled() and job.is_wanted()]
        dropped = [job for job in self._jobs if not job.future.cancelled() and not job.is_wanted()]
        self._jobs = deque(kept)
        for job in dropped:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(ClientGone())

    def _run(self) -> None:
        while (job := self._next()) is not None:
            if job.future.set_running_or_notify_cancel():
                try:
                    if not job.is_wanted():
                        raise ClientGone  # noqa: TRY301 - told to whoever waits, as all else
                    job.future.set_result(job.act())
                except BaseException as problem:  # noqa: BLE001 - it belongs to whoever asked
                    job.future.set_exception(problem)
            del job  # its result may be large

    def _next(self) -> _Job | None:
        with self._changed:
            self._idle += 1
            while not self._jobs and not self._is_closed:
                self._changed.wait()
            self._idle -= 1
            return self._jobs.popleft() if self._jobs else None

    def close(self) -> None:
        """Refuse what waits, and give what runs a moment to end."""
        with self._changed:
            self._is_closed = True
            waiting, self._jobs = self._jobs, deque()
            self._changed.notify_all()
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(Stopping("The service is stopping.", "Try again when it is back."))
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
