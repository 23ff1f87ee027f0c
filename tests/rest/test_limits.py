"""Owners' limits, sick hosts and capacity that is taken back, over REST."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fleets import SMALL
from tests.rest.test_rest import EVENT_FIELDS, refused
from tests.running import RunningService, running

LIMITED = {
    **SMALL,
    "availability_sets": [{"name": "web", "min_available": 3}],
    "scale_sets": [{**each, "min_available": 1} for each in SMALL["scale_sets"]],
    "cloud_services": [{"name": "legacy", "min_available": 2}],
}


def announced(service: RunningService) -> dict[str, Any]:
    """An event of planned work."""
    return service.post("/v1/hosts/host-2/maintain", {"kind": "Freeze"}, expect=202)["events"][0]


def not_before(answer: dict[str, Any]) -> set[str]:
    return {event["not_before"] for event in answer["events"]}


# Degraded and failed hosts.


@pytest.mark.parametrize(
    ("body", "instant"),
    [
        ({}, "2026-03-09T12:00:00Z"),
        ({"risk": "low"}, "2026-03-09T12:00:00Z"),
        ({"risk": "high"}, "2026-03-03T12:00:00Z"),
        ({"risk": "imminent"}, "2026-03-02T12:10:00Z"),
        ({"notice_seconds": 7200}, "2026-03-02T14:00:00Z"),
    ],
    ids=str,
)
def test_a_degraded_host_is_given_a_risk_or_a_notice(service: RunningService, body: dict[str, Any], instant: str):
    assert not_before(service.post("/v1/hosts/host-0/degrade", body, expect=202)) == {instant}


def test_the_same_report_is_answered_with_the_same_operation_and_a_larger_risk_pulls_it_nearer(
    service: RunningService,
):
    first = service.post("/v1/hosts/host-0/degrade", {"risk": "high"}, expect=202)

    same = service.post("/v1/hosts/host-0/degrade", {}, expect=202)
    nearer = service.post("/v1/hosts/host-0/degrade", {"risk": "imminent"}, expect=202)

    assert same == first
    assert nearer["operation"]["id"] == first["operation"]["id"]
    assert not_before(nearer) == {"2026-03-02T12:10:00Z"}


def test_a_host_that_is_reported_again_when_it_is_empty_is_answered_with_what_emptied_it(service: RunningService):
    first = service.post("/v1/hosts/host-0/degrade", {"risk": "imminent"}, expect=202)
    service.advance(minutes=20)

    again = service.post("/v1/hosts/host-0/degrade", expect=202)

    assert again["operation"]["id"] == first["operation"]["id"]
    assert again["operation"]["phase"] == "Completed"
    assert [event["phase"] for event in again["events"]] == ["Completed", "Completed"]


def test_one_sick_host_too_many_is_refused_unless_it_is_said_anyway(service: RunningService):
    for number in range(5):
        service.post(f"/v1/hosts/host-{number}/degrade", expect=202)

    status, error = refused(service, "POST", "/v1/hosts/host-5/degrade")
    anyway = service.post("/v1/hosts/host-5/degrade", {"anyway": True}, expect=202)

    assert (status, error["code"]) == (409, "LimitReached")
    assert "host-4 (degraded), and the limit is 5" in error["message"]
    assert anyway["operation"]["host"] == "host-5"


@pytest.mark.parametrize("kind", ["Reboot", "Redeploy"])
def test_who_says_that_a_host_failed_chooses_what_is_told(service: RunningService, kind: str):
    events = service.post("/v1/hosts/host-0/fail", {"kind": kind}, expect=202)["events"]

    assert [(event["kind"], event["phase"]) for event in events] == [(kind, "Started")] * 2


# Spot.


def test_a_reclaim_is_answered_with_its_operations_and_events(service: RunningService):
    answer = service.post("/v1/hosts/host-1/reclaim", {"vms": 1}, expect=202)

    assert set(answer) == {"operations", "events"}
    assert [each["targets"] for each in answer["operations"]] == [["frugal"]]
    assert [(each["kind"], each["not_before"]) for each in answer["events"]] == [
        ("Preempt", "2026-03-02T12:00:30Z")
    ]


def test_a_reclaim_of_more_than_there_are_names_those_that_there_are(service: RunningService):
    status, error = refused(service, "POST", "/v1/hosts/host-1/reclaim", {"vms": 2})

    assert (status, error["code"]) == (409, "NotAllowed")
    assert error["message"] == (
        "2 Spot VMs were to leave host-1; running there and not leaving already: 1 (frugal)."
    )


# Minimums.


def test_a_minimum_is_kept_and_given_back():
    with running(LIMITED) as service:
        fleet = service.get("/v1/fleet")

    sections = ("availability_sets", "scale_sets", "cloud_services")
    found = {each["name"]: each["min_available"] for section in sections for each in fleet[section]}
    assert found == {"web": 3, "pool": 1, "spot": 1, "legacy": 2}


def test_work_that_would_break_a_minimum_for_ever_is_refused_with_the_rule_and_the_names():
    with running(LIMITED) as service:
        status, error = refused(service, "POST", "/v1/hosts/host-2/maintain", {"kind": "Freeze"})

    assert (status, error["code"]) == (409, "NotAllowed")
    assert error["message"] == (
        "host-2 cannot be maintained: 3 of the 3 VMs of web are to be available, and host-2 has 1 of them (web-2)."
    )


@pytest.mark.parametrize("minimum", [-1, 100_001, "2", 1.5, True, None])
def test_a_minimum_that_is_no_such_number_is_refused(service: RunningService, minimum: Any):
    fleet = {"availability_sets": [{"name": "web", "min_available": minimum}]}

    status, error = refused(service, "PUT", "/v1/fleet", fleet)

    assert (status, error["code"]) == (400, "BadRequest")
    assert "min_available" in error["message"]


# Postponing.


def test_a_postponed_event_says_who_postponed_it_and_from_when(service: RunningService):
    event = announced(service)
    assert (event["postponed_by"], event["postponed_at"], event["postponed_from"]) == (None, None, None)

    answer = service.post(f"/v1/events/{event['id']}/postpone", {"by_seconds": 3600, "reason": "a launch"})

    assert set(answer) >= EVENT_FIELDS
    assert answer["not_before"] == "2026-03-02T13:15:00Z"
    assert answer["postponed_by"] == "operator"
    assert (answer["postponed_at"], answer["postponed_from"]) == ("2026-03-02T12:00:00Z", "2026-03-02T12:15:00Z")


def test_a_guest_reads_the_new_not_before(service: RunningService):
    service.guest("web-2").document()
    event = announced(service)

    service.post(f"/v1/events/{event['id']}/postpone", {"until": "2026-03-02T23:00:00+01:00"})

    (told,) = service.guest("web-2").document()["Events"]
    assert told["NotBefore"] == "Mon, 02 Mar 2026 22:00:00 GMT"


def test_history_has_the_postponed_events_notice(service: RunningService):
    event = announced(service)
    service.post(f"/v1/events/{event['id']}/postpone", {"by_seconds": 900})
    service.advance(minutes=31)

    row = next(each for each in service.get("/v1/history")["history"] if each["event"] == event["id"])

    assert (row["notice_promised_seconds"], row["notice_given_seconds"]) == (1800, 1800)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "BadRequest"),
        ({"by_seconds": 3600, "until": "2026-03-02T13:00:00Z"}, 400, "BadRequest"),
        ({"by_seconds": 0}, 400, "BadRequest"),
        ({"by_seconds": -60}, 400, "BadRequest"),
        ({"by_seconds": 10**18}, 400, "BadRequest"),
        ({"until": "tomorrow"}, 400, "BadRequest"),
        ({"until": "2026-03-02T13:00:00"}, 400, "BadRequest"),
        ({"until": "9999-12-31T23:59:59.5Z"}, 400, "BadRequest"),
        ({"by_seconds": 3600, "reason": "two\nlines"}, 400, "BadRequest"),
        ({"by_seconds": 3600, "why": "a member that there is not"}, 400, "BadRequest"),
        ({"until": "2026-03-02T12:15:00Z"}, 409, "NotAllowed"),
        ({"until": "2026-03-10T12:00:00Z"}, 409, "NotAllowed"),
        ({"by_seconds": 604801}, 409, "NotAllowed"),
    ],
    ids=str,
)
def test_a_postponement_that_will_not_do_is_refused_and_changes_nothing(
    service: RunningService, body: dict[str, Any], status: int, code: str
):
    event = announced(service)
    number = service.service.plane.world.number

    answered, error = refused(service, "POST", f"/v1/events/{event['id']}/postpone", body)

    assert (answered, error["code"]) == (status, code)
    assert service.service.plane.world.number == number


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/hosts/host-0/degrade", {"risk": "low", "notice_seconds": 3600}),
        ("/v1/hosts/host-0/degrade", {"risk": "some"}),
        ("/v1/hosts/host-0/fail", {"kind": "Freeze"}),
        ("/v1/hosts/host-1/reclaim", {}),
        ("/v1/hosts/host-1/reclaim", {"vms": 0}),
        ("/v1/hosts/host-1/reclaim", {"vms": "all"}),
    ],
    ids=str,
)
def test_a_request_that_makes_no_sense_is_refused_and_changes_nothing(
    service: RunningService, path: str, body: dict[str, Any]
):
    number = service.service.plane.world.number

    assert refused(service, "POST", path, body)[0] == 400
    assert service.service.plane.world.number == number


def test_an_event_that_there_is_not_cannot_be_postponed(service: RunningService):
    assert refused(service, "POST", "/v1/events/F020BA2E/postpone", {"by_seconds": 60})[0] == 404
