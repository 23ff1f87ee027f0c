"""What a guest can read out of the document that it was given, spoiled ones too."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from forewarn.core.phase import Phase


class _Event(msgspec.Struct):
    EventId: str
    EventStatus: str = ""


class _Document(msgspec.Struct):
    Events: list[_Event] | None = None


def shown_events(body: bytes) -> dict[str, bool] | None:
    """The events of a document, and whether each is Scheduled; None: it is none."""
    try:
        events = msgspec.json.decode(body, type=_Document).Events
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if events is None else {each.EventId: each.EventStatus == Phase.SCHEDULED for each in events}


class _WholeEvent(msgspec.Struct):
    EventId: str
    EventStatus: str
    Resources: list[str]
    NotBefore: str


class _Rows(msgspec.Struct):
    Events: list[msgspec.Raw]


def told_whole(body: bytes) -> dict[str, bool]:
    """The events of which a document says all that a guest acts by, and whether each is Scheduled."""
    whole = {}
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for row in msgspec.json.decode(body, type=_Rows).Events:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                event = msgspec.json.decode(row, type=_WholeEvent)
                whole[event.EventId] = event.EventStatus == Phase.SCHEDULED
    return whole
