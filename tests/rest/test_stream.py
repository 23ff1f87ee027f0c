"""The stream: everything that changes, to everyone who listens and keeps up."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from typing import Any

import pytest

from forewarn.core.world import Changes
from forewarn.operator.stream import MOST_LISTENERS, MOST_WAITING
from forewarn.operator.stream import Listener as Queue
from tests.fleets import SMALL
from tests.running import RunningService, running, wait_until


def connect(service: RunningService, headers: str = "") -> socket.socket:
    """A socket on which the stream was asked for."""
    connected = socket.create_connection(("127.0.0.1", service.service.operator[1]), timeout=20)
    connected.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n".encode())
    return connected


class Listener:
    """Reads the stream on a thread of its own."""

    def __init__(self, service: RunningService, headers: str = "") -> None:
        self._socket = connect(service, headers)
        self._file = self._socket.makefile("rb")
        while self._file.readline() != b": listening\n":
            pass
        self.names: list[str] = []
        self.objects: list[Any] = []
        self.is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._file:
            if line.startswith(b"event: "):
                self.names.append(line[7:].decode().strip())
            elif line.startswith(b"data: "):
                self.objects.append(json.loads(line[6:]))
        self.is_over.set()

    def objects_of(self, name: str) -> list[Any]:
        """All that was told under a name."""
        return [each for told, each in zip(self.names, self.objects, strict=True) if told == name]

    def close(self) -> None:
        if not self.is_over.is_set():
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._file.close()
        self._socket.close()


def test_the_stream_tells_everything_that_changes(service: RunningService):
    listener = Listener(service)
    service.guest("solo").document()
    event = service.post("/v1/vms/solo/restart")["event"]["id"]
    service.guest("solo").approve(event)
    service.advance(seconds=70)
    wait_until(lambda: "event.completed" in listener.names, "the end to be told")
    listener.close()

    told = [name for name in listener.names if name.startswith("event.")]
    assert told == ["event.scheduled", "event.scheduled", "event.started", "event.completed"]
    assert {each["id"] for name in set(told) for each in listener.objects_of(name)} == {event}
    assert [each["approved_by"] for each in listener.objects_of("event.scheduled")] == [None, "solo"]
    assert {each["last_poll"] for each in listener.objects_of("scope.changed")} == {"2026-03-02T12:00:00Z"}
    assert [each["events"] for each in listener.objects_of("operation.completed")] == [[event]]


def test_the_stream_ends_when_the_service_stops():
    with running(SMALL) as service:
        listener = Listener(service)

    assert listener.is_over.wait(60)
    listener.close()


def test_twenty_listeners_hear_the_same(service: RunningService):
    listeners = [Listener(service) for _ in range(20)]
    service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})
    wait_until(lambda: all(len(each.names) >= 5 for each in listeners), "all to hear")
    for listener in listeners:
        listener.close()

    assert len({tuple(listener.names) for listener in listeners}) == 1


def test_every_event_of_an_ended_operation_is_named_also_one_that_ended_before_it(service: RunningService):
    events = service.post("/v1/hosts/host-0/maintain", {"kind": "Reboot"})["events"]
    service.post("/v1/vms/solo/delete")  # it has no profile, and leaves the event of its scope at once
    service.advance(seconds=10)
    listener = Listener(service)

    service.post(f"/v1/events/{events[0]['id']}/cancel")
    wait_until(lambda: "operation.cancelled" in listener.names, "the end to be told")
    listener.close()

    (told,) = listener.objects_of("operation.cancelled")
    assert told["events"] == [each["id"] for each in events]


def test_sets_and_what_is_deleted_are_told(service: RunningService):
    listener = Listener(service)
    fleet = json.loads(json.dumps(SMALL))
    fleet["availability_sets"].append({"name": "db"})
    fleet["vms"].append({"name": "db-0", "host": "spare", "availability_set": "db"})
    fleet["hosts"].append({"name": "spare"})

    made = service.operator("PUT", "/v1/fleet", fleet)
    dropped = service.operator("PUT", "/v1/fleet", SMALL)
    wait_until(lambda: "host.deleted" in listener.names, "all to be told")
    listener.close()

    assert (made.status, dropped.status) == (200, 200)
    told = [(each["name"], each["kind"]) for each in listener.objects_of("set.changed")]
    assert ("db", "availability set") in told
    assert [each["name"] for each in listener.objects_of("set.deleted")] == ["db"]
    assert [each["id"] for each in listener.objects_of("scope.deleted")] == ["db"]
    assert [each["name"] for each in listener.objects_of("vm.deleted")] == ["db-0"]
    assert [each["name"] for each in listener.objects_of("host.deleted")] == ["spare"]


# Limits.


def test_one_listener_too_many_is_told_when_to_come_again_and_gets_in_when_another_has_left(
    service: RunningService,
):
    sockets = [connect(service) for _ in range(MOST_LISTENERS)]
    for each in sockets:
        with each.makefile("rb") as lines:
            assert b": listening\n" in iter(lines.readline, b"")

    refused = service.operator("GET", "/v1/stream")
    for each in sockets:
        each.close()
    wait_until(lambda: not service.service._stream.is_full, "one of them to be forgotten")
    listener = Listener(service)
    listener.close()

    assert (refused.status, refused.json["error"]["code"]) == (503, "TooManyListeners")
    assert int(refused.headers["retry-after"]) > 0


def test_more_at_once_than_anybody_may_have_waiting_ends_the_stream_with_an_overflow(service: RunningService):
    listener = Listener(service)
    plane, observe = service.service.plane, service.service._stream._observe
    changes = Changes(plane.world.number, (plane.world.vms["solo"],) * (MOST_WAITING + 1))

    service.service.runner.submit(observe, changes).result(60)

    assert listener.is_over.wait(60)
    listener.close()
    assert listener.names == ["overflow"]
    assert "Connect again" in listener.objects[0]["hint"]


@pytest.mark.parametrize("commit", [1, 100], ids=["one at a time", "a hundred at a time"])
def test_a_listener_that_takes_nothing_is_let_go_when_too_much_waits_for_it(commit: int):
    async def listen() -> tuple[list[bytes | None], list[bytes | None]]:
        keeps_up, takes_nothing = Queue(), Queue()
        taken = []
        for _ in range(MOST_WAITING // commit + 1):
            keeps_up.tell(b"news", commit)
            takes_nothing.tell(b"news", commit)
            taken.append(await keeps_up.next())
        return taken, [await takes_nothing.next() for _ in range(2)]

    taken, left = asyncio.run(listen())

    assert set(taken) == {b"news"}
    assert left[0] is not None
    assert left[0].startswith(b"event: overflow")
    assert left[1] is None
