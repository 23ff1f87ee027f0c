"""Faults of the engine: laws are broken on purpose, and the event, the history and the audit say so."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.faults.conftest import Add
from tests.fleets import SMALL
from tests.running import RunningService, running


@pytest.fixture(autouse=True)
def scopes_on(service: RunningService) -> None:
    for name in ("solo", "twin", "web-0"):
        service.guest(name).document()


def restart(service: RunningService, vm: str = "solo") -> dict[str, object]:
    return service.post(f"/v1/vms/{vm}/restart")["event"]


def shown(service: RunningService, event: object) -> dict[str, object]:
    return service.get(f"/v1/events/{event}")


def lead(event: dict[str, object]) -> timedelta:
    """How long after its announcement it may start."""
    return datetime.fromisoformat(str(event["not_before"])) - datetime.fromisoformat(str(event["created_at"]))


def test_an_event_starts_early_though_nobody_has_approved_it(service: RunningService, add: Add, struck):
    add("early_start", seconds=300)

    event = restart(service)
    service.advance(minutes=9, seconds=59)
    before = service.guest("solo").events()
    service.advance(seconds=1)
    started = service.guest("solo").events()

    assert lead(event) == timedelta(minutes=15)  # what guests were promised
    assert [each["EventStatus"] for each in before] == ["Scheduled"]
    assert [each["EventStatus"] for each in started] == ["Started"]
    assert shown(service, event["id"])["fault"] == "early_start"
    assert shown(service, event["id"])["approved_by"] is None
    assert struck() == {"early_start": 1}


def test_an_early_start_of_more_than_the_notice_is_at_once(service: RunningService, add: Add):
    add("early_start", seconds=86400)

    event = restart(service)
    service.advance(seconds=0)

    assert shown(service, event["id"])["phase"] == "Started"


def test_an_operation_starts_early_as_a_whole_and_all_its_events_have_the_mark(service: RunningService, add: Add):
    add("early_start", vm="solo", seconds=60)
    service.guest("web-0").document()

    events = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})["events"]
    service.advance(minutes=14)

    assert {each["scope"] for each in events} == {"solo", "web"}
    found = [shown(service, each["id"]) for each in events]
    assert {each["fault"] for each in found} == {"early_start"}
    assert {each["phase"] for each in found} == {"Started"}


def test_an_approval_still_starts_it_sooner(service: RunningService, add: Add):
    add("early_start")
    event = restart(service)

    service.guest("solo").approve(str(event["id"]))
    service.advance(seconds=0)

    assert shown(service, event["id"])["phase"] == "Started"


def test_an_event_is_announced_with_too_little_notice(service: RunningService, add: Add, struck):
    add("shortened_notice", seconds=5)

    event = restart(service)
    service.advance(seconds=5)

    assert lead(event) == timedelta(seconds=5)
    assert shown(service, event["id"])["phase"] == "Started"
    assert shown(service, event["id"])["fault"] == "shortened_notice"
    assert struck() == {"shortened_notice": 1}


def test_a_notice_that_would_be_longer_is_left_alone(service: RunningService, add: Add, struck):
    add("shortened_notice", seconds=3600)

    event = restart(service)

    assert (lead(event), event["fault"]) == (timedelta(minutes=15), "")
    assert struck() == {"shortened_notice": 0}


def test_only_the_events_of_the_named_vm_are_struck_and_only_as_often_as_the_rule_says(
    service: RunningService, add: Add
):
    add("shortened_notice", vm="solo", every=2, seconds=5)
    faults = []

    for _ in range(4):
        for vm in ("solo", "twin"):
            event = restart(service, vm)
            faults.append((vm, event["fault"]))
            service.post(f"/v1/events/{event['id']}/cancel")

    assert [fault for vm, fault in faults if vm == "twin"] == [""] * 4
    assert [fault for vm, fault in faults if vm == "solo"] == ["", "shortened_notice"] * 2


def test_what_is_announced_already_is_not_struck(service: RunningService, add: Add):
    event = restart(service)
    add("early_start", seconds=600)

    service.advance(minutes=14)

    assert shown(service, event["id"])["phase"] == "Scheduled"


def test_several_faults_of_one_event_are_all_named(service: RunningService, add: Add):
    add("shortened_notice", seconds=60)
    add("early_start", seconds=30)
    add("lost")

    event = restart(service)
    service.guest("solo").document()
    fault = shown(service, event["id"])["fault"]
    service.advance(seconds=30)

    assert fault == "early_start, lost, shortened_notice"
    assert shown(service, event["id"])["phase"] == "Started"


def test_the_history_and_the_audit_keep_the_mark(service: RunningService, add: Add):
    rule = add("early_start", seconds=300)
    event = restart(service)["id"]
    service.operator("DELETE", f"/v1/faults/{rule}")
    plain = restart(service, "twin")["id"]
    service.advance(hours=1)

    history = {each["event"]: each for each in service.get("/v1/history")["history"]}
    audit = [
        (each["verb"], each["event"], each["detail"])
        for each in service.get("/v1/audit")["audit"]
        if "fault" in each["verb"]
    ]
    csv = service.operator("GET", "/v1/history", headers={"Accept": "text/csv"}).body.decode()

    assert (history[event]["fault"], history[plain]["fault"]) == ("early_start", "")
    assert (history[event]["notice_promised_seconds"], history[event]["notice_given_seconds"]) == (900.0, 600.0)
    assert audit == [
        ("clear fault", None, "early_start (seconds 300), all VMs, every event"),
        ("fault", event, "early_start: it starts 5 min before its NotBefore, unless it is approved sooner"),
        ("add fault", None, "early_start (seconds 300), all VMs, every event"),
    ]
    assert "fault" in csv.splitlines()[0].split(",")


def test_what_a_guest_is_told_wrongly_is_in_the_audit_once(service: RunningService, add: Add):
    event = restart(service)["id"]
    add("lost")

    for _ in range(3):
        assert service.guest("solo").events() == []

    told = [each for each in service.get("/v1/audit")["audit"] if each["verb"] == "fault"]
    assert [(each["actor"], each["event"], each["detail"]) for each in told] == [
        ("solo", event, "lost: solo was told what is not so")
    ]


def test_an_event_that_has_ended_and_is_shown_again_is_in_the_audit(service: RunningService, add: Add):
    event = restart(service)["id"]
    service.post(f"/v1/events/{event}/cancel")
    add("stale")

    assert [each["EventId"] for each in service.guest("solo").events()] == [event]

    told = [each for each in service.get("/v1/audit")["audit"] if each["verb"] == "fault"]
    assert [(each["event"], each["detail"]) for each in told] == [(event, "stale: solo was told what is not so")]
    assert shown(service, event)["fault"] == ""


def test_an_early_start_that_was_announced_outlives_the_process_and_the_rule_does_not(tmp_path: Path):
    store = f"sqlite:///{tmp_path}/forewarn.db"
    with running(SMALL, store=store) as first:
        first.guest("solo").document()
        first.post("/v1/faults", {"name": "early_start", "seconds": 300})
        event = restart(first)["id"]

    with running(SMALL, store=store) as second:
        rules = second.get("/v1/faults")["faults"]
        second.advance(minutes=10)
        found = shown(second, event)

    assert rules == []
    assert (found["phase"], found["fault"]) == ("Started", "early_start")
