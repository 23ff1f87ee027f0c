"""When a guest could have asked, and when it could not.

Nothing here reads a clock: moments are handed in. What is kept of one guest does not grow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

from forewarn.core.moment import Moment, Pace, between

_MOST_ABSENCES = 8
FOR_EVER = inf


class Absence(NamedTuple):
    """A time in which the guest could not ask: its machine was down, or paused."""

    since: Moment
    until: Moment


class Wait(NamedTuple):
    """A time for which an answer has told the guest not to ask again."""

    told: Moment
    until: Moment
    fault: str  # that was put in, by name; "": it was none


class Stretch(NamedTuple):
    """The longest part of a time in which the guest could have asked."""

    seconds: float
    is_whole: bool  # no absence has cut the time

    @property
    def is_any(self) -> bool:
        """Whether there is such a part; between two requests at one instant there is, if a short one."""
        return self.is_whole or self.seconds > 0


@dataclass(slots=True)
class Presence:
    """Whether the guest is there, and its last absences."""

    away_since: Moment | None = None
    _away_until: float = FOR_EVER  # by the clock of maintenance
    wait: Wait | None = None  # what the last answer said
    absences: deque[Absence] = field(default_factory=lambda: deque(maxlen=_MOST_ABSENCES))

    def copy(self) -> Presence:
        """The same, for a reader on another thread."""
        return replace(self, absences=self.absences.copy())

    def be_away(self, now: Moment, until: float = FOR_EVER) -> None:
        """From now on it cannot ask; until then by the clock of maintenance, if nothing else is said before."""
        self.look(now)
        if until > now.virtual:
            self.away_since = self.away_since or now
            self._away_until = until
        else:
            self.be_back(now)

    def be_back(self, now: Moment) -> None:
        """From now on it can ask."""
        self.look(now)
        if self.away_since is not None:
            self._return(now)

    def look(self, now: Moment) -> None:
        """Time may have passed: a pause may be over."""
        since = self.away_since
        if since is not None and now.virtual >= self._away_until:
            self._return(between(since, now, self._away_until))

    def _return(self, at: Moment) -> None:
        if self.away_since is not None:
            self.absences.append(Absence(self.away_since, at))
            self.away_since = None

    def back_at(self) -> list[Moment]:
        """When its last absence and the wait that it was told are over, where there are such."""
        absences = [self.absences[-1].until] if self.absences else []
        return absences + ([self.wait.until] if self.wait is not None else [])

    def stretch(self, since: Moment, until: Moment, pace: Pace) -> Stretch:
        """The longest part of a time in which it could have asked, in seconds of that pace.

        What is left after a wait that it was told is a whole one: so long it has waited by itself.
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
