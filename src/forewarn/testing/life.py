"""What became of an event, from the request to now: read on the plane's thread, told in words.

An operation of which guests are told nothing lives by the same table as an event; it is told in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from forewarn.control.plane import PLANE, ControlPlane
from forewarn.core.event import Event
from forewarn.core.holds import clock_time
from forewarn.core.notice import in_words
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.world import AuditEntry
from forewarn.emulator import Refused
from forewarn.store import audit, history
from forewarn.wire.rest import waiting_for

_MOST_DEEDS = 1000


class Unmet(AssertionError):
    """What was expected of an event is not so; the message tells its whole life."""


@dataclass(frozen=True, slots=True)
class State:
    """An operation and the event that tells of it, as they are."""

    operation: Operation
    event: Event | None  # None: guests are told nothing

    @property
    def about(self) -> Event | Operation:
        """What there is to be seen: the event, where there is one."""
        return self.event or self.operation

    @property
    def phase(self) -> Phase:
        """Where it is in its life."""
        return self.about.phase


def read_state(plane: ControlPlane, operation: str, event: str | None) -> State:
    """As it is now; what has ended is in the store only."""
    world = plane.world
    if operation in world.operations:
        return State(world.operations[operation], world.events[event] if event else None)
    with plane.store.transaction() as transaction:
        found = history.find_operation(transaction.connection, operation)
        events = {each.id: each for each in history.events_of(transaction.connection, operation)}
    if found is None:
        raise Refused(
            f"What became of operation {operation} is not kept any more.",
            "Look at it sooner, or let the service keep its history for longer: history_days.",
        )
    return State(found, events[event] if event else None)


def tell_life(plane: ControlPlane, operation: str, event: str | None) -> str:
    """All that happened to it, a line for each, and what it waits for."""
    state = read_state(plane, operation, event)
    wanted = audit.DeedFilter(operation=operation, event=event)
    with plane.store.transaction() as transaction:
        deeds = audit.list_deeds(transaction.connection, wanted, limit=_MOST_DEEDS)
        attempts = history.attempts_of(transaction.connection, operation)
    now = plane.clock.now()
    is_announced = state.event is not None and any(each.deed.verb == "start" for each in deeds)
    begun = _announcement(state.event, is_announced=is_announced or state.about.started_at is None)
    told = [
        _Line(each.deed.at, each.deed.verb in _ENDS, _deed(each.deed, state, begun)) for each in reversed(deeds)
    ]
    told += [line for each in attempts if _concerns(each, state) for line in _attempt(each)]
    told.sort(key=lambda line: line[:2])
    told.append(_Line(now, is_end=True, text=_standing(plane, state, now)))
    form = "%H:%M:%SZ" if told[0].at.date() == now.date() else "%Y-%m-%d %H:%M:%SZ"
    return "\n".join(f"  {line.at.strftime(form)}  {line.text}" for line in told)


class _Line(NamedTuple):
    at: datetime
    is_end: bool  # told after all else of the same instant
    text: str


def _deed(deed: AuditEntry, state: State, begun: str) -> str:
    """One line of the audit, for a reader."""
    if deed.verb == state.operation.cause:
        return f"{deed.verb} {deed.subject}, asked for by {deed.actor}: {begun}"
    if deed.verb == "approve":
        return f"approved by {deed.actor}"
    text = _ENDS.get(deed.verb, "Started" if deed.verb == "start" else deed.verb)
    by = "" if deed.actor in (PLANE, *deed.detail.split()) else f" by {deed.actor}"
    return f"{text}{by}{': ' + deed.detail if deed.detail else ''}"


def _announcement(event: Event | None, *, is_announced: bool) -> str:
    """How it began."""
    if event is None:
        return "guests are told nothing"
    if not is_announced:
        return f"{event.kind}, born Started"
    until = clock_time(event.created_at + event.notice, event.created_at)
    return f"{event.kind} announced, to start by {until} ({in_words(event.notice)} of notice)"


_ENDS = {"complete": "Completed", "fail": "Failed", "cancel": "Cancelled"}


def _concerns(attempt: Attempt, state: State) -> bool:
    return state.event is None or attempt.vm in state.event.resources


def _attempt(attempt: Attempt) -> Iterator[_Line]:
    """What was done to a machine."""
    what = f"the {attempt.action} of {attempt.vm}"
    yield _Line(attempt.recorded_at, is_end=False, text=f"{what} begins")
    if attempt.ended_at is not None:
        how = "is done" if attempt.outcome is Outcome.DONE else "has failed"
        why = f": {attempt.reason}" if attempt.reason else ""
        yield _Line(attempt.ended_at, is_end=False, text=f"{what} {how}{why}")


def _standing(plane: ControlPlane, state: State, now: datetime) -> str:
    """Where it is now."""
    holds = waiting_for(plane.world, state.operation, now) if state.phase.is_open else []
    return f"now {state.phase}" + (f", waiting for {'; '.join(holds)}" if holds else "")
