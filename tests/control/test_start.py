"""When an operation may start: approvals, notices, scopes that are off, and what else holds it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.control.commands.fleet import apply_fleet
from forewarn.core.phase import Phase
from forewarn.core.terms import Action, Cause, Kind
from tests.control.bench import NOON, WEB, Bench, fleet, vm


def test_approval_of_every_scope_on_a_shared_host_starts_the_operation():
    bench = Bench(WEB)
    bench.turn_on("web-0", "solo")
    freeze = bench.maintain("host-0")
    for_web, for_solo = bench.events(freeze)

    bench.approve("web-2", for_web)
    after_one = bench.phases(freeze)
    bench.approve("solo", for_solo)

    assert after_one == ["Scheduled", "Scheduled"]
    assert bench.phases(freeze) == ["Started", "Started"]


def test_a_scope_that_is_off_gates_nobody():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")
    for_web, _ = bench.events(freeze)

    bench.approve("web-0", for_web)

    assert bench.phases(freeze) == ["Started", "Started"]


def test_where_no_scope_is_on_the_notice_still_runs_out():
    bench = Bench(WEB)
    freeze = bench.maintain("host-0")

    bench.advance(minutes=14, seconds=59)
    before = bench.phases(freeze)
    bench.advance(seconds=1)

    assert before == ["Scheduled", "Scheduled"]
    assert bench.phases(freeze) == ["Started", "Started"]


def test_a_scope_that_comes_on_while_an_event_is_open_is_waited_for_from_then_on():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")
    for_web, for_solo = bench.events(freeze)
    bench.turn_on("solo")

    bench.approve("web-0", for_web)

    assert bench.waiting_for(freeze) == ["approval from solo (scope solo) until 12:15:00Z"]
    bench.approve("solo", for_solo)
    assert bench.phases(freeze) == ["Started", "Started"]


def test_what_starts_by_time_alone_starts_when_every_notice_has_run_out():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")
    bench.advance(minutes=10)
    moved = {**WEB, "vms": [{**each, "host": "host-0"} if each["name"] == "spot" else each for each in WEB["vms"]]}
    from forewarn.wire.fleet_file import read_json  # noqa: PLC0415 - only here

    apply_fleet(bench.plane, read_json(moved).spec, "operator")

    bench.advance(minutes=6)
    after_the_first = bench.phases(freeze)
    bench.advance(minutes=9)

    assert after_the_first == ["Scheduled"] * 3  # spot's own notice began when it landed, though spot is off
    assert bench.phases(freeze) == ["Started"] * 3


def test_started_is_visible_for_the_lead_before_a_machine_is_touched():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.approve("solo", bench.event(restart))

    bench.advance(seconds=4.9)
    before = bench.effects("solo")
    bench.advance(seconds=0.1)

    assert (before, bench.effects("solo")) == ([], ["reboot"])


def test_the_event_leaves_the_document_when_the_action_is_over():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.approve("solo", bench.event(restart))

    bench.advance(seconds=64)
    before = bench.event(restart).phase
    bench.advance(seconds=1)

    assert (before, bench.event(restart).phase) == (Phase.STARTED, Phase.COMPLETED)


@pytest.mark.parametrize(("kind", "seconds"), [(Kind.FREEZE, 9), (Kind.REBOOT, 60), (Kind.REDEPLOY, 120)], ids=str)
def test_how_long_a_simulated_action_takes(kind: Kind, seconds: int):
    bench = Bench(fleet(vm("solo")))
    work = bench.maintain("host-0", kind)

    bench.advance(minutes=15, seconds=5 + seconds)

    assert bench.operation(work).phase is Phase.COMPLETED
    assert bench.operation(work).ended_at == bench.operation(work).started_at + timedelta(seconds=5 + seconds)


def test_work_on_a_host_without_vms_disturbs_nobody_and_is_done_at_once():
    bench = Bench(WEB)

    work = bench.maintain("host-3")
    bench.advance(seconds=0)

    assert bench.operation(work).phase is Phase.COMPLETED
    assert bench.events(work) == []


# Terminates.

POOL = fleet(
    hosts=2,
    scale_sets=[{"name": "pool", "capacity": 3, "hosts": ["host-0"], "terminate_notification": "PT5M"}],
)


def test_an_approved_terminate_waits_for_another_that_is_not():
    bench = Bench(POOL)
    bench.turn_on("pool_0")
    first, second = bench.ask(Cause.DELETE, "pool_0"), bench.ask(Cause.DELETE, "pool_1")

    bench.approve("pool_0", bench.event(first))
    alone = bench.phases(first)
    waits = bench.waiting_for(first)
    bench.approve("pool_0", bench.event(second))

    assert alone == ["Scheduled"]
    assert waits == [f"approval of the Terminate of pool_1 ({bench.event(second).short_id}) until 12:05:00Z"]
    assert (bench.phases(first), bench.phases(second)) == (["Started"], ["Started"])


def test_terminates_hold_each_other_no_longer_than_until_their_own_not_before():
    bench = Bench(POOL)
    bench.turn_on("pool_0")
    first = bench.ask(Cause.DELETE, "pool_0")
    bench.approve("pool_0", bench.event(first))
    later = bench.ask(Cause.DELETE, "pool_1")
    bench.advance(minutes=4)
    latest = bench.ask(Cause.DELETE, "pool_2")
    bench.approve("pool_0", bench.event(later))

    held = (bench.phases(later), bench.phases(latest))
    bench.advance(minutes=1)

    assert bench.phases(first) == ["Completed"]
    assert held == (["Scheduled"], ["Scheduled"])
    assert (bench.phases(later), bench.phases(latest)) == (["Started"], ["Scheduled"])


# Update domains.


def test_planned_work_waits_while_another_update_domain_of_the_set_is_down():
    bench = Bench(WEB)
    bench.turn_on("web-0", "solo")
    first, second = bench.maintain("host-1", Kind.REBOOT), bench.maintain("host-2", Kind.REBOOT)

    bench.advance(minutes=15)
    started = [bench.phases(first), bench.phases(second)]
    waits = bench.waiting_for(second)
    bench.advance(seconds=66)

    assert started == [["Started", "Started"], ["Scheduled"]]
    assert waits == ["update domain 1 of web, which is down until Reboot of host-1 ends (web-1)"]
    assert bench.phases(second) == ["Started"]


def test_user_operations_are_not_held_by_update_domains():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    planned = bench.maintain("host-1", Kind.REBOOT)
    restart = bench.ask(Cause.RESTART, "web-2")

    bench.approve("web-0", *bench.events(planned)[:1])
    bench.approve("web-0", bench.event(restart))

    assert (bench.phases(planned)[0], bench.phases(restart)) == ("Started", ["Started"])


def test_a_vm_that_its_owner_stopped_is_not_down():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    bench.ask(Cause.STOP, "web-1")
    bench.advance(seconds=10)
    planned = bench.maintain("host-2", Kind.REBOOT)

    bench.approve("web-0", bench.event(planned))

    assert bench.phases(planned) == ["Started"]


def test_planned_work_waits_for_a_vm_of_another_domain_whose_host_has_failed():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    planned = bench.maintain("host-2", Kind.REBOOT)
    bench.fail("host-1")

    bench.approve("web-0", bench.event(planned))
    held = bench.phases(planned)
    bench.advance(seconds=130)

    assert held == ["Scheduled"]
    assert bench.phases(planned) == ["Started"]


def test_two_update_domains_on_one_host_make_an_event_each_and_start_when_both_are_cleared():
    crowded = fleet(
        vm("web-0", availability_set="web"),
        vm("web-1", availability_set="web"),
        availability_sets=[{"name": "web", "spread": False}],
    )
    bench = Bench(crowded)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")
    one, other = bench.events(freeze)

    bench.approve("web-0", one)
    after_one = bench.phases(freeze)
    bench.approve("web-0", other)

    assert ([one.resources, other.resources], one.update_domain, other.update_domain) == (
        [("web-0",), ("web-1",)],
        0,
        1,
    )
    assert after_one == ["Scheduled", "Scheduled"]
    assert bench.phases(freeze) == ["Started", "Started"]


def test_all_that_holds_an_operation_is_said_with_names_and_times():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    bench.maintain("host-1", Kind.REBOOT)
    bench.advance(minutes=15)
    planned = bench.maintain("host-2", Kind.REBOOT)

    assert bench.clock.now() == NOON + timedelta(minutes=15)
    assert bench.waiting_for(planned) == [
        "approval from web-2 (scope web) until 12:30:00Z",
        "update domain 1 of web, which is down until Reboot of host-1 ends (web-1)",
    ]


def test_a_simulated_freeze_takes_what_it_announces_unless_it_is_told_otherwise():
    slow = {Action.FREEZE: 600.0}
    usual, told = Bench(WEB), Bench(WEB, wrap=lambda driver: replace(driver, seconds=slow))

    ends = []
    for bench in (usual, told):
        freeze = bench.maintain("host-0", duration_seconds=9)
        bench.advance(minutes=40)
        ends.append(bench.operation(freeze).ended_at)

    assert ends == [NOON + timedelta(minutes=15, seconds=14), NOON + timedelta(minutes=25, seconds=5)]
