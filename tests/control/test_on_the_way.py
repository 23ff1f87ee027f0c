"""Machines on their way to a host: it stays, its work waits for them, and its failure is theirs too."""

from __future__ import annotations

import pytest

from forewarn.control.commands.fleet import apply_fleet
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, Condition, Kind, VmState
from forewarn.drivers.machines import Trouble
from forewarn.wire.fleet_file import read_json
from tests.control.bench import Bench, fleet, vm

TWO_HOSTS = fleet(vm("x", "host-0"), hosts=2)


@pytest.fixture
def bench() -> Bench:
    """x is on its way from host-0 to host-1."""
    made = Bench(TWO_HOSTS)
    made.ask(Cause.REDEPLOY, "x")
    made.advance(seconds=10)
    assert made.plane.world.bound_for("x") == "host-1"
    return made


def test_a_host_of_its_own_stays_while_another_vm_is_on_its_way_to_it():
    bench = Bench({"vms": [{"name": "a"}, {"name": "b"}]})
    bench.ask(Cause.REDEPLOY, "a")
    bench.ask(Cause.DELETE, "b")

    bench.advance(minutes=3)

    assert bench.vm("a").host == "b-host"
    assert "b-host" in bench.plane.world.hosts


def test_a_fleet_without_the_host_keeps_it_until_who_comes_has_gone_on(bench: Bench):
    differences = apply_fleet(bench.plane, read_json(fleet(vm("x", "host-0"), hosts=1)).spec, "operator")
    bench.advance(minutes=3)

    assert differences == []
    assert bench.vm("x").host == "host-1"
    assert "host-1" in bench.plane.world.hosts


def test_work_on_the_host_waits_and_then_gives_who_came_its_own_notice(bench: Bench):
    bench.turn_on("x")
    reboot = bench.maintain("host-1", Kind.REBOOT)
    waiting = bench.waiting_for(reboot)

    bench.advance(minutes=3)

    assert waiting == ["x, which is on its way to host-1"]
    assert [event.resources for event in bench.events(reboot)] == [("x",)]
    assert bench.phases(reboot) == ["Scheduled"]


def test_a_host_that_fails_before_the_vm_is_there_brings_it_back_elsewhere(bench: Bench):
    failed = bench.fail("host-1")
    bench.advance(minutes=6)

    assert bench.operation(failed).targets == ("x",)
    assert bench.operation(failed).phase is Phase.COMPLETED
    assert (bench.vm("x").host, bench.vm("x").state) == ("host-0", VmState.RUNNING)


def test_a_vm_that_never_got_to_the_failed_host_is_left_alone():
    bench = Bench(TWO_HOSTS)
    bench.machines.order("x", Trouble.FAILS)
    bench.ask(Cause.REDEPLOY, "x")
    bench.advance(seconds=10)

    bench.fail("host-1")
    bench.advance(minutes=6)

    assert bench.effects("x") == ["redeploy"]
    assert (bench.vm("x").host, bench.vm("x").state) == ("host-0", VmState.RUNNING)


def test_a_host_that_was_made_for_one_vm_is_made_anew_with_it():
    bench = Bench({"vms": [{"name": "x"}]})

    failed = bench.fail("x-host")
    bench.advance(minutes=6)

    assert bench.operation(failed).phase is Phase.COMPLETED
    assert bench.vm("x").state is VmState.RUNNING
    assert bench.plane.world.hosts["x-host"].condition is Condition.UP


def test_work_on_a_host_waits_until_who_is_evicted_has_left():
    bench = Bench(fleet(vm("spot", "host-0", priority="Spot")))
    bench.turn_on("spot")
    reboot = bench.maintain("host-0", Kind.REBOOT)

    evict = bench.evict("spot")
    waiting = bench.waiting_for(reboot)
    bench.advance(seconds=20)
    before = bench.operation(reboot).phase
    bench.advance(minutes=2)

    assert waiting == ["Preempt of spot to end: spot is still on the host"]
    assert before is Phase.SCHEDULED
    assert bench.operation(evict).phase is Phase.COMPLETED
    assert bench.operation(reboot).phase is Phase.COMPLETED
    assert bench.effects("spot") == ["deallocate"]


def test_a_vm_that_lands_on_a_host_that_has_failed_meanwhile_has_nothing_announced_any_more():
    bench = Bench(fleet(vm("x", "host-0"), hosts=3))
    bench.turn_on("x")
    restart = bench.ask(Cause.RESTART, "x")
    migration = bench.maintain("host-0", Kind.FREEZE, by_live_migration=True, duration_seconds=60)
    bench.approve("x", bench.event(migration))
    bench.advance(seconds=10)

    bench.fail(bench.plane.world.bound_for("x"))
    bench.advance(minutes=30)

    assert bench.phases(restart) == ["Cancelled"]
    assert bench.effects("x") == ["migrate", "restore"]
    assert bench.vm("x").state is VmState.RUNNING


def test_a_vm_that_is_off_and_does_not_start_is_not_brought_up_because_its_host_fails():
    bench = Bench(fleet(vm("x", "host-0"), hosts=2))
    bench.ask(Cause.DEALLOCATE, "x")
    bench.advance(minutes=1)
    bench.machines.order("x", Trouble.FAILS)
    bench.ask(Cause.START, "x")
    bench.advance(seconds=5)

    bench.fail("host-0")
    bench.advance(minutes=10)

    assert bench.effects("x") == ["deallocate", "start"]
    assert bench.vm("x").state is VmState.DEALLOCATED


def test_a_vm_that_was_brought_back_is_up_whatever_else_its_first_host_took_down():
    bench = Bench(
        fleet(
            vm("a", "host-0", availability_set="web"),
            vm("b", "host-0"),
            vm("c", "host-3", availability_set="web"),
            availability_sets=[{"name": "web"}],
        )
    )
    bench.machines.order("b", Trouble.HANGS)
    bench.fail("host-0")
    bench.advance(minutes=5)
    first = bench.vm("a").host

    bench.fail(first)
    bench.advance(minutes=5)

    assert bench.vm("a").state is VmState.RUNNING
    assert bench.vm("a").host not in {"host-0", first}
