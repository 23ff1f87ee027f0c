"""How many VMs of a set are available, and how many its owner wants at the least.

A member is available while it runs and nothing that has started is at work on it. The minimum holds planned
platform work; what owners ask for, evictions and failed hosts do not ask it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from forewarn.core.fleet import Vm
from forewarn.core.terms import VmState
from forewarn.core.underway import Underway
from forewarn.core.world import World


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A set that work would leave with fewer available members than its minimum, as things are now."""

    set_name: str
    minimum: int
    available: int  # before the work
    lost: tuple[str, ...]  # those of them that the work would take

    @property
    def needed(self) -> int:
        """How many have to be available before the work may start."""
        return self.minimum + len(self.lost)


@dataclass(frozen=True, slots=True)
class Excess:
    """A set of which work wants more members at once than its minimum leaves, however long it waits."""

    set_name: str
    minimum: int
    size: int
    wanted: tuple[str, ...]


def is_available(world: World, vm: Vm, underway: Underway) -> bool:
    """Whether the VM does its job now."""
    return vm.state is VmState.RUNNING and not any(underway.started(world.operations_on_vm(vm.name)))


def would_leave(world: World, vms: Iterable[str], underway: Underway | None = None) -> Iterator[Shortfall]:
    """The sets that would fall below their minimum if work on these VMs started now.

    A set of which the work takes no VM that is available loses nothing by it.
    """
    underway = underway or Underway()
    for name, wanted in _by_set(world, vms).items():
        minimum = world.sets[name].min_available
        available = [vm.name for vm in world.members_of_set(name) if is_available(world, vm, underway)]
        lost = tuple(vm for vm in available if vm in wanted)
        if lost and len(available) - len(lost) < minimum:
            yield Shortfall(name, minimum, len(available), lost)


def has_minimum(world: World, host: str) -> bool:
    """Whether a VM on the host belongs to a set that has a minimum."""
    return bool(_by_set(world, (vm.name for vm in world.vms_on(host))))


def would_break_for_ever(world: World, vms: Iterable[str]) -> Iterator[Excess]:
    """The sets that have too few members besides these VMs to keep their minimum, were all of them up."""
    for name, wanted in _by_set(world, vms).items():
        minimum, size = world.sets[name].min_available, sum(1 for _ in world.members_of_set(name))
        if size - len(wanted) < minimum:
            yield Excess(name, minimum, size, tuple(wanted))


def _by_set(world: World, vms: Iterable[str]) -> dict[str, dict[str, None]]:
    """The VMs that are there, by those of their sets that have a minimum."""
    found: dict[str, dict[str, None]] = {}
    for name in vms:
        vm = world.vms.get(name)
        owner = world.sets.get(vm.set_name) if vm is not None and vm.set_name else None
        if owner is not None and owner.min_available:
            found.setdefault(owner.name, {})[name] = None
    return found
