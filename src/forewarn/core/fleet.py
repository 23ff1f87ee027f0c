"""Hosts, machines and the sets that machines belong to.

Values only: each change makes a new version of a value, and `version` is the number of the commit that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from forewarn.core.terms import AutoApproval, Condition, EvictionPolicy, Priority, VmState

DEFAULT_RESOURCE_GROUP = "default"
DEFAULT_UPDATE_DOMAINS = 5
DEFAULT_FAULT_DOMAINS = 2
DEFAULT_PLACEMENT_GROUP_SIZE = 100
DEFAULT_AUTO_APPROVE: tuple[str, ...] = (AutoApproval.ALL_DOWN,)


@dataclass(frozen=True, slots=True)
class Host:
    """What machines run on."""

    name: str
    zone: str | None = None
    fault_domain: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)
    condition: Condition = Condition.UP
    is_declared: bool = True  # False: made for a VM that named no host
    is_gone: bool = False
    version: int = 0


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """A name under which clients of ARM find VMs and sets; one that nobody declared exists with what is in it."""

    name: str
    kept: str = ""  # what a client wrote besides, as JSON; it is given back and has no effect
    is_gone: bool = False
    version: int = 0


@dataclass(frozen=True, slots=True)
class AvailabilitySet:
    """Machines of one job, spread over update and fault domains."""

    name: str
    resource_group: str = DEFAULT_RESOURCE_GROUP
    update_domains: int = DEFAULT_UPDATE_DOMAINS
    fault_domains: int = DEFAULT_FAULT_DOMAINS
    spread: bool = True
    auto_approve: tuple[str, ...] = DEFAULT_AUTO_APPROVE
    tags: Mapping[str, str] = field(default_factory=dict)
    health_check: str | None = None  # an address, or the name of a command that the service knows
    min_available: int = 0  # planned platform work leaves as many of them running
    kept: str = ""
    is_gone: bool = False
    version: int = 0


@dataclass(frozen=True, slots=True)
class ScaleSet:
    """Numbered machines made from one model; every placement group of them is a scope."""

    name: str
    resource_group: str = DEFAULT_RESOURCE_GROUP
    capacity: int = 0
    hosts: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    priority: Priority = Priority.REGULAR
    eviction_policy: EvictionPolicy = EvictionPolicy.DEALLOCATE
    terminate_notification: timedelta | None = None
    placement_group_size: int = DEFAULT_PLACEMENT_GROUP_SIZE
    zones: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    auto_approve: tuple[str, ...] = DEFAULT_AUTO_APPROVE
    announces_reimage: bool = False
    health_check: str | None = None  # an address, or the name of a command that the service knows
    min_available: int = 0
    subnet: str | None = None
    compute: Mapping[str, Any] = field(default_factory=dict)  # what its guests' metadata say, as a fleet file does
    is_leaving: bool = False  # it goes with the last of its instances
    kept: str = ""
    is_gone: bool = False
    version: int = 0

    @property
    def update_domains(self) -> int:
        """Instances are spread over this many."""
        return DEFAULT_UPDATE_DOMAINS


@dataclass(frozen=True, slots=True)
class CloudService:
    """Role instances that share one document."""

    name: str
    resource_group: str = DEFAULT_RESOURCE_GROUP
    health_check: str | None = None  # an address, or the name of a command that the service knows
    min_available: int = 0
    is_gone: bool = False
    version: int = 0

    @property
    def update_domains(self) -> int:
        """Role instances are spread over this many."""
        return DEFAULT_UPDATE_DOMAINS


VmSet = AvailabilitySet | ScaleSet | CloudService


@dataclass(frozen=True, slots=True)
class Vm:
    """A machine, where it is, and how its guest is recognised."""

    name: str
    vm_id: str
    host: str
    home: str | None  # the host that the fleet file gave it; it may have moved since
    scope: str
    resource_group: str = DEFAULT_RESOURCE_GROUP
    set_name: str | None = None
    instance: int | None = None  # its number in a scale set
    placement_group: int | None = None
    update_domain: int = 0
    fault_domain: int = 0
    zone: str | None = None
    addresses: tuple[str, ...] = ()
    interface: str | None = None
    port: int | None = None
    computer_name: str | None = None
    priority: Priority = Priority.REGULAR
    eviction_policy: EvictionPolicy = EvictionPolicy.DEALLOCATE
    terminate_notification: timedelta | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    auto_approve: tuple[str, ...] = DEFAULT_AUTO_APPROVE  # a member of a set goes by the set's
    announces_reimage: bool = False
    mac: str | None = None  # 12 capital hexadecimal digits; None: one that is derived from vm_id
    subnet: str | None = None
    compute: Mapping[str, Any] = field(default_factory=dict)  # what its metadata say, as a fleet file does
    kept: str = ""
    state: VmState = VmState.RUNNING
    came_in: int = 0  # the commit that brought it to its host
    version: int = 0

    @property
    def is_gone(self) -> bool:
        """Whether it has been deleted."""
        return self.state is VmState.DELETED

    @property
    def is_on_host(self) -> bool:
        """Whether work on its host interrupts it."""
        return self.state is VmState.RUNNING or self.state is VmState.DOWN


def domains_of(vms: Iterable[Vm]) -> dict[str, set[int]]:
    """By set, the update domains that the VMs are in."""
    domains: dict[str, set[int]] = {}
    for vm in vms:
        if vm.set_name is not None:
            domains.setdefault(vm.set_name, set()).add(vm.update_domain)
    return domains
