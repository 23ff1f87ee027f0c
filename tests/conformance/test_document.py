"""Statements 22 to 47: the document's format."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.conformance.wire import (
    FREEZE,
    MIXED,
    VERSIONS,
    announce_every_kind,
    life,
    not_before,
    only,
    url,
)
from tests.running import RunningService, running

FIRST_SIX = ["EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"]
KINDS = ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"]
EVENT_ID = re.compile(r"^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$")
RFC_1123 = re.compile(
    r"^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} "
    r"\d{2}:\d{2}:\d{2} GMT$"
)


@pytest.mark.conformance(22)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_incarnation_is_a_json_integer(mixed: RunningService, version: str):
    guest = announce_every_kind(mixed)

    reply = guest.call(path=url(version))

    assert type(reply.json["DocumentIncarnation"]) is int
    assert reply.body.startswith(b'{"DocumentIncarnation":6,"Events":[')


@pytest.mark.conformance(23)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_document_without_events_has_an_empty_list(service: RunningService, version: str):
    reply = service.guest("web-0").call(path=url(version))

    assert reply.body == b'{"DocumentIncarnation":1,"Events":[]}'


@pytest.mark.parametrize(
    ("version", "members"),
    [
        pytest.param("2017-03-01", FIRST_SIX, marks=pytest.mark.conformance(24)),
        pytest.param("2017-08-01", FIRST_SIX, marks=pytest.mark.conformance(24)),
        pytest.param("2017-11-01", FIRST_SIX, marks=pytest.mark.conformance(24)),
        pytest.param("2019-01-01", FIRST_SIX, marks=pytest.mark.conformance(24)),
        pytest.param("2019-04-01", [*FIRST_SIX, "Description"], marks=pytest.mark.conformance(25)),
        pytest.param("2019-08-01", [*FIRST_SIX, "Description", "EventSource"], marks=pytest.mark.conformance(26)),
        pytest.param(
            "2020-07-01",
            [*FIRST_SIX, "Description", "EventSource", "DurationInSeconds"],
            marks=pytest.mark.conformance(27),
        ),
    ],
    ids=VERSIONS,
)
@pytest.mark.conformance(28)
def test_every_event_has_exactly_the_members_of_the_version_in_their_order(
    mixed: RunningService, version: str, members: list[str]
):
    guest = announce_every_kind(mixed)
    guest.approve(guest.events()[1]["EventId"])

    events = guest.events(version)

    assert {event["EventStatus"] for event in events} == {"Scheduled", "Started"}
    assert [list(event) for event in events] == [members] * len(events)


@pytest.mark.conformance(29)
def test_event_ids_are_guids_in_capitals(mixed: RunningService):
    events = announce_every_kind(mixed).events()

    assert len(events) == 5
    assert all(EVENT_ID.match(event["EventId"]) for event in events)


@pytest.mark.conformance(30)
def test_events_have_different_ids_also_over_time_and_over_scopes(service: RunningService):
    guests = [service.guest("web-0"), service.guest("solo")]
    seen = []
    for guest in guests:
        guest.document()

    for _ in range(3):
        service.post("/v1/hosts/host-0/maintain", FREEZE)
        seen += [only(guest.events())["EventId"] for guest in guests]
        service.advance(hours=1)

    assert len(seen) == 6
    assert len(set(seen)) == 6


@pytest.mark.conformance(31)
def test_the_five_types_are_all_there_are(mixed: RunningService):
    events = announce_every_kind(mixed).events()

    assert [event["EventType"] for event in events] == KINDS


@pytest.mark.conformance(31)
@pytest.mark.parametrize("act", ["degrade", "fail"])
def test_trouble_with_hardware_is_told_as_a_redeploy(service: RunningService, act: str):
    solo = service.guest("solo")
    solo.document()

    service.post(f"/v1/hosts/host-0/{act}")

    assert only(solo.events())["EventType"] == "Redeploy"


@pytest.mark.conformance(32)
def test_only_scheduled_and_started_ever_appear(mixed: RunningService):
    guest = announce_every_kind(mixed)
    redeploy = guest.events()[2]["EventId"]
    seen = {event["EventStatus"] for event in guest.events()}
    mixed.post(f"/v1/events/{redeploy}/cancel")

    for document in life(mixed, guest):
        assert "Complet" not in json.dumps(document)
        assert "Cancel" not in json.dumps(document)
        seen |= {event["EventStatus"] for event in document["Events"]}

    assert seen == {"Scheduled", "Started"}
    outcomes = [row["outcome"] for row in mixed.get("/v1/history")["history"]]
    assert sorted(outcomes) == ["Cancelled", "Completed", "Completed", "Completed", "Completed"]


@pytest.mark.conformance(33)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_resource_type_is_always_virtual_machine(mixed: RunningService, version: str):
    events = announce_every_kind(mixed).events(version)

    assert {event["ResourceType"] for event in events} == {"VirtualMachine"}


@pytest.mark.conformance(34)
def test_resources_are_a_list_of_names_that_is_never_empty(mixed: RunningService):
    guest = announce_every_kind(mixed)

    documents = list(life(mixed, guest))

    assert [event["Resources"] for event in documents[0]["Events"]] == [[f"mix_{n}"] for n in range(5)]
    assert all(event["Resources"] for document in documents for event in document["Events"])


@pytest.mark.conformance(34)
def test_an_event_whose_last_resource_is_stopped_is_gone_rather_than_empty(service: RunningService):
    solo = service.guest("solo")
    solo.document()
    service.post("/v1/hosts/host-0/maintain", FREEZE)
    assert only(solo.events())["Resources"] == ["solo"]

    service.post("/v1/vms/solo/stop")
    service.advance(seconds=10)

    assert solo.events() == []


@pytest.mark.conformance(35)
@pytest.mark.parametrize("version", VERSIONS)
def test_not_before_is_written_as_rfc_1123_in_every_version(service: RunningService, version: str):
    web = service.guest("web-0")
    web.document()
    service.post("/v1/vms/web-0/restart")

    event = only(web.events(version))

    assert event["NotBefore"] == "Mon, 02 Mar 2026 12:15:00 GMT"
    assert RFC_1123.match(event["NotBefore"])


@pytest.mark.conformance(35)
def test_not_before_has_the_right_weekday_and_month_all_year_round():
    with running(MIXED, clock_start=datetime(2027, 12, 31, 23, 58, 9, tzinfo=UTC)) as service:
        guest, seen = service.guest("mix_0"), []

        for _ in range(13):
            guest.document()
            service.post("/v1/vms/mix_0/restart")
            event = only(guest.events())
            assert RFC_1123.match(event["NotBefore"])
            assert not_before(event) == service.now + timedelta(minutes=15)
            seen.append(event["NotBefore"])
            service.advance(days=31)

    assert seen[0] == "Sat, 01 Jan 2028 00:13:09 GMT"
    assert {text[:3] for text in seen} == {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
    assert len({text[8:11] for text in seen}) == 12


@pytest.mark.conformance(36)
@pytest.mark.parametrize("version", VERSIONS)
def test_not_before_is_empty_once_the_event_has_started(service: RunningService, version: str):
    web = service.guest("web-0")
    web.document()
    service.post("/v1/vms/web-0/restart")

    web.approve(only(web.events())["EventId"])

    event = only(web.events(version))
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")


@pytest.mark.conformance(37)
def test_durations_are_integers_and_minus_one_where_nothing_is_known(mixed: RunningService):
    events = announce_every_kind(mixed).events()

    durations = {event["EventType"]: event["DurationInSeconds"] for event in events}
    assert durations == {"Freeze": 9, "Reboot": -1, "Redeploy": -1, "Preempt": -1, "Terminate": -1}
    assert {type(duration) for duration in durations.values()} == {int}


@pytest.mark.conformance(37)
def test_a_duration_below_minus_one_cannot_be_announced(service: RunningService):
    solo = service.guest("solo")
    solo.document()

    service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze", "duration_seconds": -2}, expect=400)

    assert solo.events() == []


@pytest.mark.conformance(38)
def test_a_freeze_of_no_length_is_announced_as_zero(service: RunningService):
    solo = service.guest("solo")
    solo.document()

    service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze", "duration_seconds": 0})

    reply = solo.call()
    assert only(reply.json["Events"])["DurationInSeconds"] == 0
    assert reply.body.endswith(b',"DurationInSeconds":0}]}')


@pytest.mark.conformance(39)
@pytest.mark.parametrize(
    ("path", "vm", "source"),
    [
        ("/v1/vms/web-0/restart", "web-0", "User"),
        ("/v1/vms/web-0/redeploy", "web-0", "User"),
        ("/v1/vms/pool_0/delete", "pool_0", "User"),
        ("/v1/vms/frugal/evict", "frugal", "Platform"),
        ("/v1/hosts/host-0/degrade", "web-0", "Platform"),
        ("/v1/hosts/host-0/fail", "web-0", "Platform"),
    ],
    ids=["restart", "redeploy", "delete", "eviction", "degraded host", "failed host"],
)
@pytest.mark.parametrize("version", ["2019-08-01", "2020-07-01"])
def test_the_source_is_the_user_for_what_users_ask_and_else_the_platform(
    service: RunningService, version: str, path: str, vm: str, source: str
):
    guest = service.guest(vm)
    guest.document()

    service.post(path)

    assert only(guest.events(version))["EventSource"] == source


@pytest.mark.conformance(39)
@pytest.mark.parametrize("kind", ["Freeze", "Reboot", "Redeploy"])
def test_the_source_of_planned_work_is_the_platform(service: RunningService, kind: str):
    solo = service.guest("solo")
    solo.document()

    service.post("/v1/hosts/host-0/maintain", {"kind": kind})

    event = only(solo.events())
    assert (event["EventType"], event["EventSource"]) == (kind, "Platform")


@pytest.mark.parametrize(
    ("path", "vm", "text"),
    [
        pytest.param(
            "/v1/vms/web-0/restart",
            "web-0",
            "Virtual machine is going to be restarted as requested by authorized user.",
            marks=pytest.mark.conformance(40),
            id="restart",
        ),
        pytest.param(
            "/v1/vms/web-0/redeploy",
            "web-0",
            "Virtual machine is going to be redeployed as requested by authorized user.",
            marks=pytest.mark.conformance(41),
            id="redeploy",
        ),
        pytest.param("/v1/vms/frugal/evict", "frugal", "", marks=pytest.mark.conformance(42), id="eviction"),
    ],
)
@pytest.mark.parametrize("version", ["2019-04-01", "2019-08-01", "2020-07-01"])
def test_the_description_is_that_of_the_real_service(
    service: RunningService, version: str, path: str, vm: str, text: str
):
    guest = service.guest(vm)
    guest.document()

    service.post(path)

    assert only(guest.events(version))["Description"] == text


@pytest.mark.conformance(43)
@pytest.mark.parametrize(
    ("vm", "first"),
    [("web-0", "_web-0"), ("solo", "_solo"), ("pool_0", "_pool_0"), ("FrontEnd_IN_0", "FrontEnd_IN_0")],
    ids=["availability set", "standalone", "scale set", "role instance"],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_names_have_an_underscore_at_2017_03_01_only_and_role_instances_never(
    service: RunningService, version: str, vm: str, first: str
):
    guest = service.guest(vm)
    guest.document()
    service.post(f"/v1/vms/{vm}/restart")

    resources = only(guest.events(version))["Resources"]

    assert resources == [first if version == "2017-03-01" else vm]


@pytest.mark.conformance(44)
def test_a_scale_sets_instance_is_named_as_in_its_own_metadata(service: RunningService):
    guest = service.guest("pool_1")
    guest.document()
    service.post("/v1/vms/pool_1/restart")

    name = guest.call(path="/metadata/instance?api-version=2021-02-01").json["compute"]["name"]

    assert name == "pool_1"
    assert only(guest.events())["Resources"] == [name]


@pytest.mark.conformance(45)
def test_an_event_has_the_same_id_in_every_version(service: RunningService):
    web = service.guest("web-0")
    web.document()
    service.post("/v1/vms/web-0/restart")
    event = only(web.events())["EventId"]

    scheduled = [only(web.events(version))["EventId"] for version in VERSIONS]
    web.approve(event)
    started = [only(web.events(version))["EventId"] for version in VERSIONS]

    assert scheduled == started == [event] * 7


@pytest.mark.conformance(46)
@pytest.mark.conformance(47)
@pytest.mark.parametrize(
    ("version", "kinds"),
    [(version, KINDS[:3]) for version in VERSIONS[:2]]
    + [("2017-11-01", KINDS[:4])]
    + [(version, KINDS) for version in VERSIONS[3:]],
    ids=VERSIONS,
)
def test_a_version_shows_no_type_that_is_newer_than_itself(mixed: RunningService, version: str, kinds: list[str]):
    guest = announce_every_kind(mixed)

    document = guest.document(version)

    assert [event["EventType"] for event in document["Events"]] == kinds
    assert document["DocumentIncarnation"] == 6
