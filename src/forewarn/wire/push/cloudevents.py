"""Bulletins as CloudEvents 1.0, in structured JSON: one event, named by its phase, with what REST tells of it."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from forewarn.core.bulletin import Bulletin, WebhookTestMessage
from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind, Source
from forewarn.wire.http import to_json
from forewarn.wire.rest import Instant
from forewarn.wire.times import iso

MEDIA_TYPE = "application/cloudevents+json"
TEST_TYPE = "forewarn.webhook.test"
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


def render_test(notice: WebhookTestMessage) -> bytes:
    """The body of a test message. It has no sequence: it is no event among others."""
    return to_json(
        {
            "specversion": "1.0",
            "id": notice.id,
            "source": f"/forewarn/webhooks/{notice.webhook}",
            "type": TEST_TYPE,
            "subject": notice.webhook,
            "time": iso(notice.at),
            "datacontenttype": "application/json",
            "data": data_of_test(notice),
        }
    )


def data_of_test(notice: WebhookTestMessage) -> dict[str, object]:
    """What a test message tells, in either form."""
    return {"test": True, "webhook": notice.webhook, "sent_by": notice.sent_by, "message": notice.text}


def _data(event: Event) -> EventData:
    return EventData(*(getattr(event, name) for name in EventData.__struct_fields__))
