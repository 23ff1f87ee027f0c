"""Requests that concern VMs: restart, redeploy, reimage, stop, start, delete, evict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from forewarn.core.draft import Draft
from forewarn.core.fleet import Vm
from forewarn.core.notice import DESCRIPTIONS, Limits
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.placement import waits_for_host
from forewarn.core.policy import is_approved_beforehand
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import find_vm, in_the_way
from forewarn.core.steps import announce, born_started, withdraw
from forewarn.core.terms import Action, Cause, EvictionPolicy, Kind, Priority, Source, VmState
from forewarn.core.world import World


@dataclass(frozen=True, slots=True)
class UserRequest:
    """What a cause means for one VM: the action, what guests are told, and which states allow it."""

    action: Action
    kind: Kind | None
    allowed_in: frozenset[VmState]


_UP = frozenset({VmState.RUNNING, VmState.DOWN})
_ANY = frozenset(VmState) - {VmState.DELETED}
USER_REQUESTS: dict[Cause, UserRequest] = {
    Cause.RESTART: UserRequest(Action.REBOOT, Kind.REBOOT, _UP),
    Cause.REDEPLOY: UserRequest(Action.REDEPLOY, Kind.REDEPLOY, _UP),
    Cause.REIMAGE: UserRequest(Action.REIMAGE, Kind.REBOOT, _UP),
    Cause.DELETE: UserRequest(Action.DELETE, Kind.TERMINATE, _ANY),
    Cause.STOP: UserRequest(Action.STOP, None, _UP),
    Cause.DEALLOCATE: UserRequest(Action.DEALLOCATE, None, _UP | {VmState.STOPPED}),
    Cause.START: UserRequest(Action.START, None, _ANY - {VmState.RUNNING}),
}


# What an owner may ask for while no host may take a VM whose own has failed. Bringing it up is under way already.
_INSTEAD_OF_WAITING = frozenset({Cause.STOP, Cause.DEALLOCATE, Cause.DELETE})


def ask_for_vm(
    draft: Draft, cause: Cause, name: str, operation: str, limits: Limits, batch: str | None = None
) -> Refusal | None:
    """A user's operation on one VM: announced where its scope is on, at once where it is off."""
    found = find_vm(draft.world, name)
    if isinstance(found, Refusal):
        return found
    vm = draft.vm(found.name)  # its profile may have been changed by the same request
    request = USER_REQUESTS[cause]
    if refusal := _busy(draft, vm, cause) or _wrong_state(vm, cause) or _over_limit(draft, vm, cause, limits):
        return refusal
    notice = _users_notice(draft, vm, request, limits)
    wanted = Operation(
        id=operation,
        cause=cause,
        action=request.action,
        source=Source.USER,
        kind=request.kind if notice is not None else None,
        targets=(vm.name,),
        asked_by=draft.actor,
        created_at=draft.now,
        phase=Phase.SCHEDULED,
        description=DESCRIPTIONS.get(cause, ""),
        batch=batch,
    )
    if notice is not None and is_approved_beforehand(draft.world, vm, cause):
        born_started(draft, wanted, [vm], limits)
    else:
        announce(draft, wanted, [vm], notice)
    return None


def ask_for_vms(
    draft: Draft, cause: Cause, names: Iterable[str], new_id: Callable[[], str], limits: Limits, batch: str
) -> Refusal | None:
    """A user's operation on several VMs, each by itself: all of them are accepted, or none."""
    for name in names:
        if refusal := ask_for_vm(draft, cause, name, new_id(), limits, batch):
            return refusal
    return None


def has_waiting_work(world: World, name: str) -> bool:
    """Whether planned work is announced for a VM and has not started."""
    operations = world.operations_on_vm(name)
    return any(each.cause.is_planned and each.phase is Phase.SCHEDULED for each in operations)


def do_waiting_work(
    draft: Draft, name: str, operation: str, limits: Limits, batch: str | None = None
) -> Refusal | None:
    """Planned work that waits for a VM, when its owner chooses: the VM is redeployed, which does it."""
    vm = find_vm(draft.world, name)
    if isinstance(vm, Refusal):
        return vm
    if not has_waiting_work(draft.world, name):
        return Refusal(Code.NOT_ALLOWED, f"No maintenance of {name} is scheduled that its owner could do now.")
    return ask_for_vm(draft, Cause.REDEPLOY, name, operation, limits, batch)


_VERBS = {
    Cause.RESTART: "be restarted",
    Cause.REDEPLOY: "be redeployed",
    Cause.DELETE: "be deleted",
    Cause.REIMAGE: "be reimaged",
    Cause.STOP: "be stopped",
    Cause.DEALLOCATE: "be deallocated",
    Cause.START: "be started",
}


def _users_notice(draft: Draft, vm: Vm, request: UserRequest, limits: Limits) -> timedelta | None:
    """How long a user's operation is announced; None where nobody is told."""
    if request.kind is None or not draft.scope(vm.scope).is_on:
        return None
    if request.kind is Kind.TERMINATE:
        return vm.terminate_notification  # None: no profile, deleted at once
    if request.action is Action.REIMAGE and not vm.announces_reimage:
        return None
    return limits.least_notice[request.kind]


def _wrong_state(vm: Vm, cause: Cause) -> Refusal | None:
    if vm.state in USER_REQUESTS[cause].allowed_in:
        return None
    verb = "restart" if vm.state is VmState.RUNNING else "start"
    return Refusal(
        Code.NOT_ALLOWED,
        f"{vm.name} is {vm.state}; it cannot {_VERBS[cause]}.",
        f"forewarn vm {verb} {vm.name}",
    )


def _busy(draft: Draft, vm: Vm, cause: Cause) -> Refusal | None:
    for other in draft.world.operations_on_vm(vm.name):
        if cause in _INSTEAD_OF_WAITING and waits_for_host(draft.world, other, vm.name):
            continue
        if other.cause.is_users or other.phase is Phase.STARTED:
            return in_the_way(draft, vm, f"{vm.name} cannot {_VERBS[cause]}", other)
    return None


def _over_limit(draft: Draft, vm: Vm, cause: Cause, limits: Limits) -> Refusal | None:
    limit = limits.user_operation_limit
    if not limit:
        return None
    count = draft.world.user_operations_in(vm.scope) + draft.new_user_operations(vm.scope)
    if count < limit:
        return None
    return Refusal(
        Code.LIMIT_REACHED,
        f"{vm.name} cannot {_VERBS[cause]}: {draft.scope(vm.scope).title} has {count} open user operations, "
        f"and the limit is {limit}.",
        "Wait until some have ended, or serve with a larger --user-operation-limit.",
    )


def evict(draft: Draft, name: str, operation: str, limits: Limits, batch: str | None = None) -> Refusal | None:
    """Take a Spot VM's capacity back: Preempt, which outranks all that is only scheduled for the VM."""
    vm = find_vm(draft.world, name)
    if isinstance(vm, Refusal):
        return vm
    if vm.priority is not Priority.SPOT:
        return Refusal(
            Code.NOT_ALLOWED,
            f"{vm.name} cannot be evicted: its priority is {vm.priority}, and only Spot VMs can be.",
            'Give it priority = "Spot" in the fleet.',
        )
    if vm.state not in _UP:
        return Refusal(Code.NOT_ALLOWED, f"{vm.name} is {vm.state}; it cannot be evicted.")
    for other in draft.world.operations_on_vm(vm.name):
        if other.cause is Cause.EVICT:
            return in_the_way(draft, vm, f"{vm.name} cannot be evicted again", other)
    overtake(draft, vm, f"{vm.name} is being evicted")
    deletes = vm.eviction_policy is EvictionPolicy.DELETE
    announce(
        draft,
        Operation(
            id=operation,
            cause=Cause.EVICT,
            action=Action.DELETE if deletes else Action.DEALLOCATE,
            source=Source.PLATFORM,
            kind=Kind.PREEMPT,
            targets=(vm.name,),
            asked_by=draft.actor,
            created_at=draft.now,
            phase=Phase.SCHEDULED,
            description=DESCRIPTIONS[Cause.EVICT],
            batch=batch,
        ),
        [vm],
        limits.least_notice[Kind.PREEMPT],
    )
    return None


def overtake(draft: Draft, vm: Vm, reason: str) -> None:
    """End, for this VM, all that is only scheduled."""
    for known in list(draft.world.operations_on_vm(vm.name)):
        operation = draft.operation(known.id)
        if operation.phase is Phase.SCHEDULED:
            withdraw(draft, operation, vm.name, reason)
