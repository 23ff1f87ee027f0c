"""What time it is for the agent: the machine's clock, put right by the endpoint's `Date`.

Deadlines are the platform's. Where its clock and ours differ, its clock counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_TOLERANCE = timedelta(seconds=2)  # `Date` has whole seconds, and an answer is under way for a while


def _wall() -> datetime:
    return datetime.now(UTC)


class Clock:
    """The platform's time, as far as it is known."""

    def __init__(self, wall: Callable[[], datetime] = _wall, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._offset = timedelta()

    def now(self) -> datetime:
        """The instant, in UTC."""
        return self._wall() + self._offset

    def monotonic(self) -> float:
        """Seconds that only grow, whatever happens to the date."""
        return self._steady()

    @property
    def offset(self) -> timedelta:
        """How far the platform is ahead of this machine, as far as that is known."""
        return self._offset

    def learn(self, server_date: datetime) -> None:
        """Go by what the endpoint says, where that is more than a rounding away."""
        if abs(server_date - self.now()) > _TOLERANCE:
            self._offset = server_date - self._wall()
