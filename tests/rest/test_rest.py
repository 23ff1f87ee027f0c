"""REST for operators: shapes, statuses and refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fleets import SMALL
from tests.running import RunningService, running

EVENT_FIELDS = {
    "id", "kind", "phase", "source", "scope", "resources", "not_before", "created_at", "approved_by",
    "approved_at", "started_at", "ended_at", "description", "duration_seconds", "operation", "waiting_for",
}  # fmt: skip
VM_FIELDS = {"name", "host", "scope", "state", "resource_group", "priority", "update_domain"}
HISTORY_FIELDS = {
    "event", "operation", "kind", "resources", "scope", "asked_by", "approved_by", "notice_promised_seconds",
    "notice_given_seconds", "outcome",
}  # fmt: skip

_MIGRATION = {"kind": "Freeze", "by": "live_migration"}


def restarted(service: RunningService, vm: str = "solo") -> dict[str, Any]:
    """An event that is scheduled."""
    service.guest(vm).document()
    return service.post(f"/v1/vms/{vm}/restart", expect=202)["event"]


def refused(service: RunningService, method: str, path: str, body: Any = None) -> tuple[int, dict[str, str]]:
    reply = service.operator(method, path, body)
    error = reply.json["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["message"].endswith((".", "?")) or "\n" in error["message"], error
    return reply.status, error


def test_a_restart_is_answered_with_its_operation_and_its_event(service: RunningService):
    service.guest("solo").document()

    answer = service.post("/v1/vms/solo/restart", expect=202)

    assert set(answer) == {"operation", "event"}
    assert set(answer["event"]) >= EVENT_FIELDS
    assert answer["event"]["operation"] == answer["operation"]["id"]
    assert answer["event"]["not_before"] == "2026-03-02T12:15:00Z"
    assert answer["event"]["waiting_for"] == ["approval from solo (scope solo) until 12:15:00Z"]


def test_a_restart_in_a_scope_that_is_off_runs_at_once_and_has_no_event(service: RunningService):
    answer = service.post("/v1/vms/solo/restart", expect=202)

    assert answer["event"] is None
    assert answer["operation"]["phase"] == "Started"


def test_maintain_degrade_and_fail_answer_with_all_events(service: RunningService):
    freeze = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze", "duration_seconds": 7}, expect=202)
    degrade = service.post("/v1/hosts/host-1/degrade", {"notice_seconds": 3600}, expect=202)
    failure = service.post("/v1/hosts/host-2/fail", expect=202)

    assert [event["resources"] for event in freeze["events"]] == [["web-0"], ["solo"]]
    assert [event["duration_seconds"] for event in freeze["events"]] == [7, 7]
    assert [event["not_before"] for event in degrade["events"]] == ["2026-03-02T13:00:00Z"] * 2
    assert [event["phase"] for event in failure["events"]] == ["Started", "Started"]


def test_default_texts_sources_and_durations(service: RunningService):
    service.guest("frugal").document()
    service.guest("pool_0").document()
    told = {
        "maintain": service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})["events"][0],
        "migrate": service.post("/v1/hosts/host-3/maintain", {"kind": "Freeze", "by": "live_migration"})["events"][
            0
        ],
        "degrade": service.post("/v1/hosts/host-1/degrade")["events"][0],
        "fail": service.post("/v1/hosts/host-2/fail")["events"][0],
        "evict": service.post("/v1/vms/frugal/evict")["event"],
        "delete": service.post("/v1/vms/pool_1/delete")["event"],
    }

    assert {
        name: (each["description"], each["source"], each["duration_seconds"]) for name, each in told.items()
    } == {
        "maintain": ("Host server is undergoing maintenance.", "Platform", 9),
        "migrate": (
            "Virtual machine is being paused because of a memory-preserving Live Migration operation.",
            "Platform",
            5,
        ),
        "degrade": ("Host server is undergoing an emergency repair.", "Platform", -1),
        "fail": ("Virtual machine has encountered a failure.", "Platform", -1),
        "evict": ("", "Platform", -1),
        "delete": ("", "User", -1),
    }


def test_a_vm_and_a_host_come_flat(service: RunningService):
    vm, host = service.get("/v1/vms/web-0"), service.get("/v1/hosts/host-0")

    assert set(vm) >= VM_FIELDS
    assert (vm["name"], vm["host"], vm["scope"], vm["state"]) == ("web-0", "host-0", "web", "running")
    assert host["vms"] == ["solo", "web-0"]


def test_a_scope_says_whether_it_is_on_and_when_it_was_last_asked_for(service: RunningService):
    before = service.get("/v1/scopes/web")
    service.guest("web-1").document()

    after = service.get("/v1/scopes/web")

    assert (before["is_on"], before["last_poll"]) == (False, None)
    assert (after["is_on"], after["last_poll"]) == (True, "2026-03-02T12:00:00Z")
    assert after["vms"] == ["web-0", "web-1", "web-2"]


def test_an_event_is_found_in_any_case_and_by_its_beginning(service: RunningService):
    event = restarted(service)["id"]

    for name in (event, event.lower(), event[:8], event[:6].lower()):
        assert service.get(f"/v1/events/{name}")["id"] == event


def test_an_operators_approval_starts_the_event_in_its_name(service: RunningService):
    event = restarted(service)["id"]

    answer = service.post(f"/v1/events/{event}/approve", expect=200)

    assert (answer["phase"], answer["approved_by"]) == ("Started", "operator")


def test_cancelling_one_event_cancels_its_whole_operation(service: RunningService):
    first, second = service.post("/v1/hosts/host-0/maintain", {"kind": "Reboot"})["events"]

    answer = service.post(f"/v1/events/{first['id']}/cancel", expect=200)

    assert answer["phase"] == "Cancelled"
    assert service.get(f"/v1/events/{second['id']}")["phase"] == "Cancelled"
    assert service.get("/v1/events")["events"] == []


def test_ended_events_and_operations_are_still_answered(service: RunningService):
    event = restarted(service)
    service.post(f"/v1/events/{event['id']}/approve")
    service.advance(seconds=70)

    found, operation = (
        service.get(f"/v1/events/{event['id']}"),
        service.get(f"/v1/operations/{event['operation']}"),
    )

    assert (found["phase"], found["waiting_for"]) == ("Completed", [])
    assert (operation["phase"], operation["events"]) == ("Completed", [event["id"]])


def test_the_list_of_events_holds_what_is_open_unless_a_phase_is_named(service: RunningService):
    done, is_open = restarted(service, "solo"), restarted(service, "twin")
    service.post(f"/v1/events/{done['id']}/approve")
    service.advance(seconds=70)

    def ids(query: str) -> list[str]:
        return [event["id"] for event in service.get(f"/v1/events{query}")["events"]]

    assert ids("") == [is_open["id"]]
    assert ids("?phase=Completed") == [done["id"]]
    assert ids("?phase=all") == [done["id"], is_open["id"]]
    assert ids("?phase=all&vm=solo") == [done["id"]]
    assert ids("?scope=twin") == [is_open["id"]]


@pytest.mark.parametrize(
    ("path", "name", "count"), [("/v1/vms", "vms", 14), ("/v1/hosts", "hosts", 6), ("/v1/scopes", "scopes", 8)]
)
def test_lists_come_in_pages_that_meet(service: RunningService, path: str, name: str, count: int):
    found, after = [], ""
    for _ in range(20):
        page = service.get(f"{path}?limit=3{after}")
        found += [each.get("name") or each.get("id") for each in page[name]]
        if page["next"] is None:
            break
        assert len(page[name]) == 3
        after = f"&after={page['next']}"

    assert found == sorted(set(found))
    assert len(found) == count


def test_events_come_in_pages_that_meet(service: RunningService):
    made = [restarted(service, vm)["id"] for vm in ("solo", "twin", "frugal", "brief", "web-0")]

    first = service.get("/v1/events?limit=3")
    second = service.get(f"/v1/events?limit=3&after={first['next']}")

    assert [event["id"] for event in first["events"] + second["events"]] == made
    assert second["next"] is None


def test_history_says_who_asked_who_approved_and_what_notice_there_was(service: RunningService):
    event = restarted(service)
    service.advance(minutes=5)
    service.guest("solo").approve(event["id"])
    service.post("/v1/vms/twin/stop")
    service.advance(minutes=5)

    restart, stop = service.get("/v1/history")["history"]

    assert set(restart) >= HISTORY_FIELDS
    assert (restart["event"], restart["asked_by"], restart["approved_by"]) == (event["id"], "operator", "solo")
    assert (restart["notice_promised_seconds"], restart["notice_given_seconds"]) == (900, 300)
    assert restart["outcome"] == "Completed"
    assert (stop["event"], stop["cause"], stop["resources"]) == (None, "stop", ["twin"])


def test_later_approvers_are_in_the_history(service: RunningService):
    service.guest("solo").document()
    service.guest("web-0").document()
    for_web, for_solo = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})["events"]
    service.guest("web-0").approve(for_web["id"])
    service.guest("web-1").approve(for_web["id"])
    service.guest("solo").approve(for_solo["id"])
    service.advance(minutes=1)

    rows = {row["scope"]: row for row in service.get("/v1/history")["history"]}

    assert rows["web"]["approved_by"] == "web-0"
    assert [each["by"] for each in rows["web"]["approvals"]] == ["web-0", "web-1"]


# Refusals.


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/v1/vms/nobody", None, 404, "NotFound"),
        ("POST", "/v1/vms/nobody/restart", None, 404, "NotFound"),
        ("GET", "/v1/hosts/nobody", None, 404, "NotFound"),
        ("POST", "/v1/hosts/nobody/fail", None, 404, "NotFound"),
        ("GET", "/v1/scopes/nobody", None, 404, "NotFound"),
        ("GET", "/v1/events/F020BA2E", None, 404, "NotFound"),
        ("POST", "/v1/events/F020BA2E/approve", None, 404, "NotFound"),
        ("GET", "/v1/operations/nothing", None, 404, "NotFound"),
        ("GET", "/v1/nonsense", None, 404, "NotFound"),
        ("DELETE", "/v1/vms", None, 405, "MethodNotAllowed"),
        ("POST", "/v1/vms/solo/evict", None, 409, "NotAllowed"),
        ("POST", "/v1/vms/solo/start", None, 409, "NotAllowed"),
        ("POST", "/v1/hosts/host-0/recover", None, 409, "NotAllowed"),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze", "notice_seconds": 899}, 409, "NoticeTooShort"),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Redeploy", "notice_seconds": -5}, 409, "NoticeTooShort"),
        ("POST", "/v1/hosts/host-0/degrade", {"notice_seconds": 599}, 409, "NoticeTooShort"),
        ("POST", "/v1/hosts/host-0/degrade", {"notice_seconds": 604801}, 409, "NotAllowed"),
        ("POST", "/v1/hosts/host-0/maintain", {}, 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Preempt"}, 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze", "duration_seconds": -2}, 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze", "duration_seconds": "9"}, 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze", "nonsense": 1}, 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Reboot", "by": "live_migration"}, 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", {"kind": "Freeze", "notice_seconds": 10**18}, 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", b"{not json", 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", b"\xff\xfe", 400, "BadRequest"),
        ("POST", "/v1/hosts/host-0/maintain", b"[]", 400, "BadRequest"),
        ("GET", "/v1/vms?limit=0", None, 400, "BadRequest"),
        ("GET", "/v1/vms?limit=1001", None, 400, "BadRequest"),
        ("GET", "/v1/vms?limit=many", None, 400, "BadRequest"),
        ("GET", "/v1/events?phase=nonsense", None, 400, "BadRequest"),
        ("GET", "/v1/events?after=nonsense", None, 400, "BadRequest"),
        ("GET", "/v1/history?after=nonsense", None, 400, "BadRequest"),
        ("POST", "/v1/clock", {"advance_seconds": -1}, 400, "BadRequest"),
        ("POST", "/v1/clock", {}, 400, "BadRequest"),
        ("POST", "/v1/clock", {"advance_seconds": 1, "until": "next"}, 400, "BadRequest"),
        ("POST", "/v1/clock", {"until": "tomorrow"}, 400, "BadRequest"),
        ("PUT", "/v1/fleet", {"vms": [{"name": "a"}, {"name": "a"}]}, 400, "BadRequest"),
        ("PUT", "/v1/fleet", [], 400, "BadRequest"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_a_sentence_and_changes_nothing(
    service: RunningService, method: str, path: str, body: Any, status: int, code: str
):
    number = service.service.plane.world.number

    answered, error = refused(service, method, path, body)

    assert (answered, error["code"]) == (status, code)
    assert service.service.plane.world.number == number


def test_an_ambiguous_beginning_of_an_event_is_refused_and_names_some(service: RunningService):
    vms = [{"name": f"vm-{n}", "addresses": [f"127.5.0.{n + 1}"]} for n in range(40)]
    with running({"vms": vms}) as other:
        ids = [restarted(other, f"vm-{n}")["id"] for n in range(40)]
        first = next(each[0] for each in ids if sum(other_id[0] == each[0] for other_id in ids) > 1)

        status, error = refused(other, "GET", f"/v1/events/{first}")

    assert (status, error["code"]) == (400, "Ambiguous")


def test_a_fleet_with_one_problem_is_refused_whole(service: RunningService):
    before = service.get("/v1/fleet")
    broken = json.loads(json.dumps(SMALL))
    broken["vms"].append({"name": "extra", "host": "no-such-host"})

    status, error = refused(service, "PUT", "/v1/fleet", broken)

    assert status == 400
    assert error["message"] == (
        'vms[9].host: There is no host no-such-host. Add [[hosts]] with name = "no-such-host".'
    )
    assert service.get("/v1/fleet") == before


def test_a_fleet_that_drops_or_moves_a_vm_with_an_open_operation_is_refused(service: RunningService):
    restarted(service, "solo")
    without = {**SMALL, "vms": [vm for vm in SMALL["vms"] if vm["name"] != "solo"]}
    moved = {**SMALL, "vms": [{**vm, "host": "host-5"} if vm["name"] == "solo" else vm for vm in SMALL["vms"]]}

    dropped_status, dropped = refused(service, "PUT", "/v1/fleet", without)
    moved_status, moving = refused(service, "PUT", "/v1/fleet", moved)

    assert (dropped_status, moved_status) == (409, 409)
    assert "solo has an open operation; it cannot be dropped" in dropped["message"]
    assert "solo has an open operation; it cannot be moved to host-5" in moving["message"]


def test_an_exported_fleet_applied_again_changes_nothing(service: RunningService):
    exported = service.get("/v1/fleet")

    reply = service.operator("PUT", "/v1/fleet", exported)

    assert (reply.status, reply.json) == (200, {"differences": [], "warnings": []})


# Who may ask.


@pytest.mark.parametrize("host", ["localhost", "localhost:8255", "127.0.0.1:8255", "127.8.9.1", "[::1]:8255"])
def test_a_loopback_host_is_let_in(service: RunningService, host: str):
    assert service.operator("GET", "/v1/vms", headers={"Host": host}).status == 200


@pytest.mark.parametrize("host", ["example.com", "10.0.0.1", "localhost.example.com", "169.254.169.254", ""])
def test_a_host_that_is_not_loopback_is_turned_away(service: RunningService, host: str):
    assert service.operator("GET", "/v1/vms", headers={"Host": host}).status == 403


def test_a_foreign_origin_is_turned_away(service: RunningService):
    port = service.service.operator[1]
    own = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}"}

    assert (
        service.operator("POST", "/v1/vms/solo/restart", headers={"Origin": "https://evil.example"}).status == 403
    )
    assert service.operator("POST", "/v1/vms/solo/restart", headers={"Origin": "null"}).status == 403
    assert service.operator("GET", "/v1/vms", headers=own).status == 200


def test_a_put_of_nothing_is_not_taken_for_an_empty_fleet(service: RunningService):
    status, error = refused(service, "PUT", "/v1/fleet")

    assert (status, error["code"]) == (400, "BadRequest")
    assert len(service.get("/v1/vms")["vms"]) > 0


def test_a_method_that_a_path_does_not_take_is_refused_with_those_that_it_takes(service: RunningService):
    reply = service.operator("DELETE", "/v1/fleet")

    assert reply.status == 405
    assert reply.headers["allow"] == "GET, HEAD, PUT"
