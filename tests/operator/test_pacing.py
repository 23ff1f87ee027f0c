"""Turns are handed out in order, at a bounded rate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Any

from forewarn.operator.guard import Guard
from forewarn.operator.pacing import Pacer
from forewarn.operator.roles import Role
from forewarn.operator.sign_in.checking import Caller, Stranger
from tests.fleets import SMALL
from tests.running import running
from tests.sign_in.people import TENANT


class HandMovedLoop:
    """As much of a loop as a pacer needs, with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def create_future(self) -> asyncio.Future[None]:
        return asyncio.get_running_loop().create_future()

    def call_later(self, seconds: float, act: Callable[[], None]) -> Any:
        self._timers.append((self.now + seconds, act))
        return act

    async def advance(self, to: float) -> None:
        while due := [timer for timer in self._timers if timer[0] <= to]:
            timer = min(due, key=lambda each: each[0])
            self._timers.remove(timer)
            self.now = max(self.now, timer[0])
            timer[1]()
        self.now = to
        for _ in range(20):  # let those go on whose turn it is
            await asyncio.get_running_loop().run_in_executor(None, int)


async def queue_up(pacer: Pacer, count: int, is_wanted: Callable[[int], bool]) -> list[int]:
    """The numbers whose turn has come, in order; the list grows."""
    had: list[int] = []

    async def wait(number: int) -> None:
        await pacer.turn(lambda: is_wanted(number))
        had.append(number)

    had_tasks.extend(asyncio.ensure_future(wait(number)) for number in range(count))
    return had


had_tasks: list[asyncio.Future[None]] = []


def test_turns_come_at_once_up_to_the_burst_and_then_at_the_rate():
    async def run() -> list[list[int]]:
        loop = HandMovedLoop()
        had = await queue_up(Pacer(10, 3, loop), 6, lambda _: True)  # type: ignore[arg-type]
        seen = []
        for instant in (0.0, 0.05, 0.1, 0.2, 0.35):
            await loop.advance(instant)
            seen.append(list(had))
        return seen

    first, *later = asyncio.run(run())

    assert first == [0, 1, 2]
    assert [len(each) for each in later] == [3, 4, 5, 6]
    assert later[-1] == [0, 1, 2, 3, 4, 5]


def test_burst_comes_back_after_a_quiet_moment():
    async def run() -> list[int]:
        loop = HandMovedLoop()
        pacer = Pacer(10, 3, loop)  # type: ignore[arg-type]
        first = await queue_up(pacer, 3, lambda _: True)
        await loop.advance(10.0)
        second = await queue_up(pacer, 4, lambda _: True)
        await loop.advance(10.0)
        await loop.advance(11.0)
        return [len(first), len(second)]

    assert asyncio.run(run()) == [3, 4]


def test_one_that_is_not_wanted_any_more_takes_no_turn():
    async def run() -> list[list[int]]:
        loop = HandMovedLoop()
        had = await queue_up(Pacer(10, 1, loop), 12, lambda number: number in {0, 11})  # type: ignore[arg-type]
        await loop.advance(0.0)
        await loop.advance(0.05)
        before = list(had)
        await loop.advance(0.15)
        return [before, list(had)]

    before, after = asyncio.run(run())

    assert before == [0]
    assert after[-1] == 11


def test_token_requests_are_begun_at_a_bounded_rate():
    with running(SMALL) as service:
        began = perf_counter()
        statuses = {service.operator("POST", f"/{TENANT}/oauth2/v2.0/token", b"x").status for _ in range(40)}
        took = perf_counter() - began

    assert statuses == {400}
    assert took >= (40 - 20) / 25 - 0.01


class Doorman:
    """Signs in whoever sends a header; nobody else."""

    is_open = False

    def recognise(self, authorization: list[str], _base: str, _address: str) -> Caller | Stranger:
        return Caller("eve", Role.VIEWER, "1") if authorization else Stranger("Sign in first.", was_silent=True)

    async def make_wait(self, _stranger: Stranger) -> None:
        pass


def test_requests_without_a_credential_wait_their_turn_and_signed_in_ones_do_not():
    async def run() -> list[tuple[int, int]]:
        loop, answered, served = HandMovedLoop(), [], []

        async def app(scope: Any, _receive: Any, _send: Any) -> None:
            served.append(scope)

        async def send(message: dict[str, Any]) -> None:
            answered.extend([message["status"]] if "status" in message else [])

        guard = Guard(app, Doorman(), [], Pacer(10, 3, loop))  # type: ignore[arg-type]

        def call(*headers: tuple[bytes, bytes]) -> None:
            scope = {"type": "http", "method": "GET", "path": "/v1/vms", "scheme": "http", "server": ("::1", 1)}
            had_tasks.append(asyncio.ensure_future(guard(scope | {"headers": list(headers)}, app, send)))

        for _ in range(6):
            call()
            call((b"authorization", b"Bearer good"))
        seen = []
        for instant in (0.0, 0.15, 1.0):
            await loop.advance(instant)
            seen.append((len(answered), len(served)))
        assert set(answered) == {401}
        return seen

    assert asyncio.run(run()) == [(3, 6), (4, 6), (6, 6)]
