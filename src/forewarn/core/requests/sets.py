"""Requests that make sets and resource groups, change them, and take them away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count, islice
from uuid import UUID, uuid5

from forewarn.core.draft import Draft
from forewarn.core.fleet import (
    DEFAULT_AUTO_APPROVE,
    DEFAULT_FAULT_DOMAINS,
    DEFAULT_PLACEMENT_GROUP_SIZE,
    DEFAULT_UPDATE_DOMAINS,
    AvailabilitySet,
    Host,
    ResourceGroup,
    ScaleSet,
    Vm,
)
from forewarn.core.fleet_check import MOST_INSTANCES
from forewarn.core.newcomers import Newcomers
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import any_case
from forewarn.core.requests.machines import (
    CANNOT_MAKE,
    MachineFactory,
    bad_name,
    fixed,
    no_notice_for_spot,
    resized,
    scope_for,
    taken,
)
from forewarn.core.requests.vms import ask_for_vm
from forewarn.core.scope import ScopeKind
from forewarn.core.seats import instance_name, make_instance, seat_of
from forewarn.core.settle import take_away
from forewarn.core.terms import Cause, EvictionPolicy, Priority
from forewarn.core.world import World

_MOST_IN_ONE_GROUP = 100  # as Azure has it
_MOST_NEW = 1000


@dataclass(frozen=True, slots=True)
class AvailabilitySetWish:
    """An availability set as a client describes it."""

    name: str
    resource_group: str
    update_domains: int = DEFAULT_UPDATE_DOMAINS
    fault_domains: int = DEFAULT_FAULT_DOMAINS
    auto_approve: tuple[str, ...] = DEFAULT_AUTO_APPROVE
    tags: Mapping[str, str] = field(default_factory=dict)
    kept: str = ""


@dataclass(frozen=True, slots=True)
class ScaleSetWish:
    """A scale set as a client describes it."""

    name: str
    resource_group: str
    capacity: int | None = None  # None: as it is, and none of a new one
    size: str | None = None
    zones: tuple[str, ...] = ()
    priority: Priority = Priority.REGULAR
    eviction_policy: EvictionPolicy = EvictionPolicy.DEALLOCATE
    terminate_notification: timedelta | None = None
    announces_reimage: bool = False
    single_placement_group: bool = False
    auto_approve: tuple[str, ...] = DEFAULT_AUTO_APPROVE
    tags: Mapping[str, str] = field(default_factory=dict)
    kept: str = ""


def put_availability_set(draft: Draft, wish: AvailabilitySetWish) -> Refusal | None:
    """Make an availability set, or change what can be changed of it."""
    before = any_case(draft.world.sets, wish.name)
    if before is None:
        if refusal := bad_name("availability set", wish.name):
            return refusal
        draft.put(
            AvailabilitySet(
                wish.name,
                wish.resource_group,
                wish.update_domains,
                wish.fault_domains,
                auto_approve=wish.auto_approve,
                tags=wish.tags,
                kept=wish.kept,
            )
        )
        draft.note("make availability set", subject=wish.name)
        return None
    if not isinstance(before, AvailabilitySet) or before.resource_group.lower() != wish.resource_group.lower():
        return taken("set", before.name, before.resource_group)
    if wish.update_domains != before.update_domains:
        return fixed("properties.platformUpdateDomainCount", f"{before.name} has {before.update_domains}")
    if wish.fault_domains != before.fault_domains:
        return fixed("properties.platformFaultDomainCount", f"{before.name} has {before.fault_domains}")
    draft.put(replace(before, auto_approve=wish.auto_approve, tags=wish.tags, kept=wish.kept))
    draft.note("change availability set", subject=before.name)
    return None


def put_scale_set(draft: Draft, wish: ScaleSetWish, factory: MachineFactory, batch: str) -> Refusal | None:
    """Make a scale set with its instances, or change its model and its capacity.

    Instances too many are deleted, the last ones first, each with its own notice; the model is that of all
    instances from now on.
    """
    member = "properties.virtualMachineProfile.scheduledEventsProfile.terminateNotificationProfile"
    spot = no_notice_for_spot(wish.priority, wish.terminate_notification, member)
    before = any_case(draft.world.sets, wish.name)
    if before is None:
        if refusal := spot or bad_name("scale set", wish.name):
            return refusal
        made = _new_scale_set(wish)
        draft.put(made)
        draft.note("make scale set", subject=wish.name)
        return _resize(draft, made, wish.capacity, factory, batch)
    if not isinstance(before, ScaleSet) or before.resource_group.lower() != wish.resource_group.lower():
        return taken("set", before.name, before.resource_group)
    if before.is_leaving:
        return Refusal(Code.BUSY, f"The scale set {before.name} is being deleted.", "Wait until it has gone.")
    if refusal := _remade(wish, before) or spot:
        return refusal
    changed = replace(
        before,
        eviction_policy=wish.eviction_policy,
        terminate_notification=wish.terminate_notification,
        announces_reimage=wish.announces_reimage,
        tags=wish.tags,
        auto_approve=wish.auto_approve,
        compute=resized(before.compute, wish.size),
        kept=wish.kept,
    )
    draft.put(changed)
    draft.note("change scale set", subject=before.name)
    for vm in draft.world.members_of_set(before.name):
        if vm.instance is not None and (updated := _like_model(vm, changed)) != vm:
            draft.put(updated)
    return _resize(draft, changed, wish.capacity, factory, batch)


def _new_scale_set(wish: ScaleSetWish) -> ScaleSet:
    """The scale set, without instances yet."""
    return ScaleSet(
        name=wish.name,
        resource_group=wish.resource_group,
        zones=wish.zones,
        priority=wish.priority,
        eviction_policy=wish.eviction_policy,
        terminate_notification=wish.terminate_notification,
        announces_reimage=wish.announces_reimage,
        placement_group_size=MOST_INSTANCES if wish.single_placement_group else DEFAULT_PLACEMENT_GROUP_SIZE,
        auto_approve=wish.auto_approve,
        tags=wish.tags,
        kept=wish.kept,
    )


def has_one_group(scale_set: ScaleSet) -> bool:
    """Whether all instances share one document, however many there are."""
    return scale_set.placement_group_size >= MOST_INSTANCES


def _remade(wish: ScaleSetWish, before: ScaleSet) -> Refusal | None:
    """A refusal of a wish that changes what cannot be changed of a scale set."""
    if wish.priority is not before.priority:
        return fixed("properties.virtualMachineProfile.priority", f"{before.name} is {before.priority}")
    if wish.zones != before.zones:
        return fixed("zones", f"{before.name} is in {', '.join(before.zones) or 'no zone'}")
    if wish.single_placement_group != has_one_group(before):
        groups = "one placement group" if has_one_group(before) else "several placement groups"
        return fixed("properties.singlePlacementGroup", f"{before.name} was made with {groups}")
    return None


def _like_model(vm: Vm, scale_set: ScaleSet) -> Vm:
    return replace(
        vm,
        eviction_policy=scale_set.eviction_policy,
        terminate_notification=scale_set.terminate_notification,
        announces_reimage=scale_set.announces_reimage,
        tags=scale_set.tags,
    )


def staying_in(world: World, scale_set: ScaleSet) -> list[Vm]:
    """The members that nobody has asked to delete."""
    return [vm for vm in world.members_of_set(scale_set.name) if not _is_leaving(world, vm)]


def _is_leaving(world: World, vm: Vm) -> bool:
    return any(operation.cause is Cause.DELETE for operation in world.operations_on_vm(vm.name))


def _resize(
    draft: Draft, scale_set: ScaleSet, capacity: int | None, factory: MachineFactory, batch: str
) -> Refusal | None:
    there = sorted(staying_in(draft.world, scale_set), key=lambda vm: -1 if vm.instance is None else vm.instance)
    if capacity is None or capacity == len(there):
        return None
    most = _MOST_IN_ONE_GROUP if has_one_group(scale_set) else MOST_INSTANCES
    if not 0 <= capacity <= max(most, len(there)):
        alone = " with one placement group" if most < MOST_INSTANCES else ""
        return Refusal(Code.BAD_REQUEST, f"sku.capacity is {capacity}; it can be 0 to {most}{alone}.")
    if capacity - len(there) > _MOST_NEW:
        return Refusal(
            Code.BAD_REQUEST,
            f"sku.capacity is {capacity}: {capacity - len(there)} instances at once are too many.",
            f"Grow by at most {_MOST_NEW} at a time.",
        )
    if capacity < len(there):
        for vm in reversed(there[capacity:]):
            if refusal := ask_for_vm(draft, Cause.DELETE, vm.name, factory.new_id(), factory.limits, batch):
                return refusal
        return None
    if not factory.can_make:
        return CANNOT_MAKE
    newcomers = Newcomers(draft)
    for number in islice(_free_numbers(draft.world, scale_set), capacity - len(there)):
        _make_instance(draft, scale_set, number, factory, newcomers)
    draft.put(replace(scale_set, capacity=scale_set.capacity + capacity - len(there)))
    return None


def _free_numbers(world: World, scale_set: ScaleSet) -> Iterator[int]:
    """The numbers after the last instance's, but for those that would give it the name of another VM."""
    numbers = [vm.instance for vm in world.members_of_set(scale_set.name) if vm.instance is not None]
    known = {name.lower() for name in world.vms}
    for number in count(max(numbers, default=-1) + 1):
        if instance_name(scale_set, number).lower() not in known:
            yield number


def _make_instance(
    draft: Draft, scale_set: ScaleSet, number: int, factory: MachineFactory, newcomers: Newcomers
) -> None:
    home, zone = seat_of(scale_set, number)
    group = number // scale_set.placement_group_size
    scope = scope_for(draft, ScopeKind.PLACEMENT_GROUP, scale_set.name, group, factory).id
    vm_id = str(uuid5(UUID(factory.new_id()), instance_name(scale_set, number)))
    vm = make_instance(scale_set, number, host=Host("", zone=zone), scope=scope, vm_id=vm_id)
    host = newcomers.host_for(vm, home)
    draft.put(make_instance(scale_set, number, host=host, scope=scope, vm_id=vm_id))


def delete_set(
    draft: Draft, owner: AvailabilitySet | ScaleSet, factory: MachineFactory, batch: str
) -> Refusal | None:
    """Take an empty set away; a scale set goes with the last of its instances, which are deleted now."""
    members = list(draft.world.members_of_set(owner.name))
    if not members:
        take_away(draft, owner)
    elif isinstance(owner, AvailabilitySet):
        return Refusal(
            Code.NOT_ALLOWED,
            f"The availability set {owner.name} cannot be deleted: {members[0].name} is in it.",
            "Delete its VMs first.",
        )
    else:
        draft.put(replace(owner, is_leaving=True))
        for vm in staying_in(draft.world, owner):
            if refusal := ask_for_vm(draft, Cause.DELETE, vm.name, factory.new_id(), factory.limits, batch):
                return refusal
    draft.note("delete set", subject=owner.name)
    return None


def put_group(draft: Draft, name: str, kept: str) -> Refusal | None:
    """Declare a resource group, or change what is kept with it."""
    before = any_case(draft.world.groups, name)
    if before is None and (refusal := bad_name("resource group", name)):
        return refusal
    draft.put(replace(before, kept=kept) if before else ResourceGroup(name, kept))
    draft.note("put resource group", subject=name)
    return None
