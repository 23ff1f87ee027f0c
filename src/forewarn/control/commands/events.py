"""Commands on what is announced, by operators and owners."""

from __future__ import annotations

from collections.abc import Sequence

from forewarn.control.commit import CommandTarget, Committed
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests import notices, postpone
from forewarn.core.requests.postpone import Postponement

_SEE_OPEN = "See what is open: forewarn event list"


def approve_event(plane: CommandTarget, event: str, actor: str) -> Committed | Refusal:
    """Approve one event."""

    def write(draft: Draft) -> Refusal | None:
        found = draft.world.events.get(event)
        if found is None or not found.phase.is_open:
            what = f"Event {event} is not open; it cannot be approved."
            return Refusal(Code.ILLEGAL_STEP, what, _SEE_OPEN)
        notices.approve_events(draft, [found], actor)
        return None

    return plane.commit(actor, write)


def approve_events(plane: CommandTarget, events: Sequence[Event], actor: str) -> Committed | Refusal:
    """Approve events that are open now, together."""

    def write(draft: Draft) -> Refusal | None:
        notices.approve_events(draft, events, actor)
        return None

    return plane.commit(actor, write)


def cancel_operation(plane: CommandTarget, operation: str, actor: str) -> Committed | Refusal:
    """Cancel an operation that has not started."""

    def write(draft: Draft) -> Refusal | None:
        found = draft.world.operations.get(operation)
        if found is None:
            what = f"Operation {operation} is not open; it cannot be cancelled."
            return Refusal(Code.ILLEGAL_STEP, what, _SEE_OPEN)
        return notices.call_off(draft, found, plane.limits)

    return plane.commit(actor, write)


def postpone_event(plane: CommandTarget, event: str, asked: Postponement, actor: str) -> Committed | Refusal:
    """Postpone an event's whole operation."""

    def write(draft: Draft) -> Refusal | None:
        found = draft.world.events.get(event)
        if found is None:
            what = f"Event {event} is not open; it cannot be postponed."
            return Refusal(Code.ILLEGAL_STEP, what, _SEE_OPEN)
        return postpone.postpone(draft, found, asked, plane.limits)

    return plane.commit(actor, write)
