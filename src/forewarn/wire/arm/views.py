"""What clients are told: resources as they are now, over whatever a client wrote besides.

A client that reads, changes a member and writes back loses nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from forewarn.core.fleet import AvailabilitySet, ScaleSet, Vm
from forewarn.core.phase import Phase
from forewarn.core.policy import policy_of
from forewarn.core.requests.sets import has_one_group, staying_in
from forewarn.core.terms import Action, AutoApproval, Priority, VmState
from forewarn.core.world import World
from forewarn.wire.arm.ids import COMPUTE, SCALE_SETS, VMS, Ids
from forewarn.wire.arm.keeping import Json, merge
from forewarn.wire.imds.arm_model import location_in, size_of
from forewarn.wire.imds.compute import DEFAULT_SIZE
from forewarn.wire.imds.instance import Site
from forewarn.wire.times import iso_duration

_POWER = {
    VmState.RUNNING: ("running", "VM running"),
    VmState.STOPPED: ("stopped", "VM stopped"),
    VmState.DEALLOCATED: ("deallocated", "VM deallocated"),
    VmState.DOWN: ("stopped", "VM stopped"),
    VmState.DELETED: ("deallocated", "VM deallocated"),
}
_SWITCHING = {
    Action.START: ("starting", "VM starting"),
    Action.STOP: ("stopping", "VM stopping"),
    Action.DEALLOCATE: ("deallocating", "VM deallocating"),
}


@dataclass(frozen=True, slots=True)
class Views:
    """Resources of one world in the words of ARM."""

    world: World
    site: Site

    @property
    def ids(self) -> Ids:
        """How everything here is called."""
        return Ids(self.site.subscription)

    def vm(self, vm: Vm, *, expand: bool = False) -> Json:
        """A VM, or an instance of a scale set; `expand` adds how it is doing."""
        owner = self.world.sets.get(vm.set_name) if vm.set_name else None
        is_instance = self.is_instance(vm)
        properties: Json = {
            "vmId": vm.vm_id,
            "provisioningState": self._provisioning(vm),
            "osProfile": {"computerName": vm.computer_name or vm.name},
            "hardwareProfile": {"vmSize": size_of(vm, owner if isinstance(owner, ScaleSet) else None)},
        }
        if isinstance(owner, AvailabilitySet):
            properties["availabilitySet"] = {"id": self.ids.of_set(owner)}
        elif isinstance(owner, ScaleSet) and not is_instance:
            properties["virtualMachineScaleSet"] = {"id": self.ids.of_set(owner)}
        properties |= _priority(vm)
        if is_instance:
            properties["latestModelApplied"] = True
        else:
            properties |= _policy(policy_of(self.world, vm))
        properties |= _profile(vm)
        if expand:
            properties["instanceView"] = self.instance_view(vm)
        view: Json = {
            "id": self.ids.of_vm(self.world, vm),
            "name": vm.name,
            "type": f"{COMPUTE}/{SCALE_SETS}/{VMS}" if is_instance else f"{COMPUTE}/{VMS}",
            "tags": dict(vm.tags),
            "properties": properties,
        }
        if is_instance:
            view["instanceId"] = str(vm.instance)
        if vm.zone is not None:
            view["zones"] = [vm.zone]
        location = location_in(owner.kept) if isinstance(owner, ScaleSet) else ""
        return self._over(vm.kept, view, _VM_BASE | ({"location": location} if location else {}))

    def is_in(self, vm: Vm, location: str) -> bool:
        """Whether a client that asks for the location's VMs means this one, too."""
        return str(self.vm(vm)["location"]).lower() == location.lower()

    def is_instance(self, vm: Vm) -> bool:
        """Whether the VM is found under its scale set, and not by itself."""
        owner = self.world.sets.get(vm.set_name) if vm.set_name else None
        return isinstance(owner, ScaleSet) and vm.instance is not None

    def instance_view(self, vm: Vm) -> Json:
        """How a VM is doing."""
        return {
            "platformUpdateDomain": vm.update_domain,
            "platformFaultDomain": vm.fault_domain,
            "computerName": vm.computer_name or vm.name,
            "statuses": self._statuses(vm),
        }

    def _statuses(self, vm: Vm) -> list[Json]:
        power, words = self._power(vm)
        return [_PROVISIONED, _status(f"PowerState/{power}", words)]

    def availability_set(self, owner: AvailabilitySet) -> Json:
        """An availability set."""
        members = [{"id": self.ids.of_vm(self.world, vm)} for vm in self.world.members_of_set(owner.name)]
        view: Json = {
            "id": self.ids.of_set(owner),
            "name": owner.name,
            "type": f"{COMPUTE}/availabilitySets",
            "tags": dict(owner.tags),
            "properties": {
                "platformUpdateDomainCount": owner.update_domains,
                "platformFaultDomainCount": owner.fault_domains,
                "virtualMachines": members,
                **_policy(owner.auto_approve),
            },
        }
        return self._over(owner.kept, view, {"sku": {"name": "Aligned"}})

    def scale_set(self, owner: ScaleSet) -> Json:
        """A scale set."""
        model: Json = _profile(owner) | _priority(owner)
        view: Json = {
            "id": self.ids.of_set(owner),
            "name": owner.name,
            "type": f"{COMPUTE}/{SCALE_SETS}",
            "tags": dict(owner.tags),
            "sku": {"capacity": len(staying_in(self.world, owner))} | _size(owner),
            "properties": {
                "provisioningState": "Deleting" if owner.is_leaving else "Succeeded",
                "singlePlacementGroup": has_one_group(owner),
                "virtualMachineProfile": model,
                **_policy(owner.auto_approve),
            },
        }
        if owner.zones:
            view["zones"] = list(owner.zones)
        return self._over(owner.kept, view, _SCALE_SET_BASE)

    def scale_set_instance_view(self, owner: ScaleSet) -> Json:
        """How the instances of a scale set are doing: how many of them have each status."""
        statuses = [each["code"] for vm in self.world.members_of_set(owner.name) for each in self._statuses(vm)]
        summary = [{"code": code, "count": count} for code, count in sorted(Counter(statuses).items())]
        return {"virtualMachine": {"statusesSummary": summary}, "statuses": [_PROVISIONED]}

    def group(self, name: str) -> Json:
        """A resource group."""
        declared = self.world.groups.get(name)
        view: Json = {
            "id": self.ids.group(name),
            "name": name,
            "type": "Microsoft.Resources/resourceGroups",
            "properties": {"provisioningState": "Succeeded"},
        }
        return self._over(declared.kept if declared else "", view, {})

    def subscription(self) -> Json:
        """The subscription."""
        return {
            "id": self.ids.root,
            "authorizationSource": "RoleBased",
            "managedByTenants": [],
            "subscriptionId": self.site.subscription,
            "tenantId": self.site.tenant,
            "displayName": "forewarn",
            "state": "Enabled",
            "subscriptionPolicies": {"locationPlacementId": "", "quotaId": "", "spendingLimit": "Off"},
        }

    def _over(self, kept: str, view: Json, base: Json) -> Json:
        """What we know, over what a client wrote, over what every client expects to find."""
        written: Json = msgspec.json.decode(kept) if kept else {}
        if "tags" in view:
            written.pop("tags", None)  # one that was taken away since must not come back
        merged: Json = merge(merge(base, written), view)
        location = merged.pop("location", None) or self.site.location
        return {key: merged.pop(key) for key in ("name", "id", "type")} | {"location": location} | merged

    def _provisioning(self, vm: Vm) -> str:
        return "Deleting" if any(self._started(vm, Action.DELETE)) else "Succeeded"

    def _power(self, vm: Vm) -> tuple[str, str]:
        for action, told in _SWITCHING.items():
            if any(self._started(vm, action)):
                return told
        return _POWER[vm.state]

    def _started(self, vm: Vm, action: Action) -> Iterable[bool]:
        for operation in self.world.operations_on_vm(vm.name):
            if operation.action is action and operation.phase is Phase.STARTED:
                yield True


_VM_BASE: Json = {
    "properties": {
        "storageProfile": {"dataDisks": []},
        "networkProfile": {"networkInterfaces": []},
    }
}
_SCALE_SET_BASE: Json = {
    "sku": {"name": DEFAULT_SIZE, "tier": "Standard"},
    "properties": {"orchestrationMode": "Uniform", "upgradePolicy": {"mode": "Automatic"}},
}


def _size(owner: ScaleSet) -> Json:
    """The size of instances, where a fleet file has set it."""
    return {"name": owner.compute["vmSize"]} if "vmSize" in owner.compute else {}


def _status(code: str, words: str) -> Json:
    return {"code": code, "level": "Info", "displayStatus": words}


_PROVISIONED = _status("ProvisioningState/succeeded", "Provisioning succeeded")


def _priority(of: Vm | ScaleSet) -> Json:
    """Whether it can be evicted, and what becomes of it then."""
    policy = {"evictionPolicy": of.eviction_policy} if of.priority is Priority.SPOT else {}
    return {"priority": of.priority, **policy}


def _profile(of: Vm | ScaleSet) -> Json:
    """What is announced of deletes and reimages."""
    terminate: Json = {"enable": of.terminate_notification is not None}
    if of.terminate_notification is not None:
        terminate["notBeforeTimeout"] = iso_duration(of.terminate_notification)
    image: Json = {"enable": True, "notBeforeTimeout": "PT15M"} if of.announces_reimage else {"enable": False}
    profile = {"terminateNotificationProfile": terminate, "osImageNotificationProfile": image}
    return {"scheduledEventsProfile": profile}


def _policy(auto_approve: tuple[str, ...]) -> Json:
    """What is approved beforehand."""
    return {
        "scheduledEventsPolicy": {
            "userInitiatedReboot": {"automaticallyApprove": AutoApproval.REBOOT in auto_approve},
            "userInitiatedRedeploy": {"automaticallyApprove": AutoApproval.REDEPLOY in auto_approve},
            "allInstancesDown": {"automaticallyApprove": AutoApproval.ALL_DOWN in auto_approve},
        }
    }
