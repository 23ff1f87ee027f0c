"""Clients that an answer told to come back later: who waits as told is not blamed for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forewarn.board.board import Guest
from forewarn.core.phase import Phase
from forewarn.core.terms import Kind
from forewarn.report.moment import Pace
from forewarn.testing import Refused, Service
from tests.report.notes import codes as codes_of
from tests.report.stage import POLL, Stage, approval


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def guest(stage: Stage) -> Guest:
    """One that has asked once a second so far."""
    guest = stage.guest()
    poll_for(stage, guest, 10)
    return guest


def poll_for(stage: Stage, guest: Guest, seconds: int, every: int = 1) -> None:
    for _ in range(0, seconds, every):
        stage.poll(guest)
        stage.pass_time(every, real=every)


def tell_to_wait(stage: Stage, guest: Guest, seconds: float, fault: str = "status") -> None:
    stage.poll(guest, 429, fault, wait_seconds=seconds)


def codes(stage: Stage, pace: Pace = Pace.VIRTUAL) -> set[str]:
    return codes_of(stage.notes(), stage.conduct.now(), pace)


@pytest.mark.parametrize("wait", [5, 60, 300])
def test_guest_that_obeys_retry_after_is_good(wait: int):
    with Service() as service:
        vm = service.vm("web_0")
        for second in range(400):
            if second == 100:
                service.fault("status", vm, code=429, retry_after=wait, count=1)
                with pytest.raises(Refused, match="answered 429"):
                    vm.document()
            elif not 100 < second < 100 + wait:
                vm.document()
            service.clock.advance(seconds=1)
        report = service.report(vm)

    assert (report.is_good, report.faults, report.remarks) == (True, [], [])
    polls = report.json["polls"]
    assert (polls["usual_gap_seconds"], polls["longest_gap_seconds"]) == (1, 1)


def test_waiting_guest_has_neither_stopped_nor_given_up(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    stage.pass_time(299)

    assert codes(stage) == set()


@pytest.mark.parametrize(("late", "found"), [(60, set()), (61, {"gave_up_after_errors"})])
def test_guest_that_does_not_return_after_the_wait_has_given_up(
    stage: Stage, guest: Guest, late: int, found: set[str]
):
    tell_to_wait(stage, guest, 300)
    stage.pass_time(300 + late)

    assert codes(stage) == found


@pytest.mark.parametrize(("late", "found"), [(29, set()), (30, {"long_gap"})])
def test_time_beyond_the_wait_is_a_gap(stage: Stage, guest: Guest, late: int, found: set[str]):
    tell_to_wait(stage, guest, 60)
    stage.pass_time(60 + late)
    stage.poll(guest)

    assert codes(stage) == found
    assert stage.notes().timing(Pace.VIRTUAL).gaps[-1] == late


def test_slow_guest_is_slow_despite_short_waits(stage: Stage):
    guest = stage.guest()
    for _ in range(5):
        tell_to_wait(stage, guest, 1)
        stage.pass_time(45)
    stage.poll(guest)

    assert codes(stage) == {"too_slow"}


def test_wait_is_counted_by_the_chosen_clock(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 60)
    stage.pass_time(3600, real=59)

    assert codes(stage, Pace.REAL) == set()
    assert codes(stage, Pace.VIRTUAL) == {"gave_up_after_errors"}


def test_early_poll_ends_the_wait(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    stage.pass_time(5, real=5)
    stage.poll(guest)
    stage.pass_time(90, real=90)

    assert codes(stage) == {"long_gap"}


def test_answer_to_an_earlier_request_does_not_end_the_wait(stage: Stage, guest: Guest):
    earlier = stage.ask(guest, POLL)
    stage.pass_time(1, real=1)
    tell_to_wait(stage, guest, 300)
    stage.conduct.note(earlier, 304, b"")
    stage.pass_time(200, real=200)

    assert codes(stage) == set()


def test_answer_to_an_approval_may_start_a_wait(stage: Stage, guest: Guest):
    exchange = stage.ask(guest, approval("ID"))
    stage.conduct.note(exchange, 503, b"", "status", wait_seconds=120)
    stage.pass_time(120)
    stage.poll(guest)

    assert codes(stage) == set()


def test_event_during_a_wait_by_a_fault_is_not_blamed_on_the_guest(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    stage.pass_time(10)
    event = replace(stage.announce("ID", "web-0"), kind=Kind.PREEMPT)
    stage.pass_time(40)
    meanwhile = codes(stage)
    for phase in (Phase.STARTED, Phase.COMPLETED):
        stage.commit(replace(event, phase=phase))
        stage.pass_time(30)

    assert meanwhile == set()
    assert codes(stage) == {"hindered_by_faults"}


def test_event_started_during_the_wait_is_not_learned_late(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    event = stage.announce("ID", "web-0")
    stage.pass_time(100)
    stage.commit(replace(event, phase=Phase.STARTED))
    stage.pass_time(200)
    stage.poll(guest)

    assert codes(stage) == {"hindered_by_faults"}


def test_guest_that_did_not_wait_has_no_excuse(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    event = stage.announce("ID", "web-0")
    stage.pass_time(1, real=1)
    poll_for(stage, guest, 100)
    stage.commit(replace(event, phase=Phase.STARTED))
    stage.approve(guest, "ID")

    assert codes(stage) == {"approved_late"}


def test_wait_without_a_fault_is_no_excuse(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 1, fault="")
    event = stage.announce("ID", "web-0")
    for phase in (Phase.STARTED, Phase.COMPLETED):
        stage.pass_time(15)
        stage.commit(replace(event, phase=phase))

    assert "missed_event" in codes(stage)
