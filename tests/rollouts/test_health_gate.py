"""A wave goes on only when the one before it is well: from the fleet file to what operators read."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from forewarn.control.health import HealthChecks
from forewarn.core import rollout_course
from forewarn.core.rollout import RolloutState
from tests.control.bench import Answering
from tests.rollouts.bench import RolloutBench, grid, minutes
from tests.rollouts.shop import Shop
from tests.running import RunningService, running, wait_until

ILL = "the health check of set0 answered 503"


def checked(check: str | None) -> dict[str, Any]:
    """Two update domains of one set with that check."""
    fleet = grid(domains=2)
    fleet["availability_sets"][0]["health_check"] = check
    return fleet


def first_wave_done(service: RunningService, **body: Any) -> str:
    """A rollout whose first wave has just ended."""
    rollout = service.post("/v1/rollouts", {"kind": "Reboot", **body})["id"]
    service.advance(minutes=16, seconds=5)
    return rollout


def test_a_wave_whose_set_answers_503_is_waited_for_and_then_pauses_the_rollout_which_says_why(shop: Shop):
    shop.status = 503
    with running(checked(shop.url)) as service:
        rollout = first_wave_done(service)
        waiting = service.get(f"/v1/rollouts/{rollout}")
        service.advance(minutes=9, seconds=59)
        still_waiting = service.get(f"/v1/rollouts/{rollout}")
        service.advance(seconds=1)
        paused = service.get(f"/v1/rollouts/{rollout}")

    assert (waiting["state"], waiting["hosts_done"]) == ("Running", 1)
    assert waiting["waiting_for"] == [f"the last wave to be healthy, until 12:26:05Z: {ILL}"]
    assert still_waiting["waiting_for"] == waiting["waiting_for"]
    assert (paused["state"], paused["hosts_done"]) == ("Paused", 1)
    assert paused["reason"] == f"1 of 1 VMs of the last wave are unhealthy, and 0 % may be ({ILL})"
    assert paused["waiting_for"] == [f"somebody to resume it: {paused['reason']}"]


def test_a_paused_rollout_goes_on_once_its_set_is_well_and_somebody_resumes_it(shop: Shop):
    shop.status = 503
    with running(checked(shop.url)) as service:
        rollout = first_wave_done(service)
        service.advance(hours=2)
        shop.status = 200

        service.post(f"/v1/rollouts/{rollout}/resume")
        service.advance(seconds=1)
        resumed = service.get(f"/v1/rollouts/{rollout}")
        service.advance(days=1)
        over = service.get(f"/v1/rollouts/{rollout}")

    assert (resumed["state"], resumed["hosts_open"]) == ("Running", ["host-1-0"])
    assert over["state"] == "Completed"


def unhealthy() -> tuple[RolloutBench, str]:
    """A rollout that is paused as its first wave is not well, at 12:25:14."""
    bench = RolloutBench(checked("http://web.example/"))
    bench.health = Answering(lambda *_: ILL)
    rollout = bench.roll()
    bench.advance(minutes=25, seconds=14)
    assert bench.rollout(rollout).state is RolloutState.PAUSED
    return bench, rollout


def test_a_resumed_rollout_gives_the_wave_its_time_to_be_healthy_anew():
    bench, rollout = unhealthy()
    bench.advance(hours=2)

    bench.resume(rollout)
    bench.advance(minutes=9, seconds=59)
    waiting = bench.waits(rollout)
    bench.advance(seconds=1)

    assert waiting == [f"the last wave to be healthy, until 14:35:14Z: {ILL}"]
    assert bench.rollout(rollout).state is RolloutState.PAUSED


def test_a_rollout_that_is_resumed_anyway_goes_on_beside_an_unhealthy_set():
    bench, rollout = unhealthy()

    bench.resume(rollout, anyway=True)

    assert bench.run(rollout).state is RolloutState.COMPLETED


def test_while_real_time_passes_a_resumed_rollout_does_not_go_by_the_answer_from_before_it_was_mended(shop: Shop):
    shop.status = 503
    bench = RolloutBench(checked(shop.url))
    health = HealthChecks(lambda _: shop.url, bench.clock.now)
    bench.health = health
    rollout = bench.roll()
    bench.advance(minutes=15, seconds=14)
    wait_until(lambda: "503" in (health.answer("set0", bench.clock.now()) or ""), "the bad answer")
    bench.advance(minutes=20)
    assert bench.rollout(rollout).state is RolloutState.PAUSED
    shop.status = 200

    bench.resume(rollout)

    # Looked at again and again, as the plane does: what has just been answered badly is not asked again at once.
    def answer_by_now() -> str | None:
        since = bench.clock.now() - minutes(60)
        health.ask({"set0": since})
        return health.answer("set0", since)

    wait_until(lambda: answer_by_now() is None, "the good answer")

    assert bench.run(rollout).state is RolloutState.COMPLETED


def test_the_check_is_asked_only_when_the_soak_is_over(shop: Shop):
    with running(checked(shop.url)) as service:
        first_wave_done(service, soak_seconds=3600)
        service.advance(minutes=59)
        before = list(shop.asked)
        service.advance(minutes=1)

    assert before == []
    assert shop.asked == ["/"]


def test_looking_at_a_rollout_does_not_ask_its_checks(shop: Shop):
    shop.status = 503
    with running(checked(shop.url)) as service:
        rollout = first_wave_done(service)
        asked = len(shop.asked)
        for path in ("/v1/rollouts", f"/v1/rollouts/{rollout}"):
            service.get(path)

    assert asked > 0
    assert len(shop.asked) == asked


def test_a_set_may_name_a_command_of_the_service(tmp_path):
    sign = tmp_path / "well"
    commands = {"look": ("/bin/sh", "-c", f'echo "no sign of $FOREWARN_SET"; test -e {sign}')}
    with running(checked("look"), health_command=commands) as service:
        rollout = first_wave_done(service)
        ill = service.get(f"/v1/rollouts/{rollout}")["waiting_for"]
        sign.touch()
        service.advance(days=1)
        over = service.get(f"/v1/rollouts/{rollout}")

    assert ill == [
        "the last wave to be healthy, until 12:26:05Z: the health check of set0 ended with 1: no sign of set0"
    ]
    assert over["state"] == "Completed"


def test_a_command_that_the_service_has_not_been_given_holds_the_rollout_and_names_the_setting():
    with running(checked("look")) as service:
        rollout = first_wave_done(service)

        (waits,) = service.get(f"/v1/rollouts/{rollout}")["waiting_for"]

    assert "has no command for (--health-command look=...)" in waits


def test_a_check_that_hangs_blocks_nothing_while_real_time_passes_and_counts_as_no_answer(shop: Shop):
    shop.may_answer.clear()
    bench = RolloutBench(checked(shop.url))
    bench.health = HealthChecks(lambda _: shop.url, bench.clock.now)
    rollout = bench.roll()

    bench.advance(minutes=16)
    waits = bench.waits(rollout)
    bench.advance(minutes=20)

    assert waits[0].endswith("the health check of set0 has not answered yet")
    assert bench.rollout(rollout).state is RolloutState.PAUSED
    assert "has not answered yet" in bench.rollout(rollout).reason
    shop.may_answer.set()


def test_while_real_time_passes_the_answer_is_seen_at_the_next_look(shop: Shop):
    bench = RolloutBench(checked(shop.url))
    health = HealthChecks(lambda _: shop.url, bench.clock.now)
    bench.health = health
    rollout = bench.roll()
    bench.advance(minutes=15, seconds=14)
    wait_until(lambda: health.answer("set0", bench.clock.now()) is None, "the answer")

    bench.advance(seconds=5)

    assert bench.run(rollout).state is RolloutState.COMPLETED


def test_the_last_answer_opens_the_gate_though_no_time_passes(shop: Shop):
    shop.may_answer.clear()
    bench = RolloutBench(checked(shop.url))
    is_told = threading.Event()
    bench.health = HealthChecks(lambda _: shop.url, bench.clock.now, all_answered=is_told.set)
    rollout = bench.roll(recovery=timedelta(0))
    bench.advance(minutes=15, seconds=14)
    before = bench.states(rollout)

    shop.may_answer.set()
    assert is_told.wait(60)
    bench.plane.look_at_rollouts()
    bench.plane.tick()

    assert before == {"host-0-0": "Done", "host-1-0": "Waiting"}
    assert bench.states(rollout) == {"host-0-0": "Done", "host-1-0": "Open"}


def test_while_a_check_is_waited_for_the_store_is_free(shop: Shop, tmp_path: Path):
    shop.may_answer.clear()
    file = tmp_path / "store.db"
    with running(checked(shop.url), store=f"sqlite:///{file}") as service:
        rollout = service.post("/v1/rollouts", {"kind": "Reboot"})["id"]
        waiting = threading.Thread(target=service.advance, kwargs={"minutes": 17})
        waiting.start()
        wait_until(lambda: bool(shop.asked), "the check to be asked")
        with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")  # raises where somebody else is writing
            other.execute("ROLLBACK")
        is_waiting = waiting.is_alive()
        shop.may_answer.set()
        waiting.join(60)

        assert is_waiting
        assert service.get(f"/v1/rollouts/{rollout}")["waiting_for"][0].startswith("update domain 0 of set0")


def test_all_checks_of_a_wave_are_asked_at_once_by_a_virtual_clock(shop: Shop):
    shop.may_answer.clear()
    fleet = grid(sets=12, domains=2)
    for each in fleet["availability_sets"]:
        each["health_check"] = shop.url
    with running(fleet) as service:
        service.post("/v1/rollouts", {"kind": "Reboot"})
        waiting = threading.Thread(target=service.advance, kwargs={"minutes": 17})
        waiting.start()
        wait_until(lambda: len(shop.asked) == 12, "all of them to be asked")
        shop.may_answer.set()
        waiting.join(60)

        assert not waiting.is_alive()
        assert len(shop.asked) == 12


def test_a_service_on_real_time_goes_on_when_the_answer_comes_and_not_at_the_next_look(shop: Shop):
    shop.may_answer.clear()
    quick = {"clock": "system", "clock_start": None, "lead": 0.0, "simulated_seconds": {"freeze": 0.0}}
    with (
        patch.object(rollout_course, "HEALTH_EVERY", timedelta(hours=1)),
        running(checked(shop.url), **quick) as service,
    ):
        rollout = service.post("/v1/rollouts", {"kind": "Freeze", "recovery_seconds": 0})["id"]
        (event,) = service.get("/v1/events")["events"]
        service.post(f"/v1/events/{event['id']}/approve")
        wait_until(lambda: bool(shop.asked), "the check to be asked")
        held = service.get(f"/v1/rollouts/{rollout}")
        shop.may_answer.set()

        wait_until(
            lambda: service.get(f"/v1/rollouts/{rollout}")["hosts_open"] == ["host-1-0"], "the next wave to begin"
        )

    assert (held["hosts_done"], held["hosts_open"]) == (1, [])
    assert "has not answered yet" in held["waiting_for"][0]


# In the fleet file.


def test_a_health_check_is_an_address_or_a_name_and_is_exported_again():
    checks = ["http://10.0.0.1/ready", "https://web.example:8443/a?b=1", "check_web-1"]
    sets = [{"name": f"set{number}", "health_check": check} for number, check in enumerate(checks)]
    with running({"availability_sets": sets}) as service:
        assert [each["health_check"] for each in service.get("/v1/fleet")["availability_sets"]] == checks


def test_a_health_check_may_be_changed_at_any_time():
    with running(checked("one")) as service:
        service.operator("PUT", "/v1/fleet", checked("two"))
        changed = service.get("/v1/fleet")["availability_sets"][0]["health_check"]
        service.operator("PUT", "/v1/fleet", {**checked(None), "availability_sets": [{"name": "set0"}]})

        assert changed == "two"
        assert service.get("/v1/fleet")["availability_sets"][0].get("health_check") is None
