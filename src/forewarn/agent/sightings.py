"""From what the endpoint says to cases: new, changed, started, gone. Pure.

An event counts as gone only when a second answer, asked for anew, lacks it too, and both could be read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from forewarn.agent.case import Case
from forewarn.agent.course import ending_of
from forewarn.agent.events import Document, Event


class What(StrEnum):
    """What a sighting means for a case."""

    APPEARED = "appeared"
    RETURNED = "returned"  # it was over, and is there again
    CHANGED = "changed"
    STARTED = "started"
    STILL_THERE = "still there"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Noted:
    """A case as it is after a sighting."""

    case: Case
    what: What


@dataclass(frozen=True, slots=True)
class Notes:
    """What came of a sighting."""

    noted: tuple[Noted, ...] = ()
    missing: frozenset[str] = (
        frozenset()
    )  # open cases whose events are not in the answer, which is not certain yet
    wants_another_look: bool = False


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """From where the agent looks."""

    boot: str
    watched_within: timedelta  # a shorter gap between two answers is no gap
    which: Callable[[Sequence[str]], str]  # the resource that means this VM
    choose: Callable[[Event, str], tuple[str, str]]  # for an event and this VM's name in it: the profile, and why
    has_begun: Callable[[Case], bool]  # whether its preparation was taken up, so that the profile stays


def note(
    cases: Mapping[str, Case],
    missing: Collection[str],
    document: Document,
    at: datetime,
    viewpoint: Viewpoint,
    *,
    is_anew: bool,
) -> Notes:
    """What an answer means for the cases. `missing` is what earlier answers lacked."""
    noted = [each for event in document.events if (each := _note_event(cases.get(event.id), event, at, viewpoint))]
    there = {event.id for event in document.events}
    lacking = [case for case in cases.values() if case.is_open and case.id not in there]
    if document.oddities:
        return Notes(tuple(noted), frozenset(case.id for case in lacking))
    gone = [case for case in lacking if is_anew and case.id in missing]
    noted += [Noted(_ended(case, at, viewpoint), What.GONE) for case in gone]
    left = frozenset(case.id for case in lacking) - {case.id for case in gone}
    return Notes(tuple(noted), left, wants_another_look=bool(left))


def rename(case: Case, viewpoint: Viewpoint) -> Case:
    """The case, after the names of this VM have changed."""
    return _with_event(case, case.event, viewpoint)


def _note_event(case: Case | None, event: Event, at: datetime, viewpoint: Viewpoint) -> Noted | None:
    if case is None:
        return Noted(_new(event, at, viewpoint), What.APPEARED)
    if not case.is_open:
        if case.closed_at is None:
            return None  # what was done for its first life is undone first
        return Noted(_again(case, event, at, viewpoint), What.RETURNED)
    seen = replace(case, last_seen_at=at, boot=viewpoint.boot)
    if event == case.event:
        return Noted(seen, What.STILL_THERE)
    changed = _with_event(seen, event, viewpoint)
    if event.has_started and case.started_at is None:
        return Noted(replace(changed, started_at=at), What.STARTED)
    return Noted(changed, What.CHANGED)


def _new(event: Event, at: datetime, viewpoint: Viewpoint) -> Case:
    vm = viewpoint.which(event.resources)
    profile, why = viewpoint.choose(event, vm)
    return Case(
        event=event,
        vm=vm,
        profile=profile,
        why=why,
        first_seen_at=at,
        last_seen_at=at,
        not_before=event.not_before,
        boot=viewpoint.boot,
        started_at=at if event.has_started else None,
    )


def _again(case: Case, event: Event, at: datetime, viewpoint: Viewpoint) -> Case:
    """A second life. Its approval is remembered: an event is approved once."""
    return replace(
        _new(event, at, viewpoint),
        consent=case.consent,
        consent_by=case.consent_by,
        consent_at=case.consent_at,
        consent_tries=case.consent_tries,
    )


def _with_event(case: Case, event: Event, viewpoint: Viewpoint) -> Case:
    """The case with its event as it is now; the profile is chosen again as long as no preparation has begun."""
    vm = viewpoint.which(event.resources)
    changed = replace(case, event=event, vm=vm, not_before=event.not_before or case.not_before)
    if viewpoint.has_begun(case):
        return changed
    profile, why = viewpoint.choose(event, vm)
    # Another profile has other steps before the approval: what was noted of the first does not count.
    prepared_at = case.prepared_at if profile == case.profile else None
    return replace(changed, profile=profile, why=why, prepared_at=prepared_at)


def _ended(case: Case, at: datetime, viewpoint: Viewpoint) -> Case:
    ending = ending_of(case, at, viewpoint.boot, viewpoint.watched_within)
    return replace(case, ending=ending, ended_at=at)
