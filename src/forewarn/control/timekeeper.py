"""Moving the virtual clock.

`advance` returns only when everything due up to the new instant has been carried out, so a test never sleeps. All
of it is called on the plane's thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from forewarn.clock import VirtualClock
from forewarn.control.plane import ControlPlane

_MOST_TICKS_AT_ONCE = 10_000  # of one instant; far more than anything needs


class _Stop(NamedTuple):
    at: datetime
    reached: Callable[[], None]


class Timekeeper:
    """Moves a virtual clock and ticks the plane at every instant at which something is due."""

    def __init__(
        self, plane: ControlPlane, clock: VirtualClock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._plane = plane
        self._clock = clock
        self._monotonic = monotonic
        self.rate = 0.0  # virtual seconds per real one; 0: the clock stands still
        self._real_anchor = 0.0
        self._virtual_anchor = clock.now()
        self._stop: _Stop | None = None

    def advance(self, by: timedelta) -> None:
        """Let that much time pass."""
        self._move_to(self._clock.now() + by)

    def next(self) -> None:
        """Let time pass until something happens; nothing, where nothing is to come."""
        wake = self._plane.next_wake()
        if wake is not None:
            self._move_to(wake)

    def _move_to(self, target: datetime) -> None:
        """Polls so far belong to the instants so far: they are written down before the clock moves."""
        plane = self._plane
        plane.flush()
        plane.tick()
        self._tick_until(target)
        plane.flush()
        plane.retention.catch_up()
        self._drop_anchor()

    def _tick_until(self, target: datetime) -> None:
        """Tick at every instant at which something is due, and at the last."""
        plane, clock = self._plane, self._clock
        at_once = 0
        while (wake := plane.next_wake()) is not None and wake <= target:
            at_once = at_once + 1 if wake <= clock.now() else 0
            if at_once > _MOST_TICKS_AT_ONCE:
                raise RuntimeError(f"at {clock.now().isoformat()} something stays due, however often it is done")
            clock.move_to(wake)
            plane.tick()
        clock.move_to(target)
        plane.tick()

    def play(self, rate: float) -> None:
        """From now on let the clock run, so many times as fast as the real one; 0 stops it."""
        self.rate = rate
        self._drop_anchor()

    def _drop_anchor(self) -> None:
        self._real_anchor = self._monotonic()
        self._virtual_anchor = self._clock.now()

    def play_until(self, instant: datetime, reached: Callable[[], None]) -> None:
        """While it plays: go no further than this, until told of another instant; then catch up.

        Whoever does something at an exact instant of a running clock gets there so. `reached` is called when all
        that is due then has been done.
        """
        self._stop = _Stop(instant, reached)

    def keep_up(self) -> None:
        """While it plays: bring the clock to where it should be by now."""
        if not self.rate:
            return
        target, stop = self._played_to(), self._stop
        if stop is not None and stop.at <= target:
            target = stop.at
        self._plane.polls.collect()
        self._tick_until(target)
        if stop is not None and stop.at <= self._clock.now():
            stop.reached()

    def _played_to(self) -> datetime:
        return self._virtual_anchor + timedelta(seconds=(self._monotonic() - self._real_anchor) * self.rate)

    def until_next(self, longest: float) -> float:
        """While it plays: in how many real seconds something is due; the longest, where nothing is before that."""
        stop, wake = self._stop, self._plane.next_wake()
        if stop is not None and self._clock.now() >= stop.at:
            return longest  # it stands still there
        instants = [at for at in (wake, stop and stop.at) if at is not None]
        if not instants:
            return longest
        return min(max(0.0, (min(instants) - self._played_to()).total_seconds() / self.rate), longest)
