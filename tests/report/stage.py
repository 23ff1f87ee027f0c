"""A stage for the witness: its clocks, guests that ask, and events that happen to them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from forewarn.board.board import Board, Guest
from forewarn.clock import VirtualClock
from forewarn.core.document import Document
from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.operation import Attempt, Outcome
from forewarn.core.phase import Phase
from forewarn.core.terms import Action, Kind, Source
from forewarn.core.world import Changes
from forewarn.edge.exchange import Exchange
from forewarn.report.notes import GuestNotes
from forewarn.report.observer import GuestObserver
from forewarn.wire.http import Answer
from forewarn.wire.imds.document import render
from forewarn.wire.imds.request import Request, judge
from forewarn.wire.imds.versions import EVENTS_VERSIONS

START = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)
VERSION = EVENTS_VERSIONS["2020-07-01"]
TARGET = "/metadata/scheduledevents?api-version=2020-07-01"
HEADER = (("metadata", "true"),)
POLL = Request("GET", TARGET, HEADER)
HELD = Request("GET", TARGET, (*HEADER, ("if-none-match", "x"), ("prefer", "wait=60")))


class Stage:
    """A witness, its clock, and guests that come and go."""

    def __init__(self) -> None:
        self.clock = VirtualClock(START)
        self.real = 0.0
        self.conduct = GuestObserver(self.clock, lambda: self.real)
        self.conduct.mark_time()
        self.events: dict[str, Event] = {}

    def pass_time(self, seconds: float, real: float = 0.001) -> None:
        self.clock.move_to(self.clock.now() + timedelta(seconds=seconds))
        self.real += real
        self.conduct.mark_time()

    def guest(self, name: str = "web-0") -> Guest:
        board = Board()
        board.post("web", Document(1, 1), is_on=True)
        return Guest(Vm(name, "id", "host-0", None, "web"), board.panels["web"])

    def poll(
        self, guest: Guest, status: int = 200, fault: str = "", *, target: str = TARGET, wait_seconds: float = 0
    ) -> None:
        exchange = self.ask(guest, Request("GET", target, HEADER))
        body = render(Document(1, 1, tuple(each for each in self.events.values() if each.phase.is_open)), VERSION)
        self.conduct.note(exchange, status, body if status == 200 else b"", fault, wait_seconds=wait_seconds)

    def approve(
        self, guest: Guest, *events: str, status: int = 200, fault: str = "", is_done: bool = False
    ) -> None:
        self.conduct.note(self.ask(guest, approval(*events)), status, b"", fault, is_done=is_done)

    def ask(self, guest: Guest, request: Request = POLL) -> Exchange:
        """A request has come; what is answered is still to be noted."""
        wish = judge(request)
        exchange = Exchange(guest, request, None if isinstance(wish, Answer) else wish, self.real)
        self.conduct.begin(exchange)
        return exchange

    def commit(self, event: Event) -> None:
        self.events[event.id] = event
        self.conduct.learn(Changes(1, (event,)))

    def announce(self, id_: str, *vms: str) -> Event:
        now = self.clock.now()
        ends = now + timedelta(minutes=15)
        made = Event(
            id_, 1, "operation", "web", 0, vms, Kind.REBOOT, Source.USER, "", -1, Phase.SCHEDULED, now, ends - now,
            ends, ends,
        )  # fmt: skip
        self.commit(made)
        return made

    def touch(self, vm: str, action: Action, announced_seconds: int = -1) -> Attempt:
        """An action on a machine begins; `release` follows."""
        now = self.clock.now()
        deadline = now + timedelta(hours=1)
        attempt = Attempt("operation", vm, action, now, deadline, "host-0", duration_seconds=announced_seconds)
        self.conduct.learn(Changes(1, (attempt,)))
        return attempt

    def release(self, attempt: Attempt) -> None:
        self.conduct.learn(Changes(2, (replace(attempt, outcome=Outcome.DONE),)))

    def notes(self, name: str = "web-0") -> GuestNotes:
        (found,) = self.conduct.notes_on([name])
        return found


def approval(*events: str) -> Request:
    body = json.dumps({"StartRequests": [{"EventId": each} for each in events]}).encode()
    return Request("POST", TARGET, HEADER, body)
