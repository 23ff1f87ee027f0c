"""From a described fleet to the fleet that is: what differs, whether it may, and the change itself.

A description is where machines are at first. One that has moved since stays where it is, unless the description
itself names another host than before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any
from uuid import UUID, uuid5

from forewarn.core.draft import Draft
from forewarn.core.fleet import (
    DEFAULT_UPDATE_DOMAINS,
    AvailabilitySet,
    CloudService,
    Host,
    ScaleSet,
    Vm,
    VmSet,
)
from forewarn.core.fleet_check import NOWHERE, Place, Problem
from forewarn.core.fleet_conflicts import Seat, named_like_instance, spread_conflicts
from forewarn.core.fleet_spec import FleetSpec, ScaleSetSpec, VmSpec, mac_of, notice_of
from forewarn.core.scope import Scope, ScopeKind, generation_of
from forewarn.core.seats import instance_name, make_instance, new_scope, own_host, seat_of
from forewarn.core.terms import VmState
from forewarn.core.world import World


@dataclass(slots=True)
class FleetPlan:
    """What applying a description would change."""

    hosts: list[Host] = field(default_factory=list)
    sets: list[VmSet] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    vms: list[Vm] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def write(self, draft: Draft) -> None:
        """Put the change into a draft."""
        for entity in (*self.hosts, *self.sets, *self.scopes, *self.vms):
            draft.put(entity)
        draft.note("apply fleet", detail=f"{len(self.differences)} differences")


def plan_fleet(world: World, spec: FleetSpec, seed: str) -> FleetPlan:
    """Work out the change; `seed` makes the ids of new machines."""
    return _Planner(world, spec, seed).plan()


class _Planner:
    def __init__(self, world: World, spec: FleetSpec, seed: str) -> None:
        self._world = world
        self._spec = spec
        self._seed = UUID(seed)
        self._plan = FleetPlan()
        self._scope_ids = {scope.belongs_to: scope.id for scope in world.scopes.values()}
        self._taken = set(world.scopes)
        self._hosts = {host.name: Host(**_values(host)) for host in spec.hosts}
        self._declared = set(self._hosts)
        self._domains = {each.name: each.update_domains for each in spec.availability_sets}
        self._scale_sets: dict[str, ScaleSet] = {}
        self._wanted: dict[str, Vm] = {}
        self._places: dict[str, Place] = {}

    def plan(self) -> FleetPlan:
        self._want_sets()
        self._want_vms()
        self._check_spread()
        self._compare_vms()
        self._compare_hosts()
        return self._plan

    # Sets.

    def _want_sets(self) -> None:
        wanted: dict[str, VmSet] = {}
        for availability_set in self._spec.availability_sets:
            approvals = {"auto_approve": tuple(availability_set.auto_approve)}
            wanted[availability_set.name] = AvailabilitySet(**(_values(availability_set) | approvals))
        for service in self._spec.cloud_services:
            wanted[service.name] = CloudService(**_values(service))
        for scale_set in self._spec.scale_sets:
            lists = {
                key: tuple(getattr(scale_set, key)) for key in ("hosts", "addresses", "zones", "auto_approve")
            }
            notice = {"terminate_notification": notice_of(scale_set.terminate_notification)}
            made = ScaleSet(**(_values(scale_set) | lists | notice))
            wanted[scale_set.name] = self._scale_sets[scale_set.name] = made
        for name, each in wanted.items():
            before = self._world.sets.get(name)
            if before is not None and type(before) is not type(each):
                section = _SECTION_OF[type(each)]
                index = [entry.name for entry in getattr(self._spec, section)].index(name)
                self._problem(
                    Place(section, index, "name"),
                    f"{name} is a {_KIND_OF[type(before)]} already.",
                    "Give this one another name, or apply a fleet without it first.",
                )
                continue
            if before is not None:
                each = _as_kept(each, before)  # noqa: PLW2901 - with what no file says
            if before is None or replace(before, version=0) != each:
                self._plan.sets.append(each)
                self._differs(before, f"{_KIND_OF[type(each)]} {name}")
        for name, before in self._world.sets.items():
            if name not in wanted:
                self._plan.sets.append(replace(before, is_gone=True))
                self._plan.differences.append(f"- {_KIND_OF[type(before)]} {name}")
                self._drop_scopes(name)

    def _drop_scopes(self, subject: str) -> None:
        for scope in self._world.scopes.values():
            if scope.kind is not ScopeKind.VM and scope.subject == subject:
                self._plan.scopes.append(replace(scope, is_gone=True, is_on=False))

    # Machines.

    def _want_vms(self) -> None:
        order: dict[str, int] = {}
        for index, spec in enumerate(self._spec.vms):
            name = spec.set_name
            position = order.get(name, 0) if name else 0
            if name:
                order[name] = position + 1
            self._places[spec.name] = Place("vms", index)
            self._wanted[spec.name] = self._vm_of(spec, position)
        named = {name.lower(): name for name in self._wanted}
        for index, scale_set in enumerate(self._spec.scale_sets):
            for number in self._instance_numbers(scale_set):
                vm = self._instance_of(scale_set, number)
                if (other := named.get(vm.name.lower())) is not None:
                    self._plan.problems.append(named_like_instance(self._places[other], other, scale_set.name))
                self._places[vm.name] = Place("scale_sets", index, "capacity")
                self._wanted[vm.name] = vm

    def _check_spread(self) -> None:
        spread = {each.name for each in self._spec.availability_sets if each.spread}
        self._plan.problems += spread_conflicts(
            Seat(replace(self._places[vm.name], key="host"), vm.name, vm.set_name, vm.home, vm.update_domain)
            for vm in self._wanted.values()
            if vm.set_name in spread and vm.home is not None
        )

    def _instance_numbers(self, scale_set: ScaleSetSpec) -> list[int]:
        there = sorted(vm.instance for vm in self._world.members_of_set(scale_set.name) if vm.instance is not None)
        missing = scale_set.capacity - len(there)
        if missing < 0:
            return there[:missing]
        first = there[-1] + 1 if there else 0
        return there + list(range(first, first + missing))

    def _vm_of(self, spec: VmSpec, position: int) -> Vm:
        values = _values(spec)
        for key in ("availability_set", "scale_set", "cloud_service"):
            del values[key]
        host = self._home(spec.name, spec.host, spec.zone)
        domains = self._domains.get(spec.availability_set or "", DEFAULT_UPDATE_DOMAINS)
        before = self._world.vms.get(spec.name)
        is_kept = before is not None and before.update_domain < domains
        by_order = before.update_domain if before and is_kept else (position % domains if spec.set_name else 0)
        values |= {
            "vm_id": before.vm_id if before else str(uuid5(self._seed, spec.name)),
            "host": host.name,
            "home": spec.host,
            "scope": self._scope_of(spec),
            "set_name": spec.set_name,
            "placement_group": 0 if spec.scale_set else None,
            "update_domain": by_order if spec.update_domain is None else spec.update_domain,
            "fault_domain": host.fault_domain,
            "zone": spec.zone or host.zone,
            "addresses": tuple(spec.addresses),
            "mac": mac_of(spec.mac),
            "auto_approve": tuple(spec.auto_approve),
            "kept": before.kept if before else "",
            "terminate_notification": notice_of(spec.terminate_notification),
        }
        return Vm(**values)

    def _instance_of(self, spec: ScaleSetSpec, number: int) -> Vm:
        scale_set = self._scale_sets[spec.name]
        home, zone = seat_of(scale_set, number)
        name = instance_name(scale_set, number)
        before = self._world.vms.get(name)
        group = number // scale_set.placement_group_size
        vm = make_instance(
            scale_set,
            number,
            host=self._home(name, home, zone),
            scope=self._scope_for(ScopeKind.PLACEMENT_GROUP, scale_set.name, group),
            vm_id=before.vm_id if before else str(uuid5(self._seed, name)),
        )
        return replace(vm, kept=before.kept) if before else vm

    def _home(self, vm: str, named: str | None, zone: str | None) -> Host:
        """The host that the description gives the VM, or one of its own."""
        if named is not None:
            return self._hosts[named]
        own = own_host(vm, zone, self._declared)
        return self._hosts.setdefault(own.name, own)

    # Scopes.

    def _scope_of(self, spec: VmSpec) -> str:
        if spec.availability_set:
            return self._scope_for(ScopeKind.AVAILABILITY_SET, spec.availability_set)
        if spec.scale_set:
            return self._scope_for(ScopeKind.PLACEMENT_GROUP, spec.scale_set, 0)
        if spec.cloud_service:
            return self._scope_for(ScopeKind.CLOUD_SERVICE, spec.cloud_service)
        return self._scope_for(ScopeKind.VM, spec.name)

    def _scope_for(self, kind: ScopeKind, subject: str, group: int | None = None) -> str:
        key = (kind, subject, group)
        if key not in self._scope_ids:
            scope = new_scope(kind, subject, group, generation_of(self._seed), self._taken)
            self._scope_ids[key] = scope.id
            self._taken.add(scope.id)
            self._plan.scopes.append(scope)
        return self._scope_ids[key]

    # Comparing.

    def _compare_vms(self) -> None:
        for name, vm in self._wanted.items():
            before = self._world.vms.get(name)
            if before is None:
                self._plan.vms.append(vm)
                self._differs(None, f"VM {name}")
            elif before.set_name != vm.set_name:
                self._problem(
                    self._places[name],
                    f"{name} belongs to {before.set_name or 'no set'}; it cannot move to {vm.set_name or 'none'}.",
                    "Apply a fleet without it first, then one with it.",
                )
            else:
                self._compare_vm(before, vm)
        for name, before in self._world.vms.items():
            if name not in self._wanted:
                self._drop_vm(name, before)

    def _compare_vm(self, before: Vm, vm: Vm) -> None:
        moves = vm.home != before.home and vm.home is not None and vm.host != before.host
        if not moves:
            vm = replace(vm, host=before.host, fault_domain=before.fault_domain)
        vm = replace(vm, state=before.state, came_in=before.came_in, version=before.version)
        if self._is_busy(vm.name):
            self._refuse_to_disturb(before, vm)
        if vm != before:
            self._plan.vms.append(vm)
            self._differs(before, f"VM {vm.name}", _changed(before, vm))

    def _refuse_to_disturb(self, before: Vm, vm: Vm) -> None:
        """What guests were told of an open operation was told of the VM as it is: it stays so until then."""
        for key in ("host", "scope", "update_domain"):
            old, new = getattr(before, key), getattr(vm, key)
            if old != new:
                what = (
                    "it cannot be moved to"
                    if key == "host"
                    else f"its {key.replace('_', ' ')} {old} cannot become"
                )
                self._problem(
                    self._places[vm.name],
                    f"{vm.name} has an open operation; {what} {new}.",
                    "Wait until it has ended, or cancel it.",
                )

    def _drop_vm(self, name: str, before: Vm) -> None:
        if self._is_busy(name):
            self._problem(
                NOWHERE,
                f"{name} has an open operation; it cannot be dropped.",
                "Keep it until the operation has ended, or cancel that.",
            )
        self._plan.vms.append(replace(before, state=VmState.DELETED))
        self._plan.differences.append(f"- VM {name}")

    def _is_busy(self, vm: str) -> bool:
        return any(self._world.operations_on_vm(vm))

    def _compare_hosts(self) -> None:
        occupied = {vm.host for vm in self._final_vms()}
        occupied.update(bound for vm in self._world.vms if (bound := self._world.bound_for(vm)) is not None)
        for name, host in self._hosts.items():
            before = self._world.hosts.get(name)
            if before is None:
                self._plan.hosts.append(host)
                if host.is_declared:
                    self._differs(None, f"host {name}")
                continue
            host = replace(host, condition=before.condition, version=before.version)  # noqa: PLW2901 - as it is
            if host != before:
                self._plan.hosts.append(host)
                self._differs(before, f"host {name}", _changed(before, host))
        for name, before in self._world.hosts.items():
            if name not in self._hosts and name not in occupied:
                self._plan.hosts.append(replace(before, is_gone=True))
                if before.is_declared:
                    self._plan.differences.append(f"- host {name}")

    def _final_vms(self) -> Iterator[Vm]:
        changed = {vm.name: vm for vm in self._plan.vms}
        yield from (vm for name, vm in self._world.vms.items() if name not in changed)
        yield from (vm for vm in changed.values() if not vm.is_gone)

    def _differs(self, before: object | None, what: str, detail: str = "") -> None:
        sign = "+" if before is None else "~"
        self._plan.differences.append(f"{sign} {what}{': ' + detail if detail else ''}")

    def _problem(self, where: Place, what: str, remedy: str) -> None:
        self._plan.problems.append(Problem(where, what, remedy))


_KIND_OF = {AvailabilitySet: "availability set", ScaleSet: "scale set", CloudService: "cloud service"}
_SECTION_OF = {AvailabilitySet: "availability_sets", ScaleSet: "scale_sets", CloudService: "cloud_services"}


def _as_kept(wanted: VmSet, before: VmSet) -> VmSet:
    """The set as the file has it, with what clients of ARM wrote besides."""
    if isinstance(wanted, ScaleSet) and isinstance(before, ScaleSet):
        return replace(wanted, kept=before.kept, is_leaving=before.is_leaving)
    if isinstance(wanted, AvailabilitySet) and isinstance(before, AvailabilitySet):
        return replace(wanted, kept=before.kept)
    return wanted


def _values(spec: object) -> dict[str, Any]:
    return {each.name: getattr(spec, each.name) for each in fields(spec)}  # type: ignore[arg-type]


def _changed(before: Host | Vm, after: Host | Vm) -> str:
    """The fields that differ, with both values."""
    pairs = ((each.name, getattr(before, each.name), getattr(after, each.name)) for each in fields(before))
    return ", ".join(f"{name} {_said(old)} -> {_said(new)}" for name, old, new in pairs if old != new)


def _said(value: object) -> str:
    """A value for a reader."""
    if isinstance(value, (tuple, list)):
        return " ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
