"""What a step of the wall clock changes: promises were made in elapsed time too."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from forewarn.core.draft import Draft
from forewarn.core.phase import Phase


def allow_for_step(draft: Draft, by: timedelta) -> None:
    """Let every notice, lead and limit run as long as it was meant to.

    A notice never lapses before its NotBefore by the wall clock, wherever that was set to.
    """
    world = draft.world
    draft.note("clock step", detail=f"the wall clock was stepped by {by.total_seconds():+.3f} s")
    for event in world.events.values():
        if event.phase is Phase.SCHEDULED:
            draft.put(replace(event, promised_at=event.promised_at + by))
    for operation in world.operations.values():
        if operation.begin_at is not None:
            draft.put(replace(operation, begin_at=operation.begin_at + by))
    for attempt in world.attempts.values():
        if attempt.outcome is None:
            draft.put(replace(attempt, deadline_at=attempt.deadline_at + by))
