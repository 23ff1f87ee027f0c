"""Rare moments of a rollout: what could be forgotten, and is not."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

import pytest

from forewarn.control.commands.events import postpone_event
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.core.requests.postpone import Postponement
from forewarn.core.rollout import RolloutState
from forewarn.core.terms import Cause, Kind
from forewarn.core.window import Window
from forewarn.drivers.machines import Trouble
from tests.control.bench import NOON, vm
from tests.rollouts.bench import RolloutBench, grid, minutes

HOUR = timedelta(hours=1)


def postpone_first(bench: RolloutBench, by: timedelta) -> None:
    event = next(iter(bench.plane.world.events.values()))
    assert not isinstance(postpone_event(bench.plane, event.id, Postponement(by=by), "owner"), Refusal)
    bench.plane.tick()


def test_a_host_that_waited_for_a_postponed_one_starts_when_that_is_done():
    bench = RolloutBench(grid(domains=1, hosts_per_domain=2))
    bench.turn_on("vm0-0-0")
    rollout = bench.roll(Kind.REBOOT, max_parallel=1)
    bench.advance(minutes=2)
    postpone_first(bench, minutes(2))  # both lapse at 12:17

    assert bench.run(rollout, most=timedelta(hours=2)).state is RolloutState.COMPLETED
    started, ended = bench.started(rollout), bench.ended(rollout)
    assert started["host-0-1"] >= ended["host-0-0"] or started["host-0-0"] >= ended["host-0-1"]


def with_minimum(least: int, hosts: int) -> dict[str, Any]:
    described = grid(domains=1, hosts_per_domain=hosts)
    described["availability_sets"][0]["min_available"] = least
    return described


@pytest.mark.parametrize("max_parallel", [1, 10])
@pytest.mark.parametrize("trouble", [None, Trouble.HANGS])
@pytest.mark.parametrize("force_by", [NOON + minutes(5), NOON + minutes(40), NOON + 10 * HOUR])
def test_a_preview_counts_with_a_minimum_that_only_the_force_by_date_outranks(
    force_by: datetime, trouble: Trouble | None, max_parallel: int
):
    described = with_minimum(3, hosts=3)  # no VM of set0 may ever be away
    described["hosts"] += [{"name": f"other-{n}"} for n in range(3)]
    described["vms"] += [vm(f"alone-{n}", f"other-{n}") for n in range(3)]
    bench = RolloutBench(described)
    wish: dict[str, Any] = {"force_by": force_by, "max_parallel": max_parallel, "max_failures": 9}
    if trouble is not None:
        for name in ("vm0-0-0", "alone-1"):
            bench.machines.order(name, trouble)
    rows = bench.preview(**wish).rows
    rollout = bench.roll(**wish)

    bench.run(rollout)

    started, ended, turns = bench.started(rollout), bench.ended(rollout), bench.turns(rollout)
    first = next(row for row in rows if row.stop.host.name == "host-0-0")
    assert first.latest_start >= force_by
    assert trouble is not None or max_parallel == 1 or first.latest_start == max(force_by, NOON + minutes(15))
    for row in rows:
        name = row.stop.host.name
        announced_at = turns[name].announced_at
        assert announced_at is not None
        assert row.announce_at <= announced_at, name
        assert started[name] <= row.latest_start, name
        assert ended[name] <= row.latest_end, name


def test_what_is_held_until_the_window_closes_is_called_off_and_announced_anew():
    bench = RolloutBench(grid(domains=2, hosts_per_domain=1))
    bench.turn_on("vm0-0-0")
    rollout = bench.roll(Kind.REBOOT, hosts=("host-0-0",), window=Window(time(12), HOUR))
    first = next(iter(bench.plane.world.events.values()))
    bench.fail("host-1-0")  # another update domain is down, and nobody can bring it back meanwhile
    bench.machines.order("vm0-1-0", "fails")

    bench.advance(hours=3)

    events = [event for event in bench.plane.world.events.values() if event.phase is Phase.SCHEDULED]
    assert first.id not in [event.id for event in events]
    assert bench.operations_of(rollout)[0].reason == "the window closed before it could start"


def test_a_step_of_the_clock_shortens_no_recovery():
    bench = RolloutBench(grid(domains=2, hosts_per_domain=1))
    rollout = bench.roll(recovery=minutes(30))
    bench.advance(minutes=16)  # the first is done
    before = bench.clock.elapsed()

    bench.clock.step(timedelta(hours=1))
    bench.plane.tick()
    while "host-1-0" not in bench.started(rollout):
        bench.advance(minutes=1)

    assert bench.clock.elapsed() - before >= minutes(28)


def test_a_step_back_of_the_clock_halts_nothing():
    bench = RolloutBench(grid(domains=2, hosts_per_domain=1))
    rollout = bench.roll(recovery=minutes(30))
    bench.advance(minutes=16)
    before = bench.clock.elapsed()

    bench.clock.step(-timedelta(hours=3))
    bench.plane.tick()
    while "host-1-0" not in bench.started(rollout):
        bench.advance(minutes=1)

    assert bench.clock.elapsed() - before <= minutes(32)


def test_a_postponed_turn_ends_after_an_abort_and_a_restart():
    bench = RolloutBench(grid(domains=1, hosts_per_domain=1))
    rollout = bench.roll(Kind.REBOOT)
    postpone_first(bench, minutes(20))
    bench.advance(minutes=35)
    assert [each.phase for each in bench.operations_of(rollout)] == [Phase.STARTED]

    bench.abort(rollout)
    bench.start_plane()
    bench.advance(minutes=5)

    assert list(bench.states(rollout).values()) == ["Done"]


def test_a_live_migration_over_all_hosts_leaves_somebody_to_take_the_vms():
    bench = RolloutBench(grid(domains=1, hosts_per_domain=3))
    rollout = bench.roll(Kind.FREEZE, by_live_migration=True)

    assert list(bench.states(rollout).values()).count("Open") < 3
    assert bench.run(rollout).state is RolloutState.COMPLETED


def test_a_set_that_is_short_holds_only_hosts_that_hold_its_vms():
    described = with_minimum(2, hosts=3)
    described["hosts"].append({"name": "other"})
    described["vms"].append(vm("alone", "other"))
    bench = RolloutBench(described)
    bench.ask(Cause.STOP, "vm0-0-2")
    bench.advance(minutes=1)

    rollout = bench.roll(hosts=("host-0-0", "other"))

    assert bench.states(rollout) == {"host-0-0": "Waiting", "other": "Open"}
    bench.advance(hours=1)
    assert bench.states(rollout) == {"host-0-0": "Waiting", "other": "Done"}
    bench.ask(Cause.START, "vm0-0-2")
    assert bench.run(rollout).state is RolloutState.COMPLETED
