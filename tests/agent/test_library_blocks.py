"""Blocks of programs that end when maintenance is coming."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from forewarn.agent import MaintenanceComing, until_maintenance
from tests.agent.azure import Azure, event

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
