"""Requests that make VMs and change what is known of them; what making anything needs.

What a client describes is a wish; what of it cannot be had as things are is refused, with the member that asks for
it, and then nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from forewarn.core.draft import Draft
from forewarn.core.fleet import DEFAULT_AUTO_APPROVE, AvailabilitySet, ScaleSet, Vm, VmSet
from forewarn.core.fleet_check import NAME_IN_WORDS, is_name
from forewarn.core.newcomers import Newcomers
from forewarn.core.notice import Limits
from forewarn.core.policy import has_policy
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import any_case
from forewarn.core.scope import Scope, ScopeKind, generation_of
from forewarn.core.seats import new_scope, qualified, scope_name
from forewarn.core.terms import EvictionPolicy, Priority


class SetRef(NamedTuple):
    """A set as a client names it."""

    resource_group: str
    name: str

    def means(self, owner: VmSet | None) -> bool:
        """Whether it is the one."""
        mine = None if owner is None else (owner.resource_group.lower(), owner.name.lower())
        return mine == (self.resource_group.lower(), self.name.lower())


@dataclass(frozen=True, slots=True)
class VmWish:
    """A VM as a client describes it: what of that means something, and the rest, kept.

    It is described as a whole: what of a VM that is there cannot be changed is named as it is.
    """

    name: str
    resource_group: str
    availability_set: SetRef | None = None
    scale_set: SetRef | None = None
    zone: str | None = None
    priority: Priority = Priority.REGULAR
    eviction_policy: EvictionPolicy = EvictionPolicy.DEALLOCATE
    terminate_notification: timedelta | None = None
    announces_reimage: bool = False
    computer_name: str | None = None
    size: str | None = None
    auto_approve: tuple[str, ...] | None = None  # None: nothing is said of it
    tags: Mapping[str, str] = field(default_factory=dict)
    kept: str = ""


@dataclass(frozen=True, slots=True)
class MachineFactory:
    """What making machines needs: ids for them and for operations, and whether the driver can make any."""

    new_id: Callable[[], str]
    can_make: bool
    limits: Limits


CANNOT_MAKE = Refusal(
    Code.NOT_ALLOWED,
    "The driver in use acts on machines that exist and makes none.",
    "Make the machine where it is to run, then add it to the fleet; or serve with the simulated driver.",
)


def put_vm(draft: Draft, wish: VmWish, factory: MachineFactory) -> Refusal | None:
    """Make a VM, or change what can be changed of it."""
    before = any_case(draft.world.vms, wish.name)
    if before is None:
        return _no_notice_for_spot(wish) or _make_vm(draft, wish, factory)
    if before.resource_group.lower() != wish.resource_group.lower() or before.instance is not None:
        return taken("VM", before.name, before.resource_group)
    owner = draft.world.sets.get(before.set_name) if before.set_name else None
    if refusal := _moved(wish, before, owner) or _no_notice_for_spot(wish) or _own_policy(wish, owner):
        return refusal
    draft.put(
        replace(
            before,
            eviction_policy=wish.eviction_policy,
            terminate_notification=wish.terminate_notification,
            announces_reimage=wish.announces_reimage,
            auto_approve=_policy_kept(wish, owner),
            tags=wish.tags,
            compute=resized(before.compute, wish.size),
            kept=wish.kept,
        )
    )
    draft.note("change VM", subject=before.name)
    return None


def resized(compute: Mapping[str, Any], size: str | None) -> Mapping[str, Any]:
    """The fleet file's `compute` with another size, if the file set one; otherwise `kept` has the size."""
    return {**compute, "vmSize": size} if size is not None and "vmSize" in compute else compute


def _moved(wish: VmWish, before: Vm, owner: VmSet | None) -> Refusal | None:
    """A refusal of a wish that changes what cannot be changed of a VM."""
    for wanted, kind, where in (
        (wish.availability_set, AvailabilitySet, "availabilitySet"),
        (wish.scale_set, ScaleSet, "virtualMachineScaleSet"),
    ):
        if not (wanted.means(owner) if wanted else not isinstance(owner, kind)):
            return fixed(f"properties.{where}", f"{before.name} belongs to {before.set_name or 'no set'}")
    name = before.computer_name or before.name
    if wish.computer_name != name:
        return fixed("properties.osProfile.computerName", f"{before.name} knows itself as {name}")
    if wish.zone != before.zone:
        return fixed("zones", f"{before.name} is in {'zone ' + before.zone if before.zone else 'no zone'}")
    if wish.priority is not before.priority:
        return fixed("properties.priority", f"{before.name} is {before.priority}")
    return None


def _make_vm(draft: Draft, wish: VmWish, factory: MachineFactory) -> Refusal | None:
    if not factory.can_make:
        return CANNOT_MAKE
    if refusal := bad_name("VM", wish.name):
        return refusal
    owner = _set_for(draft, wish)
    if isinstance(owner, Refusal):
        return owner
    if refusal := _own_policy(wish, owner):
        return refusal
    vm = _new_vm(draft, wish, owner, factory)
    host = Newcomers(draft).host_for(vm)
    draft.put(replace(vm, host=host.name, fault_domain=host.fault_domain, zone=wish.zone or host.zone))
    draft.note("make VM", subject=vm.name)
    return None


def _set_for(draft: Draft, wish: VmWish) -> AvailabilitySet | Refusal | None:
    """The set that a new VM is to belong to."""
    if wish.scale_set is not None:
        return Refusal(
            Code.BAD_REQUEST,
            f"properties.virtualMachineScaleSet: the VMs of {wish.scale_set.name} are its instances.",
            "Change sku.capacity of the scale set.",
        )
    wanted = wish.availability_set
    if wanted is None:
        return None
    found = any_case(draft.world.sets, wanted.name)
    if isinstance(found, AvailabilitySet) and wanted.means(found):
        return found
    return Refusal(
        Code.BAD_REQUEST,
        f"properties.availabilitySet: there is no availability set {wanted.name} in the resource group "
        f"{wanted.resource_group}.",
        "Make it first.",
    )


def _new_vm(draft: Draft, wish: VmWish, owner: AvailabilitySet | None, factory: MachineFactory) -> Vm:
    """The VM, without a host yet; its scope is made where there is none."""
    kind, subject = (ScopeKind.AVAILABILITY_SET, owner.name) if owner else (ScopeKind.VM, wish.name)
    return Vm(
        name=wish.name,
        vm_id=str(uuid5(UUID(factory.new_id()), wish.name)),
        host="",
        home=None,
        scope=scope_for(draft, kind, subject, None, factory).id,
        resource_group=wish.resource_group,
        set_name=owner.name if owner else None,
        update_domain=_emptiest_domain(draft, owner) if owner else 0,
        zone=wish.zone,
        computer_name=wish.computer_name,
        priority=wish.priority,
        eviction_policy=wish.eviction_policy,
        terminate_notification=wish.terminate_notification,
        announces_reimage=wish.announces_reimage,
        auto_approve=_policy_kept(wish, owner),
        tags=wish.tags,
        kept=wish.kept,
    )


def _emptiest_domain(draft: Draft, owner: AvailabilitySet) -> int:
    """The update domain that has the fewest VMs; of several the first."""
    counts = Counter(vm.update_domain for vm in draft.world.members_of_set(owner.name))
    return min(range(owner.update_domains), key=lambda domain: counts[domain])


def scope_for(draft: Draft, kind: ScopeKind, subject: str, group: int | None, factory: MachineFactory) -> Scope:
    """The scope of a VM or of a set's members, made where there is none yet."""
    name = scope_name(subject, group)
    for each in (name, qualified(kind, name)):
        found = draft.scope_or_none(each)
        if found is not None and found.belongs_to == (kind, subject, group):
            return found
    is_taken = draft.scope_or_none(name) is not None
    generation = generation_of(UUID(factory.new_id()))
    made = new_scope(kind, subject, group, generation, {name} if is_taken else set())
    draft.put(made)
    return made


def bad_name(what: str, name: str) -> Refusal | None:
    """A refusal of a name that nothing may have."""
    if is_name(name):
        return None
    return Refusal(Code.BAD_REQUEST, f"{name!r} cannot be the name of a {what}.", f"Use {NAME_IN_WORDS}.")


def _own_policy(wish: VmWish, owner: VmSet | None) -> Refusal | None:
    """A refusal of a policy that would not hold: a member of a set goes by the set's."""
    if not has_policy(owner) or wish.auto_approve is None or set(wish.auto_approve) == set(owner.auto_approve):
        return None
    return Refusal(
        Code.BAD_REQUEST,
        f"properties.scheduledEventsPolicy: {wish.name} is in {owner.name} and goes by that set's policy.",
        f"Put the policy on {owner.name}.",
    )


def _policy_kept(wish: VmWish, owner: VmSet | None) -> tuple[str, ...]:
    """What a VM approves beforehand by itself."""
    return DEFAULT_AUTO_APPROVE if has_policy(owner) or wish.auto_approve is None else wish.auto_approve


def fixed(member: str, fact: str) -> Refusal:
    """A refusal to change what cannot be changed."""
    return Refusal(Code.BAD_REQUEST, f"{member} cannot be changed: {fact}.", "Delete it and make it anew.")


def taken(what: str, name: str, group: str) -> Refusal:
    """A refusal to use a name again."""
    return Refusal(
        Code.NOT_ALLOWED,
        f"There is a {what} {name} in the resource group {group} already.",
        "Names are unique in the fleet: choose another.",
    )


def _no_notice_for_spot(wish: VmWish) -> Refusal | None:
    member = "properties.scheduledEventsProfile.terminateNotificationProfile"
    return no_notice_for_spot(wish.priority, wish.terminate_notification, member)


def no_notice_for_spot(wish_priority: Priority, notice: timedelta | None, member: str) -> Refusal | None:
    """A Spot VM is evicted with the notice of a Preempt; a Terminate cannot be asked for."""
    if wish_priority is not Priority.SPOT or notice is None:
        return None
    return Refusal(
        Code.BAD_REQUEST, f"{member}: a Spot VM has no terminate notification.", "Leave it out, or use Regular."
    )
