"""When a guest was able to poll, and when not.

Nothing here reads a clock. The size of a guest's presence is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from forewarn.report.moment import Moment, Pace, between

_MOST_ABSENCES = 8
FOR_EVER = inf


class Absence(NamedTuple):
    """A time in which the guest could not poll: its VM was down or paused."""

    since: Moment
    until: Moment


class Wait(NamedTuple):
    """A time for which an answer told the guest not to poll."""

    told: Moment
    until: Moment
    fault: str  # the fault that did; "": none


class Stretch(NamedTuple):
    """The longest part of a time in which the guest was able to poll."""

    seconds: float
    is_whole: bool  # no absence cut the time

    @property
    def is_any(self) -> bool:
        """Whether there is such a part; two requests at one instant have one of no length."""
        return self.is_whole or self.seconds > 0


@dataclass(slots=True)
class Presence:
    """Whether the guest is able to poll, and its last absences."""

    away_since: Moment | None = None
    _away_until: float = FOR_EVER  # by the clock of maintenance
    wait: Wait | None = None  # by the last answer
    absences: deque[Absence] = field(default_factory=lambda: deque(maxlen=_MOST_ABSENCES))

    def copy(self) -> Presence:
        """A copy for a reader on another thread."""
        return replace(self, absences=self.absences.copy())

    def be_away(self, now: Moment, until: float = FOR_EVER) -> None:
        """From now on it cannot poll; `until` is on the clock of maintenance."""
        self.look(now)
        if until > now.virtual:
            self.away_since = self.away_since or now
            self._away_until = until
        else:
            self.be_back(now)

    def be_back(self, now: Moment) -> None:
        """From now on it can poll."""
        self.look(now)
        if self.away_since is not None:
            self._return(now)

    def look(self, now: Moment) -> None:
        """End a pause whose time is over."""
        since = self.away_since
        if since is not None and now.virtual >= self._away_until:
            self._return(between(since, now, self._away_until))

    def _return(self, at: Moment) -> None:
        if self.away_since is not None:
            self.absences.append(Absence(self.away_since, at))
            self.away_since = None

    def back_at(self) -> list[Moment]:
        """The ends of its last absence and of its wait, if there are any."""
        absences = [self.absences[-1].until] if self.absences else []
        return absences + ([self.wait.until] if self.wait is not None else [])

    def stretch(self, since: Moment, until: Moment, pace: Pace) -> Stretch:
        """The longest part of a time in which it was able to poll, in seconds of one clock.

        The rest after a wait counts as whole: the guest waited that long by itself.
        """
        start, end = since.by(pace), until.by(pace)
        longest, is_cut, was_away = 0.0, False, False
        for gone, back, is_absence in sorted(self._cuts(until, pace)):
            if gone < end and back > start:
                is_cut, was_away = True, was_away or is_absence
                longest = max(longest, gone - start)
                start = min(back, end)
        longest = max(longest, end - start)
        return Stretch(longest, not was_away and (longest > 0 or not is_cut))

    def _cuts(self, until: Moment, pace: Pace) -> Iterator[tuple[float, float, bool]]:
        for absence in self.absences:
            yield absence.since.by(pace), absence.until.by(pace), True
        if self.away_since is not None:
            yield self.away_since.by(pace), until.by(pace), True
        if self.wait is not None:
            yield self.wait.told.by(pace), self.wait.until.by(pace), False
