"""Events, operations and the history."""

from __future__ import annotations

from functools import partial

import msgspec

from forewarn.control.plane import ControlPlane
from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import find_vm
from forewarn.operator.endpoint import Call, Endpoint, Nothing, Page, bad_request, whole_number
from forewarn.operator.roles import Role
from forewarn.store import history
from forewarn.wire.rest import EventView, HistoryRow, OperationView, event_view, history_row, operation_view


class EventList(msgspec.Struct):
    """A page of events."""

    events: list[EventView]
    next: str | None = None


class History(msgspec.Struct):
    """A page of what has happened, newest first."""

    history: list[HistoryRow]
    next: str | None = None


def find_event(plane: ControlPlane, name: str) -> Event | Refusal:
    """The event of that id, in any case, or of an unambiguous beginning of it."""
    wanted = name.upper()
    if wanted in plane.world.events:
        return plane.world.events[wanted]
    with plane.store.transaction() as transaction:
        found = history.find_events(transaction.connection, wanted) if wanted else []
    if not found:
        return Refusal(Code.NOT_FOUND, f"There is no event {name}.", "forewarn event list")
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
        return bad_request(f"after is {page.after!r}; it is the value of `next` of the page before.")
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

    return await call.on_plane(view, call.office.plane)


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

    return await call.on_plane(read, call.office.plane)


async def approve(call: Call, _: Nothing) -> EventView | Refusal:
    """Approve an event in the name of whoever asks."""

    def write(plane: ControlPlane) -> Refusal | None:
        found = find_event(plane, call.path("id"))
        return found if isinstance(found, Refusal) else plane.approve(found.id, call.actor)

    refusal = await call.on_plane(write, call.office.plane)
    return refusal if refusal is not None else await show_event(call, Nothing())


async def cancel(call: Call, _: Nothing) -> EventView | Refusal:
    """Cancel an event's operation: all its events go, or none."""

    def write(plane: ControlPlane) -> Refusal | None:
        found = find_event(plane, call.path("id"))
        return found if isinstance(found, Refusal) else plane.cancel(found.operation, call.actor)

    refusal = await call.on_plane(write, call.office.plane)
    return refusal if refusal is not None else await show_event(call, Nothing())


async def show_operation(call: Call, _: Nothing) -> OperationView | Refusal:
    """One operation, open or ended."""

    def read(plane: ControlPlane) -> OperationView | Refusal:
        wanted = call.path("id").lower()
        with plane.store.transaction() as transaction:
            found = history.find_operation(transaction.connection, wanted)
            events = history.events_of(transaction.connection, wanted)
        if found is None:
            return Refusal(Code.NOT_FOUND, f"There is no operation {wanted}.")
        return operation_view(plane.world, found, [event.id for event in events], plane.clock.now())

    return await call.on_plane(read, call.office.plane)


async def show_history(call: Call, _: Nothing) -> History | Refusal:
    """What has happened, newest first."""
    page = call.page()
    if isinstance(page, Refusal):
        return page
    cursor = _cursor(page)
    if isinstance(cursor, Refusal):
        return cursor

    found = await call.in_store(
        partial(history.list_history, vm=call.query("vm"), after=cursor, limit=page.limit + 1)
    )
    rows = [history_row(*line) for _, line in found[: page.limit]]
    return History(rows, str(found[page.limit - 1][0]) if len(found) > page.limit else None)


def _cursor(page: Page) -> history.Cursor | Refusal | None:
    if page.after is None:
        return None
    try:
        return history.Cursor.parse(page.after)
    except ValueError:
        return bad_request(f"after is {page.after!r}; it is the value of `next` of the page before.")


_PAGE = {"limit": "how many at the most, up to 1000", "after": "the value of `next` of the page before"}
_FILTER = {
    "phase": "Scheduled, Started, Completed, Cancelled, Failed or all; without it, what is open",
    "scope": "only this scope's",
    "vm": "only those that name this VM",
}

ENDPOINTS = [
    Endpoint("GET", "/v1/events", list_events, "Events, oldest first", EventList, query=_FILTER | _PAGE),
    Endpoint("GET", "/v1/events/{id}", show_event, "One event, with what it waits for", EventView),
    Endpoint("POST", "/v1/events/{id}/approve", approve, "Approve an event", EventView, role=Role.APPROVER),
    Endpoint("POST", "/v1/events/{id}/cancel", cancel, "Cancel an event's whole operation", EventView),
    Endpoint("GET", "/v1/operations/{id}", show_operation, "One operation", OperationView),
    Endpoint(
        "GET",
        "/v1/history",
        show_history,
        "What has ended, newest first",
        History,
        query={"vm": "only what concerned this VM"} | _PAGE,
    ),
]
