"""Scale sets: how many instances there are, what they are made like, and how the last ones go."""

from __future__ import annotations

from typing import Any

import pytest

from tests.arm.caller import Arm, instance, model, scale_set, terminate_notice, vm

POOL = scale_set("pool")
INSTANCES = POOL + "/virtualMachines"


def resources(arm: Arm, guest: str = "pool_0") -> list[tuple[str, str, list[str]]]:
    """What a guest is told: kind, status and whom it concerns."""
    return [
        (each["EventType"], each["EventStatus"], each["Resources"]) for each in arm.service.guest(guest).events()
    ]


# Making and growing.


def test_a_scale_set_is_made_with_its_instances(arm: Arm):
    made = arm.make_scale_set("batch", 7, {"tags": {"team": "red"}})

    assert (made["name"], made["sku"]["capacity"], made["tags"]) == ("batch", 7, {"team": "red"})
    assert made["properties"]["provisioningState"] == "Succeeded"
    assert arm.names(scale_set("batch") + "/virtualMachines") == [f"batch_{number}" for number in range(7)]
    domains = [arm.get(instance("batch", number) + "/instanceView")["platformUpdateDomain"] for number in range(7)]
    assert domains == [0, 1, 2, 3, 4, 0, 1]
    assert arm.get(instance("batch", 6))["tags"] == {"team": "red"}


def test_instances_are_put_in_the_zones_in_turn(arm: Arm):
    arm.make_scale_set("batch", 4, {"zones": ["1", "2", "3"]})

    zones = [arm.get(instance("batch", number))["zones"] for number in range(4)]

    assert zones == [["1"], ["2"], ["3"], ["1"]]
    assert arm.get(scale_set("batch"))["zones"] == ["1", "2", "3"]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_more_capacity_makes_instances_with_the_next_numbers(arm: Arm, method: str):
    reply = arm.ask(method, POOL, {"sku": {"capacity": 5}})

    assert reply.status == 200
    assert reply.json["sku"]["capacity"] == 5
    assert "azure-asyncoperation" not in reply.headers
    assert arm.names(INSTANCES) == [f"pool_{number}" for number in range(5)]


def test_a_new_instance_is_made_like_the_model_and_shares_the_document(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.patch(POOL, {"sku": {"capacity": 4}})

    arm.begin("DELETE", instance("pool", 3))

    assert resources(arm) == [("Terminate", "Scheduled", ["pool_3"])]
    assert arm.service.guest("pool_0").events()[0]["NotBefore"] == "Mon, 02 Mar 2026 12:10:00 GMT"


def test_a_put_without_a_capacity_leaves_it(arm: Arm):
    changed = arm.put(POOL, {"location": "local", "tags": {"a": "b"}})

    assert changed["sku"]["capacity"] == 3
    assert arm.get(instance("pool", 0))["tags"] == {"a": "b"}


@pytest.mark.parametrize(
    ("body", "member"),
    [
        (model(priority="Spot"), "properties.virtualMachineProfile.priority"),
        ({"zones": ["1"]}, "zones"),
        ({"properties": {"singlePlacementGroup": True}}, "properties.singlePlacementGroup"),
    ],
)
def test_what_cannot_be_changed_of_a_scale_set_is_refused(arm: Arm, body: Any, member: str):
    answer = arm.refused("PUT", POOL, body)

    assert answer.status == 400
    assert f"{member} cannot be changed" in answer.message


def test_an_instance_does_not_take_the_name_of_a_vm_but_the_next_number(arm: Arm):
    arm.make_vm("BATCH_1")

    made = arm.make_scale_set("batch", 2)
    arm.patch(scale_set("batch"), {"sku": {"capacity": 3}})
    applied = arm.service.operator("PUT", "/v1/fleet", arm.service.get("/v1/fleet"))

    assert made["sku"]["capacity"] == 2
    assert arm.names(scale_set("batch") + "/virtualMachines") == ["batch_0", "batch_2", "batch_3"]
    assert arm.get(vm("BATCH_1"))["name"] == "BATCH_1"
    assert applied.status == 200, applied


# Shrinking.


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_scale_in_announces_the_last_instances_and_is_followed_to_their_end(arm: Arm, method: str):
    arm.service.guest("pool_0").document()

    reply = arm.ask(method, POOL, arm.get(POOL) | {"sku": {"capacity": 1}})

    assert reply.status == 200
    assert reply.headers["azure-asyncoperation"].startswith("http://127.0.0.1:")
    assert reply.headers["retry-after"] == "1"
    assert "location" not in reply.headers
    assert reply.json["sku"]["capacity"] == 1
    assert resources(arm) == [
        ("Terminate", "Scheduled", ["pool_2"]),
        ("Terminate", "Scheduled", ["pool_1"]),
    ]


def test_terminates_of_a_scale_in_wait_for_each_other(arm: Arm):
    guest = arm.service.guest("pool_0")
    guest.document()
    arm.patch(POOL, {"sku": {"capacity": 1}})
    first, second = (each["EventId"] for each in guest.events())

    guest.approve(first)
    arm.service.advance(minutes=2)
    after_one = resources(arm)
    guest.approve(second)
    after_both = resources(arm)
    arm.service.advance(minutes=1)

    assert [status for _, status, _ in after_one] == ["Scheduled", "Scheduled"]
    assert [status for _, status, _ in after_both] == ["Started", "Started"]
    assert arm.names(INSTANCES) == ["pool_0"]
    assert guest.events() == []


def test_terminates_that_nobody_approves_go_when_their_notice_has_run_out(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.patch(POOL, {"sku": {"capacity": 1}})

    arm.service.advance(minutes=9, seconds=59)
    before = arm.names(INSTANCES)
    arm.service.advance(minutes=1)

    assert before == ["pool_0", "pool_1", "pool_2"]
    assert arm.names(INSTANCES) == ["pool_0"]


def test_a_capacity_of_nothing_empties_the_scale_set_and_leaves_it(arm: Arm):
    arm.patch(POOL, {"sku": {"capacity": 0}})
    arm.service.advance(minutes=1)

    emptied = arm.get(POOL)
    arm.patch(POOL, {"sku": {"capacity": 1}})

    assert emptied["sku"]["capacity"] == 0
    assert len(arm.names(INSTANCES)) == 1


def test_a_scale_in_without_a_profile_is_at_once(arm: Arm):
    arm.make_scale_set("batch", 3)
    arm.seat(batch_0="127.3.0.1")
    guest = arm.service.guest("batch_0")
    guest.document()

    arm.patch(scale_set("batch"), {"sku": {"capacity": 1}})
    arm.service.advance(minutes=1)

    assert guest.document() == {"DocumentIncarnation": 1, "Events": []}
    assert arm.names(scale_set("batch") + "/virtualMachines") == ["batch_0"]


def test_instances_that_are_leaving_are_not_counted_and_not_asked_to_leave_again(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.begin("POST", POOL + "/delete", {"instanceIds": ["2"]})

    between = arm.get(POOL)["sku"]["capacity"]
    arm.patch(POOL, {"sku": {"capacity": 1}})

    assert between == 2
    assert resources(arm) == [
        ("Terminate", "Scheduled", ["pool_2"]),
        ("Terminate", "Scheduled", ["pool_1"]),
    ]


def test_a_scale_in_that_a_rule_refuses_changes_nothing(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.begin("POST", instance("pool", 1) + "/restart")

    answer = arm.refused("PATCH", POOL, {"sku": {"capacity": 1}, "tags": {"a": "b"}})

    assert answer.status == 409
    assert "pool_1 cannot be deleted: Reboot of pool_1 is scheduled" in answer.message
    assert resources(arm) == [("Reboot", "Scheduled", ["pool_1"])]
    assert arm.get(POOL)["tags"] == {}


# Profiles.


@pytest.mark.parametrize("timeout", ["PT4M", "PT16M", "PT0S", "later"])
def test_a_terminate_notification_outside_its_range_is_refused(arm: Arm, timeout: str):
    answer = arm.refused("PATCH", POOL, model(**terminate_notice(timeout)))

    assert answer.status == 400
    assert "properties.virtualMachineProfile.scheduledEventsProfile.terminateNotificationProfile" in answer.message


def test_a_changed_profile_is_that_of_all_instances_at_once(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.patch(POOL, model(**terminate_notice("PT15M")))

    arm.begin("DELETE", instance("pool", 2))

    assert arm.service.guest("pool_0").events()[0]["NotBefore"] == "Mon, 02 Mar 2026 12:15:00 GMT"
    assert arm.ask("POST", POOL + "/manualupgrade", {"instanceIds": ["*"]}).status == 200


def test_a_profile_that_comes_with_a_scale_in_is_that_of_the_instances_that_go(arm: Arm):
    arm.make_scale_set("batch", 2)
    arm.seat(batch_0="127.3.0.1")
    arm.service.guest("batch_0").document()

    arm.patch(scale_set("batch"), {"sku": {"capacity": 1}} | model(**terminate_notice("PT5M")))

    assert resources(arm, "batch_0") == [("Terminate", "Scheduled", ["batch_1"])]


def test_a_profile_that_is_switched_off_announces_nothing(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.patch(POOL, model(**terminate_notice(None, enable=False)))

    arm.begin("DELETE", instance("pool", 2))

    assert resources(arm) == []


def test_a_reimage_of_instances_is_announced_where_the_model_says_so(arm: Arm):
    image = {"osImageNotificationProfile": {"enable": True}}
    arm.patch(POOL, model(scheduledEventsProfile=image))
    arm.service.guest("pool_0").document()

    arm.begin("POST", POOL + "/reimage", {"instanceIds": ["1"]})

    assert resources(arm) == [("Reboot", "Scheduled", ["pool_1"])]


# Acting on instances.


@pytest.mark.parametrize(
    ("body", "who"),
    [
        ({"instanceIds": ["1"]}, ["pool_1"]),
        ({"instanceIds": ["0", "2"]}, ["pool_0", "pool_2"]),
        ({"instanceIds": ["*"]}, ["pool_0", "pool_1", "pool_2"]),
        ({}, ["pool_0", "pool_1", "pool_2"]),
        (None, ["pool_0", "pool_1", "pool_2"]),
    ],
    ids=["one", "two", "star", "empty body", "no body"],
)
def test_an_action_concerns_the_instances_that_are_named_or_all(arm: Arm, body: Any, who: list[str]):
    arm.service.guest("pool_0").document()

    arm.begin("POST", POOL + "/redeploy", body)

    assert resources(arm) == [("Redeploy", "Scheduled", [name]) for name in who]


def test_a_list_of_no_instances_is_not_all_of_them(arm: Arm):
    reply = arm.ask("POST", POOL + "/redeploy", {"instanceIds": []})

    assert reply.status == 400
    assert reply.json["error"]["message"].startswith("instanceIds is empty.")


def test_instances_are_switched_without_an_event(arm: Arm):
    guest = arm.service.guest("pool_0")
    guest.document()

    arm.begin("POST", POOL + "/powerOff", {"instanceIds": ["0"]})
    arm.begin("POST", instance("pool", 1) + "/deallocate")
    arm.service.advance(minutes=1)
    states = [arm.power(instance("pool", number)) for number in range(3)]
    arm.begin("POST", POOL + "/start")
    arm.service.advance(minutes=1)

    assert states == ["PowerState/stopped", "PowerState/deallocated", "PowerState/running"]
    assert [arm.power(instance("pool", number)) for number in range(3)] == ["PowerState/running"] * 3
    assert guest.document() == {"DocumentIncarnation": 1, "Events": []}


def test_maintenance_is_done_on_those_instances_that_it_waits_for(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.service.post("/v1/hosts/host-4/maintain", {"kind": "Freeze", "notice_seconds": 86400})

    arm.begin("POST", POOL + "/performMaintenance")
    refused = arm.refused("POST", POOL + "/performMaintenance", {"instanceIds": ["0"]})

    assert [each for each in resources(arm) if each[0] == "Redeploy"] == [("Redeploy", "Scheduled", ["pool_1"])]
    assert refused.status == 409
    assert "No maintenance of pool_0" in refused.message


def test_an_empty_scale_set_has_nothing_to_act_on(arm: Arm):
    arm.make_scale_set("batch", 0)

    reply = arm.ask("POST", scale_set("batch") + "/restart")

    assert (reply.status, reply.body) == (200, b"")


def test_an_instance_that_is_deleted_by_hand_is_announced_by_the_profile(arm: Arm):
    arm.service.guest("pool_0").document()

    work = arm.begin("DELETE", instance("pool", 1))

    assert resources(arm) == [("Terminate", "Scheduled", ["pool_1"])]
    arm.service.advance(minutes=11)
    assert work.status == "Succeeded"
    assert arm.names(INSTANCES) == ["pool_0", "pool_2"]
    assert arm.get(POOL)["sku"]["capacity"] == 2


def test_the_instance_view_of_a_scale_set_counts_its_instances_by_status(arm: Arm):
    arm.begin("POST", instance("pool", 1) + "/deallocate")
    arm.service.advance(minutes=1)

    view = arm.get(scale_set("pool") + "/instanceView")

    assert view["virtualMachine"]["statusesSummary"] == [
        {"code": "PowerState/deallocated", "count": 1},
        {"code": "PowerState/running", "count": 2},
        {"code": "ProvisioningState/succeeded", "count": 3},
    ]
    assert [each["code"] for each in view["statuses"]] == ["ProvisioningState/succeeded"]


def test_the_instance_view_of_an_unknown_scale_set_is_not_found(arm: Arm):
    assert arm.refused("GET", scale_set("nope") + "/instanceView").code == "ResourceNotFound"
