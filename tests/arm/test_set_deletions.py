"""A scale set goes with the last of its instances, and its deletion is followed until then."""

from __future__ import annotations

from tests.arm.caller import Arm, compute, instance, model, scale_set, terminate_notice, vm
from tests.running import START

POOL = scale_set("pool")
INSTANCES = POOL + "/virtualMachines"


def test_a_set_whose_deletion_was_called_off_goes_on(arm: Arm):
    arm.patch(POOL, model(**terminate_notice("PT5M")))
    arm.service.guest("pool_0").document()
    arm.ask("DELETE", POOL)
    for event in arm.service.get("/v1/events")["events"]:
        arm.service.post(f"/v1/events/{event['id']}/cancel")

    found = arm.get(POOL)
    reply = arm.ask("PATCH", POOL, {"sku": {"capacity": 4}})

    assert found["properties"]["provisioningState"] == "Succeeded"
    assert (reply.status, reply.json["sku"]["capacity"]) == (200, 4)


def test_a_scale_set_goes_with_the_last_of_its_instances(arm: Arm):
    arm.service.guest("pool_0").document()

    work = arm.begin("DELETE", POOL)

    assert arm.get(POOL)["properties"]["provisioningState"] == "Deleting"
    assert len(arm.service.guest("pool_0").events()) == 3
    arm.service.advance(minutes=9)
    assert work.status == "InProgress"
    arm.service.advance(minutes=2)
    assert work.status == "Succeeded"
    assert "pool" not in arm.names(compute("virtualMachineScaleSets"))
    assert arm.ask("DELETE", POOL).status == 204


def test_an_empty_scale_set_goes_at_once(arm: Arm):
    arm.make_scale_set("batch", 0)

    reply = arm.ask("DELETE", scale_set("batch"))

    assert (reply.status, reply.body) == (200, b"")
    assert arm.ask("GET", scale_set("batch")).status == 404


def test_the_deletion_of_a_scale_set_whose_instances_are_leaving_is_followed_to_their_end(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.begin("POST", POOL + "/delete", {"instanceIds": ["*"]})

    work = arm.begin("DELETE", POOL)

    assert work.status == "InProgress"
    arm.service.advance(minutes=11)
    assert work.status == "Succeeded"
    assert arm.ask("GET", POOL).status == 404


def test_the_deletion_of_a_scale_set_waits_for_instances_that_were_leaving_before(arm: Arm):
    arm.service.guest("pool_0").document()
    before = arm.begin("DELETE", instance("pool", 0))
    arm.patch(POOL, model(**terminate_notice(None, enable=False)))

    work = arm.begin("DELETE", POOL)
    arm.service.advance(minutes=1)
    between = (arm.names(INSTANCES), work.status, work.follow("location").status)
    arm.service.advance(minutes=10)

    assert between == (["pool_0"], "InProgress", 202)
    assert (work.status, before.status) == ("Succeeded", "Succeeded")
    assert work.follow("location").status == 200
    assert arm.ask("GET", POOL).status == 404


def test_the_deletion_of_a_scale_set_one_of_whose_instances_stays_is_cancelled(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.begin("DELETE", instance("pool", 0))
    arm.patch(POOL, model(**terminate_notice(None, enable=False)))
    work = arm.begin("DELETE", POOL)
    arm.service.advance(minutes=1)
    (event,) = arm.service.get("/v1/events")["events"]

    arm.service.post(f"/v1/events/{event['id']}/cancel")

    told = work.follow().json
    assert (told["status"], told["error"]["code"]) == ("Canceled", "OperationCanceled")
    assert arm.names(INSTANCES) == ["pool_0"]


def test_a_scale_set_that_is_being_deleted_does_not_grow(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.begin("DELETE", POOL)

    answer = arm.refused("PATCH", POOL, {"sku": {"capacity": 5}})

    assert (answer.status, answer.code) == (409, "Conflict")
    assert "pool is being deleted" in answer.message


def test_a_scale_set_may_have_the_name_of_one_that_has_gone(arm: Arm):
    arm.ask("DELETE", POOL)
    arm.service.advance(minutes=1)

    arm.make_scale_set("pool", 2)

    assert arm.names(INSTANCES) == ["pool_0", "pool_1"]
    assert arm.service.now > START
    assert arm.ask("GET", vm("pool_0")).status == 404
