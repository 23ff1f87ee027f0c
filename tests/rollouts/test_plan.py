"""What a preview says: the order, the waves, and when everything is done at the latest."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from forewarn.core.refusal import Code
from forewarn.core.rollout import RolloutState
from forewarn.core.terms import Kind
from forewarn.core.window import Window
from tests.control.bench import NOON, fleet, vm
from tests.rollouts.bench import RolloutBench, grid, minutes

HOUR = timedelta(hours=1)
BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = Window(time(22), 4 * HOUR, ("Sat", "Sun"), BERLIN)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# The hours.


def test_the_first_wave_is_announced_at_once_and_starts_when_its_notice_has_run_out():
    plan = RolloutBench(grid(domains=2)).preview(Kind.REBOOT)
    first, second = plan.rows

    assert (first.announce_at, first.latest_start) == (NOON, NOON + minutes(15))
    assert first.latest_end == NOON + minutes(45) + timedelta(seconds=6)  # when the action is given up
    assert first.usual_end == NOON + minutes(16) + timedelta(seconds=5)
    assert second.latest_start == first.latest_end + minutes(30)
    assert second.usual_end - first.usual_end == minutes(31) + timedelta(seconds=5)


def test_as_many_hosts_as_may_be_at_work_at_once_share_the_time():
    plan = RolloutBench(grid(domains=1, hosts_per_domain=4)).preview(max_parallel=2)

    assert len({row.announce_at for row in plan.rows[:2]}) == 1
    assert plan.rows[2].latest_start > plan.rows[1].latest_end


def test_work_waits_for_its_window_and_is_announced_before_it_opens():
    plan = RolloutBench(grid(domains=1)).preview(window=NIGHTS)

    assert plan.rows[0].latest_start == at("2026-03-07 21:00")
    assert plan.rows[0].announce_at == at("2026-03-07 20:45")


def test_a_force_by_date_opens_the_window():
    plan = RolloutBench(grid(domains=1)).preview(window=NIGHTS, force_by=at("2026-03-04 00:00"))

    assert plan.rows[0].latest_start == at("2026-03-04 00:00")


@pytest.mark.parametrize("kind", [Kind.FREEZE, Kind.REBOOT, Kind.REDEPLOY])
@pytest.mark.parametrize("more", [{}, {"max_parallel": 2}, {"window": NIGHTS}, {"soak": minutes(20)}])
def test_a_rollout_that_nobody_approves_keeps_to_its_preview(kind: Kind, more: dict[str, Any]):
    described = grid(sets=2, domains=3, hosts_per_domain=3)
    described["hosts"].append({"name": "spare"})
    bench = RolloutBench(described)
    bench.turn_on("vm0-0-0", "vm1-0-0")
    plan = bench.preview(kind, **more)

    rollout = bench.roll(kind, **more)

    assert bench.run(rollout).state is RolloutState.COMPLETED
    started, ended = bench.started(rollout), bench.ended(rollout)
    for row in plan.rows:
        name = row.stop.host.name
        assert started[name] <= row.latest_start, name
        assert ended[name] <= row.latest_end, name
    assert max(ended.values()) <= max(row.usual_end for row in plan.rows) + timedelta(seconds=30)


# What is refused.


def test_a_rollout_that_names_no_host_is_refused():
    bench = RolloutBench(grid(domains=2))

    assert bench.refused(hosts=("nowhere", "host-0-0")).message == "There is no host nowhere."
    assert bench.refused(zones=("mars",)).message == "There is no host in zone mars."
    assert bench.refused(tags={"rack": "7"}).message == (
        "The rollout names no host: no host fits all of its conditions."
    )
    assert bench.refused(tags={"rack": "7"}).code is Code.BAD_REQUEST


def test_a_limit_of_nothing_is_refused():
    bench = RolloutBench(grid(domains=2))

    assert bench.refused(max_parallel=0).message == "max_parallel is 0: no host would ever get its turn."
    assert bench.refused(max_parallel_per_zone=-1).hint == "Ask for 1 or more."


def test_a_window_that_never_fits_is_refused_with_its_words():
    bench = RolloutBench(grid(domains=2))
    said = bench.refused(Kind.REBOOT, window=Window(time(22), minutes(1), ("Sat",), BERLIN))

    assert said.message == (
        "The window never fits: a Reboot takes about 65 s, and within a year the window "
        "(Sat from 22:00 for 1 min (Europe/Berlin)) is never open for that long."
    )


def test_too_little_notice_and_a_force_by_date_that_has_passed_are_refused():
    bench = RolloutBench(grid(domains=2))

    assert bench.refused(notice=minutes(5)).code is Code.NOTICE_TOO_SHORT
    assert "which has passed" in bench.refused(force_by=NOON).message
    assert "felt as a Freeze" in bench.refused(Kind.REBOOT, by_live_migration=True).message


@pytest.mark.parametrize(
    ("zones", "well", "said"),
    [
        ([None], 1, "no other host is up."),
        ([None, None], 1, "no other host is up."),
        (["1", "2", "2"], 3, "no other host in zone 1 is up."),
    ],
    ids=["one host", "the other has failed", "another zone"],
)
def test_a_live_migration_of_a_vm_that_no_other_host_could_take_is_refused(
    zones: list[str | None], well: int, said: str
):
    hosts = [{"name": f"host-{n}"} | ({"zone": zone} if zone else {}) for n, zone in enumerate(zones)]
    bench = RolloutBench({"hosts": hosts, "vms": [vm("x")]})
    for host in hosts[well:]:
        bench.fail(host["name"])

    refusal = bench.refused(Kind.FREEZE, by_live_migration=True)

    assert refusal.message == f"x cannot be migrated off host-0: {said}"
    assert bench.preview(Kind.FREEZE)


def test_a_host_under_notice_may_take_vms_in_time_for_a_live_migration():
    bench = RolloutBench(fleet(vm("x"), vm("y", "host-1"), hosts=2))
    bench.maintain("host-1", Kind.REBOOT)

    assert bench.preview(Kind.FREEZE, by_live_migration=True, hosts=("host-0",))


@pytest.mark.parametrize(
    ("by_live_migration", "seconds"), [(False, 9), (True, 5)], ids=["pause", "live migration"]
)
def test_a_rollout_announces_the_usual_seconds_of_a_freeze(by_live_migration: bool, seconds: int):  # noqa: FBT001 - a row
    bench = RolloutBench(fleet(vm("x"), hosts=2))

    rollout = bench.roll(Kind.FREEZE, by_live_migration=by_live_migration)

    assert bench.rollout(rollout).work.duration_seconds == seconds


def test_a_preview_changes_nothing():
    bench = RolloutBench(grid(domains=2))
    number = bench.plane.world.number

    bench.preview()

    assert bench.plane.world.number == number
    assert not bench.plane.world.rollouts


def test_work_that_takes_longer_than_an_action_is_waited_for_is_refused():
    said = RolloutBench(grid(domains=1)).refused(duration_seconds=7200)

    assert said.message == (
        "Work of 7200 s cannot be done: an action that has no outcome after 30 min has failed."
    )


def test_a_limit_that_no_fleet_reaches_costs_nothing():
    plan = RolloutBench(grid(domains=1, hosts_per_domain=3)).preview(max_parallel=10**15)

    assert len({row.announce_at for row in plan.rows}) == 1
