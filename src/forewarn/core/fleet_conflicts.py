"""Conflicts between machines of one fleet: two update domains on one host, a VM named like an instance.

Which update domains and instances there are depends on the store, so the plan for it has the last word
(fleet_plan.py). A description that is refused anyway is judged as if the store were empty: whoever mends it should
see every problem at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from forewarn.core.fleet import DEFAULT_UPDATE_DOMAINS
from forewarn.core.fleet_check import MOST_INSTANCES, Place, Problem
from forewarn.core.fleet_spec import FleetSpec


class Seat(NamedTuple):
    """A VM of a set on a host."""

    where: Place
    vm: str
    set_name: str
    host: str
    update_domain: int


def conflicts_in_empty_store(spec: FleetSpec, unsure: Collection[Place] = ()) -> list[Problem]:
    """The conflicts that the fleet would have in an empty store; nothing follows from what is unsure."""
    return [*spread_conflicts(_seats(spec, unsure)), *_named_like_instances(spec, unsure)]


def spread_conflicts(seats: Iterable[Seat]) -> Iterator[Problem]:
    """Two update domains of one availability set do not share a host, unless the set says they may."""
    on_host: dict[tuple[str, str], Seat] = {}
    for seat in seats:
        first = on_host.setdefault((seat.set_name, seat.host), seat)
        if first.update_domain != seat.update_domain:
            yield Problem(
                seat.where,
                f"{seat.vm} (update domain {seat.update_domain}) and {first.vm} (update domain "
                f"{first.update_domain}) of {seat.set_name} are both on {seat.host}.",
                f"Put one on another host, or say spread = false in the availability set {seat.set_name}.",
            )


def named_like_instance(where: Place, vm: str, scale_set: str) -> Problem:
    """A VM has the name of an instance of a scale set."""
    what = f"The VM name {vm} is used twice: {scale_set} has such an instance."
    return Problem(where, what, "Give this one another name.")


def _seats(spec: FleetSpec, unsure: Collection[Place]) -> Iterator[Seat]:
    spread = {
        each.name: each.update_domains
        for index, each in enumerate(spec.availability_sets)
        if each.spread
        and each.update_domains > 0
        and not any(Place("availability_sets", index, key) in unsure for key in ("update_domains", "spread"))
    }
    members: dict[str, int] = {}
    for index, vm in enumerate(spec.vms):
        if vm.set_name is None:
            continue
        position = members[vm.set_name] = members.get(vm.set_name, -1) + 1
        by_order = position % spread.get(vm.set_name, DEFAULT_UPDATE_DOMAINS)
        where = Place("vms", index, "host")
        if vm.host is None or vm.availability_set not in spread or Place("vms", index, "update_domain") in unsure:
            continue
        domain = by_order if vm.update_domain is None else vm.update_domain
        yield Seat(where, vm.name, vm.availability_set, vm.host, domain)


def _named_like_instances(spec: FleetSpec, unsure: Collection[Place]) -> Iterator[Problem]:
    sets = {
        each.name.lower(): each
        for index, each in enumerate(spec.scale_sets)
        if Place("scale_sets", index, "capacity") not in unsure
    }
    for index, vm in enumerate(spec.vms):
        name, _, number = vm.name.rpartition("_")
        scale_set = sets.get(name.lower())
        if scale_set is None or not number.isdecimal() or str(int(number)) != number:
            continue
        if int(number) < scale_set.capacity <= MOST_INSTANCES:
            yield named_like_instance(Place("vms", index), vm.name, scale_set.name)
