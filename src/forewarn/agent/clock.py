"""What time it is for the agent: the platform's, as the `Date` of its endpoint tells it.

Deadlines are the platform's. Before it has told its time there is only the machine's clock, wherever that is put.
Afterwards time goes on from what was told, by a clock that nobody can put: a step of the machine's own changes
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

_TOLERANCE = timedelta(seconds=2)  # `Date` has whole seconds, and an answer is under way for a while


def _wall() -> datetime:
    return datetime.now(timezone.utc)


def _since_boot() -> float:
    """Seconds that nobody can put, and that a machine which sleeps does not lose, where there is such a clock.

    A machine that its host stops may lose them all the same. Then it is late by so much until the next answer.
    """
    kind = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if kind is None else time.clock_gettime(kind)


class Clock:
    """The platform's time, as far as it is known. Safe for every thread."""

    def __init__(
        self,
        wall: Callable[[], datetime] = _wall,
        steady: Callable[[], float] = time.monotonic,
        passing: Callable[[], float] = _since_boot,
    ) -> None:
        """`passing` is what time goes on by once it was learned."""
        self._wall = wall
        self._steady = steady
        self._passing = passing
        self._learned: tuple[datetime, float] | None = None  # an instant, and when that was

    def now(self) -> datetime:
        """The instant, in UTC."""
        learned = self._learned
        if learned is None:
            return self._wall()
        instant, at = learned
        return instant + timedelta(seconds=self._passing() - at)

    def monotonic(self) -> float:
        """Seconds that only grow, whatever happens to the date."""
        return self._steady()

    def learn(self, server_date: datetime) -> None:
        """Go by what the endpoint says, where that is more than a rounding away."""
        now = self.now()
        is_right = abs(server_date - now) <= _TOLERANCE
        if self._learned is None or not is_right:
            self._learned = (now if is_right else server_date, self._passing())
