"""Answers come in the order of the requests, whatever each of them waits for."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.edge.wire import GET, Wire, post
from tests.running import RunningService, wait_until

PUT = GET.replace(b"GET", b"PUT")
OFFER = b"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"


def approval(*events: str) -> bytes:
    return json.dumps({"StartRequests": [{"EventId": event} for event in events]}).encode()


def restart(service: RunningService) -> str:
    """The event of a restart that solo may approve."""
    service.guest("solo").document()
    return service.post("/v1/vms/solo/restart")["event"]["id"]


def test_requests_sent_at_once_are_answered_in_order(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET + GET.replace(b"2020-07-01", b"nonsense") + GET + GET.replace(b"GET", b"PUT"))

        statuses = [wire.receive()[0] for _ in range(4)]

    assert statuses == [200, 400, 200, 405]


def test_a_request_that_waits_for_a_commit_is_answered_before_the_ones_behind_it(service: RunningService):
    body = json.dumps({"StartRequests": [{"EventId": "F020BA2E-3BC0-4C40-A10B-86575A9EABD5"}]}).encode()
    with Wire(service) as wire:
        wire.send(GET + post(body) + GET)

        answers = [wire.receive() for _ in range(3)]

    assert [status for status, _, _ in answers] == [200, 400, 200]
    assert answers[2][2] == answers[0][2]


@pytest.mark.parametrize("is_one_write", [True, False], ids=["in one write", "in two writes"])
def test_garbage_behind_an_approval_is_refused_after_the_approval_was_answered(
    service: RunningService, *, is_one_write: bool
):
    event = restart(service)
    with Wire(service) as wire:
        for data in (
            [post(approval(event)) + b"GARBAGE\r\n\r\n"] if is_one_write else [post(approval(event)), b"G\0"]
        ):
            wire.send(data)

        answers = [wire.receive() for _ in range(2)]

        assert [status for status, _, _ in answers] == [200, 400]
        assert wire.is_closed()
    assert service.get(f"/v1/events/{event}")["approved_by"] == "solo"


def test_garbage_behind_a_commit_that_takes_long_waits_for_it(service: RunningService):
    edge = service.service.edge
    approve, may_commit = edge.approve, asyncio.Event()

    async def approve_late(vm: str, events: tuple[str, ...]):
        await may_commit.wait()
        return await approve(vm, events)

    edge.approve = approve_late
    event = restart(service)
    with Wire(service) as wire:
        wire.send(post(approval(event)) + b"GARBAGE\r\n\r\n")
        is_quiet = wire.is_silent()
        service._loop.call_soon_threadsafe(may_commit.set)

        statuses = [wire.receive()[0] for _ in range(2)]

    assert is_quiet
    assert statuses == [200, 400]


def test_of_too_many_requests_at_once_the_first_are_answered_and_the_rest_refused(service: RunningService):
    with Wire(service) as wire:
        wire.send(PUT * 100)

        statuses = [wire.receive()[0] for _ in range(65)]

        assert statuses == [405] * 64 + [429]
        assert wire.is_closed()


def test_all_that_was_asked_before_the_client_closed_its_side_is_answered(service: RunningService):
    with Wire(service, "brief") as wire:
        wire.send(GET + PUT + GET)
        wire.half_close()

        answers = [wire.receive() for _ in range(3)]

        assert [status for status, _, _ in answers] == [200, 405, 200]
        # The last may say that it is the last: if the server knew by then that nothing more would come.
        assert ["connection" in headers for _, headers, _ in answers[:2]] == [False, False]
        assert wire.is_closed()


def test_a_client_that_asks_before_it_sends_is_told_to_go_on_when_it_is_its_turn(service: RunningService):
    event = restart(service)
    body = approval(event)
    expecting = post(b"", "Expect: 100-continue", f"Content-Length: {len(body)}", length=False)
    with Wire(service, "brief") as first, Wire(service) as wire:
        first.send(GET + expecting)  # the first poll of its scope waits for a commit
        of_the_first = [first.receive()[0] for _ in range(2)]
        wire.send(expecting)
        statuses = [wire.receive()[0]]
        wire.send(body)
        statuses.append(wire.receive()[0])

    assert of_the_first == [200, 100]
    assert statuses == [100, 200]


# Upgrades.


def test_an_offered_upgrade_is_not_taken(service: RunningService):
    with Wire(service) as wire:
        wire.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"))
        status, headers, _ = wire.receive()
        wire.send(GET)

        assert (status, "upgrade" in headers) == (200, False)
        assert wire.receive()[0] == 200


def test_what_comes_behind_an_offered_upgrade_is_answered_too(service: RunningService):
    offering = GET.replace(b"\r\n\r\n", OFFER + b"\r\n")
    with Wire(service) as wire:
        wire.send(offering + PUT + offering + offering[:40])
        statuses = [wire.receive()[0] for _ in range(3)]
        wire.send(offering[40:])

        assert [*statuses, wire.receive()[0]] == [200, 405, 200, 200]


@pytest.mark.parametrize("is_chunked", [False, True], ids=["with a length", "chunked"])
def test_an_approval_that_offers_an_upgrade_is_read_with_its_body(service: RunningService, *, is_chunked: bool):
    event = restart(service)
    body = approval(event)
    if is_chunked:
        head = post(b"", "Transfer-Encoding: chunked", length=False)
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    else:
        head = post(body).removesuffix(body)
    with Wire(service) as wire:
        wire.send(head.replace(b"\r\n\r\n", OFFER + b"\r\n") + body + GET)

        statuses = [wire.receive()[0] for _ in range(2)]

    assert statuses == [200, 200]
    assert service.get(f"/v1/events/{event}")["approved_by"] == "solo"


def test_a_tunnel_is_refused_and_nothing_is_read_behind_it(service: RunningService):
    with Wire(service) as wire:
        wire.send(b"CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: localhost\r\n\r\n" + GET)

        assert wire.receive()[0] == 404
        assert wire.is_closed()


# Who is calling may change while a request waits.


def test_a_first_poll_is_answered_to_whoever_calls_from_there_by_then(service: RunningService):
    edge = service.service.edge
    first_poll, is_asked, may_commit = edge.first_poll, [], asyncio.Event()

    async def first_poll_late(vm: str):
        is_asked.append(vm)
        await may_commit.wait()
        return await first_poll(vm)

    edge.first_poll = first_poll_late
    with Wire(service, "brief") as wire:
        wire.send(GET)
        wait_until(lambda: is_asked == ["brief"], "the first poll to be under way")
        service.post("/v1/vms/brief/delete")
        service.advance(seconds=30)
        service._loop.call_soon_threadsafe(may_commit.set)

        assert wire.receive()[0] == 404
