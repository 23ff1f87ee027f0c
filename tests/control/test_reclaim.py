"""Capacity that is taken back from a host: so many of its Spot VMs go, or none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.control.commands.fleet import apply_fleet
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.terms import Cause, Kind, VmState
from forewarn.wire.fleet_file import read_json
from tests.control.bench import NOON, Bench, fleet, vm

SPOTS = fleet(
    vm("spot-0", priority="Spot"),
    vm("spot-1", priority="Spot", eviction_policy="Delete"),
    vm("regular"),
    vm("spot-2", priority="Spot"),
    vm("elsewhere", "host-1", priority="Spot"),
)


@pytest.fixture
def bench() -> Bench:
    made = Bench(SPOTS)
    made.turn_on("spot-0", "spot-1", "spot-2", "regular")
    return made


def refusal(outcome: object) -> Refusal:
    assert isinstance(outcome, Refusal), outcome
    return outcome


def test_so_many_spot_vms_get_a_preempt_each_thirty_seconds_ahead(bench: Bench):
    evictions = bench.reclaim("host-0", 2)

    assert isinstance(evictions, list)
    told = [bench.event(each) for each in evictions]
    assert [(event.kind, event.resources, event.not_before) for event in told] == [
        (Kind.PREEMPT, ("spot-2",), NOON + timedelta(seconds=30)),
        (Kind.PREEMPT, ("spot-1",), NOON + timedelta(seconds=30)),
    ]
    assert len({each.operation.batch for each in evictions}) == 1
    assert bench.plane.world.number == evictions[0].operation.version


def test_each_ends_by_its_own_eviction_policy(bench: Bench):
    bench.reclaim("host-0", 3)

    bench.advance(minutes=1)

    assert "spot-1" not in bench.plane.world.vms
    assert [bench.vm(name).state for name in ("spot-0", "spot-2", "regular")] == [
        VmState.DEALLOCATED,
        VmState.DEALLOCATED,
        VmState.RUNNING,
    ]


def test_who_came_last_goes_first_also_after_a_restart(bench: Bench):
    moved = [{**each, "host": "host-0"} if each["name"] == "elsewhere" else each for each in SPOTS["vms"]]
    apply_fleet(bench.plane, read_json({**SPOTS, "vms": moved}).spec, "operator")
    bench.start_plane()

    evictions = bench.reclaim("host-0", 1)

    assert isinstance(evictions, list)
    assert [each.operation.targets for each in evictions] == [("elsewhere",)]


def test_more_than_there_are_is_refused_with_the_numbers_and_the_names_and_nobody_goes(bench: Bench):
    number = bench.plane.world.number

    said = refusal(bench.reclaim("host-0", 4))

    assert said.code is Code.NOT_ALLOWED
    assert said.message == (
        "4 Spot VMs were to leave host-0; running there and not leaving already: 3 (spot-0, spot-1, spot-2)."
    )
    assert bench.plane.world.number == number


def test_vms_that_are_off_or_leaving_already_are_not_counted(bench: Bench):
    bench.ask(Cause.STOP, "spot-0")
    bench.advance(seconds=15)
    bench.evict("spot-1")

    said = refusal(bench.reclaim("host-0", 2))

    assert "running there and not leaving already: 1 (spot-2)" in said.message


def test_a_host_that_is_not_there_or_without_spot_vms_is_refused(bench: Bench):
    assert refusal(bench.reclaim("nowhere", 1)).code is Code.NOT_FOUND
    assert "running there and not leaving already: 0." in refusal(bench.reclaim("host-3", 1)).message


def test_what_is_only_scheduled_for_the_vms_is_overtaken_in_the_same_commit(bench: Bench):
    freeze = bench.maintain("host-0")

    bench.reclaim("host-0", 3)

    assert bench.phases(freeze) == ["Cancelled", "Cancelled", "Scheduled", "Cancelled"]
    assert bench.operation(freeze).phase is Phase.SCHEDULED
