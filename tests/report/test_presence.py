"""The time in which a guest could have asked counts, and no other: machines that are down or paused cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forewarn.core.phase import Phase
from forewarn.core.terms import Action
from forewarn.report.moment import Pace
from forewarn.report.views import report_on
from forewarn.testing import Service
from tests.report.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.parametrize(("seconds", "faults"), [(1, []), (5, []), (20, ["too_slow"]), (45, ["too_slow"])])
def test_polls_during_an_own_event_are_judged_as_usual(seconds: int, faults: list[str]):
    with Service(simulated_seconds={"freeze": 595}) as service:
        vm = service.vm("web_0")
        event = service.maintain(vm, "Freeze")
        vm.document()
        vm.approve(event)
        event.expect("Started")
        for _ in range(0, 500, seconds):
            vm.document()
            service.clock.advance(seconds=seconds)
        report = service.report(vm)

    assert report.faults == faults
    polls = report.json["polls"]
    assert (polls["usual_gap_seconds"], polls["longest_gap_seconds"]) == (seconds, seconds)


def test_started_event_alone_is_no_absence(stage: Stage):
    guest = stage.guest()
    event = stage.announce("ID", "web-0")
    stage.poll(guest)
    stage.commit(replace(event, phase=Phase.STARTED))
    stage.pass_time(40)
    stage.poll(guest)

    assert list(stage.notes().timing(Pace.VIRTUAL).gaps) == [40]


@pytest.mark.parametrize("action", [Action.REBOOT, Action.REDEPLOY, Action.STOP, Action.RESTORE])
def test_vm_is_away_during_an_action(stage: Stage, action: Action):
    guest = stage.guest()
    stage.poll(guest)
    stage.pass_time(5)
    attempt = stage.touch("web-0", action)
    stage.pass_time(60)
    stage.release(attempt)
    stage.pass_time(3)
    stage.poll(guest)

    assert (list(stage.notes().timing(Pace.VIRTUAL).gaps), stage.notes().timing(Pace.VIRTUAL).longest_gap) == (
        [],
        5,
    )


@pytest.mark.parametrize("action", [Action.FREEZE, Action.MIGRATE])
@pytest.mark.parametrize(
    ("announced", "longest"), [(30, 80 + 5), (0, 10 + 110), (-1, 101 + 5)], ids=["30 s", "nothing", "unknown"]
)
def test_pause_lasts_as_long_as_announced(stage: Stage, action: Action, announced: int, longest: int):
    guest = stage.guest()
    stage.poll(guest)
    stage.pass_time(5)
    attempt = stage.touch("web-0", action, announced)
    stage.pass_time(110)
    stage.release(attempt)
    stage.pass_time(5)
    stage.poll(guest)

    assert stage.notes().timing(Pace.VIRTUAL).longest_gap == longest


def test_pause_ends_with_its_action(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)
    attempt = stage.touch("web-0", Action.FREEZE, 30)
    stage.pass_time(10)
    stage.release(attempt)
    stage.pass_time(25)
    stage.poll(guest)

    assert stage.notes().timing(Pace.VIRTUAL).longest_gap == 25


def test_pause_ends_by_both_clocks(stage: Stage):
    guest = stage.guest()
    stage.poll(guest)
    stage.touch("web-0", Action.FREEZE, 60)
    stage.pass_time(240, real=4)

    (absence,) = stage.notes().presence.absences

    assert (absence.until.virtual - absence.since.virtual, absence.until.real - absence.since.real) == (60, 1)
    assert (absence.until.at - absence.since.at).total_seconds() == 60


def test_polls_only_during_an_absence_have_no_gap(stage: Stage):
    guest = stage.guest()
    stage.touch("web-0", Action.REBOOT)
    for _ in range(3):
        stage.poll(guest)
        stage.pass_time(20)

    report = report_on(stage.notes(), stage.conduct.now(), Pace.VIRTUAL)

    assert (report.polls.usual_gap_seconds, report.polls.longest_gap_seconds) == (None, None)
    assert (report.polls.count, report.polls.since_last_seconds) == (3, 20)


def test_vm_first_polling_during_an_action_is_away(stage: Stage):
    attempt = stage.touch("web-0", Action.REBOOT)
    guest = stage.guest()
    stage.poll(guest)
    stage.pass_time(50)
    stage.release(attempt)
    stage.pass_time(4)
    stage.poll(guest)

    assert stage.notes().timing(Pace.VIRTUAL).longest_gap == 4
