"""What the endpoint says, as values. Reading is tolerant: a later version, or a fault, is no reason to crash.

The one rule: what cannot be read is never taken for "no events".
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, timezone
from functools import lru_cache

from forewarn.agent.compat import dataclass, read_iso_instant

SCHEDULED = "Scheduled"
STARTED = "Started"
UNKNOWN = "Unknown"  # a type that was not said
_FIRST_YEAR, _LAST_YEAR = 2000, 9000  # beyond is no date but a filler: 0001-01-01 is how .NET writes "none"
KNOWN_TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")

# RFC 1123 is what the service sends. The 2017 pages and some imitations have ISO 8601, with T or with a blank.
# The first is read by hand: `strptime` brings calendars and locales, a fiftieth of the memory of an idle agent.
_RFC_1123 = re.compile(
    r"(?:[a-z]{3}, )?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d{1,2}:\d{2}:\d{2}) (?:GMT|([+-]\d{2}):?(\d{2}))",
    re.ASCII | re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Unreadable(ValueError):
    """An answer that does not say which events there are."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of the document. What a version leaves out is empty or None."""

    id: str
    type: str  # one of KNOWN_TYPES, or what a later version says
    status: str = SCHEDULED  # empty: not said, so that nobody knows whether it may be approved
    resources: tuple[str, ...] = ()
    not_before: datetime | None = None  # None: it has started, or it was not said
    source: str = ""  # Platform, User, or not said
    description: str = ""
    duration_seconds: int | None = None  # -1: unknown to the platform; None: not said
    resource_type: str = "VirtualMachine"

    @property
    def is_scheduled(self) -> bool:
        """Whether it may still be approved."""
        return self.status.lower() == SCHEDULED.lower()

    @property
    def has_started(self) -> bool:
        """Whether the platform is at it."""
        return self.status.lower() == STARTED.lower()


@dataclass(frozen=True, slots=True)
class Document:
    """What one answer says."""

    events: tuple[Event, ...]
    incarnation: int | None = None
    oddities: tuple[str, ...] = ()  # parts that could not be read; where there are any, no event counts as gone
    repeated: tuple[str, ...] = ()  # events that were listed more than once, in words


@dataclass(frozen=True, slots=True)
class Sighting:
    """A good answer."""

    document: Document
    at: datetime  # on the platform's clock
    is_unchanged: bool = False  # the same document as the last sighting's
    is_anew: bool = False  # asked for, without a condition, after `look_again`
    endpoint: str = ""  # which has answered
    endpoints: tuple[str, ...] = ()  # all that are asked in turn
    took_seconds: float | None = None  # from the question to the answer; None: the endpoint may have held it
    steady_at: float = 0.0  # the same moment on a clock that nobody can put


def read_document(body: bytes) -> Document:
    """The document in an answer's body; `Unreadable` where it does not say which events there are."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"The answer is no JSON: {_beginning(body)}") from problem
    if not isinstance(said, dict):
        raise Unreadable(f"The answer is no JSON object: {_beginning(body)}")
    listed = said.get("Events")
    if not isinstance(listed, list):
        raise Unreadable(f"The answer has no list of events: {_beginning(body)}")
    events: dict[str, Event] = {}
    oddities = []
    repeated: dict[str, None] = {}
    for each in listed:
        event = read_event(each)
        if event is None:
            oddities.append(f"an event without an EventId: {_beginning(json.dumps(each).encode())}")
        else:
            before = events.get(event.id)
            if before is not None:
                repeated[f"event {event.id} more than once: it is taken for one of all the VMs that are named"] = (
                    None
                )
            events[event.id] = event if before is None else _joined(before, event)
    incarnation = _whole(said.get("DocumentIncarnation"))
    return Document(tuple(events.values()), incarnation, tuple(oddities), tuple(repeated))


def _joined(one: Event, other: Event) -> Event:
    """Two entries of one id as one event: of all its VMs, as far as either is, and due when the first is."""
    further, behind = (other, one) if _progress(other) > _progress(one) else (one, other)
    instants = [each.not_before for each in (one, other) if each.not_before is not None]
    resources = tuple(dict.fromkeys((*one.resources, *other.resources)))
    return replace(
        further,
        resources=resources,
        not_before=min(instants, default=None),
        source=further.source or behind.source,
        description=further.description or behind.description,
    )


def _progress(event: Event) -> int:
    return 2 if event.has_started else 1 if event.is_scheduled else 0


def read_event(said: object) -> Event | None:
    """One event; None for what cannot be called one."""
    if not isinstance(said, dict):
        return None
    name = _text(said.get("EventId")).strip()
    if not name:
        return None
    resources = said.get("Resources")
    return Event(
        id=name,
        type=_text(said.get("EventType")) or UNKNOWN,
        status=_text(said.get("EventStatus")),
        resources=tuple(_text(each) for each in resources if each) if isinstance(resources, list) else (),
        not_before=read_instant(_text(said.get("NotBefore"))),
        source=_text(said.get("EventSource")),
        description=_text(said.get("Description")),
        duration_seconds=_whole(said.get("DurationInSeconds")),
        resource_type=_text(said.get("ResourceType")) or "VirtualMachine",
    )


def read_instant(text: str) -> datetime | None:
    """An instant in any of the forms that have been seen; None where there is none."""
    instant = _read_date(text.strip().replace("_", " "))
    # Judged before it is brought to UTC: at the ends of the calendar that overflows.
    return None if instant is None or not _FIRST_YEAR <= instant.year <= _LAST_YEAR else _in_utc(instant)


@lru_cache(64)  # many events of a document have the same, and the next document has them again
def _read_date(text: str) -> datetime | None:
    if not text:
        return None
    try:
        return read_iso_instant(_as_iso(text))
    except ValueError:
        return None


def _as_iso(text: str) -> str:
    """A date of RFC 1123 as one of ISO 8601; anything else as it is."""
    found = _RFC_1123.fullmatch(text)
    if found is None or found[2].lower() not in _MONTHS:
        return text
    day, month, year, clock, hours, minutes = found.groups()
    zone = f"{hours}:{minutes}" if hours else "+00:00"
    return f"{year}-{_MONTHS.index(month.lower()) + 1:02}-{day:0>2}T{clock:0>8}{zone}"


def _in_utc(instant: datetime) -> datetime:
    return instant.replace(tzinfo=timezone.utc) if instant.tzinfo is None else instant.astimezone(timezone.utc)


def _text(said: object) -> str:
    """What is said as a text that can be written anywhere: JSON may have half a character, which no file takes."""
    text = said if isinstance(said, str) else "" if said is None else str(said)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _whole(said: object) -> int | None:
    try:
        return int(str(said))
    except ValueError:
        return None


def _beginning(body: bytes) -> str:
    text = " ".join(body[:200].decode("utf-8", "replace").split())
    return repr(text[:80] + ("…" if len(text) > 80 else ""))  # noqa: PLR2004 - a line's worth
