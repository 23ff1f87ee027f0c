"""What a client of ARM wrote about a VM, in the words of `compute`.

The body is kept as the client wrote it and can have any shape: members of an unexpected type are ignored.
"""

from __future__ import annotations

from typing import Any

import msgspec

from forewarn.core.fleet import ScaleSet, Vm
from forewarn.wire.imds.compute import DEFAULT_SIZE, Tree, merged

_MODEL = "properties.virtualMachineProfile"
_VM_SIZE = "properties.hardwareProfile.vmSize"
_SET_SIZE = "sku.name"
_IMAGE = ("id", "offer", "publisher", "sku", "version", "exactVersion", "communityGalleryImageId")
_DISK = ("caching", "createOption", "diskSizeGB", "name", "osType", "writeAcceleratorEnabled")
_LEAVES = {  # by the path in `compute`
    "additionalCapabilities.hibernationEnabled": "additionalCapabilities.hibernationEnabled",
    "extendedLocation.name": "extendedLocation.name",
    "extendedLocation.type": "extendedLocation.type",
    "host.id": "host.id",
    "hostGroup.id": "hostGroup.id",
    "licenseType": "licenseType",
    "osProfile.adminUsername": "osProfile.adminUsername",
    "osProfile.disablePasswordAuthentication": "osProfile.linuxConfiguration.disablePasswordAuthentication",
    "osType": "storageProfile.osDisk.osType",
    "securityProfile.encryptionAtHost": "securityProfile.encryptionAtHost",
    "securityProfile.secureBootEnabled": "securityProfile.uefiSettings.secureBootEnabled",
    "securityProfile.securityType": "securityProfile.securityType",
    "securityProfile.virtualTpmEnabled": "securityProfile.uefiSettings.vTpmEnabled",
    **{f"storageProfile.imageReference.{name}": f"storageProfile.imageReference.{name}" for name in _IMAGE},
    **{f"storageProfile.osDisk.{name}": f"storageProfile.osDisk.{name}" for name in _DISK},
    "storageProfile.osDisk.diffDiskSettings.option": "storageProfile.osDisk.diffDiskSettings.option",
    "storageProfile.osDisk.managedDisk.id": "storageProfile.osDisk.managedDisk.id",
    "storageProfile.osDisk.managedDisk.storageAccountType": "storageProfile.osDisk.managedDisk.storageAccountType",
    **{name: f"storageProfile.imageReference.{name}" for name in ("offer", "publisher", "sku")},
}


def of_vm(kept: str) -> Tree:
    """What is kept of a VM."""
    body = _decoded(kept)
    return _said(body, "properties", _VM_SIZE)


def of_scale_set(kept: str) -> Tree:
    """What is kept of a scale set's model."""
    body = _decoded(kept)
    return _said(body, _MODEL, _SET_SIZE)


def size_of(vm: Vm, owner: ScaleSet | None) -> str:
    """The VM's size, whoever has set it: of the VM rather than of its scale set, the fleet file before clients."""
    named = (
        vm.compute.get("vmSize"),
        _leaf(_decoded(vm.kept), _VM_SIZE),
        *((owner.compute.get("vmSize"), _leaf(_decoded(owner.kept), _SET_SIZE)) if owner is not None else ()),
    )
    return next((str(size) for size in named if size), DEFAULT_SIZE)


def location_in(kept: str) -> str:
    """Where a client says that a VM is; nothing, where it does not say."""
    return _leaf(_decoded(kept), "location") or ""


def _decoded(kept: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    return msgspec.json.decode(kept) if kept else {}


def _said(body: Any, root: str, size: str) -> Tree:  # noqa: ANN401 - whatever JSON holds
    model = _at(body, root)
    said = [_nested(path, _leaf(model, source)) for path, source in _LEAVES.items()]
    said += [_nested(f"plan.{name}", _leaf(body, f"plan.{name}")) for name in ("name", "product", "publisher")]
    image = "storageProfile.imageReference"
    version = _leaf(model, f"{image}.exactVersion") or _leaf(model, f"{image}.version")
    said += [_nested("version", None if version == "latest" else version), _nested("vmSize", _leaf(body, size))]
    if keys := _keys(model):
        said.append({"publicKeys": keys})
    if disks := [_data_disk(each) for each in _list(model, "storageProfile.dataDisks")]:
        said.append({"storageProfile": {"dataDisks": disks}})
    return merged({}, *said)


def _keys(model: object) -> list[Tree]:
    written = _list(model, "osProfile.linuxConfiguration.ssh.publicKeys")
    keys = [{name: _leaf(each, name) or "" for name in ("keyData", "path")} for each in written]
    return [dict(key) for key in keys if key["keyData"]]


def _data_disk(disk: object) -> Tree:
    paths = ("lun", *_DISK, "managedDisk.id", "managedDisk.storageAccountType")
    return merged({}, *(_nested(path, _leaf(disk, path)) for path in paths))


def _nested(path: str, value: str | None) -> Tree:
    """A leaf in its place; nothing at all, where there is no value."""
    if value is None:
        return {}
    name, _, rest = path.partition(".")
    return {name: _nested(rest, value) if rest else value}


def _at(value: Any, path: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What stands at the path, names in any case; None where nothing does."""
    for name in path.lower().split("."):
        if not isinstance(value, dict):
            return None
        value = next((each for key, each in value.items() if key.lower() == name), None)
    return value


def _list(value: object, path: str) -> list[Any]:
    found = _at(value, path)
    return found if isinstance(found, list) else []


def _leaf(value: object, path: str) -> str | None:
    found = _at(value, path)
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found) if isinstance(found, (str, int, float)) else None
