"""Scripted guests: they poll and approve over real sockets, as a program in the VM would.

One request at a time, on a connection that is kept alive. A bad answer never stops a guest: it polls again.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forewarn.scenario.file.model import GONE, GuestScript

Address = tuple[str, int]
OnBytes = Callable[[str, bytes], None]  # a guest's name, and what it received

_OK = 200
_UNCHANGED = 304
_NO_BODY = frozenset({204, _UNCHANGED})
_MOST_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 65536


class GuestReply(NamedTuple):
    """An answer; status 0: there was none, and `trouble` says why."""

    status: int
    headers: dict[str, str]
    body: bytes
    trouble: str = ""


@dataclass(slots=True)
class SeenEvent:
    """What a guest has seen of one event."""

    id: str
    kind: str
    is_own: bool  # its resources name the guest's VM
    statuses: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """The status that it saw last."""
        return self.statuses[-1]


class ScriptedGuest:
    """One guest of a scenario."""

    def __init__(self, script: GuestScript, server: Address, source: str | None, on_bytes: OnBytes) -> None:
        self.script = script
        self.sightings: dict[str, SeenEvent] = {}  # by EventId, the first seen first
        self.last_status = -1  # it has not polled yet
        self._connection = _Connection(
            server, source, script.timeout.total_seconds(), lambda data: on_bytes(script.title, data)
        )
        self._target = f"/metadata/scheduledevents?api-version={script.version}"
        self._tag: str | None = None

    def poll(self) -> list[SeenEvent]:
        """Read the document; return the events with news."""
        condition = "" if self._tag is None else f"If-None-Match: {self._tag}\r\n"
        reply = self._connection.exchange(self._request("GET", condition))
        self.last_status = reply.status
        if reply.status != _OK:
            return []
        events = _events_in(reply.body)
        if events is None:
            return []
        if self.script.conditional:
            self._tag = reply.headers.get("etag")
        return self._note(events)

    def approve(self, event: str) -> int:
        """Approve an event; return the status of the answer."""
        body = json.dumps({"StartRequests": [{"EventId": event}]})
        return self._connection.exchange(self._request("POST", f"Content-Length: {len(body)}\r\n", body)).status

    def wants_to_approve(self, seen: SeenEvent) -> bool:
        """Whether the script approves this event."""
        script = self.script
        return (
            script.approve_after is not None
            and seen.status == "Scheduled"
            and seen.kind in script.approves
            and (seen.is_own or script.others)
        )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _request(self, method: str, headers: str, body: str = "") -> bytes:
        head = f"{method} {self._target} HTTP/1.1\r\nHost: 169.254.169.254\r\nMetadata: true\r\n"
        return f"{head}{headers}\r\n{body}".encode()

    def _note(self, events: list[dict[str, Any]]) -> list[SeenEvent]:
        news = []
        for event in events:
            name, kind = str(event.get("EventId")), str(event.get("EventType"))
            seen = self.sightings.get(name)
            if seen is None:
                seen = self.sightings[name] = SeenEvent(name, kind, self._is_named(event))
            if not seen.statuses or seen.status != event.get("EventStatus"):
                seen.statuses.append(str(event.get("EventStatus")))
                news.append(seen)
        there = {str(event.get("EventId")) for event in events}
        for seen in self.sightings.values():
            if seen.id not in there and seen.status != GONE:
                seen.statuses.append(GONE)
                news.append(seen)
        return news

    def _is_named(self, event: dict[str, Any]) -> bool:
        resources = event.get("Resources")
        names = {self.script.vm, f"_{self.script.vm}"}  # as the first api-version writes it
        return isinstance(resources, list) and any(name in names for name in resources)


def _events_in(body: bytes) -> list[dict[str, Any]] | None:
    """The events of a document; None if it is not one."""
    try:
        events = json.loads(body)["Events"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        return None
    return events


class _Connection:
    """A connection to the endpoint, opened on demand."""

    def __init__(
        self, server: Address, source: str | None, patience_seconds: float, on_bytes: Callable[[bytes], None]
    ) -> None:
        self._server = server
        self._source = source
        self._patience = patience_seconds
        self._on_bytes = on_bytes
        self._socket: socket.socket | None = None

    def exchange(self, request: bytes) -> GuestReply:
        """Send one request once, and return its answer."""
        deadline = time.monotonic() + self._patience
        received = bytearray()
        try:
            connection = self._connected(deadline)
            connection.sendall(request)
            reply = self._receive(connection, received, deadline)
        except TimeoutError:
            reply = _no_reply(f"no answer within {self._patience:g} s")
        except OSError as problem:
            reply = _no_reply(problem.strerror or str(problem))
        except (ValueError, IndexError):
            reply = _no_reply("the answer is not HTTP")
        self._on_bytes(bytes(received))
        if reply.status == 0 or reply.headers.get("connection", "").lower() == "close":
            self.close()
        return reply

    def _connected(self, deadline: float) -> socket.socket:
        if self._socket is not None and _is_closed(self._socket):
            self.close()
        if self._socket is None:
            origin = None if self._source is None else (self._source, 0)
            self._socket = socket.create_connection(self._server, _left(deadline), origin)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(_left(deadline))
        return self._socket

    def _receive(self, connection: socket.socket, received: bytearray, deadline: float) -> GuestReply:
        """Read an answer: as long as its Content-Length, or until the server closes."""
        wanted: int | None = None
        status, headers, start = 0, dict[str, str](), 0
        while wanted is None or len(received) < wanted:
            connection.settimeout(_left(deadline))
            data = connection.recv(_CHUNK_BYTES)
            received += data
            if len(received) > _MOST_BYTES:
                return _no_reply(f"the answer is longer than {_MOST_BYTES} bytes")
            if status == 0 and (end := received.find(b"\r\n\r\n")) >= 0:
                status, headers, start = *_head(bytes(received[:end])), end + 4
                length = "0" if status in _NO_BODY else headers.get("content-length")
                wanted = None if length is None else start + int(length)
            if not data:
                if status == 0 or wanted is not None:
                    return _no_reply("the connection ended before the answer did")
                break
        return GuestReply(status, headers, bytes(received[start:wanted]))

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
            self._socket = None


def _is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed the connection, or sent something unasked."""
    connection.settimeout(0)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _no_reply(why: str) -> GuestReply:
    return GuestReply(0, {}, b"", why)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _head(text: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = text.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split()[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}
