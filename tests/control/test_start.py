"""When an operation may start: approvals, notices, scopes that are off, and what else holds it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.core.phase import Phase
from forewarn.core.terms import Action, Cause, Kind
from tests.control.bench import NOON, WEB, Bench, fleet, vm


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


# Update domains.


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


def test_a_simulated_freeze_takes_what_it_announces_unless_it_is_told_otherwise():
    slow = {Action.FREEZE: 600.0}
    usual, told = Bench(WEB), Bench(WEB, wrap=lambda driver: replace(driver, seconds=slow))

    ends = []
    for bench in (usual, told):
        freeze = bench.maintain("host-0", duration_seconds=9)
        bench.advance(minutes=40)
        ends.append(bench.operation(freeze).ended_at)

    assert ends == [NOON + timedelta(minutes=15, seconds=14), NOON + timedelta(minutes=25, seconds=5)]
