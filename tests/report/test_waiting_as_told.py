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
def test_who_obeys_retry_after_is_good(wait: int):
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


def test_who_waits_as_told_has_neither_stopped_asking_nor_given_up(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    stage.pass_time(299)

    assert codes(stage) == set()


@pytest.mark.parametrize(("late", "found"), [(60, set()), (61, {"gave_up_after_errors"})])
def test_who_does_not_come_back_after_the_wait_has_given_up(
    stage: Stage, guest: Guest, late: int, found: set[str]
):
    tell_to_wait(stage, guest, 300)
    stage.pass_time(300 + late)

    assert codes(stage) == found


@pytest.mark.parametrize(("late", "found"), [(29, set()), (30, {"long_gap"})])
def test_what_it_waits_beyond_that_is_a_gap(stage: Stage, guest: Guest, late: int, found: set[str]):
    tell_to_wait(stage, guest, 60)
    stage.pass_time(60 + late)
    stage.poll(guest)

    assert codes(stage) == found
    assert stage.notes().timing(Pace.VIRTUAL).gaps[-1] == late


def test_who_is_slow_is_so_though_every_answer_asks_for_a_short_wait(stage: Stage):
    guest = stage.guest()
    for _ in range(5):
        tell_to_wait(stage, guest, 1)
        stage.pass_time(45)
    stage.poll(guest)

    assert codes(stage) == {"too_slow"}


def test_a_wait_is_of_the_seconds_of_the_pace(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 60)
    stage.pass_time(3600, real=59)

    assert codes(stage, Pace.REAL) == set()
    assert codes(stage, Pace.VIRTUAL) == {"gave_up_after_errors"}


def test_who_asks_before_its_time_waits_no_more(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    stage.pass_time(5, real=5)
    stage.poll(guest)
    stage.pass_time(90, real=90)

    assert codes(stage) == {"long_gap"}


def test_the_answer_to_an_earlier_question_does_not_end_the_wait(stage: Stage, guest: Guest):
    earlier = stage.ask(guest, POLL)
    stage.pass_time(1, real=1)
    tell_to_wait(stage, guest, 300)
    stage.conduct.note(earlier, 304, b"")
    stage.pass_time(200, real=200)

    assert codes(stage) == set()


def test_the_answer_to_an_approval_may_ask_for_a_wait_too(stage: Stage, guest: Guest):
    exchange = stage.ask(guest, approval("ID"))
    stage.conduct.note(exchange, 503, b"", "status", wait_seconds=120)
    stage.pass_time(120)
    stage.poll(guest)

    assert codes(stage) == set()


def test_what_came_and_went_in_a_wait_that_a_fault_asked_for_is_not_held_against_the_guest(
    stage: Stage, guest: Guest
):
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


def test_what_had_started_when_the_wait_was_over_was_not_learned_of_late(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    event = stage.announce("ID", "web-0")
    stage.pass_time(100)
    stage.commit(replace(event, phase=Phase.STARTED))
    stage.pass_time(200)
    stage.poll(guest)

    assert codes(stage) == {"hindered_by_faults"}


def test_who_did_not_wait_answers_for_what_it_makes_of_its_events(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 300)
    event = stage.announce("ID", "web-0")
    stage.pass_time(1, real=1)
    poll_for(stage, guest, 100)
    stage.commit(replace(event, phase=Phase.STARTED))
    stage.approve(guest, "ID")

    assert codes(stage) == {"approved_late"}


def test_a_wait_that_no_fault_asked_for_excuses_no_missed_event(stage: Stage, guest: Guest):
    tell_to_wait(stage, guest, 1, fault="")
    event = stage.announce("ID", "web-0")
    for phase in (Phase.STARTED, Phase.COMPLETED):
        stage.pass_time(15)
        stage.commit(replace(event, phase=phase))

    assert "missed_event" in codes(stage)
