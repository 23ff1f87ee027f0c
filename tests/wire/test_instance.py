"""Instance metadata: which members a version has, where their values come from, and what a fleet file may set."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from forewarn.core.fleet import ScaleSet, Vm
from forewarn.wire.fleet_file import BadFleet, read_json, read_toml, write_json, write_toml
from forewarn.wire.imds.compute import SINCE
from forewarn.wire.imds.instance import Site, Subject, read, tree
from forewarn.wire.imds.versions import INSTANCE_VERSIONS

NEWEST = INSTANCE_VERSIONS[-1]
SOLO = Vm("solo", "5f0b2d3c-8a41-4b7e-9c55-1d2e3f405162", "host-0", None, "solo", addresses=("10.0.0.4",))
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ops"

# What a client of ARM writes, as `az vm create` and the SDKs do.
ARM_VM = {
    "location": "westeurope",
    "plan": {"name": "p", "product": "q", "publisher": "r"},
    "properties": {
        "hardwareProfile": {"vmSize": "Standard_D8s_v5"},
        "storageProfile": {
            "imageReference": {
                "publisher": "Canonical",
                "offer": "ubuntu-24_04-lts",
                "sku": "server",
                "version": "latest",
                "exactVersion": "24.04.202507010",
            },
            "osDisk": {"name": "os", "diskSizeGB": 64, "osType": "Linux", "managedDisk": {"id": "/disks/os"}},
            "dataDisks": [{"lun": 0, "name": "data", "diskSizeGB": 128, "createOption": "Attach"}],
        },
        "osProfile": {
            "adminUsername": "ops",
            "linuxConfiguration": {
                "disablePasswordAuthentication": True,
                "ssh": {"publicKeys": [{"path": "/k", "keyData": KEY}]},
            },
        },
        "securityProfile": {
            "securityType": "TrustedLaunch",
            "uefiSettings": {"secureBootEnabled": True, "vTpmEnabled": True},
        },
        "licenseType": "RHEL_BYOS",
    },
}


def compute(vm: Vm = SOLO, owner: ScaleSet | None = None, version: str = NEWEST) -> Any:
    return tree(Subject(vm, owner), Site(), version)["compute"]


def interface(vm: Vm = SOLO, owner: ScaleSet | None = None, address: str = "") -> Any:
    whole: Any = tree(Subject(vm, owner, address), Site(), NEWEST)
    return whole["network"]["interface"][0]


def paths(part: Any, above: str = "") -> set[str]:
    """The paths of all members, those with members of their own included."""
    if isinstance(part, list):
        return {path for each in part for path in paths(each, f"{above}.*")}
    if not isinstance(part, dict):
        return set()
    here = {f"{above}.{name}" if above else name: value for name, value in part.items()}
    return set(here).union(*(paths(value, path) for path, value in here.items()))


# Versions.


@pytest.mark.parametrize("version", INSTANCE_VERSIONS[1:])
def test_version_has_exactly_the_members_that_were_introduced_by_then(version: str):
    disk = {"compute": {"storageProfile": {"dataDisks": [{"lun": "0"}]}}}
    vm = replace(SOLO, **disk)

    everything, seen = paths(compute(vm)), paths(compute(vm, version=version))

    later = {path for path, since in SINCE.items() if since > version}
    assert seen == {path for path in everything if not any(f"{path}.".startswith(f"{each}.") for each in later)}


@pytest.mark.parametrize(
    ("member", "before", "since"),
    [
        ("tags", "2017-04-02", "2017-08-01"),
        ("zone", "2017-10-01", "2017-12-01"),
        ("publicKeys", "2018-02-01", "2018-04-02"),
        ("storageProfile", "2019-04-30", "2019-06-01"),
        ("osProfile", "2020-06-01", "2020-07-15"),
        ("userData", "2020-12-01", "2021-01-01"),
        ("physicalZone", "2023-07-01", "2023-11-15"),
    ],
)
def test_member_is_missing_before_the_version_that_introduced_it(member: str, before: str, since: str):
    asked = [
        read(tree(Subject(SOLO), Site(), each), ("compute", member.lower()), as_text=True)
        for each in (before, since)
    ]

    assert [answer.status for answer in asked] == [404, 200]


def test_every_leaf_is_a_text():
    def leaves(part: Any) -> list[Any]:
        below = part if isinstance(part, list) else part.values() if isinstance(part, dict) else None
        return [part] if below is None else [leaf for each in below for leaf in leaves(each)]

    whole = tree(Subject(replace(SOLO, kept=json.dumps(ARM_VM))), Site(), NEWEST, extended=True)

    assert {type(leaf) for leaf in leaves(whole)} == {str}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("compute/vmSize", "Standard_D2s_v3"),
        ("compute/osprofile/computername", "solo"),
        ("compute/storageProfile/osDisk/name", "solo_OsDisk_1"),
        ("network/interface/0/ipv4/subnet/0/address", "10.0.0.0"),
        ("network/interface/0/ipv4", "ipAddress/\nsubnet/"),
    ],
)
def test_leaves_and_names_can_be_read_as_text(path: str, text: str):
    answer = read(tree(Subject(SOLO), Site(), NEWEST), tuple(path.lower().split("/")), as_text=True)

    assert (answer.status, answer.body.decode()) == (200, text)


def test_extended_part_is_there_only_when_asked_for_and_from_its_version_on():
    wanted = [("2021-02-01", True), ("2021-03-01", False), ("2021-08-01", True)]

    found = ["extended" in tree(Subject(SOLO), Site(), version, extended=extended) for version, extended in wanted]

    assert found == [False, False, True]


# Network.


def test_mac_address_is_stable_and_differs_between_vms():
    others = [replace(SOLO, vm_id=f"{n:08x}-0000-4000-8000-000000000000") for n in range(1000)]
    macs = [interface(vm)["macAddress"] for vm in others]

    assert interface()["macAddress"] == interface(replace(SOLO, name="renamed", host="elsewhere"))["macAddress"]
    assert len(set(macs)) == 1000
    assert all(len(mac) == 12 and mac == mac.upper() and int(mac, 16) for mac in macs)
    assert all(int(mac[:2], 16) & 3 == 2 for mac in macs)  # of one machine, and locally administered


def test_network_says_what_the_vm_has():
    pool = ScaleSet("pool", subnet="10.0.0.0/26")
    vm = replace(SOLO, addresses=("10.0.0.5", "10.0.0.6", "fd00::4"), mac="000D3AF806EC")

    assert interface(vm, pool) == {
        "ipv4": {
            "ipAddress": [
                {"privateIpAddress": "10.0.0.5", "publicIpAddress": ""},
                {"privateIpAddress": "10.0.0.6", "publicIpAddress": ""},
            ],
            "subnet": [{"address": "10.0.0.0", "prefix": "26"}],
        },
        "ipv6": {"ipAddress": [{"privateIpAddress": "fd00::4"}]},
        "macAddress": "000D3AF806EC",
    }
    assert interface(replace(vm, subnet="10.0.0.0/16"), pool)["ipv4"]["subnet"][0]["prefix"] == "16"


def test_vm_without_addresses_has_the_one_that_it_calls_from():
    behind_a_tap = replace(SOLO, addresses=(), interface="tap0")

    found = interface(behind_a_tap, address="192.168.7.9")["ipv4"]

    assert found["ipAddress"][0]["privateIpAddress"] == "192.168.7.9"
    assert found["subnet"] == [{"address": "192.168.7.0", "prefix": "24"}]
    assert interface(behind_a_tap)["ipv4"] == {"ipAddress": [], "subnet": []}


# Where values come from.


def test_clients_of_arm_describe_the_vm():
    found = compute(replace(SOLO, kept=json.dumps(ARM_VM)))

    assert (found["vmSize"], found["location"], found["licenseType"]) == (
        "Standard_D8s_v5",
        "westeurope",
        "RHEL_BYOS",
    )
    image = [found[name] for name in ("publisher", "offer", "sku", "version")]
    assert image == ["Canonical", "ubuntu-24_04-lts", "server", "24.04.202507010"]
    assert found["plan"] == {"name": "p", "product": "q", "publisher": "r"}
    assert found["publicKeys"] == [{"keyData": KEY, "path": "/k"}]
    profile = found["osProfile"]
    assert (profile["adminUsername"], profile["disablePasswordAuthentication"]) == ("ops", "true")
    security = found["securityProfile"]
    assert (security["secureBootEnabled"], security["securityType"]) == ("true", "TrustedLaunch")
    storage = found["storageProfile"]
    assert (storage["osDisk"]["name"], storage["osDisk"]["diskSizeGB"]) == ("os", "64")
    (data,) = storage["dataDisks"]
    assert (data["lun"], data["diskSizeGB"], data["createOption"], data["caching"]) == (
        "0",
        "128",
        "Attach",
        "None",
    )
    assert (storage["imageReference"]["publisher"], storage["imageReference"]["version"]) == (
        "Canonical",
        "latest",
    )


@pytest.mark.parametrize("kept", ["[]", '"x"', "3", '{"properties":[]}', '{"properties":{"hardwareProfile":"x"}}'])
def test_what_a_client_wrote_in_another_shape_is_ignored(kept: str):
    assert compute(replace(SOLO, kept=kept)) == compute()


def test_image_of_the_users_own_has_no_publisher():
    found = compute(replace(SOLO, compute={"storageProfile": {"imageReference": {"id": "/images/mine"}}}))

    assert [found[name] for name in ("publisher", "offer", "sku", "version")] == ["", "", "", ""]


def test_vm_is_described_before_its_scale_set_and_the_fleet_file_before_clients():
    by_client = {"properties": {"hardwareProfile": {"vmSize": "vm by client"}}}
    set_by_client = {
        "sku": {"name": "set by client"},
        "properties": {"virtualMachineProfile": {"licenseType": "BYOS"}},
    }
    steps = [
        (SOLO, ScaleSet("pool")),
        (SOLO, ScaleSet("pool", kept=json.dumps(set_by_client))),
        (SOLO, ScaleSet("pool", kept=json.dumps(set_by_client), compute={"vmSize": "set by file"})),
        (replace(SOLO, kept=json.dumps(by_client)), ScaleSet("pool", compute={"vmSize": "set by file"})),
        (replace(SOLO, kept=json.dumps(by_client), compute={"vmSize": "vm by file"}), ScaleSet("pool")),
    ]

    sizes = [compute(vm, owner)["vmSize"] for vm, owner in steps]

    assert sizes == ["Standard_D2s_v3", "set by client", "set by file", "vm by client", "vm by file"]
    assert compute(*steps[1])["licenseType"] == "BYOS"


def test_password_sign_in_is_off_where_there_are_keys():
    keys = {"publicKeys": [{"keyData": KEY}], "osProfile": {"adminUsername": "ops"}}

    found = compute(replace(SOLO, compute=keys))

    assert compute()["osProfile"]["disablePasswordAuthentication"] == "false"
    assert found["osProfile"]["disablePasswordAuthentication"] == "true"
    assert found["publicKeys"][0]["path"].endswith("/ops/.ssh/authorized_keys")


def test_scale_set_is_named_as_on_azure():
    pool = ScaleSet("pool", "default")
    uniform, flexible = replace(SOLO, name="pool_7", instance=7), replace(SOLO, name="pool_ab12")

    numbered, named = compute(uniform, pool), compute(flexible, pool)

    assert numbered["resourceId"].endswith("/virtualMachineScaleSets/pool/virtualMachines/7")
    assert numbered["virtualMachineScaleSet"]["id"] == ""  # Azure names flexible sets alone
    assert named["resourceId"].endswith("/Microsoft.Compute/virtualMachines/pool_ab12")
    assert named["virtualMachineScaleSet"]["id"].endswith("/virtualMachineScaleSets/pool")
    assert numbered["vmScaleSetName"] == named["vmScaleSetName"] == "pool"


# Fleet files.

FLEET = f"""
[[scale_sets]]
name = "pool"
capacity = 1
addresses = ["10.1.0.4"]
subnet = "10.1.0.0/16"
compute = {{ vmSize = "Standard_D4s_v5" }}

[[vms]]
name = "solo"
addresses = ["10.0.0.4"]
mac = "00-0d-3a-f8-06-ec"
subnet = "10.0.0.0/26"

[vms.compute]
vmSize = "Standard_D8s_v5"
publicKeys = [{{ keyData = "{KEY}" }}]

[vms.compute.osProfile]
adminUsername = "ops"
"""


def test_fleet_file_with_instance_metadata_survives_being_written_again():
    spec = read_toml(FLEET, "f.toml").spec

    as_json = json.loads(write_json(spec))

    assert read_json(as_json).spec == spec
    assert read_toml(write_toml(as_json), "f.toml").spec == spec
    assert spec.vms[0].compute["osProfile"] == {"adminUsername": "ops"}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"mac": "00:0D:3A:F8:06"}, "vms[0].mac: '00:0D:3A:F8:06' is no MAC address."),
        ({"mac": "01:0D:3A:F8:06:EC"}, "vms[0].mac: '01:0D:3A:F8:06:EC' is no MAC address."),
        ({"mac": "00:0D-3A:F8:06:EC"}, "vms[0].mac: '00:0D-3A:F8:06:EC' is no MAC address."),
        ({"subnet": "10.0.0.4/24"}, "vms[0].subnet: '10.0.0.4/24' is no IPv4 subnet."),
        ({"subnet": "fd00::/64"}, "vms[0].subnet: 'fd00::/64' is no IPv4 subnet."),
        ({"subnet": "10.9.0.0/24"}, "vms[0].subnet: 10.0.0.4 is not in the subnet 10.9.0.0/24."),
        ({"compute": {"vmsize": "x"}}, "vms[0].compute: There is no member compute.vmsize. Did you mean vmSize?"),
        ({"compute": {"vmSize": 4}}, "vms[0].compute: compute.vmSize is not a text."),
        ({"compute": {"osProfile": "ops"}}, "vms[0].compute: compute.osProfile is not a table."),
        ({"compute": {"publicKeys": {}}}, "vms[0].compute: compute.publicKeys is not a list."),
        ({"compute": {"publicKeys": ["k"]}}, "vms[0].compute: compute.publicKeys.* is not a table."),
        ({"compute": {"userData": "\0"}}, "vms[0].compute: compute.userData holds a NUL character."),
        ({"compute": {"name": "x"}}, "vms[0].compute: compute.name cannot be set here. Use the key name."),
        (
            {"compute": {"osProfile": {"computerName": "x"}}},
            "vms[0].compute: compute.osProfile.computerName cannot be set here. Use the key computer_name.",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[7:48],
)
def test_unusable_instance_metadata_are_refused_with_their_place(entry: dict[str, Any], says: str):
    with pytest.raises(BadFleet) as caught:
        read_json({"vms": [{"name": "solo", "addresses": ["10.0.0.4"], **entry}]})

    (line,) = caught.value.lines
    assert line.startswith(says)


def test_one_mac_address_for_two_vms_is_refused():
    vms = [{"name": "a", "mac": "000D3AF806EC"}, {"name": "b", "mac": "00:0d:3a:f8:06:ec"}]

    with pytest.raises(BadFleet) as caught:
        read_json({"vms": vms})

    assert caught.value.lines[0].startswith("vms[1].mac: b and a have the same MAC address.")


def test_refusal_of_a_nested_table_names_its_line():
    with pytest.raises(BadFleet) as caught:
        read_toml('[[vms]]\nname = "a"\n\n[vms.compute]\nvmSise = "x"\n', "f.toml")

    assert caught.value.lines[0].startswith("f.toml:4: ")
