"""Five clients over real sockets in virtual time: each has one fault, and the report names it for no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from forewarn.core.terms import Action
from tests.fleets import SMALL
from tests.report.clients import Client, DeafClient, MeddlingClient, SilentClient, SlowClient, play
from tests.running import running

_CLIENTS = {
    "web-0": Client,
    "web-1": MeddlingClient,
    "frugal": SlowClient,
    "twin": SilentClient,
    "solo": DeafClient,
}


@pytest.fixture(scope="module")
def reports() -> Iterator[dict[str, Any]]:
    """What is said of each after half an hour in which all that can happen to them has happened."""
    with running(SMALL, watch_guests=None) as service:
        clients = [kind(vm, service.guest(vm)) for vm, kind in _CLIENTS.items()]
        second = play(service, clients, seconds=60)
        for vm in _CLIENTS:
            service.post(f"/v1/vms/{vm}/restart")
        second = play(service, clients, first=second, seconds=20 * 60)
        service.post("/v1/hosts/host-2/maintain", {"kind": "Freeze"})  # web-2, which nobody runs a client in
        second = play(service, clients, first=second, seconds=125)
        service.post("/v1/vms/frugal/evict")  # it has asked five seconds ago
        play(service, clients, first=second, seconds=50)
        yield {guest["vm"]: guest for guest in service.get("/v1/report")["guests"]}


def with_finding(reports: dict[str, Any], code: str) -> set[str]:
    return {vm for vm, report in reports.items() if code in {each["code"] for each in report["findings"]}}


def findings(reports: dict[str, Any]) -> dict[str, set[str]]:
    return {vm: {each["code"] for each in report["findings"]} for vm, report in reports.items()}


@pytest.mark.parametrize(
    ("code", "vm"),
    [
        ("too_slow", "frugal"),
        ("missed_event", "frugal"),
        ("never_approved", "twin"),
        ("approved_others", "web-1"),
        ("deaf_to_the_end", "solo"),
    ],
)
def test_finding_is_in_the_report_of_its_client_only(reports: dict[str, Any], code: str, vm: str):
    assert with_finding(reports, code) == {vm}


def test_nothing_else_is_found(reports: dict[str, Any]):
    assert findings(reports) == {
        "web-0": set(),
        "web-1": {"approved_others"},
        "frugal": {"too_slow", "missed_event"},
        "twin": {"never_approved"},
        "solo": {"deaf_to_the_end"},
    }


def test_long_event_hides_no_fault_of_a_polling_guest():
    with running(SMALL, watch_guests=None, simulated_seconds={Action.FREEZE: 595.0}) as service:
        clients = [kind(vm, service.guest(vm)) for vm, kind in _CLIENTS.items()]
        second = play(service, clients, seconds=125)
        for host in ("host-0", "host-1", "host-3"):
            service.post(f"/v1/hosts/{host}/maintain", {"kind": "Freeze"})
        play(service, clients, first=second, seconds=720)
        reports = {guest["vm"]: guest for guest in service.get("/v1/report")["guests"]}

    assert findings(reports) == {
        "web-0": set(),
        "web-1": {"approved_others"},
        "frugal": {"too_slow"},
        "twin": set(),
        "solo": {"deaf_to_the_end"},
    }
    assert [reports[vm]["polls"]["usual_gap_seconds"] for vm in ("web-0", "frugal")] == [5, 60]


def test_report_on_a_good_client_has_its_figures(reports: dict[str, Any]):
    good = reports["web-0"]

    assert (good["is_good"], good["findings"]) == (True, [])
    assert good["polls"]["usual_gap_seconds"] == good["polls"]["longest_gap_seconds"] == 5
    assert good["limit"] == {"requests_per_second": 5, "is_kept": True, "beyond": 0}
    assert good["versions"] == {"2020-07-01": good["polls"]["count"]}
    own = [event for event in good["events"] if event["names_it"]]
    assert [(event["kind"], event["phase"], event["approved_after_seconds"]) for event in own] == [
        ("Reboot", "Completed", 0)
    ]
    assert 0 <= own[0]["end_noticed_after_seconds"] <= 5


def test_guest_that_never_approves_is_not_blamed(reports: dict[str, Any]):
    silent = reports["twin"]

    assert silent["is_good"]
    assert [each["is_fault"] for each in silent["findings"]] == [False]


def test_slow_client_reads_what_its_gap_means_for_each_notice(reports: dict[str, Any]):
    slow, missed = reports["frugal"]["findings"]

    assert (slow["code"], missed["code"]) == ("too_slow", "missed_event")
    assert all(each in slow["sentence"] for each in ("60 s", "30 s", "Reboot 14 min of 15 min", "Redeploy 9 min"))
    assert all(each in missed["sentence"] for each in ("Preempt of frugal", "30 s"))


def test_approval_for_another_vm_names_the_event(reports: dict[str, Any]):
    (finding,) = reports["web-1"]["findings"]
    event = next(each for each in reports["web-1"]["events"] if each["event"] == finding["event"])

    assert (finding["count"], event["kind"], event["resources"]) == (1, "Freeze", ["web-2"])


def test_guest_that_misses_the_end_reads_when_it_last_polled(reports: dict[str, Any]):
    (finding,) = reports["solo"]["findings"]
    (event,) = reports["solo"]["events"]

    assert event["phase"] == "Completed"
    assert event["end_noticed_after_seconds"] is None
    assert re.search(r"last poll was 2.* ago", finding["sentence"])
