"""What to do next about a case. Pure: the case, its profile, the others, who is ready, and the time in; moves out.

While the event is there: tell, prepare, approve. When it is gone: stop, undo, tell, close. An approval needs that
everything that was to be done before it has succeeded; nothing here approves because time runs out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Union

from forewarn.agent.case import Case, Consent, Direction, Ending, Outcome, has_acted
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Approval, Occasion, Profile, Together
from forewarn.agent.scene import Scene, View
from forewarn.agent.steps import Progress, State, StepMove, go_back, go_on, prepare, wind_up
from forewarn.agent.superseded import Renamed, renamed

_APPROVAL_PAUSES = (1, 2, 4, 8, 15)  # seconds between tries to approve; the last one repeats
_CONFIRMED_WITHIN = timedelta(seconds=15)  # what is approved starts at once, and is seen to at the next poll


@dataclass(frozen=True, slots=True)
class NotePrepared:
    """Everything before the approval has succeeded."""


@dataclass(frozen=True, slots=True)
class NoteLost:
    """The machine has booted since these steps were done: what they did may be gone."""

    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteUnprepared:
    """Something more is to be done before the approval than was known when it was prepared."""


@dataclass(frozen=True, slots=True)
class NoteRenamed:
    """Steps of the same names are others by now, or the same again."""

    names: Renamed


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Have the endpoint asked anew: what is known is too old to approve anything by, or soon will be."""

    is_early: bool = False  # soon: nothing waits for it yet


@dataclass(frozen=True, slots=True)
class Approve:
    """Send the approval."""

    by: str


@dataclass(frozen=True, slots=True)
class NoteUnconfirmed:
    """The endpoint has taken the approval, and the event has not started."""


@dataclass(frozen=True, slots=True)
class Close:
    """Nothing is left to do."""


CaseMove = Union[NotePrepared, NoteUnprepared, NoteLost, NoteRenamed, LookAgain, Approve, NoteUnconfirmed, Close]
Move = Union[StepMove, CaseMove]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a case wants."""

    moves: tuple[Move, ...] = ()
    wake_at: datetime | None = None  # when to look again, if nothing happens before
    waiting_for: tuple[str, ...] = ()
    tells_leader: str = ""  # the peer who is to hear that this VM is ready
    tells_until: datetime | None = None  # after that only if something is seen or done before


def plan(
    case: Case,
    profile: Profile,
    others: Sequence[Case],
    now: datetime,
    ready_peers: Collection[str] = (),
    view: View | None = None,
) -> Plan:
    """Return the next moves about a case. `profile` is as `superseded.profile_of` gives it."""
    if case.closed_at is not None or (case.is_open and _concerns_others_alone(case, profile)):
        return Plan()
    scene = Scene(case, profile, others, now, view or View())
    return _while_it_is_there(scene, ready_peers) if case.is_open else _when_it_is_gone(scene)


def prepares_from(case: Case, profile: Profile) -> datetime:
    """When preparation begins: as soon as the event is seen, or so long before NotBefore as the profile says."""
    seen_at = min(
        case.first_seen_at, case.last_seen_at
    )  # the clock may have been put back since it was first seen
    if profile.lead_seconds is None or case.event.not_before is None:
        return seen_at
    return max(seen_at, case.event.not_before - timedelta(seconds=profile.lead_seconds))


def prepares_until(case: Case, profile: Profile) -> datetime | None:
    """When preparation has to be done; None: the platform is at it already, or does not say when it will be."""
    if case.event.not_before is None or case.event.has_started:
        return None
    return case.event.not_before - timedelta(seconds=profile.reserve_seconds)


def has_begun_to_prepare(case: Case, profile: Profile) -> bool:
    """Whether a step of the preparation was taken up, of this profile or of an earlier one; left out is not."""
    return any(has_acted(case.run(step.name)) for step in profile.prepared_by())


def _has_begun_with(case: Case, profile: Profile) -> bool:
    """Whether this profile wanted any of it: what an earlier one did says nothing of when this one begins."""
    prepared_by = (step.name for step in profile.prepared_by())
    names = (name for name in prepared_by if case.run(name, Direction.UNDO) is None)
    runs = (case.run(name) for name in names)
    return any(run is not None and has_acted(run) and run.profile in {"", profile.name} for run in runs)


def failures(case: Case, profile: Profile, now: datetime) -> list[str]:
    """Why its preparation will not succeed, as things are; nothing: it has, or it may yet."""
    return _prepare(Scene(case, profile, (), now)).failures


def _concerns_others_alone(case: Case, profile: Profile) -> bool:
    """Whether there is nothing to do about it here but to know it: of these there may be thousands."""
    has_steps = profile.steps or profile.superseded
    return not (case.is_mine or has_steps or profile.approves_others or case.told_to_approve_by)


def _while_it_is_there(scene: Scene, ready_peers: Collection[str]) -> Plan:
    if names := renamed(scene.case, scene.profile):
        words = "its preparation, anew: the event has changed since"
        return Plan((NoteRenamed(names),), waiting_for=(words,))
    if lost := _lost(scene):
        return Plan((NoteLost(lost),), waiting_for=("its preparation, anew: the machine has booted since",))
    rows = [go_on(scene, Occasion.DETECTED)]
    if scene.case.started_at is not None:
        rows.append(go_on(scene, Occasion.STARTED))
    preparation = _prepare(scene)
    rows.append(preparation)
    side = _joined(rows)
    if preparation.state is State.SUCCESS and _is_newly_prepared(scene):
        return Plan((*side.moves, NotePrepared()), side.wake_at, side.waiting_for)
    if preparation.state is not State.SUCCESS and _was_prepared(scene.case):
        return Plan((*side.moves, NoteUnprepared()), side.wake_at, side.waiting_for)
    consent = _consent(scene, preparation.state, ready_peers)
    return Plan(
        (*side.moves, *consent.moves),
        _earliest(side.wake_at, consent.wake_at),
        (*side.waiting_for, *consent.waiting_for),
        consent.tells_leader,
        consent.tells_until,
    )


def _lost(scene: Scene) -> tuple[str, ...]:
    """The steps that were done in an earlier boot. What has started stays as it is: the boot may be the event."""
    case = scene.case
    if case.started_at is not None or case.event.has_started:
        return ()
    done = ((step.name, case.run(step.name)) for step in scene.profile.on(Occasion.PREPARE))
    return tuple(
        name for name, run in done if run and run.outcome is Outcome.DONE and not scene.is_of_this_boot(run)
    )


def _when_it_is_gone(scene: Scene) -> Plan:
    back = go_back(scene)
    if back.state is State.PENDING:
        return _joined([back])
    occasion = Occasion.FINISHED if scene.case.ending is Ending.FINISHED else Occasion.CANCELLED
    # What is put off until another event is over may take days: who is to be told does not wait for it.
    over = (Occasion.DETECTED, Occasion.STARTED)
    rows = [
        back,
        go_on(scene, Occasion.DETECTED),
        *(wind_up(scene, each) for each in over),
        go_on(scene, occasion),
    ]
    if any(row.is_pending() for row in rows):
        return _joined(rows)
    return Plan((Close(),))


def _prepare(scene: Scene) -> Progress:
    """The preparation, if its time has come; once begun it goes on, whatever the platform does meanwhile."""
    case, profile = scene.case, scene.profile
    goes_on = profile.prepares_when_started or case.was_prepared_for or _has_begun_with(case, profile)
    if case.event.has_started and not goes_on:
        return Progress()
    begins_at = prepares_from(case, profile)
    if scene.now < begins_at and not (case.is_urgent or _has_begun_with(case, profile)):
        progress = Progress()
        progress.wait(f"its preparation, which begins at {begins_at:%H:%M:%SZ}", begins_at)
        return progress
    return prepare(scene, prepares_until(case, profile))


def _is_newly_prepared(scene: Scene) -> bool:
    """Whether its preparation has succeeded, which was not noted yet. A start without one needs no note."""
    case = scene.case
    has_had_one = not case.event.has_started or _has_begun_with(case, scene.profile)
    return case.prepared_at is None and has_had_one


def _was_prepared(case: Case) -> bool:
    """Whether it counts as prepared, and may still be approved by that."""
    return case.prepared_at is not None and case.started_at is None and not case.event.has_started


def _consent(scene: Scene, preparation: State, ready_peers: Collection[str]) -> Plan:
    """Whether the event is to be approved now, and if not, what is waited for."""
    case, profile = scene.case, scene.profile
    # What has started once is not approved, whatever a later answer says of it.
    if case.started_at is not None or not scene.view.approves:
        return Plan()
    if not case.event.is_scheduled:
        words = () if case.event.status else ("an answer of the endpoint that says its EventStatus",)
        return Plan(waiting_for=words)
    if profile.approval is Approval.NEVER and not case.told_to_approve_by:
        return Plan()
    if case.consent is Consent.GIVEN:
        return _until_confirmed(case, scene.now)
    if not (case.is_mine or profile.approves_others or case.told_to_approve_by):
        return Plan()
    if case.held_by:
        return Plan(waiting_for=(f"{case.held_by}, who holds it: forewarn agent release {case.id}",))
    if preparation is not State.SUCCESS and not _goes_unprepared(case, profile):
        return Plan()
    if _waits_for_its_time(case, profile) and case.event.not_before is None:
        return Plan(
            waiting_for=("an answer of the endpoint that says NotBefore: it is approved just before that",)
        )
    return _in_company(scene, ready_peers) or _in_time(scene)


def _until_confirmed(case: Case, now: datetime) -> Plan:
    """It is approved. That it starts is the only proof that the approval was understood."""
    if case.unconfirmed_at is not None:
        return Plan(waiting_for=("the platform, which has taken the approval and not started it",))
    words = ("the platform, to start it",)
    if case.consent_at is None:
        return Plan(waiting_for=words)
    doubts_at = case.consent_at + _CONFIRMED_WITHIN
    return Plan((NoteUnconfirmed(),), waiting_for=words) if now >= doubts_at else Plan((), doubts_at, words)


def _goes_unprepared(case: Case, profile: Profile) -> bool:
    is_users = profile.approval is Approval.AT_ONCE_FOR_USER and case.event.source.lower() == "user"
    return is_users or case.is_urgent


def _in_company(scene: Scene, ready_peers: Collection[str]) -> Plan | None:
    """What stands in the way where the event names several VMs."""
    case, together = scene.case, scene.profile.together
    if _wants_a_word(case, scene.profile):
        return Plan(waiting_for=(f"someone to say: forewarn agent approve {case.id}",))
    if len(case.event.resources) <= 1 or together is Together.EACH or (case.told_to_approve_by and case.is_urgent):
        return None
    names = ", ".join(case.event.resources)
    if together is Together.REFUSE or not case.is_mine:
        return Plan(waiting_for=(f"its time: it names several VMs ({names}), and none of them speaks for all",))
    leader = case.event.resources[0]
    if case.vm != leader:
        # To say that one is ready is to approve, as far as this VM goes: it waits for the same.
        ready_at = _lets_go_at(case, scene.profile)
        if ready_at is not None and ready_at > scene.now:
            return Plan(wake_at=ready_at, waiting_for=(f"its word to {leader}, at {ready_at:%H:%M:%SZ}",))
        if not scene.was_seen_within(scene.view.fresh_within):
            return Plan((LookAgain(),), waiting_for=(f"an answer of the endpoint, before its word to {leader}",))
        return _while_it_tells(scene, leader)
    missing = [name for name in case.event.resources if name != case.vm and name not in ready_peers]
    if missing:
        return Plan(waiting_for=(f"{', '.join(missing)} to be ready",))
    return None


def _while_it_tells(scene: Scene, leader: str) -> Plan:
    """Its word holds. The endpoint is asked before its last answer is too old, so that the word goes on."""
    looks_at, ends_at = (scene.case.last_seen_at + scene.view.fresh_within / part for part in (2, 1))
    moves, wake_at = ((LookAgain(is_early=True),), ends_at) if scene.now >= looks_at else ((), looks_at)
    return Plan(moves, wake_at, (f"{leader}, who approves for all",), leader, ends_at)


def _wants_a_word(case: Case, profile: Profile) -> bool:
    return profile.approval is Approval.MANUAL and not case.told_to_approve_by


def _lets_go_at(case: Case, profile: Profile) -> datetime | None:
    """From when on this VM lets the event begin: after the pause, and near the deadline if asked so."""
    instants = []
    if case.prepared_at is not None:
        instants.append(case.prepared_at + timedelta(seconds=profile.pause_before_approval_seconds))
    if _waits_for_its_time(case, profile) and case.event.not_before is not None:
        instants.append(case.event.not_before - timedelta(seconds=profile.reserve_seconds))
    return max(instants, default=None)


def _waits_for_its_time(case: Case, profile: Profile) -> bool:
    return profile.approval is Approval.BEFORE_DEADLINE and not case.told_to_approve_by


def _in_time(scene: Scene) -> Plan:
    """Approve, unless the pause, the deadline or a failed try says later."""
    case, profile, now = scene.case, scene.profile, scene.now
    approves_at = [now, _lets_go_at(case, profile) or now]
    # Asked later than now: the clock was put back, and how long it has been nobody knows.
    if case.consent is Consent.ASKED and case.consent_at is not None and case.consent_at <= now:
        if case.last_seen_at <= case.consent_at:
            return Plan(waiting_for=("an answer of the endpoint that shows it still Scheduled",))
        pause = _APPROVAL_PAUSES[max(0, min(case.consent_tries, len(_APPROVAL_PAUSES)) - 1)]
        approves_at.append(case.consent_at + timedelta(seconds=pause))
    latest = max(approves_at)
    if latest > now:
        return Plan(wake_at=latest, waiting_for=(f"its approval, at {latest:%H:%M:%SZ}",))
    if not scene.was_seen_within(scene.view.fresh_within):
        words = f"an answer of the endpoint to approve it by; the last one is of {case.last_seen_at:%H:%M:%SZ}"
        return Plan((LookAgain(),), waiting_for=(words,))
    return Plan((Approve(case.told_to_approve_by or "agent"),))


def _joined(rows: Sequence[Progress]) -> Plan:
    wakes = [row.wake_at for row in rows if row.wake_at is not None]
    return Plan(
        tuple(move for row in rows for move in row.moves),
        min(wakes, default=None),
        tuple(words for row in rows for words in row.words),
    )


def _earliest(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((each for each in (one, other) if each is not None), default=None)
