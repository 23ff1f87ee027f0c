"""A rollout on its way: order, limits, recovery, pause, resume and abort."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.control.commands.events import cancel_operation, postpone_event
from forewarn.control.commands.rollouts import resume_rollout
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.core.requests.postpone import Postponement
from forewarn.core.rollout import RolloutState
from forewarn.core.terms import Cause, Kind
from forewarn.drivers.machines import Trouble
from tests.control.bench import NOON
from tests.rollouts.bench import RolloutBench, grid, minutes


@pytest.fixture
def bench() -> RolloutBench:
    made = RolloutBench(grid(domains=3, hosts_per_domain=2))
    made.turn_on("vm0-0-0")
    return made


def test_hosts_are_done_by_update_domain_and_all_of_them(bench: RolloutBench):
    rollout = bench.roll()

    assert bench.states(rollout) == {
        "host-0-0": "Open",
        "host-0-1": "Open",
        "host-1-0": "Waiting",
        "host-1-1": "Waiting",
        "host-2-0": "Waiting",
        "host-2-1": "Waiting",
    }
    over = bench.run(rollout)

    assert over.state is RolloutState.COMPLETED
    assert list(bench.started(rollout)) == list(bench.turns(rollout))
    assert [bench.effects(name) for name in bench.plane.world.vms] == [["freeze"]] * 6


def test_another_update_domain_starts_only_when_the_first_has_recovered(bench: RolloutBench):
    rollout = bench.roll(recovery=minutes(45))
    bench.run(rollout)

    started, ended = bench.started(rollout), bench.ended(rollout)
    for domain in (0, 1):
        last_end = max(ended[f"host-{domain}-{n}"] for n in range(2))
        first_start = min(started[f"host-{domain + 1}-{n}"] for n in range(2))
        assert timedelta(minutes=45) <= first_start - last_end < timedelta(minutes=45, seconds=2)


def test_an_approval_does_not_cut_the_recovery_short(bench: RolloutBench):
    rollout = bench.roll()
    bench.advance(minutes=16)  # the first wave is done
    bench.advance(minutes=20)  # and the next is announced
    announced = bench.turns(rollout)["host-1-0"]
    events = list(bench.plane.world.events_of(announced.operation or ""))

    bench.approve("vm0-0-0", *events)

    assert events[0].not_before - events[0].created_at == minutes(15)
    assert bench.waits(rollout)[0].startswith("host-1-0: update domain 0 of set0 to recover until 12:45:")
    assert "host-1-0" not in bench.started(rollout)


def test_pausing_cancels_what_is_announced_and_lets_what_has_started_finish(bench: RolloutBench):
    rollout = bench.roll(max_parallel=2, kind=Kind.REBOOT)
    first, second = (bench.turns(rollout)[f"host-0-{n}"] for n in range(2))
    bench.approve("vm0-0-0", *bench.plane.world.events_of(first.operation or ""))

    bench.pause(rollout)

    assert bench.states(rollout)["host-0-0"] == "Open"
    assert bench.states(rollout)["host-0-1"] == "Waiting"
    phases = {each.id: each.phase for each in bench.operations_of(rollout)}
    assert phases == {first.operation: Phase.STARTED, second.operation: Phase.CANCELLED}
    assert bench.waits(rollout) == ["somebody to resume it: paused by operator"]
    bench.advance(days=2)
    assert bench.states(rollout)["host-0-0"] == "Done"
    assert len(bench.operations_of(rollout)) == 2


def test_resuming_announces_anew_with_full_notice_and_new_ids(bench: RolloutBench):
    rollout = bench.roll()
    before = {each.id for each in bench.plane.world.events.values()}
    bench.advance(minutes=10)
    bench.pause(rollout)
    assert not bench.plane.world.events

    bench.resume(rollout)

    anew = list(bench.plane.world.events.values())
    assert len(anew) == 2
    assert before.isdisjoint(each.id for each in anew)
    assert {each.not_before for each in anew} == {NOON + minutes(25)}
    assert bench.run(rollout).state is RolloutState.COMPLETED


def test_aborting_is_final_and_recreates_nothing(bench: RolloutBench):
    rollout = bench.roll()

    bench.abort(rollout)
    bench.advance(days=3)

    assert bench.rollout(rollout).state is RolloutState.ABORTED
    assert [each.phase for each in bench.operations_of(rollout)] == [Phase.CANCELLED] * 2
    assert rollout not in bench.plane.world.rollouts
    assert "aborted by operator" in bench.rollout(rollout).reason
    said = resume_rollout(bench.plane, rollout, "operator")
    assert said is not None
    assert "is not open" in said.message


def test_a_host_that_fails_its_work_pauses_the_rollout_which_says_why(bench: RolloutBench):
    bench.machines.order("vm0-0-1", Trouble.FAILS)
    rollout = bench.roll(Kind.REBOOT)

    stopped = bench.run(rollout)

    assert stopped.state is RolloutState.PAUSED
    assert stopped.reason.startswith("1 host failed, and 0 may (host-0-1: vm0-0-1: ")
    assert "host-1-0" not in bench.started(rollout)


def test_a_resumed_rollout_forgives_the_failures_before():
    bench = RolloutBench(grid(domains=1, hosts_per_domain=3))
    bench.machines.order("vm0-0-1", Trouble.FAILS)
    rollout = bench.roll(Kind.FREEZE, max_parallel=1)
    assert bench.run(rollout).state is RolloutState.PAUSED

    bench.resume(rollout)

    over = bench.run(rollout)
    assert over.state is RolloutState.FAILED
    assert over.reason == "failed on host-0-1"
    assert bench.states(rollout) == {"host-0-0": "Done", "host-0-1": "Failed", "host-0-2": "Done"}


def test_a_rollout_goes_on_after_a_restart(bench: RolloutBench):
    rollout = bench.roll()
    bench.advance(minutes=20)
    bench.start_plane()

    assert bench.run(rollout).state is RolloutState.COMPLETED
    assert [bench.effects(name) for name in bench.plane.world.vms] == [["freeze"]] * 6


def test_what_an_aborted_rollout_had_started_ends_after_a_restart(bench: RolloutBench):
    rollout = bench.roll(Kind.REBOOT)
    bench.advance(minutes=15)
    bench.abort(rollout)
    bench.start_plane()
    bench.advance(minutes=5)

    assert list(bench.states(rollout).values()) == ["Done", "Done", "Waiting", "Waiting", "Waiting", "Waiting"]
    assert rollout not in bench.plane.world.rollouts


def test_a_host_that_fails_before_its_turn_is_skipped(bench: RolloutBench):
    rollout = bench.roll(max_unhealthy_percent=100)
    bench.fail("host-2-1")

    assert bench.run(rollout).state is RolloutState.COMPLETED
    assert bench.turns(rollout)["host-2-1"].reason == "host-2-1 has failed"
    assert bench.states(rollout)["host-2-1"] == "Skipped"


def test_an_operation_that_somebody_cancels_is_skipped_and_not_made_again(bench: RolloutBench):
    rollout = bench.roll()
    operation = bench.turns(rollout)["host-0-1"].operation
    assert not isinstance(cancel_operation(bench.plane, operation or "", "operator"), Refusal)

    assert bench.run(rollout).state is RolloutState.COMPLETED
    assert bench.turns(rollout)["host-0-1"].reason == "cancelled by operator"
    assert bench.effects("vm0-0-1") == []


def test_an_owner_that_redeploys_does_the_work_and_the_host_has_its_turn_without_it(bench: RolloutBench):
    rollout = bench.roll(Kind.REBOOT)
    bench.ask(Cause.STOP, "vm0-0-0")
    bench.advance(seconds=30)
    assert bench.states(rollout)["host-0-0"] == "Done"

    assert bench.run(rollout).state is RolloutState.COMPLETED
    assert bench.effects("vm0-0-0") == ["stop"]


def test_two_rollouts_take_turns_on_a_host(bench: RolloutBench):
    first = bench.roll(hosts=("host-0-0",), kind=Kind.REBOOT)
    second = bench.roll(hosts=("host-0-0",), kind=Kind.FREEZE)

    assert bench.waits(second) == [f"host-0-0, which another rollout is at work on until 12:15:00Z ({first[:8]})"]
    assert bench.run(first).state is RolloutState.COMPLETED
    assert bench.run(second).state is RolloutState.COMPLETED
    assert bench.effects("vm0-0-0") == ["reboot", "freeze"]


def with_minimum(least: int, hosts: int = 4) -> RolloutBench:
    described = grid(domains=1, hosts_per_domain=hosts)
    described["availability_sets"][0]["min_available"] = least
    return RolloutBench(described)


def test_a_minimum_makes_hosts_of_a_wave_wait_for_each_other_before_they_are_announced():
    bench = with_minimum(2)
    plan = bench.preview()
    rollout = bench.roll()

    assert list(bench.states(rollout).values()) == ["Open", "Open", "Waiting", "Waiting"]
    assert bench.waits(rollout)[0] == "set0 to have 3 available (its minimum is 2) for host-0-2"
    assert bench.run(rollout).state is RolloutState.COMPLETED
    ended = bench.ended(rollout)
    assert all(ended[row.stop.host.name] <= row.latest_end for row in plan.rows)


def test_a_rollout_that_would_break_a_minimum_for_ever_is_refused():
    said = with_minimum(4).refused()

    assert said.message == (
        "host-0-0 holds 1 VMs of set0, and its minimum lets 0 be away at once: "
        "the rollout would wait there for ever."
    )


def test_what_a_minimum_holds_is_announced_in_time_to_start_at_the_force_by_date():
    bench = with_minimum(4, hosts=4)
    force_by = NOON + minutes(60)
    rollout = bench.roll(force_by=force_by)

    assert bench.waits(rollout)[0] == (
        "set0 to have 5 available (its minimum is 4) for host-0-0, which is announced at 12:45:00Z all the same"
    )
    bench.advance(minutes=44, seconds=59)
    assert not bench.operations_of(rollout)
    bench.advance(seconds=1)
    (event,) = bench.plane.world.events.values()
    assert event.not_before == force_by
    bench.turn_on("vm0-0-0")
    bench.approve("vm0-0-0", event)
    assert not bench.started(rollout)  # approval does not outrank a minimum, only the date does
    assert bench.run(rollout).state is RolloutState.COMPLETED
    assert bench.started(rollout)["host-0-0"] == force_by


def test_a_host_that_was_postponed_holds_up_nobody_but_itself(bench: RolloutBench):
    rollout = bench.roll(Kind.REBOOT, max_parallel=1)
    event = next(iter(bench.plane.world.events.values()))
    assert not isinstance(
        postpone_event(bench.plane, event.id, Postponement(by=timedelta(days=2)), "owner"), Refusal
    )
    bench.plane.tick()

    assert bench.states(rollout)["host-0-0"] == "Postponed"
    assert bench.states(rollout)["host-0-1"] == "Open"
    bench.advance(hours=10)
    assert list(bench.states(rollout).values()) == ["Postponed", *["Done"] * 5]
    assert bench.rollout(rollout).state is RolloutState.RUNNING
    assert bench.waits(rollout)[0].startswith("host-0-0: approval from vm0-0-0 (scope set0) until 2026-03-04")
    assert bench.run(rollout).state is RolloutState.COMPLETED
    assert bench.effects("vm0-0-0") == ["reboot"]


def test_a_postponement_ends_at_the_force_by_date(bench: RolloutBench):
    bench.roll(force_by=NOON + minutes(90))
    event = next(iter(bench.plane.world.events.values()))

    said = postpone_event(bench.plane, event.id, Postponement(by=timedelta(days=2)), "owner")

    assert said is not None
    assert "can be put off to 13:30:00Z at the latest" in said.message
