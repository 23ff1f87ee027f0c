"""Keeping work on hosts true to where the machines are.

Whatever moved, stopped, started or removed a VM: it leaves the notices that no longer concern it and gets one
of its own where work on its host is announced. Run on every draft before it is sealed.
"""

from __future__ import annotations

from dataclasses import replace

from forewarn.core.draft import Draft
from forewarn.core.fleet import AvailabilitySet, ScaleSet, Vm
from forewarn.core.notice import Limits
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.rollout_turns import keep_turns
from forewarn.core.scope import Scope, ScopeKind
from forewarn.core.steps import add_event, withdraw
from forewarn.core.terms import Action, Cause, VmState

_FOR_STOPPED_VMS = frozenset({Action.START, Action.DELETE, Action.DEALLOCATE})


def settle(draft: Draft, limits: Limits) -> None:
    """Bring announced work on hosts in line with the VMs that the draft changes."""
    for operation in draft.changed_operations():
        if operation.cause is Cause.DELETE and operation.phase in {Phase.CANCELLED, Phase.FAILED}:
            _stay(draft, operation)
    for vm in draft.changed_vms():
        before = draft.world.vms.get(vm.name)
        if before is None or (before.host, before.state) != (vm.host, vm.state):
            _leave(draft, vm)
            if vm.is_gone:
                _clear_away(draft, vm)
            else:
                join(draft, vm, limits)
    keep_turns(draft)


def _stay(draft: Draft, operation: Operation) -> None:
    """An instance that is not deleted after all keeps its scale set."""
    for name in operation.targets:
        vm = draft.find_vm(name)
        owner = draft.vm_set(vm.set_name) if vm is not None and vm.set_name else None
        if isinstance(owner, ScaleSet) and owner.is_leaving and not owner.is_gone:
            draft.put(replace(owner, is_leaving=False))


def _leave(draft: Draft, vm: Vm) -> None:
    """Take the VM out of what no longer concerns it, as far as nothing has been done to it yet."""
    for known in list(draft.world.operations_on_vm(vm.name)):
        operation = draft.operation(known.id)
        if not operation.phase.is_open or vm.name not in operation.targets:
            continue
        if any(attempt.vm == vm.name for attempt in draft.attempts_of(operation.id)):
            continue
        if vm.is_gone:
            withdraw(draft, operation, vm.name, f"{vm.name} was deleted")
        elif not vm.is_on_host and operation.action not in _FOR_STOPPED_VMS:
            withdraw(draft, operation, vm.name, f"{vm.name} is {vm.state}")
        elif operation.phase is Phase.SCHEDULED and operation.host not in {None, vm.host}:
            withdraw(draft, operation, vm.name, f"{vm.name} moved to {vm.host}")
        elif operation.phase is Phase.SCHEDULED and _came_to_grief(draft, vm):
            withdraw(draft, operation, vm.name, f"{vm.host} has failed")


def _came_to_grief(draft: Draft, vm: Vm) -> bool:
    """Whether the VM is down on a host that has failed: that outranks all that is only announced."""
    return vm.state is VmState.DOWN and draft.has_failed(vm.host)


def _clear_away(draft: Draft, vm: Vm) -> None:
    """What the VM had to itself goes with it, and what has lost its last VM: a placement group, a leaving set."""
    scope = draft.scope(vm.scope)
    is_empty = not scope.is_gone and scope.kind is ScopeKind.PLACEMENT_GROUP and not _has_members(draft, scope)
    if scope.kind is ScopeKind.VM or (is_empty and scope.placement_group):
        draft.put(replace(scope, is_gone=True, is_on=False))
    host = draft.host(vm.host)
    if host is not None and not host.is_declared:
        left = [other for other in draft.world.vms_on(host.name) if not draft.vm(other.name).is_gone]
        is_wanted = any(draft.world.operations_on_host(host.name)) or any(draft.world.heading_to(host.name))
        if not left and not is_wanted:
            draft.put(replace(host, is_gone=True))
    owner = draft.vm_set(vm.set_name) if vm.set_name else None
    if isinstance(owner, ScaleSet) and owner.is_leaving and not owner.is_gone:
        left = [each for each in draft.world.members_of_set(owner.name) if not draft.vm(each.name).is_gone]
        if not left:
            take_away(draft, owner)


def take_away(draft: Draft, owner: AvailabilitySet | ScaleSet) -> None:
    """An empty set goes, and its scopes with it."""
    draft.put(replace(owner, is_gone=True))
    for scope in list(draft.world.scopes.values()):
        if scope.kind is not ScopeKind.VM and scope.subject == owner.name:
            draft.put(replace(draft.scope(scope.id), is_gone=True, is_on=False))


def _has_members(draft: Draft, scope: Scope) -> bool:
    known = (draft.vm(vm.name) for vm in draft.world.members_of_scope(scope.id))
    return any(vm.scope == scope.id and not vm.is_gone for vm in (*known, *draft.changed_vms()))


def join(draft: Draft, vm: Vm, limits: Limits) -> None:
    """Give a VM its own notice of whatever is announced for the host it is on."""
    if not vm.is_on_host:
        return
    for known in list(draft.world.operations_on_host(vm.host)):
        operation = draft.operation(known.id)
        if operation.phase is Phase.SCHEDULED and vm.name not in operation.targets:
            admit(draft, operation, vm, limits)


def admit(draft: Draft, operation: Operation, vm: Vm, limits: Limits) -> None:
    """Add a VM to an announced operation, with the least notice of its kind from now."""
    kind = operation.kind
    if kind is None:
        raise ValueError(f"{operation.title} has no kind; nobody can be told of it")
    operation = replace(operation, targets=(*operation.targets, vm.name))
    draft.put(operation)
    draft.note("admit", operation=operation.id, subject=vm.name, detail=f"{vm.name} came to {vm.host}")
    add_event(draft, operation, [vm], limits.least_notice[kind])
