"""GET /v1/report: who is in it, by which clock, and what is refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.edge.wire import GET
from tests.fleets import SMALL
from tests.running import RunningService, running


@pytest.fixture
def service() -> Iterator[RunningService]:
    """A service that looks on, as it does with a virtual clock."""
    with running(SMALL, watch_guests=None) as started:
        yield started


def found(service: RunningService, vm: str, **query: str) -> set[str]:
    asked = "".join(f"&{name}={value}" for name, value in query.items())
    (guest,) = service.get(f"/v1/report?vm={vm}{asked}")["guests"]
    return {each["code"] for each in guest["findings"]}


def test_the_report_has_who_was_heard_and_counts_who_was_not(service: RunningService):
    service.guest("web-1").document()
    service.guest("solo").call(path="/metadata/instance?api-version=2021-02-01")

    report = service.get("/v1/report")

    assert [guest["vm"] for guest in report["guests"]] == ["solo", "web-1"]
    assert (report["pace"], report["unheard"], report["next"]) == ("virtual", 12, None)
    assert (report["guests"][0]["requests"], report["guests"][0]["polls"]["count"]) == (1, 0)


def test_the_report_comes_in_pages(service: RunningService):
    for vm in ("solo", "twin", "web-0"):
        service.guest(vm).document()

    first = service.get("/v1/report?limit=2")
    rest = service.get(f"/v1/report?limit=2&after={first['next']}")

    assert [guest["vm"] for guest in first["guests"] + rest["guests"]] == ["solo", "twin", "web-0"]
    assert rest["next"] is None


def test_a_vm_that_was_never_heard_has_an_empty_report(service: RunningService):
    assert service.get("/v1/report?vm=twin") == {"pace": "virtual", "guests": [], "unheard": 1, "next": None}


def test_a_deleted_machine_is_still_reported_on(service: RunningService):
    service.guest("brief").document()
    service.post("/v1/vms/brief/delete")
    service.advance(minutes=10)

    (guest,) = service.get("/v1/report?vm=brief")["guests"]

    assert guest["polls"]["count"] == 1


def test_the_pace_can_be_chosen(service: RunningService):
    for _ in range(4):
        service.guest("solo").document()
        service.advance(minutes=1)

    assert found(service, "solo") == {"too_slow"}
    assert found(service, "solo", pace="real") == set()


def test_a_clock_that_plays_runs_in_real_time(service: RunningService):
    service.guest("solo").document()
    service.post("/v1/clock", {"rate": 1})

    assert service.get("/v1/report")["pace"] == "real"


def test_with_the_system_clock_nobody_looks_on_unless_asked():
    with running(SMALL, clock="system", clock_start=None, watch_guests=None) as service:
        refused = service.operator("GET", "/v1/report")
        remembered = service.service.edge.witness
    with running(SMALL, clock="system", clock_start=None, watch_guests=True) as service:
        service.guest("solo").document()
        report = service.get("/v1/report")

    assert (refused.status, remembered) == (409, None)
    assert refused.json["error"]["code"] == "NotAllowed"
    assert "--watch-guests" in refused.json["error"]["hint"]
    assert (report["pace"], len(report["guests"])) == ("real", 1)


def test_a_request_that_looks_like_the_last_is_noted_too(service: RunningService):
    """On one connection, the very same bytes: they must not take the short way past the witness."""
    address, port = service.guest("solo").address, service.metadata_port
    with socket.create_connection(("127.0.0.1", port), source_address=(address, 0), timeout=30) as connection:
        for _ in range(5):
            connection.sendall(GET)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")

    (guest,) = service.get("/v1/report?vm=solo")["guests"]
    assert guest["polls"]["answered"] == 5


def test_who_is_refused_for_asking_too_often_or_wrongly_is_told_apart():
    with running(SMALL, watch_guests=None, rate_limit=0.1) as service:
        statuses = [service.guest("solo").call().status for _ in range(3)]
        service.guest("twin").call(with_header=False)
        solo, twin = (service.get(f"/v1/report?vm={vm}")["guests"][0] for vm in ("solo", "twin"))

    assert (statuses, solo["errors"]["by_status"]) == ([200, 429, 429], {"429": 2})
    assert [each["code"] for each in solo["findings"]] == ["over_the_limit"]
    assert [each["code"] for each in twin["findings"]] == ["bad_requests"]
    assert (solo["is_good"], twin["is_good"]) == (False, False)


def test_a_document_that_has_not_changed_is_as_good_as_one_that_is_sent(service: RunningService):
    solo = service.guest("solo")
    event = service.get("/v1/report")["guests"]
    tag = solo.call().headers["etag"]
    unchanged = solo.call(headers={"If-None-Match": tag})

    (guest,) = service.get("/v1/report?vm=solo")["guests"]
    assert (event, unchanged.status) == ([], 304)
    assert (guest["polls"]["answered"], guest["errors"]["count"]) == (2, 0)


@pytest.mark.parametrize(
    ("query", "status", "message", "hint"),
    [
        ("vm=web-9", 404, "There is no VM web-9.", "Did you mean web-2? forewarn vm list"),
        ("vm=zzz", 404, "There is no VM zzz.", "forewarn vm list"),
        ("vm=", 400, "vm is '', which names nothing.", "Name something, or leave vm out."),
        ("pace=fast", 400, "'fast' is no pace.", "It can be real or virtual."),
        (
            "host=x",
            400,
            "GET /v1/report has no parameter 'host'.",
            "It takes vm, pace, limit or after.",
        ),
    ],
    ids=["near", "far", "empty", "pace", "unknown"],
)
def test_what_cannot_be_asked_is_refused(
    service: RunningService, query: str, status: int, message: str, hint: str
):
    reply = service.operator("GET", f"/v1/report?{query}")

    assert (reply.status, reply.json["error"]["message"]) == (status, message)
    assert reply.json["error"].get("hint", "").startswith(hint)
