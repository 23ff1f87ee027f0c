"""virtualMachineScaleSets, and the instances in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from forewarn.control.commands import fleet
from forewarn.core.fleet import ScaleSet, Vm
from forewarn.core.refusal import Refusal
from forewarn.core.requests.find import any_case
from forewarn.core.requests.sets import staying_in
from forewarn.core.requests.vms import has_waiting_work
from forewarn.core.terms import Cause
from forewarn.operator.arm.endpoint import ALL, EXPAND, PAGES, PROVIDER, ArmCall, Ongoing, Outcome, arm, showing
from forewarn.operator.arm.vms import ask, evict, maintain_now, show_health, show_vm
from forewarn.operator.endpoint import Nothing
from forewarn.wire.arm.bodies import bad, read_scale_set
from forewarn.wire.arm.ids import SCALE_SETS, VMS
from forewarn.wire.arm.keeping import Json, merge, overlay
from forewarn.wire.arm.parts import Instances

_ALL_OF_GROUP = f"{PROVIDER}/{SCALE_SETS}"
_ONE = f"{_ALL_OF_GROUP}/{{set}}"
_INSTANCES = f"{_ONE}/{VMS}"
_INSTANCE = f"{_INSTANCES}/{{instance}}"

Act = Callable[[ArmCall, list[Vm]], Outcome]


def show_scale_set(asked: ArmCall, found: ScaleSet) -> Json:
    """The set as it is now."""
    return asked.views.scale_set(found)


def show_instances_health(asked: ArmCall, found: ScaleSet) -> Json:
    """How the instances of a scale set are doing, summed up."""
    return asked.views.scale_set_instance_view(found)


async def list_scale_sets(asked: ArmCall, _: Nothing) -> Outcome:
    """The scale sets of a group, or all of them."""

    def read() -> Outcome:
        if refusal := asked.unknown_group():
            return refusal
        sets = [each for each in asked.world.sets.values() if isinstance(each, ScaleSet)]
        known = {each.name: each for each in sets if asked.lists(each)}
        return asked.listed(known, lambda name: asked.views.scale_set(known[name]))

    return await asked.call.on_plane(read)


async def put_scale_set(asked: ArmCall, body: Json) -> Outcome:
    """Make a scale set, or change it."""
    name = asked.call.path("set")

    def write() -> Outcome:
        found = any_case(asked.world.sets, name)
        if isinstance(found, ScaleSet):
            return _put(asked, name, overlay(asked.views.scale_set(found), body))
        return _put(asked, name, body)

    return await asked.call.on_plane(write)


async def patch_scale_set(asked: ArmCall, body: Json) -> Outcome:
    """Change members of a scale set."""

    def write() -> Outcome:
        found = asked.scale_set()
        if isinstance(found, Refusal):
            return found
        return _put(asked, found.name, merge(asked.views.scale_set(found), body))

    return await asked.call.on_plane(write)


def _put(asked: ArmCall, name: str, body: Json) -> Outcome:
    if unknown := asked.unknown_group():
        return unknown
    found = any_case(asked.world.sets, name)
    before = found if isinstance(found, ScaleSet) else None
    capacity = len(staying_in(asked.world, before)) if before else 0
    wish = read_scale_set(name, asked.known_group, body)
    if isinstance(wish, Refusal):
        return wish
    operation = fleet.put_scale_set(asked.call.context.plane, wish, asked.call.actor)
    if isinstance(operation, Refusal):
        return operation
    made = asked.scale_set()
    if isinstance(made, Refusal):
        return made
    view = asked.views.scale_set(made)
    if before is None:
        return Response(msgspec.json.encode(view), HTTPStatus.CREATED, media_type="application/json")
    is_scaled_in = wish.capacity is not None and wish.capacity < capacity
    return Ongoing(operation, view) if is_scaled_in else view


async def delete_scale_set(asked: ArmCall, _: Nothing) -> Outcome:
    """Delete a scale set with its instances."""

    def write() -> Outcome:
        found = asked.scale_set()
        if isinstance(found, Refusal):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        staying, leaving = staying_in(asked.world, found), _last_deletion(asked, found)
        operation = fleet.delete_set(asked.call.context.plane, found, asked.call.actor)
        if isinstance(operation, Refusal):
            return operation
        if leaving is not None:  # by another request, which is followed by itself: the set goes with the last
            return Ongoing(operation if staying else leaving, leaving=found.name)
        return Ongoing(operation) if staying else Response(status_code=HTTPStatus.OK)

    return await asked.call.on_plane(write)


def _last_deletion(asked: ArmCall, owner: ScaleSet) -> str | None:
    """The deletion of an instance that was asked for last, where one is under way."""
    members = asked.world.members_of_set(owner.name)
    known = [operation for vm in members for operation in asked.world.operations_on_vm(vm.name)]
    deletions = [each for each in known if each.cause is Cause.DELETE]
    return max(deletions, key=lambda each: (each.created_at, each.id)).id if deletions else None


async def _act_on_some(act: Act, asked: ArmCall, body: Instances) -> Outcome:
    def write() -> Outcome:
        found = asked.scale_set()
        if isinstance(found, Refusal):
            return found
        vms = _chosen(asked, found, body)
        if isinstance(vms, Refusal):
            return vms
        if act is maintain_now and body.means_all:
            vms = [vm for vm in vms if has_waiting_work(asked.world, vm.name)] or vms
        return act(asked, vms)

    return await asked.call.on_plane(write)


async def _delete_some(asked: ArmCall, body: Instances) -> Outcome:
    if not body.instance_ids:
        return bad("instanceIds: name the instances to delete.")
    return await _act_on_some(partial(_ask, Cause.DELETE), asked, body)


def _chosen(asked: ArmCall, owner: ScaleSet, body: Instances) -> list[Vm] | Refusal:
    """The instances that are meant, each once."""
    if body.means_all:
        return [vm for vm in staying_in(asked.world, owner) if vm.instance is not None]
    if not body.instance_ids:
        return bad("instanceIds is empty. Name instances, or leave it out to mean all of them.")
    vms = []
    for number in dict.fromkeys(body.instance_ids or ()):
        vm = asked.numbered(owner, number)
        if isinstance(vm, Refusal):
            return vm
        vms.append(vm)
    return vms


def _ask(cause: Cause, asked: ArmCall, vms: list[Vm]) -> Outcome:
    return ask(asked, cause, vms)


async def list_instances(asked: ArmCall, _: Nothing) -> Outcome:
    """The instances of a scale set."""

    def read() -> Outcome:
        owner = asked.scale_set()
        if isinstance(owner, Refusal):
            return owner
        found = [vm for vm in asked.world.members_of_set(owner.name) if vm.instance is not None]
        members = {f"{vm.instance:08d}": vm for vm in found}
        return asked.listed(members, lambda number: asked.views.vm(members[number], expand=asked.expands))

    return await asked.call.on_plane(read)


async def delete_instance(asked: ArmCall, _: Nothing) -> Outcome:
    """Delete one instance."""

    def write() -> Outcome:
        vm = asked.instance()
        if isinstance(vm, Refusal):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return ask(asked, Cause.DELETE, [vm])

    return await asked.call.on_plane(write)


async def _act_on_one(act: Act, asked: ArmCall, _: Any) -> Outcome:  # noqa: ANN401 - bodies have no effect
    def write() -> Outcome:
        vm = asked.instance()
        return vm if isinstance(vm, Refusal) else act(asked, [vm])

    return await asked.call.on_plane(write)


async def _upgrade_some(asked: ArmCall, body: Instances) -> Outcome:
    """Nothing to do: a changed model is that of all instances at once."""
    return await _act_on_some(lambda _asked, _vms: Response(status_code=HTTPStatus.OK), asked, body)


def _evict(asked: ArmCall, vms: list[Vm]) -> Outcome:
    return evict(asked, vms[0])


_ACTS: dict[str, tuple[Act, str]] = {
    "restart": (partial(_ask, Cause.RESTART), "Reboot"),
    "redeploy": (partial(_ask, Cause.REDEPLOY), "Redeploy"),
    "reimage": (partial(_ask, Cause.REIMAGE), "Reimage; Reboot, where the image profile says so"),
    "reimageAll": (partial(_ask, Cause.REIMAGE), "The same as `reimage`"),
    "start": (partial(_ask, Cause.START), "Start, at once; no event"),
    "powerOff": (partial(_ask, Cause.STOP), "Stop, at once; no event"),
    "deallocate": (partial(_ask, Cause.DEALLOCATE), "Stop and give the place back, at once; no event"),
    "performMaintenance": (maintain_now, "Do now what waits: a redeploy"),
}

ENDPOINTS = [
    arm("GET", _ALL_OF_GROUP, list_scale_sets, "The scale sets of a resource group", query=PAGES),
    arm("GET", f"{ALL}/{SCALE_SETS}", list_scale_sets, "All scale sets", query=PAGES),
    arm("GET", _ONE, showing(ArmCall.scale_set, show_scale_set), "One scale set"),
    arm(
        "GET",
        f"{_ONE}/instanceView",
        showing(ArmCall.scale_set, show_instances_health),
        "How many instances have which status",
    ),
    arm("PUT", _ONE, put_scale_set, "Make a scale set, or change it", body=Json, kind=SCALE_SETS),
    arm("PATCH", _ONE, patch_scale_set, "Change members, capacity up and down", body=Json, kind=SCALE_SETS),
    arm("DELETE", _ONE, delete_scale_set, "Delete a scale set with its instances"),
    *(
        arm("POST", f"{_ONE}/{verb}", partial(_act_on_some, act), f"{told}; `instanceIds` or all", body=Instances)
        for verb, (act, told) in _ACTS.items()
    ),
    arm("POST", f"{_ONE}/manualupgrade", _upgrade_some, "Nothing to do; answered 200", body=Instances),
    arm("POST", f"{_ONE}/delete", _delete_some, "Delete instances: Terminate, by the profile", body=Instances),
    arm("GET", _INSTANCES, list_instances, "The instances of a scale set", query=PAGES | EXPAND),
    arm("GET", _INSTANCE, showing(ArmCall.instance, show_vm), "One instance", query=EXPAND),
    arm("GET", f"{_INSTANCE}/instanceView", showing(ArmCall.instance, show_health), "How an instance is doing"),
    arm("DELETE", _INSTANCE, delete_instance, "Delete one instance: Terminate, by the profile"),
    *(
        arm("POST", f"{_INSTANCE}/{verb}", partial(_act_on_one, act), told, body=Any)
        for verb, (act, told) in _ACTS.items()
    ),
    arm("POST", f"{_INSTANCE}/simulateEviction", partial(_act_on_one, _evict), "Preempt of Spot", body=Any),
]
