"""A whole service in this process, behind real sockets, for tests that talk to it as its users do."""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from forewarn.cli.serve import loop_factory
from forewarn.config import Settings
from forewarn.control.commands.fleet import apply_fleet
from forewarn.service import Service
from forewarn.wire.fleet_file import read_json
from tests.waiting import ROOT, as_typed, free_port, wait_until

__all__ = [
    "ROOT",
    "START",
    "Guest",
    "Reply",
    "RunningService",
    "as_typed",
    "call",
    "free_port",
    "running",
    "wait_until",
]

START = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Reply:
    """What came back over the socket."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RunningService:
    """A service on ports of its own, with a virtual clock unless told otherwise."""

    def __init__(self, fleet: dict[str, Any] | None = None, **settings: Any) -> None:
        defaults: dict[str, Any] = {
            "metadata": (("127.0.0.1", 0),),
            "operator": ("127.0.0.1", 0),
            "store": "sqlite://",
            "clock": "virtual",
            "clock_start": START,
            "watch_guests": False,  # so that guests are answered on the shortest way, as in production
        }
        self._settings = Settings(**(defaults | settings))
        self._fleet = fleet
        self.headers: dict[str, str] = {}  # sent with every operator's call
        self.trust: ssl.SSLContext | None = None  # where operators are heard over TLS: in whom to trust
        self._loop = loop_factory()()
        self._thread = threading.Thread(target=self._loop.run_forever, name="service", daemon=True)

    def start(self) -> RunningService:
        self.service = Service(self._settings)
        if self._fleet is not None and not self.service.plane.world.number:
            outcome = apply_fleet(self.service.plane, read_json(self._fleet).spec, "test")
            assert all(isinstance(line, str) for line in outcome), outcome
        self._thread.start()
        self._on_loop(self.service.start())
        return self

    def stop(self) -> None:
        self._on_loop(self.service.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _on_loop(self, act: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(act, self._loop).result(60)

    # As a guest.

    @property
    def metadata_port(self) -> int:
        return self.service.metadata[0][1]

    def guest(self, name: str) -> Guest:
        """The VM of that name, calling from its own address."""
        return Guest(self, self.service.plane.world.vms[name].addresses[0])

    # As an operator.

    def operator(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        port, sent = self.service.operator[1], headers or {}
        return call("127.0.0.1", port, method, path, data, self.headers | sent, trust=self.trust)

    def get(self, path: str) -> Any:
        reply = self.operator("GET", path)
        assert reply.status == 200, (path, reply)
        return reply.json

    def post(self, path: str, body: Any = None, expect: int | None = None) -> Any:
        reply = self.operator("POST", path, body)
        assert reply.status == expect if expect else reply.status < 300, (path, reply)
        return reply.json

    def advance(self, **duration: float) -> datetime:
        """Let virtual time pass."""
        answer = self.post("/v1/clock", {"advance_seconds": timedelta(**duration).total_seconds()})
        return datetime.fromisoformat(answer["now"])

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(self.get("/v1/clock")["now"])


@dataclass(frozen=True)
class Guest:
    """A caller from one address."""

    service: RunningService
    address: str

    def call(
        self,
        method: str = "GET",
        path: str = "/metadata/scheduledevents?api-version=2020-07-01",
        body: bytes | str | None = None,
        headers: dict[str, str] | None = None,
        *,
        with_header: bool = True,
    ) -> Reply:
        """One request over a connection of its own."""
        sent = ({"Metadata": "true"} if with_header else {}) | (headers or {})
        data = body.encode() if isinstance(body, str) else body
        return call("127.0.0.1", self.service.metadata_port, method, path, data, sent, source=self.address)

    def document(self, version: str = "2020-07-01") -> Any:
        """The document, which has to be there."""
        reply = self.call(path=f"/metadata/scheduledevents?api-version={version}")
        assert reply.status == 200, reply
        return reply.json

    def events(self, version: str = "2020-07-01") -> list[dict[str, Any]]:
        return self.document(version)["Events"]

    def approve(self, *events: str, version: str = "2020-07-01") -> Reply:
        body = json.dumps({"StartRequests": [{"EventId": event} for event in events]})
        return self.call("POST", f"/metadata/scheduledevents?api-version={version}", body)


def call(
    host: str,
    port: int,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    source: str | None = None,
    trust: ssl.SSLContext | None = None,
) -> Reply:
    """One HTTP request over a connection of its own, with TLS where somebody is trusted."""
    origin = (source, 0) if source else None
    connection: http.client.HTTPConnection
    if trust is None:
        connection = http.client.HTTPConnection(host, port, timeout=30, source_address=origin)
    else:
        connection = http.client.HTTPSConnection(host, port, timeout=30, source_address=origin, context=trust)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return Reply(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


@contextmanager
def running(fleet: dict[str, Any] | None = None, **settings: Any) -> Iterator[RunningService]:
    """A service for the length of a block."""
    service = RunningService(fleet, **settings).start()
    try:
        yield service
    finally:
        service.stop()
