"""The sockets: ports of one guest each, connections that come and go, and how many there may be."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.wire.times import rfc1123
from tests.edge.wire import EVENTS, GET, Wire, stalled
from tests.fleets import SMALL
from tests.running import START, RunningService, call, free_port, running, wait_until


def is_heard(port: int) -> bool:
    try:
        return call("127.0.0.1", port, "GET", EVENTS, None, {"Metadata": "true"}).status == 200
    except ConnectionRefusedError:
        return False


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """A port on which somebody else listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", free_port()))
        listening.listen()
        yield listening


def test_a_port_of_its_own_names_the_guest_whatever_its_address():
    one, other = free_port(), free_port()
    fleet = {"vms": [{"name": "one", "port": one}, {"name": "other", "port": other}]}
    with running(fleet) as service:
        target = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
        names = [call("127.0.0.1", port, "GET", target, None, {"Metadata": "true"}).body for port in (one, other)]
        nobody = call("127.0.0.1", service.metadata_port, "GET", target, None, {"Metadata": "true"}).status

    assert names == [b"one", b"other"]
    assert nobody == 404


def test_a_port_that_enters_and_leaves_the_fleet_is_opened_and_closed():
    port = free_port()

    with running({"vms": [{"name": "one"}]}) as service:
        assert not is_heard(port)
        service.operator("PUT", "/v1/fleet", {"vms": [{"name": "one", "port": port}]})
        wait_until(lambda: is_heard(port), "the port to be opened")
        service.operator("PUT", "/v1/fleet", {"vms": [{"name": "one"}]})
        wait_until(lambda: not is_heard(port), "the port to be closed")


def test_a_loopback_caller_may_be_given_a_name():
    with running(SMALL, guest="web-0") as service:
        target = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
        here = call("127.0.0.1", service.metadata_port, "GET", target, None, {"Metadata": "true"})
        of_its_own = service.guest("web-1").call(path=target)

    assert (here.body, of_its_own.body) == (b"web-0", b"web-1")


def test_a_loopback_caller_whose_vm_is_gone_is_nobody_and_not_the_vm_that_others_are_taken_for():
    with running(SMALL, guest="web-0") as service:
        gone = service.guest("web-1")
        assert gone.call().status == 200
        event = service.post("/v1/vms/web-0/restart")["event"]
        service.post("/v1/vms/web-1/delete")
        service.advance(minutes=1)
        asked, approved = gone.call(), gone.approve(event["id"])
        here = call("127.0.0.1", service.metadata_port, "GET", EVENTS, None, {"Metadata": "true"})
        still_open = service.get(f"/v1/events/{event['id']}")

    assert (asked.status, approved.status, here.status) == (404, 404, 200)
    assert (still_open["phase"], still_open["approved_by"]) == ("Scheduled", None)


def test_an_address_that_a_deleted_vm_had_is_the_next_vm_s_that_gets_it():
    one, address = {"name": "one"}, {"addresses": ["127.0.3.1"]}
    with running({"vms": [one, {"name": "two", **address}]}, guest="one") as service:
        caller = service.guest("two")
        answers = []
        for fleet in ([one], [one, {"name": "three", **address}], [one, {"name": "three"}]):
            service.operator("PUT", "/v1/fleet", {"vms": fleet})
            service.advance(minutes=1)
            target = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
            answers.append(caller.call(path=target))

    assert [each.status for each in answers] == [404, 200, 200]
    assert [each.body for each in answers[1:]] == [b"three", b"one"]


def test_a_port_that_is_taken_keeps_no_other_shut_and_is_opened_when_it_is_free(taken: socket.socket):
    port, free = taken.getsockname()[1], free_port()
    fleet = {"vms": [{"name": "first", "port": port}, {"name": "second", "port": free}]}
    with running({"vms": [{"name": "other"}]}) as service:
        reply = service.operator("PUT", "/v1/fleet", fleet)
        wait_until(lambda: is_heard(free), "the free port to be opened")
        taken.close()
        wait_until(lambda: is_heard(port), "the other to be opened once it is free")

    assert reply.status == 200


def test_a_service_starts_though_a_port_is_taken_and_opens_it_when_it_is_free(taken: socket.socket):
    port, free = taken.getsockname()[1], free_port()
    fleet = {"vms": [{"name": "first", "port": port}, {"name": "second", "port": free}]}
    with running(fleet):
        assert is_heard(free)
        taken.close()
        wait_until(lambda: is_heard(port), "the port to be opened once it is free")


# Connections.


def test_connections_that_are_reset_before_they_are_accepted_leave_nothing_behind(service: RunningService):
    edge, problems = service.service.edge, []
    service._loop.set_exception_handler(lambda _, context: problems.append(context))
    files = open_files()
    with stalled(service):
        for _ in range(100):
            Wire(service).reset()

    assert service.guest("solo").call().status == 200
    wait_until(lambda: not edge.connections, "the connections to be forgotten")
    wait_until(lambda: open_files() <= files, "their files to be closed")
    assert service.service.board.guests["solo"].connections == 0
    assert edge.strangers.connections == 0
    assert problems == []


def test_a_connection_beyond_the_limit_of_all_is_refused_at_once_and_the_others_go_on(service: RunningService):
    edge = service.service.edge
    edge.limits = replace(edge.limits, connections=3)
    wires = [Wire(service, name) for name in ("solo", "web-0", "twin")]
    for wire in wires:
        wire.send(GET)
        wire.receive()

    with Wire(service, "brief") as one_more:
        refused = one_more.receive()
        is_closed = one_more.is_closed()
    wires[0].send(GET)
    goes_on = wires[0].receive()[0]
    for wire in wires:
        wire.__exit__()
    wait_until(lambda: not edge.connections, "the connections to end")

    assert (refused[0], refused[1]["retry-after"], is_closed) == (503, "1", True)
    assert goes_on == 200
    assert service.guest("brief").call().status == 200


def test_strangers_hold_so_many_connections_together_and_no_guest_is_kept_out(service: RunningService):
    edge = service.service.edge
    edge.limits = replace(edge.limits, connections_of_strangers=2)
    strangers = [Wire(service, address=f"127.200.0.{n + 1}") for n in range(2)]
    for wire in strangers:
        wire.send(GET)
    answers = [wire.receive()[0] for wire in strangers]

    with Wire(service, address="127.200.0.9") as one_more:
        refused = one_more.receive()[0]
    guest = service.guest("solo").call().status
    for wire in strangers:
        wire.__exit__()

    assert (answers, refused, guest) == ([404, 404], 503, 200)
    wait_until(lambda: edge.strangers.connections == 0, "the strangers to be forgotten")


def test_the_date_is_that_of_the_clock_at_once_after_it_was_moved(service: RunningService):
    dates = []
    with Wire(service) as wire:
        for _ in range(50):
            wire.send(GET)
            dates.append(wire.receive()[1]["date"])
            service.advance(seconds=61)

    assert dates == [rfc1123(START + timedelta(seconds=61 * n)) for n in range(50)]
