"""The document of scheduled events, written for one api-version."""

from __future__ import annotations

from forewarn.core.document import Document
from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.wire.http import Answer, answer, to_json
from forewarn.wire.imds.versions import EventsVersion
from forewarn.wire.times import rfc1123

_RESOURCE_TYPE = "VirtualMachine"


def render(document: Document, version: EventsVersion) -> bytes:
    """The document's body: compact, one line, members in the order of the real service."""
    prefix = "_" if version.prefixes_names and not document.names_role_instances else ""
    events = [event_members(event, version, prefix) for event in document.events if event.kind in version.kinds]
    return to_json({"DocumentIncarnation": document.incarnation, "Events": events})


def event_members(event: Event, version: EventsVersion, prefix: str = "") -> dict[str, object]:
    """One event, in the members that the version has."""
    later_members: dict[str, object] = {
        "Description": event.description,
        "EventSource": event.source,
        "DurationInSeconds": event.duration_seconds,
    }
    return {
        "EventId": event.id,
        "EventStatus": event.phase,
        "EventType": event.kind,
        "ResourceType": _RESOURCE_TYPE,
        "Resources": [prefix + name for name in event.resources],
        "NotBefore": rfc1123(event.not_before) if event.phase is Phase.SCHEDULED else "",
        **{member: later_members[member] for member in version.members},
    }


def etag(document: Document, version: EventsVersion) -> str:
    """An opaque tag: a reset count, another store, scope or version never gives a false match.

    Documents without events that read the same have the same tag, whosever they are.
    """
    first = f".{document.events[0].id}" if document.events else ""
    return f'"{document.generation:x}.{document.incarnation:x}.{version.index}{first}"'


def page(document: Document, version: EventsVersion) -> Answer:
    """The whole answer to a GET."""
    return answer(200, render(document, version), (("ETag", etag(document, version)),))


def not_modified(document: Document, version: EventsVersion) -> Answer:
    """The answer to a GET whose condition still holds."""
    return answer(304, headers=(("ETag", etag(document, version)),))
