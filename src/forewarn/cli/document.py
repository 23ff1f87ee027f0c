"""A document for people, on one line."""

from __future__ import annotations

from forewarn.agent.events import Document
from forewarn.cli.output import names, short

_MOST_NAMED = 3


def in_a_line(document: Document) -> str:
    """What the document says: `2: Reboot of web-0 (4f1c9a02) Scheduled`."""
    events = [
        f"{event.type} of {names(event.resources, _MOST_NAMED) or 'nothing'} ({short(event.id)}) {event.status}"
        for event in document.events
    ]
    return f"{document.incarnation}: {', '.join(events) or 'no events'}"
