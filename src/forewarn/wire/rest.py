"""What operators are told, over REST and in the stream: the core's values in JSON.

One struct per object; its fields are the interface. Times are ISO 8601 in UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from forewarn.core.event import Event
from forewarn.core.fleet import AvailabilitySet, CloudService, Host, ScaleSet, Vm, VmSet
from forewarn.core.holds import holds, host_holds
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.scope import Scope, ScopeKind
from forewarn.core.terms import Cause, Condition, EvictionPolicy, Kind, Priority, Source, VmState
from forewarn.core.world import World
from forewarn.wire.times import iso_duration

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
MOST_CHARACTERS = 1000  # of what guests are to read
MOST_NOTICE_SECONDS = 10 * 365 * 86400
MOST_DURATION_SECONDS = 86400
ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$(?!\n)"  # a text without breaks and control characters


class ErrorDetail(msgspec.Struct):
    """Why not: a word for programs, a sentence and a hint for people."""

    code: str
    message: str
    hint: str = ""


class ErrorBody(msgspec.Struct):
    """Every refusal looks like this."""

    error: ErrorDetail


class VmView(msgspec.Struct):
    """A machine."""

    name: str
    host: str
    scope: str
    state: VmState
    resource_group: str
    priority: Priority
    update_domain: int
    fault_domain: int
    zone: str | None
    set: str | None
    instance: int | None
    vm_id: str
    eviction_policy: EvictionPolicy
    terminate_notification: str | None
    addresses: list[str]
    interface: str | None
    port: int | None
    computer_name: str
    tags: dict[str, str]
    operations: list[str]
    events: list[str]


class HostView(msgspec.Struct):
    """What machines run on."""

    name: str
    zone: str | None
    fault_domain: int
    condition: Condition
    takes_vms: bool
    tags: dict[str, str]
    vms: list[str]
    operations: list[str]


class ScopeView(msgspec.Struct):
    """Who shares a document, and whether anybody asks for it."""

    id: str
    kind: ScopeKind
    is_on: bool
    on_since: Instant | None
    last_poll: Instant | None
    incarnation: int
    vms: list[str]
    events: list[str]


class SetView(msgspec.Struct):
    """Machines that belong together."""

    name: str
    kind: ScopeKind
    resource_group: str
    update_domains: int
    min_available: int
    vms: list[str]


class ApprovalView(msgspec.Struct):
    """Who said "go ahead", and when."""

    by: str
    at: Instant


class EventView(msgspec.Struct):
    """The notice of an operation in one scope."""

    id: str
    kind: Kind
    phase: Phase
    source: Source
    scope: str
    update_domain: int | None
    resources: list[str]
    not_before: Instant
    created_at: Instant
    approved_by: str | None
    approved_at: Instant | None
    approvals: list[ApprovalView]
    postponed_by: str | None
    postponed_at: Instant | None
    postponed_from: Instant | None
    started_at: Instant | None
    ended_at: Instant | None
    description: str
    duration_seconds: int
    operation: str
    reason: str
    fault: Annotated[str, msgspec.Meta(description="the faults that were put in, for tests; else empty")]
    waiting_for: list[str]


class OperationView(msgspec.Struct):
    """One thing done to machines at once."""

    id: str
    cause: Cause
    kind: Kind | None
    phase: Phase
    source: Source
    targets: list[str]
    host: str | None
    rollout: str | None
    asked_by: str
    created_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    duration_seconds: int
    reason: str
    events: list[str]
    waiting_for: list[str]


class ClockView(msgspec.Struct):
    """What time it is for maintenance."""

    now: Instant
    mode: str
    rate: float
    next: Instant | None


def vm_view(world: World, vm: Vm) -> VmView:
    """A VM, with what is open on it."""
    operations = list(world.operations_on_vm(vm.name))
    notification = vm.terminate_notification
    return VmView(
        name=vm.name,
        host=vm.host,
        scope=vm.scope,
        state=vm.state,
        resource_group=vm.resource_group,
        priority=vm.priority,
        update_domain=vm.update_domain,
        fault_domain=vm.fault_domain,
        zone=vm.zone,
        set=vm.set_name,
        instance=vm.instance,
        vm_id=vm.vm_id,
        eviction_policy=vm.eviction_policy,
        terminate_notification=None if notification is None else iso_duration(notification),
        addresses=list(vm.addresses),
        interface=vm.interface,
        port=vm.port,
        computer_name=vm.computer_name or vm.name,
        tags=dict(vm.tags),
        operations=[operation.id for operation in operations],
        events=[
            event.id
            for operation in operations
            for event in world.events_of(operation.id)
            if vm.name in event.resources and event.phase.is_open
        ],
    )


def host_view(world: World, host: Host, *, takes_vms: bool) -> HostView:
    """A host, with what is on it and what is announced for it."""
    return HostView(
        name=host.name,
        zone=host.zone,
        fault_domain=host.fault_domain,
        condition=host.condition,
        takes_vms=takes_vms,
        tags=dict(host.tags),
        vms=sorted(vm.name for vm in world.vms_on(host.name)),
        operations=[operation.id for operation in world.operations_on_host(host.name)],
    )


def scope_view(world: World, scope: Scope, last_poll: datetime | None) -> ScopeView:
    """A scope, with its members and its open events."""
    return ScopeView(
        id=scope.id,
        kind=scope.kind,
        is_on=scope.is_on,
        on_since=scope.on_since,
        last_poll=last_poll,
        incarnation=scope.incarnation,
        vms=sorted(vm.name for vm in world.members_of_scope(scope.id)),
        events=[event.id for event in world.events_in(scope.id)],
    )


_SET_KINDS: dict[type[VmSet], ScopeKind] = {
    AvailabilitySet: ScopeKind.AVAILABILITY_SET,
    ScaleSet: ScopeKind.PLACEMENT_GROUP,
    CloudService: ScopeKind.CLOUD_SERVICE,
}


def set_view(world: World, each: VmSet) -> SetView:
    """A set, with its members."""
    return SetView(
        name=each.name,
        kind=_SET_KINDS[type(each)],
        resource_group=each.resource_group,
        update_domains=each.update_domains,
        min_available=each.min_available,
        vms=sorted(vm.name for vm in world.members_of_set(each.name)),
    )


def waiting_for(world: World, operation: Operation, now: datetime) -> list[str]:
    """What an open operation waits for, in words; nothing once it has ended."""
    if operation.phase is Phase.SCHEDULED:
        return list(dict.fromkeys(hold.in_words(now) for hold in holds(world, operation, now)))
    if operation.phase is Phase.STARTED:
        attempts = {attempt.vm: attempt for attempt in world.attempts_of(operation.id)}
        pending = [vm for vm in operation.targets if vm not in attempts or attempts[vm].outcome is None]
        nowhere = {hold.vm: hold.in_words(now) for hold in host_holds(world, operation)}
        return [nowhere.get(vm, f"the {operation.action} of {vm} to end") for vm in pending]
    return []


def event_view(world: World, event: Event, now: datetime) -> EventView:
    """An event, open or ended."""
    operation = world.operations.get(event.operation)
    return EventView(
        id=event.id,
        kind=event.kind,
        phase=event.phase,
        source=event.source,
        scope=event.scope,
        update_domain=event.update_domain,
        resources=list(event.resources),
        not_before=event.not_before,
        created_at=event.created_at,
        approved_by=event.approved_by,
        approved_at=event.approved_at,
        approvals=_approvals(event),
        postponed_by=event.postponed_by,
        postponed_at=event.postponed_at,
        postponed_from=event.postponed_from,
        started_at=event.started_at,
        ended_at=event.ended_at,
        description=event.description,
        duration_seconds=event.duration_seconds,
        operation=event.operation,
        reason=event.reason,
        fault=event.fault,
        waiting_for=waiting_for(world, operation, now) if operation and event.phase.is_open else [],
    )


def _approvals(event: Event) -> list[ApprovalView]:
    return [ApprovalView(approval.by, approval.at) for approval in event.approvals]


def operation_view(world: World, operation: Operation, events: Iterable[str], now: datetime) -> OperationView:
    """An operation, open or ended, with the ids of its events."""
    return OperationView(
        id=operation.id,
        cause=operation.cause,
        kind=operation.kind,
        phase=operation.phase,
        source=operation.source,
        targets=list(operation.targets),
        host=operation.host,
        rollout=operation.rollout,
        asked_by=operation.asked_by,
        created_at=operation.created_at,
        started_at=operation.started_at,
        ended_at=operation.ended_at,
        duration_seconds=operation.duration_seconds,
        reason=operation.reason,
        events=list(events),
        waiting_for=waiting_for(world, operation, now),
    )
