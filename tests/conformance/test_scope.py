"""Statements 93 to 100: scope and enablement."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.conformance.wire import FREEZE, VERSIONS, only
from tests.fleets import SMALL
from tests.running import RunningService, running


def scale_set(capacity: int, **more: Any) -> dict[str, Any]:
    """A fleet of one scale set, whose first instances have addresses."""
    addresses = [f"127.3.0.{n + 1}" for n in range(min(capacity, 100))]
    return {"scale_sets": [{"name": "pool", "capacity": capacity, "addresses": addresses, **more}]}


@pytest.mark.conformance(93)
def test_an_event_on_one_vm_is_visible_to_its_whole_availability_set(service: RunningService):
    service.guest("web-0").document()

    service.post("/v1/vms/web-0/restart")

    for member in ("web-0", "web-1", "web-2"):
        assert only(service.guest(member).events())["Resources"] == ["web-0"]


@pytest.mark.conformance(94)
@pytest.mark.parametrize(
    "path",
    ["/v1/vms/twin/restart", "/v1/vms/twin/redeploy", "/v1/hosts/host-3/maintain", "/v1/hosts/host-3/fail"],
    ids=["restart", "redeploy", "freeze", "failure"],
)
@pytest.mark.parametrize("other", ["solo", "brief"], ids=["same zone", "no zone"])
def test_a_standalone_vm_never_sees_the_events_of_another(service: RunningService, other: str, path: str):
    twin, stranger = service.guest("twin"), service.guest(other)
    twin.document()
    stranger.document()

    service.post(path, FREEZE if path.endswith("maintain") else None)

    assert only(twin.events())["Resources"] == ["twin"]
    assert stranger.call().body == b'{"DocumentIncarnation":1,"Events":[]}'


@pytest.mark.conformance(94)
def test_two_standalone_vms_on_one_host_see_one_event_each():
    fleet = {
        "hosts": [{"name": "host-0"}],
        "vms": [
            {"name": "x", "host": "host-0", "addresses": ["127.3.0.1"]},
            {"name": "y", "host": "host-0", "addresses": ["127.3.0.2"]},
        ],
    }
    with running(fleet) as service:
        for name in "xy":
            service.guest(name).document()

        service.post("/v1/hosts/host-0/maintain", FREEZE)

        seen = [only(service.guest(name).events()) for name in "xy"]
        assert [event["Resources"] for event in seen] == [["x"], ["y"]]
        assert seen[0]["EventId"] != seen[1]["EventId"]


@pytest.mark.conformance(95)
def test_members_of_a_placement_group_see_each_others_events_and_no_other_groups():
    with running(scale_set(4, placement_group_size=2)) as service:
        guests = [service.guest(f"pool_{n}") for n in range(4)]
        for guest in guests:
            guest.document()

        service.post("/v1/vms/pool_0/restart")
        service.post("/v1/vms/pool_3/restart")

        seen = [only(guest.events())["Resources"] for guest in guests]
        assert seen == [["pool_0"], ["pool_0"], ["pool_3"], ["pool_3"]]


@pytest.mark.conformance(96)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("act", ["maintain", "degrade", "fail"])
def test_resources_never_span_two_update_domains(crowded: RunningService, act: str, version: str):
    guest = crowded.guest("db-0")
    guest.document()

    crowded.post(f"/v1/hosts/host-0/{act}", FREEZE if act == "maintain" else None)

    prefix = "_" if version == "2017-03-01" else ""
    resources = [event["Resources"] for event in guest.events(version)]
    assert resources == [[prefix + "db-0", prefix + "db-2"], [prefix + "db-1"]]
    domains = {f"{prefix}db-{n}": crowded.get(f"/v1/vms/db-{n}")["update_domain"] for n in range(3)}
    assert [{domains[name] for name in names} for names in resources] == [{0}, {1}]


@pytest.mark.conformance(97)
@pytest.mark.parametrize("verb", ["restart", "redeploy"])
def test_before_any_get_a_users_operation_runs_at_once_and_leaves_no_event(service: RunningService, verb: str):
    answer = service.post(f"/v1/vms/web-0/{verb}")

    assert answer["event"] is None
    assert (answer["operation"]["phase"], answer["operation"]["started_at"]) == ("Started", "2026-03-02T12:00:00Z")
    assert service.guest("web-0").call().body == b'{"DocumentIncarnation":1,"Events":[]}'
    service.advance(minutes=2)
    assert service.get(f"/v1/operations/{answer['operation']['id']}")["phase"] == "Completed"
    assert [row["event"] for row in service.get("/v1/history")["history"]] == [None]


@pytest.mark.conformance(97)
@pytest.mark.parametrize(
    "path", ["/metadata/versions", "/metadata/instance?api-version=2021-02-01", "/metadata/scheduledevents"]
)
def test_no_other_request_enables_the_feature(service: RunningService, path: str):
    service.guest("solo").call(path=path)

    assert service.post("/v1/vms/solo/restart")["event"] is None


@pytest.mark.conformance(98)
def test_the_first_get_enables_the_feature_for_the_whole_scope(service: RunningService):
    reply = service.guest("web-2").call()

    event = service.post("/v1/vms/web-0/restart")["event"]
    assert (reply.status, reply.body) == (200, b'{"DocumentIncarnation":1,"Events":[]}')
    assert event["phase"] == "Scheduled"
    assert service.post("/v1/vms/solo/restart")["event"] is None


@pytest.mark.conformance(98)
def test_the_first_get_may_be_slow_but_ends_well_and_the_next_is_not():
    with running(SMALL, first_call_delay=0.3) as service:
        solo = service.guest("solo")

        began = time.monotonic()
        first = solo.call()
        ended = time.monotonic()
        service.service.edge.first_call_delay = 3600
        second = solo.call()

    assert (first.status, first.body) == (200, b'{"DocumentIncarnation":1,"Events":[]}')
    assert ended - began >= 0.3
    assert second.body == first.body


@pytest.mark.conformance(99)
@pytest.mark.parametrize("verb", ["restart", "redeploy"])
def test_after_a_day_of_silence_a_users_operation_makes_no_event(service: RunningService, verb: str):
    service.guest("web-0").document()
    service.advance(hours=12)
    service.guest("web-1").document()  # any guest of the scope will do
    service.advance(hours=23, minutes=59, seconds=59)
    before = service.post(f"/v1/vms/web-0/{verb}")
    service.post(f"/v1/events/{before['event']['id']}/cancel")
    service.advance(seconds=1)

    after = service.post(f"/v1/vms/web-0/{verb}")

    assert before["event"]["phase"] == "Scheduled"
    assert after["event"] is None
    assert after["operation"]["phase"] == "Started"


@pytest.mark.conformance(99)
def test_the_next_get_enables_it_again_and_the_incarnation_goes_on():
    with running(SMALL) as service:
        seen = silent_for_a_day(service)

    assert seen == {"before": 4, "after": 4, "new event": 5, "tag seen before": True}


@pytest.mark.conformance(99)
def test_the_incarnation_starts_again_where_the_setting_says_so():
    with running(SMALL, reset_incarnation=True) as service:
        seen = silent_for_a_day(service)

    assert seen == {"before": 4, "after": 1, "new event": 2, "tag seen before": False}


def silent_for_a_day(service: RunningService) -> dict[str, Any]:
    """One whole restart, a day without a poll, and what the next polls see."""
    solo = service.guest("solo")
    first = solo.call()
    service.post("/v1/vms/solo/restart")
    solo.approve(only(solo.events())["EventId"])
    service.advance(minutes=2)
    before = solo.call()
    service.advance(hours=24)
    assert service.get("/v1/scopes/solo")["is_on"] is False

    after = solo.call()
    assert service.get("/v1/scopes/solo")["is_on"] is True
    assert service.post("/v1/vms/solo/restart")["event"]["phase"] == "Scheduled"
    return {
        "before": before.json["DocumentIncarnation"],
        "after": after.json["DocumentIncarnation"],
        "new event": solo.document()["DocumentIncarnation"],
        "tag seen before": after.headers["etag"] in {first.headers["etag"], before.headers["etag"]},
    }


@pytest.mark.conformance(100)
@pytest.mark.parametrize(("limit", "settings"), [(10, {"user_operation_limit": 10}), (100, {})], ids=["10", "100"])
def test_one_user_operation_more_than_the_limit_is_refused_and_nothing_is_done(
    limit: int, settings: dict[str, int]
):
    fleet = scale_set(limit + 1, placement_group_size=1000)
    fleet["vms"] = [{"name": "other", "addresses": ["127.3.1.1"]}]
    with running(fleet, **settings) as service:
        guest = service.guest("pool_0")
        guest.document()
        service.guest("other").document()
        for n in range(limit):
            service.post(f"/v1/vms/pool_{n}/restart")
        before = guest.call()
        assert len(before.json["Events"]) == limit

        refusal = service.post(f"/v1/vms/pool_{limit}/restart", expect=409)

        last = service.get(f"/v1/vms/pool_{limit}")
        assert refusal["error"]["code"] == "LimitReached"
        assert guest.call().body == before.body
        assert (last["state"], last["operations"], last["events"]) == ("running", [], [])
        assert service.post("/v1/vms/other/restart")["event"]["phase"] == "Scheduled"
        service.post(f"/v1/events/{before.json['Events'][0]['EventId']}/cancel")
        assert service.post(f"/v1/vms/pool_{limit}/restart")["event"]["phase"] == "Scheduled"
