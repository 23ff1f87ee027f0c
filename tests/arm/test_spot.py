"""Spot: whom capacity is taken back from, and what becomes of it."""

from __future__ import annotations

import pytest

from tests.arm.caller import Arm, compute, instance, model, scale_set, terminate_notice, vm


def test_an_eviction_is_answered_at_once_and_told_as_a_preempt(arm: Arm):
    guest = arm.service.guest("frugal")
    guest.document()

    reply = arm.ask("POST", vm("frugal") + "/simulateEviction")

    (event,) = guest.events()
    assert (reply.status, reply.body) == (204, b"")
    assert "azure-asyncoperation" not in reply.headers
    assert (event["EventType"], event["EventSource"], event["Description"]) == ("Preempt", "Platform", "")
    assert event["NotBefore"] == "Mon, 02 Mar 2026 12:00:30 GMT"


@pytest.mark.parametrize(
    ("policy", "ends"),
    [
        ({}, "deallocated"),
        ({"evictionPolicy": "Deallocate"}, "deallocated"),
        ({"evictionPolicy": "Delete"}, "gone"),
    ],
)
def test_a_preempt_ends_as_the_eviction_policy_says(arm: Arm, policy: dict[str, str], ends: str):
    arm.make_vm("cheap", {"priority": "Spot", "billingProfile": {"maxPrice": -1}} | policy)
    arm.seat(cheap="127.3.0.1")
    arm.service.guest("cheap").document()

    arm.ask("POST", vm("cheap") + "/simulateEviction")
    arm.service.advance(minutes=1)

    is_there = "cheap" in arm.names(compute("virtualMachines"))
    assert ("gone" if not is_there else arm.power(vm("cheap")).removeprefix("PowerState/")) == ends


def test_an_eviction_policy_can_be_changed(arm: Arm):
    arm.patch(vm("frugal"), {"properties": {"evictionPolicy": "Deallocate"}})

    arm.ask("POST", vm("frugal") + "/simulateEviction")
    arm.service.advance(minutes=1)

    assert arm.power(vm("frugal")) == "PowerState/deallocated"


def test_an_instance_of_a_spot_scale_set_is_evicted_and_its_neighbours_are_told(arm: Arm):
    neighbour = arm.service.guest("spot_0")
    neighbour.document()

    reply = arm.ask("POST", instance("spot", 1) + "/simulateEviction")

    (event,) = neighbour.events()
    assert reply.status == 204
    assert (event["EventType"], event["Resources"]) == ("Preempt", ["spot_1"])
    arm.service.advance(minutes=1)
    assert arm.power(instance("spot", 1)) == "PowerState/deallocated"


def test_instances_are_made_as_their_model_says(arm: Arm):
    arm.make_scale_set("cheap", 2, model(priority="Spot", evictionPolicy="Delete"))

    arm.ask("POST", instance("cheap", 0) + "/simulateEviction")
    arm.service.advance(minutes=1)

    assert arm.names(scale_set("cheap") + "/virtualMachines") == ["cheap_1"]
    assert arm.get(scale_set("cheap"))["sku"]["capacity"] == 1
    assert arm.get(scale_set("cheap"))["properties"]["virtualMachineProfile"]["priority"] == "Spot"


def test_a_second_eviction_is_refused(arm: Arm):
    arm.service.guest("frugal").document()
    arm.ask("POST", vm("frugal") + "/simulateEviction")

    answer = arm.refused("POST", vm("frugal") + "/simulateEviction")

    assert (answer.status, answer.code) == (409, "Conflict")
    assert "frugal cannot be evicted again" in answer.message


@pytest.mark.parametrize(
    ("path", "body", "member"),
    [
        (
            vm("cheap"),
            {"properties": {"priority": "Spot"} | terminate_notice("PT5M")},
            "properties.scheduledEventsProfile",
        ),
        (vm("frugal"), {"properties": terminate_notice("PT5M")}, "properties.scheduledEventsProfile"),
        (
            scale_set("cheap"),
            model(priority="Spot", **terminate_notice("PT5M")),
            "properties.virtualMachineProfile.scheduledEventsProfile",
        ),
        (
            scale_set("spot"),
            model(**terminate_notice("PT5M")),
            "properties.virtualMachineProfile.scheduledEventsProfile",
        ),
    ],
    ids=["new VM", "VM", "new scale set", "scale set"],
)
def test_spot_has_no_terminate_notification(arm: Arm, path: str, body: object, member: str):
    answer = arm.refused("PUT", path, body)

    assert (answer.status, answer.code) == (400, "InvalidParameter")
    assert f"{member}.terminateNotificationProfile" in answer.message
