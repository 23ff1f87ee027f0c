"""Noticing that the wall clock was stepped, by comparing it with elapsed time."""

from __future__ import annotations

from datetime import timedelta

from forewarn.clock import Clock
from forewarn.store.sql import ClockMark

_STEP_WORTH_NOTICING = timedelta(seconds=1)


class ClockWatch:
    """What both clocks showed when they were last looked at.

    Between two steps nobody looks: steps too small to notice add up, and are noticed together.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.see()

    def see(self) -> None:
        """Look at both now."""
        self._now, self._elapsed = self._clock.now(), self._clock.elapsed()
        self._allowed = timedelta(0)

    def remember(self, mark: ClockMark | None) -> None:
        """Take over what they showed at the last commit, which an earlier process may have made."""
        if mark is not None and mark.epoch == self._clock.epoch:
            self._now, self._elapsed = mark.now, mark.elapsed
            self._allowed = timedelta(0)

    def allow(self, step: timedelta) -> None:
        """The commit in the making allows for the step."""
        self._allowed = step

    def mark(self) -> ClockMark:
        """What they show now, to be written down with a commit; a step that it does not allow for is left out."""
        elapsed = self._clock.elapsed()
        now = self._now + (elapsed - self._elapsed) + self._allowed
        return ClockMark(self._clock.epoch, elapsed, now)

    def step(self) -> timedelta:
        """By how much the wall clock was stepped since; zero where it went as time goes."""
        passed = self._clock.elapsed() - self._elapsed
        step = (self._clock.now() - self._now) - passed
        return step if abs(step) >= _STEP_WORTH_NOTICING else timedelta(0)
