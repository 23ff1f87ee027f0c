"""A fleet as it is described: what a fleet file or a PUT of the fleet says.

Plain values in the words of the file. Whether they make sense is judged in fleet_check.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from forewarn.core.fleet import (
    DEFAULT_FAULT_DOMAINS,
    DEFAULT_PLACEMENT_GROUP_SIZE,
    DEFAULT_RESOURCE_GROUP,
    DEFAULT_UPDATE_DOMAINS,
)
from forewarn.core.notice import LEAST_NOTICE
from forewarn.core.terms import AutoApproval, EvictionPolicy, Kind, Priority


def notice_of(given: timedelta | bool | None) -> timedelta | None:  # noqa: FBT001 - as the file has it
    """How long ahead a Terminate is announced: as given, the least for a plain yes, not at all for no."""
    if isinstance(given, bool):
        return LEAST_NOTICE[Kind.TERMINATE] if given else None
    return given


def mac_of(given: str | None) -> str | None:
    """A MAC address as guests read it: capital digits without separators."""
    return None if given is None else re.sub("[:-]", "", given).upper()


def _usual_approvals() -> list[AutoApproval]:
    return [AutoApproval.ALL_DOWN]


@dataclass(frozen=True, slots=True)
class HostSpec:
    """`[[hosts]]`."""

    name: str
    zone: str | None = None
    fault_domain: int = 0
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AvailabilitySetSpec:
    """`[[availability_sets]]`."""

    name: str
    update_domains: int = DEFAULT_UPDATE_DOMAINS
    fault_domains: int = DEFAULT_FAULT_DOMAINS
    spread: bool = True
    resource_group: str = DEFAULT_RESOURCE_GROUP
    auto_approve: list[AutoApproval] = field(default_factory=_usual_approvals)
    tags: dict[str, str] = field(default_factory=dict)
    health_check: str | None = None
    min_available: int = 0


@dataclass(frozen=True, slots=True)
class ScaleSetSpec:
    """`[[scale_sets]]`."""

    name: str
    capacity: int = 0
    hosts: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    priority: Priority = Priority.REGULAR
    eviction_policy: EvictionPolicy = EvictionPolicy.DEALLOCATE
    terminate_notification: timedelta | bool | None = None  # true: the least there is
    placement_group_size: int = DEFAULT_PLACEMENT_GROUP_SIZE
    zones: list[str] = field(default_factory=list)
    resource_group: str = DEFAULT_RESOURCE_GROUP
    tags: dict[str, str] = field(default_factory=dict)
    auto_approve: list[AutoApproval] = field(default_factory=_usual_approvals)
    announces_reimage: bool = False
    health_check: str | None = None
    min_available: int = 0
    subnet: str | None = None
    compute: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CloudServiceSpec:
    """`[[cloud_services]]`."""

    name: str
    resource_group: str = DEFAULT_RESOURCE_GROUP
    health_check: str | None = None
    min_available: int = 0


@dataclass(frozen=True, slots=True)
class VmSpec:
    """`[[vms]]`."""

    name: str
    host: str | None = None
    availability_set: str | None = None
    scale_set: str | None = None
    cloud_service: str | None = None
    update_domain: int | None = None
    addresses: list[str] = field(default_factory=list)
    interface: str | None = None
    port: int | None = None
    computer_name: str | None = None
    zone: str | None = None
    priority: Priority = Priority.REGULAR
    eviction_policy: EvictionPolicy = EvictionPolicy.DEALLOCATE
    terminate_notification: timedelta | bool | None = None  # true: the least there is
    resource_group: str = DEFAULT_RESOURCE_GROUP
    tags: dict[str, str] = field(default_factory=dict)
    auto_approve: list[AutoApproval] = field(default_factory=_usual_approvals)
    announces_reimage: bool = False
    mac: str | None = None
    subnet: str | None = None
    compute: dict[str, Any] = field(default_factory=dict)

    @property
    def set_name(self) -> str | None:
        """The set that the VM says it belongs to."""
        return self.availability_set or self.scale_set or self.cloud_service


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """A whole fleet."""

    hosts: list[HostSpec] = field(default_factory=list)
    availability_sets: list[AvailabilitySetSpec] = field(default_factory=list)
    scale_sets: list[ScaleSetSpec] = field(default_factory=list)
    cloud_services: list[CloudServiceSpec] = field(default_factory=list)
    vms: list[VmSpec] = field(default_factory=list)
