"""What operators and owners ask for: work on VMs and on hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Annotated, Literal

import msgspec

from forewarn.control.commands.hosts import degrade_host, fail_host, maintain_host, reclaim_capacity, recover_host
from forewarn.control.commands.vms import act_on_vm, evict_vm
from forewarn.control.commit import Accepted, CommandTarget, Committed
from forewarn.control.plane import ControlPlane
from forewarn.core.event import Event
from forewarn.core.operation import Operation
from forewarn.core.refusal import Refusal
from forewarn.core.requests.degraded import Degradation
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.terms import Cause, Kind, Risk
from forewarn.errors import StoreUnavailable
from forewarn.operator.dry_runs import DryRunResult, dry_run
from forewarn.operator.endpoint import Call, Endpoint, Handler, Nothing
from forewarn.operator.fleet import view_host
from forewarn.store import history
from forewarn.wire.rest import (
    MOST_CHARACTERS,
    MOST_DURATION_SECONDS,
    MOST_NOTICE_SECONDS,
    ONE_LINE,
    EventView,
    HostView,
    OperationView,
    event_view,
    operation_view,
)

_MOST_VMS = 100_000
_Seconds = Annotated[int, msgspec.Meta(ge=-MOST_NOTICE_SECONDS, le=MOST_NOTICE_SECONDS)]


class VmAccepted(msgspec.Struct):
    """An operation on a VM, and its event where there is one."""

    operation: OperationView
    event: EventView | None


class HostAccepted(msgspec.Struct):
    """An operation on a host, and its events."""

    operation: OperationView
    events: list[EventView]


class StopBody(msgspec.Struct, forbid_unknown_fields=True):
    """How to stop a VM."""

    deallocate: Annotated[bool, msgspec.Meta(description="give its place on the host back as well")] = False


class MaintainBody(msgspec.Struct, forbid_unknown_fields=True):
    """Planned work on a host."""

    kind: Literal["Freeze", "Reboot", "Redeploy"]
    by: Annotated[Literal["pause", "live_migration"], msgspec.Meta(description="how a Freeze is done")] = "pause"
    duration_seconds: Annotated[
        Annotated[int, msgspec.Meta(ge=-1, le=MOST_DURATION_SECONDS)] | None,
        msgspec.Meta(
            description="how long VMs are away; without it 9 for a Freeze, 5 by live migration, else -1: unknown"
        ),
    ] = None
    notice_seconds: Annotated[
        _Seconds | None, msgspec.Meta(description="without it the least of the kind; less is refused")
    ] = None
    description: Annotated[
        Annotated[str, msgspec.Meta(max_length=MOST_CHARACTERS, pattern=ONE_LINE)] | None,
        msgspec.Meta(description="what guests read, in one line; without it the usual sentence"),
    ] = None


class DegradeBody(msgspec.Struct, forbid_unknown_fields=True):
    """A predicted failure of a host."""

    notice_seconds: Annotated[
        _Seconds | None, msgspec.Meta(description="without it, and without a risk, a week")
    ] = None
    risk: Annotated[
        Literal["low", "high", "imminent"] | None,
        msgspec.Meta(description="instead of a notice: a week, a day, or the least of a Redeploy"),
    ] = None
    anyway: Annotated[bool, msgspec.Meta(description="however many hosts are called sick already")] = False


class FailBody(msgspec.Struct, forbid_unknown_fields=True):
    """A failed host."""

    kind: Annotated[
        Literal["Redeploy", "Reboot"] | None,
        msgspec.Meta(description="what its guests are told; without it what --failed-host-kind says"),
    ] = None


class ReclaimBody(msgspec.Struct, forbid_unknown_fields=True):
    """Capacity that is taken back."""

    vms: Annotated[int, msgspec.Meta(ge=1, le=_MOST_VMS, description="how many Spot VMs have to go")]


class Reclaimed(msgspec.Struct):
    """The evictions, and their events."""

    operations: list[OperationView]
    events: list[EventView]


def _view(plane: ControlPlane, accepted: Accepted) -> tuple[OperationView, list[EventView]]:
    """The operation as it is by now: what it made due has been decided, and it may even have ended."""
    world, now = plane.world, plane.clock.now()
    operation, events = _by_now(plane, accepted)
    return (
        operation_view(world, operation, [event.id for event in events], now),
        [event_view(world, event, now) for event in events],
    )


def _by_now(plane: ControlPlane, accepted: Accepted) -> tuple[Operation, Sequence[Event]]:
    wanted, world = accepted.operation.id, plane.world
    if wanted in world.operations:
        return world.operations[wanted], list(world.events_of(wanted))
    try:
        with plane.store.transaction() as transaction:
            operation = history.find_operation(transaction.connection, wanted)
            return operation or accepted.operation, history.events_of(transaction.connection, wanted)
    except StoreUnavailable:  # it is answered all the same, as it was committed
        return accepted.operation, accepted.events


_Ask = Callable[[CommandTarget], Accepted | Refusal]


async def _ask_for_vm(cause: Cause, call: Call, body: Nothing | StopBody) -> VmAccepted | DryRunResult | Refusal:
    name, actor = call.path("name"), call.actor
    if isinstance(body, StopBody) and body.deallocate:
        cause = Cause.DEALLOCATE

    def ask(plane: CommandTarget) -> Accepted | Refusal:
        return evict_vm(plane, name, actor) if cause is Cause.EVICT else act_on_vm(plane, cause, name, actor)

    if call.is_dry_run:
        return await dry_run(call, ask)
    viewed = await call.change(ask, _view)
    if isinstance(viewed, Refusal):
        return viewed
    operation, events = viewed
    return VmAccepted(operation, events[0] if events else None)


async def _ask_for_host(call: Call, ask: _Ask) -> HostAccepted | DryRunResult | Refusal:
    if call.is_dry_run:
        return await dry_run(call, ask)
    viewed = await call.change(ask, _view)
    return viewed if isinstance(viewed, Refusal) else HostAccepted(*viewed)


async def maintain(call: Call, body: MaintainBody) -> HostAccepted | DryRunResult | Refusal:
    """Announce planned work on a host."""
    asked = Maintenance(
        kind=Kind(body.kind),
        by_live_migration=body.by == "live_migration",
        duration_seconds=body.duration_seconds,
        notice=None if body.notice_seconds is None else timedelta(seconds=body.notice_seconds),
        description=body.description,
    )
    return await _ask_for_host(call, lambda plane: maintain_host(plane, call.path("name"), asked, call.actor))


async def degrade(call: Call, body: DegradeBody) -> HostAccepted | DryRunResult | Refusal:
    """Announce that a host's VMs are to leave it before it fails."""
    asked = Degradation(
        notice=None if body.notice_seconds is None else timedelta(seconds=body.notice_seconds),
        risk=None if body.risk is None else Risk(body.risk),
        anyway=body.anyway,
    )
    return await _ask_for_host(call, lambda plane: degrade_host(plane, call.path("name"), asked, call.actor))


async def fail(call: Call, body: FailBody) -> HostAccepted | DryRunResult | Refusal:
    """Say that a host has failed."""
    kind = None if body.kind is None else Kind(body.kind)
    return await _ask_for_host(call, lambda plane: fail_host(plane, call.path("name"), call.actor, kind))


async def reclaim(call: Call, body: ReclaimBody) -> Reclaimed | DryRunResult | Refusal:
    """Take capacity back from a host: some of its Spot VMs are evicted."""

    def ask(plane: CommandTarget) -> list[Accepted] | Refusal:
        return reclaim_capacity(plane, call.path("name"), body.vms, call.actor)

    def view(plane: ControlPlane, accepted: list[Accepted]) -> Reclaimed:
        views = [_view(plane, each) for each in accepted]
        return Reclaimed([operation for operation, _ in views], [event for _, events in views for event in events])

    return await dry_run(call, ask) if call.is_dry_run else await call.change(ask, view)


async def recover(call: Call, _: Nothing) -> HostView | DryRunResult | Refusal:
    """Say that a host is well again."""

    def ask(plane: CommandTarget) -> Committed | Refusal:
        return recover_host(plane, call.path("name"), call.actor)

    def view(plane: ControlPlane, _: Committed) -> HostView | Refusal:
        return view_host(plane, call.path("name"))

    return await dry_run(call, ask) if call.is_dry_run else await call.change(ask, view)


def _vm_endpoint(verb: str, cause: Cause, summary: str, body: type = Nothing) -> Endpoint:
    path, handle = f"/v1/vms/{{name}}/{verb}", partial(_ask_for_vm, cause)
    return Endpoint("POST", path, handle, summary, VmAccepted, 202, body, dry_answer=DryRunResult)


def _host_endpoint(
    verb: str, handle: Handler, summary: str, body: type, answer: type = HostAccepted, status: int = 202
) -> Endpoint:
    path = f"/v1/hosts/{{name}}/{verb}"
    return Endpoint("POST", path, handle, summary, answer, status, body, dry_answer=DryRunResult)


ENDPOINTS = [
    _vm_endpoint("restart", Cause.RESTART, "Restart a VM: Reboot, with notice where its scope is on"),
    _vm_endpoint("redeploy", Cause.REDEPLOY, "Redeploy a VM to another host, with notice"),
    _vm_endpoint("delete", Cause.DELETE, "Delete a VM: Terminate, with notice where a profile says so"),
    _vm_endpoint("evict", Cause.EVICT, "Take a Spot VM's capacity back: Preempt"),
    _vm_endpoint("stop", Cause.STOP, "Stop a VM, at once; no event", StopBody),
    _vm_endpoint("start", Cause.START, "Start a VM, at once; no event"),
    _host_endpoint("maintain", maintain, "Announce work on a host", MaintainBody),
    _host_endpoint("degrade", degrade, "A host is expected to fail", DegradeBody),
    _host_endpoint("fail", fail, "A host has failed", FailBody),
    _host_endpoint(
        "reclaim",
        reclaim,
        "Take capacity back from a host: so many of its Spot VMs are evicted",
        ReclaimBody,
        Reclaimed,
    ),
    _host_endpoint("recover", recover, "A host is well again", Nothing, HostView, 200),
]
