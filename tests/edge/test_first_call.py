"""The call that turns a scope on, and the calls that come while it is still being turned on."""

from __future__ import annotations

import time

from tests.edge.wire import GET, Wire
from tests.fleets import SMALL
from tests.running import running, wait_until


def test_calls_after_a_client_timeout_are_slow_until_the_first_call_delay_has_passed():
    with running(SMALL, first_call_delay=0.5) as service:
        began = time.monotonic()
        with Wire(service, "web-0") as impatient:
            impatient.send(GET)
            wait_until(lambda: service.service.board.is_on("web"), "the scope to be on")
        replies = [service.guest(name).call() for name in ("web-0", "web-1")]  # which share the scope
        ended = time.monotonic()

    assert [reply.status for reply in replies] == [200, 200]
    assert ended - began >= 0.5


def test_requests_that_were_remembered_wait_for_a_scope_that_is_being_turned_on():
    with running(SMALL, first_call_delay=0.5) as service:
        with Wire(service, "solo") as ready:
            for _ in range(2):
                ready.send(GET)
                assert ready.receive()[0] == 200
        assert GET in service.service.edge.from_loopback.remembered
        began = time.monotonic()
        with Wire(service, "web-0") as impatient:
            impatient.send(GET)
            wait_until(lambda: service.service.board.is_on("web"), "the scope to be on")
        with Wire(service, "web-1") as wire:
            wire.send(GET)
            status = wire.receive()[0]
            ended = time.monotonic()
            service.service.edge.first_call_delay = 3600
            wire.send(GET)
            again = wire.receive()[0]  # which does not take an hour

    assert (status, again) == (200, 200)
    assert ended - began >= 0.5
