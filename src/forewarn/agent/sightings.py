"""From what the endpoint says to cases: new, changed, started, gone. Pure.

When an event that an answer lacks is gone, `absence.py` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta

from forewarn.agent.absence import Doubt, LastSeen, ending_of, judge, named_also
from forewarn.agent.case import DRY_RUN, Case, Consent, Runs
from forewarn.agent.compat import StrEnum, dataclass
from forewarn.agent.course import has_begun_to_prepare
from forewarn.agent.events import UNKNOWN, Event, Sighting
from forewarn.agent.policy import NO_POLICY, Policy
from forewarn.agent.returning import what_is_left
from forewarn.agent.rules import choose
from forewarn.agent.scene import Scene, View
from forewarn.agent.superseded import profile_of


class Meaning(StrEnum):
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
    what: Meaning


@dataclass(frozen=True, slots=True)
class Notes:
    """What came of a sighting."""

    noted: tuple[Noted, ...] = ()
    missing: frozenset[str] = frozenset()  # open cases whose events the answer lacks: there or not, nobody knows
    doubts: Mapping[str, Doubt] = field(default_factory=dict)  # what answers that count say against some of them
    look_after: float | None = None  # in so many seconds another look is wanted; None: it is not
    back: frozenset[str] = frozenset()  # events that are there again, while something is under way for their end


Choose = Callable[[Event, str, Policy], "tuple[str, str]"]  # with this VM's name in it: the profile, and why


def choose_by_rules(event: Event, vm: str, policy: Policy) -> tuple[str, str]:
    """Return the profile of the first rule that fits, and why."""
    choice = choose(event, vm, policy.rules, policy.profiles)
    return choice.profile.name, choice.why


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """From where the agent looks."""

    boot: str
    watched_within: timedelta  # a shorter gap between two answers is no gap
    apart_seconds: float  # how far apart answers have to be that count against an event
    which: Callable[[Sequence[str]], str]  # the resource that means this VM
    policy: Policy = NO_POLICY  # for events that are first seen now
    choose: Choose = choose_by_rules
    view: View = View()


def note(
    cases: Mapping[str, Case],
    doubts: Mapping[str, Doubt],
    sighting: Sighting,
    viewpoint: Viewpoint,
    others: Sequence[Case] = (),
) -> Notes:
    """Return what an answer means for the cases.

    `doubts` are what earlier answers have left; `others` are the cases that may share an effect.
    """
    events = sighting.document.events
    found = (note_event(cases.get(event.id), event, sighting, viewpoint, others) for event in events)
    noted = [each for each in found if each]
    there = {event.id for event in events}
    back = frozenset(there.difference(each.case.id for each in noted))
    lacking = {case.id: last_seen(case) for case in cases.values() if case.is_open and case.id not in there}
    absence = judge(lacking, doubts, sighting, viewpoint.apart_seconds)
    gone = [cases[event] for event in lacking if event in absence.gone]
    noted += [Noted(_ended(case, sighting.at, viewpoint), Meaning.GONE) for case in gone]
    missing = frozenset(lacking) - absence.gone
    return Notes(tuple(noted), missing, absence.doubts, absence.look_after, back)


def last_seen(case: Case) -> LastSeen:
    """What is known of its event, should it be gone."""
    is_let_go = case.consent is Consent.GIVEN and case.consent_by != DRY_RUN
    return LastSeen(
        at=case.last_seen_at,
        not_before=case.event.not_before,
        has_started=case.started_at is not None,
        named_by=case.named_by,
        let_go_at=(case.consent_at or case.first_seen_at) if is_let_go else None,
        was_asked=case.consent is not Consent.NONE and case.consent_by != DRY_RUN,
    )


def judge_anew(case: Case, viewpoint: Viewpoint, *, is_named: bool = True) -> Case:
    """Return the case, after the names of this VM have changed.

    Who does not know its name yet does not unlearn what its journal says of whose the event is.
    """
    vm = viewpoint.which(case.event.resources)
    return _judged(case, case.event, vm if is_named else vm or case.vm, viewpoint)


def note_event(
    case: Case | None, event: Event, sighting: Sighting, viewpoint: Viewpoint, others: Sequence[Case] = ()
) -> Noted | None:
    """Return what it means that an event is there. None: it was over, and its end is still under way."""
    at = sighting.at
    if case is not None and case.is_open and event != case.event:
        event = _completed(event, case.event)
    if case is None:
        return Noted(_new(event, sighting, viewpoint, viewpoint.policy), Meaning.APPEARED)
    if not case.is_open:
        scene = Scene(case, profile_of(case), others, at, viewpoint.view)
        left = what_is_left(scene) if case.closed_at is None else {}
        return None if left is None else Noted(_again(case, event, sighting, viewpoint, left), Meaning.RETURNED)
    named_by = named_also(case.named_by, sighting.endpoint)
    seen = replace(case, last_seen_at=at, boot=viewpoint.boot, named_by=named_by)
    if event == case.event:
        return Noted(seen, Meaning.STILL_THERE)
    changed = _with_event(seen, event, viewpoint)
    if event.has_started and case.started_at is None:
        return Noted(replace(changed, started_at=at), Meaning.STARTED)
    return Noted(changed, Meaning.CHANGED)


def _new(event: Event, sighting: Sighting, viewpoint: Viewpoint, policy: Policy) -> Case:
    at = sighting.at
    vm = viewpoint.which(event.resources)
    profile, why = viewpoint.choose(event, vm, policy)
    return Case(
        event=event,
        vm=vm,
        profile=profile,
        why=why,
        first_seen_at=at,
        last_seen_at=at,
        policy=policy,
        not_before=event.not_before,
        boot=viewpoint.boot,
        named_by=named_also((), sighting.endpoint),
        started_at=at if event.has_started else None,
    )


def _again(case: Case, event: Event, sighting: Sighting, viewpoint: Viewpoint, left: Runs) -> Case:
    """A second life. Its approval is remembered, as an event is approved once; and what operators said."""
    again = replace(
        _new(event, sighting, viewpoint, case.policy),
        was_prepared_for=case.was_prepared_for or has_begun_to_prepare(case, profile_of(case)),
        consent=case.consent,
        consent_by=case.consent_by,
        consent_at=case.consent_at,
        consent_tries=case.consent_tries,
        held_by=case.held_by,
    )
    if _word_holds(case, again):
        again = replace(again, told_to_approve_by=case.told_to_approve_by, is_urgent=case.is_urgent)
    return replace(again, runs=left)


def _completed(event: Event, before: Event) -> Event:
    """The event; what an answer leaves out that an earlier one said, as a version may, has not changed."""
    return replace(
        event,
        type=before.type if event.type == UNKNOWN else event.type,
        resources=event.resources or before.resources,
        not_before=event.not_before or (None if event.has_started else before.not_before),
        source=event.source or before.source,
        description=event.description or before.description,
        duration_seconds=before.duration_seconds if event.duration_seconds is None else event.duration_seconds,
    )


def _with_event(case: Case, event: Event, viewpoint: Viewpoint) -> Case:
    return _judged(case, event, viewpoint.which(event.resources), viewpoint)


def _judged(case: Case, event: Event, vm: str, viewpoint: Viewpoint) -> Case:
    """The case with its event as it is now, and the profile that its policy's rules ask for now.

    What was done for the event as it was is undone in the end, whatever profile it stood in; see `superseded.py`.
    """
    changed = replace(case, event=event, vm=vm, not_before=event.not_before or case.not_before)
    if not _word_holds(case, changed):
        changed = replace(changed, told_to_approve_by="", is_urgent=False)
    has_started = case.started_at is not None or event.has_started
    if has_started and has_begun_to_prepare(case, profile_of(case)):
        return changed  # nothing is approved any more, and what has begun goes on
    # Rules may go by the time that it was announced for, which it does not say once it has started.
    profile, why = viewpoint.choose(replace(event, not_before=changed.not_before), vm, case.policy)
    # Another profile has other steps before the approval: what was noted of the first does not count.
    prepared_at = case.prepared_at if profile == case.profile else None
    return replace(changed, profile=profile, why=why, prepared_at=prepared_at)


def _word_holds(said: Case, now: Case) -> bool:
    """Whether an operator who said "approve" has meant the event as it is now."""
    names_no_others = _bare(now.event.resources) <= _bare(said.event.resources)
    return names_no_others and now.event.type == said.event.type and now.is_mine == said.is_mine


def _bare(resources: Sequence[str]) -> set[str]:
    """Names, however a version of the endpoint writes them."""
    return {each.lower().removeprefix("_") for each in resources}


def _ended(case: Case, at: datetime, viewpoint: Viewpoint) -> Case:
    has_rebooted = case.boot != viewpoint.boot
    ending = ending_of(last_seen(case), at, viewpoint.watched_within, has_rebooted=has_rebooted)
    return replace(case, ending=ending, ended_at=at)
