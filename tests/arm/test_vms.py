"""What the body of a VM means: where it is put, what becomes of it, and what cannot be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.arm.caller import Arm, availability_set, compute, group, scale_set, terminate_notice, vm
from tests.running import START, RunningService


def in_set(name: str) -> dict[str, dict[str, str]]:
    return {"availabilitySet": {"id": availability_set(name)}}


# Making.


def test_a_vm_that_is_made_is_there_and_running(arm: Arm):
    made = arm.make_vm("fresh", tags={"team": "red"})

    assert made["id"] == vm("fresh")
    assert made["type"] == "Microsoft.Compute/virtualMachines"
    assert made["tags"] == {"team": "red"}
    assert made["properties"]["provisioningState"] == "Succeeded"
    assert arm.get(vm("fresh")) == made
    assert arm.power(vm("fresh")) == "PowerState/running"


def test_a_vm_that_is_put_again_is_changed_and_answered_200(arm: Arm):
    made = arm.make_vm("fresh", tags={"team": "red"})

    changed = arm.put(vm("FRESH"), {"location": "local", "tags": {"team": "blue"}})

    assert changed["tags"] == {"team": "blue"}
    assert changed["properties"]["vmId"] == made["properties"]["vmId"]
    assert changed["name"] == "fresh"


def test_a_vm_that_is_made_is_told_of_what_happens_to_it(arm: Arm):
    arm.make_vm("fresh", {"osProfile": {"computerName": "fresh-os"}}, tags={"team": "red"})
    arm.seat(fresh="127.3.0.1")
    guest = arm.service.guest("fresh")
    guest.document()

    arm.begin("POST", vm("fresh") + "/restart")

    (event,) = guest.events()
    told = guest.call(path="/metadata/instance?api-version=2021-02-01").json["compute"]
    assert (event["EventType"], event["Resources"]) == ("Reboot", ["fresh"])
    assert (told["name"], told["osProfile"]["computerName"], told["tags"]) == ("fresh", "fresh-os", "team:red")
    assert told["vmId"] == arm.get(vm("fresh"))["properties"]["vmId"]


def test_vms_of_an_availability_set_get_their_update_domains_in_turn(arm: Arm):
    arm.put(availability_set("db"), {"properties": {"platformUpdateDomainCount": 2}})

    for number in range(4):
        arm.make_vm(f"db-{number}", in_set("db"))

    views = [arm.get(vm(f"db-{number}") + "/instanceView") for number in range(4)]
    assert [view["platformUpdateDomain"] for view in views] == [0, 1, 0, 1]
    assert {arm.get(vm("db-0"))["properties"]["availabilitySet"]["id"]} == {availability_set("db")}
    hosts = {number: arm.service.get(f"/v1/vms/db-{number}")["host"] for number in range(4)}
    assert {hosts[0], hosts[2]}.isdisjoint({hosts[1], hosts[3]})


def test_vms_of_an_availability_set_share_a_document(arm: Arm):
    arm.make_vm("web-3", in_set("WEB"))
    arm.seat(**{"web-3": "127.3.0.1"})
    arm.service.guest("web-3").document()

    arm.begin("POST", vm("web-3") + "/restart")

    assert arm.service.guest("web-0").events() == arm.service.guest("web-3").events()
    assert [event["Resources"] for event in arm.service.guest("web-0").events()] == [["web-3"]]


def test_a_vm_is_put_in_the_zone_that_it_asks_for(arm: Arm):
    made = arm.make_vm("fresh", zones=["3"])

    assert made["zones"] == ["3"]
    assert arm.service.get("/v1/vms/fresh")["zone"] == "3"


def test_a_vm_in_a_set_that_is_not_there_is_refused(arm: Arm):
    answer = arm.refused("PUT", vm("fresh"), {"properties": in_set("nope")})

    assert answer.status == 400
    assert "properties.availabilitySet: there is no availability set nope" in answer.message
    assert "fresh" not in arm.names(compute("virtualMachines"))


def test_a_vm_cannot_be_put_into_a_scale_set_by_hand(arm: Arm):
    body = {"properties": {"virtualMachineScaleSet": {"id": scale_set("pool")}}}

    answer = arm.refused("PUT", vm("fresh"), body)

    assert answer.status == 400
    assert "properties.virtualMachineScaleSet" in answer.message


@pytest.mark.parametrize("name", ["solo", "pool_0"], ids=["of a VM", "of an instance"])
def test_a_name_that_is_in_use_elsewhere_is_refused(arm: Arm, name: str):
    arm.put(group("other"), {"location": "local"}, expect=201)

    answer = arm.refused("PUT", vm(name, "other"), {"location": "local"})

    assert answer.status == 409
    assert f"There is a VM {name} in the resource group default already" in answer.message


def test_an_instance_is_not_changed_as_if_it_were_a_vm(arm: Arm):
    answer = arm.refused("PUT", vm("pool_0"), {"tags": {"a": "b"}})

    assert answer.status == 409
    assert arm.service.get("/v1/vms/pool_0")["tags"] == {}


def test_a_driver_that_makes_no_machines_says_so(service: RunningService):
    service.service.plane.machine_factory = replace(service.service.plane.machine_factory, can_make=False)
    arm = Arm(service)

    made = arm.refused("PUT", vm("fresh"), {"location": "local"})
    grown = arm.refused("PATCH", scale_set("pool"), {"sku": {"capacity": 4}})
    arm.put(vm("solo"), {"location": "local", "tags": {"still": "changed"}})

    assert (made.status, made.code) == (grown.status, grown.code) == (409, "OperationNotAllowed")
    assert "makes none" in made.message
    assert "makes none" in grown.message


# Changing.


@pytest.mark.parametrize(
    ("name", "properties", "member"),
    [
        ("solo", in_set("web"), "properties.availabilitySet"),
        ("web-0", in_set("db"), "properties.availabilitySet"),
        ("pooled", in_set("web"), "properties.availabilitySet"),
        ("solo", {"virtualMachineScaleSet": {"id": scale_set("pool")}}, "properties.virtualMachineScaleSet"),
        ("web-0", {"virtualMachineScaleSet": {"id": scale_set("pool")}}, "properties.virtualMachineScaleSet"),
        ("solo", {"priority": "Spot"}, "properties.priority"),
        ("frugal", {"priority": "Regular"}, "properties.priority"),
        ("solo", {"osProfile": {"computerName": "other"}}, "properties.osProfile.computerName"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_its_path(arm: Arm, name: str, properties: object, member: str):
    arm.put(availability_set("db"), {"location": "local"})
    if name == "pooled":
        arm.make_vm("pooled", in_set("db"))
    before = arm.get(vm(name))

    answer = arm.refused("PUT", vm(name), {"location": "local", "tags": {"a": "b"}, "properties": properties})

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert f"{member} cannot be changed" in answer.message
    assert arm.get(vm(name)) == before


@pytest.mark.parametrize(
    ("name", "patch", "member"),
    [
        ("web-0", {"properties": {"availabilitySet": None}}, "properties.availabilitySet"),
        ("solo", {"zones": None}, "zones"),
        ("solo", {"properties": {"osProfile": None}}, "properties.osProfile.computerName"),
        ("frugal", {"properties": {"priority": None}}, "properties.priority"),
    ],
)
def test_what_cannot_be_changed_cannot_be_taken_away_either(
    arm: Arm, name: str, patch: dict[str, object], member: str
):
    answer = arm.refused("PATCH", vm(name), patch)

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert f"{member} cannot be changed" in answer.message


@pytest.mark.parametrize(
    "wrong",
    [
        availability_set("web").replace("/subscriptions/", "/subscriptions/other"),
        availability_set("web", "other"),
        availability_set("web").replace("Microsoft.Compute", "Microsoft.Other"),
        scale_set("web"),
        availability_set("web") + "/more",
        "/availabilitySets/web",
        "web",
        "",
    ],
)
@pytest.mark.parametrize("name", ["fresh", "web-0"])
def test_an_id_of_something_else_is_not_taken_for_a_set_of_the_same_name(arm: Arm, name: str, wrong: str):
    answer = arm.refused("PUT", vm(name), {"properties": {"availabilitySet": {"id": wrong}}})

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert "properties.availabilitySet" in answer.message


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_an_id_is_read_in_any_case(arm: Arm, change: Callable[[str], str]):
    made = arm.make_vm("web-3", {"availabilitySet": {"id": change(availability_set("web"))}})

    assert made["properties"]["availabilitySet"] == {"id": availability_set("web")}


def test_a_vm_stays_in_its_zone(arm: Arm):
    answer = arm.refused("PUT", vm("solo"), {"zones": ["2"]})

    assert answer.status == 400
    assert "zones cannot be changed: solo is in zone 1" in answer.message


def test_a_put_need_not_repeat_what_cannot_be_changed(arm: Arm):
    arm.put(vm("frugal"), {"location": "local"})
    arm.put(vm("web-0"), {"location": "local"})
    arm.put(vm("solo"), {"location": "local"})

    assert arm.get(vm("frugal"))["properties"]["priority"] == "Spot"
    assert arm.get(vm("frugal"))["properties"]["evictionPolicy"] == "Delete"
    assert arm.get(vm("web-0"))["properties"]["availabilitySet"] == {"id": availability_set("web")}
    assert arm.get(vm("solo"))["zones"] == ["1"]


# Deleting.


def test_a_delete_without_a_profile_is_at_once_and_without_an_event(arm: Arm):
    arm.service.guest("solo").document()

    work = arm.begin("DELETE", vm("solo"))

    assert arm.service.guest("solo").events() == []
    assert arm.get(vm("solo"))["properties"]["provisioningState"] == "Deleting"
    arm.service.advance(minutes=1)
    assert work.status == "Succeeded"
    assert arm.ask("GET", vm("solo")).status == 404
    assert arm.ask("DELETE", vm("solo")).status == 204


@pytest.mark.parametrize(
    ("timeout", "minutes"), [("PT5M", 5), ("PT10M", 10), ("PT15M", 15), ("PT450S", 7.5), (None, 5)]
)
def test_a_delete_with_a_profile_is_announced_that_long_ahead(arm: Arm, timeout: str | None, minutes: float):
    arm.make_vm("fresh", terminate_notice(timeout))
    arm.seat(fresh="127.3.0.1")
    arm.service.guest("fresh").document()

    work = arm.begin("DELETE", vm("fresh"))

    (event,) = arm.service.get("/v1/events")["events"]
    assert (event["kind"], event["source"]) == ("Terminate", "User")
    assert event["not_before"] == START.replace(
        minute=int(minutes), second=int(minutes % 1 * 60)
    ).isoformat().replace("+00:00", "Z")
    arm.service.advance(minutes=minutes - 0.1)
    assert work.status == "InProgress"
    arm.service.advance(minutes=1)
    assert work.status == "Succeeded"


def test_a_profile_that_is_switched_off_announces_nothing(arm: Arm):
    arm.patch(vm("brief"), {"properties": terminate_notice(None, enable=False)})
    arm.service.guest("brief").document()

    arm.begin("DELETE", vm("brief"))

    assert arm.service.guest("brief").events() == []


@pytest.mark.parametrize("timeout", ["PT4M59S", "PT15M1S", "PT0M", "P1D", "5m", "300", "soon", ""])
def test_a_notice_outside_five_to_fifteen_minutes_is_refused(arm: Arm, timeout: str):
    answer = arm.refused("PUT", vm("fresh"), {"properties": terminate_notice(timeout)})

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert "properties.scheduledEventsProfile.terminateNotificationProfile.notBeforeTimeout" in answer.message
    assert "PT5M to PT15M" in answer.message


# Switching.


def test_stop_deallocate_and_start_make_no_event(arm: Arm):
    guest = arm.service.guest("solo")
    guest.document()
    states = []

    for act in ("powerOff", "deallocate", "start"):
        arm.begin("POST", f"{vm('solo')}/{act}")
        underway = arm.power(vm("solo"))
        arm.service.advance(minutes=1)
        states.append((underway, arm.power(vm("solo"))))

    assert guest.document() == {"DocumentIncarnation": 1, "Events": []}
    assert states == [
        ("PowerState/stopping", "PowerState/stopped"),
        ("PowerState/deallocating", "PowerState/deallocated"),
        ("PowerState/starting", "PowerState/running"),
    ]


@pytest.mark.parametrize(
    ("before", "act"), [(None, "start"), ("powerOff", "powerOff"), ("deallocate", "deallocate")]
)
def test_switching_a_vm_as_it_is_already_is_done_at_once(arm: Arm, before: str | None, act: str):
    if before:
        arm.begin("POST", f"{vm('solo')}/{before}")
        arm.service.advance(minutes=1)

    reply = arm.ask("POST", f"{vm('solo')}/{act}")

    assert (reply.status, reply.body) == (200, b"")


def test_a_start_of_a_vm_whose_restart_waits_is_told_what_stands_in_the_way(arm: Arm):
    arm.service.guest("solo").document()
    arm.begin("POST", vm("solo") + "/restart")

    answer = arm.refused("POST", vm("solo") + "/start")

    assert (answer.status, answer.code) == (409, "Conflict")
    assert "solo cannot be started: Reboot of solo is scheduled" in answer.message


def test_a_vm_that_is_being_stopped_cannot_be_started_yet(arm: Arm):
    arm.begin("POST", vm("solo") + "/powerOff")

    answer = arm.refused("POST", vm("solo") + "/start")

    assert answer.status == 409


def test_parameters_of_a_stop_have_no_effect(arm: Arm):
    reply = arm.ask("POST", vm("solo") + "/powerOff", skipShutdown="true")

    assert reply.status == 202


# Work that waits, and images.


def test_maintenance_that_waits_is_done_when_its_owner_says_so(arm: Arm):
    guest = arm.service.guest("solo")
    guest.document()
    arm.service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze", "notice_seconds": 86400})

    work = arm.begin("POST", vm("solo") + "/performMaintenance")
    (redeploy,) = [event for event in guest.events() if event["EventType"] == "Redeploy"]
    guest.approve(redeploy["EventId"])
    arm.service.advance(minutes=3)

    assert redeploy["EventSource"] == "User"
    assert work.status == "Succeeded"
    assert guest.events() == []
    assert arm.service.get("/v1/vms/solo")["host"] != "host-0"


def test_a_reimage_is_silent_unless_the_profile_says_otherwise(arm: Arm):
    arm.service.guest("solo").document()

    work = arm.begin("POST", vm("solo") + "/reimage")

    assert arm.service.guest("solo").events() == []
    arm.service.advance(minutes=2)
    assert work.status == "Succeeded"


def test_a_reimage_is_announced_where_the_profile_says_so(arm: Arm):
    profile = {
        "scheduledEventsProfile": {"osImageNotificationProfile": {"enable": True, "notBeforeTimeout": "PT15M"}}
    }
    arm.patch(vm("solo"), {"properties": profile})
    arm.service.guest("solo").document()

    work = arm.begin("POST", vm("solo") + "/reimage")

    (event,) = arm.service.guest("solo").events()
    assert (event["EventType"], event["EventSource"]) == ("Reboot", "User")
    assert event["NotBefore"] == "Mon, 02 Mar 2026 12:15:00 GMT"
    arm.service.advance(minutes=17)
    assert work.status == "Succeeded"


def test_a_notice_of_images_other_than_fifteen_minutes_is_refused(arm: Arm):
    profile = {
        "scheduledEventsProfile": {"osImageNotificationProfile": {"enable": True, "notBeforeTimeout": "PT20M"}}
    }

    answer = arm.refused("PATCH", vm("solo"), {"properties": profile})

    assert answer.status == 400
    assert "osImageNotificationProfile.notBeforeTimeout" in answer.message
