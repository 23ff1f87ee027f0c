"""What time it is: the real time, or a virtual one that stands still until it is moved.

Only constructors take a `Clock`; the core is told the time as an argument.
"""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from forewarn.subscribers import Subscribers

FASTEST_RATE = 1_000_000  # of a clock that runs: so many times as fast as the real one
_ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """The wall clock, and beside it a count of elapsed time that no step of the wall clock touches."""

    @property
    def epoch(self) -> str:
        """Readings of `elapsed` are comparable within one epoch: one boot of one machine."""

    @property
    def runs(self) -> bool:
        """Whether time passes by itself."""

    def now(self) -> datetime:
        """The instant by the wall clock, in UTC."""

    def elapsed(self) -> timedelta:
        """How much time has really gone by since the epoch began."""


class SystemClock:
    """The machine's own clock."""

    runs = True

    def __init__(self) -> None:
        self.epoch = _boot_id()

    def now(self) -> datetime:
        """The instant by the wall clock, in UTC."""
        return datetime.now(UTC)

    def elapsed(self) -> timedelta:
        """How long the machine has been up, sleep included."""
        return timedelta(seconds=time.clock_gettime(time.CLOCK_BOOTTIME))


class VirtualClock:
    """A clock that moves only when told to."""

    epoch = "virtual"
    runs = False

    def __init__(self, start: datetime) -> None:
        if start.utcoffset() is None:
            raise ValueError(f"{start} has no time zone; a clock begins at one instant")
        self._now = start.astimezone(UTC)
        self._stepped = timedelta(0)
        self.moved: Subscribers[datetime] = Subscribers()  # told on the thread that moves it, before it goes on

    def now(self) -> datetime:
        """The virtual instant."""
        return self._now

    def elapsed(self) -> timedelta:
        """How far the clock has come, steps not counted."""
        return self._now - _ORIGIN - self._stepped

    def move_to(self, instant: datetime) -> None:
        """Let time pass until `instant`; a clock never runs backwards."""
        if instant > self._now:
            self._now = instant
            self.moved.publish(self._now)

    def step(self, by: timedelta) -> None:
        """Set the wall clock ahead or back without any time passing, as an administrator may."""
        self._now += by
        self._stepped += by
        self.moved.publish(self._now)


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return str(uuid.uuid4())  # readings are then comparable within this process only
