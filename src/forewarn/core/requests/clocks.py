"""What a step of the wall clock changes: promises were made in elapsed time too."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from forewarn.core.draft import Draft
from forewarn.core.phase import Phase

_LONGEST_REST = timedelta(days=30)  # what ended before has recovered


def allow_for_step(draft: Draft, by: timedelta) -> None:
    """Let every notice, lead, recovery and limit run as long as it was meant to.

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
    for rollout in world.rollouts.values():
        for turn in world.book_of(rollout.id).turns.values():
            if turn.rests_from is not None and draft.now - turn.rests_from < _LONGEST_REST + abs(by):
                draft.put(replace(turn, rests_from=turn.rests_from + by))
    for attempt in world.attempts.values():
        if attempt.outcome is None:
            draft.put(replace(attempt, deadline_at=attempt.deadline_at + by))
