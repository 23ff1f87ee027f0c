"""The fleet of a scenario: the world at its start, and a loopback address for every VM without an address."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from ipaddress import ip_address
from itertools import count

from forewarn.core.addresses import canonical
from forewarn.core.draft import Draft
from forewarn.core.fleet_check import Problem
from forewarn.core.fleet_plan import plan_fleet
from forewarn.core.fleet_spec import FleetSpec, ScaleSetSpec
from forewarn.core.world import World
from forewarn.emulator import DEFAULT_START

_SEED = "00000000-0000-4000-8000-000000000000"
_FIRST_ADDRESS = ip_address("127.77.0.1")  # loopback, and unlikely to be in use


def world_of(fleet: FleetSpec) -> World | list[Problem]:
    """The world when the scenario begins, or the problems of the fleet."""
    world = World()
    plan = plan_fleet(world, fleet, _SEED)
    if plan.problems:
        return plan.problems
    draft = Draft(world, DEFAULT_START, "scenario")
    plan.write(draft)
    world.apply(draft.seal())
    return world


def with_addresses(fleet: FleetSpec, inhabited: Collection[str] = ()) -> FleetSpec:
    """The fleet, with a loopback address for every VM that has no address, port or interface.

    `inhabited` names the VMs with guests; a scale set may get some of them only later.
    """
    free = _free_addresses(fleet)
    vms = [
        vm if vm.addresses or vm.port or vm.interface else replace(vm, addresses=[next(free)]) for vm in fleet.vms
    ]
    scale_sets = []
    for each in fleet.scale_sets:
        numbers = (number_in(each, name) for name in inhabited)
        wanted = max([each.capacity, *(number + 1 for number in numbers if number is not None)])
        more = [next(free) for _ in range(wanted - len(each.addresses))]
        scale_sets.append(replace(each, addresses=[*each.addresses, *more]))
    return replace(fleet, vms=vms, scale_sets=scale_sets)


def number_in(scale_set: ScaleSetSpec, name: str) -> int | None:
    """The number of the instance with that name; None: the name is not one of this scale set's."""
    owner, _, number = name.rpartition("_")
    is_number = number.isascii() and number.isdigit() and str(int(number)) == number
    return int(number) if owner == scale_set.name and is_number else None


def address_of(fleet: FleetSpec, name: str) -> str | None:
    """The address that a scale set reserves for an instance, also for one that it gets only later."""
    for scale_set in fleet.scale_sets:
        number = number_in(scale_set, name)
        if number is not None and number < len(scale_set.addresses):
            return scale_set.addresses[number]
    return None


def _free_addresses(fleet: FleetSpec) -> Iterator[str]:
    lists = [vm.addresses for vm in fleet.vms] + [each.addresses for each in fleet.scale_sets]
    taken = {canonical(address) for addresses in lists for address in addresses}
    return (text for number in count() if (text := str(_FIRST_ADDRESS + number)) not in taken)
