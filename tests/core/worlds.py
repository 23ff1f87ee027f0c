"""Worlds for the tables of the core, in the words of a sentence: `world(host("h1"), vm("web-0", "h1", "web"))`.

What these tests construct is constructed here, so that a new field or name in the core changes one file.
Times are minutes from noon, which is now. Operations are called by what they are: "restart web-0", "maintain h1".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from forewarn.core.decide import AttemptReport
from forewarn.core.draft import Draft
from forewarn.core.event import Approval, Event
from forewarn.core.fleet import AvailabilitySet, CloudService, Host, Vm
from forewarn.core.notice import Limits
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.rollout import Rollout, Turn, TurnState, Work
from forewarn.core.rollout_course import Answers, Outlook, look, move_on, no_answers, waiting_for
from forewarn.core.scope import Scope, ScopeKind
from forewarn.core.terms import Action, Cause, Condition, Kind, Source, VmState
from forewarn.core.world import World

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday
LIMITS = Limits()
ROLLOUT = "rollout"
WORK = Work(Kind.FREEZE, max_parallel=2)


def row(claim: str, *values: object) -> Any:
    """One row of a table, called by what it claims."""
    return pytest.param(*values, id=claim)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def at(number: float) -> datetime:
    """The instant so many minutes from noon."""
    return NOON + minutes(number)


# The fleet.


def host(name: str, zone: str | None = None, condition: Condition = Condition.UP, **more: Any) -> Host:
    return Host(name, zone, condition=condition, **more)


def failed(name: str, **more: Any) -> Host:
    return host(name, condition=Condition.FAILED, **more)


def degraded(name: str, **more: Any) -> Host:
    return host(name, condition=Condition.DEGRADED, **more)


def availability_set(name: str, minimum: int = 0, **more: Any) -> AvailabilitySet:
    return AvailabilitySet(name, min_available=minimum, **more)


def cloud_service(name: str, minimum: int = 0) -> CloudService:
    return CloudService(name, min_available=minimum)


def vm(name: str, on: str, of: str | None = None, domain: int = 0, **more: Any) -> Vm:
    return Vm(name, f"id of {name}", on, on, of or name, set_name=of, update_domain=domain, **more)


def down(name: str, on: str, of: str | None = None, domain: int = 0, **more: Any) -> Vm:
    return vm(name, on, of, domain, state=VmState.DOWN, **more)


def stopped(name: str, on: str, of: str | None = None, domain: int = 0, **more: Any) -> Vm:
    return vm(name, on, of, domain, state=VmState.STOPPED, **more)


def off(scope: str) -> Scope:
    """A scope whose guests have never polled; the scopes of all other VMs are on."""
    return Scope(scope, ScopeKind.VM, scope, 1)


# Operations.


@dataclass(frozen=True)
class Job:
    """An operation to be made of a world's machines."""

    cause: Cause
    action: Action
    kind: Kind | None
    vms: tuple[str, ...] = ()
    host: str | None = None
    due: float | Mapping[str, float] = 15  # minutes from noon; by scope where they differ
    approved_in: tuple[str, ...] | None = None  # None: nowhere, (): everywhere
    postponed_in: tuple[str, ...] = ()
    promised: float | None = None  # when NotBefore will have passed if the clock was stepped
    early: float = 0  # a fault that starts it before its time
    phase: Phase = Phase.SCHEDULED
    begins: float | None = None
    attempts: Mapping[str, Outcome | None] = field(default_factory=dict)
    destinations: Mapping[str, str] = field(default_factory=dict)
    asked: float | None = None
    rollout: str | None = None

    @property
    def id(self) -> str:
        return f"{self.cause} {self.host or ' '.join(self.vms)}"


def restart(*vms: str, **more: Any) -> Job:
    return Job(Cause.RESTART, Action.REBOOT, Kind.REBOOT, vms, **more)


def redeploy(*vms: str, to: str | None = None, **more: Any) -> Job:
    sent = {} if to is None else dict.fromkeys(vms, to)
    return Job(Cause.REDEPLOY, Action.REDEPLOY, Kind.REDEPLOY, vms, destinations=sent, **more)


def stop(*vms: str, **more: Any) -> Job:
    return Job(Cause.STOP, Action.STOP, None, vms, **more)


def delete(*vms: str, **more: Any) -> Job:
    return Job(Cause.DELETE, Action.DELETE, Kind.TERMINATE, vms, **more)


def evict(*vms: str, **more: Any) -> Job:
    return Job(Cause.EVICT, Action.DEALLOCATE, Kind.PREEMPT, vms, **more)


def maintain(on: str, *vms: str, **more: Any) -> Job:
    """Planned work on a host; on all of its VMs if none is named."""
    return Job(Cause.MAINTAIN, Action.FREEZE, Kind.FREEZE, vms, on, **more)


def degrade(on: str, *vms: str, **more: Any) -> Job:
    """The move of VMs off a host that is about to fail."""
    return Job(Cause.DEGRADE, Action.MIGRATE, Kind.REDEPLOY, vms, on, **more)


def fail(on: str, *vms: str, **more: Any) -> Job:
    """What brings VMs back from a failed host: it is born Started."""
    return started(Job(Cause.FAIL, Action.RESTORE, Kind.REDEPLOY, vms, on, **more))


def approved(job: Job, *scopes: str) -> Job:
    """Approved in these scopes, or in all of them."""
    return replace(job, approved_in=scopes)


def postponed(job: Job, *scopes: str) -> Job:
    return replace(job, postponed_in=scopes)


def started(job: Job, *, begins: float | None = 0) -> Job:
    """Started; `begins` says from when on machines may be touched."""
    return replace(job, phase=Phase.STARTED, begins=begins)


def begun(job: Job, *vms: str) -> Job:
    """At work on these machines."""
    return _attempted(job, vms, None)


def done(job: Job, *vms: str) -> Job:
    """Done with these machines."""
    return _attempted(job, vms, Outcome.DONE)


def botched(job: Job, *vms: str) -> Job:
    """Done with these machines, badly."""
    return _attempted(job, vms, Outcome.FAILED)


def _attempted(job: Job, vms: tuple[str, ...], outcome: Outcome | None) -> Job:
    begun_on = job if job.phase is Phase.STARTED else started(job)
    return replace(begun_on, attempts={**job.attempts, **dict.fromkeys(vms, outcome)})


def report(operation: str, vm: str, outcome: Outcome = Outcome.DONE) -> AttemptReport:
    return AttemptReport(operation, vm, outcome)


# Rollouts.


@dataclass(frozen=True)
class Course:
    """A rollout to be made, with its turns and the operations of those that are open."""

    rollout: Rollout
    turns: tuple[tuple[Turn, Job | None], ...]


def rollout(*turns: tuple[Turn, Job | None] | Turn, name: str = ROLLOUT, **more: Any) -> Course:
    """A rollout with these turns; `more` are members of the rollout or of its work."""
    own = {key: more.pop(key) for key in list(more) if key in Rollout.__dataclass_fields__}
    made = Rollout(name, replace(WORK, **more), "operator", at(-120), **own)
    pairs = [each if isinstance(each, tuple) else (each, None) for each in turns]
    return Course(
        made,
        tuple((replace(turn, rollout=name, position=position), job) for position, (turn, job) in enumerate(pairs)),
    )


def turn(on: str, wave: int = 0, state: TurnState = TurnState.WAITING, **more: Any) -> Turn:
    return Turn(ROLLOUT, on, wave, 0, state=state, **more)


def open_turn(job: Job, wave: int = 0, **more: Any) -> tuple[Turn, Job]:
    """The turn of a host whose work is announced or going on."""
    return turn(job.host or "", wave, TurnState.OPEN, operation=job.id, **more), job


def postponed_turn(job: Job, wave: int = 0, **more: Any) -> tuple[Turn, Job]:
    return turn(job.host or "", wave, TurnState.POSTPONED, operation=job.id, **more), job


def done_turn(on: str, *vms: str, ended: float, wave: int = 0, domains: tuple[str, ...] = ()) -> Turn:
    """A turn that ended so many minutes from noon, having worked on these VMs."""
    return turn(on, wave, TurnState.DONE, touched=vms, domains=domains, ended_at=at(ended), rests_from=at(ended))


def failed_turn(on: str, why: str = "broken", wave: int = 0, **more: Any) -> Turn:
    return turn(on, wave, TurnState.FAILED, ended_at=NOON, reason=why, **more)


# The world.

Part = Host | AvailabilitySet | CloudService | Vm | Scope | Job | Course


def world(*parts: Part) -> World:
    """A world of these parts, in this order; scopes that are not named are on."""
    made = World()
    for part in parts:
        if isinstance(part, Host | AvailabilitySet | CloudService | Scope):
            made.take(part)
    for part in parts:
        if isinstance(part, Vm):
            if part.scope not in made.scopes:
                made.take(replace(off(part.scope), is_on=True))
            made.take(part)
    for number, part in enumerate(parts):
        if isinstance(part, Job):
            _take_job(made, part, number)
        elif isinstance(part, Course):
            _take_course(made, part, number)
    return made


def _take_course(made: World, course: Course, number: int) -> None:
    made.take(course.rollout)
    for each, job in course.turns:
        made.take(each)
        if job is not None:
            _take_job(made, replace(job, rollout=course.rollout.id), number)


def _take_job(made: World, job: Job, number: int) -> None:
    here = [each.name for each in made.vms_on(job.host) if each.is_on_host] if job.host else []
    asked = at(-60 + number / 60 if job.asked is None else job.asked)
    begins = None if job.begins is None else at(job.begins)
    operation = Operation(
        job.id,
        job.cause,
        job.action,
        Source.USER if job.cause.is_users else Source.PLATFORM,
        job.kind,
        job.vms or tuple(here),
        "somebody",
        asked,
        job.phase,
        job.host,
        started_at=None if begins is None else begins - LIMITS.lead,
        begin_at=begins,
        rollout=job.rollout,
    )
    made.take(operation)
    if job.kind is not None:
        for event in _events(made, job, operation, job.kind):
            made.take(event)
    for name, outcome in job.attempts.items():
        destination = job.destinations.get(name)
        from_host = made.vms[name].host
        made.take(
            Attempt(job.id, name, job.action, NOON, at(30), from_host, destination=destination, outcome=outcome)
        )


def _events(made: World, job: Job, operation: Operation, kind: Kind) -> list[Event]:
    groups: dict[tuple[str, int], list[str]] = {}
    for name in operation.targets:
        found = made.vms[name]
        groups.setdefault((found.scope, found.update_domain), []).append(name)
    events: list[Event] = []
    for (scope, domain), resources in groups.items():
        due = at(job.due if isinstance(job.due, int | float) else job.due[scope])
        is_approved = job.approved_in is not None and (not job.approved_in or scope in job.approved_in)
        ordinal = sum(event.scope == scope for event in events)
        events.append(
            Event(
                f"{job.id} in {scope}" + (f"#{ordinal}" if ordinal else ""),
                len(made.events) + len(events) + 1,
                job.id,
                scope,
                domain,
                tuple(resources),
                kind,
                operation.source,
                "",
                9,
                job.phase,
                operation.created_at,
                due - operation.created_at,
                due,
                due if job.promised is None else at(job.promised),
                approvals=(Approval("guest", NOON),) if is_approved else (),
                postponed_by="owner" if scope in job.postponed_in else None,
                early=minutes(job.early),
            )
        )
    return events


def without(found: World, event: str) -> World:
    """The world, with an event cancelled: the VMs that it names have left its operation."""
    found.take(replace(found.events[event], phase=Phase.CANCELLED))
    return found


# What the core says of it.


def look_at(found: World, answers: Answers = no_answers, now: datetime = NOON) -> Outlook:
    """What a look at the rollout finds."""
    return look(found, found.rollouts[ROLLOUT], now, answers)


def waits_of(found: World, answers: Answers = no_answers) -> list[str]:
    """What operators read of what the rollout waits for."""
    return waiting_for(found, found.rollouts[ROLLOUT], NOON, answers)


def draft_of(found: World) -> Draft:
    return Draft(found, NOON, "engine")


def moved_on(found: World, outlook: Outlook, *ids: str) -> Draft:
    """The draft into which what a look has found was written."""
    draft = draft_of(found)
    move_on(draft, found.rollouts[ROLLOUT], outlook, LIMITS, iter(ids).__next__)
    return draft
