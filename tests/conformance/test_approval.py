"""Statements 58 to 76: approval."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.wire import (
    FREEZE,
    NEWEST,
    STRICT_VERSIONS,
    VERSIONS,
    only,
    scheduled_restart,
    start_requests,
    url,
)
from tests.running import Guest, RunningService

UNKNOWN = "00000000-0000-4000-8000-00000000000A"
NOT_OPEN = b'{"error":"Bad request. An EventId is not that of an open event of this virtual machine"}'


def statuses(guest: Guest) -> list[str]:
    return [event["EventStatus"] for event in guest.events()]


@pytest.mark.conformance(58)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_approval_of_a_scheduled_event_is_answered_200(service: RunningService, version: str):
    web, event = scheduled_restart(service)

    reply = web.call("POST", url(version), f'{{"StartRequests":[{{"EventId":"{event}"}}]}}')

    assert reply.status == 200


@pytest.mark.conformance(59)
def test_an_approved_restart_starts_before_its_not_before(service: RunningService):
    web, event = scheduled_restart(service)

    web.approve(event)

    assert only(web.events())["EventStatus"] == "Started"
    assert service.get(f"/v1/events/{event}")["started_at"] == "2026-03-02T12:00:00Z"


@pytest.mark.conformance(59)
def test_approved_work_on_a_host_with_one_tenant_starts_before_its_not_before(mixed: RunningService):
    guest = mixed.guest("mix_0")
    guest.document()
    mixed.post("/v1/hosts/host-0/maintain", FREEZE)
    mixed.advance(minutes=1)

    guest.approve(only(guest.events())["EventId"])

    assert statuses(guest) == ["Started"]


@pytest.mark.conformance(60)
@pytest.mark.parametrize("vm", ["solo", "web-0"])
def test_the_same_approval_again_is_answered_200_while_the_event_is_scheduled(service: RunningService, vm: str):
    others = [service.guest("solo"), service.guest("web-0")]
    for other in others:
        other.document()
    service.post("/v1/hosts/host-0/maintain", FREEZE)
    guest = service.guest(vm)
    event = only(guest.events())["EventId"]

    replies = [guest.approve(event) for _ in range(3)]

    assert [reply.status for reply in replies] == [200, 200, 200]
    assert statuses(guest) == ["Scheduled"]  # the other tenant has not approved
    assert service.get(f"/v1/events/{event}")["approved_by"] == vm


@pytest.mark.conformance(60)
def test_the_same_approval_by_another_vm_is_answered_200(service: RunningService):
    _, event = scheduled_restart(service)

    replies = [service.guest(f"web-{n}").approve(event) for n in range(3)]

    assert [reply.status for reply in replies] == [200, 200, 200]


@pytest.mark.conformance(61)
def test_an_approval_of_a_started_event_is_answered_200_and_changes_nothing(service: RunningService):
    web, event = scheduled_restart(service)
    service.advance(minutes=15)
    assert statuses(web) == ["Started"]
    before, shown = web.call(), service.get(f"/v1/events/{event}")

    reply = web.approve(event)

    assert reply.status == 200
    assert (web.call().body, web.call().headers["etag"]) == (before.body, before.headers["etag"])
    assert service.get(f"/v1/events/{event}") == shown


@pytest.mark.conformance(62)
def test_a_member_that_is_not_in_resources_can_approve(service: RunningService):
    _, event = scheduled_restart(service, "web-0")

    reply = service.guest("web-2").approve(event)

    seen = only(service.guest("web-0").events())
    assert reply.status == 200
    assert (seen["EventStatus"], seen["Resources"]) == ("Started", ["web-0"])
    assert service.get(f"/v1/events/{event}")["approved_by"] == "web-2"


@pytest.mark.conformance(63)
def test_approval_by_one_guest_starts_the_event_for_all_its_resources(crowded: RunningService):
    guest = crowded.guest("db-0")
    guest.document()
    crowded.post("/v1/vms/db-1/stop")  # leaves one update domain on the host, hence one event
    crowded.advance(seconds=10)
    answer = crowded.post("/v1/hosts/host-0/maintain", {"kind": "Reboot"})

    guest.approve(only(guest.events())["EventId"])

    event = only(guest.events())
    assert (event["EventStatus"], event["Resources"]) == ("Started", ["db-0", "db-2"])
    crowded.advance(minutes=2)
    ended = crowded.get(f"/v1/operations/{answer['operation']['id']}")
    assert (ended["phase"], ended["targets"]) == ("Completed", ["db-0", "db-2"])


@pytest.mark.conformance(64)
def test_several_events_in_one_request_are_all_approved(service: RunningService):
    _, first = scheduled_restart(service, "web-0")
    _, second = scheduled_restart(service, "web-1")
    web, third = scheduled_restart(service, "web-2")

    reply = web.approve(first, third)

    assert reply.status == 200
    assert {event["EventId"]: event["EventStatus"] for event in web.events()} == {
        first: "Started",
        second: "Scheduled",
        third: "Started",
    }


@pytest.mark.conformance(65)
@pytest.mark.parametrize(
    "incarnation", ["2", 2, "5", 5, 0, -1, "", None], ids=lambda value: f"{type(value).__name__} {value}"
)
def test_a_document_incarnation_is_accepted_whatever_it_says(service: RunningService, incarnation: Any):
    web, event = scheduled_restart(service)

    reply = web.call("POST", NEWEST, start_requests(event, DocumentIncarnation=incarnation))

    assert reply.status == 200
    assert statuses(web) == ["Started"]


@pytest.mark.conformance(66)
@pytest.mark.parametrize(
    "content_type",
    ["application/x-www-form-urlencoded", "application/json", "text/plain", "application/octet-stream", None],
)
def test_the_body_is_read_as_json_whatever_its_content_type(service: RunningService, content_type: str | None):
    web, event = scheduled_restart(service)
    headers = {} if content_type is None else {"Content-Type": content_type}

    reply = web.call("POST", NEWEST, start_requests(event), headers)

    assert reply.status == 200
    assert statuses(web) == ["Started"]


@pytest.mark.conformance(67)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"StartRequests=x",
        b'{"StartRequests":[{"EventId":"%(id)s"}]',
        b'{"StartRequests":[{"EventId":"%(id)s"}]}x',
        b"{'StartRequests':[{'EventId':'%(id)s'}]}",
        b'{"StartRequests":[{"EventId":"%(id)s"}],"x":\xff}',
        b'{"x":' + b"[" * 30000,
    ],
    ids=["nothing", "a brace", "a form", "cut off", "text behind", "single quotes", "no UTF-8", "very deep"],
)
def test_invalid_json_is_refused_and_approves_nothing(service: RunningService, body: bytes):
    web, event = scheduled_restart(service)

    reply = web.call("POST", NEWEST, body.replace(b"%(id)s", event.encode()))

    assert (reply.status, reply.body) == (400, b'{"error":"Bad request. The payload is not valid JSON"}')
    assert statuses(web) == ["Scheduled"]


@pytest.mark.conformance(68)
@pytest.mark.parametrize(
    "payload",
    [
        {},
        [],
        None,
        "StartRequests",
        {"startrequests": [{"EventId": "%(id)s"}]},
        {"StartRequests": None},
        {"StartRequests": {"EventId": "%(id)s"}},
        {"StartRequests": "%(id)s"},
        {"StartRequests": []},
        {"StartRequests": ["%(id)s"]},
        {"StartRequests": [{}]},
        {"StartRequests": [{"eventid": "%(id)s"}]},
        {"StartRequests": [{"EventId": None}]},
        {"StartRequests": [{"EventId": 5}]},
        {"StartRequests": [{"EventId": "%(id)s"}, {}]},
    ],
    ids=json.dumps,
)
def test_a_malformed_payload_is_refused_and_approves_nothing(service: RunningService, payload: Any):
    web, event = scheduled_restart(service)

    reply = web.call("POST", NEWEST, json.dumps(payload).replace("%(id)s", event))

    assert reply.status == 400
    assert reply.json["error"].startswith("Bad request. The payload is malformed: ")
    assert statuses(web) == ["Scheduled"]


@pytest.mark.conformance(69)
@pytest.mark.parametrize("wanted", [UNKNOWN, "not-an-id", ""], ids=["well-formed", "malformed", "empty"])
def test_an_unknown_event_id_is_refused_and_nothing_changes(service: RunningService, wanted: str):
    web, _ = scheduled_restart(service)
    before = web.call()

    reply = web.approve(wanted)

    assert (reply.status, reply.body) == (400, NOT_OPEN)
    assert web.call().body == before.body


@pytest.mark.conformance(69)
def test_a_list_with_one_unknown_event_id_approves_none(service: RunningService):
    web, event = scheduled_restart(service)

    reply = web.approve(event, UNKNOWN)

    assert (reply.status, reply.body) == (400, NOT_OPEN)
    assert statuses(web) == ["Scheduled"]
    assert service.get(f"/v1/events/{event}")["approved_by"] is None


@pytest.mark.conformance(69)
def test_an_event_that_has_gone_is_as_unknown_as_one_that_never_was(service: RunningService):
    web, event = scheduled_restart(service)
    service.post(f"/v1/events/{event}/cancel")

    reply = web.approve(event)

    assert (reply.status, reply.body) == (400, NOT_OPEN)


@pytest.mark.conformance(70)
@pytest.mark.parametrize(
    "change", [str.lower, lambda text: text[:18].lower() + text[18:]], ids=["lower case", "mixed case"]
)
def test_an_event_id_is_read_whatever_its_case(service: RunningService, change: Any):
    web, event = scheduled_restart(service)

    reply = web.approve(change(event))

    assert reply.status == 200
    assert statuses(web) == ["Started"]


@pytest.mark.conformance(71)
@pytest.mark.parametrize("stranger", ["solo", "twin", "pool_0", "FrontEnd_IN_0"])
def test_a_vm_outside_the_tenant_cannot_approve(service: RunningService, stranger: str):
    web, event = scheduled_restart(service)
    before = web.call()

    reply = service.guest(stranger).approve(event)

    assert (reply.status, reply.body) == (400, NOT_OPEN)
    assert web.call().body == before.body
    assert service.get(f"/v1/events/{event}")["approved_by"] is None


@pytest.mark.conformance(72)
@pytest.mark.parametrize("posted", VERSIONS)
def test_an_event_read_with_one_version_can_be_approved_with_any_other(service: RunningService, posted: str):
    web = service.guest("web-0")
    web.document()
    seen = {}

    for read in VERSIONS:
        service.post("/v1/vms/web-0/restart")
        event = only(web.events(read))["EventId"]
        reply = web.approve(event, version=posted)
        seen[read] = (reply.status, only(web.events(read))["EventStatus"])
        service.advance(minutes=2)

    assert seen == dict.fromkeys(VERSIONS, (200, "Started"))


@pytest.mark.conformance(73)
@pytest.mark.parametrize("version", STRICT_VERSIONS)
def test_an_approval_without_the_header_is_refused_from_2017_08_01_on(service: RunningService, version: str):
    web, event = scheduled_restart(service)

    reply = web.call("POST", url(version), start_requests(event), with_header=False)

    assert reply.status == 400
    assert statuses(web) == ["Scheduled"]


@pytest.mark.conformance(74)
def test_the_body_of_a_success_is_empty(service: RunningService):
    web, event = scheduled_restart(service)

    reply = web.approve(event)

    assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "0")


@pytest.mark.conformance(75)
def test_one_of_two_terminates_that_is_approved_waits_for_the_other(service: RunningService):
    guest = service.guest("pool_2")
    guest.document()
    events = [service.post(f"/v1/vms/pool_{n}/delete")["event"]["id"] for n in range(2)]

    guest.approve(events[0])
    service.advance(minutes=9, seconds=59)

    assert statuses(guest) == ["Scheduled", "Scheduled"]
    assert {service.get(f"/v1/vms/pool_{n}")["state"] for n in range(2)} == {"running"}
    service.advance(seconds=1)
    assert statuses(guest) == ["Started", "Started"]


@pytest.mark.conformance(75)
@pytest.mark.parametrize("together", [True, False], ids=["in one request", "one after the other"])
def test_two_terminates_that_are_both_approved_delete_both(service: RunningService, *, together: bool):
    guest = service.guest("pool_2")
    guest.document()
    events = [service.post(f"/v1/vms/pool_{n}/delete")["event"]["id"] for n in range(2)]

    for approved in [events] if together else [[event] for event in events]:
        guest.approve(*approved)

    assert statuses(guest) == ["Started", "Started"]
    service.advance(minutes=1)
    assert guest.events() == []
    assert service.get("/v1/scopes/pool")["vms"] == ["pool_2"]


@pytest.mark.conformance(75)
def test_an_approved_terminate_goes_when_the_other_one_has_run_out(service: RunningService):
    guest = service.guest("pool_2")
    guest.document()
    service.post("/v1/vms/pool_0/delete")
    service.advance(minutes=4)
    service.post("/v1/vms/pool_1/delete")
    guest.approve(guest.events()[1]["EventId"])

    service.advance(minutes=5, seconds=59)
    before = statuses(guest)
    service.advance(seconds=1)

    assert before == ["Scheduled", "Scheduled"]
    assert statuses(guest) == ["Started", "Started"]


@pytest.mark.conformance(76)
@pytest.mark.parametrize("by", ["approval", "time"])
def test_work_on_a_shared_host_waits_for_the_other_tenant_or_its_not_before(service: RunningService, by: str):
    solo, web = service.guest("solo"), service.guest("web-1")
    solo.document()
    web.document()
    service.post("/v1/hosts/host-0/maintain", FREEZE)

    first = solo.approve(only(solo.events())["EventId"])
    service.advance(minutes=14, seconds=59)
    before = statuses(solo) + statuses(web)
    if by == "approval":
        web.approve(only(web.events())["EventId"])
    else:
        service.advance(seconds=1)

    assert first.status == 200
    assert before == ["Scheduled", "Scheduled"]
    assert statuses(solo) + statuses(web) == ["Started", "Started"]
