"""The fleet that is, in the words of a fleet file: applying it again changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from typing import TypeVar

from forewarn.core.fleet import AvailabilitySet, CloudService, Host, ScaleSet, Vm
from forewarn.core.fleet_spec import (
    AvailabilitySetSpec,
    CloudServiceSpec,
    FleetSpec,
    HostSpec,
    ScaleSetSpec,
    VmSpec,
)
from forewarn.core.terms import AutoApproval
from forewarn.core.world import World

T = TypeVar("T", Host, Vm, AvailabilitySet | CloudService | ScaleSet)
_PARTS = re.compile(r"\d+|\D+")


def describe(world: World) -> FleetSpec:
    """A description of the whole fleet, as it is now."""
    sets = _in_order(world.sets.values())
    return FleetSpec(
        hosts=[_host(each) for each in _in_order(world.hosts.values()) if each.is_declared],
        availability_sets=[_availability_set(each) for each in sets if isinstance(each, AvailabilitySet)],
        scale_sets=[_scale_set(each) for each in sets if isinstance(each, ScaleSet)],
        cloud_services=[
            CloudServiceSpec(each.name, each.resource_group, each.health_check, each.min_available)
            for each in sets
            if isinstance(each, CloudService)
        ],
        vms=[_vm(world, each) for each in _in_order(world.vms.values()) if each.instance is None],
    )


def _in_order(named: Iterable[T]) -> list[T]:
    """By name, with numbers by their value: what is exported does not depend on what has happened since."""
    return sorted(named, key=lambda each: [_weight(part) for part in _PARTS.findall(each.name)])


def _weight(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdecimal() else (-1, part)


def _host(host: Host) -> HostSpec:
    return HostSpec(host.name, host.zone, host.fault_domain, dict(host.tags))


def _availability_set(each: AvailabilitySet) -> AvailabilitySetSpec:
    return AvailabilitySetSpec(
        each.name,
        each.update_domains,
        each.fault_domains,
        each.spread,
        each.resource_group,
        [AutoApproval(name) for name in each.auto_approve],
        dict(each.tags),
        each.health_check,
        each.min_available,
    )


def _scale_set(each: ScaleSet) -> ScaleSetSpec:
    known = {field.name: getattr(each, field.name) for field in fields(ScaleSetSpec)}
    lists = {name: list(known[name]) for name in ("hosts", "addresses", "zones", "auto_approve")}
    return ScaleSetSpec(**(known | lists | {"tags": dict(each.tags), "compute": dict(each.compute)}))


def _vm(world: World, vm: Vm) -> VmSpec:
    owner = world.sets.get(vm.set_name) if vm.set_name else None
    zone_of_host = world.hosts[vm.host].zone if vm.host in world.hosts else None
    return VmSpec(
        name=vm.name,
        host=vm.home,
        availability_set=vm.set_name if isinstance(owner, AvailabilitySet) else None,
        scale_set=vm.set_name if isinstance(owner, ScaleSet) else None,
        cloud_service=vm.set_name if isinstance(owner, CloudService) else None,
        update_domain=vm.update_domain if owner is not None else None,
        addresses=list(vm.addresses),
        interface=vm.interface,
        port=vm.port,
        computer_name=vm.computer_name,
        zone=None if vm.zone == zone_of_host else vm.zone,
        priority=vm.priority,
        eviction_policy=vm.eviction_policy,
        terminate_notification=vm.terminate_notification,
        resource_group=vm.resource_group,
        tags=dict(vm.tags),
        auto_approve=[AutoApproval(name) for name in vm.auto_approve],
        announces_reimage=vm.announces_reimage,
        mac=vm.mac,
        subnet=vm.subnet,
        compute=dict(vm.compute),
    )
