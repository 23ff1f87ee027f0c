"""When something happened, by the real clock and by the clock of maintenance.

Maintenance may run on a virtual clock while a guest sleeps in real seconds; the reader of a report chooses one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple


class Pace(StrEnum):
    """The clock of a report."""

    REAL = "real"
    VIRTUAL = "virtual"


class Moment(NamedTuple):
    """When something happened, by both clocks."""

    at: datetime  # for people
    virtual: float  # seconds of the clock of maintenance, without its steps
    real: float

    def by(self, pace: Pace) -> float:
        """In seconds of one clock."""
        return self.real if pace is Pace.REAL else self.virtual

    def plus(self, seconds: float) -> Moment:
        """So many seconds later, by both clocks."""
        return Moment(self.at + timedelta(seconds=seconds), self.virtual + seconds, self.real + seconds)

    def or_earlier(self, other: Moment) -> Moment:
        """The earlier of two, by each clock."""
        return Moment(min(self.at, other.at), min(self.virtual, other.virtual), min(self.real, other.real))


def between(since: Moment, until: Moment, virtual: float) -> Moment:
    """The moment between two at which the clock of maintenance showed `virtual`, if both clocks ran evenly."""
    passed = virtual - since.virtual
    whole = until.virtual - since.virtual
    part = passed / whole if whole else 0.0
    return Moment(since.at + timedelta(seconds=passed), virtual, since.real + part * (until.real - since.real))
