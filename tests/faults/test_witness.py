"""Who looks on hears of every answered request of a guest, and of the fault that was put in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from forewarn.edge.exchange import Exchange
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, ReadInstance
from tests.edge.wire import GET, Wire, post
from tests.fleets import SMALL
from tests.running import RunningService, wait_until


@dataclass
class Notes:
    """What a witness was told."""

    taken: list[tuple[Exchange, int, bytes, str]] = field(default_factory=list)
    begun: list[Exchange] = field(default_factory=list)
    left: list[tuple[Exchange, str]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    done_untold: list[Exchange] = field(default_factory=list)

    def begin(self, exchange: Exchange) -> None:
        self.begun.append(exchange)

    def leave(self, exchange: Exchange, fault: str = "", *, is_done: bool = False) -> None:
        self.left.append((exchange, fault))
        self.done_untold += [exchange] * is_done

    def note(
        self,
        exchange: Exchange,
        status: int,
        body: bytes,
        fault: str = "",
        *,
        is_done: bool = False,
        wait_seconds: float = 0.0,
    ) -> None:
        self.taken.append((exchange, status, body, fault))
        self.waits.append(wait_seconds)
        self.done_untold += [exchange] * is_done

    @property
    def statuses(self) -> list[tuple[str, int, str]]:
        return [(exchange.guest.vm.name, status, fault) for exchange, status, _, fault in self.taken]


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def watched(notes: Notes) -> Iterator[RunningService]:
    """A service with a witness."""
    service = RunningService(SMALL)
    service.start()
    service.service.edge.witness = notes
    yield service
    service.stop()


def test_each_request_is_noted_with_what_it_wanted_and_got(watched: RunningService, notes: Notes):
    guest = watched.guest("solo")
    first = guest.call()
    guest.call(path="/metadata/instance?api-version=2021-02-01")
    event = watched.post("/v1/vms/solo/restart")["event"]["id"]
    guest.approve(event)
    guest.call(with_header=False)
    guest.call(headers={"If-None-Match": "*"})

    wishes = [type(exchange.wish) for exchange, _, _, _ in notes.taken]
    assert wishes == [ReadEvents, ReadInstance, ApproveEvents, type(None), ReadEvents]
    assert [each.request for each in notes.begun] == [exchange.request for exchange, _, _, _ in notes.taken]
    assert [status for _, status, _ in notes.statuses] == [200, 200, 200, 400, 304]
    assert notes.taken[0][2] == first.body
    times = [exchange.asked_at for exchange, _, _, _ in notes.taken]
    assert times == sorted(times)
    assert watched.service.edge.from_loopback.remembered == {}


def test_a_caller_that_is_no_guest_is_not_noted(watched: RunningService, notes: Notes):
    with Wire(watched, address="127.9.9.9") as wire:
        wire.send(GET)
        assert wire.receive()[0] == 404

    assert notes.taken == []


def test_a_request_over_the_limit_is_noted(notes: Notes):
    service = RunningService(SMALL, rate_limit=1.0)
    service.start()
    service.service.edge.witness = notes
    try:
        for _ in range(3):
            service.guest("solo").call()
    finally:
        service.stop()

    assert [status for _, status, _ in notes.statuses] == [200, 429, 429]
    assert notes.waits == [0, 1, 1]
    assert notes.taken[1][0].wish is None


def test_a_fault_is_noted_by_its_name_and_a_hang_up_with_a_status_of_0(watched: RunningService, notes: Notes):
    guest = watched.guest("solo")
    guest.document()
    event = watched.post("/v1/vms/solo/restart")["event"]["id"]
    approval = post(b'{"StartRequests":[{"EventId":"%s"}]}' % event.encode())
    for said in (
        {"name": "status"},
        {"name": "lost"},
        {"name": "slow_body", "seconds": 0.01},
        {"name": "delay", "seconds": 0.01},
        {"name": "closed"},
        {"name": "reset", "carried_out": True},
    ):
        rule = watched.post("/v1/faults", said)["id"]
        with Wire(watched) as wire:
            wire.send(approval if said["name"] == "reset" else GET)
            if said["name"] in {"closed", "reset"}:
                with pytest.raises((EOFError, ConnectionResetError)):
                    wire.receive()
            else:
                wire.receive()
        watched.operator("DELETE", f"/v1/faults/{rule}")

    assert [(status, fault) for _, status, fault in notes.statuses] == [
        (200, ""),
        (503, "status"),
        (200, "lost"),
        (200, "slow_body"),
        (200, "delay"),
        (0, "closed"),
        (0, "reset"),
    ]
    assert [type(each.wish) for each in notes.done_untold] == [ApproveEvents]


@pytest.mark.parametrize(
    ("name", "is_approval", "is_done"),
    [("delay", True, False), ("delay", False, False), ("slow_body", False, True)],
    ids=["before it was approved", "before it was read", "while it was told"],
)
def test_a_client_that_did_not_wait_for_a_fault_to_end_has_left(
    watched: RunningService, notes: Notes, name: str, *, is_approval: bool, is_done: bool
):
    watched.guest("solo").document()
    event = watched.post("/v1/vms/solo/restart")["event"]["id"]
    watched.post("/v1/faults", {"name": name, "seconds": 10})
    with Wire(watched) as wire:
        wire.send(post(b'{"StartRequests":[{"EventId":"%s"}]}' % event.encode()) if is_approval else GET)
        wait_until(lambda: any(each._hold for each in watched.service.edge.connections), "the request to wait")

    wait_until(lambda: bool(notes.left), "it to be known that nobody waits")
    wish = ApproveEvents if is_approval else ReadEvents
    assert [(type(exchange.wish), by) for exchange, by in notes.left] == [(wish, name)]
    assert len(notes.done_untold) == is_done
    assert watched.get(f"/v1/events/{event}")["approved_by"] is None
    assert notes.statuses == [("solo", 200, "")]


def test_a_guest_that_leaves_while_its_question_is_held_is_noted_as_one_that_has_left(
    watched: RunningService, notes: Notes
):
    tag = watched.guest("solo").call().headers["etag"]
    with Wire(watched) as wire:
        wire.send(GET.replace(b"\r\n\r\n", f"\r\nIf-None-Match: {tag}\r\nPrefer: wait=60\r\n\r\n".encode()))
        wait_until(lambda: len(notes.begun) == 2, "the question to be held")
        wire.reset()
    wait_until(lambda: bool(notes.left), "it to be known that nobody waits")

    assert [(each.request, by) for each, by in notes.left] == [(each.request, "") for each in notes.begun[1:]]
    assert len(notes.taken) == 1
