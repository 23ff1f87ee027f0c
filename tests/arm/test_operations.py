"""Long work: how it is answered, how it is followed, and how it ends."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from forewarn.drivers.machines import Trouble
from tests.arm.caller import ROOT, Arm, Work, availability_set, instance, refused, scale_set, vm
from tests.fleets import SMALL
from tests.running import START, running

RESTART = vm("solo") + "/restart"


def announced(arm: Arm, path: str = RESTART, guest: str = "solo") -> tuple[Work, str]:
    """Work that waits for a guest, and the event that the guest is shown."""
    arm.service.guest(guest).document()
    work = arm.begin("POST", path)
    (event,) = arm.service.guest(guest).events()
    return work, event["EventId"]


@pytest.mark.parametrize("act", ["restart", "redeploy"])
def test_long_work_is_accepted_with_where_to_follow_it(arm: Arm, act: str):
    work, _ = announced(arm, f"{vm('solo')}/{act}")

    headers = work.accepted.headers
    base = f"http://127.0.0.1:{arm.service.service.operator[1]}"
    name = work.follow().json["name"]
    where = f"{base}{ROOT}/providers/Microsoft.Compute/locations/local/operations/{name}"
    assert UUID(name).version == 4
    assert headers["azure-asyncoperation"] == f"{where}?api-version=2024-07-01"
    assert headers["location"] == f"{where}?monitor=true&api-version=2024-07-01"
    assert headers["azure-asyncnotification"] == "Enabled"
    assert headers["retry-after"] == "1"
    assert headers["content-length"] == "0"
    assert (headers["cache-control"], headers["pragma"], headers["expires"]) == ("no-cache", "no-cache", "-1")


def test_addresses_are_those_that_the_client_calls(arm: Arm):
    host = f"localhost:{arm.service.service.operator[1]}"

    reply = arm.service.operator("POST", f"{RESTART}?api-version=2022-11-01", headers={"Host": host})

    assert reply.headers["azure-asyncoperation"].startswith(f"http://{host}/subscriptions/")
    assert reply.headers["location"].endswith("?monitor=true&api-version=2022-11-01")


def test_work_is_in_progress_while_its_event_waits_and_until_the_machine_is_done(arm: Arm):
    work, event = announced(arm)

    while_it_waits = work.status
    arm.service.advance(minutes=10)
    still = work.status
    arm.service.guest("solo").approve(event)
    arm.service.advance(seconds=30)
    while_it_is_done = work.status
    arm.service.advance(minutes=1)

    assert (while_it_waits, still, while_it_is_done) == ("InProgress", "InProgress", "InProgress")
    assert work.status == "Succeeded"


def test_a_status_has_when_it_began_and_then_when_it_ended(arm: Arm):
    work, event = announced(arm)

    before = work.follow()
    arm.service.guest("solo").approve(event)
    arm.service.advance(minutes=2)
    after = work.follow()

    assert set(before.json) == {"startTime", "status", "name"}
    assert before.headers["retry-after"] == "1"
    assert set(after.json) == {"startTime", "endTime", "status", "name"}
    assert "retry-after" not in after.headers
    assert datetime.fromisoformat(after.json["startTime"]) == START
    assert datetime.fromisoformat(after.json["endTime"]) == START + timedelta(seconds=65)
    assert after.json["name"] == before.json["name"]


def test_the_location_is_202_while_work_goes_on_and_then_200(arm: Arm):
    work, event = announced(arm)

    before = work.follow("location")
    arm.service.guest("solo").approve(event)
    arm.service.advance(minutes=2)
    after = work.follow("location")

    assert (before.status, before.body) == (202, b"")
    assert before.headers["location"] == work.accepted.headers["location"]
    assert before.headers["retry-after"] == "1"
    assert (after.status, after.body) == (200, b"")


def test_work_that_nobody_has_to_be_told_of_ends_soon(arm: Arm):
    work = arm.begin("POST", RESTART)

    arm.service.advance(minutes=1)

    assert work.status == "Succeeded"


def test_work_that_failed_says_why(arm: Arm):
    arm.service.service.machines.order("solo", Trouble.FAILS)
    work = arm.begin("POST", RESTART)
    arm.service.advance(minutes=2)

    status, monitored = work.follow().json, refused(work.follow("location"))

    assert status["status"] == "Failed"
    assert set(status) == {"startTime", "endTime", "status", "name", "error"}
    assert status["error"]["code"] == "OperationFailed"
    assert "solo: the reboot failed, as it was ordered to" in status["error"]["message"]
    assert (monitored.status, monitored.message) == (409, status["error"]["message"])


def test_work_on_several_failed_if_it_failed_on_one_and_names_that(arm: Arm):
    arm.service.service.machines.order("pool_1", Trouble.FAILS)
    work = arm.begin("POST", scale_set("pool") + "/restart")
    arm.service.advance(minutes=2)

    status = work.follow().json

    assert status["status"] == "Failed"
    assert "pool_1: the reboot failed" in status["error"]["message"]
    assert "pool_0" not in status["error"]["message"]


def test_work_that_was_called_off_is_cancelled_and_says_by_whom(arm: Arm):
    work, event = announced(arm)
    arm.service.post(f"/v1/events/{event}/cancel")

    status, monitored = work.follow().json, refused(work.follow("location"))

    assert status["status"] == "Canceled"
    assert status["error"]["code"] == "OperationCanceled"
    assert "Reboot of solo was cancelled: cancelled by " in status["error"]["message"]
    assert monitored.status == 409


def test_work_on_several_is_one_operation_that_ends_with_the_last_of_them(arm: Arm):
    arm.service.guest("pool_0").document()
    work = arm.begin("POST", scale_set("pool") + "/restart", {"instanceIds": ["0", "2", "0"]})
    events = arm.service.guest("pool_0").events()

    arm.service.guest("pool_0").approve(events[0]["EventId"])
    arm.service.advance(minutes=2)
    halfway = work.status
    arm.service.guest("pool_0").approve(events[1]["EventId"])
    arm.service.advance(minutes=2)

    assert [event["Resources"] for event in events] == [["pool_0"], ["pool_2"]]
    assert (halfway, work.status) == ("InProgress", "Succeeded")


def test_an_operation_is_found_under_the_id_that_rest_gives_it(arm: Arm):
    operation = arm.service.post("/v1/vms/solo/restart")["operation"]["id"]

    answer = arm.get(f"{ROOT}/providers/Microsoft.Compute/locations/westus/operations/{operation.upper()}")

    assert answer["name"] == operation


@pytest.mark.parametrize("name", ["00000000-0000-4000-8000-000000000000", "nonsense", "%00"])
def test_an_operation_that_nobody_asked_for_is_not_found(arm: Arm, name: str):
    answer = arm.refused("GET", f"{ROOT}/providers/Microsoft.Compute/locations/local/operations/{name}")

    assert (answer.status, answer.code) == (404, "NotFound")


def test_an_operation_survives_a_restart_of_the_service(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/forewarn.db"
    with running(SMALL, store=store) as service:
        work, event = announced(Arm(service))

    with running(store=store) as service:
        after = Work(Arm(service), work.accepted)
        waiting = after.status, after.follow("location").status
        service.guest("solo").approve(event)
        service.advance(minutes=2)
        done = after.status

    with running(store=store) as service:
        later = Work(Arm(service), work.accepted)
        assert (waiting, done, later.status) == (("InProgress", 202), "Succeeded", "Succeeded")


# What the rules refuse.


def test_a_second_request_is_refused_and_the_first_is_named(arm: Arm):
    _, event = announced(arm)

    answer = arm.refused("POST", vm("solo") + "/redeploy")

    assert (answer.status, answer.code) == (409, "Conflict")
    assert "solo cannot be redeployed: Reboot of solo is scheduled" in answer.message
    assert event[:8].lower() in answer.message


def test_what_has_started_is_named_that_stands_in_the_way(arm: Arm):
    arm.service.guest("solo").document()
    arm.service.post("/v1/hosts/host-0/fail")

    answer = arm.refused("POST", RESTART)

    assert answer.status == 409
    assert "solo cannot be restarted: Redeploy of host-0 has started" in answer.message


def test_all_of_several_are_refused_if_one_is(arm: Arm):
    arm.service.guest("pool_0").document()
    arm.begin("POST", instance("pool", 1) + "/restart")

    answer = arm.refused("POST", scale_set("pool") + "/redeploy")

    assert answer.status == 409
    assert "pool_1 cannot be redeployed" in answer.message
    assert [event["EventType"] for event in arm.service.guest("pool_0").events()] == ["Reboot"]


@pytest.mark.parametrize("path", [vm("solo"), instance("pool", 0)])
def test_only_spot_vms_are_evicted(arm: Arm, path: str):
    answer = arm.refused("POST", f"{path}/simulateEviction")

    assert (answer.status, answer.code) == (409, "OperationNotAllowed")
    assert "only Spot VMs can be" in answer.message


def test_a_vm_that_is_stopped_cannot_be_restarted(arm: Arm):
    arm.begin("POST", vm("solo") + "/deallocate")
    arm.service.advance(minutes=1)

    answer = arm.refused("POST", RESTART)

    assert (answer.status, answer.code) == (409, "OperationNotAllowed")
    assert "solo is deallocated; it cannot be restarted." in answer.message


def test_maintenance_that_nobody_announced_cannot_be_done_now(arm: Arm):
    answer = arm.refused("POST", vm("solo") + "/performMaintenance")

    assert (answer.status, answer.code) == (409, "OperationNotAllowed")
    assert "No maintenance of solo is scheduled" in answer.message


def test_an_availability_set_stays_while_vms_are_in_it(arm: Arm):
    answer = arm.refused("DELETE", availability_set("web"))

    assert (answer.status, answer.code) == (409, "OperationNotAllowed")
    assert "web-0 is in it" in answer.message


def test_a_users_operation_beyond_the_limit_is_refused():
    with running(SMALL, user_operation_limit=2) as service:
        arm = Arm(service)
        service.guest("pool_0").document()

        answer = arm.refused("POST", scale_set("pool") + "/restart")

        assert (answer.status, answer.code) == (409, "OperationNotAllowed")
        assert "the limit is 2" in answer.message
        assert service.guest("pool_0").events() == []
