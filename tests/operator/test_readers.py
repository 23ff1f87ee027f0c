"""Reads wait in a bounded queue, and those that nobody wants any more are dropped."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forewarn.errors import Stopping
from forewarn.operator.readers import ClientGone, ReaderPool, TooBusy
from tests.fleets import SMALL
from tests.running import RunningService, running, wait_until


class Blocked:
    """A pool whose threads are all at work until they may go on."""

    def __init__(self, pool: ReaderPool, threads: int) -> None:
        self.pool = pool
        self.may_go_on = threading.Event()
        self._begun = threading.Semaphore(0)
        for _ in range(threads):
            pool._submit(self._work, lambda: True, may_refuse=False)
        for _ in range(threads):
            assert self._begun.acquire(timeout=30)

    def _work(self) -> None:
        self._begun.release()
        self.may_go_on.wait(60)

    def submit(self, act: Callable[[], object], is_wanted: Callable[[], bool] = lambda: True, **how: bool):
        return self.pool._submit(act, is_wanted, may_refuse=how.get("may_refuse", True))


@pytest.fixture
def blocked() -> Iterator[Blocked]:
    found = Blocked(ReaderPool(threads=2, most_waiting=3), 2)
    yield found
    found.may_go_on.set()
    found.pool.close()


def test_read_beyond_the_queue_is_refused(blocked: Blocked):
    waiting = [blocked.submit(int) for _ in range(3)]

    with pytest.raises(TooBusy):
        blocked.submit(int)

    blocked.may_go_on.set()
    assert [each.result(30) for each in waiting] == [0, 0, 0]


def test_next_part_of_a_response_that_has_begun_is_never_refused(blocked: Blocked):
    for _ in range(3):
        blocked.submit(int)

    following = blocked.submit(int, may_refuse=False)

    blocked.may_go_on.set()
    assert following.result(30) == 0


def test_read_whose_client_has_gone_is_dropped_before_it_runs(blocked: Blocked):
    ran: list[str] = []
    is_there = True
    waiting = blocked.submit(lambda: ran.append("gone"), lambda: is_there)
    is_there = False
    blocked.may_go_on.set()

    with pytest.raises(ClientGone):
        waiting.result(30)
    assert ran == []


def test_abandoned_reads_make_room_for_others(blocked: Blocked):
    abandoned = [blocked.submit(int, lambda: False) for _ in range(3)]

    wanted = blocked.submit(int)

    assert [type(each.exception(30)) for each in abandoned] == [ClientGone] * 3
    blocked.may_go_on.set()
    assert wanted.result(30) == 0


def test_closing_refuses_what_waits_and_does_not_wait_for_what_runs(blocked: Blocked):
    waiting = blocked.submit(int)

    blocked.pool.close()

    assert isinstance(waiting.exception(30), Stopping)
    with pytest.raises(Stopping):
        blocked.submit(int)


def test_awaited_read_gives_its_result_and_its_exception():
    pool = ReaderPool()

    async def read() -> tuple[int, BaseException]:
        (outcome,) = await asyncio.gather(pool.call(lambda: {}["missing"]), return_exceptions=True)
        return await pool.call(lambda: 3), outcome

    result, problem = asyncio.run(read())
    pool.close()

    assert result == 3
    assert isinstance(problem, KeyError)


# Through REST.


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[RunningService, Blocked]]:
    """A service whose readers are all at work."""
    with running(SMALL, store=f"sqlite:///{tmp_path}/store.db") as service:
        pool = service.service.readers
        blocked = Blocked(pool, pool._most_threads)
        yield service, blocked
        blocked.may_go_on.set()


def ask(service: RunningService, path: str) -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", service.service.operator[1]), timeout=30)
    wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return wire


def test_history_is_503_with_retry_after_while_too_many_read(busy: tuple[RunningService, Blocked]):
    service, blocked = busy
    pool = blocked.pool
    waiting = [ask(service, "/v1/history") for _ in range(pool._most_waiting)]
    wait_until(lambda: len(pool._jobs) == pool._most_waiting, "the reads to queue up")

    reply = service.operator("GET", "/v1/history")
    guest = service.guest("solo").call().status
    blocked.may_go_on.set()
    answered = [each.recv(65536).split()[1] for each in waiting]
    for each in waiting:
        each.close()

    assert (reply.status, reply.json["error"]["code"]) == (503, "TooManyReads")
    assert int(reply.headers["retry-after"]) > 0
    assert guest == 200
    assert answered == [b"200"] * pool._most_waiting


def test_fleet_is_applied_while_too_many_read(busy: tuple[RunningService, Blocked]):
    service, blocked = busy
    pool = blocked.pool
    waiting = [ask(service, "/v1/history") for _ in range(pool._most_waiting)]
    wait_until(lambda: len(pool._jobs) == pool._most_waiting, "the reads to queue up")

    with ThreadPoolExecutor(1) as admin:
        applying = admin.submit(service.operator, "PUT", "/v1/fleet", SMALL)
        wait_until(lambda: applying.done() or len(pool._jobs) > pool._most_waiting, "the fleet to queue up")
        blocked.may_go_on.set()
        reply = applying.result(60)
    for each in waiting:
        each.close()

    assert reply.status == 200
    assert reply.json["differences"] == []


def test_reads_that_were_hung_up_on_keep_nobody_waiting(busy: tuple[RunningService, Blocked]):
    service, blocked = busy
    pool = blocked.pool
    for _ in range(2 * pool._most_waiting):
        ask(service, "/v1/history?format=csv").close()
    server = service.service._operator_server
    wait_until(lambda: not server._open, "the connections to be closed")
    wanted = ask(service, "/v1/history")
    wait_until(lambda: any(job.is_wanted() for job in pool._jobs), "the last read to queue up")

    blocked.may_go_on.set()
    answered = wanted.recv(65536)
    wanted.close()

    assert answered.startswith(b"HTTP/1.1 200")


def test_service_stops_while_reads_hang(tmp_path: Path):
    service = RunningService(SMALL, store=f"sqlite:///{tmp_path}/store.db").start()
    pool = service.service.readers
    blocked = Blocked(pool, pool._most_threads)
    waiting = ask(service, "/v1/history")
    wait_until(lambda: len(pool._jobs) == 1, "the read to queue up")

    service.stop()
    answered = waiting.recv(65536)
    still_reading = not blocked.may_go_on.is_set()
    blocked.may_go_on.set()
    waiting.close()

    assert still_reading
    assert answered.startswith(b"HTTP/1.1 503")
