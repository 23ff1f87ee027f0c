"""Requests that concern an announced operation, and the polls that turn scopes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.notice import Limits, in_words
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.settle import join
from forewarn.core.steps import approve, cancel
from forewarn.core.terms import Cause


def call_off(draft: Draft, operation: Operation, limits: Limits) -> Refusal | None:
    """Cancel an operation that has not started: all its events go, or none."""
    if operation.phase is not Phase.SCHEDULED:
        told = next((each.short_id for each in draft.events_of(operation.id) if each.phase.is_open), None)
        return Refusal(
            Code.ILLEGAL_STEP,
            f"{operation.title} is {operation.phase}; only what is Scheduled can be cancelled.",
            f"It ends by itself; follow it: forewarn event watch {told}" if told else "Wait until it has ended.",
        )
    cancel(draft, operation, f"cancelled by {draft.actor}")
    if operation.cause is Cause.EVICT:  # what the eviction had overtaken concerns the VM again
        for name in operation.targets:
            join(draft, draft.vm(name), limits)
    return None


def has_ended(event: Event, participle: str) -> Refusal:
    """No: the event and its operation are over."""
    return Refusal(
        Code.ILLEGAL_STEP,
        f"{event.title} is {event.phase}; it cannot be {participle}.",
        f"See how it ended: forewarn event show {event.short_id}",
    )


def approve_events(draft: Draft, events: Iterable[Event], by: str) -> None:
    """Write down an approval of each of the events."""
    for event in events:
        approve(draft, event, by)


def turn_on(draft: Draft, scope: str, by: str, limits: Limits) -> None:
    """A guest has asked for the document: from now on its scope is told, and waited for."""
    found = draft.scope(scope)
    if found.is_on:
        return
    is_first = not found.was_on_before  # nobody has read the counts before
    if (is_first and found.incarnation > 1) or (not is_first and limits.resets_incarnation):
        found = replace(found, incarnation=1, generation=found.generation + 1)
    draft.put(replace(found, is_on=True, on_since=draft.now, was_on_before=True))
    draft.note("turn on", subject=scope, detail=f"first poll, by {by}")


def turn_off(draft: Draft, scope: str, silence: timedelta) -> None:
    """Nobody of the scope has asked for a long time: its guests gate nothing any more."""
    found = draft.scope(scope)
    if found.is_on:
        draft.put(replace(found, is_on=False, on_since=None))
        draft.note("turn off", subject=scope, detail=f"no poll for {in_words(silence)}")
