"""Where a new machine belongs: its name, its place in a set, its scope, a host of its own where none is named."""

from __future__ import annotations

from collections.abc import Container

from forewarn.core.fleet import DEFAULT_UPDATE_DOMAINS, Host, ScaleSet, Vm
from forewarn.core.scope import Scope, ScopeKind

_BASE36 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COMPUTER_NAME_DIGITS = 6


def new_scope(kind: ScopeKind, subject: str, group: int | None, generation: int, taken: Container[str]) -> Scope:
    """A scope called like what it is the scope of, qualified only where that name is taken."""
    name = scope_name(subject, group)
    return Scope(
        name if name not in taken else qualified(kind, name), kind, subject, generation, placement_group=group
    )


def scope_name(subject: str, group: int | None) -> str:
    """What a scope is called if nothing else is called so."""
    return f"{subject}/{group}" if group else subject


def qualified(kind: ScopeKind, name: str) -> str:
    """The name that nothing of another kind can have."""
    return f"{'vm' if kind is ScopeKind.VM else 'set'}/{name}"


def own_host(vm: str, zone: str | None, taken: Container[str]) -> Host:
    """A host for a VM that names none."""
    name = f"{vm}-host"
    while name in taken:
        name += "-own"
    return Host(name, zone=zone, is_declared=False)


def instance_name(scale_set: ScaleSet, number: int) -> str:
    """What the nth instance is called."""
    return f"{scale_set.name}_{number}"


def seat_of(scale_set: ScaleSet, number: int) -> tuple[str | None, str | None]:
    """The host and the zone that the scale set gives its nth instance."""
    host = scale_set.hosts[number % len(scale_set.hosts)] if scale_set.hosts else None
    zone = scale_set.zones[number % len(scale_set.zones)] if scale_set.zones else None
    return host, zone


def make_instance(scale_set: ScaleSet, number: int, *, host: Host, scope: str, vm_id: str) -> Vm:
    """The nth instance of a scale set, made from its model."""
    home, zone = seat_of(scale_set, number)
    return Vm(
        name=instance_name(scale_set, number),
        vm_id=vm_id,
        host=host.name,
        home=home,
        scope=scope,
        resource_group=scale_set.resource_group,
        set_name=scale_set.name,
        instance=number,
        placement_group=number // scale_set.placement_group_size,
        update_domain=number % DEFAULT_UPDATE_DOMAINS,
        fault_domain=host.fault_domain,
        zone=zone or host.zone,
        addresses=tuple(scale_set.addresses[number : number + 1]),
        computer_name=f"{scale_set.name}{_base36(number)}",
        priority=scale_set.priority,
        eviction_policy=scale_set.eviction_policy,
        terminate_notification=scale_set.terminate_notification,
        tags=scale_set.tags,
        announces_reimage=scale_set.announces_reimage,
    )


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits.rjust(_COMPUTER_NAME_DIGITS, "0")
