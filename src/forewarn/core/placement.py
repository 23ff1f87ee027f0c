"""Where a machine may come up.

A host under notice, degraded or failed takes no VM. Hosts that hold another update domain of the same set are
avoided where another host allows, and so are hosts that a rollout is still to come to.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterator

from forewarn.core.fleet import AvailabilitySet, Host, Vm, VmSet
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.terms import Action, Cause, Condition
from forewarn.core.world import World

_MOST_NAMED = 3


def takes_vms(world: World, host: Host) -> bool:
    """Whether VMs may be put on the host: it is well, and nothing is announced for it."""
    return host.condition is Condition.UP and not any(world.operations_on_host(host.name))


def in_one_zone(vm: Vm, host: Host) -> bool:
    """Whether the VM may be on the host, as far as either says in which zone it is."""
    return vm.zone is None or host.zone is None or vm.zone == host.zone


def may_stay(world: World, operation: Operation, vm: Vm) -> bool:
    """Whether the machine may come up where it is: not on a host that has failed, or that it is to leave."""
    here = world.hosts.get(vm.host)
    if here is None or not here.is_declared:
        return True  # a host that was made for one VM alone is made anew with it
    return operation.cause is not Cause.DEGRADE and here.condition is not Condition.FAILED


def waits_for_host(world: World, operation: Operation, name: str) -> bool:
    """Whether the operation is to bring the VM back from a failed host, and no host may take it as things are."""
    if operation.action is not Action.RESTORE or operation.phase is not Phase.STARTED:
        return False
    vm = world.vms.get(name)
    if vm is None or name not in operation.targets or (operation.id, name) in world.attempts:
        return False
    return not may_stay(world, operation, vm) and not any(
        host.name != vm.host and in_one_zone(vm, host) and takes_vms(world, host) for host in world.hosts.values()
    )


def why_no_host_takes(world: World, vm: Vm) -> str:
    """Why no host may take the VM, in words: what is the matter with those in its zone."""
    where = "" if vm.zone is None else f" in zone {vm.zone}"
    there = [host for host in world.hosts.values() if in_one_zone(vm, host)]
    words = {Condition.FAILED: "has failed", Condition.DEGRADED: "is degraded", Condition.UP: "is under notice"}
    named = ", ".join(f"{host.name} {words[host.condition]}" for host in there[:_MOST_NAMED])
    more = f" and {len(there) - _MOST_NAMED} more like them" if len(there) > _MOST_NAMED else ""
    return f"none{where} may: {named}{more}"


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
            is_ruled_out = name in but or (elsewhere and name == vm.host)
            if is_ruled_out or not in_one_zone(vm, self._world.hosts[name]):
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
