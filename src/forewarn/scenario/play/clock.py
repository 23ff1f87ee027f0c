"""How time passes in a play: moved by hand, or with the real clock.

Both stop at the exact instant of every action, poll and look, so both give the same bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from forewarn.control.timekeeper import Timekeeper
from forewarn.emulator import Emulator
from forewarn.errors import ConfigError

_IDLE_SECONDS = 0.1  # between two calls of `meanwhile`


class PlayClock(Protocol):
    """Lets time pass."""

    def go_to(self, instant: datetime, meanwhile: Callable[[], None]) -> None:
        """Return at that instant, when everything due is done; call `meanwhile` now and then."""


class VirtualPlayClock:
    """Moves the clock, and never waits."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def go_to(self, instant: datetime, meanwhile: Callable[[], None]) -> None:
        """Move the clock to that instant."""
        if instant > self._emulator.now:
            self._emulator.advance(instant - self._emulator.now)
        meanwhile()


class RealTimePlayClock:
    """Lets the clock run at a multiple of real time, and stops it while something is done."""

    def __init__(self, emulator: Emulator, rate: float) -> None:
        self._emulator = emulator
        keeper = emulator.service.timekeeper
        if not isinstance(keeper, Timekeeper):
            raise ConfigError("A scenario needs a virtual clock.")
        self._keeper = keeper
        emulator.on_plane(keeper.play_until, emulator.now, lambda: None)
        emulator.on_plane(keeper.play, rate)

    def go_to(self, instant: datetime, meanwhile: Callable[[], None]) -> None:
        """Wait for that instant."""
        reached = threading.Event()
        self._emulator.on_plane(self._keeper.play_until, instant, reached.set)
        while not reached.wait(_IDLE_SECONDS):
            meanwhile()
        meanwhile()
