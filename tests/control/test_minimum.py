"""A minimum of available VMs per set: planned work waits for it, or is refused where it would wait for ever."""

from __future__ import annotations

from typing import Any

from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commit import Accepted
from forewarn.core.refusal import Code, Refusal
from forewarn.core.terms import Cause, VmState
from forewarn.drivers.machines import Trouble
from forewarn.wire.fleet_file import read_json
from tests.control.bench import Bench, fleet, vm


def farm(minimum: int, *, size: int = 3, per_host: int = 1, **more: Any) -> dict[str, Any]:
    """A cloud service, all of it in one update domain: nothing but the minimum keeps its VMs apart."""
    vms = [vm(f"app-{n}", f"host-{n // per_host}", cloud_service="app", update_domain=0) for n in range(size)]
    return fleet(*vms, hosts=6, cloud_services=[{"name": "app", "min_available": minimum}], **more)


def at_work(minimum: int, **more: Any) -> Bench:
    bench = Bench(farm(minimum, **more))
    bench.turn_on("app-0")
    return bench


def refusal(outcome: object) -> Refusal:
    assert isinstance(outcome, Refusal), outcome
    return outcome


def test_a_vm_that_is_off_or_left_down_is_not_available():
    bench = at_work(2, size=4)
    bench.ask(Cause.STOP, "app-3")
    bench.machines.order("app-2", Trouble.FAILS_DOWN)
    restart = bench.ask(Cause.RESTART, "app-2")
    bench.approve("app-0", bench.event(restart))
    bench.advance(minutes=2)

    freeze = bench.maintain("host-0")
    bench.approve("app-0", bench.event(freeze))
    waits = bench.waiting_for(freeze)
    bench.ask(Cause.START, "app-3")
    bench.advance(seconds=15)

    assert bench.vm("app-2").state is VmState.DOWN
    assert waits == ["app to have 3 available (its minimum is 2; 2 are, and host-0 has 1 of them: app-0)"]
    assert bench.phases(freeze) == ["Started"]


def test_a_minimum_that_is_lowered_lets_the_work_that_waits_start():
    bench = at_work(2, size=3)
    bench.ask(Cause.STOP, "app-2")
    bench.advance(seconds=15)
    freeze = bench.maintain("host-0")
    bench.approve("app-0", bench.event(freeze))
    held = bench.phases(freeze)

    apply_fleet(bench.plane, read_json(farm(1)).spec, "owner")
    bench.plane.tick()

    assert held == ["Scheduled"]
    assert bench.phases(freeze) == ["Started"]


def test_work_that_would_break_the_minimum_for_ever_is_refused_with_the_rule_and_the_names():
    bench = Bench(farm(2, size=4, per_host=3))

    said = refusal(bench.maintain("host-0"))

    assert said.code is Code.NOT_ALLOWED
    assert said.message == (
        "host-0 cannot be maintained: 2 of the 4 VMs of app are to be available, and host-0 has 3 of them "
        "(app-0, app-1, app-2)."
    )
    assert said.hint == "Move some away (forewarn vm redeploy app-2), or lower min_available of app."
    assert isinstance(bench.maintain("host-1"), Accepted)


def test_availability_sets_and_scale_sets_have_a_minimum_too():
    sets = {
        "availability_sets": [{"name": "web", "min_available": 2}],
        "scale_sets": [{"name": "pool", "capacity": 2, "hosts": ["host-3"], "min_available": 1}],
    }
    bench = Bench(
        fleet(vm("web-0", availability_set="web"), vm("web-1", "host-1", availability_set="web"), **sets)
    )

    assert "2 of the 2 VMs of web" in refusal(bench.maintain("host-0")).message
    assert "1 of the 2 VMs of pool" in refusal(bench.maintain("host-3")).message


# A host that is about to fail.


def test_a_degraded_host_is_not_refused_and_waits_for_the_minimum_until_its_notice_has_run_out():
    bench = at_work(2, size=4, per_host=3)

    move = bench.degrade("host-0", hours=1)
    bench.approve("app-0", bench.event(move))
    held, waits = bench.phases(move), bench.waiting_for(move)
    bench.advance(hours=1)

    assert held == ["Scheduled"]
    assert waits[0] == (
        "app to have 5 available, until 13:00:00Z (its minimum is 2; 4 are, and host-0 has 3 of them: "
        "app-0, app-1, app-2)"
    )
    assert bench.phases(move) == ["Started"]
