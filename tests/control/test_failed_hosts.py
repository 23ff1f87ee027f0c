"""A failed host whose VMs no other host may take: they are waited for, and brought back as soon as one may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.hosts import fail_host, recover_host
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.core.terms import Cause, Condition, Kind, VmState
from forewarn.wire import rest
from forewarn.wire.fleet_file import read_json
from tests.control.bench import Bench, fleet, vm


def alone(*more: dict[str, Any], hosts: int = 1, **sets: list[dict[str, Any]]) -> Bench:
    bench = Bench(fleet(vm("x", "host-0"), *more, hosts=hosts, **sets))
    bench.turn_on("x")
    return bench


def waits(bench: Bench, accepted: Any) -> list[str]:
    return rest.waiting_for(bench.plane.world, bench.operation(accepted), bench.clock.now())


def test_a_vm_that_no_host_may_take_is_waited_for_and_its_event_stays_started():
    bench = alone()

    failed = bench.fail("host-0")
    bench.advance(days=3)

    assert bench.phases(failed) == ["Started"]
    assert bench.vm("x").state is VmState.DOWN
    assert waits(bench, failed) == ["a host that may take x (none may: host-0 has failed)"]


def back_by_its_own_recovery(bench: Bench) -> None:
    assert not isinstance(recover_host(bench.plane, "host-0", "operator"), Refusal)


def back_by_another_recovery(bench: Bench) -> None:
    assert not isinstance(recover_host(bench.plane, "host-1", "operator"), Refusal)


def back_by_a_new_host(bench: Bench) -> None:
    spec = read_json(fleet(vm("x", "host-0"), hosts=3)).spec
    assert all(isinstance(line, str) for line in apply_fleet(bench.plane, spec, "operator"))


@pytest.mark.parametrize(
    ("change", "host"),
    [(back_by_its_own_recovery, "host-0"), (back_by_another_recovery, "host-1"), (back_by_a_new_host, "host-2")],
    ids=["the host recovers", "another host recovers", "a host is added"],
)
@pytest.mark.parametrize("restarts", [False, True], ids=["", "after a restart"])
def test_it_is_brought_back_as_soon_as_a_host_may_take_it(
    change: Callable[[Bench], None], host: str, *, restarts: bool
):
    bench = alone(hosts=2)
    bench.fail("host-1")
    failed = bench.fail("host-0")
    bench.advance(hours=2)
    if restarts:
        bench.start_plane()

    change(bench)
    bench.advance(minutes=3)

    assert bench.phases(failed) == ["Completed"]
    assert (bench.vm("x").state, bench.vm("x").host) == (VmState.RUNNING, host)
    assert bench.effects("x") == ["restore"]


def test_it_is_brought_back_when_work_on_the_only_other_host_ends():
    bench = alone(vm("y", "host-1"), hosts=2)
    bench.maintain("host-1", Kind.REBOOT)
    failed = bench.fail("host-0")
    bench.advance(minutes=10)
    waited = waits(bench, failed)

    bench.advance(minutes=10)

    assert waited == ["a host that may take x (none may: host-0 has failed, host-1 is under notice)"]
    assert bench.phases(failed) == ["Completed"]
    assert bench.vm("x").host == "host-1"


@pytest.mark.parametrize(
    ("cause", "state"),
    [(Cause.STOP, VmState.STOPPED), (Cause.DEALLOCATE, VmState.DEALLOCATED), (Cause.DELETE, None)],
)
def test_an_owner_who_does_not_wait_takes_the_vm_out_of_the_event(cause: Cause, state: VmState | None):
    bench = alone()
    failed = bench.fail("host-0")
    bench.advance(hours=1)

    asked = bench.ask(cause, "x")
    bench.advance(minutes=1)

    assert bench.operation(asked).phase is Phase.COMPLETED
    assert bench.phases(failed) == ["Completed"]
    assert bench.operation(failed).phase is Phase.COMPLETED
    left = bench.plane.world.vms.get("x")
    assert (left and left.state) is state


@pytest.mark.parametrize(
    ("cause", "verb"), [(Cause.START, "started"), (Cause.REDEPLOY, "redeployed"), (Cause.RESTART, "restarted")]
)
def test_an_owner_is_told_that_a_vm_that_waits_for_a_host_is_being_brought_up_already(cause: Cause, verb: str):
    bench = alone()
    failed = bench.fail("host-0")
    bench.advance(hours=1)

    refusal = bench.ask(cause, "x")
    recover_host(bench.plane, "host-0", "operator")
    bench.advance(minutes=20)

    started = f"Redeploy of host-0 has started ({bench.event(failed).short_id})."
    assert refusal.message == f"x cannot be {verb}: {started}"
    assert bench.phases(failed) == ["Completed"]
    assert bench.vm("x").state is VmState.RUNNING
    assert bench.effects("x") == ["restore"]


def test_a_spot_vm_that_waits_for_a_host_can_be_evicted():
    bench = Bench(fleet(vm("x", "host-0", priority="Spot"), hosts=1))
    failed = bench.fail("host-0")
    bench.advance(hours=1)

    bench.evict("x")
    bench.advance(minutes=2)

    assert bench.vm("x").state is VmState.DEALLOCATED
    assert bench.phases(failed) == ["Completed"]


def test_a_vm_that_is_back_does_not_wait_with_those_that_no_host_may_take():
    hosts = [{"name": "host-0"}, {"name": "host-1", "zone": "1"}]
    bench = Bench({"hosts": hosts, "vms": [vm("here", zone="1"), vm("there", zone="2")]})

    failed = bench.fail("host-0")
    bench.advance(minutes=5)
    here, there = sorted(bench.events(failed), key=lambda event: event.resources)
    restart = bench.ask(Cause.RESTART, "here")

    assert (here.phase, there.phase) == (Phase.COMPLETED, Phase.STARTED)
    assert bench.operation(failed).targets == ("there",)
    assert bench.operation(restart).phase is Phase.STARTED


def test_a_host_that_fails_again_before_its_vms_are_back_brings_them_back_once():
    bench = alone()
    first = bench.fail("host-0")
    bench.advance(minutes=5)
    assert not isinstance(recover_host(bench.plane, "host-0", "operator"), Refusal)
    assert fail_host(bench.plane, "host-0", "operator")
    bench.advance(minutes=5)
    before = bench.phases(first)

    recover_host(bench.plane, "host-0", "operator")
    bench.advance(minutes=5)

    assert (before, bench.phases(first)) == (["Started"], ["Completed"])
    assert bench.effects("x") == ["restore"]
    assert bench.plane.world.hosts["host-0"].condition is Condition.UP
