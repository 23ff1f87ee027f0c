"""The instance's metadata: what clients read to learn their own name, size, image, keys and network.

Every leaf is a string, as on Azure; `compute.name` equals the name in an event's Resources.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_network

from forewarn.core.fleet import ScaleSet, Vm
from forewarn.wire.http import Answer, answer, to_json
from forewarn.wire.imds import arm_model, errors
from forewarn.wire.imds.compute import Part, Tree, complete, merged, seen_by

EXTENDED_SINCE = "2021-03-01"
_PREFIXES = {4: 24, 6: 64}  # of a subnet that nobody named


@dataclass(frozen=True, slots=True)
class Site:
    """Where a fleet says that it is."""

    location: str = "local"
    subscription: str = "00000000-0000-4000-8000-000000000001"
    tenant: str = "00000000-0000-4000-8000-000000000002"


@dataclass(frozen=True, slots=True)
class Subject:
    """The VM that asks, its scale set where it has one, and the address that it calls from."""

    vm: Vm
    scale_set: ScaleSet | None = None
    address: str = ""


def tree(subject: Subject, site: Site, version: str, *, extended: bool = False) -> Tree:
    """All that a version shows of the VM, in the shape of the real answer."""
    whole: Tree = {"compute": seen_by(version, _compute(subject, site))}
    if extended and version >= EXTENDED_SINCE:  # whether it is one of Azure's pre-provisioned VMs
        whole["extended"] = {"compute": {"hasCustomData": "false", "ppsType": "None"}}
    return whole | {"network": {"interface": [_interface(subject)]}}


def _compute(subject: Subject, site: Site) -> Tree:
    vm, owner = subject.vm, subject.scale_set
    said = merged(
        *((arm_model.of_scale_set(owner.kept), owner.compute) if owner is not None else ({},)),
        arm_model.of_vm(vm.kept),
        vm.compute,
    )
    group = f"/subscriptions/{site.subscription}/resourceGroups/{vm.resource_group}/providers/Microsoft.Compute"
    whole = "" if owner is None else f"{group}/virtualMachineScaleSets/{owner.name}"
    is_numbered = bool(whole) and vm.instance is not None
    disk = f"{vm.name}_OsDisk_1"
    ours: Tree = {
        "evictionPolicy": str(vm.eviction_policy) if vm.priority == "Spot" else "",
        "location": arm_model.location_in(vm.kept)
        or (arm_model.location_in(owner.kept) if owner is not None else "")
        or site.location,
        "name": vm.name,
        "osProfile": {"computerName": vm.computer_name or vm.name},
        "placementGroupId": "" if vm.placement_group is None else vm.scope,
        "platformFaultDomain": str(vm.fault_domain),
        "platformUpdateDomain": str(vm.update_domain),
        "priority": str(vm.priority),
        "provider": "Microsoft.Compute",
        "resourceGroupName": vm.resource_group,
        "resourceId": f"{whole}/virtualMachines/{vm.instance}"
        if is_numbered
        else f"{group}/virtualMachines/{vm.name}",
        "subscriptionId": site.subscription,
        "tags": ";".join(f"{name}:{value}" for name, value in vm.tags.items()),
        "tagsList": [{"name": name, "value": value} for name, value in vm.tags.items()],
        "virtualMachineScaleSet": {"id": "" if is_numbered else whole},  # of a flexible set alone
        "vmId": vm.vm_id,
        "vmScaleSetName": "" if owner is None else owner.name,
        "zone": vm.zone or "",
    }
    named: Tree = {
        "storageProfile": {"osDisk": {"name": disk, "managedDisk": {"id": f"{group}/disks/{disk}"}}},
    }
    return merged(complete(merged(named, said)), ours)


# The network. The interface is the primary one, where the real service shows all of them.


def _interface(subject: Subject) -> Tree:
    vm = subject.vm
    addresses = vm.addresses or ((subject.address,) if subject.address else ())
    v4 = [each for each in addresses if ":" not in each]
    v6 = [each for each in addresses if ":" in each]
    subnet = vm.subnet or (subject.scale_set.subnet if subject.scale_set is not None else None)
    ipv6: Tree = {"ipAddress": [{"privateIpAddress": each} for each in v6]}
    if len(v6) > 1:  # cloud-init takes the prefix of further addresses from it
        ipv6["subnet"] = _subnet(v6, None)
    return {
        "ipv4": {
            "ipAddress": [{"privateIpAddress": each, "publicIpAddress": ""} for each in v4],
            "subnet": _subnet(v4, subnet),
        },
        "ipv6": ipv6,
        "macAddress": vm.mac or derived_mac(vm.vm_id),
    }


def _subnet(addresses: list[str], named: str | None) -> list[Tree]:
    if not addresses:
        return []
    prefix = _PREFIXES[6 if ":" in addresses[0] else 4]
    try:
        network = ip_network(named or f"{addresses[0]}/{prefix}", strict=False)
    except ValueError:  # behind an interface of its own a VM may have addresses of any kind
        return []
    return [{"address": str(network.network_address), "prefix": str(network.prefixlen)}]


def derived_mac(vm_id: str) -> str:
    """A locally administered MAC address that is the VM's as long as it lives."""
    return "02" + sha256(vm_id.encode()).hexdigest()[:10].upper()


# Parts of it.


def read(whole: Tree, path: tuple[str, ...], *, as_text: bool) -> Answer:
    """The part of the tree that the path names, matched whatever the case."""
    part: Part = whole
    for name in path:
        found = _child(part, name)
        if found is None:
            return errors.NOT_FOUND
        part = found
    if not as_text:
        return answer(200, to_json(part))
    return answer(200, _text(part).encode(), content_type="text/plain; charset=utf-8")


def _child(part: Part, name: str) -> Part | None:
    if isinstance(part, list):
        return next((each for index, each in enumerate(part) if str(index) == name), None)
    if isinstance(part, dict):
        return next((value for key, value in part.items() if key.lower() == name), None)
    return None


def _text(part: Part) -> str:
    """A leaf as it is; of anything else the names below it, a slash behind those that go on."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "\n".join(f"{index}/" for index in range(len(part)))
    return "\n".join(name if isinstance(value, str) else f"{name}/" for name, value in part.items())
