"""A dry run works on a copy of the world, and leaves the world as it is."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

import pytest

from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.guests import first_poll
from forewarn.control.commands.hosts import fail_host, maintain_host, recover_host
from forewarn.control.commands.rollouts import abort_rollout, pause_rollout, start_rollout
from forewarn.control.commands.vms import act_on_vm
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.rollout_book import RolloutBook
from forewarn.core.terms import Cause, Kind
from forewarn.core.world import World
from forewarn.wire.fleet_file import read_json
from tests.rollouts.bench import RolloutBench, grid


def snapshot(value: Any) -> Any:
    """All that a world holds, in values that can be compared and do not change with it."""
    if isinstance(value, (World, RolloutBook)):
        return snapshot(vars(value))
    if isinstance(value, Counter):
        return dict(+value)
    if isinstance(value, dict):
        return {key: snapshot(each) for key, each in value.items()}
    return list(value) if isinstance(value, list) else value


@pytest.fixture
def bench() -> RolloutBench:
    """A plane with something in every table and index: a rollout at work, attempts, events, a failed host."""
    made = RolloutBench(grid(sets=2, domains=3, hosts_per_domain=2))
    first_poll(made.plane, "vm0-2-0")
    made.roll(Kind.REDEPLOY, max_parallel=2)
    act_on_vm(made.plane, Cause.RESTART, "vm0-2-0", "owner")
    fail_host(made.plane, "host-2-1", "operator")
    made.advance(minutes=10, seconds=30)
    made.plane.tick()
    return made


def test_a_copy_holds_what_the_world_holds(bench: RolloutBench):
    world = bench.plane.world

    copy = world.copy()

    assert snapshot(copy) == snapshot(world)
    assert all(value for name, value in snapshot(world).items() if name in {"rollouts", "attempts", "events"})


def test_dry_runs_of_all_requests_leave_the_world_and_the_store_as_they_are(bench: RolloutBench):
    world = bench.plane.world
    before, number, last_id = snapshot(world), world.number, UUID(bench.plane.new_id())
    (rollout,) = world.rollouts
    requests = [
        lambda plane: act_on_vm(plane, Cause.DELETE, "vm1-2-0", "x"),
        lambda plane: maintain_host(plane, "host-2-0", Maintenance(Kind.REBOOT), "x"),
        lambda plane: fail_host(plane, "host-0-0", "x"),
        lambda plane: recover_host(plane, "host-2-1", "x"),
        lambda plane: pause_rollout(plane, rollout, "", "x"),
        lambda plane: abort_rollout(plane, rollout, "", "x"),
        lambda plane: start_rollout(plane, bench.wish(Kind.FREEZE), "x"),
        lambda plane: apply_fleet(plane, read_json({"hosts": [{"name": "new"}]}).spec, "x"),
    ]

    for ask in requests:
        ask(bench.plane.dry_run())

    assert snapshot(world) == before
    with bench.store.transaction() as transaction:
        assert transaction.number == number
    assert UUID(bench.plane.new_id()).int == last_id.int + 1


def test_a_dry_run_sees_what_another_service_has_committed(bench: RolloutBench):
    stale = bench.plane
    bench.start_plane()
    act_on_vm(bench.plane, Cause.STOP, "vm1-2-0", "somebody else")

    assert any(stale.dry_run().world.operations_on_vm("vm1-2-0"))
