"""What went wrong when others moved machines, and does not here: moved twice, to the wrong host, or not at all.

The whole table is in docs/explanation/bugs-of-others.md.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from forewarn.control.commands.events import cancel_operation
from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.hosts import recover_host
from forewarn.control.commands.vms import put_vm
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.core.requests.machines import VmWish
from forewarn.core.terms import Cause, Kind, Risk, VmState
from forewarn.drivers.machines import Trouble
from forewarn.wire.fleet_file import read_json
from tests.control.bench import NOON, Bench, fleet, vm
from tests.rollouts.bench import RolloutBench, minutes


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def test_a_move_that_is_asked_for_again_while_it_ends_is_made_once():
    """KubeVirt PR 4557: an eviction tried again every 5 s met the end of the migration and made another."""
    bench = Bench(fleet(vm("solo"), hosts=3))
    bench.turn_on("solo")
    move = bench.degrade("host-0", Risk.IMMINENT)

    answers = set()
    for _ in range(60):
        bench.approve("solo", bench.event(move))
        bench.advance(seconds=5)
        answers.add(bench.operation(bench.degrade("host-0", Risk.IMMINENT)).id)

    assert answers == {bench.operation(move).id}
    assert bench.effects("solo") == ["redeploy"]
    assert bench.vm("solo").host != "host-0"


@pytest.mark.parametrize(
    ("trouble", "phase"),
    [(Trouble.FAILS, Phase.COMPLETED), (Trouble.FAILS_DOWN, Phase.SCHEDULED)],
    ids=["it runs on", "it is down"],
)
def test_a_move_that_failed_leaves_one_machine_that_is_counted_once(trouble: Trouble, phase: Phase):
    """KubeVirt #2196, PR 5482: the pods of a migration were counted as two, so the budget let the VM be killed."""
    members = [vm(f"db-{n}", f"host-{n}", availability_set="db", update_domain=0) for n in range(3)]
    bench = Bench(fleet(*members, availability_sets=[{"name": "db", "min_available": 2}]))
    bench.machines.order("db-0", trouble)
    move = bench.maintain("host-0", Kind.REDEPLOY)
    bench.advance(minutes=15)

    other = bench.maintain("host-1")
    bench.advance(minutes=20)

    world = bench.plane.world
    assert bench.operation(move).phase is Phase.FAILED
    assert (bench.vm("db-0").host, world.bound_for("db-0")) == ("host-0", None)
    assert sum(world.load_of(host) for host in world.hosts) == 3
    assert bench.operation(other).phase is phase
    if phase is Phase.SCHEDULED:
        assert "db to have 3 available (its minimum is 2; 2 are" in bench.waiting_for(other)[-1]


def test_work_that_finds_no_host_fails_and_says_so_and_nothing_is_touched():
    """Nomad #16117: with all capacity in use a drain said that it was complete, and nothing had stopped."""
    bench = Bench(fleet(vm("solo"), vm("off"), hosts=2))
    bench.ask(Cause.STOP, "off")
    bench.advance(minutes=1)
    bench.fail("host-1")
    move = bench.degrade("host-0", Risk.IMMINENT)
    bench.advance(minutes=20)
    assert (bench.phases(move), bench.event(move).reason) == (["Failed"], "no host but host-0 may take solo")
    assert (bench.effects("solo"), bench.vm("solo").state) == ([], VmState.RUNNING)

    assert not isinstance(recover_host(bench.plane, "host-1", "operator"), Refusal)
    again = bench.degrade("host-0", Risk.IMMINENT)
    bench.advance(minutes=20)
    bench.fail("host-0")
    bench.fail("host-1")
    start = bench.ask(Cause.START, "off")
    bench.advance(minutes=20)

    assert bench.phases(again) == ["Completed"]
    assert bench.vm("solo").host == "host-1"
    assert (bench.operation(start).phase, bench.vm("off").state) == (Phase.FAILED, VmState.STOPPED)


@pytest.mark.parametrize("trouble", [None, Trouble.HANGS], ids=["it ends", "it hangs"])
def test_a_vm_comes_up_elsewhere_only_when_it_is_done_with_where_it_was(trouble: Trouble | None):
    """Nomad #9998: after a drain the replacement was placed before the old allocation was gone."""
    bench = Bench(fleet(vm("solo"), hosts=2))
    if trouble:
        bench.machines.order("solo", trouble)
    reboot = bench.maintain("host-0", Kind.REBOOT)
    bench.advance(minutes=15, seconds=30)
    bench.fail("host-0")

    bench.advance(hours=1)

    restore = bench.machines.ledger()[-1]
    ended = bench.operation(reboot).ended_at
    assert [effect.action for effect in bench.machines.ledger()] == ["reboot", "restore"]
    assert ended == NOON + minutes(15) + bench.limits.lead + (
        bench.limits.action_limit if trouble else seconds(60)
    )
    assert restore.began_at == ended
    assert (bench.vm("solo").host, bench.vm("solo").state) == ("host-1", VmState.RUNNING)


@pytest.mark.parametrize("way", ["cancel", "pause", "abort", "recover"])
def test_a_host_whose_work_was_called_off_takes_vms_again(way: str):
    """Nomad PR 4352: a node whose drain was cancelled stayed closed to new work."""
    bench = RolloutBench(fleet(vm("solo", "host-0"), vm("other", "host-1"), hosts=2))
    if way == "recover":
        bench.degrade("host-1")
        assert not isinstance(recover_host(bench.plane, "host-1", "operator"), Refusal)
    elif way == "cancel":
        assert not isinstance(
            cancel_operation(bench.plane, bench.operation(bench.maintain("host-1")).id, "operator"), Refusal
        )
    else:
        rollout = bench.roll(hosts=("host-1",))
        bench.pause(rollout) if way == "pause" else bench.abort(rollout)

    bench.ask(Cause.REDEPLOY, "solo")
    bench.advance(minutes=3)

    assert bench.vm("solo").host == "host-1"


def test_every_vm_leaves_a_sick_host_and_they_spread_over_the_others():
    """ProxCenter #248, #497: only some guests were moved and the rest stayed unsaid, or all went to one node."""
    kinds: list[dict[str, Any]] = [{}, {"availability_set": "web"}, {"priority": "Spot"}, {"tags": {"a": "b"}}]
    crowd = [vm(f"vm-{n}", "host-0", **kinds[n % 4]) for n in range(12)]
    bench = Bench(fleet(*crowd, vm("off"), hosts=5, availability_sets=[{"name": "web", "update_domains": 1}]))
    bench.ask(Cause.STOP, "off")
    bench.advance(minutes=1)

    bench.degrade("host-0", Risk.IMMINENT)
    bench.advance(minutes=20)
    bench.ask(Cause.START, "off")
    bench.advance(minutes=1)

    hosts = Counter(each.host for each in bench.plane.world.vms.values())
    assert sorted(hosts.values()) == [3, 3, 3, 4]
    assert "host-0" not in hosts


def displace(bench: Bench, way: str) -> str:
    """Let a VM look for a host; its name."""
    match way:
        case "redeploy":
            bench.ask(Cause.REDEPLOY, "solo")
        case "restore":
            bench.fail("host-0")
        case "start":
            bench.ask(Cause.STOP, "solo")
            bench.advance(seconds=10)
            bench.maintain("host-0", notice=minutes(300))
            bench.ask(Cause.START, "solo")
        case "migrate":
            bench.maintain("host-0", by_live_migration=True)
            bench.advance(minutes=15)
        case "new":
            bench.maintain("host-0", notice=minutes(300))
            assert not isinstance(put_vm(bench.plane, VmWish("new", "default"), "owner"), Refusal)
            return "new"
    return "solo"


@pytest.mark.parametrize("way", ["redeploy", "restore", "start", "migrate", "new"])
def test_no_vm_is_put_on_a_host_that_is_in_maintenance_or_sick(way: str):
    """ProxLB #232: the balancer moved VMs onto a node that was in maintenance."""
    few = [vm("solo"), vm("beside"), vm("told", "host-1"), vm("at-work", "host-2")]
    described = fleet(*few, *(vm(f"busy-{n}", "full") for n in range(9)), hosts=5)
    described["hosts"].append({"name": "full"})
    bench = Bench(described)
    bench.machines.order("at-work", Trouble.HANGS)
    bench.maintain("host-2", Kind.REBOOT)
    bench.advance(minutes=15, seconds=10)
    bench.maintain("host-1", notice=minutes(300))
    bench.degrade("host-3")
    bench.fail("host-4")

    name = displace(bench, way)
    bench.advance(minutes=3)

    assert [each.host for each in bench.plane.world.operations.values()][:2] == ["host-2", "host-1"]
    assert bench.vm(name).host == "full"


def test_a_vm_that_lands_on_a_host_after_it_was_looked_at_has_its_whole_notice():
    """Canonical snap-openstack PR 400: a VM could land on the host between the check before work and the work."""
    described = fleet(vm("solo"), hosts=1)
    bench = RolloutBench(described)
    bench.turn_on("solo")
    bench.preview(Kind.REBOOT)
    rollout = bench.roll(Kind.REBOOT)
    bench.advance(minutes=10)

    late = {**described, "vms": [*described["vms"], vm("late")]}
    apply_fleet(bench.plane, read_json(late).spec, "operator")
    bench.turn_on("late")
    bench.approve("solo", *bench.plane.world.events_in("solo"))
    bench.advance(minutes=14, seconds=59)
    assert not bench.machines.ledger()
    bench.run(rollout)

    assert bench.started(rollout)["host-0"] == NOON + minutes(25)
    assert (bench.effects("solo"), bench.effects("late")) == (["reboot"], ["reboot"])
