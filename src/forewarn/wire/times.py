"""Instants and durations as text, for the wire; what terminals show is in cli/output.py."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
_SHORT_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+)s?)?")


def rfc1123(at: datetime) -> str:
    """`Mon, 19 Sep 2016 18:29:47 GMT`, whatever the locale."""
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day}, {at.day:02d} {month} {at.year:04d} {at.hour:02d}:{at.minute:02d}:{at.second:02d} GMT"


def iso(at: datetime) -> str:
    """`2016-09-19T18:29:47Z`, with a fraction only where there is one."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_instant(text: str) -> datetime:
    """The instant that an ISO 8601 text names; one without a zone is UTC. Raises ValueError."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def parse_duration(text: str) -> timedelta:
    """The length of time that `PT5M`, `15m`, `1h30m`, `2d` or `90` (seconds) names. Raises ValueError."""
    compact = text.strip()
    pattern = _ISO_DURATION if compact[:1] in "Pp" else _SHORT_DURATION
    match = pattern.fullmatch(compact.upper() if pattern is _ISO_DURATION else compact.lower())
    if match is None or not any(match.groups()):
        raise ValueError(f"{text!r} is no duration; write it like 15m, 1h30m, 45s or PT15M")
    days, hours, minutes, seconds = (int(group or 0) for group in match.groups())
    try:
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        raise ValueError(f"{text!r} is too long") from None


def iso_duration(duration: timedelta) -> str:
    """`PT5M`, `PT30S`: the form in which profiles are written."""
    seconds = round(duration.total_seconds())
    minutes, seconds = divmod(seconds, 60)
    return "PT" + (f"{minutes}M" if minutes else "") + (f"{seconds}S" if seconds or not minutes else "")
