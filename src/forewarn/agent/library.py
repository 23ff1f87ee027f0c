"""For programs that would rather be called than configured: changes to iterate over, a block that ends in time.

Both forms, the plain and the asyncio one, are fed by one thread that watches. Only who uses asyncio imports it.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from forewarn.agent.changes import OVER, Change, Register
from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints, told_by
from forewarn.agent.events import Sighting
from forewarn.agent.metadata import EndpointError, Metadata
from forewarn.agent.names import Names
from forewarn.agent.settings import AZURE, Settings
from forewarn.agent.watching import Trouble, Watcher

if TYPE_CHECKING:
    import asyncio

_NAME_SECONDS = 5.0  # how long events wait for this VM's name: a notice may be short, and the hostname may do
_NAME_PAUSES_SECONDS = (10, 30, 60, 300)  # between questions for it; the last one repeats
_STOP_SECONDS = 5.0

log = logging.getLogger("forewarn.agent")


def watch(
    endpoint: str | Sequence[str] = "",
    *,
    names: Sequence[str] = (),
    api_version: str = "",
    poll_seconds: float = 1,
    on_trouble: Callable[[Trouble], None] | None = None,
) -> Watch:
    """Every change of an event, as it comes, for a `for` loop or an `async for`.

    The endpoint is a URL, several, or "discover"; without one, what SCHEDULEDEVENTSIP in the environment says, or
    else Azure's address. `names` are names of this VM besides those that the endpoint and the machine know.
    """
    return Watch(_settings(endpoint, names, api_version, poll_seconds), on_trouble)


def until_maintenance(
    endpoint: str | Sequence[str] = "",
    *,
    names: Sequence[str] = (),
    api_version: str = "",
    poll_seconds: float = 1,
    where: Callable[[Change], bool] = lambda _: True,
) -> UntilMaintenance:
    """A block that is cancelled when maintenance of this VM is coming: `async with`, or `with` and `check()`."""
    return UntilMaintenance(_settings(endpoint, names, api_version, poll_seconds), where)


def _settings(
    endpoint: str | Sequence[str], names: Sequence[str], api_version: str, poll_seconds: float
) -> Settings:
    if not endpoint:
        endpoint = told_by(os.environ) or AZURE
    endpoints = (endpoint,) if isinstance(endpoint, str) else tuple(endpoint)
    return Settings(endpoints=endpoints, names=tuple(names), api_version=api_version, poll_seconds=poll_seconds)


class Observer:
    """A thread that watches, and tells of every change."""

    def __init__(
        self,
        settings: Settings,
        tell: Callable[[Change], None],
        on_trouble: Callable[[Trouble], None] | None = None,
    ) -> None:
        self._clock = Clock()
        self._metadata = Metadata(Endpoints(settings.endpoints, os.environ), settings)
        self._names = Names(settings.names, socket.gethostname())
        self._register = Register(
            self._names.which,
            self._metadata.approve,
            self._clock.now,
            settings.longest_look,
            settings.apart_seconds,
        )
        self._tell = tell
        self._told_blind = False
        self._is_asking = False  # for this VM's name, in a thread of its own: it may hang, and looking must not
        self._has_name = threading.Event()  # or has waited for it long enough
        self._patience = threading.Timer(_NAME_SECONDS, self._go_on_with_name)
        self._patience.daemon = True
        self._stop = threading.Event()
        on_trouble = on_trouble or self._log_trouble
        self._watcher = Watcher(self._metadata, self._clock, settings, self._on_sighting, on_trouble)
        self._thread = threading.Thread(
            target=self._watcher.run, args=(self._stop,), name="forewarn-watch", daemon=True
        )

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer; returns at once."""
        self._stop.set()
        self._patience.cancel()
        self._watcher.look_again()

    def join(self) -> None:
        """Wait for the thread to end."""
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_STOP_SECONDS)

    def _on_sighting(self, sighting: Sighting) -> None:
        self._told_blind = False
        if not self._is_asking:
            self._is_asking = True
            self._patience.start()
            threading.Thread(target=self._ask_for_name, name="forewarn-name", daemon=True).start()
        if not self._has_name.is_set():
            return  # whose events these are is not known yet; there is another look as soon as it is
        for change in self._register.note(sighting):
            self._tell(change)
        if self._register.look_after is not None:
            self._watcher.look_again(self._register.look_after)

    def _ask_for_name(self) -> None:
        """Ask who this is, until the endpoint tells; until then it is left to the hostname."""
        tries = 0
        while not self._stop.is_set():
            try:
                self._names.learn(self._metadata.compute_name())
            except EndpointError as problem:
                level = logging.DEBUG if tries else logging.WARNING
                log.log(level, "the endpoint does not say which VM this is: %s", problem.message)
            self._go_on_with_name()
            if self._names.compute_name:
                return
            self._stop.wait(_NAME_PAUSES_SECONDS[min(tries, len(_NAME_PAUSES_SECONDS) - 1)])
            tries += 1

    def _go_on_with_name(self) -> None:
        if not self._has_name.is_set() or self._names.compute_name:
            self._has_name.set()
            self._patience.cancel()
            self._watcher.look_again()

    def _log_trouble(self, trouble: Trouble) -> None:
        if trouble.is_blind and not self._told_blind:
            log.warning("no answer since %s: %s", f"{trouble.since:%H:%M:%SZ}", trouble.message)
        self._told_blind = trouble.is_blind


class _Inbox:
    """Changes on their way from the thread that watches to whoever iterates."""

    def __init__(self) -> None:
        self._changes: deque[Change] = deque()
        self._news = threading.Condition()
        self._wakers: list[Callable[[], object]] = []
        self._is_closed = False

    def put(self, change: Change) -> None:
        with self._news:
            self._changes.append(change)
            self._wake()

    def close(self) -> None:
        with self._news:
            self._is_closed = True
            self._wake()

    def _wake(self) -> None:
        self._news.notify_all()
        wakers, self._wakers = self._wakers, []
        for wake in wakers:
            with suppress(RuntimeError):  # its loop is closed
                wake()

    def take(self) -> Change | None:
        """The next one, waited for; None: there will be no more."""
        with self._news:
            self._news.wait_for(lambda: self._changes or self._is_closed)
            return self._changes.popleft() if self._changes else None

    async def take_soon(self) -> Change | None:
        """The same, without holding up a loop."""
        import asyncio  # noqa: PLC0415 - not for programs without it

        loop = asyncio.get_running_loop()
        while True:
            with self._news:
                if self._changes or self._is_closed:
                    return self._changes.popleft() if self._changes else None
                woken = asyncio.Event()
                wake = partial(loop.call_soon_threadsafe, woken.set)
                self._wakers.append(wake)
            try:
                await woken.wait()
            finally:  # whoever is cancelled need not be woken
                with self._news, suppress(ValueError):
                    self._wakers.remove(wake)


class Watch:
    """Changes, to iterate over in either form. It ends when it is closed; the program's end closes it too."""

    def __init__(self, settings: Settings, on_trouble: Callable[[Trouble], None] | None = None) -> None:
        self._inbox = _Inbox()
        self._observer = Observer(settings, self._inbox.put, on_trouble)
        self._is_started = False
        weakref.finalize(self, self._observer.stop)  # whoever breaks out of a loop has nothing to close

    def close(self) -> None:
        """Watch no longer: the iteration ends after what has come already."""
        self._observer.stop()
        self._inbox.close()
        self._observer.join()

    def _begin(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._observer.start()

    def __iter__(self) -> Self:
        self._begin()
        return self

    def __next__(self) -> Change:
        self._begin()
        change = self._inbox.take()
        if change is None:
            raise StopIteration
        return change

    def __aiter__(self) -> Self:
        self._begin()
        return self

    async def __anext__(self) -> Change:
        self._begin()
        change = await self._inbox.take_soon()
        if change is None:
            raise StopAsyncIteration
        return change

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        # Without waiting for the thread: that would hold up the loop.
        self._observer.stop()
        self._inbox.close()


class MaintenanceComing(Exception):
    """Maintenance of this VM is coming; raised by `check`, and caught by the block around it."""

    def __init__(self, event: Change) -> None:
        super().__init__(f"{event.type} of {', '.join(event.resources)} is {event.what}")
        self.event = event


class UntilMaintenance:
    """A block that ends when maintenance of this VM is coming. Afterwards `event` says which; None: it did not."""

    def __init__(self, settings: Settings, where: Callable[[Change], bool]) -> None:
        self.event: Change | None = None
        self._where = where
        self._came = threading.Event()
        self._observer = Observer(settings, self._note)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._has_cancelled = False
        self._cancels_before = 0

    def __bool__(self) -> bool:
        """Whether it is coming."""
        return self._came.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is coming, or the seconds are over; whether it is coming."""
        return self._came.wait(seconds)

    def check(self) -> None:
        """End the block if it is coming."""
        if self.event is not None:
            raise MaintenanceComing(self.event)

    def _note(self, change: Change) -> None:
        if self.event is not None or not change.is_mine or change.what in OVER or not self._where(change):
            return
        self.event = change
        self._came.set()
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._has_cancelled = True
            self._task.cancel("maintenance is coming")

    def __enter__(self) -> Self:
        self._observer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._observer.stop()
        self._observer.join()
        return isinstance(problem, MaintenanceComing) and problem.event is self.event

    async def __aenter__(self) -> Self:
        import asyncio  # noqa: PLC0415 - not for programs without it

        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._cancels_before = self._task.cancelling() if self._task else 0
        self._observer.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool:
        import asyncio  # noqa: PLC0415 - not for programs without it

        task, self._task = self._task, None
        self._observer.stop()
        if isinstance(problem, MaintenanceComing):
            return problem.event is self.event
        if task is None or not self._has_cancelled:
            return False
        # Only our own cancellation ends here; somebody else's goes on its way.
        is_ours_alone = task.uncancel() <= self._cancels_before
        return is_ours_alone and isinstance(problem, asyncio.CancelledError)
