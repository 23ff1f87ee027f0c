"""For programs that would rather be called than configured: changes to iterate over, a block that ends in time.

Both forms, the plain and the asyncio one, are fed by one thread that watches. Only who uses asyncio imports it.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from forewarn.agent.changes import OVER, Change
from forewarn.agent.compat import cancels_of, take_back_cancel
from forewarn.agent.config_values import as_endpoints, as_text, as_texts, seconds
from forewarn.agent.endpoints import told_by
from forewarn.agent.observing import Observer
from forewarn.agent.settings import AZURE, Settings
from forewarn.agent.watching import Trouble

if TYPE_CHECKING:
    import asyncio
    from typing import Self

_LEAST_POLL_SECONDS = 0.01
_T = TypeVar("_T")

log = logging.getLogger("forewarn.agent")


def watch(
    endpoint: str | Sequence[str] = "",
    *,
    names: str | Sequence[str] = (),
    api_version: str = "",
    poll_seconds: float = 1,
    on_trouble: Callable[[Trouble], None] | None = None,
) -> Watch:
    """Every change of an event, as it comes, for a `for` loop or an `async for`.

    The endpoint is a URL, several, or "discover"; without one, what SCHEDULEDEVENTSIP in the environment says, or
    else Azure's address. `names` are names of this VM besides those that the endpoint and the machine know.
    `ValueError` says what cannot be meant.
    """
    if on_trouble is not None:
        _read("on_trouble", _as_function, on_trouble)
    return Watch(_settings(endpoint, names, api_version, poll_seconds), on_trouble)


def until_maintenance(
    endpoint: str | Sequence[str] = "",
    *,
    names: str | Sequence[str] = (),
    api_version: str = "",
    poll_seconds: float = 1,
    where: Callable[[Change], bool] = lambda _: True,
) -> UntilMaintenance:
    """A block that is cancelled when maintenance of this VM is coming: `async with`, or `with` and `check()`."""
    _read("where", _as_function, where)
    return UntilMaintenance(_settings(endpoint, names, api_version, poll_seconds), where)


def _settings(
    endpoint: str | Sequence[str], names: str | Sequence[str], api_version: str, poll_seconds: float
) -> Settings:
    return Settings(
        endpoints=_read("endpoint", as_endpoints, endpoint or told_by(os.environ) or AZURE),
        names=_read("names", as_texts, names),
        api_version=_read("api_version", as_text, api_version),
        poll_seconds=_read("poll_seconds", seconds(_LEAST_POLL_SECONDS), poll_seconds),
    )


def _read(argument: str, read: Callable[[object], _T], said: object) -> _T:
    """What an argument means; refused with its name, in a sentence."""
    if isinstance(said, Iterable) and not isinstance(said, str) and not callable(said):
        said = tuple(said)
    try:
        return read(said)
    except ValueError as problem:
        raise ValueError(f"{argument}: {str(problem).rstrip('.')}.") from None


def _as_function(value: object) -> object:
    if not callable(value):
        raise ValueError(f"{value!r} is no function")  # noqa: TRY004 - told like all the others
    return value


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
    """A block that ends when maintenance of this VM is coming. Afterwards `event` says which; None: it did not.

    Before Python 3.11 a task does not count cancellations: if something else cancels the task at the moment when
    maintenance cancels the block, `async with` swallows both.
    """

    def __init__(self, settings: Settings, where: Callable[[Change], bool]) -> None:
        self.event: Change | None = None
        self._where = where
        self._problem: BaseException | None = None  # what `where` has raised
        self._has_raised = False  # to whoever asked in the block
        self._came = threading.Event()  # or `where` has failed: either ends the block
        self._observer = Observer(settings, self._note)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._has_cancelled = False
        self._cancels_before = 0

    def __bool__(self) -> bool:
        """Whether it is coming."""
        self._raise_problem()
        return self.event is not None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is coming, or the seconds are over; whether it is coming."""
        self._came.wait(seconds)
        return bool(self)

    def check(self) -> None:
        """End the block if it is coming."""
        self._raise_problem()
        if self.event is not None:
            raise MaintenanceComing(self.event)

    def _note(self, change: Change) -> None:
        if self._came.is_set() or not change.is_mine or change.what in OVER:
            return
        try:
            if not self._where(change):
                return
        except BaseException as problem:  # noqa: BLE001 - it is the program's own, and raised there
            self._problem = problem
        else:
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
        return self._leave(problem, is_ended=self._is_own(problem))

    async def __aenter__(self) -> Self:
        import asyncio  # noqa: PLC0415 - not for programs without it

        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._cancels_before = cancels_of(self._task) if self._task else 0
        self._observer.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool:
        import asyncio  # noqa: PLC0415 - not for programs without it

        task, self._task = self._task, None
        self._observer.stop()
        is_ended = self._is_own(problem)
        if task is not None and self._has_cancelled:
            # Only our own cancellation ends here; somebody else's goes on its way.
            is_ours_alone = take_back_cancel(task) <= self._cancels_before
            is_ended = is_ended or (is_ours_alone and isinstance(problem, asyncio.CancelledError))
        return self._leave(problem, is_ended=is_ended)

    def _is_own(self, problem: BaseException | None) -> bool:
        """Whether it is what `check` raises."""
        return isinstance(problem, MaintenanceComing) and problem.event is self.event

    def _raise_problem(self) -> None:
        if self._problem is not None:
            self._has_raised = True
            raise self._problem

    def _leave(self, problem: BaseException | None, *, is_ended: bool) -> bool:
        """Whether the block ends well. What `where` raised is raised here, if nobody has been told of it."""
        if self._problem is None or self._has_raised:
            return is_ended
        if problem is None or is_ended:
            self._raise_problem()
        log.error("`where` failed, and the block has ended by something else", exc_info=self._problem)
        return is_ended
