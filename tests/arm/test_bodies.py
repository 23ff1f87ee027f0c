"""What clients write is given back, but for secrets; reading, changing and writing loses nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.arm.caller import Arm, Json, availability_set, group, model, scale_set, terminate_notice, vm
from tests.fleets import SMALL
from tests.running import running

RICH: Json = {
    "location": "westus",
    "tags": {"team": "red", "empty": ""},
    "plan": {"name": "p", "publisher": "x"},
    "identity": {"type": "SystemAssigned"},
    "extendedLocation": {"name": "edge", "type": "EdgeZone"},
    "properties": {
        "hardwareProfile": {"vmSize": "Standard_E64s_v5"},
        "storageProfile": {"osDisk": {"diskSizeGB": 30}, "dataDisks": [{"lun": 0}, {"lun": 1}]},
        "networkProfile": {"networkInterfaces": [{"id": "/nic/1", "properties": {"primary": True}}]},
        "osProfile": {
            "computerName": "rich-os",
            "adminUsername": "azureuser",
            "linuxConfiguration": {"disablePasswordAuthentication": False},
            "secrets": [{"sourceVault": {"id": "/vault"}}],
        },
        "licenseType": "None",
        "unheardOf": {"numbers": [1, 2.5, -3, 10**25], "nothing": [], "deep": {"er": {"still": True}}},
    },
}
SECRETS = {
    "adminPassword": "P@ssw0rd-1",
    "customData": "c2VjcmV0LTI=",
}


def test_members_without_a_meaning_are_given_back(arm: Arm):
    made = arm.put(vm("rich"), RICH, expect=201)

    for name in ("location", "tags", "plan", "identity", "extendedLocation"):
        assert made[name] == RICH[name]
    for name in ("hardwareProfile", "storageProfile", "networkProfile", "osProfile", "licenseType", "unheardOf"):
        assert made["properties"][name] == RICH["properties"][name]
    assert arm.get(vm("rich")) == made


@pytest.mark.parametrize(
    "path",
    [
        vm("rich"),
        vm("solo"),
        vm("web-0"),
        vm("frugal"),
        vm("brief"),
        vm("FrontEnd_IN_0"),
        availability_set("web"),
        scale_set("pool"),
        scale_set("spot"),
        group(),
    ],
    ids=lambda path: path.rpartition("/")[2],
)
def test_writing_what_was_read_changes_nothing(arm: Arm, path: str):
    arm.put(vm("rich"), RICH, expect=201)
    before, fleet = arm.get(path), arm.service.get("/v1/fleet")

    written = arm.put(path, before)

    assert written == before
    assert arm.get(path) == before
    assert arm.service.get("/v1/fleet") == fleet


def test_how_a_vm_was_doing_when_it_was_read_is_not_kept(arm: Arm):
    arm.put(vm("solo"), arm.get(vm("solo"), **{"$expand": "instanceView"}))
    arm.begin("POST", vm("solo") + "/powerOff")
    arm.service.advance(minutes=1)

    assert "instanceView" not in arm.get(vm("solo"))["properties"]
    assert arm.power(vm("solo")) == "PowerState/stopped"


def test_what_the_service_says_of_a_resource_cannot_be_written(arm: Arm):
    lies = {
        "id": "/elsewhere",
        "name": "other",
        "type": "Microsoft.Lies/vms",
        "etag": "1",
        "properties": {"vmId": "x", "provisioningState": "Failed"},
    }

    made = arm.put(vm("honest"), lies, expect=201)

    assert (made["id"], made["name"], made["type"]) == (
        vm("honest"),
        "honest",
        "Microsoft.Compute/virtualMachines",
    )
    assert made["properties"]["provisioningState"] == "Succeeded"
    assert made["properties"]["vmId"] != "x"
    assert "etag" not in made


def test_secrets_are_never_given_back_and_never_kept(tmp_path: Path):
    extension = {"settings": {"a": 1}, "protectedSettings": {"key": "s3cret-3"}}
    body: Json = {
        "properties": {
            "osProfile": SECRETS,
            "userData": "c2VjcmV0LTQ=",
            "extensionProfile": {"extensions": [extension]},
        }
    }
    of_scale_set = {"sku": {"capacity": 1}, "properties": {"virtualMachineProfile": body["properties"]}}
    with running(SMALL, store=f"sqlite:///{tmp_path}/forewarn.db") as service:
        arm = Arm(service)

        answers = [
            arm.ask("PUT", vm("fresh"), body),
            arm.ask("PUT", scale_set("batch"), of_scale_set),
            arm.ask("PATCH", vm("solo"), body),
            arm.ask("GET", vm("fresh")),
            arm.ask("GET", scale_set("batch")),
            arm.ask("GET", scale_set("batch") + "/virtualMachines"),
        ]

    store = sqlite3.connect(tmp_path / "forewarn.db")
    told = b"".join(reply.body for reply in answers) + "\n".join(store.iterdump()).encode()
    store.close()
    assert [reply.status for reply in answers] == [201, 201, 200, 200, 200, 200]
    assert b'"settings":{"a":1}' in answers[0].body
    for secret in (b"P@ssw0rd-1", b"c2VjcmV0LTI=", b"s3cret-3", b"c2VjcmV0LTQ="):
        assert secret not in told


@pytest.mark.parametrize(
    ("path", "patch"),
    [
        (vm("rich"), {"tags": {"new": "tag"}}),
        (vm("rich"), {"properties": {"hardwareProfile": {"vmSize": "Standard_A1"}}}),
        (availability_set("web"), {"tags": {"new": "tag"}}),
        (scale_set("pool"), {"tags": {"new": "tag"}}),
        (scale_set("pool"), model(**terminate_notice("PT7M"))),
    ],
    ids=["tags", "a member below", "of an availability set", "of a scale set", "a profile"],
)
def test_a_patch_changes_what_it_names_and_leaves_the_rest(arm: Arm, path: str, patch: Json):
    arm.put(vm("rich"), RICH, expect=201)
    before = arm.get(path)

    reply = arm.ask("PATCH", path, patch)

    expected = merged(before, patch)
    assert reply.status == 200
    assert reply.json == expected
    assert arm.get(path) == expected


def merged(before: Any, patch: Any) -> Any:
    """Members one by one, as RFC 7396 has it; no member is taken away here."""
    if not isinstance(before, dict) or not isinstance(patch, dict):
        return patch
    return before | {key: merged(before.get(key), value) for key, value in patch.items()}


def test_a_null_in_a_patch_takes_a_member_away(arm: Arm):
    arm.put(vm("rich"), RICH, expect=201)

    changed = arm.patch(vm("rich"), {"plan": None, "tags": {"team": None}, "properties": {"licenseType": None}})

    assert "plan" not in changed
    assert changed["tags"] == {"empty": ""}
    assert "licenseType" not in changed["properties"]
    assert changed["properties"]["hardwareProfile"] == RICH["properties"]["hardwareProfile"]


def test_a_put_leaves_what_it_does_not_name(arm: Arm):
    before = arm.put(vm("rich"), RICH, expect=201)

    after = arm.put(vm("rich"), {"location": "local", "properties": {"licenseType": "RHEL_BYOS"}})

    expected = merged(before, {"location": "local", "properties": {"licenseType": "RHEL_BYOS"}})
    assert after == expected


def test_a_put_of_nothing_but_a_size_leaves_the_model_of_a_scale_set(arm: Arm):
    before = arm.get(scale_set("pool"))

    after = arm.put(scale_set("pool"), {"location": "local", "sku": {"name": "Standard_D2s_v3", "capacity": 4}})

    assert after == merged(before, {"sku": {"capacity": 4}})
    assert arm.service.get("/v1/fleet")["scale_sets"][0]["terminate_notification"] == "PT600S"


def test_tags_in_a_put_are_all_the_tags_that_there_are(arm: Arm):
    arm.put(vm("rich"), RICH, expect=201)

    assert arm.put(vm("rich"), {"tags": {"only": "this"}})["tags"] == {"only": "this"}
    assert arm.put(vm("rich"), {"tags": {}})["tags"] == {}


@pytest.mark.parametrize("member", ["location", "tags", "properties", "zones"])
def test_a_member_that_is_null_counts_as_one_that_is_not_there(arm: Arm, member: str):
    made = arm.put(vm("fresh"), {"location": "local", member: None}, expect=201)

    assert made["location"] == "local"
    assert made["tags"] == {}
    assert "fresh" in arm.names(
        f"{group().rpartition('/resourceGroups')[0]}/providers/Microsoft.Compute/locations/local/virtualMachines"
    )


def test_nulls_of_a_new_vm_are_not_kept_and_what_is_read_stays_as_it_is(arm: Arm):
    properties = {"hardwareProfile": None, "licenseType": None, "unheardOf": {"nothing": None, "list": [None]}}
    made = arm.make_vm("fresh", properties)

    written = arm.put(vm("fresh"), made)

    assert made["properties"]["hardwareProfile"] == {"vmSize": "Standard_D2s_v3"}
    assert made["properties"]["unheardOf"] == {"list": [None]}
    assert "licenseType" not in made["properties"]
    assert written == made == arm.get(vm("fresh"))


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_members_that_mean_something_are_read_in_any_case(arm: Arm, change: Callable[[str], str]):
    body = {"tags": {"Team": "red"}, "properties": {"priority": "Spot", "evictionPolicy": "Delete"}}
    made = arm.put(vm("fresh"), {change("tags"): body["tags"], change("properties"): spelt(body, change)}, 201)

    changed = arm.patch(vm("fresh"), {change("tags"): {"Team": "blue"}})

    assert made["tags"] == {"Team": "red"}
    assert (made["properties"]["priority"], made["properties"]["evictionPolicy"]) == ("Spot", "Delete")
    assert changed == made | {"tags": {"Team": "blue"}}


def spelt(body: Json, change: Callable[[str], str]) -> Json:
    """The properties of a body with their names in another case."""
    return {change(name): value for name, value in body["properties"].items()}


def test_instances_are_named_in_any_case(arm: Arm):
    arm.service.guest("pool_0").document()

    arm.begin("POST", scale_set("pool") + "/restart", {"InstanceIDs": ["1"]})

    assert [event["Resources"] for event in arm.service.guest("pool_0").events()] == [["pool_1"]]


def test_a_tag_that_the_fleet_takes_away_does_not_come_back_from_what_was_kept(arm: Arm):
    arm.put(vm("solo"), {"tags": {"team": "red", "old": "x"}})
    fleet = arm.service.get("/v1/fleet")
    (solo,) = [each for each in fleet["vms"] if each["name"] == "solo"]
    solo["tags"] = {"team": "green"}

    arm.service.operator("PUT", "/v1/fleet", fleet)

    assert arm.get(vm("solo"))["tags"] == {"team": "green"}


def test_what_was_kept_survives_a_restart_and_a_fleet_that_is_applied(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/forewarn.db"
    with running(SMALL, store=store) as service:
        arm = Arm(service)
        arm.put(vm("rich"), RICH, expect=201)
        arm.patch(scale_set("pool"), {"properties": {"overprovision": False}})
        arm.put(group("declared"), {"location": "westus", "tags": {"a": "b"}}, expect=201)
        service.operator("PUT", "/v1/fleet", service.get("/v1/fleet"))
        before = [arm.get(path) for path in (vm("rich"), scale_set("pool"), group("declared"))]

    with running(store=store) as service:
        arm = Arm(service)
        assert [arm.get(path) for path in (vm("rich"), scale_set("pool"), group("declared"))] == before


# Availability sets and resource groups.


def test_an_availability_set_is_made_and_changed_at_once(arm: Arm):
    body = {
        "sku": {"name": "Classic"},
        "properties": {"platformUpdateDomainCount": 20, "platformFaultDomainCount": 3},
    }

    made = arm.put(availability_set("db"), body)
    changed = arm.put(availability_set("db"), {"tags": {"a": "b"}})

    assert made["id"] == availability_set("db")
    assert made["sku"] == {"name": "Classic"}
    assert made["properties"]["platformUpdateDomainCount"] == 20
    assert made["properties"]["platformFaultDomainCount"] == 3
    assert made["properties"]["virtualMachines"] == []
    assert changed["properties"]["platformUpdateDomainCount"] == 20
    assert changed["tags"] == {"a": "b"}


def test_an_availability_set_has_five_update_domains_unless_it_says_otherwise(arm: Arm):
    made = arm.put(availability_set("db"), {"location": "local"})

    assert made["properties"]["platformUpdateDomainCount"] == 5
    assert made["properties"]["platformFaultDomainCount"] == 2


@pytest.mark.parametrize("member", ["platformUpdateDomainCount", "platformFaultDomainCount"])
def test_the_domains_of_a_set_cannot_be_changed(arm: Arm, member: str):
    answer = arm.refused("PUT", availability_set("web"), {"properties": {member: 3}})

    assert answer.status == 400
    assert f"properties.{member} cannot be changed" in answer.message


def test_an_availability_set_goes_when_its_last_vm_has_gone(arm: Arm):
    arm.put(availability_set("db"), {"location": "local"})
    arm.make_vm("db-0", {"availabilitySet": {"id": availability_set("db")}})
    refused = arm.refused("DELETE", availability_set("db"))

    arm.begin("DELETE", vm("db-0"))
    arm.service.advance(minutes=1)
    reply = arm.ask("DELETE", availability_set("db"))

    assert refused.status == 409
    assert (reply.status, reply.body) == (200, b"")
    assert arm.ask("GET", availability_set("db")).status == 404


@pytest.mark.parametrize(
    ("make", "name"), [(availability_set, "pool"), (scale_set, "web"), (availability_set, "legacy")]
)
def test_sets_of_all_kinds_share_their_names(arm: Arm, make: Any, name: str):
    answer = arm.refused("PUT", make(name), {"sku": {"capacity": 1}})

    assert answer.status == 409
    assert f"There is a set {name}" in answer.message


def test_a_resource_group_is_declared_and_changed(arm: Arm):
    made = arm.put(group("fresh"), {"location": "westus", "tags": {"a": "b"}}, expect=201)
    changed = arm.put(group("FRESH"), {"location": "westus", "tags": {"c": "d"}})

    assert made["type"] == "Microsoft.Resources/resourceGroups"
    assert made["properties"] == {"provisioningState": "Succeeded"}
    assert (changed["name"], changed["tags"]) == ("fresh", {"c": "d"})
    assert arm.names(f"{group().rpartition('/')[0]}") == ["default", "fresh"]


def test_a_group_that_something_is_in_is_there_without_being_declared(arm: Arm):
    assert arm.get(group("Default"))["id"] == group("default")


def test_what_is_made_belongs_to_the_group_as_it_was_first_written(arm: Arm):
    arm.put(group("Mixed"), {"location": "local"}, expect=201)

    made = arm.put(vm("fresh", "mIXED"), {"location": "local"}, expect=201)

    assert made["id"] == vm("fresh", "Mixed")
