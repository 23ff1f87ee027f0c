"""Statements on the ARM surface, and on what the metadata endpoint shows of what was asked for there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.arm.caller import (
    Arm,
    approves,
    availability_set,
    instance,
    model,
    refused,
    scale_set,
    terminate_notice,
    vm,
)
from tests.conformance.wire import only
from tests.running import RunningService


@pytest.fixture
def arm(service: RunningService) -> Arm:
    return Arm(service)


@pytest.mark.conformance(89)
@pytest.mark.parametrize(
    ("member", "act", "kind"),
    [("userInitiatedReboot", "restart", "Reboot"), ("userInitiatedRedeploy", "redeploy", "Redeploy")],
)
@pytest.mark.parametrize(
    ("holder", "target", "guest"),
    [
        (vm("solo"), vm("solo"), "solo"),
        (availability_set("web"), vm("web-1"), "web-0"),
        (scale_set("pool"), instance("pool", 1), "pool_0"),
    ],
    ids=["VM", "availability set", "scale set"],
)
def test_what_is_approved_automatically_first_appears_as_started(
    arm: Arm, holder: str, target: str, guest: str, member: str, act: str, kind: str
):
    arm.patch(holder, {"properties": approves(**{member: True})})
    reader = arm.service.guest(guest)
    before = reader.document()["DocumentIncarnation"]

    arm.begin("POST", f"{target}/{act}")

    document = reader.document()
    event = only(document["Events"])
    assert (event["EventType"], event["EventStatus"], event["NotBefore"]) == (kind, "Started", "")
    assert document["DocumentIncarnation"] == before + 1


@pytest.mark.conformance(92)
def test_a_restart_is_in_progress_until_its_event_completes(arm: Arm):
    guest = arm.service.guest("solo")
    guest.document()
    work = arm.begin("POST", vm("solo") + "/restart")
    seen = []

    for _ in range(200):
        seen.append((bool(guest.events()), work.status))
        if not guest.events():
            break
        arm.service.post("/v1/clock", {"until": "next"})

    assert seen[-1] == (False, "Succeeded")
    assert set(seen[:-1]) == {(True, "InProgress")}


@pytest.mark.conformance(101)
@pytest.mark.parametrize("act", ["restart", "redeploy"])
@pytest.mark.parametrize(
    "target", [vm("solo"), scale_set("pool"), instance("pool", 0)], ids=["VM", "set", "instance"]
)
def test_long_work_is_accepted_with_absolute_addresses_and_no_body(arm: Arm, target: str, act: str):
    reply = arm.ask("POST", f"{target}/{act}")

    base = f"http://127.0.0.1:{arm.service.service.operator[1]}/subscriptions/"
    assert (reply.status, reply.body) == (202, b"")
    assert reply.headers["azure-asyncoperation"].startswith(base)
    assert reply.headers["location"].startswith(base)
    assert "monitor=true" in reply.headers["location"]
    assert "monitor" not in reply.headers["azure-asyncoperation"]


@pytest.mark.conformance(102)
def test_a_status_has_start_status_and_name_and_at_the_end_its_end(arm: Arm):
    work = arm.begin("POST", vm("solo") + "/restart")

    running = work.follow()
    arm.service.advance(minutes=2)
    ended = work.follow()

    assert (running.status, ended.status) == (200, 200)
    assert running.headers["content-type"].startswith("application/json")
    assert (set(running.json), running.json["status"]) == ({"startTime", "status", "name"}, "InProgress")
    assert (set(ended.json), ended.json["status"]) == ({"startTime", "endTime", "status", "name"}, "Succeeded")


@pytest.mark.conformance(103)
def test_the_location_is_202_while_it_runs_and_then_200_without_a_body(arm: Arm):
    work = arm.begin("POST", vm("solo") + "/redeploy")

    running = work.follow("location")
    arm.service.advance(minutes=3)
    ended = work.follow("location")

    assert (running.status, running.body) == (202, b"")
    assert (ended.status, ended.body) == (200, b"")


@pytest.mark.conformance(104)
@pytest.mark.parametrize("target", [vm("frugal"), instance("spot", 0)], ids=["VM", "instance"])
def test_an_eviction_is_204_without_a_body(arm: Arm, target: str):
    reply = arm.ask("POST", f"{target}/simulateEviction")

    assert (reply.status, reply.body) == (204, b"")


@pytest.mark.conformance(105)
@pytest.mark.parametrize(
    ("resource", "target", "guest"),
    [
        (vm("solo"), vm("solo"), "solo"),
        (availability_set("web"), vm("web-1"), "web-0"),
        (scale_set("pool"), instance("pool", 1), "pool_0"),
    ],
    ids=["VM", "availability set", "scale set"],
)
@pytest.mark.parametrize("is_list", [False, True], ids=["one", "list"])
def test_an_acknowledged_event_starts(arm: Arm, resource: str, target: str, guest: str, is_list: Any):
    reader = arm.service.guest(guest)
    reader.document()
    arm.begin("POST", f"{target}/restart")
    event = only(reader.events())["EventId"]
    events = f"{resource}/providers/Microsoft.Maintenance/scheduledevents"

    reply = (
        arm.ask("POST", f"{events}/acknowledge", {"value": [event]})
        if is_list
        else arm.ask("POST", f"{events}/{event}/acknowledge")
    )

    assert (reply.status, reply.json) == (200, {"value": "Successfully Approved"})
    assert only(reader.events())["EventStatus"] == "Started"


@pytest.mark.conformance(106)
@pytest.mark.parametrize("timeout", ["PT4M59S", "PT15M1S", "PT1H", "PT0S", "P1D", "soon"])
@pytest.mark.parametrize("name", ["pool", "fresh"], ids=["there", "new"])
def test_a_scale_set_with_a_notice_outside_5_to_15_minutes_is_refused(arm: Arm, name: str, timeout: str):
    answer = arm.refused("PUT", scale_set(name), {"sku": {"capacity": 3}} | model(**terminate_notice(timeout)))

    assert answer.status == 400
    assert "notBeforeTimeout" in answer.message


@pytest.mark.conformance(106)
@pytest.mark.parametrize("timeout", ["PT5M", "PT15M"])
def test_a_scale_set_with_a_notice_of_5_or_15_minutes_is_taken(arm: Arm, timeout: str):
    changed = arm.put(scale_set("pool"), model(**terminate_notice(timeout)))

    profile = changed["properties"]["virtualMachineProfile"]["scheduledEventsProfile"]
    assert profile["terminateNotificationProfile"] == {"enable": True, "notBeforeTimeout": timeout}


@pytest.mark.conformance(107)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", vm("nope")),
        ("GET", vm("solo", "elsewhere")),
        ("POST", vm("nope") + "/restart"),
        ("POST", vm("nope") + "/simulateEviction"),
        ("GET", instance("pool", 7)),
    ],
)
def test_a_vm_that_is_not_there_is_404_with_arms_code(arm: Arm, method: str, path: str):
    answer = refused(arm.ask(method, path))

    assert (answer.status, answer.code) == (404, "ResourceNotFound")
