"""One stuck host is no other host's trouble; an abort leaves nothing half way."""

from __future__ import annotations

import pytest

from forewarn.core.phase import Phase
from forewarn.core.rollout import RolloutState
from forewarn.core.terms import Cause, Kind, VmState
from forewarn.drivers.machines import Trouble
from tests.control.bench import Answering, Bench
from tests.rollouts.bench import RolloutBench, grid, minutes

_TROUBLED = {"silent": "host-0-3", "hanging": "host-1-4", "sick": "host-2-2"}


def fifty() -> RolloutBench:
    """Fifty hosts in five update domains; each holds a VM of a set and one on its own, whose guests approve."""
    described = grid(sets=1, domains=5, hosts_per_domain=10)
    described["vms"] += [{"name": f"own-{host['name']}", "host": host["name"]} for host in described["hosts"]]
    described["availability_sets"][0]["health_check"] = "checked"
    bench = RolloutBench(described)
    bench.turn_on("vm0-0-0", *(f"own-{host['name']}" for host in described["hosts"]))
    return bench


def approve_all(bench: Bench, but: str) -> None:
    """Every guest approves whatever it is told of, but those of one host."""
    for event in list(bench.plane.world.events.values()):
        operation = bench.plane.world.operations[event.operation]
        if event.phase is Phase.SCHEDULED and not event.approvals and operation.host != but:
            bench.approve(event.resources[0], event)


@pytest.mark.parametrize("tolerates", [False, True], ids=["no failure", "one failure"])
def test_a_silent_a_hanging_and_a_sick_host_delay_no_other_beyond_what_the_preview_said(*, tolerates: bool):
    bench = fifty()
    bench.machines.order(f"own-{_TROUBLED['hanging']}", Trouble.HANGS)
    sick = f"vm0{_TROUBLED['sick'][4:]}"
    bench.health = Answering(
        lambda name, _: f"the health check of {name} answered 503" if bench.effects(sick) else None
    )
    limits = {"max_failures": 1, "max_unhealthy_percent": 5} if tolerates else {}
    plan = bench.preview(Kind.REBOOT, max_parallel=4, **limits)
    rollout = bench.roll(Kind.REBOOT, max_parallel=4, **limits)

    for _ in range(2000):
        if bench.plane.world.rollouts[rollout].state is not RolloutState.RUNNING:
            break
        approve_all(bench, but=_TROUBLED["silent"])
        bench.advance(seconds=30)

    ended, latest = bench.ended(rollout), {row.stop.host.name: row.latest_end for row in plan.rows}
    assert bench.rollout(rollout).state is RolloutState.PAUSED
    assert all(at <= latest[host] for host, at in ended.items())
    why = bench.rollout(rollout).reason
    if tolerates:
        assert why == (
            "10 of 20 VMs of the last wave are unhealthy, and 5 % may be (the health check of set0 answered 503)"
        )
        done = {host for host in bench.turns(rollout) if host[5] in "012"}
    else:
        assert why.startswith(
            f"1 host failed, and 0 may ({_TROUBLED['hanging']}: own-{_TROUBLED['hanging']}: no outcome"
        )
        done = {host for host in bench.turns(rollout) if host[5] == "0"}
    assert done <= set(ended), "every host before the limit was reached is done"
    assert not any(each.phase is Phase.SCHEDULED for each in bench.plane.world.operations.values())


@pytest.mark.parametrize(
    "point", [point if point % 3 == 0 else pytest.param(point, marks=pytest.mark.long) for point in range(30)]
)
def test_an_abort_at_any_point_starts_nothing_and_leaves_nothing_half_way(point: int):
    bench = RolloutBench(grid(sets=1, domains=4, hosts_per_domain=3))
    bench.turn_on("vm0-0-0")
    rollout = bench.roll(Kind.REBOOT, max_parallel=1, recovery=minutes(20))
    for _ in range(point):  # each wake is a point at which something changes
        wake = bench.plane.next_wake()
        assert wake is not None
        bench.timekeeper.advance(max(wake - bench.clock.now(), minutes(0)))
    assert rollout in bench.plane.world.rollouts, "the points lie within the rollout"
    before = {each.id: each.phase for each in bench.operations_of(rollout)}
    felt = len(bench.machines.ledger())

    bench.abort(rollout)
    bench.advance(days=2)

    after = {each.id: each.phase for each in bench.operations_of(rollout)}
    assert before.keys() == after.keys(), "nothing is announced after an abort"
    for operation, phase in before.items():
        if phase is Phase.STARTED:
            assert after[operation] is Phase.COMPLETED
        else:
            assert after[operation] is (Phase.CANCELLED if phase is Phase.SCHEDULED else phase)
    begun = sum(phase is Phase.STARTED for phase in before.values())
    assert len(bench.machines.ledger()) - felt <= begun
    assert not bench.plane.world.operations
    assert not bench.plane.world.events
    assert all(vm.state is VmState.RUNNING for vm in bench.plane.world.vms.values())
    assert bench.rollout(rollout).state is RolloutState.ABORTED
    assert set(bench.states(rollout).values()) <= {"Done", "Waiting"}


def test_an_owners_redeploy_overtakes_the_turn_of_its_host():
    bench = RolloutBench(grid(domains=2, hosts_per_domain=1))
    bench.turn_on("vm0-0-0")
    rollout = bench.roll(Kind.REBOOT)
    redeploy = bench.ask(Cause.REDEPLOY, "vm0-0-0")
    bench.approve("vm0-0-0", bench.event(redeploy))
    bench.advance(minutes=3)

    assert bench.states(rollout)["host-0-0"] == "Done"
    assert bench.effects("vm0-0-0") == ["redeploy"]
    assert bench.run(rollout).state is RolloutState.COMPLETED
