"""The plane's own thread: requests one after the other, and a tick whenever something is due.

Everything that touches the plane runs here. A request is answered when it is committed and what it made due has
been decided.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, ParamSpec, TypeVar

from forewarn.control.plane import ControlPlane
from forewarn.control.timekeeper import Timekeeper
from forewarn.errors import Stopping, StoreError, StoreUnavailable
from forewarn.logs import get_logger

log = get_logger()

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V")

_PROBE_SECONDS = 1.5  # of real time without a commit; a step of the wall clock is noticed within this, too
_PLAY_STEP_SECONDS = 0.05
_RETRY_SECONDS = 1.0
_FLUSH_SECONDS = 60.0
_SOON_SECONDS = 1.0  # after something new was shown
_MOST_JOBS = 256  # before the next tick
_PRUNE_SECONDS = 0.25  # between two batches of what is let go
_STOP_SECONDS = 6.0  # for the store to answer when the service ends


class _Job(NamedTuple):
    act: Callable[[], Any]
    future: Future[Any]
    view: Callable[[Any], Any] | None = None  # of the result, after the tick


_Done = tuple[_Job, Any, BaseException | None]


class Runner:
    """Runs a plane on a thread of its own."""

    def __init__(self, plane: ControlPlane, timekeeper: Timekeeper | None = None) -> None:
        self._plane = plane
        self._timekeeper = timekeeper
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="plane", daemon=True)
        self._gate = threading.Lock()
        self._is_stopping = False
        self._flushed_at = time.monotonic()
        self._pruned_at = time.monotonic()
        self._probed_at = time.monotonic()
        self._committed = plane.world.number  # at that time
        self._outage: str | None = None  # why the store cannot be used, until a probe succeeds
        self._tick_problem: str | None = None  # why the last tick failed
        self._loop_bug: str | None = None  # the last bug of a flush, a probe or a prune that was logged

    def start(self) -> None:
        """Begin to tick."""
        self._thread.start()

    def stop(self) -> bool:
        """Finish what is under way, refuse what waits behind it, write down what is only in memory, and end.

        False: the thread still waits for the store and is left behind.
        """
        with self._gate:
            self._is_stopping = True
            self._jobs.put(None)
        self._thread.join(_STOP_SECONDS)
        return not self._thread.is_alive()

    @property
    def problem(self) -> str | None:
        """Why the plane cannot do its work now; None: it can."""
        return self._outage or self._tick_problem

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def submit(self, act: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Let the plane's thread do it."""
        return self._put(_Job(lambda: act(*args, **kwargs), Future()))

    def _put(self, job: _Job) -> Future[Any]:
        with self._gate:  # nothing comes in behind the last job
            if not self._is_stopping:
                self._jobs.put(job)
                return job.future
        job.future.set_exception(Stopping("The service is stopping.", "Try again when it is back."))
        return job.future

    async def call(self, act: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Let the plane's thread do it, and wait for the result without blocking the loop."""
        return await asyncio.wrap_future(self.submit(act, *args, **kwargs))

    async def change(self, act: Callable[[], R], view: Callable[[R], V]) -> V:
        """Let the plane's thread do it, and view the result there once what it made due has been decided."""
        viewed: Future[V] = self._put(_Job(act, Future(), view))
        return await asyncio.wrap_future(viewed)

    def _run(self) -> None:
        self._tick()
        while not self._is_stopping:
            done = self._do_jobs(self._wait_for_jobs())
            self._tick()
            self._probe_now_and_then()
            for job, result, problem in done:
                _answer(job, result, problem)
            self._flush_now_and_then()
            self._prune_while_idle()
        self._do_last()

    def _wait_for_jobs(self) -> list[_Job]:
        jobs: list[_Job] = []
        try:
            first = self._jobs.get(timeout=self._sleep_seconds())
            while first is not None:
                jobs.append(first)
                if len(jobs) >= _MOST_JOBS:
                    break
                first = self._jobs.get_nowait()
        except queue.Empty:
            pass
        return jobs

    def _do_jobs(self, jobs: list[_Job]) -> list[_Done]:
        done: list[_Done] = []
        for job in jobs:
            if job.future.set_running_or_notify_cancel():
                try:
                    done.append((job, job.act(), None))
                except BaseException as problem:  # noqa: BLE001 - it belongs to whoever asked
                    if isinstance(problem, StoreUnavailable):
                        self._note_outage(problem)
                    done.append((job, None, problem))
        return done

    def _sleep_seconds(self) -> float:
        if self.problem is not None:
            return _RETRY_SECONDS
        longest = _SOON_SECONDS if self._plane.wants_flush else _PROBE_SECONDS
        if self._plane.retention.is_due:
            longest = _PRUNE_SECONDS
        longest = min(longest, max(0.0, self._probed_at + _PROBE_SECONDS - time.monotonic()))
        if self._timekeeper is not None:
            return self._timekeeper.until_next(_PLAY_STEP_SECONDS) if self._timekeeper.rate else longest
        wake = self._plane.next_wake()
        if wake is None:
            return longest
        return min(max((wake - self._plane.clock.now()).total_seconds(), 0.0), longest)

    def _tick(self) -> None:
        """Tick; what goes wrong is told, and tried again."""
        try:
            if self._timekeeper is not None:
                self._timekeeper.keep_up()
            self._plane.tick()
        except StoreError as problem:
            self._note_outage(problem)
            self._tick_problem = str(problem)  # only a tick that succeeds ends it, not a probe
        except Exception as problem:
            if self._tick_problem is None:
                log.exception("tick failed")
            self._tick_problem = f"The last tick failed: {problem}"
        else:
            if self._tick_problem is not None and self._outage is None:
                log.info("tick recovered")
            self._tick_problem = None

    def _probe_now_and_then(self) -> None:
        """Commit something small when nothing else was for a while, and until it succeeds after an outage."""
        if self._outage is None:
            if self._plane.world.number != self._committed:
                self._committed = self._plane.world.number
                self._probed_at = time.monotonic()
            if time.monotonic() - self._probed_at < _PROBE_SECONDS:
                return
        if self._try("probe", self._plane.probe_store) and self._outage is not None and self._tick_problem is None:
            log.info("store available")
            self._outage = None
        self._probed_at = time.monotonic()

    def _try(self, chore: str, act: Callable[[], object]) -> bool:
        """Do a chore; log a store that fails as an outage, and a bug as what it is, once."""
        try:
            act()
        except StoreError as problem:
            self._note_outage(problem)
        except Exception as problem:
            if self._loop_bug != str(problem):
                self._loop_bug = str(problem)
                log.exception("plane chore failed unexpectedly", chore=chore)
        else:
            return True
        return False

    def _note_outage(self, problem: StoreError) -> None:
        """Log the outage once; a successful tick and a successful probe end it."""
        if self._outage is None:
            log.error("store unavailable", problem=str(problem), hint=problem.hint)
        self._outage = str(problem)

    def _flush_now_and_then(self) -> None:
        pause = _SOON_SECONDS if self._plane.wants_flush else _FLUSH_SECONDS
        if time.monotonic() - self._flushed_at >= pause and self._outage is None:
            self._flush()

    def _flush(self) -> None:
        self._flushed_at = time.monotonic()
        self._try("flush", self._plane.flush)  # if it fails, the next one writes it all

    def _prune_while_idle(self) -> None:
        """Let go of a little of what is too old; not while somebody waits, and not one batch upon the other."""
        retention = self._plane.retention
        if not retention.is_due or not self._jobs.empty() or self._outage is not None:
            return
        if time.monotonic() - self._pruned_at < _PRUNE_SECONDS:
            return
        if not self._try("prune", retention.prune):
            retention.put_off()
        self._pruned_at = time.monotonic()

    def _do_last(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is not None and job.future.set_running_or_notify_cancel():
                job.future.set_exception(Stopping("The service is stopping.", "Try again when it is back."))
        if self._outage is None:
            self._flush()


def _answer(job: _Job, result: object, problem: BaseException | None) -> None:
    """Tell whoever asked what came of it."""
    if problem is None and job.view is not None:
        try:
            result = job.view(result)
        except BaseException as trouble:  # noqa: BLE001 - it belongs to whoever asked
            problem = trouble
    if problem is None:
        job.future.set_result(result)
    else:
        job.future.set_exception(problem)
