"""Statements 77 to 91: lifecycle and timing."""

from __future__ import annotations

from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.conformance.wire import FREEZE, announce_every_kind, life, not_before, only
from tests.fleets import SMALL
from tests.running import START, Guest, RunningService, running

FRACTIONS = [
    pytest.param(START, id="on the second"),
    pytest.param(START.replace(microsecond=1), id="just after it"),
    pytest.param(START.replace(microsecond=999_999), id="just before the next"),
]


def told(guest: Guest) -> tuple[str, str, datetime]:
    """Type, status and NotBefore of the one event there is."""
    event = only(guest.events())
    return event["EventType"], event["EventStatus"], not_before(event)


def deleting(n: int) -> dict[str, Any]:
    """A fleet of one scale set that announces deletes so many minutes ahead."""
    return {
        "scale_sets": [
            {
                "name": "pool",
                "capacity": 2,
                "addresses": ["127.1.0.1", "127.1.0.2"],
                "terminate_notification": f"PT{n}M",
            }
        ]
    }


@pytest.mark.parametrize(
    ("path", "body", "vm", "kind", "notice"),
    [
        pytest.param(
            "/v1/vms/web-0/restart",
            None,
            "web-0",
            "Reboot",
            timedelta(minutes=15),
            marks=pytest.mark.conformance(77),
            id="restart",
        ),
        pytest.param(
            "/v1/vms/web-0/redeploy",
            None,
            "web-0",
            "Redeploy",
            timedelta(minutes=10),
            marks=pytest.mark.conformance(78),
            id="redeploy",
        ),
        pytest.param(
            "/v1/hosts/host-0/maintain",
            FREEZE,
            "web-0",
            "Freeze",
            timedelta(minutes=15),
            marks=pytest.mark.conformance(79),
            id="freeze",
        ),
        pytest.param(
            "/v1/vms/frugal/evict",
            None,
            "frugal",
            "Preempt",
            timedelta(seconds=30),
            marks=pytest.mark.conformance(80),
            id="eviction",
        ),
        pytest.param(
            "/v1/vms/pool_0/delete",
            None,
            "pool_0",
            "Terminate",
            timedelta(minutes=10),
            marks=pytest.mark.conformance(81),
            id="delete",
        ),
    ],
)
@pytest.mark.parametrize("start", FRACTIONS)
def test_the_notice_is_the_least_of_its_kind_and_never_cut_by_rounding(
    start: datetime, path: str, body: dict[str, str] | None, vm: str, kind: str, notice: timedelta
):
    with running(SMALL, clock_start=start) as service:
        guest = service.guest(vm)
        guest.document()

        service.post(path, body)

        seen_kind, status, at = told(guest)
        assert (seen_kind, status) == (kind, "Scheduled")
        assert start + notice <= at < start + notice + timedelta(seconds=1)


@pytest.mark.conformance(79)
@pytest.mark.parametrize(("kind", "least"), [("Freeze", 900), ("Reboot", 900), ("Redeploy", 600)])
def test_less_notice_than_the_least_is_refused_and_more_is_given(service: RunningService, kind: str, least: int):
    solo = service.guest("solo")
    solo.document()

    service.post("/v1/hosts/host-0/maintain", {"kind": kind, "notice_seconds": least - 1}, expect=409)
    refused = solo.events()
    service.post("/v1/hosts/host-0/maintain", {"kind": kind, "notice_seconds": least + 3600})

    assert refused == []
    assert told(solo) == (kind, "Scheduled", START + timedelta(seconds=least + 3600))


@pytest.mark.conformance(81)
@pytest.mark.parametrize("n", range(5, 16))
def test_a_delete_is_announced_as_many_minutes_ahead_as_the_profile_says(n: int):
    with running(deleting(n)) as service:
        guest = service.guest("pool_1")
        guest.document()

        service.post("/v1/vms/pool_0/delete")

        assert told(guest) == ("Terminate", "Scheduled", START + timedelta(minutes=n))
        service.advance(minutes=n, seconds=-1)
        assert told(guest) == ("Terminate", "Scheduled", START + timedelta(minutes=n))
        service.advance(seconds=1)
        assert only(guest.events())["EventStatus"] == "Started"


@pytest.mark.conformance(81)
def test_a_profile_that_names_no_length_gives_five_minutes():
    fleet = {
        "scale_sets": [{"name": "pool", "capacity": 1, "addresses": ["127.4.0.1"], "terminate_notification": True}]
    }
    with running(fleet) as service:
        guest = service.guest("pool_0")
        guest.document()

        service.post("/v1/vms/pool_0/delete")

        assert told(guest) == ("Terminate", "Scheduled", START + timedelta(minutes=5))


@pytest.mark.conformance(82)
@pytest.mark.parametrize("vm", ["web-0", "solo", "spot_0", "FrontEnd_IN_0"])
def test_a_delete_without_a_profile_makes_no_event_and_is_done_at_once(service: RunningService, vm: str):
    guest = service.guest(vm)
    guest.document()

    answer = service.post(f"/v1/vms/{vm}/delete")

    assert guest.call().body == b'{"DocumentIncarnation":1,"Events":[]}'
    assert answer["event"] is None
    assert (answer["operation"]["phase"], answer["operation"]["started_at"]) == ("Started", "2026-03-02T12:00:00Z")
    service.advance(seconds=10)
    assert service.operator("GET", f"/v1/vms/{vm}").status == 404


@pytest.mark.conformance(82)
def test_a_delete_with_a_profile_that_was_taken_away_makes_no_event(service: RunningService):
    guest = service.guest("pool_0")
    guest.document()
    fleet = deepcopy(SMALL)
    del fleet["scale_sets"][0]["terminate_notification"]
    assert service.operator("PUT", "/v1/fleet", fleet).status == 200

    answer = service.post("/v1/vms/pool_1/delete")

    assert answer["event"] is None
    assert guest.events() == []
    service.advance(seconds=10)
    assert service.get("/v1/scopes/pool")["vms"] == ["pool_0", "pool_2"]


@pytest.mark.conformance(83)
@pytest.mark.parametrize(
    ("verb", "body", "told_as"),
    [
        ("restart", None, ["Reboot"]),
        ("redeploy", None, ["Redeploy"]),
        ("stop", None, []),
        ("stop", {"deallocate": True}, []),
    ],
    ids=["restart", "redeploy", "stop", "deallocate"],
)
def test_nothing_but_a_delete_is_told_as_terminate(
    service: RunningService, verb: str, body: dict[str, bool] | None, told_as: list[str]
):
    guest = service.guest("pool_0")
    guest.document()

    service.post(f"/v1/vms/pool_0/{verb}", body)

    seen = [event["EventType"] for document in life(service, guest) for event in document["Events"]]
    service.advance(minutes=1)
    assert guest.events() == []
    assert list(dict.fromkeys(seen)) == told_as
    assert [row["kind"] for row in service.get("/v1/history")["history"]] == (told_as or [None])


@pytest.mark.conformance(84)
@pytest.mark.parametrize(
    ("path", "body", "vm", "notice"),
    [
        ("/v1/vms/web-0/restart", None, "web-0", timedelta(minutes=15)),
        ("/v1/vms/web-0/redeploy", None, "web-0", timedelta(minutes=10)),
        ("/v1/hosts/host-0/maintain", FREEZE, "web-0", timedelta(minutes=15)),
        ("/v1/vms/frugal/evict", None, "frugal", timedelta(seconds=30)),
        ("/v1/vms/pool_0/delete", None, "pool_0", timedelta(minutes=10)),
    ],
    ids=["restart", "redeploy", "freeze", "eviction", "delete"],
)
def test_without_approval_an_event_starts_at_its_not_before_and_not_earlier(
    service: RunningService, path: str, body: dict[str, str] | None, vm: str, notice: timedelta
):
    guest = service.guest(vm)
    guest.document()
    event = service.post(path, body)
    event_id = only(guest.events())["EventId"]

    service.advance(seconds=notice.total_seconds() - 0.001)
    before = only(guest.events())["EventStatus"]
    service.advance(seconds=0.001)

    assert event["operation"]["phase"] == "Scheduled"
    assert before == "Scheduled"
    assert only(guest.events())["EventStatus"] == "Started"
    started_at = datetime.fromisoformat(service.get(f"/v1/events/{event_id}")["started_at"])
    assert started_at == START + notice


@pytest.mark.conformance(85)
def test_every_event_is_removed_after_it_has_started_and_never_returns(mixed: RunningService):
    guest = announce_every_kind(mixed)
    announced = {event["EventId"] for event in guest.events()}
    started: set[str] = set()

    for document in life(mixed, guest):
        started |= {event["EventId"] for event in document["Events"] if event["EventStatus"] == "Started"}
    afterwards = []
    for _ in range(48):
        mixed.advance(hours=1)
        afterwards.append(guest.events())

    assert started == announced
    assert afterwards == [[]] * 48


@pytest.mark.conformance(86)
@pytest.mark.parametrize("approves", [True, False], ids=["approved", "not approved"])
def test_an_event_never_goes_back_from_started_to_scheduled(mixed: RunningService, *, approves: bool):
    guest = announce_every_kind(mixed)
    lives: dict[str, list[str]] = {}

    if approves:
        guest.approve(*(event["EventId"] for event in guest.events()))
    for document in life(mixed, guest):
        for event in document["Events"]:
            lives.setdefault(event["EventId"], []).append(event["EventStatus"])

    assert len(lives) == 5
    for seen in lives.values():
        assert seen == sorted(seen)  # "Scheduled" comes before "Started"
        assert seen[-1] == "Started"


@pytest.mark.conformance(87)
@pytest.mark.parametrize("path", ["/v1/vms/solo/restart", "/v1/hosts/host-0/maintain"], ids=["users", "platforms"])
def test_a_cancelled_event_disappears_without_having_started(service: RunningService, path: str):
    solo = service.guest("solo")
    solo.document()
    service.post(path, FREEZE if "hosts" in path else None)
    event = only(solo.events())["EventId"]

    service.post(f"/v1/events/{event}/cancel")

    assert solo.events() == []
    for _ in range(4):
        service.advance(minutes=5)
        assert solo.events() == []
    ended = service.get(f"/v1/events/{event}")
    assert (ended["phase"], ended["started_at"]) == ("Cancelled", None)


@pytest.mark.conformance(88)
@pytest.mark.parametrize("polls", [True, False], ids=["of a guest that polls", "of one that never did"])
def test_a_failure_of_hardware_is_first_seen_as_started(service: RunningService, *, polls: bool):
    solo = service.guest("solo")
    if polls:
        solo.document()

    service.post("/v1/hosts/host-0/fail")

    event = only(solo.events())
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")
    assert (event["Resources"], event["EventSource"]) == (["solo"], "Platform")
    assert event["Description"] == "Virtual machine has encountered a failure."


@pytest.mark.conformance(88)
@pytest.mark.parametrize("kind", ["Redeploy", "Reboot"])
def test_a_failure_is_told_as_the_setting_says(kind: str):
    with running(SMALL, failed_host_kind=kind) as service:
        solo = service.guest("solo")
        solo.document()

        service.post("/v1/hosts/host-0/fail")

        event = only(solo.events())
        assert (event["EventType"], event["EventStatus"], event["NotBefore"]) == (kind, "Started", "")


@pytest.mark.conformance(90)
@pytest.mark.parametrize(
    ("body", "notice"),
    [
        (None, timedelta(days=7)),
        ({"notice_seconds": 604_800}, timedelta(days=7)),
        ({"notice_seconds": 86_400}, timedelta(days=1)),
        ({"notice_seconds": 600}, timedelta(minutes=10)),
    ],
    ids=["by default", "a week", "a day", "the least"],
)
def test_degraded_hardware_is_announced_up_to_a_week_ahead(
    service: RunningService, body: dict[str, int] | None, notice: timedelta
):
    solo = service.guest("solo")
    solo.document()

    service.post("/v1/hosts/host-0/degrade", body)

    assert told(solo) == ("Redeploy", "Scheduled", START + notice)
    assert only(solo.events())["Description"] == "Host server is undergoing an emergency repair."
    service.advance(seconds=notice.total_seconds() - 1)
    assert only(solo.events())["EventStatus"] == "Scheduled"
    service.advance(seconds=1)
    assert only(solo.events())["EventStatus"] == "Started"


@pytest.mark.conformance(91)
def test_a_deleted_instance_is_gone_from_its_scope_and_from_later_resources(service: RunningService):
    guest, deleted = service.guest("pool_0"), service.guest("pool_1")
    guest.document()
    service.post("/v1/vms/pool_1/delete")
    guest.approve(only(guest.events())["EventId"])
    service.advance(minutes=1)

    service.post("/v1/hosts/host-3/maintain", FREEZE)
    service.post("/v1/hosts/host-4/maintain", FREEZE)

    assert only(guest.events())["Resources"] == ["pool_0"]
    assert service.get("/v1/scopes/pool")["vms"] == ["pool_0", "pool_2"]
    assert deleted.call().status == 404


@pytest.mark.conformance(91)
def test_a_deleted_instance_leaves_the_resources_of_what_was_announced_before():
    fleet = deleting(5)
    fleet["hosts"] = [{"name": "host-0"}]
    fleet["scale_sets"][0] |= {"capacity": 6, "hosts": ["host-0"]}
    with running(fleet) as service:
        guest = service.guest("pool_0")
        guest.document()
        service.post("/v1/hosts/host-0/maintain", FREEZE)
        before = [event["Resources"] for event in guest.events()]

        answer = service.post("/v1/vms/pool_5/delete")
        guest.approve(answer["event"]["id"])
        service.advance(minutes=1)

        assert before == [["pool_0", "pool_5"], ["pool_1"], ["pool_2"], ["pool_3"], ["pool_4"]]
        assert [event["Resources"] for event in guest.events()] == [[f"pool_{n}"] for n in range(5)]


@pytest.mark.conformance(91)
def test_a_spot_vm_that_was_evicted_by_deletion_is_gone(service: RunningService):
    frugal, neighbour = service.guest("frugal"), service.guest("web-1")
    frugal.document()
    neighbour.document()

    service.post("/v1/vms/frugal/evict")
    service.advance(minutes=1)
    service.post("/v1/hosts/host-1/maintain", FREEZE)

    assert frugal.call().status == 404
    assert service.operator("GET", "/v1/scopes/frugal").status == 404
    assert only(neighbour.events())["Resources"] == ["web-1"]
    assert [event["resources"] for event in service.get("/v1/events")["events"]] == [["web-1"]]
