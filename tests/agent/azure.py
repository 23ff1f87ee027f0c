"""A plain imitation of Azure's endpoint, with faults on demand: what a guest sees there, and nothing of ours.

No ETag unless asked for, no `Prefer`; dates in RFC 1123; every version and its members. It answers on loopback,
one thread per connection, and remembers what it was asked.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
_SINCE = {"Description": "2019-04-01", "EventSource": "2019-08-01", "DurationInSeconds": "2020-07-01"}
_LONGEST_DELAY_SECONDS = 60
_PORTAL = b"<!DOCTYPE html><html><body>Please sign in to the network.</body></html>"


@dataclass(frozen=True)
class Asked:
    """One request that came in."""

    method: str
    target: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    connection: int  # which connection it came on, counted from 1

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def version(self) -> str:
        return parse_qs(urlsplit(self.target).query).get("api-version", [""])[0]

    @property
    def approved(self) -> list[str]:
        """The events that it approves."""
        return [each["EventId"] for each in json.loads(self.body)["StartRequests"]] if self.body else []


@dataclass(frozen=True)
class Fault:
    """What is done instead of an answer: the fields say what is wrong with it."""

    status: int = 0  # this status, with Azure's kind of error body or `body`
    body: bytes | None = None  # with status 200 unless another is given
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0  # before whatever is answered; a test's end cuts it short
    is_cut: bool = False  # the connection ends in the middle of the body
    is_closed: bool = False  # the connection ends without a word


SERVER_ERROR = Fault(500)
GONE = Fault(410)
THROTTLED = Fault(429, headers={"Retry-After": "1"})
TRUNCATED = Fault(is_cut=True)
HALF_A_DOCUMENT = Fault(body=b'{"DocumentIncarnation":3,"Events":[{"EventId":"4F1C')
PORTAL = Fault(200, _PORTAL, {"Content-Type": "text/html"})
NULL_EVENTS = Fault(body=b'{"DocumentIncarnation":3,"Events":null}')
EMPTY_BODY = Fault(body=b"")
CLOSED = Fault(is_closed=True)


def event(event_id: str = "4F1C9A02-6B0E-4C53-9A1D-0C5B7E21D9AA", **said: Any) -> dict[str, Any]:
    """An event as the document has it; `said` puts something else, or `None` to leave a member out."""
    members = {
        "EventId": event_id,
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-0"],
        "NotBefore": "Mon, 02 Mar 2037 12:15:00 GMT",
        "Description": "Virtual machine is going to be restarted as requested by authorized user.",
        "EventSource": "User",
        "DurationInSeconds": -1,
    } | said
    return {name: value for name, value in members.items() if value is not None}


def http_date(instant: datetime) -> str:
    """An instant as headers and NotBefore have it."""
    return instant.astimezone(timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")


class Azure:
    """The endpoint of one VM."""

    def __init__(self, name: str = "web-0", port: int = 0) -> None:
        self.name = name
        self.versions: Sequence[str] = VERSIONS
        self.has_tags = False  # ETag and If-None-Match, as one sample of Microsoft's uses them
        self.now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
        self.asked: list[Asked] = []
        self.approved: list[str] = []
        self.first_delay_seconds = 0.0
        self._events: list[dict[str, Any]] = []
        self._incarnation = 1
        self._faults: list[Fault] = []
        self._always: Callable[[Asked], Fault | None] = lambda _: None
        self._changed = threading.Condition()
        self._is_over = threading.Event()
        self._connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._accept, name="azure", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://{self.place}"

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    # What a test does to it.

    def show(self, *events: dict[str, Any], incarnation: int | None = None) -> None:
        """From now on the document has these events."""
        with self._changed:
            self._events = list(events)
            self._incarnation = self._incarnation + 1 if incarnation is None else incarnation

    def start(self, event_id: str) -> None:
        """The event starts."""
        self.show(
            *(
                each | {"EventStatus": "Started", "NotBefore": ""} if each["EventId"] == event_id else each
                for each in self._events
            )
        )

    def fail(self, *faults: Fault) -> None:
        """The next requests for the document or with an approval go wrong, one fault for each."""
        with self._changed:
            self._faults.extend(faults)

    def fail_always(self, choose: Callable[[Asked], Fault | None]) -> None:
        """Every request goes as the function says; None: as it should."""
        self._always = choose

    @property
    def faults_left(self) -> int:
        return len(self._faults)

    def polls(self) -> list[Asked]:
        """The questions for the document."""
        return [each for each in self.asked if each.method == "GET" and each.path.endswith("/scheduledevents")]

    def wait_for_polls(self, count: int, seconds: float = 120) -> None:
        """Wait until so many more questions for the document have come."""
        with self._changed:
            wanted = len(self.polls()) + count
            assert self._changed.wait_for(lambda: len(self.polls()) >= wanted, seconds), "nobody polls"

    def close_connections(self) -> None:
        """What is open is closed."""
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        self._is_over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.close_connections()

    # What it does.

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            number = len(self._connections)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, connection.makefile("rb") as incoming, suppress(OSError):
            while (asked := read_request(incoming, number)) is not None:
                if not self._answer(connection, asked):
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
                    return

    def _answer(self, connection: socket.socket, asked: Asked) -> bool:
        """Whether the connection goes on."""
        with self._changed:
            is_first = not self.asked
            self.asked.append(asked)
            fault = self._always(asked)
            if fault is None and self._faults and asked.path.endswith("/scheduledevents"):
                fault = self._faults.pop(0)
            self._changed.notify_all()
        fault = fault or Fault()
        delay = max(fault.delay_seconds, self.first_delay_seconds if is_first else 0)
        if delay:
            self._is_over.wait(min(delay, _LONGEST_DELAY_SECONDS))
        if fault.is_closed or self._is_over.is_set():
            return False
        status, headers, body = self._judge(asked, fault)
        content = bytes_of(status, {"Date": http_date(self.now())} | headers, body)
        if fault.is_cut:
            connection.sendall(content[: -max(1, len(body) // 2)])
            return False
        connection.sendall(content)
        return "close" not in asked.headers.get("connection", "")

    def _judge(self, asked: Asked, fault: Fault) -> tuple[int, dict[str, str], bytes]:
        json_type = {"Content-Type": "application/json; charset=utf-8"}
        if fault.status or fault.body is not None:
            status = fault.status or 200
            body = fault.body if fault.body is not None else b'{"error":"This is what a test asked for"}'
            return status, json_type | dict(fault.headers), body
        if asked.headers.get("metadata", "").lower() != "true":
            return 400, json_type, b'{"error":"Bad request. Required metadata header not specified"}'
        if asked.path == "/metadata/instance/compute/name":
            return 200, {"Content-Type": "text/plain"}, self.name.encode()
        if asked.path != "/metadata/scheduledevents":
            return 404, json_type, b'{"error":"Not found"}'
        if asked.version not in self.versions:
            return 400, json_type, b'{"error":"Bad request. api-version is invalid or was not specified"}'
        if asked.method == "POST":
            self.approved.extend(asked.approved)
            return 200, {}, b""
        return self._document(asked, json_type)

    def _document(self, asked: Asked, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        with self._changed:
            events = [_seen_in(asked.version, each) for each in self._events]
            said = {"DocumentIncarnation": self._incarnation, "Events": events}
        tag = f'"{self._incarnation}"'
        if self.has_tags:
            headers |= {"ETag": tag}
            if asked.headers.get("if-none-match") == tag:
                return 304, headers, b""
        return 200, headers, json.dumps(said, separators=(",", ":")).encode()


def _seen_in(version: str, said: dict[str, Any]) -> dict[str, Any]:
    """An event as a version has it."""
    seen = {name: value for name, value in said.items() if _SINCE.get(name, "") <= version}
    if version == "2017-03-01" and isinstance(seen.get("Resources"), list):
        seen["Resources"] = [f"_{name}" for name in seen["Resources"]]
    return seen


def read_request(incoming: Any, number: int) -> Asked | None:
    first = incoming.readline(65_536).decode("latin-1").split()
    if len(first) != 3:
        return None
    headers = {}
    while line := incoming.readline(65_536).decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = incoming.read(int(headers.get("content-length", "0")))
    return Asked(first[0], first[1], headers, body, number)


def bytes_of(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    lines = [f"HTTP/1.1 {status} As it is", *(f"{name}: {value}" for name, value in headers.items())]
    if status != 304:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@contextmanager
def azure(name: str = "web-0", port: int = 0) -> Iterator[Azure]:
    """An endpoint for the length of a block."""
    endpoint = Azure(name, port)
    try:
        yield endpoint
    finally:
        endpoint.stop()
