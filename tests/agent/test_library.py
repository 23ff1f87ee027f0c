"""What programs import: changes to iterate over, and a block that ends when maintenance is coming."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

import forewarn.agent
from forewarn.agent import EndpointError, MaintenanceComing, What, until_maintenance, watch
from tests.agent.azure import SERVER_ERROR, Asked, Azure, Fault, event
from tests.fleets import SMALL
from tests.running import ROOT, RunningService, running, wait_until

PAGE = (ROOT / "docs/howto/agent-library.md").read_text()
SAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
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
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(changes), 0.1)
            azure.show(event("A"))
            change = await asyncio.wait_for(anext(changes), BOUND)
            assert change.id == "A"

    asyncio.run(wait_in_vain())


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


# What is imported.


def test_programs_find_everything_in_one_place():
    found = {name: getattr(forewarn.agent, name) for name in forewarn.agent.__all__}

    assert all(found.values())
    with pytest.raises(AttributeError, match="has no attribute 'wacth'"):
        _ = forewarn.agent.wacth


def test_watching_loads_neither_asyncio_nor_openssl_nor_anything_else_of_ours():
    code = (
        "import sys; from forewarn.agent import watch; changes = watch(); "
        "ours = {m for m in sys.modules if m.startswith('forewarn') and not m.startswith('forewarn.agent')}; "
        "heavy = {'asyncio', 'ssl', '_ssl', 'hashlib', '_hashlib', 'http.client', 'email', 'urllib.request'}; "
        "print(sorted(ours - {'forewarn'} | heavy & set(sys.modules)))"
    )

    ran = run_program(code, {})

    assert (ran.returncode, ran.stdout.strip()) == (0, "[]"), ran.stderr


# The page.


def run_program(code: str, environment: dict[str, str], seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """A program of its own; `-S`, as what a site adds is not ours."""
    command = [sys.executable, "-S", "-c", code]
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment
    return subprocess.run(
        command, env=variables, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
    )


def test_the_pages_sample_is_six_lines_and_approves_its_own_event(azure: Azure):
    sample = SAMPLES[0]
    azure.show(event("OTHER", Resources=["web-1"]), event("MINE"))
    program = subprocess.Popen(
        [sys.executable, "-c", sample],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "SCHEDULEDEVENTSIP": azure.place},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_until(lambda: azure.approved != [] or program.poll() is not None, "the approval")
    finally:
        program.kill()
        said, _ = program.communicate(timeout=20)

    assert len(sample.splitlines()) == 6
    assert azure.approved == ["MINE"], said
    assert "scheduled Reboot ('web-0',)" in said


def test_the_pages_other_samples_work(azure: Azure, monkeypatch: pytest.MonkeyPatch):
    azure.show(event("A"))
    done: list[str] = []
    monkeypatch.setenv("SCHEDULEDEVENTSIP", azure.place)
    asynchronous, block, plain = (definitions(sample) for sample in SAMPLES[1:])

    asyncio.run(run_for_a_while(asynchronous["main"](), lambda: azure.approved == ["A"]))
    asyncio.run(block["work_and_save"](wait_for_ever, lambda: note(done, "saved")))
    plain["work_and_save"](forever(), lambda _: None, lambda: done.append("saved too"))

    assert done == ["saved", "saved too"]
    assert azure.approved == ["A", "A", "A"]


def definitions(sample: str) -> dict[str, Any]:
    place: dict[str, Any] = {}
    exec(compile(sample, "the page", "exec"), place)
    return place


async def run_for_a_while(main: Any, is_over: Any) -> None:
    task = asyncio.create_task(main)
    await asyncio.to_thread(wait_until, is_over, "the sample to do its work")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def note(done: list[str], word: str) -> None:
    done.append(word)


def forever() -> Any:
    pause = threading.Event()
    for _ in range(1000):
        pause.wait(0.02)
        yield 0


def test_against_the_real_service_an_event_is_approved_and_followed_to_its_end():
    with running(SMALL, guest="web-0") as service:
        endpoint = f"http://127.0.0.1:{service.metadata_port}"
        seen = []
        with watch(endpoint, **QUICK) as changes:
            wait_until(lambda: is_on(service), "the first poll")
            service.post("/v1/vms/web-0/restart", {})
            for change in changes:
                seen.append(change.what)
                if change.what is What.SCHEDULED:
                    change.approve()
                    service.advance(seconds=1)
                elif change.what is What.STARTED:
                    service.advance(minutes=15)
                else:
                    break

    assert seen == [What.SCHEDULED, What.STARTED, What.FINISHED]


def is_on(service: RunningService) -> bool:
    """Whether the guest has asked, which turns the feature on."""
    return service.get("/v1/scopes/web")["is_on"]


def is_about_the_name(asked: Asked) -> bool:
    return asked.path.endswith("/compute/name")


def test_a_question_for_the_name_that_hangs_holds_up_neither_the_looking_nor_the_events(azure: Azure):
    azure.fail_always(lambda asked: Fault(delay_seconds=60) if is_about_the_name(asked) else None)

    with watch(azure.url, names=["web-0"], **QUICK) as changes:
        azure.wait_for_polls(20, seconds=4)
        azure.show(event("A"))
        began_at = time.monotonic()
        change = next(changes)
        took = time.monotonic() - began_at

    assert (change.id, change.is_mine) == ("A", True)
    assert took < 8, "an event waits for the name, but not for long"


def test_who_gives_up_waiting_leaves_nothing_behind(azure: Azure):
    changes = watch(azure.url, **QUICK)
    left: list[object] = []

    async def give_up() -> None:
        async with changes:
            for _ in range(100):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(changes), 0.001)
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

    assert took < 2
