"""How a scenario's time passes: at once, or with the real one.

Either way every act, poll and look falls on its exact instant, so both ways give the same bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from forewarn.control.timekeeper import Timekeeper
from forewarn.emulator import Emulator
from forewarn.errors import ConfigError

_LOOK_SECONDS = 0.1  # between two looks at what has happened meanwhile


class Pace(Protocol):
    """Lets time pass."""

    def go_to(self, instant: datetime, meanwhile: Callable[[], None]) -> None:
        """Return when it is that time, and all that is due then is done; `meanwhile` is called now and then."""


class AtOnce:
    """Time is moved by hand, and nobody waits."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def go_to(self, instant: datetime, meanwhile: Callable[[], None]) -> None:
        """Be there."""
        if instant > self._emulator.now:
            self._emulator.advance(instant - self._emulator.now)
        meanwhile()


class Playing:
    """The clock runs, so many times as fast as the real one, and stands still while something is done."""

    def __init__(self, emulator: Emulator, rate: float) -> None:
        self._emulator = emulator
        keeper = emulator.service.timekeeper
        if not isinstance(keeper, Timekeeper):
            raise ConfigError("A scenario needs a virtual clock.")
        self._keeper = keeper
        emulator.on_plane(keeper.play_until, emulator.now, _arrived)
        emulator.on_plane(keeper.play, rate)

    def go_to(self, instant: datetime, meanwhile: Callable[[], None]) -> None:
        """Wait until it is that time."""
        reached = threading.Event()
        self._emulator.on_plane(self._keeper.play_until, instant, reached.set)
        while not reached.wait(_LOOK_SECONDS):
            meanwhile()
        meanwhile()


def _arrived() -> None:
    """Nobody waits for the first instant."""
