"""One thing at a time: what is refused, what waits, what overtakes, and what makes other work needless."""

from __future__ import annotations

import pytest

from forewarn.control.commands.events import cancel_operation
from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.hosts import recover_host
from forewarn.control.commit import Accepted
from forewarn.core.notice import Limits
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.terms import Cause, Condition, Kind, VmState
from forewarn.drivers.machines import Trouble
from forewarn.wire.fleet_file import read_json
from tests.control.bench import WEB, Bench, fleet, vm


def refusal(outcome: Accepted | Refusal | None) -> Refusal:
    assert isinstance(outcome, Refusal), outcome
    return outcome


@pytest.fixture
def bench() -> Bench:
    made = Bench(WEB)
    made.turn_on("web-0", "solo", "spot")
    return made


def test_a_second_user_operation_on_a_vm_is_refused_and_names_the_first(bench: Bench):
    first = bench.ask(Cause.RESTART, "solo")
    number = bench.plane.world.number

    said = refusal(bench.ask(Cause.REDEPLOY, "solo"))

    event = bench.event(first).short_id
    assert said.code is Code.BUSY
    assert said.message == (
        f"solo cannot be redeployed: Reboot of solo is scheduled ({event}, starts by 12:15:00Z)."
    )
    assert said.hint == f"forewarn event cancel {event}"
    assert bench.plane.world.number == number


def test_a_user_operation_is_refused_while_platform_work_on_the_vm_has_started(bench: Bench):
    freeze = bench.maintain("host-2")
    bench.approve("web-0", bench.event(freeze))

    said = refusal(bench.ask(Cause.RESTART, "web-2"))

    assert said.code is Code.BUSY
    assert "Freeze of host-2 has started" in said.message


def test_a_restart_over_scheduled_platform_work_gets_an_event_of_its_own(bench: Bench):
    freeze = bench.maintain("host-2")

    restart = bench.ask(Cause.RESTART, "web-2")
    bench.approve("web-0", bench.event(restart))
    bench.advance(seconds=65)

    assert bench.operation(restart).phase is Phase.COMPLETED
    assert bench.phases(freeze) == ["Scheduled"]


@pytest.mark.parametrize("cause", [Cause.REDEPLOY, Cause.STOP, Cause.DEALLOCATE, Cause.DELETE])
def test_the_owners_own_move_stop_or_delete_does_the_work_that_waits(bench: Bench, cause: Cause):
    degrade = bench.degrade("host-1")
    own = bench.ask(cause, "web-1")
    if bench.events(own):
        bench.approve("web-0", bench.event(own))
    before = [event.resources for event in bench.events(degrade)]

    bench.advance(minutes=3)

    assert before == [("web-1",), ("spot",)]
    assert bench.operation(own).phase is Phase.COMPLETED
    assert bench.phases(degrade) == ["Cancelled", "Scheduled"]
    assert bench.operation(degrade).targets == ("spot",)


def test_an_owners_redeploy_that_finds_no_other_host_leaves_the_hosts_work_announced(bench: Bench):
    for host in ("host-0", "host-2", "host-3"):
        bench.degrade(host, days=6)
    degrade = bench.degrade("host-1", days=6)
    own = bench.ask(Cause.REDEPLOY, "web-1")
    bench.approve("web-0", bench.event(own))

    bench.advance(minutes=3)

    assert bench.operation(own).phase is Phase.COMPLETED
    assert bench.vm("web-1").host == "host-1"
    assert bench.phases(degrade) == ["Scheduled", "Scheduled"]


def test_an_owners_operation_that_is_cancelled_leaves_the_platform_event_standing(bench: Bench):
    degrade = bench.degrade("host-2")
    own = bench.ask(Cause.REDEPLOY, "web-2")

    cancel_operation(bench.plane, bench.operation(own).id, "owner")
    bench.advance(minutes=5)

    assert bench.phases(degrade) == ["Scheduled"]


def test_platform_work_over_an_open_operation_is_accepted_and_waits_its_turn(bench: Bench):
    restart = bench.ask(Cause.RESTART, "web-2")
    bench.approve("web-0", bench.event(restart))
    freeze = bench.maintain("host-2")
    bench.approve("web-0", bench.event(freeze))

    held, waits = bench.phases(freeze), bench.waiting_for(freeze)
    bench.advance(seconds=65)

    assert held == ["Scheduled"]
    assert waits == ["Reboot of web-2 to end: one action on web-2 at a time"]
    assert bench.phases(freeze) == ["Started"]


def test_two_operations_on_one_vm_that_are_cleared_at_once_go_one_after_the_other(bench: Bench):
    first, second = bench.maintain("host-2"), bench.maintain("host-2", Kind.REBOOT)

    bench.advance(minutes=15)
    at_first = (bench.phases(first), bench.phases(second))
    bench.advance(seconds=14)

    assert at_first == (["Started"], ["Scheduled"])
    assert (bench.phases(first), bench.phases(second)) == (["Completed"], ["Started"])


# Eviction and failure come before everything else.


def test_an_eviction_cancels_what_is_only_scheduled_for_the_vm(bench: Bench):
    restart = bench.ask(Cause.RESTART, "spot")
    freeze = bench.maintain("host-1")

    evict = bench.evict("spot")

    assert bench.phases(restart) == ["Cancelled"]
    assert bench.phases(freeze) == ["Scheduled", "Cancelled"]
    assert bench.phases(evict) == ["Scheduled"]


def test_an_eviction_waits_for_an_action_that_has_begun(bench: Bench):
    restart = bench.ask(Cause.RESTART, "spot")
    bench.approve("spot", bench.event(restart))
    evict = bench.evict("spot")

    bench.advance(seconds=30)
    held = (bench.phases(restart), bench.phases(evict))
    bench.advance(seconds=36)

    assert held == (["Started"], ["Scheduled"])
    assert (bench.phases(restart), bench.phases(evict)) == (["Completed"], ["Started"])


def test_an_eviction_that_is_cancelled_leaves_its_vm_with_a_notice_of_its_own(bench: Bench):
    freeze = bench.maintain("host-1")
    evict = bench.evict("spot")
    bench.advance(seconds=10)

    cancel_operation(bench.plane, bench.operation(evict).id, "operator")
    again = bench.events(freeze)[-1]

    assert again.resources == ("spot",)
    assert again.not_before - bench.clock.now() == bench.limits.least_notice[Kind.FREEZE]


def test_a_second_eviction_of_a_vm_is_refused(bench: Bench):
    bench.evict("spot")

    assert refusal(bench.evict("spot")).code is Code.BUSY


def test_only_spot_vms_can_be_evicted(bench: Bench):
    said = refusal(bench.evict("solo"))

    assert said.code is Code.NOT_ALLOWED
    assert "only Spot VMs" in said.message


def test_a_failed_host_cancels_what_was_scheduled_and_brings_its_vms_back_elsewhere(bench: Bench):
    freeze, restart = bench.maintain("host-0"), bench.ask(Cause.RESTART, "solo")

    failure = bench.fail("host-0")
    born = bench.phases(failure)
    down = {bench.vm("web-0").state, bench.vm("solo").state}
    bench.advance(seconds=125)

    assert (bench.phases(freeze), bench.phases(restart)) == (["Cancelled", "Cancelled"], ["Cancelled"])
    assert born == ["Started", "Started"]
    assert down == {VmState.DOWN}
    assert bench.operation(failure).phase is Phase.COMPLETED
    assert {bench.vm("web-0").state, bench.vm("solo").state} == {VmState.RUNNING}
    assert "host-0" not in {bench.vm("web-0").host, bench.vm("solo").host}


def test_a_host_that_recovers_takes_vms_again_and_its_prediction_is_called_off(bench: Bench):
    degrade = bench.degrade("host-2")

    outcome = recover_host(bench.plane, "host-2", "operator")

    assert not isinstance(outcome, Refusal)
    assert bench.phases(degrade) == ["Cancelled"]
    assert bench.plane.world.hosts["host-2"].condition is Condition.UP


# Leaving, landing.


def test_a_vm_that_is_deleted_leaves_the_events_that_name_it(bench: Bench):
    shared = fleet(
        vm("web-0", availability_set="web", update_domain=0),
        vm("web-1", availability_set="web", update_domain=0),
        availability_sets=[{"name": "web"}],
    )
    bench = Bench(shared)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")
    incarnation = bench.plane.world.scopes["web"].incarnation

    bench.ask(Cause.DELETE, "web-1")
    bench.advance(seconds=10)

    assert bench.event(freeze).resources == ("web-0",)
    assert bench.plane.world.scopes["web"].incarnation == incarnation + 1


def test_a_vm_that_lands_on_a_host_under_notice_gets_its_own_notice_and_the_operation_waits(bench: Bench):
    freeze = bench.maintain("host-2")
    bench.advance(minutes=10)
    moved = {**WEB, "vms": [{**each, "host": "host-2"} if each["name"] == "solo" else each for each in WEB["vms"]]}

    apply_fleet(bench.plane, read_json(moved).spec, "operator")
    landed = bench.events(freeze)[1]
    bench.approve("web-0", bench.events(freeze)[0])
    bench.advance(minutes=5)

    assert landed.resources == ("solo",)
    assert bench.phases(freeze) == ["Scheduled", "Scheduled"]
    bench.advance(minutes=10)
    assert bench.phases(freeze) == ["Started", "Started"]


# Limits, steps, outcomes.


def test_the_users_limit_counts_the_open_user_operations_of_a_scope():
    bench = Bench(WEB, Limits(user_operation_limit=2))
    bench.turn_on("web-0")
    bench.ask(Cause.RESTART, "web-0")
    bench.ask(Cause.RESTART, "web-1")
    number = bench.plane.world.number

    said = refusal(bench.ask(Cause.RESTART, "web-2"))

    assert said.code is Code.LIMIT_REACHED
    assert "availability set web has 2 open user operations, and the limit is 2" in said.message
    assert bench.plane.world.number == number
    assert isinstance(bench.ask(Cause.RESTART, "solo"), Accepted)


def test_only_what_is_scheduled_can_be_cancelled_and_all_its_events_go(bench: Bench):
    freeze = bench.maintain("host-0")
    restart = bench.ask(Cause.RESTART, "web-2")
    bench.approve("web-0", bench.event(restart))

    cancelled = cancel_operation(bench.plane, bench.operation(freeze).id, "operator")
    said = refusal(cancel_operation(bench.plane, bench.operation(restart).id, "operator"))

    assert not isinstance(cancelled, Refusal)
    assert bench.phases(freeze) == ["Cancelled", "Cancelled"]
    assert said.code is Code.ILLEGAL_STEP
    assert said.hint == f"It ends by itself; follow it: forewarn event watch {bench.event(restart).short_id}"
    assert bench.phases(restart) == ["Started"]


def test_an_action_that_fails_ends_the_operation_failed_and_says_why(bench: Bench):
    bench.machines.order("solo", Trouble.FAILS)
    restart = bench.ask(Cause.RESTART, "solo")
    bench.approve("solo", bench.event(restart))

    bench.advance(seconds=66)

    assert bench.phases(restart) == ["Failed"]
    assert bench.operation(restart).reason == "solo: the reboot failed, as it was ordered to"
    assert bench.vm("solo").state is VmState.RUNNING


def test_one_machine_that_fails_fails_only_the_event_that_names_it(bench: Bench):
    bench.machines.order("solo", Trouble.FAILS)
    freeze = bench.maintain("host-0")

    bench.advance(minutes=16)

    assert bench.phases(freeze) == ["Completed", "Failed"]
    assert bench.operation(freeze).phase is Phase.FAILED


def test_an_action_that_never_ends_fails_after_its_limit_and_delays_nobody(bench: Bench):
    bench.machines.order("solo", Trouble.HANGS)
    hung, other = bench.ask(Cause.RESTART, "solo"), bench.ask(Cause.RESTART, "web-2")
    bench.approve("solo", bench.event(hung))
    bench.approve("web-0", bench.event(other))

    bench.advance(seconds=66)
    meanwhile = (bench.phases(hung), bench.phases(other))
    bench.advance(minutes=30)

    assert meanwhile == (["Started"], ["Completed"])
    assert bench.phases(hung) == ["Failed"]
    assert "no outcome after 1800 s" in bench.operation(hung).reason


@pytest.mark.parametrize(
    ("cause", "state"),
    [(Cause.RESTART, "stopped"), (Cause.REDEPLOY, "stopped"), (Cause.STOP, "stopped"), (Cause.START, "running")],
    ids=["restart", "redeploy", "stop", "start"],
)
def test_what_a_vms_state_does_not_allow_is_refused(bench: Bench, cause: Cause, state: str):
    if state == "stopped":
        bench.ask(Cause.STOP, "solo")
        bench.advance(seconds=10)

    said = refusal(bench.ask(cause, "solo"))

    assert said.code is Code.NOT_ALLOWED
    assert said.message.startswith(f"solo is {state}; it cannot be")


def test_a_live_migration_moves_the_vms_without_their_feeling_more_than_a_freeze(bench: Bench):
    migrate = bench.maintain("host-2", by_live_migration=True)

    bench.advance(minutes=15, seconds=10)

    event = bench.event(migrate)
    assert (event.kind, event.duration_seconds) == (Kind.FREEZE, 5)
    assert "Live Migration" in event.description
    assert bench.vm("web-2").host != "host-2"


def test_a_live_migration_with_nowhere_to_go_is_refused():
    bench = Bench(fleet(vm("solo"), hosts=1))

    said = refusal(bench.maintain("host-0", by_live_migration=True))

    assert "solo cannot be migrated off host-0: no other host may take it" in said.message


def test_a_redeploy_with_nowhere_to_go_happens_in_place():
    bench = Bench(fleet(vm("solo"), hosts=1))

    redeploy = bench.ask(Cause.REDEPLOY, "solo")
    bench.advance(seconds=120)

    assert bench.operation(redeploy).phase is Phase.COMPLETED
    assert bench.vm("solo").host == "host-0"
