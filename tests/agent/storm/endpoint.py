"""The endpoint of the hour: real sockets on loopback, answers on virtual time, as the weather has it.

Half of the seeds have one that also knows tags and holds questions, as forewarn's does.
"""

from __future__ import annotations

import socket
import threading
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from tests.agent.azure import Asked, Fault, bytes_of, http_date, read_request
from tests.agent.storm.hours import ENDPOINT, Hours, is_readable
from tests.agent.storm.platform import FIRST_CALL_SECONDS, Platform
from tests.agent.storm.weather import FAULTS, Weather

_ON_THE_WAY_SECONDS = 0.003
_ACCEPTS = ("closed", "cut body")  # an approval may count although its answer is lost


@dataclass
class Approval:
    """One that came in."""

    event_id: str
    at: float
    was_seen_scheduled: bool  # in the last whole document that the agent was given
    age_seconds: float  # of that document
    is_accepted: bool = False
    is_told: bool = False  # the agent was told so


@dataclass
class Witnessed:
    """What the endpoint saw and said."""

    faults: Counter[str] = field(default_factory=Counter)
    questions: int = 0
    approvals: list[Approval] = field(default_factory=list)
    stalls: list[tuple[float, float]] = field(default_factory=list)  # a question was under way without need
    scheduled: frozenset[str] = frozenset()  # in the last whole document that was given
    given_at: float = 0.0  # when that was


class Endpoint:
    """A listener, with a thread for each connection."""

    def __init__(self, hours: Hours, platform: Platform, weather: Weather, *, holds: bool) -> None:
        self.seen = Witnessed()
        self._hours = hours
        self._platform = platform
        self._weather = weather
        self._holds = holds
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, name=ENDPOINT, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        number = 0
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                number += 1
                threading.Thread(target=self._serve, args=(connection, number), name=ENDPOINT, daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with connection, connection.makefile("rb") as incoming, suppress(OSError):
            while (asked := read_request(incoming, number)) is not None:
                content, is_kept = self._take(connection, asked)
                connection.sendall(content)
                if not is_kept:
                    connection.shutdown(socket.SHUT_RDWR)
                self._hours.has_answered()
                if not is_kept:
                    return

    def _wait(
        self, connection: socket.socket, asked: Asked, seconds: float, until_changed: bytes | None = None
    ) -> None:
        """Hold the request: on the way, stalled, or because nothing has changed."""
        # Approvals that are sent at once arrive in any order; they are answered in one.
        key = f"{asked.method} {asked.body!r}"

        def is_ready() -> bool:
            now = self._hours.monotonic()
            is_new = until_changed is not None and (
                self._weather.spell_at(now) is not None or self._platform.document(now) != until_changed
            )
            return is_new or is_readable(connection)

        for _ in range(100_000):
            now = self._hours.monotonic()
            left = seconds if until_changed is None else min(seconds, self._next_change(now) - now)
            self._hours.wait(left, is_ready, key, holds=connection, is_approval=asked.method == "POST")
            seconds -= self._hours.monotonic() - now
            if seconds <= 0 or is_ready():
                return

    def _next_change(self, now: float) -> float:
        return min(self._platform.next_change(now), self._weather.next_spell(now))

    def _take(self, connection: socket.socket, asked: Asked) -> tuple[bytes, bool]:
        # What is given while an approval is on its way, its sender did not know.
        known, given_at = self.seen.scheduled, self.seen.given_at
        self._wait(connection, asked, _ON_THE_WAY_SECONDS)
        if asked.method == "POST":
            return self._approve(connection, asked, known, given_at)
        self.seen.questions += 1
        if self.seen.questions == 1:
            self._stall(connection, asked, FIRST_CALL_SECONDS)
        else:
            self._hold(connection, asked)
        if is_readable(connection):
            return b"", False  # whoever asked has gone
        kind = self._weather.draw(self._hours.monotonic())
        self.seen.faults[kind] += 1
        fault = FAULTS.get(kind, Fault())
        if fault.delay_seconds:
            self._stall(connection, asked, fault.delay_seconds)
        if is_readable(connection):
            return b"", False
        return self._say(asked, fault)

    def _stall(self, connection: socket.socket, asked: Asked, seconds: float) -> None:
        began_at = self._hours.monotonic()
        self._wait(connection, asked, seconds)
        self.seen.stalls.append((began_at, self._hours.monotonic()))

    def _hold(self, connection: socket.socket, asked: Asked) -> None:
        document = self._platform.document(self._hours.monotonic())
        wish = asked.headers.get("prefer", "").partition("wait=")[2]
        if self._holds and wish and asked.headers.get("if-none-match") == _tag(document):
            self.seen.faults["(held)"] += 1
            self._wait(connection, asked, float(wish), document)

    def _say(self, asked: Asked, fault: Fault) -> tuple[bytes, bool]:
        """The bytes, and whether the connection goes on."""
        if fault.is_closed:
            return b"", False
        now = self._hours.monotonic()
        headers = {"Date": http_date(self._hours.date()), "Content-Type": "application/json"}
        if fault.status or fault.body is not None:
            body = b'{"error":"as the weather has it"}' if fault.body is None else fault.body
            return bytes_of(fault.status or 200, headers | dict(fault.headers), body), True
        document = self._platform.document(now)
        status = 200
        if self._holds:
            headers["ETag"] = _tag(document)
            status = 304 if asked.headers.get("if-none-match") == _tag(document) else 200
        content = bytes_of(status, headers, document if status == 200 else b"")
        if fault.is_cut:
            return content[: -max(1, len(document) // 3)], False
        happenings = self._platform.happenings
        shown = [each for each in happenings if each.is_shown(now)]
        self.seen.given_at = now
        self.seen.scheduled = frozenset(each.id for each in shown if each.status(now) == "Scheduled")
        return content, True

    def _approve(
        self, connection: socket.socket, asked: Asked, known: frozenset[str], given_at: float
    ) -> tuple[bytes, bool]:
        (event_id,) = asked.approved
        tries = sum(1 for each in self.seen.approvals if each.event_id == event_id)
        now = self._hours.monotonic()
        approval = Approval(event_id, now, event_id in known, now - given_at)
        self.seen.approvals.append(approval)
        kind = self._weather.draw_for_approval(event_id, tries, self._hours.monotonic())
        self.seen.faults[f"approval: {kind or 'fine'}"] += 1
        fault = FAULTS.get(kind, Fault())
        self._wait(connection, asked, min(fault.delay_seconds, 8.0))
        is_fine = not (fault.status or fault.body is not None or kind in _ACCEPTS)
        if is_fine or (kind in _ACCEPTS and tries % 2 == 0):
            approval.is_accepted = self._platform.approve(event_id, self._hours.monotonic())
        approval.is_told = is_fine and approval.is_accepted
        headers = {"Date": http_date(self._hours.date())} | dict(fault.headers)
        if is_fine:
            return bytes_of(200 if approval.is_accepted else 400, headers, b""), True
        if kind in _ACCEPTS:
            return b"" if fault.is_closed else bytes_of(200, headers, b"{}")[:-10], False
        return bytes_of(fault.status or 502, headers, fault.body or b""), True


def _tag(document: bytes) -> str:
    return f'"{zlib.crc32(document):x}"'
