"""A recorded document at another time or in another api-version.

In its own api-version it is served byte for byte, except for a moved NotBefore.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

from forewarn.agent.events import read_instant
from forewarn.board.pages import Page
from forewarn.core.document import Document
from forewarn.recording.file import Change
from forewarn.wire.http import Answer, answer, to_json
from forewarn.wire.imds.versions import EVENTS_VERSIONS, EventsVersion
from forewarn.wire.times import iso, rfc1123

_NOT_BEFORE = re.compile(r'("NotBefore"\s*:\s*")([^"\\]+)(")')
_FIRST_MEMBERS = ("EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore")
_NEWEST = max(EVENTS_VERSIONS.values(), key=lambda version: version.index)
_KNOWN_KINDS = {str(kind) for kind in _NEWEST.kinds}
# Values for members that the recorded api-version did not have.
_DEFAULTS: dict[str, object] = {"Description": "", "EventSource": "Platform", "DurationInSeconds": -1}


def shifted(body: bytes, by: timedelta) -> bytes:
    """The document with every NotBefore moved; all other bytes stay, also an invalid NotBefore."""

    def move(found: re.Match[str]) -> str:
        before, text, after = found.groups()
        at = read_instant(text)
        if at is None:
            return found[0]
        is_usual = text == rfc1123(at)
        return before + (rfc1123 if is_usual else iso)((at + by).replace(microsecond=0)) + after

    return _NOT_BEFORE.sub(move, body.decode()).encode() if by else body


def in_version(body: bytes, recorded: str, wanted: EventsVersion) -> bytes:
    """The document in another api-version, with defaults for members that were not recorded."""
    if recorded == wanted.name:
        return body
    document = json.loads(body)
    strips = EVENTS_VERSIONS.get(recorded, _NEWEST).prefixes_names
    events = [
        _members(each, wanted, strips=strips)
        for each in document["Events"]
        if isinstance(each, dict) and _is_shown(each.get("EventType"), wanted)
    ]
    return to_json({**document, "Events": events})


def _is_shown(kind: object, version: EventsVersion) -> bool:
    """Whether an api-version shows the kind; unknown kinds are always shown."""
    return kind not in _KNOWN_KINDS or kind in version.kinds


def _members(event: dict[str, Any], version: EventsVersion, *, strips: bool) -> dict[str, object]:
    members = {name: event[name] for name in _FIRST_MEMBERS if name in event}
    resources = event.get("Resources")
    if isinstance(resources, list):
        bare = [each.removeprefix("_") if strips and isinstance(each, str) else each for each in resources]
        members["Resources"] = [f"_{each}" if version.prefixes_names else each for each in bare]
    return members | {name: event.get(name, _DEFAULTS[name]) for name in version.members}


class RecordedPage(Page):
    """A recorded document and the answers made from it."""

    __slots__ = ("_body", "_recorded", "change", "ids")

    def __init__(self, change: Change, generation: int, shift: timedelta) -> None:
        said = change.document
        super().__init__(Document(generation, said.incarnation or 0))
        self.change = change
        self.ids = {event.id.upper() for event in said.events}
        self._recorded = change.api_version
        self._body = shifted(change.body, shift)

    def _write(self, version: EventsVersion) -> Answer:
        body = in_version(self._body, self._recorded, version)
        return answer(200, body, (("ETag", self.etag(version)),))
