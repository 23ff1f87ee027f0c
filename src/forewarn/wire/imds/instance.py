"""The instance's metadata: what clients read to learn their own name.

Every leaf is a string, as on Azure; `compute.name` equals the name in an event's Resources.
"""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.core.fleet import Vm
from forewarn.wire.http import Answer, answer, to_json
from forewarn.wire.imds import errors

Tree = dict[str, "Tree | list[Tree] | str"]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a fleet says that it is."""

    location: str = "local"
    subscription: str = "00000000-0000-4000-8000-000000000001"
    tenant: str = "00000000-0000-4000-8000-000000000002"


def tree(vm: Vm, site: Site, scale_set: str = "") -> Tree:
    """All that is known of the VM, in the shape of the real answer."""
    group = f"/subscriptions/{site.subscription}/resourceGroups/{vm.resource_group}/providers/Microsoft.Compute"
    is_numbered = scale_set and vm.instance is not None
    path = f"virtualMachineScaleSets/{scale_set}/virtualMachines/{vm.instance}" if is_numbered else None
    compute: Tree = {
        "azEnvironment": "AzurePublicCloud",
        "evictionPolicy": str(vm.eviction_policy) if vm.priority == "Spot" else "",
        "location": site.location,
        "name": vm.name,
        "osProfile": {"computerName": vm.computer_name or vm.name},
        "osType": "Linux",
        "placementGroupId": "" if vm.placement_group is None else vm.scope,
        "platformFaultDomain": str(vm.fault_domain),
        "platformUpdateDomain": str(vm.update_domain),
        "priority": str(vm.priority),
        "provider": "Microsoft.Compute",
        "resourceGroupName": vm.resource_group,
        "resourceId": f"{group}/{path or f'virtualMachines/{vm.name}'}",
        "subscriptionId": site.subscription,
        "tags": ";".join(f"{name}:{value}" for name, value in vm.tags.items()),
        "tagsList": [{"name": name, "value": value} for name, value in vm.tags.items()],
        "vmId": vm.vm_id,
        "vmScaleSetName": scale_set,
        "vmSize": "",
        "zone": vm.zone or "",
    }
    v4: list[Tree] = [
        {"privateIpAddress": each, "publicIpAddress": ""} for each in vm.addresses if ":" not in each
    ]
    v6: list[Tree] = [{"privateIpAddress": each} for each in vm.addresses if ":" in each]
    interface: Tree = {"ipv4": {"ipAddress": v4}, "ipv6": {"ipAddress": v6}}
    return {"compute": compute, "network": {"interface": [interface]}}


def read(whole: Tree, path: tuple[str, ...], *, as_text: bool) -> Answer:
    """The part of the tree that the path names, matched whatever the case."""
    part: Tree | list[Tree] | str = whole
    for name in path:
        found = _child(part, name)
        if found is None:
            return errors.NOT_FOUND
        part = found
    if not as_text:
        return answer(200, to_json(part))
    return answer(200, _text(part).encode(), content_type="text/plain; charset=utf-8")


def _child(part: Tree | list[Tree] | str, name: str) -> Tree | list[Tree] | str | None:
    if isinstance(part, list):
        return next((each for index, each in enumerate(part) if str(index) == name), None)
    if isinstance(part, dict):
        return next((value for key, value in part.items() if key.lower() == name), None)
    return None


def _text(part: Tree | list[Tree] | str) -> str:
    """A leaf as it is; of anything else the names below it, a slash behind those that go on."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "\n".join(f"{index}/" for index in range(len(part)))
    return "\n".join(name if isinstance(value, str) else f"{name}/" for name, value in part.items())
