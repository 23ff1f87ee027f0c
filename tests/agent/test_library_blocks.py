"""Blocks of programs that end when maintenance is coming."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from forewarn.agent import Change, MaintenanceComing, UntilMaintenance, until_maintenance
from forewarn.agent.compat import cancels_of
from tests.agent.azure import Azure, event
from tests.waiting import wait_until

QUICK: dict[str, Any] = {"poll_seconds": 0.02}
BOUND = 30


def test_a_block_is_cancelled_when_maintenance_is_coming(azure: Azure):
    async def work() -> tuple[list[str], str]:
        done = []
        async with until_maintenance(azure.url, **QUICK) as maintenance:
            azure.show(event("A"))
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                done.append("told")
                raise
            done.append("not reached")
        done.append("after")
        assert maintenance.event is not None
        await asyncio.to_thread(maintenance.event.approve)
        return done, maintenance.event.id

    assert asyncio.run(asyncio.wait_for(work(), BOUND)) == (["told", "after"], "A")
    assert azure.approved == ["A"]


def test_a_block_that_is_done_before_maintenance_comes_is_not_disturbed(azure: Azure):
    async def work() -> object:
        async with until_maintenance(azure.url, **QUICK) as maintenance:
            await asyncio.to_thread(azure.wait_for_polls, 2)
        return maintenance.event

    assert asyncio.run(asyncio.wait_for(work(), BOUND)) is None


def test_a_cancellation_by_somebody_else_goes_through(azure: Azure):
    async def work() -> None:
        async with until_maintenance(azure.url, **QUICK):
            await asyncio.Event().wait()

    async def cancel_it() -> None:
        task = asyncio.create_task(work())
        await asyncio.to_thread(azure.wait_for_polls, 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancel_it(), BOUND))
    assert azure.approved == []


def test_an_error_in_the_block_goes_through(azure: Azure):
    async def work() -> None:
        async with until_maintenance(azure.url, **QUICK):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(work())


def test_events_that_are_not_meant_do_not_cancel(azure: Azure):
    async def work() -> str:
        async with until_maintenance(azure.url, where=lambda each: each.type != "Freeze", **QUICK) as maintenance:
            azure.show(event("FREEZE", EventType="Freeze"), event("OTHER", Resources=["web-1"]))
            await asyncio.to_thread(azure.wait_for_polls, 3)
            azure.show(event("REBOOT"))
            await asyncio.Event().wait()
        assert maintenance.event is not None
        return maintenance.event.id

    assert asyncio.run(asyncio.wait_for(work(), BOUND)) == "REBOOT"


def test_without_asyncio_the_block_ends_where_it_asks(azure: Azure):
    done = []

    with until_maintenance(azure.url, **QUICK) as maintenance:
        azure.show(event("A"))
        is_coming = maintenance.wait(BOUND)
        done.append("told")
        maintenance.check()
        done.append("not reached")

    assert (is_coming, bool(maintenance), done) == (True, True, ["told"])
    assert maintenance.event is not None
    assert maintenance.event.id == "A"


def test_without_asyncio_a_block_that_is_done_in_time_has_no_event(azure: Azure):
    with until_maintenance(azure.url, **QUICK) as maintenance:
        maintenance.check()

    assert (maintenance.event, bool(maintenance)) == (None, False)


def test_the_cancellation_of_an_outer_block_is_not_swallowed_by_an_inner_one(azure: Azure):
    azure.show(event("A"))

    with until_maintenance(azure.url, **QUICK) as outer:
        assert outer.wait(BOUND)
        with pytest.raises(MaintenanceComing), until_maintenance(azure.url, **QUICK):
            outer.check()

    assert outer.event is not None


# A `where` that raises.


def needs_a_duration(change: Change) -> bool:
    """As a program might say it that has never seen an event without one."""
    return change.duration_seconds > 10  # type: ignore[operator]


@pytest.fixture
def odd(azure: Azure) -> Azure:
    """An endpoint that announces an event at which `needs_a_duration` raises, and one that fits."""
    azure.show(event("ODD", DurationInSeconds=None), event("FITS", DurationInSeconds=30))
    return azure


def test_what_where_raises_ends_the_block_and_reaches_who_awaits_it(odd: Azure):
    async def work() -> None:
        try:
            async with until_maintenance(odd.url, where=needs_a_duration, **QUICK):
                await asyncio.Event().wait()
        finally:
            task = asyncio.current_task()
            assert task is not None
            assert cancels_of(task) == 0, "the cancellation was ours, and has ended with the block"

    with pytest.raises(TypeError, match="not supported between instances of 'NoneType' and 'int'"):
        asyncio.run(asyncio.wait_for(work(), BOUND))


@pytest.mark.parametrize(
    "ask", [UntilMaintenance.wait, UntilMaintenance.check, bool], ids=["wait", "check", "bool"]
)
def test_without_asyncio_what_where_raises_is_raised_where_the_block_asks(
    odd: Azure, ask: Callable[[UntilMaintenance], object]
):
    with (
        pytest.raises(TypeError, match="not supported between instances"),
        until_maintenance(odd.url, where=needs_a_duration, **QUICK) as maintenance,
    ):
        wait_until(lambda: bool(ask(maintenance)), "an error")


def test_what_where_raises_is_raised_at_the_end_of_a_block_that_never_asks(odd: Azure):
    has_failed = threading.Event()

    def fail(_: Change) -> bool:
        has_failed.set()
        raise ZeroDivisionError

    def work() -> None:
        with until_maintenance(odd.url, where=fail, **QUICK):
            assert has_failed.wait(BOUND)

    with pytest.raises(ZeroDivisionError):
        work()


def test_an_error_of_the_block_goes_first_and_what_where_raised_is_logged(
    odd: Azure, caplog: pytest.LogCaptureFixture
):
    async def work() -> None:
        async with until_maintenance(odd.url, where=needs_a_duration, **QUICK):
            try:
                await asyncio.Event().wait()
            finally:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(work(), BOUND))

    assert "`where` failed" in caplog.text
    assert "TypeError" in caplog.text
