"""The fleet of a scenario: the world that it makes, and an address on this machine for every VM that has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address
from itertools import count

from forewarn.core.addresses import canonical
from forewarn.core.draft import Draft
from forewarn.core.fleet_check import Problem
from forewarn.core.fleet_plan import plan_fleet
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.world import World
from forewarn.emulator import DEFAULT_START

_SEED = "00000000-0000-4000-8000-000000000000"
_FIRST_ADDRESS = ip_address("127.77.0.1")  # loopback, and nobody's habit


def world_of(fleet: FleetSpec) -> World | list[Problem]:
    """The world as it is when the scenario begins, or why it cannot be."""
    world = World()
    plan = plan_fleet(world, fleet, _SEED)
    if plan.problems:
        return plan.problems
    draft = Draft(world, DEFAULT_START, "scenario")
    plan.write(draft)
    world.apply(draft.seal())
    return world


def seated(fleet: FleetSpec) -> FleetSpec:
    """The fleet, with a loopback address for every VM that could not be recognised otherwise."""
    free = _free_addresses(fleet)
    vms = [
        vm if vm.addresses or vm.port or vm.interface else replace(vm, addresses=[next(free)]) for vm in fleet.vms
    ]
    scale_sets = [
        replace(
            each, addresses=[*each.addresses, *(next(free) for _ in range(each.capacity - len(each.addresses)))]
        )
        for each in fleet.scale_sets
    ]
    return replace(fleet, vms=vms, scale_sets=scale_sets)


def _free_addresses(fleet: FleetSpec) -> Iterator[str]:
    lists = [vm.addresses for vm in fleet.vms] + [each.addresses for each in fleet.scale_sets]
    taken = {canonical(address) for addresses in lists for address in addresses}
    return (text for number in count() if (text := str(_FIRST_ADDRESS + number)) not in taken)
