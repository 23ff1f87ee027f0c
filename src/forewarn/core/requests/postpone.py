"""Putting planned work off: once per event, and not beyond a deadline.

An operation is one thing done at once, so all its events move with the one that is postponed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.holds import clock_time
from forewarn.core.notice import LAST_CALL, Limits, in_words, notice_ends
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.rollout_turns import set_aside
from forewarn.core.steps import move
from forewarn.core.world import World


@dataclass(frozen=True, slots=True)
class Postponement:
    """Until when an event is put off, as an instant or as so much later; and why."""

    until: datetime | None = None
    by: timedelta | None = None
    reason: str = ""


def postpone(draft: Draft, event: Event, asked: Postponement, limits: Limits) -> Refusal | None:
    """Move the whole operation of an event to later."""
    operation = draft.operation(event.operation)
    wanted = _instant_of(event, asked)
    if isinstance(wanted, Refusal):
        return wanted
    if refusal := _not_open_to_it(draft, event, operation) or _bad_instant(
        draft, event, wanted, operation, limits
    ):
        return refusal
    before = clock_time(event.lapses_at, draft.now)
    for each in draft.events_of(operation.id):
        if each.phase is Phase.SCHEDULED and each.lapses_at < wanted:
            draft.put(replace(move(draft, each, wanted), postponed_from=each.due_at))
    draft.put(replace(draft.event(event.id), postponed_by=draft.actor, postponed_at=draft.now))
    set_aside(draft, operation)
    why = f": {asked.reason}" if asked.reason else ""
    detail = f"not before {clock_time(wanted, draft.now)} instead of {before}{why}"
    draft.note("postpone", operation=operation.id, event=event.id, subject=operation.title, detail=detail)
    return None


def deadline_of(world: World, operation: Operation, limits: Limits) -> datetime:
    """The last NotBefore to which anybody may postpone the operation.

    It counts from the NotBefore that the platform gave, not from one that somebody has put off already; and it is
    not beyond a rollout's force-by date.
    """
    due = (event.due_at for event in world.events_of(operation.id) if event.phase is Phase.SCHEDULED)
    deadline = min(due, default=operation.created_at) + limits.postpone_limit
    rollout = world.rollouts.get(operation.rollout or "")
    return deadline if rollout is None or rollout.work.force_by is None else min(deadline, rollout.work.force_by)


def _instant_of(event: Event, asked: Postponement) -> datetime | Refusal:
    if (asked.until is None) == (asked.by is None):
        return Refusal(
            Code.BAD_REQUEST,
            "An event is postponed until an instant or by a length of time, and one of the two has to be given.",
            "Give until or by, not both.",
        )
    try:
        if asked.until is not None:
            return notice_ends(asked.until.astimezone(UTC), timedelta(0))
        return notice_ends(event.lapses_at, asked.by or timedelta(0))
    except OverflowError:
        return Refusal(Code.BAD_REQUEST, "No calendar has the instant that is asked for.", "Ask for a nearer one.")


def _not_open_to_it(draft: Draft, event: Event, operation: Operation) -> Refusal | None:
    """Why the event cannot be postponed at all."""
    what = event.title
    if event.phase is not Phase.SCHEDULED:
        is_open = event.phase.is_open
        return Refusal(
            Code.ILLEGAL_STEP,
            f"{what} is {event.phase}; only what is Scheduled can be postponed.",
            f"{'Follow it' if is_open else 'See how it ended'}: "
            f"forewarn event {'watch' if is_open else 'show'} {event.short_id}",
        )
    if not operation.cause.is_planned:
        return Refusal(
            Code.NOT_ALLOWED,
            f"{what} cannot be postponed: only the platform's planned work can, and this is a {operation.cause}.",
            f"To call it off: forewarn event cancel {event.short_id}",
        )
    if event.postponed_by is not None:
        at = clock_time(event.postponed_at or event.created_at, draft.now)
        return Refusal(
            Code.NOT_ALLOWED,
            f"{what} was postponed already, by {event.postponed_by} at {at}; an event can be postponed once.",
            f"See when it is: forewarn event show {event.short_id}",
        )
    if event.approvals:
        return Refusal(
            Code.NOT_ALLOWED,
            f"{what} was approved by {event.approved_by}; what is approved cannot be postponed.",
            f"See what it waits for: forewarn event show {event.short_id}",
        )
    if event.lapses_at - draft.now < LAST_CALL:
        return Refusal(
            Code.NOT_ALLOWED,
            f"{what} may start at {clock_time(event.lapses_at, draft.now)}; it is too late to postpone it.",
            f"Postpone at least {in_words(LAST_CALL)} before that.",
        )
    return None


def _bad_instant(
    draft: Draft, event: Event, wanted: datetime, operation: Operation, limits: Limits
) -> Refusal | None:
    """Why the event cannot be postponed to this instant."""
    now, said = draft.now, clock_time(wanted, draft.now)
    if wanted <= event.lapses_at:
        return Refusal(
            Code.NOT_ALLOWED,
            f"{said} is not later: {event.short_id} does not start before {clock_time(event.lapses_at, now)}.",
            "To have it sooner, approve it.",
        )
    least = limits.least_notice[event.kind]
    if wanted < now + least:
        return Refusal(
            Code.NOTICE_TOO_SHORT,
            f"{said} is too soon: a {event.kind} that is told anew needs {in_words(least)} of notice.",
            f"Postpone it to {clock_time(notice_ends(now, least), now)} or later.",
        )
    deadline = deadline_of(draft.world, operation, limits)
    if wanted > deadline:
        return Refusal(
            Code.NOT_ALLOWED,
            f"{said} is too late: {operation.title} can be put off to {clock_time(deadline, now)} at the latest.",
            f"Ask for {clock_time(deadline, now)} or sooner.",
        )
    return None
