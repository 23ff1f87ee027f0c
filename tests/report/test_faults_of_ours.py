"""Clients that met faults which were put in: what a fault did is not held against them, and what they did is."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import suppress
from typing import Any

import pytest

from forewarn.testing import Service
from tests.running import wait_until

_PATH = "/metadata/scheduledevents?api-version=2020-07-01"
_HEADERS = {"Metadata": "true"}


class Careful:
    """Asks every five seconds, approves its own events at the second look, and takes nothing ill."""

    def __init__(self, service: Service, vm: Any) -> None:
        self.service = service
        self.vm = vm
        self.known: set[str] = set()
        self.approved: set[str] = set()

    def run(self, seconds: int) -> None:
        for _ in range(0, seconds, 5):
            with suppress(KeyError, TypeError, ValueError, OSError, http.client.HTTPException):
                self.look()
            self.service.clock.advance(seconds=5)

    def look(self) -> None:
        for event in json.loads(self.call("GET"))["Events"]:
            is_mine = event["EventStatus"] == "Scheduled" and self.vm.name in event["Resources"]
            if is_mine and event["EventId"] in self.known - self.approved:
                self.call("POST", json.dumps({"StartRequests": [{"EventId": event["EventId"]}]}))
                self.approved.add(event["EventId"])
            self.known.add(event["EventId"])

    def call(self, method: str, body: str | None = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.vm.port, timeout=30)
        try:
            connection.request(method, _PATH, body, _HEADERS)
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(answer.status)
            return answer.read()
        finally:
            connection.close()


@pytest.mark.parametrize(
    ("fault", "options"),
    [
        ("lost", {}),
        ("stale", {}),
        ("null_events", {}),
        ("status", {"code": 503, "on": "document"}),
        ("proxy_page", {"on": "document"}),
        ("closed", {"on": "document"}),
        ("truncated", {}),
        ("missing_members", {"members": ["EventId"]}),
        ("missing_members", {"members": ["EventStatus"]}),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(map(str, each.get("members", ()))),
)
def test_client_is_not_blamed_for_a_fault(fault: str, options: dict[str, Any]):
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(10)
        with service.fault(fault, vm, **options):
            service.restart(vm)
            client.run(1100)
        client.run(10)
        report = service.report(vm)

    assert (report.is_good, report.faults, report.remarks) == (True, [], ["hindered_by_faults"])
    assert f"({fault})" in report.json["findings"][0]["sentence"]


@pytest.mark.parametrize(("fault", "seconds"), [("early_start", 99999), ("shortened_notice", 0)])
def test_client_without_notice_is_not_blamed_for_learning_late(fault: str, seconds: int):
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(10)
        service.fault(fault, vm, seconds=seconds)
        service.restart(vm)
        client.run(1100)
        report = service.report(vm)

    assert (report.is_good, report.faults) == (True, [])


@pytest.mark.parametrize(
    ("fault", "options"),
    [
        ("status", {"code": 503, "count": 1}),
        ("clock_skew", {"seconds": 5}),
        ("missing_members", {"members": ["Description"]}),
    ],
    ids=["one answer", "a clock that is a little off", "a member that nobody acts by"],
)
def test_fault_that_hid_nothing_does_not_excuse_a_late_approval(fault: str, options: dict[str, Any]):
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(10)
        service.fault(fault, vm, **options)
        event = service.restart(vm)
        for _ in range(180):
            with suppress(OSError):
                client.call("GET")
            service.clock.advance(seconds=5)
        event.expect("Started")
        client.call("POST", json.dumps({"StartRequests": [{"EventId": event.id}]}))

        assert service.report(vm).faults == ["approved_late"]


@pytest.mark.parametrize(
    ("options", "remarks"),
    [
        ({"count": 1}, ["never_approved"]),
        ({"every": 7}, ["never_approved"]),
        ({"every": 2}, []),
    ],
    ids=["the first answer", "not the last answer", "the last answer"],
)
def test_guest_that_saw_the_event_until_its_start_let_it_lapse(options: dict[str, Any], remarks: list[str]):
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        event = service.restart(vm)
        service.fault("status", vm, code=503, **options)
        for _ in range(90):
            with suppress(OSError):
                client.call("GET")
            service.clock.advance(seconds=10)
        event.expect("Started")
        report = service.report(vm)

    assert (report.faults, report.remarks) == ([], remarks)


def test_event_whose_approval_a_fault_refused_has_not_lapsed():
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(10)
        service.restart(vm)
        with service.fault("status", vm, code=503, on="approval"):
            client.run(900)

        assert service.report(vm).remarks == []


@pytest.mark.parametrize("fault", ["reset", "closed"])
def test_report_counts_an_accepted_approval_with_a_lost_answer(fault: str):
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(10)
        event = service.restart(vm)
        service.fault(fault, vm, on="approval", carried_out=True, count=1)
        client.run(10)
        event.expect_approved(by="web_0")
        report = service.report(vm)

    assert report.json["events"][0]["approved_after_seconds"] == 5


def test_fault_does_not_excuse_a_guest_that_stops_polling():
    with Service() as service:
        vm = service.vm("web_0", priority="Spot")
        client = Careful(service, vm)
        client.run(10)
        service.fault("lost", vm, count=1)
        service.evict(vm)
        client.call("GET")
        service.clock.advance(minutes=2)

        assert "missed_event" in service.report(vm).faults


@pytest.mark.parametrize(("fault", "options"), [("null_events", {}), ("status", {"code": 503})])
def test_client_whose_every_poll_a_fault_hit_is_good(fault: str, options: dict[str, Any]):
    with Service() as service:
        vm = service.vm("web_0")
        service.fault(fault, vm, **options)
        Careful(service, vm).run(60)
        report = service.report(vm)

    assert (report.is_good, report.faults) == (True, [])
    assert "faults" in report.json["summary"]


def test_guest_is_not_blamed_if_another_approved_at_once():
    with Service() as service:
        place = {"availability_set": "web", "update_domain": 0, "host": "h0"}
        slow, quick = (service.vm(name, **place) for name in ("web_0", "web_1"))
        clients = [Careful(service, each) for each in (slow, quick)]
        for client in clients:
            client.call("GET")
        event = service.maintain("h0", "Freeze")
        quick.approve(event)
        service.clock.advance(seconds=1)
        clients[0].run(60)

        assert service.report(slow).faults == []


@pytest.mark.parametrize("is_whole", [True, False], ids=["until it is over", "until it has started"])
def test_real_time_client_is_not_blamed_when_the_clock_passes_the_event(*, is_whole: bool):
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.call("GET")
        event = service.restart(vm)
        service.clock.until(event, "Completed" if is_whole else "Started")
        client.call("GET")

        assert service.report(vm, pace="real").faults == []


def test_guest_with_a_pending_poll_has_not_stopped():
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(10)
        service.fault("delay", vm, seconds=2)
        asking = threading.Thread(target=lambda: client.call("GET"))
        asking.start()
        conduct = service.emulator.service.conduct
        wait_until(lambda: conduct.notes_on(["web_0"])[0].open_polls == 1, "its request to be under way")
        service.clock.advance(minutes=30)
        while_it_waits = service.report(vm).faults
        asking.join(60)

    assert while_it_waits == []


@pytest.mark.parametrize("fault", ["lost", "null_events", "stale"])
def test_hidden_event_is_not_unread(fault: str):
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(10)
        service.fault(fault, vm)
        service.restart(vm)
        client.run(60)

        assert service.report(vm).faults == []


@pytest.mark.parametrize(
    ("fault", "options"),
    [("clock_skew", {"seconds": 3600}), ("duplicated", {}), ("lost", {"rate": 0.5}), ("status", {"every": 3})],
    ids=["clock_skew", "duplicated", "lost", "status"],
)
def test_harmless_fault_is_no_finding(fault: str, options: dict[str, Any]):
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        service.fault(fault, vm, **options)
        client.run(5)
        service.restart(vm)
        client.run(120)
        report = service.report(vm)

    assert (report.is_good, report.faults, report.remarks) == (True, [], [])


def test_silent_client_has_no_excuse():
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(10)
        service.fault("lost", vm)
        service.restart(vm)
        service.clock.advance(minutes=20)

        assert service.report(vm).faults == ["long_gap", "missed_event"]


def test_fault_on_another_vm_is_no_excuse():
    with Service() as service:
        vm, other = service.vm("web_0", priority="Spot"), service.vm("web_1")
        service.fault("lost", other)
        Careful(service, vm).run(20)
        service.evict(vm)
        service.clock.advance(minutes=2)

        assert service.report(vm).faults == ["missed_event"]


def test_early_start_with_enough_notice_is_no_excuse():
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        client.run(20)
        service.fault("early_start", vm, seconds=60)
        event = service.restart(vm)
        service.clock.until(event, "Started")
        client.run(2)

        assert service.report(vm).faults == ["long_gap", "learned_late"]


def test_approval_within_the_announced_notice_is_not_late_after_an_early_start():
    with Service() as service:
        vm = service.vm("web_0")
        client = Careful(service, vm)
        service.fault("early_start", vm, seconds=895)
        client.run(10)
        event = service.restart(vm)
        client.call("GET")
        service.clock.until(event, "Started")
        client.call("POST", json.dumps({"StartRequests": [{"EventId": event.id}]}))
        report = service.report(vm)

    assert (report.faults, report.remarks) == ([], ["hindered_by_faults"])
