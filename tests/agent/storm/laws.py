"""What has to hold in every hour. Each law says what is wrong, or nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from forewarn.agent.case import Case, Direction
from forewarn.agent.policy import Approval, Occasion, OnFailure
from tests.agent.storm.endpoint import Witnessed
from tests.agent.storm.hours import BEGINNING
from tests.agent.storm.platform import FIRST_CALL_SECONDS, Happening
from tests.agent.storm.plays import PROFILES, Played
from tests.agent.storm.weather import Spell

LONG_ENOUGH_SECONDS = 3.0
FRESH_SECONDS = 5.1  # what is approved was seen so lately; the approval itself is under way for a moment
_APPROVED_WITHIN_SECONDS = 60.0  # four failed tries and the pauses between them
_DO, _UNDO = Direction.DO, Direction.UNDO


@dataclass(frozen=True)
class Hour:
    """All that is known after it."""

    happenings: list[Happening]
    spells: tuple[Spell, ...]
    seen: Witnessed
    begun: list[tuple[str, str, Direction, float]]
    played: list[Played]
    cases: dict[str, Case]  # as the journal has them
    records: list[logging.LogRecord]
    died: list[str]  # threads that should have gone on


def broken(hour: Hour) -> list[str]:
    """What is wrong with it."""
    laws = (
        no_crash,
        no_event_missed,
        no_false_approval,
        no_approval_forgotten,
        nothing_ends_before_its_time,
        everything_is_undone_in_the_end,
        the_first_call_may_take_two_minutes,
    )
    return [f"{law.__name__.replace('_', ' ')}: {words}" for law in laws for words in law(hour)]


def no_crash(hour: Hour) -> Iterator[str]:
    for name in hour.died:
        yield f"the {name} has ended"
    for record in hour.records:
        if record.exc_info and "ZeroDivisionError" not in repr(record.exc_info):
            yield f"{record.getMessage()}: {record.exc_info[1]!r}"


def visible_seconds(happening: Happening, hour: Hour, until: float | None = None) -> float:
    """How long at a stretch it could be seen: it was in the document, and the endpoint was not down or stalled."""
    spells = [(spell.begins_at, spell.ends_at) for spell in hour.spells]
    bad = sorted([*spells, *hour.seen.stalls, *happening.glitches()])
    longest, since = 0.0, happening.appears_at
    gone_at = happening.gone_at if until is None else until
    for begins_at, ends_at in bad:
        if begins_at >= gone_at:
            break
        longest = max(longest, begins_at - since)
        since = max(since, ends_at)
    return max(longest, gone_at - since)


def no_event_missed(hour: Hour) -> Iterator[str]:
    for each in hour.happenings:
        seconds = visible_seconds(each, hour)
        if seconds >= LONG_ENOUGH_SECONDS and each.id not in hour.cases:
            yield f"{each.id} could be seen for {seconds:.1f} s from {each.appears_at:.1f} to {each.gone_at:.1f}"


def no_false_approval(hour: Hour) -> Iterator[str]:
    happenings = {each.id: each for each in hour.happenings}
    told: set[str] = set()
    for approval in hour.seen.approvals:
        happening = happenings[approval.event_id]
        profile = PROFILES[happening.kind]
        where = f"{approval.event_id} at {approval.at:.1f}"
        if profile.approval is Approval.NEVER or not happening.is_mine_alone:
            yield f"{where}: a {happening.kind} of {happening.resources}"
        if not approval.was_seen_scheduled:
            yield f"{where}: the last answer did not show it Scheduled"
        if approval.age_seconds > FRESH_SECONDS:
            yield f"{where}: the last answer was {approval.age_seconds:.1f} s old"
        if approval.event_id in told:
            yield f"{where}: once more, after it was taken"
        if approval.is_told:
            told.add(approval.event_id)
        for step in profile.on(Occasion.PREPARE):
            if step.on_failure is OnFailure.HOLD and not _is_done(hour, approval.event_id, step.name, approval.at):
                yield f"{where}: its step {step.name} was not done"


def no_approval_forgotten(hour: Hour) -> Iterator[str]:
    for each in hour.happenings:
        case = hour.cases.get(each.id)
        is_wanted = each.is_mine_alone and PROFILES[each.kind].approval is not Approval.NEVER
        if case is None or case.prepared_at is None or not is_wanted or each.approved_at is not None:
            continue
        prepared_at = (case.prepared_at - BEGINNING).total_seconds()
        left = visible_seconds(replace(each, appears_at=prepared_at), hour, min(each.starts_at, each.gone_at))
        if left >= _APPROVED_WITHIN_SECONDS:
            yield f"{each.id} was prepared at {prepared_at:.1f}, and had {left:.1f} s of fine weather"


def _is_done(hour: Hour, event_id: str, step: str, at: float) -> bool:
    """Whether it was done for the event; or for another, and not undone since."""
    own = [each for each in hour.played if each.step == step and each.is_done and each.ended_at <= at]
    if any(each.event_id == event_id and each.direction is _DO for each in own):
        return True
    others = [each.ended_at for each in own if each.direction is _DO]
    undone = [
        when for _, name, direction, when in hour.begun if name == step and direction is _UNDO and when <= at
    ]
    return bool(others) and max(others) > max(undone, default=-1.0)


def nothing_ends_before_its_time(hour: Hour) -> Iterator[str]:
    happenings = {each.id: each for each in hour.happenings}
    for event_id, case in hour.cases.items():
        if case.ended_at is None:
            yield f"{event_id} has not ended"
            continue
        ended_at = (case.ended_at - BEGINNING).total_seconds()
        if ended_at < happenings[event_id].gone_at:
            yield f"{event_id} ended at {ended_at:.1f}, and was there until {happenings[event_id].gone_at:.1f}"
    for event_id, step, direction, at in hour.begun:
        if direction is _UNDO and at < happenings[event_id].gone_at:
            yield f"{step} of {event_id} was undone at {at:.1f}, before the event was gone"


def everything_is_undone_in_the_end(hour: Hour) -> Iterator[str]:
    for case in hour.cases.values():
        if case.closed_at is None:
            yield f"{case.id} was not closed"
    for name in {step.name for profile in PROFILES.values() for step in profile.steps if step.has_undo}:
        done = [each.ended_at for each in hour.played if each.step == name and each.direction is _DO]
        undone = [
            each.ended_at
            for each in hour.played
            if (each.step, each.direction, each.is_done) == (name, _UNDO, True)
        ]
        if done and max(undone, default=-1.0) < max(done):
            yield f"{name} was done at {max(done):.1f} and not undone after that"


def the_first_call_may_take_two_minutes(hour: Hour) -> Iterator[str]:
    if hour.seen.stalls[0] != (hour.seen.stalls[0][0], hour.seen.stalls[0][0] + FIRST_CALL_SECONDS):
        yield f"it was given up: {hour.seen.stalls[0]}"
