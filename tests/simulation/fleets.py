"""Fleets of random shape: shared hosts, sets over update domains, Spot VMs, terminate profiles."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

from forewarn.core.fleet import Vm
from forewarn.core.fleet_spec import (
    AvailabilitySetSpec,
    CloudServiceSpec,
    FleetSpec,
    HostSpec,
    ScaleSetSpec,
    VmSpec,
)
from forewarn.core.terms import AutoApproval, EvictionPolicy, Priority


def random_fleet(dice: random.Random) -> FleetSpec:
    """A small fleet in which machines of different scopes share hosts."""
    hosts = [
        HostSpec(f"host-{n}", zone=str(n % 2) if dice.random() < 0.3 else None) for n in range(dice.randint(3, 6))
    ]
    names = [host.name for host in hosts]
    is_spread = dice.random() < 0.7
    web = AvailabilitySetSpec(
        "web", update_domains=dice.choice([2, 2, 3, 5]), spread=is_spread, auto_approve=_policy(dice)
    )
    vms: list[VmSpec] = []
    address = iter(range(1, 250))

    def vm(name: str, host: str | None, **more: object) -> None:
        vms.append(VmSpec(name, host=host, addresses=[f"10.0.0.{next(address)}"], **more))  # type: ignore[arg-type]

    web_hosts = dice.sample(names, k=min(len(names), 3))
    for n in range(dice.randint(2, 6)):
        domain = n % web.update_domains
        if is_spread:  # one update domain to a host, so as many domains as hosts are used
            domain %= len(web_hosts)
            host = web_hosts[domain]
        else:
            host = dice.choice(names)
        vm(f"web-{n}", host, availability_set="web", update_domain=domain, terminate_notification=_profile(dice))
    for n in range(dice.randint(1, 3)):
        spot = dice.random() < 0.5
        vm(
            f"solo-{n}",
            dice.choice(names),
            priority=Priority.SPOT if spot else Priority.REGULAR,
            eviction_policy=dice.choice(list(EvictionPolicy)),
            terminate_notification=_no_spot(_profile(dice), spot=spot),
            auto_approve=_policy(dice),
        )
    in_web = [each for each in vms if each.availability_set]
    for n in range(dice.randint(0, 2)):
        vm(f"FrontEnd_IN_{n}", dice.choice(names), cloud_service="legacy")
    capacity = dice.choice([1, 2, 3, 4, 7])
    minimum = dice.choice([0, 0, 1, capacity - 1])
    pool_hosts = dice.sample(names, k=min(len(names), dice.randint(1, 3)))
    spot = dice.random() < 0.4
    notice = timedelta(minutes=dice.randint(5, 15)) if dice.random() < 0.6 else None
    pool = ScaleSetSpec(
        "pool",
        min_available=minimum,
        capacity=capacity,
        hosts=pool_hosts,
        addresses=[f"10.0.1.{n}" for n in range(50)],
        priority=Priority.SPOT if spot else Priority.REGULAR,
        terminate_notification=_no_spot(notice, spot=spot),
        placement_group_size=dice.choice([2, 100]),
        auto_approve=_policy(dice),
    )
    web = replace(web, min_available=dice.choice([0, 0, 1, len(in_web) - 1]))
    return FleetSpec(hosts, [web], [pool], [CloudServiceSpec("legacy", min_available=dice.choice([0, 1]))], vms)


def minimum_of(fleet: FleetSpec, name: str) -> int:
    """How many VMs the fleet says that the set wants available."""
    sets = (*fleet.availability_sets, *fleet.scale_sets, *fleet.cloud_services)
    return next((each.min_available for each in sets if each.name == name), 0)


def _policy(dice: random.Random) -> list[AutoApproval]:
    return [each for each in AutoApproval if dice.random() < (0.6 if each is AutoApproval.ALL_DOWN else 0.15)]


def policy_of(fleet: FleetSpec, vm: Vm) -> list[AutoApproval]:
    """What the fleet says is approved beforehand for the VM."""
    entries = (*fleet.availability_sets, *fleet.scale_sets) if vm.set_name else fleet.vms
    wanted = vm.set_name or vm.name
    return next((each.auto_approve for each in entries if each.name == wanted), [AutoApproval.ALL_DOWN])


def _profile(dice: random.Random) -> timedelta | None:
    return timedelta(minutes=dice.randint(5, 15)) if dice.random() < 0.4 else None


def _no_spot(notice: timedelta | None, *, spot: bool) -> timedelta | None:
    """The notice of a delete, which Spot VMs cannot have."""
    return None if spot else notice


def with_other_groups(spec: FleetSpec, dice: random.Random) -> FleetSpec:
    """The fleet with the scale set cut into other placement groups: its VMs belong to other scopes then."""
    (pool,) = spec.scale_sets
    sizes = [size for size in (1, 2, 3, 100) if size != pool.placement_group_size]
    return replace(spec, scale_sets=[replace(pool, placement_group_size=dice.choice(sizes))])


def with_another_domain(spec: FleetSpec, dice: random.Random) -> FleetSpec:
    """The fleet with the availability set's VMs of one host in another update domain."""
    (web,) = spec.availability_sets
    host = dice.choice([vm.host for vm in spec.vms if vm.availability_set])
    domain = dice.randrange(web.update_domains)
    vms = [replace(vm, update_domain=domain) if vm.availability_set and vm.host == host else vm for vm in spec.vms]
    return replace(spec, vms=vms)


def with_vm_on(spec: FleetSpec, vm: str, host: str) -> FleetSpec:
    """The fleet with one VM on another host."""
    vms = [replace(each, host=host) if each.name == vm else each for each in spec.vms]
    return replace(spec, vms=vms)
