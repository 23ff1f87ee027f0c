"""What clients write: the members that mean something, and the rest, which is kept and given back.

`MEANINGS` says of each member what it does; the reference page is made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Annotated, Any

import msgspec

from forewarn.core.fleet import (
    DEFAULT_FAULT_DOMAINS,
    DEFAULT_PLACEMENT_GROUP_SIZE,
    DEFAULT_UPDATE_DOMAINS,
)
from forewarn.core.fleet_check import MOST_FAULT_DOMAINS, MOST_INSTANCES, MOST_UPDATE_DOMAINS
from forewarn.core.notice import LEAST_NOTICE, TERMINATE_NOTICE_RANGE
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.machines import VmWish
from forewarn.core.requests.sets import AvailabilitySetWish, ScaleSetWish
from forewarn.core.terms import AutoApproval, EvictionPolicy, Kind, Priority
from forewarn.wire.arm.ids import AVAILABILITY_SETS, SCALE_SETS, name_in
from forewarn.wire.times import parse_duration

Json = dict[str, Any]

_SECRETS = frozenset({"adminpassword", "customdata", "userdata", "protectedsettings", "additionalunattendcontent"})
# What means something is told as it is now, and never as a client once wrote it.
_OURS = frozenset({"priority", "evictionpolicy"})
_OURS_OF_A_RESOURCE = _OURS | {"availabilityset", "virtualmachinescaleset"}
_READ_ONLY = frozenset({"id", "name", "type", "etag", "instanceid", "systemdata", "resources"})
_TOLD_BY_US = frozenset({"instanceview", "provisioningstate", "vmid", "latestmodelapplied", "virtualmachines"})
_DEEPEST = 64
_IMAGE_NOTICE = timedelta(minutes=15)
_Word = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]{1,80}$")]
_UpdateDomains = Annotated[int, msgspec.Meta(ge=1, le=MOST_UPDATE_DOMAINS)]
_FaultDomains = Annotated[int, msgspec.Meta(ge=1, le=MOST_FAULT_DOMAINS)]


class _Part(msgspec.Struct, rename="camel"):
    """A piece of a body; members that it does not name are kept, not read."""


class _Reference(_Part):
    id: str


class _Notification(_Part):
    enable: bool | None = False
    not_before_timeout: str | None = None


class _Profile(_Part):
    terminate_notification_profile: _Notification | None = None
    os_image_notification_profile: _Notification | None = None


class _Approval(_Part):
    automatically_approve: bool | None = None


class _Policy(_Part):
    user_initiated_reboot: _Approval | None = None
    user_initiated_redeploy: _Approval | None = None
    all_instances_down: _Approval | None = None


class _OsProfile(_Part):
    computer_name: _Word | None = None


class _VmProperties(_Part):
    availability_set: _Reference | None = None
    virtual_machine_scale_set: _Reference | None = None
    priority: Priority | None = None
    eviction_policy: EvictionPolicy | None = None
    os_profile: _OsProfile | None = None
    scheduled_events_profile: _Profile | None = None
    scheduled_events_policy: _Policy | None = None


class _VmBody(_Part):
    location: str | None = None
    zones: list[_Word] | None = None
    tags: dict[str, str] | None = None
    properties: _VmProperties | None = None


class _SetProperties(_Part):
    platform_update_domain_count: _UpdateDomains | None = None
    platform_fault_domain_count: _FaultDomains | None = None
    scheduled_events_policy: _Policy | None = None


class _SetBody(_Part):
    location: str | None = None
    tags: dict[str, str] | None = None
    properties: _SetProperties | None = None


class _GroupBody(_Part):
    location: str | None = None
    tags: dict[str, str] | None = None


class _Sku(_Part):
    capacity: int | None = None


class _Model(_Part):
    priority: Priority | None = None
    eviction_policy: EvictionPolicy | None = None
    scheduled_events_profile: _Profile | None = None


class _ScaleSetProperties(_Part):
    single_placement_group: bool | None = None
    virtual_machine_profile: _Model | None = None
    scheduled_events_policy: _Policy | None = None


class _ScaleSetBody(_Part):
    location: str | None = None
    zones: list[_Word] | None = None
    tags: dict[str, str] | None = None
    sku: _Sku | None = None
    properties: _ScaleSetProperties | None = None


class Instances(_Part):
    """Which instances of a scale set are meant; without any, all of them."""

    instance_ids: list[str] | None = None

    @property
    def means_all(self) -> bool:
        """Whether no instance is named; a list without any names none, which is not all."""
        return self.instance_ids is None or self.instance_ids == ["*"]


_LOCATION = "told to clients; lists by location go by it"
_FIXED = "cannot be changed"
_PROFILE = "properties.scheduledEventsProfile"
_UPDATE_DOMAINS = "properties.platformUpdateDomainCount"
_FAULT_DOMAINS = "properties.platformFaultDomainCount"
MEANINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "virtualMachines": {
            "location": _LOCATION,
            "zones": f"the zone that it is put in; {_FIXED}",
            "tags": "told to guests",
            "properties.availabilitySet": f"the set it belongs to, with an update domain by order; {_FIXED}",
            "properties.virtualMachineScaleSet": "refused, but for the one it is in: capacity makes instances",
            "properties.priority": f"Regular or Spot: only a Spot VM can be evicted; {_FIXED}",
            "properties.evictionPolicy": "whether a Preempt ends in deallocated or deleted",
            "properties.osProfile.computerName": f"told to guests; {_FIXED}",
            f"{_PROFILE}.terminateNotificationProfile": "a delete is announced that long ahead, PT5M to PT15M",
            f"{_PROFILE}.osImageNotificationProfile": "a reimage is announced, PT15M ahead",
            "properties.scheduledEventsPolicy": "what is approved without asking guests; a set's member has none",
        },
        "virtualMachineScaleSets": {
            "location": _LOCATION,
            "sku.capacity": "how many instances; fewer deletes the last ones, announced by their profile",
            "zones": f"the zones of the instances, in turn; {_FIXED}",
            "tags": "told to guests",
            "properties.singlePlacementGroup": "when made: true, all instances share one document; else 100 do",
            "properties.virtualMachineProfile.priority": "as of a VM",
            "properties.virtualMachineProfile.evictionPolicy": "as of a VM",
            "properties.virtualMachineProfile.scheduledEventsProfile": "as of a VM, at once for all instances",
            "properties.scheduledEventsPolicy": "as of a VM, for all instances",
        },
        "availabilitySets": {
            "location": _LOCATION,
            "tags": "kept, and told in the fleet",
            _UPDATE_DOMAINS: f"1 to {MOST_UPDATE_DOMAINS}, by default {DEFAULT_UPDATE_DOMAINS}; {_FIXED}",
            _FAULT_DOMAINS: f"1 to {MOST_FAULT_DOMAINS}, by default {DEFAULT_FAULT_DOMAINS}; {_FIXED}",
            "properties.scheduledEventsPolicy": "as of a VM, for all its VMs",
        },
        "resourceGroups": {"location": "told to clients", "tags": "told to clients"},
    }
)


def bad(message: str) -> Refusal:
    """The body asks for what cannot be."""
    return Refusal(Code.BAD_REQUEST, message)


def to_keep(body: Json) -> str:
    """The body as it is kept: all of it but what the service itself says, and but secrets."""
    kept = _but(body, _READ_ONLY | {"zones"})
    if isinstance(properties := kept.get("properties"), dict):
        kept["properties"] = properties = _but(properties, _TOLD_BY_US | _OURS_OF_A_RESOURCE)
        if isinstance(model := properties.get("virtualMachineProfile"), dict):
            properties["virtualMachineProfile"] = _but(model, _OURS)
    return msgspec.json.encode(_without_secrets(kept)).decode()


def _but(members: Json, names: frozenset[str]) -> Json:
    """The members that have none of these names."""
    return {key: value for key, value in members.items() if key.lower() not in names}


def is_too_deep(value: Any, left: int = _DEEPEST) -> bool:  # noqa: ANN401 - whatever JSON holds
    """Whether a body is nested deeper than anything that means something."""
    if not isinstance(value, (dict, list)):
        return False
    below = value.values() if isinstance(value, dict) else value
    return left == 0 or any(is_too_deep(each, left - 1) for each in below)


def _without_secrets(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, dict):
        return {key: _without_secrets(each) for key, each in value.items() if key.lower() not in _SECRETS}
    if isinstance(value, list):
        return [_without_secrets(each) for each in value]
    return value


def merge(before: Any, patch: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a PATCH makes of what was there: members are replaced one by one, null takes one away."""
    if not isinstance(before, dict) or not isinstance(patch, dict):
        return patch
    merged = dict(before)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def overlay(before: Json, body: Json) -> Json:
    """What a PUT makes of what is there: members that it does not name stay, as on Azure; tags come as a whole."""
    whole = {} if body.get("tags") is None else {"tags": body["tags"]}
    laid: Json = _lay_over(before, body)
    return laid | whole


def _lay_over(before: Any, given: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(before, dict) or not isinstance(given, dict):
        return before if given is None else given
    return before | {key: _lay_over(before.get(key), value) for key, value in given.items()}


def read_vm(name: str, group: str, body: Json) -> VmWish | Refusal:
    """The VM that a body asks for."""
    try:
        read = msgspec.convert(body, _VmBody)
    except msgspec.ValidationError as problem:
        return bad(_told(problem, body))
    properties = read.properties or _VmProperties()
    profile = properties.scheduled_events_profile or _Profile()
    notices = _notices(profile, "properties.scheduledEventsProfile")
    if isinstance(notices, Refusal):
        return notices
    availability_set = _named(properties.availability_set, AVAILABILITY_SETS, "availabilitySet")
    scale_set = _named(properties.virtual_machine_scale_set, SCALE_SETS, "virtualMachineScaleSet")
    if isinstance(availability_set, Refusal):
        return availability_set
    if isinstance(scale_set, Refusal):
        return scale_set
    if read.zones is not None and len(read.zones) > 1:
        return bad("zones: a VM is in one zone.")
    return VmWish(
        name=name,
        resource_group=group,
        availability_set=availability_set,
        scale_set=scale_set,
        zone=read.zones[0] if read.zones else None,
        priority=properties.priority or Priority.REGULAR,
        eviction_policy=properties.eviction_policy or EvictionPolicy.DEALLOCATE,
        terminate_notification=notices[0],
        announces_reimage=notices[1],
        computer_name=properties.os_profile.computer_name if properties.os_profile else None,
        auto_approve=_approvals(properties.scheduled_events_policy),
        tags=read.tags or {},
        kept=to_keep(body),
    )


def _named(reference: _Reference | None, kind: str, member: str) -> str | Refusal | None:
    """The name in a reference to a set."""
    if reference is None:
        return None
    return name_in(reference.id, kind) or bad(f"properties.{member}.id: {reference.id!r} is no id of {kind}.")


def read_group(body: Json) -> str | Refusal:
    """What is kept of a resource group that a body asks for."""
    try:
        msgspec.convert(body, _GroupBody)
    except msgspec.ValidationError as problem:
        return bad(_told(problem, body))
    return to_keep(body)


def read_availability_set(name: str, group: str, body: Json) -> AvailabilitySetWish | Refusal:
    """The availability set that a body asks for."""
    try:
        read = msgspec.convert(body, _SetBody)
    except msgspec.ValidationError as problem:
        return bad(_told(problem, body))
    properties = read.properties or _SetProperties()
    return AvailabilitySetWish(
        name=name,
        resource_group=group,
        update_domains=properties.platform_update_domain_count or DEFAULT_UPDATE_DOMAINS,
        fault_domains=properties.platform_fault_domain_count or DEFAULT_FAULT_DOMAINS,
        auto_approve=_approvals(properties.scheduled_events_policy),
        tags=read.tags or {},
        kept=to_keep(body),
    )


def read_scale_set(name: str, group: str, body: Json) -> ScaleSetWish | Refusal:
    """The scale set that a body asks for."""
    try:
        read = msgspec.convert(body, _ScaleSetBody)
    except msgspec.ValidationError as problem:
        return bad(_told(problem, body))
    properties = read.properties or _ScaleSetProperties()
    model = properties.virtual_machine_profile or _Model()
    profile = model.scheduled_events_profile or _Profile()
    notices = _notices(profile, "properties.virtualMachineProfile.scheduledEventsProfile")
    if isinstance(notices, Refusal):
        return notices
    return ScaleSetWish(
        name=name,
        resource_group=group,
        capacity=read.sku.capacity if read.sku else None,
        zones=tuple(read.zones or ()),
        priority=model.priority or Priority.REGULAR,
        eviction_policy=model.eviction_policy or EvictionPolicy.DEALLOCATE,
        terminate_notification=notices[0],
        announces_reimage=notices[1],
        placement_group_size=MOST_INSTANCES if properties.single_placement_group else DEFAULT_PLACEMENT_GROUP_SIZE,
        auto_approve=_approvals(properties.scheduled_events_policy),
        tags=read.tags or {},
        kept=to_keep(body),
    )


def _notices(profile: _Profile, member: str) -> tuple[timedelta | None, bool] | Refusal:
    """How long a delete is announced, and whether a reimage is."""
    terminate, image = profile.terminate_notification_profile, profile.os_image_notification_profile
    notice = None
    if terminate is not None and (terminate.enable or terminate.not_before_timeout):
        least, most = TERMINATE_NOTICE_RANGE
        given = _duration(terminate.not_before_timeout, LEAST_NOTICE[Kind.TERMINATE])
        if given is None or not least <= given <= most:
            return bad(
                f"{member}.terminateNotificationProfile.notBeforeTimeout is {terminate.not_before_timeout!r}; "
                "it can be PT5M to PT15M."
            )
        notice = given if terminate.enable else None
    is_told = image is not None and bool(image.enable)
    if is_told and image is not None and _duration(image.not_before_timeout, _IMAGE_NOTICE) != _IMAGE_NOTICE:
        where = f"{member}.osImageNotificationProfile.notBeforeTimeout"
        return bad(f"{where} is {image.not_before_timeout!r}; it can be PT15M.")
    return notice, is_told


def _duration(text: str | None, usual: timedelta) -> timedelta | None:
    if text is None:
        return usual
    if text[:1] != "P":  # ISO 8601 and nothing shorter
        return None
    try:
        return parse_duration(text)
    except ValueError:
        return None


def _approvals(policy: _Policy | None) -> tuple[str, ...]:
    """What is approved beforehand: when all instances are down, unless it says otherwise."""
    policy = policy or _Policy()
    wanted = (
        (AutoApproval.REBOOT, policy.user_initiated_reboot, False),
        (AutoApproval.REDEPLOY, policy.user_initiated_redeploy, False),
        (AutoApproval.ALL_DOWN, policy.all_instances_down, True),
    )
    return tuple(name for name, given, usual in wanted if _is_wanted(given, usual=usual))


def _is_wanted(given: _Approval | None, *, usual: bool) -> bool:
    return usual if given is None or given.automatically_approve is None else given.automatically_approve


def _told(problem: msgspec.ValidationError, body: Json) -> str:
    """What is wrong, the member's path first."""
    what, _, where = str(problem).partition(" - at `")
    path = where.rstrip("`").removeprefix("$").lstrip(".") or "the body"
    if path == "tags[...]":  # the only member whose members have names of their own
        path = next((f"tags.{name}" for name, value in body["tags"].items() if not isinstance(value, str)), path)
    return f"{path}: {what[0].lower()}{what[1:]}."
