"""The real service under a virtual clock, in this process, for whoever tests with it.

It runs on a thread of its own and is ready when `start` returns. That thread begins and ends all there is of it:
whoever is interrupted while waiting for it leaves nothing behind. With a seed, the same calls in the same order
give the same ids, and so the same bytes to guests.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, ParamSpec, Self, TypeVar

from forewarn.config import Settings
from forewarn.control.timekeeper import Timekeeper
from forewarn.core.refusal import Refusal
from forewarn.errors import ForewarnError, Stopping
from forewarn.ids import random_id, seeded_ids
from forewarn.service import OpenSockets, Service

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_START = datetime(2026, 1, 5, 9, 0, 0, tzinfo=UTC)  # a Monday morning; any instant would do
_ANSWER_SECONDS = 60.0  # real ones, for whatever is asked of the service's threads
_LOOK = "Look for what holds its threads up: py-spy dump --pid PID"
LAST_START = datetime(9980, 1, 1, tzinfo=UTC)  # of a clock; years that can be announced have to follow
CLOSED = ("This service has been closed.", "Make another one.")
_INSTANT = "Write it like datetime(2026, 1, 5, 9, 0, tzinfo=UTC)."


class Refused(ForewarnError):
    """The service said no, or what was asked of it makes no sense."""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class Emulator:
    """One service on ports of its own. A call returns when what was asked, and what is due then, has been done."""

    def __init__(
        self,
        *,
        seed: int | None = None,
        start: datetime = DEFAULT_START,
        opened: OpenSockets | None = None,
        furnish: Callable[[Service], None] = lambda _: None,
        **settings: Any,  # noqa: ANN401 - settings are of any type
    ) -> None:
        """`furnish` puts in what is to be there before anybody asks; what it raises, `start` does."""
        given: dict[str, Any] = {
            "metadata": (("127.0.0.1", 0),),
            "operator": ("127.0.0.1", 0),
            "store": "sqlite://",
            "clock": "virtual",
            "clock_start": start,
        } | settings
        if given["clock_start"] is not None:
            given["clock_start"] = in_utc(given["clock_start"])
        self._settings = Settings(**given)
        self._new_id = random_id if seed is None else seeded_ids(seed)
        self._opened = opened
        self._furnish = furnish
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="emulator", daemon=True)
        self._began: Future[None] = Future()
        self._ending = asyncio.Event()
        self._is_over = threading.Event()
        self._trouble: BaseException | None = None  # what went wrong at the end

    @cached_property
    def service(self) -> Service:
        """What runs. It is made when first asked for, by `start` at the latest; then `stop` has to follow."""
        return Service(self._settings, self._new_id, self._opened)

    # Its life.

    def start(self) -> Self:
        """Hear guests and operators."""
        try:
            self._loop = asyncio.new_event_loop()
            self._furnish(self.service)
            self._thread.start()
            _outcome(self._began)
        except BaseException:
            self._end()
            raise
        return self

    def stop(self) -> None:
        """Answer who waits, and let go of everything; whoever is interrupted meanwhile is so when that is done."""
        self._end()
        if self._trouble is not None:
            raise self._trouble

    def _run(self) -> None:
        """All that happens on the thread; at its end every task has been ended, and the loop is closed."""
        try:
            with asyncio.Runner(loop_factory=lambda: self._running_loop) as runner:
                runner.run(self._live())
        except BaseException as problem:  # noqa: BLE001 - it belongs to whoever waits
            if self._began.done():
                self._trouble = problem
            else:
                self._began.set_exception(problem)
        finally:
            self._is_over.set()

    async def _live(self) -> None:
        """Begin, and end when it is time to; a beginning that takes too long is broken off, and cleans up."""
        starting = asyncio.ensure_future(self.service.start())
        ending = asyncio.ensure_future(self._ending.wait())
        await asyncio.wait({starting, ending}, return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            starting.cancel()
        await starting
        self._began.set_result(None)
        await ending
        await self.service.stop()

    def _end(self) -> None:
        if self._thread.ident is None:  # it never began
            self._let_go()
            return
        try:
            self._say_end_and_wait()
        except BaseException:  # whoever wants to be gone at once leaves nothing either
            self._say_end_and_wait()
            raise
        if not self._is_over.is_set():
            raise ForewarnError(f"The service has not ended within {_ANSWER_SECONDS:g} s.", _LOOK)

    def _say_end_and_wait(self) -> None:
        if not self._running_loop.is_closed():
            with suppress(RuntimeError):  # it has been closed this moment
                self._running_loop.call_soon_threadsafe(self._ending.set)
        if self._is_over.wait(_ANSWER_SECONDS):  # to be interrupted in a join would make the thread look dead
            self._thread.join()

    def _let_go(self) -> None:
        if self._loop is not None:
            self._loop.close()
        if "service" in vars(self):
            self.service.let_go()

    @property
    def is_up(self) -> bool:
        """Whether it may be asked for something."""
        return self._thread.ident is not None and not self._is_over.is_set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # What is asked of it.

    @property
    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise Refused("This service has not been started.", "Use it in a with block, or call start().")
        return self._loop

    def on_loop(self, act: Coroutine[Any, Any, R]) -> R:
        """Let the listeners' thread do it, and wait for the result."""
        return _outcome(asyncio.run_coroutine_threadsafe(act, self._running_loop))

    def on_plane(self, act: Callable[P, R | Refusal], *args: P.args, **kwargs: P.kwargs) -> R:
        """Let the plane's thread do it, and wait until it is committed; a refusal is raised."""
        try:
            outcome = _outcome(self.service.runner.submit(act, *args, **kwargs))
        except Stopping:
            raise Refused(*CLOSED) from None
        if isinstance(outcome, Refusal):
            is_command = "forewarn " in outcome.hint  # which nobody can type in a test
            raise Refused(outcome.message, "" if is_command else outcome.hint)
        return outcome

    def becomes(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Whether it is so, or comes to be in so many real seconds; it is asked on the plane's thread."""
        if not seconds:
            return self.on_plane(is_so)
        came, ticked = threading.Event(), self.service.plane.ticked

        def look(_: object = None) -> None:
            if is_so():
                came.set()

        def begin() -> Callable[[], None]:
            unsubscribe = ticked.subscribe(look)
            look()
            return unsubscribe

        unsubscribe = self.on_plane(begin)
        try:
            return came.wait(seconds)
        finally:
            self.on_plane(unsubscribe)

    # The clock.

    @property
    def now(self) -> datetime:
        """What time it is for maintenance."""
        return self.service.clock.now()

    def advance(self, by: timedelta) -> datetime:
        """Let that much time pass; returns when all that was due has been done."""
        self.on_plane(self._timekeeper.advance, by)
        return self.now

    def next(self) -> datetime:
        """Let time pass until something happens."""
        self.on_plane(self._timekeeper.next)
        return self.now

    def next_wake(self) -> datetime | None:
        """When something is due; None: nothing is, however long one waits."""
        return self.on_plane(self.service.plane.next_wake)

    @property
    def _timekeeper(self) -> Timekeeper:
        keeper = self.service.timekeeper
        if keeper is None:
            raise Refused(
                "This service runs on the machine's own clock; it cannot be moved.", "Use a virtual one."
            )
        return keeper


def in_utc(start: datetime) -> datetime:
    """The first instant of a clock, in the zone in which it is told to guests; one without a zone is in it."""
    if not isinstance(start, datetime):
        raise Refused(f"A clock cannot begin at {start!r}: it is no instant.", _INSTANT)
    if start.utcoffset() is None:
        start = start.replace(tzinfo=UTC)
    try:
        begins = start.astimezone(UTC)
    except OverflowError:
        raise Refused(f"A clock cannot begin at {start}: in UTC there is no such instant.", _INSTANT) from None
    if begins > LAST_START:
        raise Refused(f"A clock cannot begin at {start}: there would be no dates left to announce.", _INSTANT)
    return begins


def _outcome(asked: Future[R]) -> R:
    """What came of it; whoever does not wait for that takes back what was asked."""
    try:
        return asked.result(_ANSWER_SECONDS)
    except TimeoutError:
        if asked.done():
            raise
        asked.cancel()
        raise ForewarnError(f"The service has not answered within {_ANSWER_SECONDS:g} s.", _LOOK) from None
    except BaseException:
        asked.cancel()
        raise
