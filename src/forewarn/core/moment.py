"""When something was, by every clock there is.

Maintenance may run on a virtual clock while a guest sleeps in real seconds: so both are noted, and which of them
counts is for the reader to say.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple


class Pace(StrEnum):
    """By which clock a guest is judged."""

    REAL = "real"
    VIRTUAL = "virtual"


class Moment(NamedTuple):
    """When something was, by every clock there is."""

    at: datetime  # as people are told
    virtual: float  # seconds on the clock of maintenance, whatever its steps
    real: float

    def by(self, pace: Pace) -> float:
        """In seconds of that pace."""
        return self.real if pace is Pace.REAL else self.virtual

    def plus(self, seconds: float) -> Moment:
        """So many seconds later, by every clock."""
        return Moment(self.at + timedelta(seconds=seconds), self.virtual + seconds, self.real + seconds)

    def or_earlier(self, other: Moment) -> Moment:
        """The earlier of two, by each clock."""
        return Moment(min(self.at, other.at), min(self.virtual, other.virtual), min(self.real, other.real))


def between(since: Moment, until: Moment, virtual: float) -> Moment:
    """The moment between two at which the clock of maintenance showed that; the real one went evenly meanwhile."""
    passed = virtual - since.virtual
    whole = until.virtual - since.virtual
    part = passed / whole if whole else 0.0
    return Moment(since.at + timedelta(seconds=passed), virtual, since.real + part * (until.real - since.real))
