"""Requests that concern a whole host: maintain, fail, recover. Degraded hosts have a file of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from forewarn.core.availability import would_break_for_ever
from forewarn.core.draft import Draft
from forewarn.core.fleet import Host, Vm
from forewarn.core.notice import (
    DESCRIPTIONS,
    LIVE_MIGRATION,
    Limits,
    in_words,
    planned_seconds,
)
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.placement import Vacancies
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import find_host
from forewarn.core.requests.vms import overtake
from forewarn.core.steps import announce, born_started, cancel, restores
from forewarn.core.terms import Action, Cause, Condition, Kind, Source, VmState


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What is to be done to a host's VMs."""

    kind: Kind
    by_live_migration: bool = False
    duration_seconds: int | None = None
    notice: timedelta | None = None
    description: str | None = None
    is_forced: bool = False  # whatever the minimums of sets


_HOST_ACTIONS = {Kind.FREEZE: Action.FREEZE, Kind.REBOOT: Action.REBOOT, Kind.REDEPLOY: Action.REDEPLOY}


def maintain(draft: Draft, name: str, asked: Maintenance, operation: str, limits: Limits) -> Refusal | None:
    """Planned work on a host: one event per scope and update domain that has VMs on it."""
    host = find_host(draft.world, name)
    if isinstance(host, Refusal):
        return host
    if host.condition is Condition.FAILED:
        return Refusal(
            Code.NOT_ALLOWED, f"{name} has failed; it cannot be maintained.", f"forewarn host recover {name}"
        )
    if refusal := too_short(asked.kind, asked.notice, limits) or too_long(asked.duration_seconds, limits):
        return refusal
    if asked.by_live_migration and (refusal := _cannot_migrate(draft, host, asked)):
        return refusal
    if not asked.is_forced and (refusal := _never_enough(draft, host)):
        return refusal
    default_seconds = planned_seconds(asked.kind, by_live_migration=asked.by_live_migration)
    default_text = LIVE_MIGRATION if asked.by_live_migration else DESCRIPTIONS[Cause.MAINTAIN]
    action = Action.MIGRATE if asked.by_live_migration else _HOST_ACTIONS[asked.kind]
    work = replace(
        work_on(draft, host, Cause.MAINTAIN, action, asked.kind, operation),
        description=default_text if asked.description is None else asked.description,
        duration_seconds=default_seconds if asked.duration_seconds is None else asked.duration_seconds,
    )
    announce(draft, work, vms_on(draft, host), asked.notice or limits.least_notice[asked.kind])
    return None


def vms_on(draft: Draft, host: Host) -> list[Vm]:
    """The VMs that feel what is done to the host."""
    return [vm for vm in draft.world.vms_on(host.name) if vm.is_on_host]


def _cannot_migrate(draft: Draft, host: Host, asked: Maintenance) -> Refusal | None:
    if asked.kind is not Kind.FREEZE:
        return Refusal(
            Code.BAD_REQUEST,
            f"A live migration is felt as a Freeze, not as a {asked.kind}.",
            'Ask for kind "Freeze" with by "live_migration".',
        )
    vacancies = Vacancies(draft.world)
    for vm in vms_on(draft, host):
        if vacancies.choose(vm, elsewhere=True) is None:
            return Refusal(
                Code.NOT_ALLOWED,
                f"{vm.name} cannot be migrated off {host.name}: no other host may take it.",
                'Ask for by "pause", or add a host.',
            )
    return None


def _never_enough(draft: Draft, host: Host) -> Refusal | None:
    """A set whose minimum the work would break however long it waited."""
    for excess in would_break_for_ever(draft.world, [vm.name for vm in vms_on(draft, host)]):
        name, names = excess.set_name, ", ".join(excess.wanted)
        return Refusal(
            Code.NOT_ALLOWED,
            f"{host.name} cannot be maintained: {excess.minimum} of the {excess.size} VMs of {name} are to be "
            f"available, and {host.name} has {len(excess.wanted)} of them ({names}).",
            f"Move some away (forewarn vm redeploy {excess.wanted[-1]}), or lower min_available of {name}.",
        )
    return None


def too_long(seconds: int | None, limits: Limits) -> Refusal | None:
    """No, if the work is expected to take longer than an action is waited for: it could only fail."""
    if seconds is None or seconds < limits.action_limit.total_seconds():
        return None
    return Refusal(
        Code.NOT_ALLOWED,
        f"Work of {seconds} s cannot be done: an action that has no outcome after {in_words(limits.action_limit)} "
        "has failed.",
        "Ask for less, or serve with a larger --action-limit.",
    )


def too_short(kind: Kind, notice: timedelta | None, limits: Limits) -> Refusal | None:
    """Whether less notice is asked for than the kind allows."""
    least = limits.least_notice[kind]
    if notice is None or notice >= least:
        return None
    return Refusal(
        Code.NOTICE_TOO_SHORT,
        f"A {kind} needs at least {in_words(least)} of notice; {in_words(notice)} was asked for.",
        f"Ask for {in_words(least)} or more, or for no notice in particular to get the least.",
    )


def fail(draft: Draft, name: str, operation: str, limits: Limits, kind: Kind | None = None) -> Refusal | None:
    """A host that has failed: events are born Started, and the VMs are brought back elsewhere."""
    host = find_host(draft.world, name)
    if isinstance(host, Refusal):
        return host
    if host.condition is Condition.FAILED:
        return Refusal(Code.NOT_ALLOWED, f"{name} has failed already.", f"forewarn host recover {name}")
    draft.put(replace(host, condition=Condition.FAILED))
    for announced in list(draft.world.operations_on_host(name)):
        if announced.phase is Phase.SCHEDULED:
            cancel(draft, announced, f"{name} has failed")
    vms = vms_on(draft, host)
    for vm in vms:
        overtake(draft, vm, f"{name} has failed")
        draft.put(replace(vm, state=VmState.DOWN))
    lost = [vm for vm in vms if not _is_to_be_brought_back_from(draft, name, vm)]
    on_their_way = list(draft.world.heading_to(name))  # what brings them there ends first
    work = work_on(draft, host, Cause.FAIL, Action.RESTORE, kind or limits.failed_host_kind, operation)
    born_started(draft, work, [*lost, *on_their_way], limits)
    return None


def _is_to_be_brought_back_from(draft: Draft, host: str, vm: Vm) -> bool:
    """Whether the host has failed under the VM before, and that is still to be mended: it is mended once."""
    return any(operation.host == host for operation in restores(draft, vm.name))


def work_on(draft: Draft, host: Host, cause: Cause, action: Action, kind: Kind, operation: str) -> Operation:
    """An operation on a whole host, as the platform asks for it."""
    return Operation(
        id=operation,
        cause=cause,
        action=action,
        source=Source.PLATFORM,
        kind=kind,
        targets=(),
        asked_by=draft.actor,
        created_at=draft.now,
        phase=Phase.SCHEDULED,
        host=host.name,
        description=DESCRIPTIONS[cause],
    )


def recover(draft: Draft, name: str) -> Refusal | None:
    """A host that is well again: it takes VMs, and work that was announced because it was sick is called off."""
    host = find_host(draft.world, name)
    if isinstance(host, Refusal):
        return host
    if host.condition is Condition.UP:
        return Refusal(
            Code.NOT_ALLOWED,
            f"{name} is up; there is nothing to recover.",
            "See which hosts are sick: forewarn host list",
        )
    draft.put(replace(host, condition=Condition.UP))
    draft.note("recover", subject=name)
    for operation in list(draft.world.operations_on_host(name)):
        if operation.cause is Cause.DEGRADE and operation.phase is Phase.SCHEDULED:
            cancel(draft, operation, f"{name} has recovered")
    return None
