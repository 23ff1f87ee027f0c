"""A listener that closes: who waits is answered, who is left is cut off, and nothing is opened any more."""

from __future__ import annotations

import asyncio

from tests.edge.wire import GET, Wire, post
from tests.fleets import SMALL
from tests.running import RunningService, free_port, running, wait_until


def close_listener(service: RunningService) -> None:
    service._on_loop(service.service._listener.close())


def tasks_of(service: RunningService) -> set[str]:
    """What is under way on the service's loop, for guests."""

    async def look() -> set[str]:
        return {each.get_coro().__qualname__ for each in asyncio.all_tasks() if each is not asyncio.current_task()}

    return {each for each in service._on_loop(look()) if each.startswith(("Guest", "Watched"))}


def test_a_guest_in_its_first_call_is_told_that_the_service_stops():
    with running(SMALL, first_call_delay=600) as service, Wire(service) as wire:
        wire.send(GET + GET)
        wait_until(lambda: bool(tasks_of(service)), "the call to be under way")

        close_listener(service)

        assert wire.receive()[0] == 503
        wire.receive()  # what it had asked behind it
        assert wire.is_closed()
        assert (service.service.edge.connections, tasks_of(service)) == (set(), set())


def test_a_guest_whose_request_never_ends_is_cut_off():
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    with running(SMALL) as service, Wire(service) as wire:
        service.service.edge.approve = never
        wire.send(post(b'{"StartRequests": [{"EventId": "x"}]}'))
        wait_until(lambda: "GuestConnection._see_through" in tasks_of(service), "the approval to be under way")

        close_listener(service)

        assert wire.is_closed()
        assert (service.service.edge.connections, tasks_of(service)) == (set(), set())


def test_a_listener_that_is_closed_opens_no_port_that_enters_the_fleet_then():
    port = free_port()
    with running({"vms": [{"name": "one"}]}) as service:
        listener = service.service._listener
        close_listener(service)

        service.operator("PUT", "/v1/fleet", {"vms": [{"name": "one", "port": port}]})
        service._on_loop(service.service.hear_new_guests())

        assert (listener._own, tasks_of(service)) == ({}, set())
