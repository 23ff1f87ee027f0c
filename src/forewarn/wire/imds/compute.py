"""The members of `compute`: when each was introduced, what it is by default, and what a fleet file may set.

Every leaf is a string, as on Azure; what does not apply is an empty string.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from forewarn.core.fleet_check import Place, Problem
from forewarn.core.fleet_spec import FleetSpec
from forewarn.wire.choices import suggest

Tree = dict[str, "Tree | list[Tree] | str"]
Part = Tree | list[Tree] | str

DEFAULT_SIZE = "Standard_D2s_v3"

# The version that introduced a member, by path; the others are as old as the category. `*`: any element of a list.
SINCE = MappingProxyType(
    {
        "additionalCapabilities": "2021-11-01",
        "azEnvironment": "2018-10-01",
        "customData": "2019-02-01",
        "evictionPolicy": "2020-12-01",
        "extendedLocation": "2021-03-01",
        "host": "2021-11-15",
        "hostGroup": "2021-11-15",
        "isHostCompatibilityLayerVm": "2020-06-01",
        "licenseType": "2020-09-01",
        "osProfile": "2020-07-15",
        "osProfile.disablePasswordAuthentication": "2020-10-01",
        "physicalZone": "2023-11-15",
        "placementGroupId": "2017-08-01",
        "plan": "2018-04-02",
        "platformSubFaultDomain": "2021-10-01",
        "priority": "2020-12-01",
        "provider": "2018-10-01",
        "publicKeys": "2018-04-02",
        "resourceGroupName": "2017-08-01",
        "resourceId": "2019-03-11",
        "securityProfile": "2020-06-01",
        "securityProfile.encryptionAtHost": "2021-11-01",
        "securityProfile.securityType": "2021-12-13",
        "storageProfile": "2019-06-01",
        "storageProfile.dataDisks.*.bytesPerSecondThrottle": "2021-05-01",
        "storageProfile.dataDisks.*.diskCapacityBytes": "2021-05-01",
        "storageProfile.dataDisks.*.isSharedDisk": "2021-05-01",
        "storageProfile.dataDisks.*.isUltraDisk": "2021-05-01",
        "storageProfile.dataDisks.*.opsPerSecondThrottle": "2021-05-01",
        "storageProfile.imageReference.communityGalleryImageId": "2023-07-01",
        "storageProfile.imageReference.exactVersion": "2023-07-01",
        "storageProfile.imageReference.sharedGalleryImageId": "2023-07-01",
        "storageProfile.resourceDisk": "2021-02-01",
        "subscriptionId": "2017-08-01",
        "tags": "2017-08-01",
        "tagsList": "2019-06-04",
        "userData": "2021-01-01",
        "virtualMachineScaleSet": "2021-03-01",
        "vmScaleSetName": "2017-12-01",
        "zone": "2017-12-01",
    }
)
FIRST_VERSION = "2017-04-02"

# What a fleet file may set, each with its default; lists show what one element of them has.
SETTABLE: Tree = {
    "additionalCapabilities": {"hibernationEnabled": "false"},
    "azEnvironment": "AzurePublicCloud",
    "customData": "",
    "extendedLocation": {"name": "", "type": ""},
    "host": {"id": ""},
    "hostGroup": {"id": ""},
    "isHostCompatibilityLayerVm": "false",
    "licenseType": "",
    "offer": "debian-12",
    "osProfile": {"adminUsername": "azureuser", "disablePasswordAuthentication": ""},
    "osType": "Linux",
    "physicalZone": "",
    "plan": {"name": "", "product": "", "publisher": ""},
    "platformSubFaultDomain": "",
    "publicKeys": [{"keyData": "", "path": ""}],
    "publisher": "Debian",
    "securityProfile": {
        "encryptionAtHost": "false",
        "secureBootEnabled": "false",
        "securityType": "",
        "virtualTpmEnabled": "false",
    },
    "sku": "12-gen2",
    "storageProfile": {
        "dataDisks": [
            {
                "bytesPerSecondThrottle": "",
                "caching": "None",
                "createOption": "Empty",
                "diffDiskSettings": {"option": ""},
                "diskCapacityBytes": "",
                "diskSizeGB": "",
                "encryptionSettings": {"enabled": "false"},
                "image": {"uri": ""},
                "isSharedDisk": "",
                "isUltraDisk": "false",
                "lun": "",
                "managedDisk": {"id": "", "storageAccountType": "Premium_LRS"},
                "name": "",
                "opsPerSecondThrottle": "",
                "osType": "",
                "vhd": {"uri": ""},
                "writeAcceleratorEnabled": "false",
            }
        ],
        "imageReference": {
            "communityGalleryImageId": "",
            "exactVersion": "",
            "id": "",
            "offer": "",
            "publisher": "",
            "sharedGalleryImageId": "",
            "sku": "",
            "version": "latest",
        },
        "osDisk": {
            "caching": "ReadWrite",
            "createOption": "FromImage",
            "diffDiskSettings": {"option": ""},
            "diskSizeGB": "30",
            "encryptionSettings": {"enabled": "false"},
            "image": {"uri": ""},
            "managedDisk": {"id": "", "storageAccountType": "Premium_LRS"},
            "name": "",
            "osType": "",
            "vhd": {"uri": ""},
            "writeAcceleratorEnabled": "false",
        },
        "resourceDisk": {"size": "16777216"},
    },
    "userData": "",
    "version": "0.20250703.2162",
    "vmSize": DEFAULT_SIZE,
}

# What the service itself knows, and how that is set.
KNOWN_OTHERWISE = MappingProxyType(
    {
        "evictionPolicy": "Use the key eviction_policy.",
        "location": "Use the setting location.",
        "name": "Use the key name.",
        "osProfile.computerName": "Use the key computer_name.",
        "placementGroupId": "It follows from the scale set.",
        "platformFaultDomain": "It follows from the host.",
        "platformUpdateDomain": "Use the key update_domain.",
        "priority": "Use the key priority.",
        "provider": "It is always Microsoft.Compute.",
        "resourceGroupName": "Use the key resource_group.",
        "resourceId": "It follows from the names.",
        "subscriptionId": "Use the setting subscription.",
        "tags": "Use the key tags.",
        "tagsList": "Use the key tags.",
        "virtualMachineScaleSet": "It follows from the scale set.",
        "vmId": "The service chooses it.",
        "vmScaleSetName": "It follows from the scale set.",
        "zone": "Use the key zone.",
    }
)


def complete(said: Mapping[str, Any]) -> Tree:
    """What was said of a VM, over the defaults; those follow each other where that is plausible."""
    tree: Any = _over(SETTABLE, said)
    image, disk = tree["storageProfile"]["imageReference"], tree["storageProfile"]["osDisk"]
    if image["id"]:  # an image of the user's own has no publisher
        tree |= {name: said.get(name, "") for name in ("offer", "publisher", "sku", "version")}
    else:
        image |= {name: image[name] or tree[name] for name in ("offer", "publisher", "sku")}
    disk["osType"] = disk["osType"] or tree["osType"]
    profile = tree["osProfile"]
    for key in tree["publicKeys"]:
        key["path"] = key["path"] or f"/home/{profile['adminUsername']}/.ssh/authorized_keys"
    profile["disablePasswordAuthentication"] = profile["disablePasswordAuthentication"] or (
        "true" if tree["publicKeys"] else "false"
    )
    return cast("Tree", tree)


def _over(template: Any, said: Any) -> Any:  # noqa: ANN401 - a tree, or a part of one
    """Merge given values into the template; a list replaces the template's list."""
    if isinstance(template, list):
        return [_over(template[0], each) for each in said or ()]
    if isinstance(template, dict):
        return {name: _over(value, (said or {}).get(name)) for name, value in template.items()}
    return template if said is None else said


def merged(first: Mapping[str, Any], *others: Mapping[str, Any]) -> Tree:
    """Several sayings in one; the later ones win."""
    whole = dict(first)
    for other in others:
        for name, value in other.items():
            before = whole.get(name)
            is_nested = isinstance(before, dict) and isinstance(value, dict)
            whole[name] = merged(before, value) if is_nested else value  # type: ignore[arg-type]
    return whole


def seen_by(version: str, part: Any, path: str = "") -> Any:  # noqa: ANN401 - a tree, or a part of one
    """The tree without the members that a later version introduced, in the order of their names."""
    if isinstance(part, list):
        return [seen_by(version, each, f"{path}.*") for each in part]
    if not isinstance(part, dict):
        return part
    below = ((name, f"{path}.{name}" if path else name, part[name]) for name in sorted(part, key=str.lower))
    return {name: seen_by(version, value, at) for name, at, value in below if SINCE.get(at, "") <= version}


def check(spec: FleetSpec) -> list[Problem]:
    """All that is wrong with the `compute` of VMs and scale sets."""
    problems = []
    for section in ("vms", "scale_sets"):
        for index, entry in enumerate(getattr(spec, section)):
            where = Place(section, index, "compute")
            problems += [Problem(where, *each) for each in _faults(SETTABLE, entry.compute, "")]
    return problems


def _faults(template: Part, said: object, path: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a member, and what to do."""
    member = f"compute.{path}" if path else "compute"
    if isinstance(template, str):
        if not isinstance(said, str):
            yield f"{member} is not a text.", "Write it in quotes, as every value in compute."
        elif "\0" in said:
            yield f"{member} holds a NUL character.", "Leave it out."
    elif isinstance(template, list):
        if not isinstance(said, list):
            yield f"{member} is not a list.", "Write a list of tables in brackets."
            return
        for each in said:
            yield from _faults(template[0], each, f"{path}.*")
    elif not isinstance(said, dict):
        yield f"{member} is not a table.", f"It can have {', '.join(template)}."
    else:
        for name, value in said.items():
            yield from _faults_below(template, name, value, f"{path}.{name}" if path else name)


def _faults_below(template: Tree, name: str, value: object, path: str) -> Iterator[tuple[str, str]]:
    if name in template:
        yield from _faults(template[name], value, path)
    elif hint := KNOWN_OTHERWISE.get(path):
        yield f"compute.{path} cannot be set here.", hint
    else:
        yield f"There is no member compute.{path}.", suggest(name, list(template))
