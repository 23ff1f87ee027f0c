"""`dry_run=true`: the answer of the real request's rules, and no change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fleets import SMALL
from tests.rest.test_rest import refused
from tests.rollouts.bench import grid
from tests.running import RunningService, running

WHOLE = {"kind": "Reboot"}


def state(service: RunningService) -> dict[str, Any]:
    """Everything that a request could change."""
    lists = ("vms", "hosts", "scopes", "events?phase=all", "rollouts", "history", "audit")
    return {"fleet": service.get("/v1/fleet")} | {name: service.get(f"/v1/{name}") for name in lists}


def dry_run(service: RunningService, path: str, body: Any = None) -> Any:
    return service.post(f"{path}?dry_run=true", body, expect=200)


def essence(event: dict[str, Any]) -> dict[str, Any]:
    """An event without the ids that a dry run makes up."""
    return {name: value for name, value in event.items() if name not in {"id", "operation", "waiting_for"}}


REQUESTS = [
    ("/v1/vms/solo/restart", None),
    ("/v1/vms/twin/restart", None),  # its scope is off
    ("/v1/vms/solo/redeploy", None),
    ("/v1/vms/brief/delete", None),
    ("/v1/vms/frugal/evict", None),
    ("/v1/vms/solo/stop", {"deallocate": True}),
    ("/v1/hosts/host-0/maintain", {"kind": "Reboot", "notice_seconds": 1800}),
    ("/v1/hosts/host-0/degrade", {"risk": "high"}),
    ("/v1/hosts/host-0/fail", {"kind": "Reboot"}),
    ("/v1/hosts/host-1/reclaim", {"vms": 1}),
]


@pytest.mark.parametrize(("path", "body"), REQUESTS, ids=[path for path, _ in REQUESTS])
def test_a_dry_run_tells_the_events_that_the_request_then_makes_and_changes_nothing(path: str, body: Any):
    with running(SMALL) as service:
        for name in ("solo", "brief", "frugal", "web-0"):
            service.guest(name).document()
        before = state(service)

        seen = dry_run(service, path, body)
        after = state(service)
        service.post(path, body, expect=202)
        made = service.get("/v1/events")["events"]

    assert after == before
    assert [essence(event) for event in seen["events"]] == [essence(event) for event in made]
    assert [each["cause"] for each in seen["operations"]] != []
    assert seen["vms"] == sorted(name for each in seen["operations"] for name in each["targets"])


def test_a_dry_run_names_the_events_that_would_be_cancelled(service: RunningService):
    service.guest("solo").document()
    restart = service.post("/v1/vms/solo/restart")["event"]

    seen = dry_run(service, "/v1/hosts/host-0/fail")

    assert [(event["id"], event["phase"]) for event in seen["changed_events"]] == [(restart["id"], "Cancelled")]
    assert service.get(f"/v1/events/{restart['id']}")["phase"] == "Scheduled"
    assert service.get("/v1/hosts/host-0")["condition"] == "up"


def test_a_dry_run_of_recover_names_the_move_that_would_be_cancelled(service: RunningService):
    announced = service.post("/v1/hosts/host-0/degrade")["events"]

    seen = dry_run(service, "/v1/hosts/host-0/recover")

    assert (seen["vms"], seen["events"]) == ([], [])
    assert {event["id"] for event in seen["changed_events"]} == {event["id"] for event in announced}
    assert service.get("/v1/hosts/host-0")["condition"] == "degraded"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/vms/nobody/restart", None),
        ("/v1/vms/solo/evict", None),
        ("/v1/vms/solo/start", None),
        ("/v1/hosts/nowhere/fail", None),
        ("/v1/hosts/host-0/maintain", {"kind": "Reboot", "notice_seconds": 60}),
        ("/v1/hosts/host-0/maintain", {}),
        ("/v1/hosts/host-0/recover", None),
        ("/v1/hosts/host-0/reclaim", {"vms": 5}),
        ("/v1/rollouts", {"kind": "Reboot", "hosts": ["nowhere"]}),
        ("/v1/rollouts/none/pause", None),
    ],
)
def test_a_dry_run_refuses_what_the_request_refuses_in_the_same_words(
    service: RunningService, path: str, body: Any
):
    assert refused(service, "POST", f"{path}?dry_run=true", body) == refused(service, "POST", path, body)


def test_dry_run_false_carries_the_request_out(service: RunningService):
    service.post("/v1/vms/solo/stop?dry_run=false", expect=202)

    assert service.get("/v1/vms/solo")["operations"] != []


def test_a_dry_run_uses_up_no_hit_of_a_fault(service: RunningService):
    service.guest("solo").document()
    service.post("/v1/faults", {"name": "shortened_notice", "seconds": 60, "count": 1})

    seen = dry_run(service, "/v1/vms/solo/restart")
    (rule,) = service.get("/v1/faults")["faults"]
    made = service.post("/v1/vms/solo/restart")["event"]

    assert (rule["asked"], rule["struck"]) == (0, 0)
    assert seen["events"][0]["fault"] == made["fault"] == "shortened_notice"


# Fleets.


def without(*vms: str) -> dict[str, Any]:
    return SMALL | {"vms": [vm for vm in SMALL["vms"] if vm["name"] not in vms]}


def put(service: RunningService, fleet: dict[str, Any], query: str = "") -> Any:
    reply = service.operator("PUT", f"/v1/fleet{query}", fleet)
    assert reply.status == 200, reply
    return reply.json


def test_a_dry_run_of_a_fleet_tells_the_differences_and_warnings_and_removes_nothing(service: RunningService):
    fleet = without("solo", "twin") | {"availability_sets": [{"name": "web", "min_available": 3}]}
    before = state(service)

    seen = put(service, fleet, "?dry_run=true")

    assert state(service) == before
    assert [line for line in seen["differences"] if line.startswith("-")] == ["- VM solo", "- VM twin"]
    assert len(seen["warnings"]) == 1
    assert put(service, fleet) == seen


def test_a_dry_run_of_a_fleet_refuses_to_drop_a_vm_with_an_open_operation(service: RunningService):
    service.guest("solo").document()
    service.post("/v1/vms/solo/restart")

    reply = service.operator("PUT", "/v1/fleet?dry_run=true", without("solo"))

    assert (reply.status, reply.json["error"]["code"]) == (409, "NotAllowed")


# Rollouts.


@pytest.fixture
def fleet() -> Any:
    with running(grid(domains=2, hosts_per_domain=2)) as started:
        yield started


def test_a_dry_run_of_a_rollout_is_its_preview(fleet: RunningService):
    seen = dry_run(fleet, "/v1/rollouts", WHOLE)

    assert seen == fleet.post("/v1/rollouts/preview", WHOLE)
    assert fleet.get("/v1/rollouts")["rollouts"] == []


@pytest.mark.parametrize(("verb", "state_after"), [("pause", "Paused"), ("abort", "Aborted")])
def test_a_dry_run_of_stopping_a_rollout_names_what_would_be_cancelled(
    fleet: RunningService, verb: str, state_after: str
):
    rollout = fleet.post("/v1/rollouts", WHOLE)["id"]
    announced = {event["id"] for event in fleet.get("/v1/events")["events"]}

    seen = dry_run(fleet, f"/v1/rollouts/{rollout}/{verb}", {"reason": "test"})

    assert (seen["rollout"]["state"], seen["rollout"]["reason"]) == (state_after, "test")
    assert {event["id"] for event in seen["changed_events"] if event["phase"] == "Cancelled"} == announced != set()
    assert fleet.get(f"/v1/rollouts/{rollout}")["state"] == "Running"
    assert {event["id"] for event in fleet.get("/v1/events")["events"]} == announced


def test_a_dry_run_of_resuming_leaves_the_rollout_paused(fleet: RunningService):
    rollout = fleet.post("/v1/rollouts", WHOLE)["id"]
    fleet.post(f"/v1/rollouts/{rollout}/pause")

    seen = dry_run(fleet, f"/v1/rollouts/{rollout}/resume")

    assert seen["rollout"]["state"] == "Running"
    assert fleet.get(f"/v1/rollouts/{rollout}")["state"] == "Paused"


# A rollout that is open already.


@pytest.mark.parametrize("path", ["/v1/rollouts", "/v1/rollouts?dry_run=true"])
@pytest.mark.parametrize("again", [WHOLE, WHOLE | {"max_parallel": 10, "recovery_seconds": 1800}])
def test_a_rollout_identical_to_an_open_one_is_refused_and_the_open_one_is_named(
    fleet: RunningService, path: str, again: dict[str, Any]
):
    first = fleet.post("/v1/rollouts", WHOLE)["id"]

    status, error = refused(fleet, "POST", path, again)

    assert (status, error["code"]) == (409, "Busy")
    assert first[:8] in error["message"]
    assert first[:8] in error["hint"]
    assert len(fleet.get("/v1/rollouts")["rollouts"]) == 1


@pytest.mark.parametrize(
    "other",
    [WHOLE | {"kind": "Freeze"}, WHOLE | {"hosts": ["host-0-0"]}, WHOLE | {"max_parallel": 1}],
    ids=["kind", "hosts", "limit"],
)
def test_a_rollout_that_differs_from_an_open_one_is_started(fleet: RunningService, other: dict[str, Any]):
    first = fleet.post("/v1/rollouts", WHOLE)["id"]

    second = fleet.post("/v1/rollouts", other, expect=201)["id"]

    assert {each["id"] for each in fleet.get("/v1/rollouts?state=open")["rollouts"]} == {first, second}


def _abort(service: RunningService, rollout: str) -> None:
    service.post(f"/v1/rollouts/{rollout}/abort")


def _finish(service: RunningService, rollout: str) -> None:
    service.advance(days=1)
    assert service.get(f"/v1/rollouts/{rollout}")["state"] == "Completed"


@pytest.mark.parametrize("end", [_abort, _finish])
def test_a_rollout_that_has_ended_can_be_started_again(
    fleet: RunningService, end: Callable[[RunningService, str], None]
):
    end(fleet, fleet.post("/v1/rollouts", WHOLE)["id"])

    assert fleet.operator("POST", "/v1/rollouts", WHOLE).status == 201


# Cancelling.


def test_cancelling_names_every_event_that_it_cancels_and_no_other(service: RunningService):
    for name in ("solo", "web-0"):
        service.guest(name).document()
    first, second = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})["events"]
    other = service.post("/v1/hosts/host-3/maintain", {"kind": "Freeze"})["events"]

    answer = service.post(f"/v1/events/{first['id']}/cancel")

    assert (answer["id"], answer["phase"]) == (first["id"], "Cancelled")
    assert {event["id"] for event in answer["cancelled"]} == {first["id"], second["id"]}
    assert {event["phase"] for event in answer["cancelled"]} == {"Cancelled"}
    assert all(service.get(f"/v1/events/{event['id']}")["phase"] == "Scheduled" for event in other)


def test_cancelling_does_not_name_an_event_that_had_been_cancelled_before(service: RunningService):
    for name in ("frugal", "web-1"):
        service.guest(name).document()
    events = service.post("/v1/hosts/host-1/maintain", {"kind": "Freeze"})["events"]
    (of_frugal,) = (event["id"] for event in events if event["resources"] == ["frugal"])
    (of_web,) = (event["id"] for event in events if event["resources"] == ["web-1"])
    service.post("/v1/vms/frugal/evict")
    assert service.get(f"/v1/events/{of_frugal}")["phase"] == "Cancelled"

    answer = service.post(f"/v1/events/{of_web}/cancel")

    assert [event["id"] for event in answer["cancelled"]] == [of_web]


# The page that describes it.


def test_openapi_describes_the_dry_run_of_every_route_that_has_one(service: RunningService):
    page = service.get("/openapi.json")

    operations = {
        f"{method} {path}": found for path, methods in page["paths"].items() for method, found in methods.items()
    }
    with_dry_run = {
        name
        for name, found in operations.items()
        if any(each["name"] == "dry_run" for each in found["parameters"])
    }
    assert with_dry_run == {
        "put /v1/fleet",
        "post /v1/rollouts",
        *(f"post /v1/rollouts/{{id}}/{verb}" for verb in ("pause", "resume", "abort")),
        *(f"post /v1/vms/{{name}}/{verb}" for verb in ("restart", "redeploy", "delete", "evict", "stop", "start")),
        *(f"post /v1/hosts/{{name}}/{verb}" for verb in ("maintain", "degrade", "fail", "reclaim", "recover")),
    }
    assert all("200" in operations[name]["responses"] for name in with_dry_run)
    told = operations["post /v1/hosts/{name}/fail"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert told == {"$ref": "#/components/schemas/DryRunResult"}
