"""What is approved without asking the guests.

A VM goes by its own policy, a member of an availability set or a scale set by the set's.
"""

from __future__ import annotations

from typing import TypeGuard

from forewarn.core.event import Event
from forewarn.core.fleet import AvailabilitySet, ScaleSet, Vm, VmSet
from forewarn.core.terms import AutoApproval, Cause, VmState
from forewarn.core.world import World

_OWN_REQUESTS = {Cause.RESTART: AutoApproval.REBOOT, Cause.REDEPLOY: AutoApproval.REDEPLOY}


def has_policy(owner: VmSet | None) -> TypeGuard[AvailabilitySet | ScaleSet]:
    """Whether the members of a set go by a policy of the set."""
    return isinstance(owner, (AvailabilitySet, ScaleSet))


def policy_of(world: World, vm: Vm) -> tuple[str, ...]:
    """What is approved beforehand for the VM."""
    owner = world.sets.get(vm.set_name) if vm.set_name else None
    return owner.auto_approve if has_policy(owner) else vm.auto_approve


def is_approved_beforehand(world: World, vm: Vm, cause: Cause) -> bool:
    """Whether its owner wants no word from the guests about this: the event is born Started."""
    return cause in _OWN_REQUESTS and _OWN_REQUESTS[cause] in policy_of(world, vm)


def nobody_is_up(world: World, event: Event) -> bool:
    """Whether no VM of the event's scope runs, and the policy of each of them takes that for an approval.

    It counts only while it is so: a guest that is up again before the start is asked again.
    """
    has_members = False
    for vm in world.members_of_scope(event.scope):
        if vm.state is VmState.RUNNING or AutoApproval.ALL_DOWN not in policy_of(world, vm):
            return False
        has_members = True
    return has_members
