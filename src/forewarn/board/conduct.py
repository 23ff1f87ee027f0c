"""Looking on: what guests ask and are answered, and what becomes of the events that they are told of.

Requests come from the listeners' thread, events from the plane's, readers from anywhere: one lock, held briefly.
What is kept is bounded: some thirty kilobytes for every guest that was heard, and for the last that were deleted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Protocol
from urllib.parse import parse_qsl

from forewarn.board.board import Guest
from forewarn.board.shown import shown_events, told_whole
from forewarn.clock import Clock
from forewarn.core.conduct import MOST_EVENTS, EventLife, GuestNotes
from forewarn.core.conduct_findings import let_go_of_oldest
from forewarn.core.event import Event
from forewarn.core.fleet import Vm
from forewarn.core.moment import Moment, Pace
from forewarn.core.notice import FREEZE_SECONDS
from forewarn.core.operation import Attempt
from forewarn.core.phase import Phase
from forewarn.core.presence import FOR_EVER
from forewarn.core.terms import Action, VmState
from forewarn.core.world import Changes
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, Request, Wish, asks_for_events

_MOST_GONE = 100  # guests that were deleted
_MOST_ENDED = 512  # events that are over
_MOST_UNTOLD = 512  # events that were shown and that the plane has not told of
_MOST_MARKS = 1024  # instants of a virtual clock
_PAUSES = frozenset({Action.FREEZE, Action.MIGRATE})
_OK, _NOT_MODIFIED, _ERROR, _LIMITED, _OURS = 200, 304, 400, 429, 500


class Asked(Protocol):
    """One request of a guest, as the edge describes it."""

    @property
    def guest(self) -> Guest:
        """Who asked."""

    @property
    def request(self) -> Request:
        """What was sent."""

    @property
    def wish(self) -> Wish | None:
        """What is asked for; None: it was refused before it was understood."""

    @property
    def asked_at(self) -> float:
        """When, in real seconds."""


class Conduct:
    """The notes on every guest that was heard."""

    def __init__(self, clock: Clock, real: Callable[[], float], most_events: int = MOST_EVENTS) -> None:
        self._clock = clock
        self._real = real
        self._pace = Pace.REAL if clock.runs else Pace.VIRTUAL
        self._most_events = most_events
        self._lock = threading.Lock()
        self._guests: dict[str, GuestNotes] = {}
        self._down: set[str] = set()  # machines that are not running
        # By machine and operation: until when an action keeps it away.
        self._acts: dict[str, dict[str, float]] = {}
        self._open: dict[str, EventLife] = {}
        self._ended: dict[str, EventLife] = {}
        self._untold: dict[str, EventLife] = {}
        self._events_of: dict[str, dict[str, None]] = {}  # the open events that name a machine
        self._bodies: dict[str, int] = {}  # the hash of the last document that each guest was given
        self._marks: deque[tuple[float, Moment]] = deque(maxlen=_MOST_MARKS)

    # The listeners' side.

    def begin(self, exchange: Asked) -> None:
        """A request has come; `note` or `leave` follows. Here, in the order in which they come, requests count."""
        with self._lock:
            now = self._now()
            notes = self._notes_on(exchange.guest, now)
            notes.ask(now)
            if asks_for_events(exchange.request):
                notes.begin_poll(now)

    def leave(self, exchange: Asked, fault: str = "", *, is_done: bool = False) -> None:
        """The guest did not wait for the answer; `fault` is what made it late."""
        with self._lock:
            now = self._now()
            notes = self._end(exchange, now)
            if notes is not None and fault:
                notes.errors.wait_no_more(now)
                self._note_stroke(notes, exchange, 0, b"", fault, now, is_done=is_done)
                let_go_of_oldest(notes, now, self._pace, self._most_events)

    def note(
        self,
        exchange: Asked,
        status: int,
        body: bytes,
        fault: str = "",
        *,
        is_done: bool = False,
        wait_seconds: float = 0.0,
    ) -> None:
        """A request is answered now; status 0: with a hang-up, though it may be done what was asked for."""
        with self._lock:
            now = self._now()
            notes = self._end(exchange, now)
            if notes is None:
                return
            if fault:
                self._note_stroke(notes, exchange, status, body, fault, now, is_done=is_done)
            if status and status < _ERROR:
                notes.errors.end()
                self._note_answer(notes, exchange, status, body, now)
            else:
                notes.errors.add(status, now, is_put_in=bool(fault))
                if not fault:
                    _note_refusal(notes, exchange.wish, status)
            if wait_seconds:
                notes.be_told_to_wait(now, wait_seconds, fault)
            let_go_of_oldest(notes, now, self._pace, self._most_events)

    def _end(self, exchange: Asked, now: Moment) -> GuestNotes | None:
        """The notes on whoever asked; None: its machine is gone, and what it is still told is nobody's way."""
        notes = self._guests.get(exchange.guest.vm.name)
        if notes is not None:
            notes.presence.look(now)
            notes.end_wait(exchange.asked_at, now)
            if asks_for_events(exchange.request):
                notes.end_poll(now)
        return None if notes is None or notes.is_gone else notes

    def _note_stroke(
        self,
        notes: GuestNotes,
        exchange: Asked,
        status: int,
        body: bytes,
        fault: str,
        now: Moment,
        *,
        is_done: bool,
    ) -> None:
        """A fault has struck: what it kept from the guest is not the guest's to answer for."""
        asked = self._moment_at(exchange.asked_at, now)
        if isinstance(exchange.wish, ReadEvents) and status != _NOT_MODIFIED:
            notes.note_stroke(fault, asked, now, told_whole(body) if status == _OK else {})
        elif is_done:
            self._note_approvals(notes, exchange, now)
        elif isinstance(exchange.wish, ApproveEvents) and status != _OK:
            for id_ in exchange.wish.event_ids:
                if (event := notes.events.get(id_)) is not None:
                    event.lose_approval(fault, asked)

    def _note_answer(self, notes: GuestNotes, exchange: Asked, status: int, body: bytes, now: Moment) -> None:
        wish = exchange.wish
        if isinstance(wish, (ReadEvents, ApproveEvents)) and exchange.request.header("metadata") is None:
            notes.headerless += 1
        if isinstance(wish, ReadEvents) and status in {_OK, _NOT_MODIFIED}:
            if status == _OK and (looks := hash(body)) != self._bodies.get(notes.vm):
                shown = shown_events(body)
                if shown is None:  # it is no document, whatever the status says
                    return
                self._bodies[notes.vm] = looks
                notes.see(now, shown, {id_: self._life(id_) for id_ in shown})
            notes.read(now, wish.version.name)
        elif status == _OK:
            self._note_approvals(notes, exchange, now)

    def _note_approvals(self, notes: GuestNotes, exchange: Asked, now: Moment) -> None:
        """What it approved was taken."""
        if isinstance(exchange.wish, ApproveEvents):
            version = _version_of(exchange.request)
            for id_ in exchange.wish.event_ids:
                notes.approve(now, self._life(id_), version)

    def _notes_on(self, guest: Guest, now: Moment) -> GuestNotes:
        name = guest.vm.name
        notes = self._guests.get(name)
        if notes is None or notes.is_gone:  # the name may have been given to another machine
            self._bodies.pop(name, None)
            self._guests.pop(name, None)
            notes = self._guests[name] = GuestNotes(name)
            if guest.vm.state is not VmState.RUNNING:
                self._down.add(name)
            for id_ in self._events_of.get(name, ()):
                notes.take_up(self._open[id_])
            self._look_whether_away(name, now)
        notes.presence.look(now)
        return notes

    def _life(self, id_: str) -> EventLife:
        """What is known of the event; it may be shown a little before it is told of."""
        found = self._open.get(id_) or self._ended.get(id_) or self._untold.get(id_)
        if found is None:
            found = self._untold[id_] = EventLife(id_)
            _keep_newest(self._untold, _MOST_UNTOLD)
        return found

    # The plane's side.

    def learn(self, changes: Changes) -> None:
        """Something was committed."""
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
        """The clock may have moved: so it can be said later what time it was when somebody asked."""
        with self._lock:
            now = self._now()
            if not self._clock.runs and (not self._marks or self._marks[-1][1].virtual != now.virtual):
                self._marks.append((now.real, now))

    def _take_event(self, event: Event, now: Moment) -> None:
        life = self._open.get(event.id) or self._ended.get(event.id) or self._untold.pop(event.id, None)
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
        self._seat(life, event.resources)
        if event.phase.is_open:
            self._open[life.id] = life
        elif life.ended is None:
            life.ended = now
            self._open.pop(life.id, None)
            self._ended[life.id] = life
            _keep_newest(self._ended, _MOST_ENDED)
        for vm in life.resources:
            if (notes := self._guests.get(vm)) is not None:
                let_go_of_oldest(notes, now, self._pace, self._most_events)

    def _seat(self, life: EventLife, resources: tuple[str, ...]) -> None:
        """Its resources are these now; those of them that were heard have an event more."""
        if life.id not in self._ended:
            life.resources = resources or life.resources
        for vm in life.resources:
            if life.phase.is_open:
                self._events_of.setdefault(vm, {})[life.id] = None
                notes = self._guests.get(vm)
                if notes is not None and life.id not in notes.events:
                    notes.take_up(life)
            elif vm in self._events_of:
                self._events_of[vm].pop(life.id, None)
                if not self._events_of[vm]:
                    del self._events_of[vm]

    def _take_attempt(self, attempt: Attempt, now: Moment) -> None:
        """A machine is touched: a pause is as long as was announced, however long the action; else it is down."""
        acts = self._acts.setdefault(attempt.vm, {})
        if attempt.outcome is not None:
            acts.pop(attempt.operation, None)
        elif attempt.action in _PAUSES:
            seconds = FREEZE_SECONDS if attempt.duration_seconds < 0 else attempt.duration_seconds
            acts.setdefault(attempt.operation, now.virtual + seconds)
        else:
            acts[attempt.operation] = FOR_EVER
        if not acts:
            del self._acts[attempt.vm]
        self._look_whether_away(attempt.vm, now)

    def _take_vm(self, vm: Vm, now: Moment) -> None:
        if vm.state is VmState.RUNNING or vm.is_gone:
            self._down.discard(vm.name)
            if vm.is_gone:
                self._acts.pop(vm.name, None)
        elif vm.name in self._guests:
            self._down.add(vm.name)
        if vm.is_gone and vm.name in self._guests:
            gone = self._guests.pop(vm.name)
            gone.is_gone = True
            self._guests[vm.name] = gone  # the last to go is the last to be forgotten
            self._bodies.pop(vm.name, None)
            self._forget_some()
        self._look_whether_away(vm.name, now)

    def _look_whether_away(self, vm: str, now: Moment) -> None:
        notes = self._guests.get(vm)
        if notes is not None:
            until = FOR_EVER if vm in self._down else max(self._acts.get(vm, {}).values(), default=now.virtual)
            notes.presence.be_away(now, until)

    def _forget_some(self) -> None:
        gone = [name for name, notes in self._guests.items() if notes.is_gone]
        for name in gone[: max(0, len(gone) - _MOST_GONE)]:
            del self._guests[name]

    # The readers' side.

    def now(self) -> Moment:
        """What time it is, by every clock."""
        return self._now()

    def heard(self) -> list[str]:
        """The guests that have asked for something, by name."""
        with self._lock:
            return sorted(self._guests)

    def notes_on(self, names: Iterable[str]) -> list[GuestNotes]:
        """What was noted on them; those that were never heard are left out."""
        found = []
        for name in names:
            with self._lock:  # for each by itself: guests are being answered meanwhile
                if (notes := self._guests.get(name)) is not None:
                    notes.presence.look(self._now())
                    found.append(notes.copy())
        return found

    # Time.

    def _now(self) -> Moment:
        return Moment(self._clock.now(), self._clock.elapsed().total_seconds(), self._real())

    def _moment_at(self, real: float, now: Moment) -> Moment:
        """That real instant, by every clock; a virtual one may have been moved since."""
        if self._clock.runs:
            return now._replace(real=real, virtual=now.virtual - max(0.0, now.real - real))
        for since, then in reversed(self._marks):
            if since <= real:
                return then._replace(real=real)
        return (self._marks[0][1] if self._marks else now)._replace(real=real)


def _version_of(request: Request) -> str:
    """The api-version that a request names, which was found to be one of ours."""
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
