"""Attempts that are under way, and what the driver says of them.

After a crash, or whenever it is not certain that `begin` was called, the driver is asked first; only an attempt
that is proven not to have begun begins (again).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from forewarn.control.timer_heap import TimerHeap
from forewarn.core.decide import AttemptReport
from forewarn.core.operation import Attempt, Outcome
from forewarn.core.terms import VmState
from forewarn.core.world import World
from forewarn.drivers.base import Driver, Ended, NotBegun, Progress, Running, Undecidable
from forewarn.logs import get_logger

log = get_logger()

Key = tuple[str, str]
_MOMENT = timedelta(seconds=1)


def _feared(world: World, attempt: Attempt) -> VmState | None:
    """What a machine is taken for when nobody knows: down, unless its owner was only switching it."""
    return VmState.DOWN if world.operations[attempt.operation].cause.takes_vm_down else None


class AttemptTracker:
    """Begins attempts and collects how they end; never waits, never raises for a driver's sake."""

    def __init__(self, driver: Driver, limit: timedelta) -> None:
        self._driver = driver
        self._limit = limit
        self._looks: TimerHeap[Key, datetime] = TimerHeap()

    def pick_up(self, attempts: Iterable[Attempt], at: datetime) -> None:
        """Look after attempts from then on, whoever recorded them and whatever the wall clock showed then."""
        for attempt in attempts:
            if attempt.outcome is None:
                self._looks.set(attempt.key, at)

    def begin(self, attempts: Iterable[Attempt], now: datetime) -> None:
        """Act on machines whose attempts were just committed."""
        for attempt in attempts:
            self._begin(attempt)
            self._looks.set(attempt.key, now)

    def _begin(self, attempt: Attempt) -> None:
        log.info("action begins", operation=attempt.operation, vm=attempt.vm, action=attempt.action)
        try:
            self._driver.begin(attempt)
        except Exception:  # whatever a driver raises, `check` decides what happened
            log.exception("driver failed to begin", operation=attempt.operation, vm=attempt.vm)

    def reports(self, world: World, now: datetime) -> dict[Key, AttemptReport]:
        """What has ended since the last time, as far as it was due to be looked at."""
        found: dict[Key, AttemptReport] = {}
        for key in self._looks.take(now):
            attempt = world.attempts.get(key)
            if attempt is None or attempt.outcome is not None:
                continue
            report = self._look(world, attempt, now)
            if report is not None:
                found[key] = report
                self._looks.set(key, now)  # until the report is committed it may be needed again
        return found

    def _look(self, world: World, attempt: Attempt, now: datetime) -> AttemptReport | None:
        progress = self._check(attempt)
        match progress:
            case Ended(outcome, reason, state, host):
                return AttemptReport(*attempt.key, outcome, reason, state, host)
            case Undecidable(why):
                return AttemptReport(*attempt.key, Outcome.FAILED, why, _feared(world, attempt))
            case NotBegun() | Running() if now >= attempt.deadline_at:
                why = f"no outcome after {self._limit.total_seconds():.0f} s"
                state = None if isinstance(progress, NotBegun) else _feared(world, attempt)
                return AttemptReport(*attempt.key, Outcome.FAILED, why, state)
            case NotBegun():
                self._begin(attempt)
                self._looks.set(attempt.key, now + _MOMENT)
            case Running(again_at):
                again_at = again_at if again_at is not None and again_at > now else now + _MOMENT
                self._looks.set(attempt.key, min(again_at, attempt.deadline_at))
        return None

    def _check(self, attempt: Attempt) -> Progress:
        try:
            return self._driver.check(attempt)
        except Exception:  # not knowing now is not failing: the deadline bounds it
            log.exception("driver failed to check", operation=attempt.operation, vm=attempt.vm)
            return Running()

    def next_look(self) -> datetime | None:
        """When the next attempt wants to be looked at."""
        return self._looks.next()
