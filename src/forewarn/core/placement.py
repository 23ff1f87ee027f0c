"""Where a machine may come up.

A host under notice, degraded or failed takes no VM. Hosts that hold another update domain of the same set are
avoided where another host allows, and so are hosts that a rollout is still to come to.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterator

from forewarn.core.fleet import AvailabilitySet, Host, Vm, VmSet
from forewarn.core.terms import Condition
from forewarn.core.world import World

_MOST_NAMED = 3


def takes_vms(world: World, host: Host) -> bool:
    """Whether VMs may be put on the host: it is well, and nothing is announced for it."""
    return host.condition is Condition.UP and not any(world.operations_on_host(host.name))


class Vacancies:
    """The hosts that take VMs, the best first, as they fill up while one commit sends VMs to them.

    A host that a rollout is still to come to is worse than any other; then the emptiest is best.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._sent: dict[str, list[Vm]] = {}  # by host, the VMs that this commit sends there
        self._ranks = [
            (world.awaits_turn(host.name), world.load_of(host.name) + world.coming_to(host.name), host.name)
            for host in world.hosts.values()
            if takes_vms(world, host)
        ]
        self._ranks.sort()

    def choose(self, vm: Vm, *, elsewhere: bool, but: Collection[str] = ()) -> str | None:
        """The best host for the VM, or None where no host may take it; `elsewhere` rules out the one it is on."""
        crowded = _crowded(self._world, vm) | self._sent_beside(vm)
        second: str | None = None
        for _, _, name in self._ranks:
            zone = self._world.hosts[name].zone
            is_ruled_out = name in but or (elsewhere and name == vm.host)
            if is_ruled_out or (vm.zone is not None and zone is not None and zone != vm.zone):
                continue
            if name not in crowded:
                return name
            second = second or name
        return second

    def send(self, vm: Vm, host: str) -> None:
        """The VM is about to come up there."""
        self._sent.setdefault(host, []).append(vm)
        for index, (awaits, load, name) in enumerate(self._ranks):
            if name == host:
                del self._ranks[index]
                insort(self._ranks, (awaits, load + 1, name))
                return

    def _sent_beside(self, vm: Vm) -> set[str]:
        """The hosts to which this commit sends another update domain of the VM's set."""
        if vm.set_name is None:
            return set()
        sent = ((host, other) for host, vms in self._sent.items() for other in vms)
        return {
            host
            for host, other in sent
            if other.set_name == vm.set_name and other.update_domain != vm.update_domain
        }


def _crowded(world: World, vm: Vm) -> set[str]:
    """The hosts that hold a VM of another update domain of the same set, or will as things go."""
    if vm.set_name is None:
        return set()
    others = [other for other in world.members_of_set(vm.set_name) if other.update_domain != vm.update_domain]
    hosts = {other.host for other in others}
    hosts.update(host for other in others if (host := world.bound_for(other.name)) is not None)
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
