"""Machines that go, stop or are lost while something else is under way for them."""

from __future__ import annotations

import pytest

from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.hosts import recover_host
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, EvictionPolicy, VmState
from forewarn.drivers.machines import Trouble
from forewarn.wire.fleet_file import read_json
from tests.control.bench import WEB, Bench, fleet, vm

ONE_HOST_EACH = fleet(
    vm("a", "host-0"), vm("b", "host-0"), vm("frugal", "host-0", priority="Spot", eviction_policy="Delete")
)


@pytest.fixture
def bench() -> Bench:
    made = Bench(ONE_HOST_EACH)
    made.turn_on("a", "b")
    return made


def test_a_vm_that_is_being_deleted_when_its_host_fails_goes_and_the_others_are_restored(bench: Bench):
    delete = bench.ask(Cause.DELETE, "a")
    bench.advance(seconds=2)

    failed = bench.fail("host-0")
    bench.advance(minutes=5)

    assert bench.operation(delete).phase is Phase.COMPLETED
    assert bench.operation(failed).phase is Phase.COMPLETED
    assert "a" not in bench.plane.world.vms
    assert bench.vm("b").state is VmState.RUNNING
    assert bench.plane.bugs == 0


def test_an_event_of_a_failed_host_no_longer_names_a_vm_that_was_deleted_meanwhile(bench: Bench):
    bench.ask(Cause.DELETE, "a")
    bench.advance(seconds=2)

    failed = bench.fail("host-0")
    bench.advance(seconds=9)

    of_a = next(event for event in bench.events(failed) if event.scope == "a")
    assert of_a.phase is Phase.COMPLETED
    assert of_a.reason == "a was deleted"


@pytest.mark.parametrize(
    ("cause", "state"),
    [(Cause.STOP, VmState.STOPPED), (Cause.DEALLOCATE, VmState.DEALLOCATED)],
    ids=["stopped", "deallocated"],
)
def test_a_vm_that_its_owner_is_switching_off_when_its_host_fails_is_not_brought_back(
    bench: Bench, cause: Cause, state: VmState
):
    bench.ask(cause, "a")
    bench.advance(seconds=2)

    bench.fail("host-0")
    bench.advance(minutes=5)

    assert bench.vm("a").state is state
    assert bench.effects("a") == [str(cause)]


def test_a_spot_vm_that_is_being_evicted_when_its_host_fails_is_gone_and_the_plane_goes_on(bench: Bench):
    assert bench.vm("frugal").eviction_policy is EvictionPolicy.DELETE
    bench.evict("frugal")
    bench.advance(seconds=37)

    failed = bench.fail("host-0")
    bench.advance(minutes=5)

    assert "frugal" not in bench.plane.world.vms
    assert bench.operation(failed).phase is Phase.COMPLETED
    assert bench.plane.next_wake() is None or bench.plane.next_wake() > bench.clock.now()


def test_a_plane_that_is_started_again_in_the_middle_of_it_goes_on_too(bench: Bench):
    bench.ask(Cause.DELETE, "a")
    bench.advance(seconds=2)
    failed = bench.fail("host-0")

    bench.start_plane()
    bench.advance(minutes=5)

    assert bench.operation(failed).phase is Phase.COMPLETED


def test_a_machine_whose_action_hangs_counts_as_down_and_holds_the_other_update_domains():
    bench = Bench(WEB)
    bench.machines.order("web-0", Trouble.HANGS)
    bench.ask(Cause.RESTART, "web-0")
    bench.advance(minutes=31)

    freeze = bench.maintain("host-1")
    bench.advance(minutes=20)

    assert bench.vm("web-0").state is VmState.DOWN
    assert bench.operation(freeze).phase is Phase.SCHEDULED
    assert "update domain 0 of web, which is down until web-0 is running again (web-0)" in bench.waiting_for(
        freeze
    )


def test_an_action_that_ends_without_effect_leaves_its_machine_running():
    bench = Bench(WEB)
    bench.machines.order("solo", Trouble.FAILS)

    failed = bench.ask(Cause.RESTART, "solo")
    bench.advance(minutes=2)

    assert bench.operation(failed).phase is Phase.FAILED
    assert bench.vm("solo").state is VmState.RUNNING


def test_a_reboot_under_way_on_a_host_that_fails_does_not_make_the_vm_run_there():
    bench = Bench(WEB)
    bench.ask(Cause.RESTART, "solo")
    bench.advance(seconds=10)

    bench.fail("host-0")
    bench.advance(seconds=51)

    assert bench.vm("solo").state is VmState.DOWN
    bench.advance(minutes=5)
    assert bench.vm("solo").state is VmState.RUNNING
    assert bench.vm("solo").host != "host-0"


def test_a_reboot_that_ends_after_its_host_failed_and_came_back_does_not_pass_for_the_restore():
    bench = Bench(WEB)
    bench.ask(Cause.RESTART, "solo")
    bench.advance(seconds=10)
    bench.fail("host-0")
    recover_host(bench.plane, "host-0", "operator")
    bench.machines.order("solo", Trouble.FAILS)

    bench.advance(minutes=5)

    assert bench.effects("solo") == ["reboot", "restore"]
    assert bench.vm("solo").state is VmState.DOWN


def test_a_delete_and_a_restore_that_are_due_in_the_same_moment_come_one_after_the_other(bench: Bench):
    profile = {
        **ONE_HOST_EACH,
        "vms": [
            each | ({"terminate_notification": "PT5M"} if each["name"] == "a" else {})
            for each in ONE_HOST_EACH["vms"]
        ],
    }
    apply_fleet(bench.plane, read_json(profile).spec, "test")
    delete = bench.ask(Cause.DELETE, "a")
    bench.approve("a", bench.event(delete))
    failed = bench.fail("host-0")

    bench.advance(minutes=5)

    assert bench.effects("a") == ["delete"]
    assert bench.operation(delete).phase is Phase.COMPLETED
    assert bench.operation(failed).phase is Phase.COMPLETED
    assert bench.plane.bugs == 0


def test_an_eviction_that_fails_gives_the_vm_its_notice_of_the_hosts_work_again():
    bench = Bench(WEB)
    bench.turn_on("spot")
    freeze = bench.maintain("host-1")
    bench.machines.order("spot", Trouble.FAILS)
    bench.evict("spot")

    bench.advance(minutes=2)

    told = [event for event in bench.events(freeze) if event.phase.is_open and "spot" in event.resources]
    assert len(told) == 1


def test_the_audit_notes_a_vm_that_has_to_come_up_beside_another_update_domain_of_its_set():
    bench = Bench(
        fleet(
            vm("web-0", "host-0", availability_set="web"),
            vm("web-1", "host-1", availability_set="web"),
            hosts=2,
            availability_sets=[{"name": "web"}],
        )
    )

    redeploy = bench.ask(Cause.REDEPLOY, "web-0")
    bench.advance(minutes=3)

    assert bench.vm("web-0").host == "host-1"
    assert ("share host", "web-0", "host-1 holds another update domain of web") in bench.audit(redeploy)


def test_a_host_of_its_own_goes_with_its_vm():
    bench = Bench({"vms": [{"name": "lonely"}]})
    assert "lonely-host" in bench.plane.world.hosts

    bench.ask(Cause.DELETE, "lonely")
    bench.advance(minutes=1)

    assert "lonely-host" not in bench.plane.world.hosts


POOL = {"scale_sets": [{"name": "pool", "capacity": 4}]}


def test_a_fleet_that_would_take_a_vm_out_of_the_scope_that_was_told_is_refused():
    bench = Bench(POOL)
    bench.turn_on("pool_3")
    restart = bench.ask(Cause.RESTART, "pool_3")

    problems = apply_fleet(
        bench.plane,
        read_json({"scale_sets": [{"name": "pool", "capacity": 4, "placement_group_size": 3}]}).spec,
        "test",
    )

    assert [problem.what for problem in problems] == [
        "pool_3 has an open operation; its scope pool cannot become pool/1."
    ]
    assert bench.vm("pool_3").scope == bench.event(restart).scope == "pool"


def test_a_fleet_that_would_change_the_update_domain_of_a_vm_with_open_work_is_refused():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    bench.ask(Cause.RESTART, "web-1")
    changed = {
        **WEB,
        "vms": [{**each, **({"update_domain": 4} if each["name"] == "web-1" else {})} for each in WEB["vms"]],
    }

    problems = apply_fleet(bench.plane, read_json(changed).spec, "test")

    assert [problem.what for problem in problems] == [
        "web-1 has an open operation; its update domain 1 cannot become 4."
    ]
    assert bench.vm("web-1").update_domain == 1


def test_an_instance_and_a_vm_of_the_same_name_are_refused_whichever_came_first():
    bench = Bench(POOL)
    bench.ask(Cause.DELETE, "pool_0")
    bench.advance(minutes=1)

    problems = apply_fleet(
        bench.plane,
        read_json({"scale_sets": [{"name": "pool", "capacity": 3}], "vms": [{"name": "pool_3"}]}).spec,
        "test",
    )

    (problem,) = problems
    assert problem.what == "The VM name pool_3 is used twice: pool has such an instance."


def test_a_set_with_fewer_update_domains_takes_its_vms_into_those_that_are_left():
    bench = Bench(WEB)

    apply_fleet(
        bench.plane, read_json({**WEB, "availability_sets": [{"name": "web", "update_domains": 2}]}).spec, "test"
    )

    assert {bench.vm(f"web-{n}").update_domain for n in range(3)} == {0, 1}


def test_a_freeze_leaves_a_machine_that_is_down_as_it_was():
    bench = Bench(WEB)
    bench.machines.order("web-0", Trouble.FAILS_DOWN)
    bench.ask(Cause.RESTART, "web-0")
    bench.advance(minutes=2)

    bench.maintain("host-0")
    bench.advance(minutes=20)

    assert "freeze" in bench.effects("web-0")
    assert bench.vm("web-0").state is VmState.DOWN
