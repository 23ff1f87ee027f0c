"""The members of bodies that mean something, as msgspec reads them; `meanings` says what each does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, get_args

import msgspec
from msgspec import structs

from forewarn.core.fleet_check import MOST_FAULT_DOMAINS, MOST_UPDATE_DOMAINS
from forewarn.core.terms import EvictionPolicy, Priority
from forewarn.wire.arm.ids import AVAILABILITY_SETS, SCALE_SETS, VMS
from forewarn.wire.arm.keeping import Json

_Word = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]{1,80}$")]
_UpdateDomains = Annotated[int, msgspec.Meta(ge=1, le=MOST_UPDATE_DOMAINS)]
_FaultDomains = Annotated[int, msgspec.Meta(ge=1, le=MOST_FAULT_DOMAINS)]


class Part(msgspec.Struct, rename="camel"):
    """A piece of a body; members that it does not name are kept, not read."""


class Reference(Part):
    """A resource, by its id."""

    id: str


class Notification(Part):
    """Whether something is announced, and how long ahead."""

    enable: bool | None = False
    not_before_timeout: str | None = None


class Profile(Part):
    """What is announced of deletes and reimages."""

    terminate_notification_profile: Notification | None = None
    os_image_notification_profile: Notification | None = None


class Approval(Part):
    """Whether something is approved beforehand."""

    automatically_approve: bool | None = None


class Policy(Part):
    """What is approved beforehand."""

    user_initiated_reboot: Approval | None = None
    user_initiated_redeploy: Approval | None = None
    all_instances_down: Approval | None = None

    @property
    def says_something(self) -> bool:
        """Whether anything is said of approvals; a policy has other members, too."""
        return any((self.user_initiated_reboot, self.user_initiated_redeploy, self.all_instances_down))


class OsProfile(Part):
    """What the guest knows itself as."""

    computer_name: _Word | None = None


class HardwareProfile(Part):
    """What the machine is made of."""

    vm_size: _Word | None = None


class VmProperties(Part):
    """Properties of a VM."""

    availability_set: Reference | None = None
    virtual_machine_scale_set: Reference | None = None
    priority: Priority | None = None
    eviction_policy: EvictionPolicy | None = None
    os_profile: OsProfile | None = None
    hardware_profile: HardwareProfile | None = None
    scheduled_events_profile: Profile | None = None
    scheduled_events_policy: Policy | None = None


class VmBody(Part):
    """A VM."""

    location: str | None = None
    zones: list[_Word] | None = None
    tags: dict[str, str] | None = None
    properties: VmProperties | None = None


class SetProperties(Part):
    """Properties of an availability set."""

    platform_update_domain_count: _UpdateDomains | None = None
    platform_fault_domain_count: _FaultDomains | None = None
    scheduled_events_policy: Policy | None = None


class SetBody(Part):
    """An availability set."""

    location: str | None = None
    tags: dict[str, str] | None = None
    properties: SetProperties | None = None


class GroupBody(Part):
    """A resource group."""

    location: str | None = None
    tags: dict[str, str] | None = None


class Sku(Part):
    """How many instances, and how large."""

    name: _Word | None = None
    capacity: int | None = None


class Model(Part):
    """What instances are made like."""

    priority: Priority | None = None
    eviction_policy: EvictionPolicy | None = None
    scheduled_events_profile: Profile | None = None


class ScaleSetProperties(Part):
    """Properties of a scale set."""

    single_placement_group: bool | None = None
    virtual_machine_profile: Model | None = None
    scheduled_events_policy: Policy | None = None


class ScaleSetBody(Part):
    """A scale set."""

    location: str | None = None
    zones: list[_Word] | None = None
    tags: dict[str, str] | None = None
    sku: Sku | None = None
    properties: ScaleSetProperties | None = None


class Instances(Part):
    """Which instances of a scale set are meant; without any, all of them."""

    instance_ids: list[str] | None = None

    @property
    def means_all(self) -> bool:
        """Whether no instance is named; a list without any names none, which is not all."""
        return self.instance_ids is None or self.instance_ids == ["*"]


BODIES: Mapping[str, type[Part]] = MappingProxyType(
    {
        VMS: VmBody,
        SCALE_SETS: ScaleSetBody,
        AVAILABILITY_SETS: SetBody,
        "resourceGroups": GroupBody,
    }
)


def spelled(body: Json, part: type[Part]) -> Json:
    """The body with the members that mean something as we write them, in whatever case they came.

    Of one that comes in several cases the last counts.
    """
    known = _members(part)
    found: Json = {}
    for key, value in body.items():
        name, below = known.get(key.lower(), (key, None))
        found[name] = spelled(value, below) if below is not None and isinstance(value, dict) else value
    return found


@cache
def _members(part: type[Part]) -> dict[str, tuple[str, type[Part] | None]]:
    """The members of a part by their names in small letters: as they are written, and what is below them."""
    return {each.encode_name.lower(): (each.encode_name, _below(each.type)) for each in structs.fields(part)}


def _below(kind: Any) -> type[Part] | None:  # noqa: ANN401 - a type
    return next((each for each in get_args(kind) if isinstance(each, type) and issubclass(each, Part)), None)
