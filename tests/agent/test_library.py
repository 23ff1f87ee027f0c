"""What programs import: changes to iterate over."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from forewarn.agent import EndpointError, What, watch
from tests.agent.azure import SERVER_ERROR, Asked, Azure, Fault, event
from tests.waiting import wait_until

QUICK: dict[str, Any] = {"poll_seconds": 0.02}
BOUND = 30


def test_the_loop_gets_every_change_of_an_events_life(azure: Azure):
    azure.show(event("A"))
    seen = []

    for change in watch(azure.url, **QUICK):
        seen.append((change.what, change.id, change.is_mine))
        if change.what is What.SCHEDULED:
            azure.show(event("A", NotBefore="Mon, 02 Mar 2037 12:05:00 GMT"))
        elif change.what is What.CHANGED:
            azure.start("A")
        elif change.what is What.STARTED:
            azure.show()
        else:
            break

    kinds = [What.SCHEDULED, What.CHANGED, What.STARTED, What.FINISHED]
    assert seen == [(kind, "A", True) for kind in kinds]


def test_an_event_that_is_called_off_is_cancelled(azure: Azure):
    azure.show(event("A"))

    with watch(azure.url, **QUICK) as changes:
        first = next(changes)
        azure.show()
        second = next(changes)

    assert (first.what, second.what) == (What.SCHEDULED, What.CANCELLED)


def test_an_event_of_another_vm_is_not_mine(azure: Azure):
    azure.show(event("A", Resources=["web-1"]), event("B", Resources=["WEB-0", "web-1"]))

    with watch(azure.url, **QUICK) as changes:
        other, mine = next(changes), next(changes)

    assert (other.is_mine, other.vm) == (False, "")
    assert (mine.is_mine, mine.vm) == (True, "WEB-0")


def test_the_program_approves(azure: Azure):
    azure.show(event("A"))

    with watch(azure.url, **QUICK) as changes:
        next(changes).approve()

    assert azure.approved == ["A"]


def test_an_approval_that_fails_is_an_error_for_the_program(azure: Azure):
    azure.show(event("A"))

    with watch(azure.url, **QUICK) as changes:
        change = next(changes)
        azure.fail_always(lambda asked: SERVER_ERROR if asked.method == "POST" else None)
        with pytest.raises(EndpointError, match="answered 500"):
            change.approve()

    assert azure.approved == []


def test_a_watch_that_is_closed_ends_its_loop(azure: Azure):
    changes = watch(azure.url, **QUICK)
    closing = threading.Timer(0.2, changes.close)
    closing.start()

    seen = list(changes)
    closing.join()

    assert seen == []


def test_who_breaks_out_of_a_loop_leaves_no_thread_behind(azure: Azure):
    azure.show(event("A"))

    for _ in watch(azure.url, **QUICK):
        break

    wait_until(lambda: not watching_threads(), "the thread to end")
    assert not watching_threads()


def watching_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "forewarn-watch"]


def test_an_endpoint_that_fails_is_told_and_the_loop_goes_on(azure: Azure):
    azure.fail_always(lambda _: SERVER_ERROR)
    troubles = []

    with watch(azure.url, on_trouble=troubles.append, **QUICK) as changes:
        wait_until(lambda: len(troubles) >= 2, "troubles")
        azure.show(event("A"))
        azure.fail_always(lambda _: None)
        change = next(changes)

    assert {trouble.kind for trouble in troubles} == {"server_error"}
    assert change.id == "A"


# With asyncio.


def test_the_same_object_works_with_async_for(azure: Azure):
    azure.show(event("A"))

    async def follow() -> list[What]:
        seen = []
        async for change in watch(azure.url, **QUICK):
            seen.append(change.what)
            if change.what is What.SCHEDULED:
                azure.start("A")
            else:
                return seen
        return seen

    assert asyncio.run(asyncio.wait_for(follow(), BOUND)) == [What.SCHEDULED, What.STARTED]


def test_waiting_for_a_change_can_be_cancelled(azure: Azure):
    async def wait_in_vain() -> None:
        async with watch(azure.url, **QUICK) as changes:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(changes.__anext__(), 0.1)
            azure.show(event("A"))
            change = await asyncio.wait_for(changes.__anext__(), BOUND)
            assert change.id == "A"

    asyncio.run(wait_in_vain())


def is_about_the_name(asked: Asked) -> bool:
    return asked.path.endswith("/compute/name")


def test_a_question_for_the_name_that_hangs_holds_up_neither_the_looking_nor_the_events(azure: Azure):
    azure.fail_always(lambda asked: Fault(delay_seconds=60) if is_about_the_name(asked) else None)

    with watch(azure.url, names=["web-0"], **QUICK) as changes:
        azure.wait_for_polls(20, seconds=50)
        azure.show(event("A"))
        began_at = time.monotonic()
        change = next(changes)
        took = time.monotonic() - began_at

    assert (change.id, change.is_mine) == ("A", True)
    assert took < 45, "an event waits for the name, but not for long"


def test_who_gives_up_waiting_leaves_nothing_behind(azure: Azure):
    changes = watch(azure.url, **QUICK)
    left: list[object] = []

    async def give_up() -> None:
        async with changes:
            for _ in range(100):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(changes.__anext__(), 0.001)
            left.extend(changes._inbox._wakers)

    asyncio.run(asyncio.wait_for(give_up(), BOUND))

    assert left == []


def test_leaving_a_block_does_not_hold_up_the_loop(azure: Azure):
    looking, leave = threading.Event(), threading.Event()

    def linger(_: object) -> None:
        looking.set()
        leave.wait(BOUND)

    azure.fail_always(lambda _: SERVER_ERROR)

    async def leave_soon() -> float:
        async with watch(azure.url, on_trouble=linger, **QUICK):
            await asyncio.to_thread(looking.wait, BOUND)
            left_at = time.monotonic()
        return time.monotonic() - left_at

    took = asyncio.run(asyncio.wait_for(leave_soon(), BOUND))
    leave.set()

    assert took < BOUND / 2
