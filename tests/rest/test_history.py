"""The history over REST: filters, CSV, the summary, what is let go, and what makes no sense."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from forewarn.drivers.machines import Trouble
from forewarn.operator import history
from tests.fleets import SMALL
from tests.running import Reply, RunningService, running


def restart(service: RunningService, vm: str, **then: float) -> str:
    event = service.post(f"/v1/vms/{vm}/restart")["event"]["id"]
    service.guest(vm).approve(event)
    service.advance(**(then or {"minutes": 5}))
    return event


@pytest.fixture(scope="module")
def past() -> Iterator[RunningService]:
    """A service to which a lot has happened, and nothing happens any more."""
    with running(SMALL) as service:
        for vm in ("solo", "web-0"):
            service.guest(vm).document()
        restart(service, "solo", hours=1)
        maintained = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze", "duration_seconds": 20})
        for event in maintained["events"]:
            service.post(f"/v1/events/{event['id']}/approve")
        service.advance(hours=1)
        service.post("/v1/vms/twin/stop")
        service.advance(hours=1)
        cancelled = service.post("/v1/vms/web-0/restart")["event"]["id"]
        service.post(f"/v1/events/{cancelled}/cancel")
        service.post("/v1/vms/FrontEnd_IN_0/delete")
        service.advance(hours=1)
        yield service


def resources(service: RunningService, query: str = "") -> list[str]:
    return [" ".join(row["resources"]) for row in service.get(f"/v1/history?{query}")["history"]]


def in_csv(reply: Reply) -> list[dict[str, str]]:
    assert reply.status == 200, reply
    return list(csv.DictReader(io.StringIO(reply.body.decode(), newline="")))


def test_a_row_tells_what_was_expected_and_how_long_it_took(past: RunningService):
    (freeze,) = past.get("/v1/history?kind=Freeze&vm=solo")["history"]
    (reboot,) = past.get("/v1/history?kind=Reboot&vm=solo")["history"]

    seconds = "interruption_expected_seconds", "interruption_seconds", "interruption_vm_seconds"
    assert [freeze[name] for name in seconds] == [20, 20, 20]
    assert [reboot[name] for name in seconds] == [None, 60, 60]


def test_an_event_of_several_machines_took_as_long_as_the_longest_and_the_sum_in_vm_seconds(tmp_path: Path):
    fleet = {
        "hosts": [{"name": "host-0"}],
        "cloud_services": [{"name": "legacy"}],
        "vms": [
            {"name": f"vm-{n}", "host": "host-0", "cloud_service": "legacy", "update_domain": 0} for n in range(3)
        ],
    }
    with running(fleet, store=f"sqlite:///{tmp_path}/store.db") as service:
        service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze", "duration_seconds": 7})
        service.advance(hours=1)
        (row,) = service.get("/v1/history")["history"]

    assert row["resources"] == ["vm-0", "vm-1", "vm-2"]
    assert (row["interruption_seconds"], row["interruption_vm_seconds"]) == (7, 21)


def test_what_never_happened_took_no_time_and_says_so(past: RunningService):
    (row,) = past.get("/v1/history?outcome=Cancelled")["history"]

    assert (row["notice_given_seconds"], row["interruption_seconds"]) == (None, None)
    assert row["reason"]


def test_how_long_a_vm_is_away_that_did_not_come_back_is_not_known():
    fleet = {"hosts": [{"name": "host-0"}, {"name": "host-1"}], "vms": [{"name": "x", "host": "host-0"}]}
    with running(fleet) as service:
        service.service.machines.order("x", Trouble.FAILS)
        service.post("/v1/hosts/host-0/fail")
        service.advance(hours=1)
        (row,) = service.get("/v1/history")["history"]
        (line,) = in_csv(service.operator("GET", "/v1/history?format=csv"))
        summary = service.get("/v1/history/summary")

    names = "interruption_seconds", "interruption_vm_seconds"
    assert (row["outcome"], *(row[name] for name in names)) == ("Failed", None, None)
    assert [line[name] for name in names] == ["", ""]
    assert (summary["interruption_seconds"], summary["interruption_vm_seconds"]) == (None, 0)


def test_a_vm_that_waited_for_a_host_was_away_from_the_failure_on():
    fleet = {"hosts": [{"name": "host-0"}], "vms": [{"name": "x", "host": "host-0"}]}
    with running(fleet) as service:
        service.post("/v1/hosts/host-0/fail")
        service.advance(hours=1)
        (waiting,) = service.get("/v1/events")["events"]
        service.post("/v1/hosts/host-0/recover")
        service.advance(minutes=5)
        (row,) = service.get("/v1/history")["history"]

    assert waiting["waiting_for"] == ["a host that may take x (none may: host-0 has failed)"]
    assert (row["outcome"], row["interruption_seconds"]) == ("Completed", 3720)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("vm=twin", ["twin"]),
        ("vm=FrontEnd_IN_0", ["FrontEnd_IN_0"]),
        ("set=web", ["web-0", "web-0"]),
        ("set=legacy", ["FrontEnd_IN_0"]),
        ("tag=team", ["solo", "solo"]),
        ("tag=team%3Dblue", ["solo", "solo"]),
        ("tag=team%3Dred", []),
        ("kind=freeze", ["solo", "web-0"]),
        ("scope=solo", ["solo", "solo"]),
        ("outcome=cancelled", ["web-0"]),
        ("asked_by=operator&vm=twin", ["twin"]),
        ("asked_by=nobody", []),
        ("since=2026-03-02T14:00:00Z&until=2026-03-02T15:00:00Z", ["twin"]),
        (f"since={quote('2026-03-02T15:00:00+01:00')}&until=2026-03-02T15:00:00", ["twin"]),
        ("until=2026-03-02", []),
        ("since=2026-03-02&kind=Reboot&tag=env&outcome=Completed", ["solo"]),
    ],
)
def test_filters_over_rest(past: RunningService, query: str, found: list[str]):
    assert sorted(resources(past, query)) == sorted(found)


def test_pages_of_a_filter_meet(past: RunningService):
    whole, told, after = resources(past, "since=2026-03-02"), [], ""
    while True:
        page = past.get(f"/v1/history?since=2026-03-02&limit=2{after}")
        told += [" ".join(row["resources"]) for row in page["history"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"

    assert told == whole
    assert len(told) == 6


# As a table.


@pytest.mark.parametrize(
    ("query", "accept"),
    [("?format=csv", None), ("?format=CSV", "application/json"), ("", "text/csv"), ("", "text/csv, */*;q=0.5")],
    ids=["format", "format wins", "Accept", "liked better"],
)
def test_the_history_is_had_as_csv(past: RunningService, query: str, accept: str | None):
    headers = {"Accept": accept} if accept else {}

    reply = past.operator("GET", f"/v1/history{query}", headers=headers)

    rows = in_csv(reply)
    assert reply.headers["content-type"].startswith("text/csv; charset=utf-8")
    assert [row["event"] for row in rows] == [row["event"] or "" for row in past.get("/v1/history")["history"]]
    assert list(rows[0]) == list(past.get("/v1/history")["history"][0])


@pytest.mark.parametrize(
    "accept",
    ["*/*", "application/json", "text/csv;q=0.1, application/json", "text/csv;q=0", "text/csv;q=x", "", ";;,;q"],
)
def test_whoever_does_not_ask_for_csv_gets_json(past: RunningService, accept: str):
    reply = past.operator("GET", "/v1/history", headers={"Accept": accept})

    assert reply.headers["content-type"] == "application/json"
    assert "history" in reply.json


def test_csv_tells_what_json_tells(past: RunningService):
    (row,) = in_csv(past.operator("GET", "/v1/history?format=csv&kind=Freeze&vm=web-0"))

    assert (row["resources"], row["asked_by"], row["approved_by"]) == ("web-0", "operator", "operator")
    assert row["approvals"] == "operator 2026-03-02T13:00:00Z"
    assert (row["notice_promised_seconds"], row["notice_given_seconds"]) == ("900.0", "0.0")
    assert (row["interruption_seconds"], row["outcome"]) == ("20.0", "Completed")


def test_csv_is_everything_page_after_page_unless_a_limit_is_given(
    past: RunningService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(history, "LARGEST_PAGE", 2)

    everything = in_csv(past.operator("GET", "/v1/history?format=csv"))
    some = in_csv(past.operator("GET", "/v1/history?format=csv&limit=3"))
    nothing = past.operator("GET", "/v1/history?format=csv&asked_by=nobody")

    assert [row["operation"] for row in everything] == [
        row["operation"] for row in past.get("/v1/history")["history"]
    ]
    assert some == everything[:3]
    assert nothing.body.startswith(b"event,operation,")
    assert in_csv(nothing) == []


# What it comes to.


def test_the_summary_counts_what_the_filter_lets_through(past: RunningService):
    everything = past.get("/v1/history/summary")
    of_solo = past.get("/v1/history/summary?vm=solo")

    assert everything["lines"] == 6
    assert everything["outcomes"] == {"Completed": 5, "Cancelled": 1, "Failed": 0}
    assert everything["started_by"] == {"guests": 1, "operators": 2, "policy": 0, "nobody": 0}
    assert of_solo["notice_promised_seconds"] == {"least": 900.0, "median": 900.0, "most": 900.0}
    assert of_solo["interruption_expected_seconds"] == {"least": 20.0, "median": 20.0, "most": 20.0}
    assert of_solo["interruption_seconds"] == {"least": 20.0, "median": 40.0, "most": 60.0}
    assert of_solo["interruption_vm_seconds"] == 80


def test_the_summary_of_many_pages_is_that_of_all_lines(past: RunningService, monkeypatch: pytest.MonkeyPatch):
    at_once = past.get("/v1/history/summary")
    monkeypatch.setattr(history, "LARGEST_PAGE", 1)

    assert past.get("/v1/history/summary") == at_once


def test_the_summary_of_nothing_has_nulls_and_zeros(past: RunningService):
    empty = past.get("/v1/history/summary?asked_by=nobody")

    assert empty["lines"] == 0
    assert empty["notice_given_seconds"] is None
    assert empty["interruption_vm_seconds"] == 0


# What makes no sense.


@pytest.mark.parametrize("path", ["/v1/history", "/v1/history/summary"])
@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("since=yesterday", 400, "since is 'yesterday', which is no instant."),
        ("until=2026-13-01", 400, "until is '2026-13-01', which is no instant."),
        ("since=2026-03-02T12:00:00+01:00", 400, "which is no instant."),
        ("since=0001-01-01T00:00:00%2B14:00", 400, "which is no instant."),
        ("since=2026-03-03&until=2026-03-02", 400, "nothing lies between."),
        ("since=2026-03-02&until=2026-03-02", 400, "nothing lies between."),
        ("kind=Explode", 400, "'Explode' is no kind."),
        ("outcome=Started", 400, "'Started' is no outcome."),
        ("tag=%3Dblue", 400, "tag is '=blue', which has no key."),
        ("tag=", 400, "tag is '', which names nothing."),
        ("vm=%00", 400, "which names nothing."),
        ("vm=web-9", 404, "There is no VM web-9, and there never was."),
        ("set=wbe", 404, "There is no set wbe, and there never was."),
        ("scope=wbe", 404, "There is no scope wbe, and there never was."),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused_with_a_sentence(
    past: RunningService, path: str, query: str, status: int, words: str
):
    reply = past.operator("GET", f"{path}?{query}")

    assert reply.status == status
    assert words in reply.json["error"]["message"]


def test_the_words_that_a_filter_may_be_are_named(past: RunningService):
    refused = [past.operator("GET", f"/v1/history?{query}").json["error"] for query in ("kind=x", "outcome=x")]

    assert [error["hint"] for error in refused] == [
        "It can be Freeze, Reboot, Redeploy, Preempt or Terminate.",
        "It can be Completed, Cancelled or Failed.",
    ]


@pytest.mark.parametrize("query", ["format=xml", "format=", "format=csv&limit=0", "format=csv&after=nonsense"])
def test_a_form_that_makes_no_sense_is_refused_in_json(past: RunningService, query: str):
    reply = past.operator("GET", f"/v1/history?{query}", headers={"Accept": "text/csv"})

    assert reply.status == 400
    assert reply.json["error"]["code"] == "BadRequest"


# What is let go.


def gone(service: RunningService, path: str) -> dict[str, Any]:
    reply = service.operator("GET", path)
    assert reply.status == 404, reply
    return reply.json["error"]


def test_what_is_older_than_the_history_is_kept_is_gone_and_its_ids_say_so():
    with running(SMALL, history_days=30) as service:
        service.guest("solo").document()
        event = restart(service, "solo")
        (row,) = service.get("/v1/history")["history"]
        service.advance(days=31)

        assert service.get("/v1/history")["history"] == []
        told = [
            gone(service, f"/v1/events/{event}"),
            gone(service, f"/v1/operations/{row['operation']}"),
            gone(service, f"/v1/audit?event={event}"),
            gone(service, f"/v1/audit?operation={row['operation']}"),
        ]

    assert [error["message"] for error in told] == [
        f"There is no event {event}.",
        f"There is no operation {row['operation']}.",
        f"There is no event {event}.",
        f"There is no operation {row['operation']}.",
    ]
    assert {error["hint"] for error in told} == {"What ended more than 30 days ago is not kept (--history-days)."}


def test_a_rollout_that_is_kept_no_longer_is_not_said_never_to_have_been():
    with running(SMALL, history_days=30) as service:
        rollout = service.post("/v1/rollouts", {"kind": "Freeze", "hosts": ["host-0"]})["id"]
        service.post(f"/v1/rollouts/{rollout}/abort")
        service.advance(days=31)

        error = gone(service, f"/v1/history?rollout={rollout}")

    assert error["message"] == f"There is no rollout {rollout}."
    assert "What ended more than 30 days ago is not kept (--history-days)." in error["hint"]


def test_with_0_days_the_history_is_kept_for_ever():
    with running(SMALL, history_days=0) as service:
        service.guest("solo").document()
        event = restart(service, "solo")
        service.advance(days=3650)

        assert service.get(f"/v1/events/{event}")["phase"] == "Completed"
        assert gone(service, "/v1/events/00000000-0000-0000-0000-000000000000")["hint"] == "forewarn event list"
