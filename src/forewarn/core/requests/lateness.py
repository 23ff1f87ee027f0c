"""What a commit that was shown late still owes: the notice and the lead, counted from when it could be seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.notice import Limits, notice_ends
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.world import Entity


def make_up_for_lateness(draft: Draft, late: Iterable[Entity], shown: int, limits: Limits) -> None:
    """Promise anew what nobody could read in time.

    `shown` is the last commit that is known to have been shown. An event made after it gets its whole notice from
    now, one that was moved after it at least the least of its kind; an operation that has started and touched
    nothing gets its lead.
    """
    for entity in late:
        if isinstance(entity, Event) and entity.operation in draft.world.operations:
            if max(entity.made_in, entity.moved_in) > shown:
                _promise_anew(draft, draft.event(entity.id), limits)
        elif isinstance(entity, Operation) and entity.id in draft.world.operations:
            _lead_anew(draft, draft.operation(entity.id), limits)


def _promise_anew(draft: Draft, event: Event, limits: Limits) -> None:
    notice = limits.least_notice[event.kind] if event.moved_in else event.notice
    not_before = notice_ends(draft.now, notice)
    if event.phase is Phase.SCHEDULED and not_before > event.not_before:
        draft.put(replace(event, not_before=not_before, promised_at=not_before))


def _lead_anew(draft: Draft, operation: Operation, limits: Limits) -> None:
    if operation.phase is not Phase.STARTED or operation.begin_at is None:
        return
    is_told = any(draft.world.events_of(operation.id))
    has_touched = any(draft.world.attempts_of(operation.id))
    if is_told and not has_touched:
        draft.put(replace(operation, begin_at=max(operation.begin_at, draft.now + limits.lead)))
