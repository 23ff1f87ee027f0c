"""The virtual clock as a test holds it. Time stands still until it is moved; nothing here waits for real time."""

from __future__ import annotations

from datetime import datetime, timedelta

from forewarn.core.phase import TRANSITIONS, Phase
from forewarn.emulator import Emulator, Refused
from forewarn.testing.event import Event, as_event, as_phase

_MOST_STEPS = 1000
_UNIT_NAMES = ("weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds")
_UNITS = f"{', '.join(_UNIT_NAMES[:-1])} and {_UNIT_NAMES[-1]}"


class Clock:
    """What time it is for maintenance. Every move returns when all that was due by then has been done."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    @property
    def now(self) -> datetime:
        """The virtual instant, in UTC."""
        return self._emulator.now

    def advance(self, by: timedelta | None = None, **duration: float) -> datetime:
        """Let time pass, `advance(minutes=5)`: the keywords are those of `timedelta`."""
        unknown = sorted(set(duration) - set(_UNIT_NAMES))
        if unknown:  # Python's own sentence differs between versions
            raise Refused(f"The clock knows no unit {', '.join(unknown)}.", f"It takes {_UNITS}.")
        try:
            length = timedelta(**duration) + (by or timedelta(0))
        except (TypeError, ValueError, OverflowError) as problem:  # ValueError: not a number
            raise Refused(f"The clock cannot be advanced so: {problem}.", f"It takes {_UNITS}.") from None
        if length < timedelta(0):
            seconds = length.total_seconds()
            raise Refused(
                f"The clock cannot go back by {-seconds:g} s: what was done would have to be undone.",
                "Use another service for what was before.",
            )
        try:
            return self._emulator.advance(length)
        except OverflowError:
            raise Refused(f"There is no instant {length} from {self.now:%Y-%m-%d}.", "Advance by less.") from None

    def next(self) -> datetime:
        """Let time pass until something is due, and do it; the clock stands where nothing is."""
        return self._emulator.next()

    def until(self, event: Event, phase: str) -> datetime:
        """Let time pass until the event is in that phase; fail if time alone does not bring it there."""
        __tracebackhide__ = True
        wanted = as_phase(phase)
        as_event(event)
        for _ in range(_MOST_STEPS):
            found = event.phase
            if found is wanted:
                return self.now
            if wanted not in _ahead_of(found):
                raise event.unmet(f"{event} is {found}; it cannot become {wanted}.")
            if self._emulator.next_wake() is None:
                raise event.unmet(f"{event} stays {found}: nothing is due that could make it {wanted}.")
            self._emulator.next()
        raise event.unmet(f"{event} is still {event.phase} after {_MOST_STEPS} things were done; not {wanted}.")


def _ahead_of(phase: Phase) -> set[Phase]:
    """The phases that may follow, at once or later."""
    found: set[Phase] = set()
    nearest = {after for (before, _), after in TRANSITIONS.items() if before is phase}
    for each in nearest:
        found |= {each} | _ahead_of(each)
    return found
