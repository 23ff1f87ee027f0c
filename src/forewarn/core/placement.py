"""Where a machine may come up.

A host under notice, degraded or failed takes no VM. Hosts that hold another update domain of the same set are
avoided where another host allows, and so are hosts that a rollout is still to come to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from forewarn.core.fleet import AvailabilitySet, Host, Vm, VmSet
from forewarn.core.terms import Condition
from forewarn.core.world import World

Coming = Mapping[str, Sequence[Vm]]  # by host

_NOBODY: Coming = {}
_MOST_NAMED = 3


def takes_vms(world: World, host: Host) -> bool:
    """Whether VMs may be put on the host: it is well, and nothing is announced for it."""
    return host.condition is Condition.UP and not any(world.operations_on_host(host.name))


def choose_host(world: World, vm: Vm, *, elsewhere: bool, coming: Coming = _NOBODY) -> str | None:
    """The best host for the VM, or None where no host may take it.

    `elsewhere` rules out the host it is on. `coming` are VMs that are about to be sent to a host.
    """
    crowded = _crowded(world, vm, coming)
    best: tuple[bool, bool, int, str] | None = None
    for host in world.hosts.values():
        if elsewhere and host.name == vm.host:
            continue
        if vm.zone is not None and host.zone is not None and host.zone != vm.zone:
            continue
        if not takes_vms(world, host):
            continue
        load = world.load_of(host.name) + len(list(world.heading_to(host.name))) + len(coming.get(host.name, ()))
        rank = (host.name in crowded, world.awaits_turn(host.name), load, host.name)
        if best is None or rank < best:
            best = rank
    return best[3] if best else None


def _crowded(world: World, vm: Vm, coming: Coming = _NOBODY) -> set[str]:
    """The hosts that hold a VM of another update domain of the same set, or will as things go."""
    if vm.set_name is None:
        return set()
    others = [other for other in world.members_of_set(vm.set_name) if other.update_domain != vm.update_domain]
    hosts = {other.host for other in others}
    hosts.update(host for other in others if (host := world.bound_for(other.name)) is not None)
    sent = ((host, other) for host, vms in coming.items() for other in vms)
    hosts.update(
        host for host, other in sent if other.set_name == vm.set_name and other.update_domain != vm.update_domain
    )
    return hosts


def lands_beside_another_domain(world: World, vm: Vm, host: str) -> bool:
    """Whether the host holds another update domain of the VM's set, which did not say that it may."""
    vm_set = world.sets.get(vm.set_name or "")
    return vm_set is not None and not _may_share_hosts(vm_set) and host in _crowded(world, vm)


def _may_share_hosts(vm_set: VmSet) -> bool:
    """Whether the set says that its update domains may be on one host."""
    return isinstance(vm_set, AvailabilitySet) and not vm_set.spread


def shared_hosts(world: World) -> Iterator[str]:
    """In words: the sets of which several update domains are on one host, unless they said that they may."""
    for name, vm_set in world.sets.items():
        if _may_share_hosts(vm_set):
            continue
        domains: dict[str, set[int]] = {}
        for vm in world.members_of_set(name):
            domains.setdefault(vm.host, set()).add(vm.update_domain)
        hosts = sorted(host for host, there in domains.items() if len(there) > 1)
        if hosts:
            more = f" and {len(hosts) - _MOST_NAMED} more" if len(hosts) > _MOST_NAMED else ""
            yield (
                f"{name} has more than one update domain on {', '.join(hosts[:_MOST_NAMED])}{more}: "
                "work on such a host takes them down together."
            )
