"""Events and operations, open or ended; the history itself is history.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Annotated

import msgspec

from forewarn.control.commands.events import approve_event, cancel_operation, postpone_event
from forewarn.control.commit import Committed
from forewarn.control.plane import ControlPlane
from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import find_vm
from forewarn.core.requests.notices import has_ended
from forewarn.core.requests.postpone import Postponement
from forewarn.errors import StoreUnavailable
from forewarn.operator.endpoint import Call, Endpoint, Nothing, bad_cursor, bad_request, whole_number
from forewarn.operator.fleet import PAGE
from forewarn.operator.roles import Role
from forewarn.store import history
from forewarn.wire.rest import ONE_LINE, EventView, Instant, OperationView, event_view, operation_view

_TEN_YEARS_SECONDS = 10 * 365 * 86400
_WHOLE_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class EventList(msgspec.Struct):
    """A page of events."""

    events: list[EventView]
    next: str | None = None


class CancelledView(EventView):
    """An event that was cancelled, and all that were cancelled with it."""

    cancelled: Annotated[list[EventView], msgspec.Meta(description="every event that this request cancelled")]


def not_there(plane: ControlPlane, what: str, name: str, hint: str = "") -> Refusal:
    """There is no such event or operation; one of that very id may have been, and be let go by now."""
    keep = plane.retention.keep
    if keep is not None and _WHOLE_ID.fullmatch(name):
        hint = f"What ended more than {keep.days} days ago is not kept (--history-days)."
    return Refusal(Code.NOT_FOUND, f"There is no {what} {name}.", hint)


class PostponeBody(msgspec.Struct, forbid_unknown_fields=True):
    """Until when an event is put off, or by how much; one of the two."""

    until: Annotated[Instant | None, msgspec.Meta(description="its new NotBefore")] = None
    by_seconds: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=_TEN_YEARS_SECONDS)] | None,
        msgspec.Meta(description="how much later than its NotBefore"),
    ] = None
    reason: Annotated[
        str, msgspec.Meta(max_length=1000, pattern=ONE_LINE, description="for the audit, in one line")
    ] = ""


def find_event(plane: ControlPlane, name: str) -> Event | Refusal:
    """The event of that id, in any case, or of an unambiguous beginning of it."""
    wanted = name.upper()
    if wanted in plane.world.events:
        return plane.world.events[wanted]
    with plane.store.transaction() as transaction:
        found = history.find_events(transaction.connection, wanted) if wanted else []
    if not found:
        return not_there(plane, "event", name, "forewarn event list")
    if len(found) > 1:
        ids = ", ".join(event.short_id for event in found)
        return Refusal(Code.AMBIGUOUS, f"{name} is the beginning of several events: {ids}.", "Write more of it.")
    return plane.world.events.get(found[0].id, found[0])


async def list_events(call: Call, _: Nothing) -> EventList | Refusal:
    """Events, open ones unless a phase is named."""
    page = call.page()
    if isinstance(page, Refusal):
        return page
    phases = _phases(call.query("phase"))
    if isinstance(phases, Refusal):
        return phases
    after = 0 if page.after is None else whole_number(page.after)
    if after is None:
        return bad_cursor(page.after)
    found = await call.in_store(
        partial(
            history.list_events,
            phases=phases,
            scope=call.query("scope"),
            vm=call.query("vm"),
            after=after,
            limit=page.limit + 1,
        )
    )

    def view(plane: ControlPlane) -> EventList | Refusal:
        if not found and (refusal := _unknown(plane, call)):
            return refusal
        now = plane.clock.now()
        views = [event_view(plane.world, event, now) for event in found[: page.limit]]
        return EventList(views, str(found[page.limit - 1].number) if len(found) > page.limit else None)

    return await call.on_plane(view, call.context.plane)


def _unknown(plane: ControlPlane, call: Call) -> Refusal | None:
    """A VM or a scope that is asked for and that there is not: a slip of the pen, not an empty list."""
    vm, scope = call.query("vm"), call.query("scope")
    if vm is not None and isinstance(refusal := find_vm(plane.world, vm), Refusal):
        return refusal
    if scope is not None and scope not in plane.world.scopes:
        return Refusal(Code.NOT_FOUND, f"There is no scope {scope}.", "forewarn scope list")
    return None


def _phases(text: str | None) -> list[Phase] | Refusal:
    if text is None:
        return [Phase.SCHEDULED, Phase.STARTED]
    if text == "all":
        return list(Phase)
    try:
        return [Phase(text.capitalize())]
    except ValueError:
        known = ", ".join(phase.value for phase in Phase)
        return bad_request(f"{text!r} is no phase.", f"It can be {known} or all.")


async def show_event(call: Call, _: Nothing) -> EventView | Refusal:
    """One event, open or ended."""

    def read(plane: ControlPlane) -> EventView | Refusal:
        found = find_event(plane, call.path("id"))
        return found if isinstance(found, Refusal) else event_view(plane.world, found, plane.clock.now())

    return await call.on_plane(read, call.context.plane)


def _find_open(plane: ControlPlane, name: str, participle: str) -> Event | Refusal:
    found = find_event(plane, name)
    if isinstance(found, Refusal) or found.operation in plane.world.operations:
        return found
    return has_ended(found, participle)


async def _change(
    call: Call, participle: str, change: Callable[[ControlPlane, Event], Committed | Refusal]
) -> EventView | Refusal:
    def write(plane: ControlPlane) -> Event | Refusal:
        found = _find_open(plane, call.path("id"), participle)
        if isinstance(found, Refusal):
            return found
        outcome = change(plane, found)
        if isinstance(outcome, Refusal):
            return outcome
        return next((each for each in outcome.events if each.id == found.id), found)

    def view(plane: ControlPlane, committed: Event) -> EventView:
        return event_view(plane.world, _by_now(plane, committed), plane.clock.now())

    return await call.change(write, view)


def _by_now(plane: ControlPlane, event: Event) -> Event:
    """The event as it is after the tick; as it was committed, where it has ended and the store does not answer."""
    if event.id in plane.world.events:
        return plane.world.events[event.id]
    try:
        with plane.store.transaction() as transaction:
            return next(iter(history.find_events(transaction.connection, event.id)), event)
    except StoreUnavailable:
        return event


async def approve(call: Call, _: Nothing) -> EventView | Refusal:
    """Approve an event in the name of whoever asks."""
    return await _change(call, "approved", lambda plane, found: approve_event(plane, found.id, call.actor))


async def cancel(call: Call, _: Nothing) -> CancelledView | Refusal:
    """Cancel an event's operation: all its events go, or none."""

    def write(plane: ControlPlane) -> CancelledView | Refusal:
        found = _find_open(plane, call.path("id"), "cancelled")
        if isinstance(found, Refusal):
            return found
        named = {event.id for event in plane.world.events_of(found.operation) if event.phase.is_open}
        outcome = cancel_operation(plane, found.operation, call.actor)
        if isinstance(outcome, Refusal):
            return outcome
        now = plane.clock.now()
        events = sorted((each for each in outcome.events if each.id in named), key=lambda each: each.number)
        views = {event.id: event_view(plane.world, event, now) for event in (found, *events)}
        asked = views[found.id]
        return CancelledView(
            **{name: getattr(asked, name) for name in asked.__struct_fields__},
            cancelled=[views[event.id] for event in events],
        )

    return await call.on_plane(write, call.context.plane)


async def postpone(call: Call, body: PostponeBody) -> EventView | Refusal:
    """Put an event's whole operation off."""
    by = None if body.by_seconds is None else timedelta(seconds=body.by_seconds)
    asked = Postponement(body.until, by, body.reason)
    return await _change(
        call, "postponed", lambda plane, found: postpone_event(plane, found.id, asked, call.actor)
    )


async def show_operation(call: Call, _: Nothing) -> OperationView | Refusal:
    """One operation, open or ended."""

    def read(plane: ControlPlane) -> OperationView | Refusal:
        wanted = call.path("id").lower()
        with plane.store.transaction() as transaction:
            found = history.find_operation(transaction.connection, wanted)
            events = history.events_of(transaction.connection, wanted)
        if found is None:
            return not_there(plane, "operation", wanted)
        return operation_view(plane.world, found, [event.id for event in events], plane.clock.now())

    return await call.on_plane(read, call.context.plane)


_FILTER = {
    "phase": "Scheduled, Started, Completed, Cancelled, Failed or all; without it, what is open",
    "scope": "only this scope's",
    "vm": "only those that name this VM",
}

ENDPOINTS = [
    Endpoint("GET", "/v1/events", list_events, "Events, oldest first", EventList, query=_FILTER | PAGE),
    Endpoint("GET", "/v1/events/{id}", show_event, "One event, with what it waits for", EventView),
    Endpoint("POST", "/v1/events/{id}/approve", approve, "Approve an event", EventView, role=Role.APPROVER),
    Endpoint("POST", "/v1/events/{id}/cancel", cancel, "Cancel an event's whole operation", CancelledView),
    Endpoint(
        "POST",
        "/v1/events/{id}/postpone",
        postpone,
        "Put planned work off, once per event: all events of its operation move",
        EventView,
        body=PostponeBody,
        role=Role.APPROVER,
    ),
    Endpoint("GET", "/v1/operations/{id}", show_operation, "One operation", OperationView),
]
