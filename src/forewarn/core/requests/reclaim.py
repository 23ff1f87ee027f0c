"""Capacity that is taken back from a host: some of its Spot VMs have to go."""

from __future__ import annotations

from collections.abc import Callable

from forewarn.core.draft import Draft
from forewarn.core.fleet import Vm
from forewarn.core.notice import Limits
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import find_host
from forewarn.core.requests.vms import evict
from forewarn.core.terms import Cause, Priority, VmState
from forewarn.core.world import World


def reclaim(
    draft: Draft, host: str, count: int, new_id: Callable[[], str], limits: Limits, batch: str
) -> Refusal | None:
    """Evict so many Spot VMs of a host, those first that came last: all of them, or none."""
    found = find_host(draft.world, host)
    if isinstance(found, Refusal):
        return found
    running = _spot_vms_on(draft.world, host)
    if len(running) < count:
        names = f" ({', '.join(vm.name for vm in running)})" if running else ""
        return Refusal(
            Code.NOT_ALLOWED,
            f"{count} Spot VMs were to leave {host}; running there and not leaving already: "
            f"{len(running)}{names}.",
            "Only Spot VMs can be evicted. Ask for fewer." if running else "Only Spot VMs can be evicted.",
        )
    for vm in running[-1 : -count - 1 : -1]:
        if refusal := evict(draft, vm.name, new_id(), limits, batch):
            return refusal
    return None


def _spot_vms_on(world: World, host: str) -> list[Vm]:
    """The Spot VMs that run on a host and are not leaving it, in the order in which they came."""
    found = [
        vm
        for vm in world.vms_on(host)
        if vm.priority is Priority.SPOT and vm.state is VmState.RUNNING and not _is_leaving(world, vm)
    ]
    return sorted(found, key=lambda vm: (vm.came_in, -1 if vm.instance is None else vm.instance, vm.name))


def _is_leaving(world: World, vm: Vm) -> bool:
    return any(each.cause in {Cause.EVICT, Cause.DELETE} for each in world.operations_on_vm(vm.name))
