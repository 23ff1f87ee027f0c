"""When planned work may be at work on machines: days, hours, a time zone, and dates on which it never is.

A window opens on each of its days at `opens` and closes when the clocks there show a time that is `length` later,
past midnight if that is how long it is. Days and hours are those of its time zone, so that a change to summer time
moves nothing for its readers: a night in which clocks are changed is an hour shorter or longer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = timedelta(days=1)
_FARTHEST_DAYS = 400  # how far ahead an opening is looked for

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Window:
    """The hours in which machines may be touched."""

    opens: time
    length: timedelta
    days: tuple[str, ...] = DAYS
    timezone: tzinfo = UTC
    blackout: tuple[date, ...] = ()

    def fit(self, at: datetime, needed: timedelta) -> datetime | None:
        """The first instant from `at` on at which it is open for as long as needed; None: never."""
        begin = end = None
        for opening, closing in self._spans(at):
            if closing <= at:
                continue
            if begin is None or end is None or opening > end:  # not one with the span before
                begin, end = max(opening, at), closing
            end = max(end, closing)
            if begin + needed <= end:
                return begin
        return None

    def is_open(self, at: datetime, needed: timedelta) -> bool:
        """Whether it is open now, for as long as needed."""
        return self.fit(at, needed) == at

    def _spans(self, at: datetime) -> Iterator[Span]:
        """When it is open, from about then on, in order."""
        zone = self.timezone
        before = self.length // _DAY + 2
        first = at.astimezone(zone).date() - before * _DAY
        for count in range(_FARTHEST_DAYS + before):
            day = first + count * _DAY
            if DAYS[day.weekday()] in self.days:
                opening = datetime.combine(day, self.opens)
                closing = opening + self.length  # as clocks on a wall show it
                yield from self._without_blackout((_instant(opening, zone), _instant(closing, zone)))

    def _without_blackout(self, span: Span) -> Iterator[Span]:
        opening, closing = span
        zone = self.timezone
        for day in sorted(self.blackout):
            dark = _instant(datetime.combine(day, time()), zone)
            light = _instant(datetime.combine(day + _DAY, time()), zone)
            if light <= opening or closing <= dark:
                continue
            if opening < dark:
                yield opening, dark
            opening = light
        if opening < closing:
            yield opening, closing

    def in_words(self) -> str:
        """The window for a reader: `Sat, Sun from 22:00 for 4 h (Europe/Berlin)`."""
        days = "every day" if set(self.days) == set(DAYS) else ", ".join(self.days)
        hours, minutes = divmod(self.length // timedelta(minutes=1), 60)
        length = f"{hours} h {minutes} min" if hours and minutes else f"{hours} h" if hours else f"{minutes} min"
        but = f", but not on {', '.join(map(str, self.blackout))}" if self.blackout else ""
        return f"{days} from {self.opens:%H:%M} for {length} ({self.timezone}){but}"


def _instant(shown: datetime, zone: tzinfo) -> datetime:
    """When clocks there first show that time; where they are put forward past it, when that is done."""
    instant = shown.replace(tzinfo=zone).astimezone(UTC)
    if _show(instant, zone) == shown:
        return instant
    before = shown.replace(tzinfo=zone, fold=1).astimezone(UTC)
    seconds = range(int((instant - before).total_seconds()) + 1)
    late = bisect_left(seconds, shown, key=lambda each: _show(before + timedelta(seconds=each), zone))
    return before + timedelta(seconds=late)


def _show(instant: datetime, zone: tzinfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)
