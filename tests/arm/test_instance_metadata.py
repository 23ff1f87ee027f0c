"""What guests read about themselves when a client of ARM describes or changes their machine."""

from __future__ import annotations

from typing import Any

from tests.arm.caller import Arm, scale_set, vm
from tests.running import RunningService, running


def compute(service: RunningService, name: str) -> Any:
    return service.guest(name).call(path="/metadata/instance/compute?api-version=2021-02-01").json


def size_in_arm(arm: Arm, path: str) -> str:
    return str(arm.get(path)["properties"]["hardwareProfile"]["vmSize"])


def resize(size: str) -> dict[str, Any]:
    return {"properties": {"hardwareProfile": {"vmSize": size}}}


def test_guest_reads_its_new_size_after_a_resize(arm: Arm):
    arm.make_vm("fresh")
    arm.seat(fresh="127.3.0.1")
    before = compute(arm.service, "fresh")["vmSize"], size_in_arm(arm, vm("fresh"))

    arm.patch(vm("fresh"), resize("Standard_D4s_v5"))

    assert before == ("Standard_D2s_v3", "Standard_D2s_v3")
    assert compute(arm.service, "fresh")["vmSize"] == size_in_arm(arm, vm("fresh")) == "Standard_D4s_v5"


def test_guest_reads_the_image_and_keys_that_it_was_made_with(arm: Arm):
    image = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}
    keys = [{"path": "/k", "keyData": "ssh-ed25519 AAAA ops"}]
    profile = {"adminUsername": "ops", "linuxConfiguration": {"ssh": {"publicKeys": keys}}}
    arm.make_vm("fresh", {"storageProfile": {"imageReference": image}, "osProfile": profile})
    arm.seat(fresh="127.3.0.1")

    found = compute(arm.service, "fresh")

    assert (found["publisher"], found["offer"], found["sku"]) == ("Canonical", "ubuntu-24_04-lts", "server")
    assert (found["osProfile"]["adminUsername"], found["publicKeys"]) == ("ops", keys)


def test_resize_changes_a_size_that_the_fleet_file_set_and_the_file_can_set_it_back():
    fleet = {
        "vms": [{"name": "solo", "addresses": ["127.0.2.1"], "compute": {"vmSize": "Standard_A1", "sku": "9"}}]
    }
    path = vm("solo", "default")
    with running(fleet) as service:
        arm = Arm(service)
        first = compute(service, "solo")["vmSize"], size_in_arm(arm, path)
        arm.patch(path, {"tags": {"a": "b"}})
        unchanged = compute(service, "solo")["vmSize"]
        arm.patch(path, resize("Standard_A2"))
        resized = compute(service, "solo")["vmSize"], size_in_arm(arm, path)
        exported = service.get("/v1/fleet")["vms"][0]["compute"]
        reply = service.operator("PUT", "/v1/fleet", fleet)
        again = compute(service, "solo")["vmSize"], size_in_arm(arm, path)

    assert first == ("Standard_A1", "Standard_A1")
    assert unchanged == "Standard_A1"
    assert resized == ("Standard_A2", "Standard_A2")
    assert exported == {"vmSize": "Standard_A2", "sku": "9"}
    assert reply.status == 200
    assert again == ("Standard_A1", "Standard_A1")


def test_instances_read_the_model_of_their_scale_set():
    fleet = {"scale_sets": [{"name": "pool", "capacity": 2, "addresses": ["127.1.0.1", "127.1.0.2"]}]}
    path = scale_set("pool", "default")
    with running(fleet) as service:
        arm = Arm(service)
        before = compute(service, "pool_1")["vmSize"]
        profile = {"licenseType": "RHEL_BYOS"}
        arm.patch(path, {"sku": {"name": "Standard_A2"}, "properties": {"virtualMachineProfile": profile}})
        found = compute(service, "pool_1")
        in_arm = size_in_arm(arm, f"{path}/virtualMachines/1")

    assert before == "Standard_D2s_v3"
    assert (found["vmSize"], found["licenseType"], in_arm) == ("Standard_A2", "RHEL_BYOS", "Standard_A2")


def test_instances_are_where_their_scale_set_is():
    fleet = {"scale_sets": [{"name": "pool", "capacity": 1, "addresses": ["127.1.0.1"]}]}
    path = scale_set("pool", "default")
    with running(fleet) as service:
        arm = Arm(service)
        arm.put(path, {"location": "westeurope", "sku": {"name": "Standard_A2", "capacity": 1}})

        assert compute(service, "pool_0")["location"] == "westeurope"
        assert arm.get(f"{path}/virtualMachines/0")["location"] == "westeurope"
