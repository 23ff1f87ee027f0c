"""What a preview says: the order, the waves, and when everything is done at the latest."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forewarn.core.refusal import Code
from forewarn.core.rollout import RolloutState
from forewarn.core.terms import Kind
from forewarn.core.window import DAYS, Window
from tests.control.bench import NOON, fleet, vm
from tests.rollouts.bench import RolloutBench, grid, minutes

HOUR = timedelta(hours=1)
BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = Window(time(22), 4 * HOUR, ("Sat", "Sun"), BERLIN)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# Windows.


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        ("2026-03-02 12:00", "2026-03-07 21:00"),  # Monday: on Saturday
        ("2026-03-07 20:59", "2026-03-07 21:00"),
        ("2026-03-07 23:00", "2026-03-07 23:00"),  # it is open
        ("2026-03-08 00:59", "2026-03-08 21:00"),  # too late for an hour of work: on Sunday
        ("2026-03-28 23:30", "2026-03-28 23:30"),  # the night of the change to summer time
        ("2026-03-29 12:00", "2026-03-29 20:00"),  # an hour earlier from here on, as the world counts
    ],
)
def test_a_window_opens_by_the_clocks_of_its_own_time_zone(now: str, opens: str):
    assert NIGHTS.fit(at(now), HOUR) == at(opens)


def test_a_window_stays_open_past_midnight():
    assert NIGHTS.is_open(at("2026-03-08 00:30"), minutes(30))
    assert not NIGHTS.is_open(at("2026-03-08 00:30"), minutes(31))


@pytest.mark.parametrize(
    ("closing", "hours"),
    [("2026-03-29 04:00", 7), ("2026-04-05 04:00", 8), ("2026-10-25 05:00", 9)],
    ids=["to summer time", "a usual night", "to winter time"],
)
def test_a_window_closes_by_the_clocks_of_its_own_time_zone_though_they_are_changed_meanwhile(
    closing: str, hours: int
):
    night = Window(time(22), 8 * HOUR, ("Sat",), BERLIN)

    assert at(closing).astimezone(BERLIN).time() == time(6)
    assert night.is_open(at(closing) - hours * HOUR, hours * HOUR)
    assert not night.is_open(at(closing) - hours * HOUR, hours * HOUR + minutes(1))
    assert not night.is_open(at(closing), minutes(30))


@pytest.mark.parametrize(
    ("opens", "length", "first", "last"),
    [
        ((1, 30), minutes(60), "00:30", "01:00"),  # would close at 02:30, which there is not
        ((2, 30), minutes(15), None, None),  # is never there
        ((2, 30), minutes(60), "01:00", "01:30"),  # opens when clocks are past 02:30
    ],
)
def test_hours_that_clocks_are_put_forward_past_are_never_open(
    opens: tuple[int, int], length: timedelta, first: str | None, last: str | None
):
    window = Window(time(*opens), length, timezone=BERLIN)
    found = window.fit(at("2026-03-29 00:00"), minutes(1))

    if first is None or last is None:
        assert found == at("2026-03-30 00:30")
    else:
        begin, end = at(f"2026-03-29 {first}"), at(f"2026-03-29 {last}")
        assert found == begin
        assert window.is_open(begin, end - begin)
        assert not window.is_open(begin, end - begin + minutes(1))


def test_a_window_that_opens_every_day_for_a_whole_day_never_closes():
    always = Window(time(6), 24 * HOUR)
    though_clocks_are_changed = Window(time(2, 30), 24 * HOUR, timezone=BERLIN)

    assert always.fit(NOON, timedelta(days=100)) == NOON
    assert though_clocks_are_changed.fit(NOON, timedelta(days=300)) == NOON


def test_nothing_is_touched_on_a_blackout_date_not_even_after_midnight():
    dark = Window(time(22), 4 * HOUR, blackout=(date(2026, 3, 3),))

    assert dark.fit(at("2026-03-02 22:00"), 2 * HOUR) == at("2026-03-02 22:00")
    assert dark.fit(at("2026-03-02 22:00"), 3 * HOUR) == at("2026-03-04 22:00")
    assert dark.fit(at("2026-03-03 10:00"), minutes(1)) == at("2026-03-04 00:00")  # begun on the dark day


def test_a_window_that_is_too_short_never_fits():
    assert Window(time(22), HOUR).fit(NOON, 2 * HOUR) is None


@settings(deadline=None, derandomize=True, database=None)
@given(
    st.integers(0, 366 * 24 * 60),
    st.integers(0, 23),
    st.integers(1, 47),
    st.sets(st.sampled_from(DAYS), min_size=1),
    st.integers(0, 300),
    st.integers(0, 3000),
)
def test_an_earlier_wish_never_fits_later(moment, opens, length, days, needed, later):
    window = Window(time(opens), length * minutes(30), tuple(days), BERLIN)
    first = window.fit(NOON + minutes(moment), minutes(needed))
    second = window.fit(NOON + minutes(moment + later), minutes(needed))

    if first is not None and second is not None:
        assert first <= second
        assert window.is_open(first, minutes(needed))


# The order.


def test_hosts_go_by_zone_then_update_domain_then_name():
    described = grid(domains=2, hosts_per_domain=2)
    for host in described["hosts"]:
        host["zone"] = "b" if host["name"].endswith("0") else "a"
    described["hosts"] += [{"name": "host-10", "zone": "a"}, {"name": "host-9", "zone": "a"}]
    plan = RolloutBench(described).preview()

    assert [(stop.wave, stop.host.name) for stop in plan.stops] == [
        (0, "host-9"),  # empty ones first: VMs may be moved there
        (0, "host-10"),
        (0, "host-0-1"),
        (1, "host-1-1"),
        (2, "host-0-0"),
        (3, "host-1-0"),
    ]


def test_a_host_that_holds_two_domains_of_a_set_is_a_wave_of_its_own():
    described = fleet(
        vm("a-0", "host-0", availability_set="a", update_domain=0),
        vm("a-1", "host-1", availability_set="a", update_domain=1),
        vm("both-0", "host-2", availability_set="a", update_domain=0),
        vm("both-1", "host-2", availability_set="a", update_domain=1),
        hosts=3,
        availability_sets=[{"name": "a", "spread": False}],
    )
    plan = RolloutBench(described).preview()

    assert [(stop.wave, stop.host.name) for stop in plan.stops] == [(0, "host-0"), (1, "host-2"), (2, "host-1")]


@settings(deadline=None, max_examples=50, derandomize=True, database=None)
@given(st.data())
def test_in_no_wave_are_there_two_domains_of_a_set_but_on_one_host(data):
    hosts = data.draw(st.integers(1, 12))
    placed = data.draw(
        st.lists(st.tuples(st.integers(0, hosts - 1), st.integers(0, 3), st.integers(0, 4)), max_size=40)
    )
    described = fleet(
        *(
            vm(f"vm-{n}", f"host-{host}", availability_set=f"set-{number}", update_domain=domain)
            for n, (host, number, domain) in enumerate(placed)
        ),
        hosts=hosts,
        availability_sets=[{"name": f"set-{n}", "spread": False} for n in range(4)],
    )
    plan = RolloutBench(described).preview()

    assert Counter(stop.host.name for stop in plan.stops) == Counter(f"host-{n}" for n in range(hosts))
    for wave in range(plan.waves):
        stops = [stop for stop in plan.stops if stop.wave == wave]
        for name in {name for stop in stops for name in stop.domains}:
            holders = [stop for stop in stops if name in stop.domains]
            assert len(holders) == 1 or len({stop.domains[name] for stop in holders}) == 1
            assert len(holders) == 1 or all(len(stop.domains[name]) == 1 for stop in holders)


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
