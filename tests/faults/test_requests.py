"""Faults of the wire as a guest sees them: each over a real socket."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from types import SimpleNamespace

import pytest

from forewarn.board.pages import Page
from forewarn.edge.pauses import Drip
from forewarn.wire.http import Answer
from forewarn.wire.imds.versions import EventsVersion
from tests.edge.wire import GET, Wire, post
from tests.faults.conftest import Add, ask
from tests.running import RunningService, wait_until


def approval(event: str) -> bytes:
    return post(json.dumps({"StartRequests": [{"EventId": event}]}).encode())


def wait_for_pause(service: RunningService) -> None:
    """Until somebody is made to wait."""
    edge = service.service.edge
    wait_until(lambda: any(each._hold for each in list(edge.connections)), "the request to be under way")


def end_pauses(service: RunningService) -> None:
    """As if the time had passed for which somebody is made to wait."""

    async def end() -> None:
        for connection in list(service.service.edge.connections):
            if connection._hold is not None:
                connection._hold.release()

    service._on_loop(end())


class CountingPage:
    """A page that counts how often its document is taken."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.read = 0

    def answer(self, version: EventsVersion) -> Answer:
        self.read += 1
        return self._page.answer(version)

    def __getattr__(self, name: str) -> object:
        return getattr(self._page, name)


@pytest.mark.parametrize("code", [400, 404, 410, 429, 500, 503])
def test_a_status_is_answered_and_the_connection_goes_on(service: RunningService, add: Add, struck, code: int):
    service.guest("solo").document()
    add("status", code=code, count=1, retry_after=7)

    with Wire(service) as wire:
        wire.send(GET)
        status, headers, body = wire.receive()
        wire.send(GET)
        after = wire.receive()[0]

    assert (status, headers["retry-after"], after) == (code, "7", 200)
    assert list(json.loads(body)) == ["error"]
    assert struck() == {"status": 1}


def test_an_approval_that_is_answered_with_an_error_was_not_taken(service: RunningService, add: Add, event: str):
    add("status", code=500, on="approval", count=1)

    first = service.guest("solo").approve(event)
    before = service.get(f"/v1/events/{event}")["approved_by"]
    second = service.guest("solo").approve(event)

    assert (first.status, before, second.status) == (500, None, 200)
    assert service.get(f"/v1/events/{event}")["approved_by"] == "solo"


def test_a_fault_strikes_what_it_is_on_and_nothing_else(service: RunningService, add: Add, event: str):
    add("status", on="instance")
    guest = service.guest("solo")

    assert guest.call().status == 200
    assert guest.approve(event).status == 200
    assert guest.call(path="/metadata/instance?api-version=2021-02-01").status == 503
    assert guest.call(path="/metadata/versions").status == 503
    assert guest.call(path="/metadata/nonsense").status == 404  # refused anyway


def test_a_proxys_page_is_html_with_a_status_of_200(service: RunningService, add: Add):
    service.guest("solo").document()
    add("proxy_page", count=1)

    status, headers, body = ask(service)

    assert (status, headers["content-type"]) == (200, "text/html")
    assert body.startswith(b"<!DOCTYPE html>")
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(body)


def test_a_connection_is_closed_in_place_of_an_answer(service: RunningService, add: Add, event: str):
    add("closed", count=2)

    for request in (GET, approval(event)):
        with Wire(service) as wire:
            wire.send(request)
            with pytest.raises(EOFError):
                wire.receive()

    assert service.get(f"/v1/events/{event}")["approved_by"] is None
    assert ask(service)[0] == 200


def test_a_connection_is_reset_in_place_of_an_answer(service: RunningService, add: Add, struck):
    service.guest("solo").document()
    add("reset", count=1)

    with Wire(service) as wire:
        wire.send(GET)
        with pytest.raises(ConnectionResetError):
            wire.receive()

    assert struck() == {"reset": 1}


@pytest.mark.parametrize(("name", "problem"), [("reset", ConnectionResetError), ("closed", EOFError)])
def test_an_approval_may_be_taken_and_its_answer_lost(
    service: RunningService, add: Add, event: str, name: str, problem: type[Exception]
):
    add(name, carried_out=True, on="approval")

    with Wire(service) as wire:
        wire.send(approval(event))
        with pytest.raises(problem):
            wire.receive()

    assert service.get(f"/v1/events/{event}")["approved_by"] == "solo"


def test_a_delay_is_waited_for_and_the_answer_is_of_then(service: RunningService, add: Add, struck):
    guest = service.guest("solo")
    guest.document()
    add("delay", seconds=600, count=1)

    with Wire(service) as wire:
        wire.send(GET)
        wait_for_pause(service)
        service.post("/v1/vms/solo/restart")
        was_silent = wire.is_silent()
        end_pauses(service)
        body = wire.receive()[2]

    assert was_silent
    assert len(json.loads(body)["Events"]) == 1
    assert struck() == {"delay": 1}


def test_a_delay_makes_nobody_else_wait(service: RunningService, add: Add):
    for name in ("solo", "twin"):
        service.guest(name).document()
    add("delay", seconds=600, vm="solo")

    with Wire(service) as late, Wire(service, "twin") as other:
        late.send(GET)
        other.send(GET)

        assert other.receive()[0] == 200
        assert late.is_silent()


def test_a_client_that_closes_while_it_is_made_to_wait_is_let_go(service: RunningService, add: Add, event: str):
    add("delay", seconds=600)
    edge = service.service.edge

    with Wire(service) as wire:
        wire.send(approval(event))
        wait_until(lambda: any(each._hold for each in edge.connections), "the request to be under way")
        wire.half_close()

        assert wire.is_closed()
    wait_until(lambda: not edge.connections, "the connection to be forgotten")
    assert service.get(f"/v1/events/{event}")["approved_by"] is None


def test_the_requests_behind_one_that_waits_keep_their_order(service: RunningService, add: Add):
    service.guest("solo").document()
    add("delay", seconds=0.1, count=1)

    with Wire(service) as wire:
        wire.send(GET + GET.replace(b"GET", b"PUT") + GET)

        assert [wire.receive()[0] for _ in range(3)] == [200, 405, 200]


def test_the_first_call_of_each_guest_takes_long_also_where_its_scope_is_on(service: RunningService, add: Add):
    service.guest("solo").document()
    add("first_call", seconds=600)

    for name in ("solo", "twin"):
        with Wire(service, name) as wire:
            wire.send(GET)
            wait_for_pause(service)
            end_pauses(service)
            assert wire.receive()[0] == 200
            wire.send(GET)
            assert wire.receive()[0] == 200  # which does not take ten minutes


def test_a_slow_body_comes_behind_its_head_and_whole(service: RunningService, add: Add, event: str):
    plain = ask(service)[2]
    add("slow_body", seconds=600)
    connection = http.client.HTTPConnection(
        "127.0.0.1", service.metadata_port, timeout=10, source_address=("127.0.2.1", 0)
    )
    connection.request("GET", "/metadata/scheduledevents?api-version=2020-07-01", headers={"Metadata": "true"})
    answer = connection.getresponse()  # the head is there
    wait_for_pause(service)

    end_pauses(service)

    assert answer.read() == plain
    connection.close()


@pytest.mark.parametrize("count", [1, 2], ids=["one request", "one behind it"])
def test_a_slow_body_goes_on_for_a_client_that_sends_no_more(
    service: RunningService, add: Add, event: str, count: int
):
    plain = ask(service)[2]
    add("slow_body", seconds=600, count=1)

    with Wire(service) as wire:
        wire.send(GET * count)
        wait_for_pause(service)
        wire.half_close()
        wait_until(lambda: any(each._is_ended for each in service.service.edge.connections), "its end to be heard")
        end_pauses(service)

        assert [wire.receive()[::2] for _ in range(count)] == [(200, plain)] * count
        assert wire.is_closed()


def test_a_client_that_hangs_up_on_a_slow_body_is_forgotten(service: RunningService, add: Add, event: str, struck):
    add("slow_body", seconds=0.2)
    edge = service.service.edge

    with Wire(service) as wire:
        wire.send(GET)
        wait_for_pause(service)

    wait_until(lambda: not edge.connections, "the connection to be forgotten")
    assert struck() == {"slow_body": 1}


def test_a_slow_body_falls_in_twenty_drops():
    async def drip() -> list[bytes]:
        drops: list[bytes] = []
        transport, ended = SimpleNamespace(write=drops.append), asyncio.Event()
        Drip(transport, bytes(range(100)), 0.02, ended.set, ended.set)
        await ended.wait()
        return drops

    drops = asyncio.run(drip())

    assert [len(each) for each in drops] == [5] * 20
    assert b"".join(drops) == bytes(range(100))


def test_a_struck_poll_is_changed_once(service: RunningService, add: Add, event: str, struck):
    add("lost")
    panel = service.service.board.panels["solo"]
    panel.page = page = CountingPage(panel.page)

    body = json.loads(ask(service)[2])

    assert (body["Events"], struck()) == ([], {"lost": 1})
    assert page.read == 2  # for the guest, and for the fault


def test_an_answer_without_a_body_comes_at_once_and_counts_as_not_struck(
    service: RunningService, add: Add, event: str, struck
):
    add("slow_body", seconds=600)

    with Wire(service) as wire:
        wire.send(approval(event) + GET.replace(b"\r\n\r\n", b"\r\nIf-None-Match: *\r\n\r\n"))

        assert [wire.receive()[0] for _ in range(2)] == [200, 304]
    assert struck() == {"slow_body": 0}
    assert service.get(f"/v1/events/{event}")["approved_by"] == "solo"


@pytest.mark.parametrize(("name", "seconds"), [("delay", 600), ("slow_body", 600), ("first_call", 600)])
def test_a_service_that_stops_answers_at_once_who_is_made_to_wait(
    service: RunningService, add: Add, event: str, name: str, seconds: int
):
    plain = ask(service)[2]
    add(name, seconds=seconds)
    edge = service.service.edge
    with Wire(service) as wire:
        wire.send(GET)
        wait_until(lambda: any(each._hold for each in edge.connections), "the request to be under way")

        service._on_loop(service.service._listener.close())

        status, _, body = wire.receive()  # whoever is not answered at once is cut off
        assert (status, body) == (200, plain)
        assert wire.is_closed()
    assert not edge.connections


def test_a_client_that_does_not_wait_is_forgotten(service: RunningService, add: Add, struck):
    service.guest("solo").document()
    add("delay", seconds=600)
    edge = service.service.edge
    with Wire(service) as wire:
        wire.send(GET)
        wait_until(lambda: any(each._hold for each in edge.connections), "the request to be under way")
        wire.reset()

    wait_until(lambda: not edge.connections, "the connection to be forgotten")
    assert struck() == {"delay": 1}


def test_a_fault_that_finds_nothing_to_change_leaves_the_request_to_the_next(
    service: RunningService, add: Add, struck
):
    service.guest("solo").document()
    for name in ("lost", "duplicated", "stale", "status"):
        add(name)

    assert ask(service)[0] == 503
    assert struck() == {"lost": 0, "duplicated": 0, "stale": 0, "status": 1}


def test_the_oldest_rule_that_strikes_wins(service: RunningService, add: Add, struck):
    service.guest("solo").document()
    add("status", code=500, every=2)
    add("status", code=404)

    assert [ask(service)[0] for _ in range(4)] == [404, 500, 404, 500]


def test_a_request_that_was_remembered_is_struck_too_and_remembered_again_afterwards(
    service: RunningService, add: Add
):
    edge = service.service.edge
    with Wire(service) as wire:
        for _ in range(2):
            wire.send(GET)
            wire.receive()
        was_remembered = GET in edge.from_loopback.remembered
        rule = add("status", count=1)
        wire.send(GET)
        status = wire.receive()[0]
        wire.send(GET)
        wire.receive()
        meanwhile = dict(edge.from_loopback.remembered)
        service.operator("DELETE", f"/v1/faults/{rule}")
        wire.send(GET)
        wire.receive()

    assert was_remembered
    assert status == 503
    assert meanwhile == {}
    assert GET in edge.from_loopback.remembered


def test_a_request_that_is_remembered_while_a_rule_is_added_is_not_answered_from_memory(service: RunningService):
    """The two threads may meet: what was judged before the rule is kept where nobody looks."""
    edge = service.service.edge
    seen: list[int] = []

    def poll() -> None:
        with Wire(service) as wire:
            for _ in range(300):
                wire.send(GET)
                seen.append(wire.receive()[0])

    poller = threading.Thread(target=poll)
    poller.start()
    for _ in range(30):
        rule = service.post("/v1/faults", {"name": "status"})["id"]
        assert edge.from_loopback.remembered == {}
        service.operator("DELETE", f"/v1/faults/{rule}")
    poller.join()

    assert set(seen) <= {200, 503}
