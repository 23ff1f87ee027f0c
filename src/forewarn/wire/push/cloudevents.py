"""Bulletins as CloudEvents 1.0, in structured JSON: one event, named by its phase, with what REST tells of it."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from forewarn.core.bulletin import Bulletin
from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind, Source
from forewarn.wire.http import to_json
from forewarn.wire.rest import Instant
from forewarn.wire.times import iso

MEDIA_TYPE = "application/cloudevents+json"
_SEQUENCE_DIGITS = 20  # so that texts are in the order of the numbers


class EventData(msgspec.Struct):
    """An event as REST tells it, but for what it waits for and for all its approvals after the first."""

    id: str
    kind: Kind
    phase: Phase
    source: Source
    scope: str
    update_domain: int | None
    resources: tuple[str, ...]
    not_before: Instant
    created_at: Instant
    approved_by: str | None
    approved_at: Instant | None
    postponed_by: str | None
    postponed_at: Instant | None
    postponed_from: Instant | None
    started_at: Instant | None
    ended_at: Instant | None
    description: str
    duration_seconds: int
    operation: str
    reason: str
    fault: str


def type_of(phase: Phase) -> str:
    """What a CloudEvent about an event in this phase is called."""
    return f"forewarn.event.{phase.value.lower()}"


def render(bulletin: Bulletin) -> bytes:
    """The body of a request."""
    event = bulletin.event
    return to_json(
        {
            "specversion": "1.0",
            "id": bulletin.id,
            "source": f"/forewarn/scopes/{quote(event.scope, safe='')}",
            "type": type_of(event.phase),
            "subject": event.id,
            "time": iso(bulletin.at),
            "sequence": f"{bulletin.sequence:0{_SEQUENCE_DIGITS}d}",
            "datacontenttype": "application/json",
            "data": _data(event),
        }
    )


def _data(event: Event) -> EventData:
    return EventData(*(getattr(event, name) for name in EventData.__struct_fields__))
