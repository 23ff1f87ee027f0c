"""How long work stands, and approval through Microsoft.Maintenance."""

from __future__ import annotations

import re
from functools import partial
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from forewarn.control.commands.events import approve_events
from forewarn.core.event import Event
from forewarn.core.fleet import AvailabilitySet, ScaleSet
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.find import any_case
from forewarn.core.world import World
from forewarn.operator.arm.endpoint import ALL, PROVIDER, ArmCall, Outcome, arm
from forewarn.operator.arm.errors import error
from forewarn.operator.endpoint import Nothing
from forewarn.operator.roles import Role
from forewarn.store import history
from forewarn.wire.arm.bodies import bad
from forewarn.wire.arm.keeping import Json
from forewarn.wire.arm.parts import Part
from forewarn.wire.times import iso

_EVENTS = f"{PROVIDER}/{{type}}/{{name}}/providers/Microsoft.Maintenance/scheduledevents"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NO_EVENTS = "value is empty. Name the events to approve."
_APPROVED: Json = {"value": "Successfully Approved"}


class EventIds(Part):
    """Which events are approved."""

    value: list[str]


async def show_operation(asked: ArmCall, _: Nothing) -> Outcome:
    """How work stands: as a status, or for `monitor=true` as 202 until it is done."""
    wanted = asked.call.path("operation").lower()

    found: list[Operation] = []
    if _ID.fullmatch(wanted):
        found = await asked.call.in_store(partial(history.operations_of_batch, batch=wanted))
    if not found:
        return error("NotFound", f"The operation '{wanted}' could not be found.")
    status = _status(wanted, found)
    leaving = asked.call.query("leaving")
    if leaving is not None and status["status"] == "Succeeded":
        status = await asked.call.on_plane(_unless_there, asked.world, leaving, status)
    if (asked.call.query("monitor") or "").lower() == "true":
        if status["status"] == "InProgress":
            return Response(status_code=HTTPStatus.ACCEPTED, headers=asked.ongoing(wanted, leaving))
        if status["status"] == "Succeeded":
            return Response(status_code=HTTPStatus.OK)
        return error(**status["error"])
    headers = {"Retry-After": "1"} if status["status"] == "InProgress" else {}
    return Response(msgspec.json.encode(status), headers=headers, media_type="application/json")


def _status(name: str, operations: list[Operation]) -> Json:
    began = min(each.created_at for each in operations)
    status: Json = {"startTime": iso(began), "status": "Succeeded", "name": name}
    if any(each.phase.is_open for each in operations):
        return status | {"status": "InProgress"}
    status["endTime"] = iso(max(each.ended_at or each.created_at for each in operations))
    failed = [each for each in operations if each.phase is Phase.FAILED]
    cancelled = [each for each in operations if each.phase is Phase.CANCELLED]
    if failed:
        why = "; ".join(f"{each.title} failed: {each.reason}" for each in failed)
        return status | {"status": "Failed", "error": {"code": "OperationFailed", "message": why}}
    if cancelled:
        why = "; ".join(f"{each.title} was cancelled: {each.reason}" for each in cancelled)
        return status | {"status": "Canceled", "error": {"code": "OperationCanceled", "message": why}}
    return status


def _unless_there(world: World, name: str, status: Json) -> Json:
    """How a scale set's deletion stands, some of whose instances were asked to go before: it has gone, or not."""
    owner = world.sets.get(name)
    if owner is None:
        return status
    if isinstance(owner, ScaleSet) and owner.is_leaving:
        return {"startTime": status["startTime"], "status": "InProgress", "name": status["name"]}
    why = f"{name} is there: the deletion of an instance did not come to its end, or it was made anew."
    return status | {"status": "Canceled", "error": {"code": "OperationCanceled", "message": why}}


async def acknowledge(asked: ArmCall, _: Nothing) -> Outcome:
    """Approve one event of a VM, a scale set or an availability set."""
    return await asked.call.on_plane(_approve, asked, [asked.call.path("event")])


async def acknowledge_several(asked: ArmCall, body: EventIds) -> Outcome:
    """Approve several events: all of them, or none."""
    if not body.value:
        return bad(_NO_EVENTS)
    return await asked.call.on_plane(_approve, asked, body.value)


async def acknowledge_list(asked: ArmCall, body: EventIds) -> Outcome:
    """Approve each event of a list that is open, and name those that are not."""
    if not body.value:
        return bad(_NO_EVENTS)
    return await asked.call.on_plane(_approve_open, asked, body.value)


def _approve(asked: ArmCall, events: list[str]) -> Outcome:
    found = _open_events(asked, events)
    if isinstance(found, Refusal):
        return found
    known, unknown = found
    if unknown:
        return Refusal(Code.NOT_FOUND, _no_open_event(asked, ", ".join(unknown)))
    outcome = approve_events(asked.call.context.plane, known, asked.call.actor)
    return outcome if isinstance(outcome, Refusal) else _APPROVED


def _approve_open(asked: ArmCall, events: list[str]) -> Outcome:
    found = _open_events(asked, events)
    if isinstance(found, Refusal):
        return found
    known, unknown = found
    outcome = approve_events(asked.call.context.plane, known, asked.call.actor) if known else None
    if isinstance(outcome, Refusal):
        return outcome
    if not unknown:
        return _APPROVED
    details: list[Json] = [
        {"target": each, "code": "ResourceNotFound", "message": _no_open_event(asked, each)} for each in unknown
    ]
    text = f"{len(unknown)} of {len(known) + len(unknown)} scheduled events could not be approved; see details."
    return error("AcknowledgeFailed", text, details=details)


def _open_events(asked: ArmCall, events: list[str]) -> tuple[list[Event], list[str]] | Refusal:
    """Those of the events that are open and concern the resource in the path, each once; and the other ids."""
    scopes = _scopes(asked)
    if isinstance(scopes, Refusal):
        return scopes
    known: dict[str, Event] = {}
    unknown: dict[str, str] = {}
    for given in events:
        event = asked.world.events.get(given.upper())
        if event is not None and event.phase.is_open and event.scope in scopes:
            known[event.id] = event
        else:
            unknown.setdefault(given.upper(), given)
    return list(known.values()), list(unknown.values())


def _no_open_event(asked: ArmCall, ids: str) -> str:
    return f"There is no open scheduled event {ids} of {asked.call.path('name')}."


def _scopes(asked: ArmCall) -> set[str] | Refusal:
    """The scopes whose events concern the resource in the path."""
    kind, name = asked.call.path("type").lower(), asked.call.path("name")
    group = asked.group.lower()
    if kind == "virtualmachines":
        vm = any_case(asked.world.vms, name)
        if vm is not None and vm.resource_group.lower() == group:
            return {vm.scope}
    owner = any_case(asked.world.sets, name)
    wanted = {"virtualmachinescalesets": ScaleSet, "availabilitysets": AvailabilitySet}.get(kind)
    if owner is not None and type(owner) is wanted and owner.resource_group.lower() == group:
        return {vm.scope for vm in asked.world.members_of_set(owner.name)}
    return asked.missing(asked.call.path("type"), name)


_MONITOR = {
    "monitor": "`true`: 202 while it goes on, then 200, without a body",
    "leaving": "a scale set that has to have gone, too; in the addresses that a deletion is answered with",
}
_approval = partial(arm, "POST", role=Role.APPROVER)

ENDPOINTS = [
    arm(
        "GET",
        f"{ALL}/locations/{{location}}/operations/{{operation}}",
        show_operation,
        "How work stands: InProgress, Succeeded, Failed or Canceled",
        query=_MONITOR,
    ),
    _approval(_EVENTS, acknowledge_list, "Approve the events of a list that are open", body=EventIds),
    _approval(f"{_EVENTS}/acknowledge", acknowledge_several, "Approve several events, or none", body=EventIds),
    _approval(f"{_EVENTS}/list/acknowledge", acknowledge_several, "The same", body=EventIds),
    _approval(f"{_EVENTS}/{{event}}/acknowledge", acknowledge, "Approve one event"),
]
