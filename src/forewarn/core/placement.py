"""Where a machine may come up.

A host under notice, degraded or failed takes no VM. Hosts that hold another update domain of the same set are
avoided where another host allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from forewarn.core.fleet import Host, Vm
from forewarn.core.terms import Condition
from forewarn.core.world import World


def takes_vms(world: World, host: Host) -> bool:
    """Whether VMs may be put on the host: it is well, and nothing is announced for it."""
    return host.condition is Condition.UP and not any(world.operations_on_host(host.name))


def choose_host(
    world: World,
    vm: Vm,
    *,
    elsewhere: bool,
    underway: Mapping[str, int] | None = None,
    is_new: bool = False,
) -> str | None:
    """The best host for the VM, or None where no host may take it.

    `elsewhere` rules out the host it is on. `underway` counts the VMs that are on their way to a host already. A
    new VM takes no other VM's own host, and none where it would crowd: it can have one of its own.
    """
    underway = underway if underway is not None else Counter()
    crowded = _crowded(world, vm)
    best: tuple[bool, int, str] | None = None
    for host in world.hosts.values():
        if elsewhere and host.name == vm.host:
            continue
        if vm.zone is not None and host.zone is not None and host.zone != vm.zone:
            continue
        if not takes_vms(world, host):
            continue
        if is_new and (host.name in crowded or not host.is_declared):
            continue
        load = world.load_of(host.name) + underway.get(host.name, 0)
        if best is None or (host.name in crowded, load, host.name) < best:
            best = (host.name in crowded, load, host.name)
    return best[2] if best else None


def _crowded(world: World, vm: Vm) -> set[str]:
    """The hosts that hold a VM of another update domain of the same set."""
    if vm.set_name is None:
        return set()
    return {
        other.host
        for other in world.members_of_set(vm.set_name)
        if other.update_domain != vm.update_domain and other.name != vm.name
    }
