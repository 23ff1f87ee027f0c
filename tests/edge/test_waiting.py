"""`Prefer: wait` holds a request until the document changes."""

from __future__ import annotations

import json

import pytest

from forewarn.wire.imds.request import Request, judge
from tests.edge.wire import GET, Wire
from tests.fleets import SMALL
from tests.running import RunningService, running, wait_until


def waiting(tag: str, seconds: int) -> bytes:
    return GET.replace(b"\r\n\r\n", f"\r\nIf-None-Match: {tag}\r\nPrefer: wait={seconds}\r\n\r\n".encode())


@pytest.fixture
def held(service: RunningService):
    """A guest that waits for a change."""
    with Wire(service, "web-0") as wire:
        wire.send(GET)
        tag = wire.receive()[1]["etag"]
        wire.send(waiting(tag, 60))
        panel = service.service.board.panels["web"]
        wait_until(lambda: len(panel.waiters) == 1, "the request to be held")
        yield wire


def test_a_held_request_is_answered_when_the_document_changes(service: RunningService, held: Wire):
    assert held.is_silent()

    event = service.post("/v1/vms/web-1/restart")["event"]["id"]
    status, _, body = held.receive()

    assert status == 200
    assert event.encode() in body


def test_a_held_request_is_answered_when_its_time_has_run_out(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET)
        tag = wire.receive()[1]["etag"]
        wire.send(waiting(tag, 1))

        status, headers, body = wire.receive()

    assert (status, headers["etag"], body) == (304, tag, b"")


def test_the_same_connection_goes_on_after_a_hold(service: RunningService, held: Wire):
    service.post("/v1/vms/web-1/restart")
    held.receive()

    held.send(GET)

    assert held.receive()[0] == 200


def test_what_is_sent_behind_a_held_request_waits_its_turn(service: RunningService, held: Wire):
    held.send(GET.replace(b"GET", b"PUT") * 10)
    is_quiet = held.is_silent()

    service.post("/v1/vms/web-1/restart")
    statuses = [held.receive()[0] for _ in range(11)]

    assert is_quiet
    assert statuses == [200] + [405] * 10


def test_a_held_client_that_closes_its_side_is_answered_at_once(service: RunningService, held: Wire):
    held.half_close()

    assert held.receive()[0] == 304
    assert held.is_closed()


def test_a_condition_that_does_not_hold_is_answered_at_once(service: RunningService):
    with Wire(service) as wire:
        wire.send(waiting('"something else"', 60))

        assert wire.receive()[0] == 200


def test_wait_without_a_condition_is_ignored(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET.replace(b"\r\n\r\n", b"\r\nPrefer: wait=60\r\n\r\n"))

        assert wire.receive()[0] == 200


def test_a_client_that_leaves_while_it_waits_is_forgotten(service: RunningService, held: Wire):
    held.__exit__()
    panel = service.service.board.panels["web"]

    wait_until(lambda: not panel.waiters, "the waiter to be forgotten")
    assert service.post("/v1/vms/web-1/restart")["event"]


def test_a_held_request_is_answered_when_the_service_stops():
    with running(SMALL) as service:
        wire = Wire(service, "web-0")
        wire.send(GET)
        tag = wire.receive()[1]["etag"]
        wire.send(waiting(tag, 60))
        panel = service.service.board.panels["web"]
        wait_until(lambda: len(panel.waiters) == 1, "the request to be held")

    status, headers, _ = wire.receive()
    assert (status, headers["connection"]) == (304, "close")
    assert wire.is_closed()
    wire.__exit__()


def test_six_hundred_waiting_requests_are_all_woken(service: RunningService):
    names = ["web-0", "web-1", "web-2"]
    wires = [Wire(service, names[number % 3]) for number in range(600)]
    wires[0].send(GET)
    tag = wires[0].receive()[1]["etag"]
    for wire in wires:
        wire.send(waiting(tag, 60))
    panel = service.service.board.panels["web"]
    wait_until(lambda: len(panel.waiters) == 600, "all to wait")

    service.post("/v1/vms/web-1/restart")
    bodies = {wire.receive()[2] for wire in wires}
    for wire in wires:
        wire.__exit__()

    assert len(bodies) == 1


def test_a_held_request_is_answered_to_whoever_calls_from_there_by_then(service: RunningService, held: Wire):
    service.post("/v1/vms/web-1/restart")
    tag = held.receive()[1]["etag"]
    held.send(waiting(tag, 60))
    panel = service.service.board.panels["web"]
    wait_until(lambda: len(panel.waiters) == 1, "the request to be held")
    fleet = json.loads(json.dumps(SMALL))
    fleet["vms"][0] = {"name": "heir", "host": "host-0", "addresses": fleet["vms"][0]["addresses"]}

    applied = service.operator("PUT", "/v1/fleet", fleet)
    status, _, body = held.receive()

    assert applied.status == 200
    assert (status, json.loads(body)["Events"]) == (200, [])
    assert service.get("/v1/scopes/heir")["is_on"] is True


def test_a_held_request_goes_on_waiting_when_another_guest_of_its_scope_goes(service: RunningService, held: Wire):
    service.post("/v1/vms/web-2/delete")
    service.advance(seconds=30)
    is_gone = service.operator("GET", "/v1/vms/web-2").status == 404
    is_quiet = held.is_silent()
    service.post("/v1/vms/web-1/restart")

    assert (is_gone, is_quiet) == (True, True)
    assert held.receive()[0] == 200


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("wait=30", 30),
        ("wait=500", 120),
        ("respond-async, wait=10", 10),
        ("wait = 7; foo", 7),
        ('wait="9"', 9),
        ("Wait=5", 5),
        ("await=5", 0),
        ("wait=-5", 0),
        ("wait", 0),
    ],
)
def test_how_long_a_guest_would_wait(prefer: str, seconds: int):
    headers = (("metadata", "true"), ("if-none-match", '"x"'), ("prefer", prefer))

    wish = judge(Request("GET", "/metadata/scheduledevents?api-version=2020-07-01", headers))

    assert wish.wait_seconds == seconds
