"""A guest is never left hanging: what could not be committed is answered too, and the connection goes on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from forewarn.errors import StoreUnavailable
from forewarn.wire.imds import errors
from tests.edge.wire import GET, Wire, post
from tests.running import RunningService, wait_until

APPROVAL = post(b'{"StartRequests":[{"EventId":"F020BA2E-3BC0-4C40-A10B-86575A9EABD5"}]}')


async def fail(*_: object) -> None:
    raise KeyError("a bug of ours")


async def fail_to_write(*_: object) -> None:
    raise StoreUnavailable("The store did not answer.")


async def hang(*_: object) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("act", [fail, fail_to_write, hang], ids=["a bug", "no store", "no end"])
@pytest.mark.parametrize(("name", "request_bytes"), [("approve", APPROVAL), ("first_poll", GET)])
def test_what_fails_while_it_is_committed_is_answered_500_and_the_connection_goes_on(
    service: RunningService, name: str, request_bytes: bytes, act
):
    edge = service.service.edge
    edge.limits = replace(edge.limits, commit_seconds=0.2 if act is hang else 60)
    setattr(edge, name, act)
    with Wire(service) as wire:
        wire.send(request_bytes + GET.replace(b"GET", b"PUT"))

        status, _, body = wire.receive()

        assert (status, body) == (500, errors.INTERNAL.body)
        assert wire.receive()[0] == 405
        assert edge.tally.approvals == 0


def test_a_request_that_comes_while_the_service_stops_is_answered_503(service: RunningService):
    service.guest("solo").document()
    service.service.runner.stop()
    with Wire(service) as wire:
        wire.send(APPROVAL)

        status, headers, _ = wire.receive()

    assert (status, headers["retry-after"]) == (503, "1")


def test_a_client_that_is_gone_while_it_waits_for_a_commit_is_forgotten(service: RunningService):
    edge = service.service.edge
    edge.approve = hang
    with Wire(service) as wire:
        wire.send(APPROVAL)
        wait_until(lambda: any(each._is_busy for each in edge.connections), "the approval to be under way")
        wire.reset()

    wait_until(lambda: not edge.connections, "the connection to be forgotten")
    assert service.service.board.guests["solo"].connections == 0
