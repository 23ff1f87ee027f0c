"""Observe guests: their requests and answers, and the events that they see.

Requests come on the listeners' thread, events on the plane's, and readers on any: one lock, held briefly. Memory
is bounded: about thirty kilobytes for each guest with a request, and for the last deleted ones.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Protocol
from urllib.parse import parse_qsl

import msgspec

from forewarn.board.board import Guest
from forewarn.clock import Clock
from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.notice import FREEZE_SECONDS
from forewarn.core.operation import Attempt
from forewarn.core.phase import Phase
from forewarn.core.terms import Action, VmState
from forewarn.core.world import Changes
from forewarn.report.findings import drop_oldest
from forewarn.report.moment import Moment, Pace
from forewarn.report.notes import MOST_EVENTS, EventLife, GuestNotes
from forewarn.report.presence import FOR_EVER
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, Request, Wish, asks_for_events

_MOST_GONE = 100  # deleted guests
_MOST_ENDED = 512  # ended events
_MOST_UNKNOWN = 512  # events that a document showed before the plane's commit arrived
_MOST_MARKS = 1024  # instants of a virtual clock
_PAUSES = frozenset({Action.FREEZE, Action.MIGRATE})
_OK, _NOT_MODIFIED, _ERROR, _LIMITED, _OURS = 200, 304, 400, 429, 500


class GuestRequest(Protocol):
    """One request of a guest, as the edge describes it."""

    @property
    def guest(self) -> Guest:
        """Who asked."""

    @property
    def request(self) -> Request:
        """What was sent."""

    @property
    def wish(self) -> Wish | None:
        """What the request asks for; None: it was refused before."""

    @property
    def asked_at(self) -> float:
        """When, in real seconds."""


class GuestObserver:
    """Keeps the notes on every guest that has sent a request."""

    def __init__(self, clock: Clock, real: Callable[[], float], most_events: int = MOST_EVENTS) -> None:
        self._clock = clock
        self._real = real
        self._pace = Pace.REAL if clock.runs else Pace.VIRTUAL
        self._most_events = most_events
        self._lock = threading.Lock()
        self._guests: dict[str, GuestNotes] = {}
        self._down: set[str] = set()  # VMs that are not running
        # By VM and operation: until when an action keeps the guest away.
        self._actions: dict[str, dict[str, float]] = {}
        self._open: dict[str, EventLife] = {}
        self._ended: dict[str, EventLife] = {}
        self._unknown: dict[str, EventLife] = {}
        self._events_of: dict[str, dict[str, None]] = {}  # the open events that name a VM
        self._bodies: dict[str, int] = {}  # the hash of each guest's last document
        self._marks: deque[tuple[float, Moment]] = deque(maxlen=_MOST_MARKS)

    # Called by the listeners.

    def begin(self, exchange: GuestRequest) -> None:
        """Note the start of a request; `note` or `leave` follows."""
        with self._lock:
            now = self._now()
            notes = self._notes_on(exchange.guest, now)
            notes.ask(now)
            if asks_for_events(exchange.request):
                notes.begin_poll(now)

    def leave(self, exchange: GuestRequest, fault: str = "", *, is_done: bool = False) -> None:
        """Note that the guest did not wait for the answer; `fault` delayed it."""
        with self._lock:
            now = self._now()
            notes = self._end(exchange, now)
            if notes is not None and fault:
                notes.errors.add_unawaited(now)
                self._note_hit(notes, exchange, 0, b"", fault, now, is_done=is_done)
                drop_oldest(notes, now, self._pace, self._most_events)

    def note(
        self,
        exchange: GuestRequest,
        status: int,
        body: bytes,
        fault: str = "",
        *,
        is_done: bool = False,
        wait_seconds: float = 0.0,
    ) -> None:
        """Note an answer; status 0: the connection was closed, though the request may be carried out."""
        with self._lock:
            now = self._now()
            notes = self._end(exchange, now)
            if notes is None:
                return
            if fault:
                self._note_hit(notes, exchange, status, body, fault, now, is_done=is_done)
            if status and status < _ERROR:
                notes.errors.end()
                self._note_answer(notes, exchange, status, body, now)
            else:
                notes.errors.add(status, now, is_put_in=bool(fault))
                if not fault:
                    _note_refusal(notes, exchange.wish, status)
            if wait_seconds:
                notes.be_told_to_wait(now, wait_seconds, fault)
            drop_oldest(notes, now, self._pace, self._most_events)

    def _end(self, exchange: GuestRequest, now: Moment) -> GuestNotes | None:
        """End the request; return the notes on the guest, or None if its VM is gone."""
        notes = self._guests.get(exchange.guest.vm.name)
        if notes is not None:
            notes.presence.look(now)
            notes.end_wait(exchange.asked_at, now)
            if asks_for_events(exchange.request):
                notes.end_poll(now)
        return None if notes is None or notes.is_gone else notes

    def _note_hit(
        self,
        notes: GuestNotes,
        exchange: GuestRequest,
        status: int,
        body: bytes,
        fault: str,
        now: Moment,
        *,
        is_done: bool,
    ) -> None:
        """Note that a fault hit the answer, so that the guest is not blamed for it."""
        asked = self._moment_at(exchange.asked_at, now)
        if isinstance(exchange.wish, ReadEvents) and status != _NOT_MODIFIED:
            notes.note_hit(fault, asked, now, complete_events(body) if status == _OK else {})
        elif is_done:
            self._note_approvals(notes, exchange, now)
        elif isinstance(exchange.wish, ApproveEvents) and status != _OK:
            for id_ in exchange.wish.event_ids:
                if (event := notes.events.get(id_)) is not None:
                    event.lose_approval(fault, asked)

    def _note_answer(
        self, notes: GuestNotes, exchange: GuestRequest, status: int, body: bytes, now: Moment
    ) -> None:
        wish = exchange.wish
        if isinstance(wish, (ReadEvents, ApproveEvents)) and exchange.request.header("metadata") is None:
            notes.headerless += 1
        if isinstance(wish, ReadEvents) and status in {_OK, _NOT_MODIFIED}:
            if status == _OK and (looks := hash(body)) != self._bodies.get(notes.vm):
                shown = shown_events(body)
                if shown is None:  # not a document, whatever the status says
                    return
                self._bodies[notes.vm] = looks
                notes.see(now, shown, {id_: self._life(id_) for id_ in shown})
            notes.read(now, wish.version.name)
        elif status == _OK:
            self._note_approvals(notes, exchange, now)

    def _note_approvals(self, notes: GuestNotes, exchange: GuestRequest, now: Moment) -> None:
        """Note accepted approvals."""
        if isinstance(exchange.wish, ApproveEvents):
            version = _version_of(exchange.request)
            for id_ in exchange.wish.event_ids:
                notes.approve(now, self._life(id_), version)

    def _notes_on(self, guest: Guest, now: Moment) -> GuestNotes:
        name = guest.vm.name
        notes = self._guests.get(name)
        if notes is None or notes.is_gone:  # another VM may have taken the name
            self._bodies.pop(name, None)
            self._guests.pop(name, None)
            notes = self._guests[name] = GuestNotes(name)
            if guest.vm.state is not VmState.RUNNING:
                self._down.add(name)
            for id_ in self._events_of.get(name, ()):
                notes.add_event(self._open[id_])
            self._update_presence(name, now)
        notes.presence.look(now)
        return notes

    def _life(self, id_: str) -> EventLife:
        """The life of the event; a document may show it just before the plane's commit arrives."""
        found = self._open.get(id_) or self._ended.get(id_) or self._unknown.get(id_)
        if found is None:
            found = self._unknown[id_] = EventLife(id_)
            _keep_newest(self._unknown, _MOST_UNKNOWN)
        return found

    # Called by the plane.

    def learn(self, changes: Changes) -> None:
        """Take over a commit."""
        with self._lock:
            now = self._now()
            for entity in changes.entities:
                if isinstance(entity, Event):
                    self._take_event(entity, now)
                elif isinstance(entity, Attempt):
                    self._take_attempt(entity, now)
                elif isinstance(entity, Vm):
                    self._take_vm(entity, now)

    def mark_time(self, _looked: Collection[str] = ()) -> None:
        """Remember the time by both clocks, so that earlier requests can be dated."""
        with self._lock:
            now = self._now()
            if not self._clock.runs and (not self._marks or self._marks[-1][1].virtual != now.virtual):
                self._marks.append((now.real, now))

    def _take_event(self, event: Event, now: Moment) -> None:
        life = self._open.get(event.id) or self._ended.get(event.id) or self._unknown.pop(event.id, None)
        is_new = life is None or life.kind is None
        life = life or EventLife(event.id)
        life.kind = event.kind
        life.phase = event.phase
        life.faults = event.faults
        life.approved_by = tuple(approval.by for approval in event.approvals)
        if life.approved_by:
            life.approved = life.approved or now
        life.notice_seconds = (event.not_before - event.created_at).total_seconds()
        if is_new and event.phase is Phase.SCHEDULED:
            life.announced = now
        if event.phase is Phase.STARTED:
            life.started = life.started or now
        self._set_resources(life, event.resources)
        if event.phase.is_open:
            self._open[life.id] = life
        elif life.ended is None:
            life.ended = now
            self._open.pop(life.id, None)
            self._ended[life.id] = life
            _keep_newest(self._ended, _MOST_ENDED)
        for vm in life.resources:
            if (notes := self._guests.get(vm)) is not None:
                drop_oldest(notes, now, self._pace, self._most_events)

    def _set_resources(self, life: EventLife, resources: tuple[str, ...]) -> None:
        """Update the resources of an event, and the notes on their guests."""
        if life.id not in self._ended:
            life.resources = resources or life.resources
        for vm in life.resources:
            if life.phase.is_open:
                self._events_of.setdefault(vm, {})[life.id] = None
                notes = self._guests.get(vm)
                if notes is not None and life.id not in notes.events:
                    notes.add_event(life)
            elif vm in self._events_of:
                self._events_of[vm].pop(life.id, None)
                if not self._events_of[vm]:
                    del self._events_of[vm]

    def _take_attempt(self, attempt: Attempt, now: Moment) -> None:
        """Note an action on a VM: a pause lasts as long as announced; otherwise the VM is down."""
        actions = self._actions.setdefault(attempt.vm, {})
        if attempt.outcome is not None:
            actions.pop(attempt.operation, None)
        elif attempt.action in _PAUSES:
            seconds = FREEZE_SECONDS if attempt.duration_seconds < 0 else attempt.duration_seconds
            actions.setdefault(attempt.operation, now.virtual + seconds)
        else:
            actions[attempt.operation] = FOR_EVER
        if not actions:
            del self._actions[attempt.vm]
        self._update_presence(attempt.vm, now)

    def _take_vm(self, vm: Vm, now: Moment) -> None:
        if vm.state is VmState.RUNNING or vm.is_gone:
            self._down.discard(vm.name)
            if vm.is_gone:
                self._actions.pop(vm.name, None)
        elif vm.name in self._guests:
            self._down.add(vm.name)
        if vm.is_gone and vm.name in self._guests:
            gone = self._guests.pop(vm.name)
            gone.is_gone = True
            self._guests[vm.name] = gone  # the last deleted is the last dropped
            self._bodies.pop(vm.name, None)
            self._drop_deleted()
        self._update_presence(vm.name, now)

    def _update_presence(self, vm: str, now: Moment) -> None:
        notes = self._guests.get(vm)
        if notes is not None:
            until = FOR_EVER if vm in self._down else max(self._actions.get(vm, {}).values(), default=now.virtual)
            notes.presence.be_away(now, until)

    def _drop_deleted(self) -> None:
        gone = [name for name, notes in self._guests.items() if notes.is_gone]
        for name in gone[: max(0, len(gone) - _MOST_GONE)]:
            del self._guests[name]

    # Called by readers.

    def now(self) -> Moment:
        """The time by both clocks."""
        return self._now()

    def heard(self) -> list[str]:
        """The names of the guests that have sent a request."""
        with self._lock:
            return sorted(self._guests)

    def notes_on(self, names: Iterable[str]) -> list[GuestNotes]:
        """Copies of the notes on these guests; without those that have sent no request."""
        found = []
        for name in names:
            with self._lock:  # one at a time: guests are being answered meanwhile
                if (notes := self._guests.get(name)) is not None:
                    notes.presence.look(self._now())
                    found.append(notes.copy())
        return found

    # Time.

    def _now(self) -> Moment:
        return Moment(self._clock.now(), self._clock.elapsed().total_seconds(), self._real())

    def _moment_at(self, real: float, now: Moment) -> Moment:
        """A real instant by both clocks; the virtual one may have moved since."""
        if self._clock.runs:
            return now._replace(real=real, virtual=now.virtual - max(0.0, now.real - real))
        for since, then in reversed(self._marks):
            if since <= real:
                return then._replace(real=real)
        return (self._marks[0][1] if self._marks else now)._replace(real=real)


def _version_of(request: Request) -> str:
    """The api-version of a valid request."""
    parameters = parse_qsl(request.target.partition("?")[2])
    return next((value for name, value in parameters if name.lower() == "api-version"), "")


def _note_refusal(notes: GuestNotes, wish: Wish | None, status: int) -> None:
    if status == _LIMITED:
        notes.limited += 1
    elif isinstance(wish, ApproveEvents):
        notes.refused_approvals += status < _OURS
    elif status and status < _OURS:
        notes.bad_requests += 1


def _keep_newest(lives: dict[str, EventLife], most: int) -> None:
    while len(lives) > most:
        del lives[next(iter(lives))]


# What a guest can read in a document, also in one that a fault has changed.


class _Event(msgspec.Struct):
    EventId: str
    EventStatus: str = ""


class _Document(msgspec.Struct):
    Events: list[_Event] | None = None


def shown_events(body: bytes) -> dict[str, bool] | None:
    """The events of a document, and whether each is Scheduled; None if it is not a document."""
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


def complete_events(body: bytes) -> dict[str, bool]:
    """The events of a document with all members that guests act on, and whether each is Scheduled."""
    whole = {}
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for row in msgspec.json.decode(body, type=_Rows).Events:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                event = msgspec.json.decode(row, type=_WholeEvent)
                whole[event.EventId] = event.EventStatus == Phase.SCHEDULED
    return whole
