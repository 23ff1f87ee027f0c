"""Slow, silent and greedy clients: they cost nobody else anything, and are hung up on in the end."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from tests.edge.wire import GET, Wire
from tests.fleets import SMALL
from tests.running import RunningService, running, wait_until


@pytest.fixture
def hasty():
    """A service that loses patience after a fraction of a second."""
    with running(SMALL) as service:
        edge = service.service.edge
        edge.limits = replace(edge.limits, request_seconds=0.2, idle_seconds=0.4, connections_per_guest=8)
        yield service


def test_a_request_that_is_never_finished_is_hung_up_on(hasty: RunningService):
    with Wire(hasty) as wire:
        wire.send(GET[:30])

        assert wire.receive()[0] == 408
        assert wire.is_closed()


def test_a_request_that_trickles_in_is_hung_up_on_though_bytes_keep_coming(hasty: RunningService):
    with Wire(hasty) as wire:
        sent = 0

        def is_cut_off() -> bool:
            nonlocal sent
            try:
                wire.send(GET[sent : sent + 1] if sent < len(GET) - 5 else b"y")
            except OSError:
                return True
            sent += 1
            return not wire.is_silent(0.01)

        wait_until(is_cut_off, "the server to lose patience", 60)

    assert sent < 1000


def test_a_connection_that_says_nothing_is_closed(hasty: RunningService):
    with Wire(hasty) as wire:
        assert wire.is_closed()


def test_a_client_that_does_not_take_its_answers_is_hung_up_on(hasty: RunningService):
    address = hasty.service.plane.world.vms["solo"].addresses[0]
    stuck = socket.socket()
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stuck.bind((address, 0))
    stuck.connect(("127.0.0.1", hasty.metadata_port))
    stuck.settimeout(0)

    def is_gone() -> bool:
        try:
            stuck.send(GET * 50)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return False

    wait_until(is_gone, "the server to lose patience", 60)
    stuck.close()

    assert hasty.guest("solo").call().status == 200


def test_one_connection_too_many_is_refused_at_once_and_the_others_go_on(hasty: RunningService):
    edge = hasty.service.edge
    edge.limits = replace(edge.limits, idle_seconds=60)
    wires = [Wire(hasty) for _ in range(8)]
    for wire in wires:
        wire.send(GET)
        assert wire.receive()[0] == 200

    with Wire(hasty) as one_more:
        refused = one_more.receive()
        is_closed = one_more.is_closed()
    wires[0].send(GET)
    goes_on = wires[0].receive()[0]
    other_guest = hasty.guest("web-0").call().status
    for wire in wires:
        wire.__exit__()
    wait_until(lambda: hasty.service.board.guests["solo"].connections == 0, "the connections to end")

    assert (refused[0], is_closed) == (503, True)
    assert (goes_on, other_guest) == (200, 200)
    assert hasty.guest("solo").call().status == 200


def test_two_hundred_silent_connections_of_one_guest_delay_no_other(service: RunningService):
    wires = [Wire(service) for _ in range(200)]
    for wire in wires:
        wire.send(GET[:20])

    answers = [service.guest("web-0").call().status for _ in range(20)]
    for wire in wires:
        wire.__exit__()

    assert answers == [200] * 20


def test_every_connection_is_forgotten_when_it_ends(service: RunningService):
    for _ in range(20):
        with Wire(service) as wire:
            wire.send(GET)
            wire.receive()
    edge = service.service.edge

    wait_until(lambda: not edge.connections, "the connections to be forgotten")
    assert service.service.board.guests["solo"].connections == 0
    assert edge.strangers.connections == 0
