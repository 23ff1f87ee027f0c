"""What clients write, read: a wish, or a refusal that names the member by its path."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from forewarn.core.fleet import DEFAULT_FAULT_DOMAINS, DEFAULT_UPDATE_DOMAINS
from forewarn.core.notice import LEAST_NOTICE, TERMINATE_NOTICE_RANGE
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.machines import SetRef, VmWish
from forewarn.core.requests.sets import AvailabilitySetWish, ScaleSetWish
from forewarn.core.terms import AutoApproval, EvictionPolicy, Kind, Priority
from forewarn.wire.arm.ids import AVAILABILITY_SETS, SCALE_SETS, Ids
from forewarn.wire.arm.keeping import Json, to_keep
from forewarn.wire.arm.parts import (
    Approval,
    GroupBody,
    Model,
    Policy,
    Profile,
    Reference,
    ScaleSetBody,
    ScaleSetProperties,
    SetBody,
    SetProperties,
    VmBody,
    VmProperties,
)
from forewarn.wire.times import parse_duration

_IMAGE_NOTICE = timedelta(minutes=15)


def bad(message: str) -> Refusal:
    """The body asks for what cannot be."""
    return Refusal(Code.BAD_REQUEST, message)


def read_vm(name: str, group: str, body: Json, ids: Ids) -> VmWish | Refusal:
    """The VM that a body asks for."""
    try:
        read = msgspec.convert(body, VmBody)
    except msgspec.ValidationError as problem:
        return bad(told(problem, body))
    properties = read.properties or VmProperties()
    profile = properties.scheduled_events_profile or Profile()
    notices = _notices(profile, "properties.scheduledEventsProfile")
    if isinstance(notices, Refusal):
        return notices
    availability_set = _named(properties.availability_set, ids, AVAILABILITY_SETS, "availabilitySet")
    scale_set = _named(properties.virtual_machine_scale_set, ids, SCALE_SETS, "virtualMachineScaleSet")
    if isinstance(availability_set, Refusal):
        return availability_set
    if isinstance(scale_set, Refusal):
        return scale_set
    policy = properties.scheduled_events_policy
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
        size=properties.hardware_profile.vm_size if properties.hardware_profile else None,
        auto_approve=_approvals(policy) if policy is not None and policy.says_something else None,
        tags=read.tags or {},
        kept=to_keep(body),
    )


def _named(reference: Reference | None, ids: Ids, kind: str, member: str) -> SetRef | Refusal | None:
    """The set that a reference names."""
    if reference is None:
        return None
    return ids.set_in(reference.id, kind) or bad(
        f"properties.{member}.id: {reference.id!r} is no id of {kind} in {ids.root}."
    )


def read_group(body: Json) -> str | Refusal:
    """What is kept of a resource group that a body asks for."""
    try:
        msgspec.convert(body, GroupBody)
    except msgspec.ValidationError as problem:
        return bad(told(problem, body))
    return to_keep(body)


def read_availability_set(name: str, group: str, body: Json) -> AvailabilitySetWish | Refusal:
    """The availability set that a body asks for."""
    try:
        read = msgspec.convert(body, SetBody)
    except msgspec.ValidationError as problem:
        return bad(told(problem, body))
    properties = read.properties or SetProperties()
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
        read = msgspec.convert(body, ScaleSetBody)
    except msgspec.ValidationError as problem:
        return bad(told(problem, body))
    properties = read.properties or ScaleSetProperties()
    model = properties.virtual_machine_profile or Model()
    profile = model.scheduled_events_profile or Profile()
    notices = _notices(profile, "properties.virtualMachineProfile.scheduledEventsProfile")
    if isinstance(notices, Refusal):
        return notices
    return ScaleSetWish(
        name=name,
        resource_group=group,
        capacity=read.sku.capacity if read.sku else None,
        size=read.sku.name if read.sku else None,
        zones=tuple(read.zones or ()),
        priority=model.priority or Priority.REGULAR,
        eviction_policy=model.eviction_policy or EvictionPolicy.DEALLOCATE,
        terminate_notification=notices[0],
        announces_reimage=notices[1],
        single_placement_group=bool(properties.single_placement_group),
        auto_approve=_approvals(properties.scheduled_events_policy),
        tags=read.tags or {},
        kept=to_keep(body),
    )


def _notices(profile: Profile, member: str) -> tuple[timedelta | None, bool] | Refusal:
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


def _approvals(policy: Policy | None) -> tuple[str, ...]:
    """What is approved beforehand: when all instances are down, unless it says otherwise."""
    policy = policy or Policy()
    wanted = (
        (AutoApproval.REBOOT, policy.user_initiated_reboot, False),
        (AutoApproval.REDEPLOY, policy.user_initiated_redeploy, False),
        (AutoApproval.ALL_DOWN, policy.all_instances_down, True),
    )
    return tuple(name for name, given, usual in wanted if _is_wanted(given, usual=usual))


def _is_wanted(given: Approval | None, *, usual: bool) -> bool:
    return usual if given is None or given.automatically_approve is None else given.automatically_approve


def told(problem: msgspec.ValidationError, body: Json) -> str:
    """What is wrong, the member's path first."""
    what, _, where = str(problem).partition(" - at `")
    path = where.rstrip("`").removeprefix("$").lstrip(".") or "the body"
    if path == "tags[...]":  # the only member whose members have names of their own
        path = next((f"tags.{name}" for name, value in body["tags"].items() if not isinstance(value, str)), path)
    return f"{path}: {what[0].lower()}{what[1:]}."
