"""When an event that an answer lacks is gone, and how it has ended. Pure; for the agent and for the library.

The one rule: an event is gone when two answers lack it, the second asked for anew, both read whole, and both of an
endpoint that has named it. Another endpoint may know nothing of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.agent.case import Ending
from forewarn.agent.events import Sighting

# If those that have named an event are silent for so long after its time, any other is believed: else what was
# prepared for it would never be undone.
_SILENT_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LastSeen:
    """What was known of an event when it was seen last."""

    at: datetime
    not_before: datetime | None
    has_started: bool
    named_by: tuple[str, ...] = ()  # the endpoints; empty: not known
    let_go_at: datetime | None = None  # when the endpoint took its approval


@dataclass(frozen=True, slots=True)
class Absence:
    """What an answer means for the events that it lacks."""

    gone: frozenset[str] = frozenset()
    doubted: frozenset[str] = frozenset()  # one answer that counts has lacked it
    wants_another_look: bool = False


def judge(lacking: Mapping[str, LastSeen], doubted: Collection[str], sighting: Sighting) -> Absence:
    """Which of the events that the answer lacks are gone. `doubted` is what earlier answers left in doubt."""
    still = frozenset(event for event in lacking if event in doubted)
    if sighting.document.oddities:  # one of them may be what cannot be read
        return Absence(doubted=still)
    denied = frozenset(event for event, seen in lacking.items() if _may_deny(sighting, seen))
    gone = denied & still if sighting.is_anew else frozenset()
    return Absence(gone, (denied | still) - gone, wants_another_look=bool(denied - gone))


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


def _may_deny(sighting: Sighting, seen: LastSeen) -> bool:
    """Whether the answer's endpoint may say that the event is gone."""
    namers = set(seen.named_by)
    if not namers or sighting.endpoint in namers or namers.isdisjoint(sighting.endpoints):
        return True
    is_due = seen.not_before is None or sighting.at >= seen.not_before
    return is_due and sighting.at - seen.at > _SILENT_FOR
