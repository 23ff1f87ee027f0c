"""Commands of guests: each is a poll too, which is written in the same commit."""

from __future__ import annotations

from collections.abc import Iterable

from forewarn.control.commit import Committed, Write
from forewarn.control.plane import ControlPlane
from forewarn.core.draft import Draft
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests import notices


def approve_as_guest(plane: ControlPlane, vm: str, events: Iterable[str]) -> Committed | Refusal:
    """A guest's approval of events in its scope: all of them or none."""

    def write(draft: Draft) -> Refusal | None:
        guest = draft.world.vms.get(vm)
        if guest is None:
            return Refusal(Code.NOT_FOUND, f"There is no VM {vm}.")
        found = [draft.world.events.get(event) for event in events]
        known = [event for event in found if event and event.phase.is_open and event.scope == guest.scope]
        if len(known) != len(found):
            return Refusal(Code.NOT_FOUND, "An EventId is not that of an open event of this virtual machine")
        notices.turn_on(draft, guest.scope, vm, plane.limits)
        notices.approve_events(draft, known, vm)
        plane.polls.note(guest.scope)
        return None

    return _commit_poll(plane, vm, write)


def first_poll(plane: ControlPlane, vm: str) -> Committed | Refusal:
    """A guest of a scope that is off has asked: committed before it is answered."""

    def write(draft: Draft) -> Refusal | None:
        guest = draft.world.vms.get(vm)
        if guest is None:
            return Refusal(Code.NOT_FOUND, f"There is no VM {vm}.")
        notices.turn_on(draft, guest.scope, vm, plane.limits)
        plane.polls.note(guest.scope)
        return None

    return _commit_poll(plane, vm, write)


def _commit_poll(plane: ControlPlane, vm: str, write: Write) -> Committed | Refusal:
    """If the commit fails, there was no poll."""
    try:
        return plane.commit(vm, write)
    except BaseException:
        plane.polls.drop_urgent()
        raise
