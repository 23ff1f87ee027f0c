"""virtualMachines."""

from __future__ import annotations

import re
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from forewarn.control.commands import vms as commands
from forewarn.control.commit import refusal_of
from forewarn.core.fleet import ScaleSet, Vm
from forewarn.core.refusal import Refusal
from forewarn.core.requests.find import any_case
from forewarn.core.terms import Cause, VmState
from forewarn.operator.arm.endpoint import ALL, EXPAND, PAGES, PROVIDER, ArmCall, Ongoing, Outcome, arm, showing
from forewarn.operator.endpoint import Nothing
from forewarn.wire.arm.bodies import bad, read_vm
from forewarn.wire.arm.ids import SCALE_SETS, VMS
from forewarn.wire.arm.keeping import Json, merge, overlay

_ALL_OF_GROUP = f"{PROVIDER}/{VMS}"
_ONE = f"{PROVIDER}/{VMS}/{{vm}}"

_OF_SCALE_SET = re.compile(r"'?virtualMachineScaleSet/id'?\s+eq\s+'?([^'\s]+)'?", re.IGNORECASE)
_WANTED = {
    Cause.START: VmState.RUNNING,
    Cause.STOP: VmState.STOPPED,
    Cause.DEALLOCATE: VmState.DEALLOCATED,
}


def show_vm(asked: ArmCall, vm: Vm) -> Json:
    """A VM or an instance, with how it is doing where that is asked for."""
    return asked.views.vm(vm, expand=asked.expands)


def show_health(asked: ArmCall, vm: Vm) -> Json:
    """How a VM or an instance is doing."""
    return asked.views.instance_view(vm)


async def list_vms(asked: ArmCall, _: Nothing) -> Outcome:
    """The VMs of a group, of a location, or all of them; instances are listed under their scale set."""
    expand = asked.expands or (asked.call.query("statusOnly") or "").lower() == "true"

    def read() -> Outcome:
        if refusal := asked.unknown_group():
            return refusal
        owner = _wanted_set(asked)
        if isinstance(owner, Refusal):
            return owner
        views = asked.views
        known = {
            name: vm
            for name, vm in asked.world.vms.items()
            if asked.lists(vm) and not views.is_instance(vm) and owner in {None, vm.set_name}
        }
        if (location := asked.call.request.path_params.get("location")) is not None:
            known = {name: vm for name, vm in known.items() if views.is_in(vm, location)}
        return asked.listed(known, lambda name: views.vm(known[name], expand=expand))

    return await asked.call.on_plane(read)


def _wanted_set(asked: ArmCall) -> str | Refusal | None:
    """The scale set whose VMs alone are wanted; no other filter is known."""
    asked_for = asked.call.query("$filter")
    if asked_for is None:
        return None
    found = _OF_SCALE_SET.fullmatch(asked_for.strip())
    if found is None:
        return bad(f"$filter is {asked_for!r}; it can be 'virtualMachineScaleSet/id' eq 'ID'.")
    wanted = asked.views.ids.set_in(found[1], SCALE_SETS)
    owner = any_case(asked.world.sets, wanted.name) if wanted else None
    if wanted is None or not isinstance(owner, ScaleSet) or not wanted.means(owner):
        return bad(f"$filter: there is no scale set {found[1]}.")
    return owner.name


async def put_vm(asked: ArmCall, body: Json) -> Outcome:
    """Make a VM, or change it."""
    name = asked.call.path("vm")

    def write() -> Outcome:
        before = any_case(asked.world.vms, name)
        return _put(asked, name, body if before is None else overlay(asked.views.vm(before), body))

    return await asked.call.on_plane(write)


async def patch_vm(asked: ArmCall, body: Json) -> Outcome:
    """Change members of a VM."""

    def write() -> Outcome:
        vm = asked.vm()
        if isinstance(vm, Refusal):
            return vm
        return _put(asked, vm.name, merge(asked.views.vm(vm), body))

    return await asked.call.on_plane(write)


def _put(asked: ArmCall, name: str, body: Json) -> Outcome:
    if unknown := asked.unknown_group():
        return unknown
    before = any_case(asked.world.vms, name)
    wish = read_vm(name, asked.known_group, body, asked.views.ids)
    if isinstance(wish, Refusal):
        return wish
    if refusal := refusal_of(commands.put_vm(asked.call.context.plane, wish, asked.call.actor)):
        return refusal
    vm = asked.vm()
    if isinstance(vm, Refusal):
        return vm
    status = HTTPStatus.CREATED if before is None else HTTPStatus.OK
    return Response(msgspec.json.encode(asked.views.vm(vm)), status, media_type="application/json")


async def delete_vm(asked: ArmCall, _: Nothing) -> Outcome:
    """Delete a VM, announced where its profile says so; one that is not there is deleted already."""

    def write() -> Outcome:
        vm = asked.vm()
        if isinstance(vm, Refusal):
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return ask(asked, Cause.DELETE, [vm])

    return await asked.call.on_plane(write)


async def _act(cause: Cause, asked: ArmCall, _: Any) -> Outcome:  # noqa: ANN401 - bodies have no effect
    def write() -> Outcome:
        vm = asked.vm()
        return vm if isinstance(vm, Refusal) else ask(asked, cause, [vm])

    return await asked.call.on_plane(write)


def ask(asked: ArmCall, cause: Cause, vms: list[Vm]) -> Outcome:
    """Ask for the same on all of the VMs; those that are already as they are wanted are left alone."""
    names = [vm.name for vm in vms if not _is_already(asked, cause, vm)]
    if not names:
        return Response(status_code=HTTPStatus.OK)
    plane = asked.call.context.plane
    found = commands.act_on_vms(plane, cause, names, asked.call.actor)
    return found if isinstance(found, Refusal) else Ongoing(found)


def _is_already(asked: ArmCall, cause: Cause, vm: Vm) -> bool:
    """Whether the VM is switched as the cause would switch it, and nobody has asked for anything else."""
    operations = asked.world.operations_on_vm(vm.name)
    return vm.state is _WANTED.get(cause) and not any(each.cause.is_users for each in operations)


async def perform_maintenance(asked: ArmCall, _: Nothing) -> Outcome:
    """Do the maintenance that waits for a VM now."""

    def write() -> Outcome:
        vm = asked.vm()
        return vm if isinstance(vm, Refusal) else maintain_now(asked, [vm])

    return await asked.call.on_plane(write)


def maintain_now(asked: ArmCall, vms: list[Vm]) -> Outcome:
    """Do what waits for the VMs."""
    if not vms:
        return Response(status_code=HTTPStatus.OK)
    plane, names = asked.call.context.plane, [vm.name for vm in vms]
    found = commands.do_waiting_work(plane, names, asked.call.actor)
    return found if isinstance(found, Refusal) else Ongoing(found)


async def reapply(asked: ArmCall, _: Nothing) -> Outcome:
    """Nothing to do: the state of a VM is always what was asked for."""

    def read() -> Outcome:
        vm = asked.vm()
        return vm if isinstance(vm, Refusal) else Response(status_code=HTTPStatus.OK)

    return await asked.call.on_plane(read)


async def simulate_eviction(asked: ArmCall, _: Nothing) -> Outcome:
    """Evict a Spot VM."""

    def write() -> Outcome:
        vm = asked.vm()
        return vm if isinstance(vm, Refusal) else evict(asked, vm)

    return await asked.call.on_plane(write)


def evict(asked: ArmCall, vm: Vm) -> Outcome:
    """Take the VM's capacity back."""
    found = commands.evict_vm(asked.call.context.plane, vm.name, asked.call.actor)
    return found if isinstance(found, Refusal) else Response(status_code=HTTPStatus.NO_CONTENT)


def _verb(verb: str, cause: Cause, summary: str) -> Any:  # noqa: ANN401 - an endpoint
    return arm("POST", f"{_ONE}/{verb}", partial(_act, cause), summary, body=Any)


_LISTED = {
    **PAGES,
    **EXPAND,
    "statusOnly": "`true`: the same as `$expand=instanceView`",
    "$filter": (
        "`'virtualMachineScaleSet/id' eq 'ID'`: the VMs that a fleet file puts in that scale set; "
        "its instances are listed under it"
    ),
}

ENDPOINTS = [
    arm("GET", _ALL_OF_GROUP, list_vms, "The VMs of a resource group", query=_LISTED),
    arm("GET", f"{ALL}/{VMS}", list_vms, "All VMs", query=_LISTED),
    arm("GET", f"{ALL}/locations/{{location}}/{VMS}", list_vms, "The VMs of a location", query=_LISTED),
    arm("GET", _ONE, showing(ArmCall.vm, show_vm), "One VM", query=EXPAND),
    arm("GET", f"{_ONE}/instanceView", showing(ArmCall.vm, show_health), "How a VM is doing"),
    arm("PUT", _ONE, put_vm, "Make a VM, or change it", body=Json, kind=VMS),
    arm("PATCH", _ONE, patch_vm, "Change members of a VM", body=Json, kind=VMS),
    arm("DELETE", _ONE, delete_vm, "Delete a VM: Terminate, where its profile says so"),
    _verb("restart", Cause.RESTART, "Reboot, with notice where the VM's scope is on"),
    _verb("redeploy", Cause.REDEPLOY, "Redeploy, with notice where the VM's scope is on"),
    _verb("reimage", Cause.REIMAGE, "Reimage; Reboot, where the image profile says so"),
    _verb("start", Cause.START, "Start, at once; no event"),
    _verb("powerOff", Cause.STOP, "Stop, at once; no event. `skipShutdown` has no effect"),
    _verb("deallocate", Cause.DEALLOCATE, "Stop and give its place back, at once; no event"),
    arm("POST", f"{_ONE}/reapply", reapply, "Nothing to do; answered 200", body=Any),
    arm("POST", f"{_ONE}/performMaintenance", perform_maintenance, "Do now what waits: a redeploy", body=Any),
    arm("POST", f"{_ONE}/simulateEviction", simulate_eviction, "Preempt of a Spot VM", body=Any),
]
