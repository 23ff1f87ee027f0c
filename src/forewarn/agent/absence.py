"""When an event that an answer lacks is gone, and how it has ended. Pure; for the agent and for the library.

The one rule: an event is gone when several answers lack it, some time apart, all but the first asked for anew, all
read whole, and all of an endpoint that has named it. Another endpoint may know nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta

from forewarn.agent.case import Ending
from forewarn.agent.compat import dataclass
from forewarn.agent.events import Sighting

# If those that have named an event are silent for so long after its time, any other is believed: else what was
# prepared for it would never be undone.
_SILENT_FOR = timedelta(hours=1)

# How many answers have to lack an event before it is gone; each comes at least a second, and a poll, after the one
# before, so that a list that is empty for a moment ends nothing. Where the platform may be at work there are more:
# an undo some seconds late costs little, one in the middle of maintenance costs requests.
_ANSWERS = 2
_ANSWERS_ONCE_STARTED = 4
_ANSWERS_WITH_ODDITIES = 300  # an entry that cannot be read may be it; but it may stay for ever, and we drained


@dataclass(frozen=True, slots=True)
class LastSeen:
    """What was known of an event when it was seen last."""

    at: datetime
    not_before: datetime | None
    has_started: bool
    named_by: tuple[str, ...] = ()  # the endpoints; empty: not known
    let_go_at: datetime | None = None  # when the endpoint took its approval
    was_asked: bool = False  # an approval was sent, and may have been taken


@dataclass(frozen=True, slots=True)
class Doubt:
    """What answers in a row have said against an event."""

    last_at: float  # when one that counts has come last, on a clock that nobody can put
    answers: int = 1


@dataclass(frozen=True, slots=True)
class Absence:
    """What an answer means for the events that it lacks."""

    gone: frozenset[str] = frozenset()
    doubts: Mapping[str, Doubt] = field(default_factory=dict)  # answers that count have lacked these
    look_after: float | None = None  # in so many seconds another look is wanted; None: it is not


def judge(
    lacking: Mapping[str, LastSeen], doubts: Mapping[str, Doubt], sighting: Sighting, apart_seconds: float
) -> Absence:
    """Which of the events that the answer lacks are gone. `doubts` are what earlier answers have left."""
    left = {event: doubt for event, doubt in doubts.items() if event in lacking}
    is_odd = bool(sighting.document.oddities)  # one of the events may be what cannot be read
    gone, waits = set(), []
    for event, seen in lacking.items():
        if not _may_deny(sighting, seen):
            continue
        doubt = left[event] = _with_answer(left.get(event), sighting, apart_seconds)
        if doubt.answers >= _answers_needed(seen, sighting.at, is_odd=is_odd):
            gone.add(event)
            del left[event]
        else:
            waits.append(max(0.0, doubt.last_at + apart_seconds - sighting.steady_at))
    return Absence(frozenset(gone), left, min(waits, default=None))


def _answers_needed(seen: LastSeen, at: datetime, *, is_odd: bool) -> int:
    if is_odd:
        return _ANSWERS_WITH_ODDITIES
    return _ANSWERS_ONCE_STARTED if _may_be_at_work(seen, at) else _ANSWERS


def ending_of(seen: LastSeen, now: datetime, watched_within: timedelta, *, has_rebooted: bool = False) -> Ending:
    """How an event that is gone has ended. What happened while nobody watched is inferred from what was due."""
    if seen.has_started:
        return Ending.FINISHED
    is_due = seen.not_before is not None and now >= seen.not_before
    was_watched = not has_rebooted and now - seen.at <= watched_within
    # What is approved starts at once, and may be over before the next look: a short Freeze stops the looking too.
    was_let_go = seen.let_go_at is not None and (seen.at <= seen.let_go_at or not was_watched)
    return Ending.FINISHED if is_due or was_let_go or has_rebooted else Ending.CANCELLED


def named_also(named_by: tuple[str, ...], endpoint: str) -> tuple[str, ...]:
    """Those that have named an event, after this one has."""
    return named_by if not endpoint or endpoint in named_by else (*named_by, endpoint)


def _with_answer(doubt: Doubt | None, sighting: Sighting, apart_seconds: float) -> Doubt:
    """The doubt after one more answer; one that comes too soon, or was not asked for anew, does not count."""
    if doubt is None:
        return Doubt(sighting.steady_at)
    if not sighting.is_anew or sighting.steady_at < doubt.last_at + apart_seconds:
        return doubt
    return Doubt(sighting.steady_at, doubt.answers + 1)


def _may_be_at_work(seen: LastSeen, now: datetime) -> bool:
    """Whether the platform may have begun: it was seen to, it may have been let go, or its time has come."""
    is_due = seen.not_before is not None and now >= seen.not_before
    return seen.has_started or seen.was_asked or seen.let_go_at is not None or is_due


def _may_deny(sighting: Sighting, seen: LastSeen) -> bool:
    """Whether the answer's endpoint may say that the event is gone."""
    namers = set(seen.named_by)
    if not namers or sighting.endpoint in namers or namers.isdisjoint(sighting.endpoints):
        return True
    is_due = seen.not_before is None or sighting.at >= seen.not_before
    return is_due and sighting.at - seen.at > _SILENT_FOR
