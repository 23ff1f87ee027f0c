"""Hosts that are expected to fail: one incident each, pulled nearer as the risk grows, not too many at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from forewarn.control.commands.events import cancel_operation
from forewarn.control.commands.hosts import recover_host
from forewarn.control.commit import Accepted
from forewarn.core.notice import Limits
from forewarn.core.phase import Phase
from forewarn.core.refusal import Code, Refusal
from forewarn.core.terms import Cause, Condition, Kind, Risk
from forewarn.store.tables import events, operations
from tests.control.bench import NOON, WEB, Bench, fleet, vm

WEEK, DAY, LEAST = timedelta(days=7), timedelta(days=1), timedelta(minutes=10)


def refusal(outcome: object) -> Refusal:
    assert isinstance(outcome, Refusal), outcome
    return outcome


@pytest.fixture
def bench() -> Bench:
    made = Bench(WEB)
    made.turn_on("web-0", "solo", "spot")
    return made


@pytest.mark.parametrize(
    ("risk", "notice"), [(None, WEEK), (Risk.LOW, WEEK), (Risk.HIGH, DAY), (Risk.IMMINENT, LEAST)]
)
def test_a_risk_says_how_long_ahead_the_vms_are_told(bench: Bench, risk: Risk | None, notice: timedelta):
    told = bench.events(bench.degrade("host-1", risk))

    assert [event.not_before for event in told] == [NOON + notice] * 2
    assert {event.kind for event in told} == {Kind.REDEPLOY}


def test_imminent_is_the_least_notice_that_the_rules_give_a_redeploy():
    least = {**Limits().least_notice, Kind.REDEPLOY: timedelta(minutes=20)}
    bench = Bench(WEB, Limits(least_notice=least))

    told = bench.events(bench.degrade("host-2", Risk.IMMINENT))

    assert [event.not_before for event in told] == [NOON + timedelta(minutes=20)]


def test_the_same_report_twice_is_one_incident_and_changes_nothing(bench: Bench):
    first = bench.degrade("host-1", Risk.HIGH)
    bench.advance(hours=1)
    number = bench.plane.world.number

    again = [bench.degrade("host-1", Risk.HIGH), bench.degrade("host-1", Risk.LOW), bench.degrade("host-1")]

    assert [bench.operation(each).id for each in again] == [bench.operation(first).id] * 3
    assert [event.not_before for event in bench.events(first)] == [NOON + DAY] * 2
    assert bench.plane.world.number == number


def test_a_growing_risk_pulls_all_events_of_the_move_nearer_and_the_audit_says_why(bench: Bench):
    first = bench.degrade("host-1")
    bench.advance(hours=1)
    before = bench.plane.world.scopes["web"].incarnation

    again = bench.degrade("host-1", Risk.IMMINENT)

    told = bench.events(first)
    wanted = NOON + timedelta(hours=1) + LEAST
    assert bench.operation(again).id == bench.operation(first).id
    assert [(event.not_before, event.promised_at) for event in told] == [(wanted, wanted)] * 2
    assert bench.plane.world.scopes["web"].incarnation == before + 1
    assert bench.audit(first)[-1] == (
        "pull nearer",
        "host-1",
        "the risk is imminent: not before 13:10:00Z instead of 2026-03-09 12:00:00Z",
    )


def test_a_move_that_was_pulled_nearer_starts_by_its_new_notice_and_no_sooner(bench: Bench):
    move = bench.degrade("host-1")
    bench.degrade("host-1", minutes=30)

    bench.advance(minutes=29, seconds=59)
    waits = bench.phases(move)
    bench.advance(seconds=1)

    assert waits == ["Scheduled", "Scheduled"]
    assert bench.phases(move) == ["Started", "Started"]


def test_a_pull_that_the_notice_in_force_is_nearer_than_changes_nothing(bench: Bench):
    move = bench.degrade("host-1", minutes=30)
    bench.advance(minutes=25)

    bench.degrade("host-1", Risk.IMMINENT)

    assert [event.not_before for event in bench.events(move)] == [NOON + timedelta(minutes=30)] * 2


def test_a_risk_that_grows_once_the_move_has_started_changes_nothing(bench: Bench):
    move = bench.degrade("host-2")
    bench.approve("web-0", bench.event(move))
    number = bench.plane.world.number

    again = bench.degrade("host-2", Risk.IMMINENT)

    assert bench.operation(again).id == bench.operation(move).id
    assert bench.plane.world.number == number


def test_a_pulled_notice_that_may_never_have_been_shown_is_given_anew_after_a_restart(bench: Bench):
    move = bench.degrade("host-2")
    bench.plane.flush()
    bench.degrade("host-2", Risk.IMMINENT)
    bench.clock.move_to(NOON + timedelta(hours=2))

    bench.start_plane()

    assert bench.event(move).not_before == NOON + timedelta(hours=2) + LEAST
    assert bench.phases(move) == ["Scheduled"]


def test_a_pulled_notice_that_was_shown_keeps_its_not_before_over_a_restart(bench: Bench):
    move = bench.degrade("host-2")
    bench.degrade("host-2", minutes=30)
    bench.plane.flush()
    bench.advance(minutes=10)

    bench.start_plane()

    assert bench.event(move).not_before == NOON + timedelta(minutes=30)


def test_a_pull_after_a_clock_step_gives_the_least_notice_by_the_new_time(bench: Bench):
    move = bench.degrade("host-2")
    bench.clock.step(timedelta(days=6, hours=23))

    bench.degrade("host-2", Risk.IMMINENT)
    bench.advance(minutes=9, seconds=59)
    waits = bench.phases(move)
    bench.advance(seconds=1)

    assert waits == ["Scheduled"]
    assert bench.phases(move) == ["Started"]


@pytest.mark.parametrize("reports", [1, 2])
def test_an_emptied_host_that_is_reported_again_is_still_the_same_incident(bench: Bench, reports: int):
    move = bench.degrade("host-2")
    bench.approve("web-0", bench.event(move))
    bench.advance(minutes=3)
    number = bench.plane.world.number

    again = [bench.degrade("host-2", Risk.HIGH) for _ in range(reports)]

    assert bench.operation(move).phase is Phase.COMPLETED
    assert {bench.operation(each).id for each in again} == {bench.operation(move).id}
    assert bench.plane.world.number == number


def test_an_incident_that_nobody_remembers_is_announced_once_more_and_disturbs_nobody(bench: Bench):
    move = bench.degrade("host-3")
    with bench.store.transaction() as transaction:
        for table in (events, operations):
            transaction.connection.execute(sa.delete(table))

    again = bench.degrade("host-3")

    assert isinstance(move, Accepted)
    assert bench.operation(again).id != move.operation.id
    assert (bench.operation(again).phase, bench.events(again)) == (Phase.COMPLETED, [])


def test_a_move_that_was_called_off_is_announced_anew_by_the_next_report(bench: Bench):
    move = bench.degrade("host-2")
    cancel_operation(bench.plane, bench.operation(move).id, "operator")

    again = bench.degrade("host-2", Risk.HIGH)

    assert bench.operation(again).id != bench.operation(move).id
    assert bench.event(again).not_before == NOON + DAY


def test_a_guests_approval_does_the_move_then_and_ends_the_event(bench: Bench):
    move = bench.degrade("host-2")

    bench.approve("web-1", bench.event(move))
    bench.advance(seconds=130)

    assert bench.phases(move) == ["Completed"]
    assert bench.vm("web-2").host != "host-2"
    assert bench.effects("web-2") == ["redeploy"]


@pytest.mark.parametrize("cause", [Cause.REDEPLOY, Cause.STOP, Cause.DEALLOCATE])
def test_the_owners_own_redeploy_or_stop_does_the_move_then_and_ends_the_event(bench: Bench, cause: Cause):
    move = bench.degrade("host-2")
    own = bench.ask(cause, "web-2")
    if bench.events(own):
        bench.approve("web-0", bench.event(own))

    bench.advance(minutes=3)
    ended = bench.phases(move)
    bench.advance(days=8)

    assert ended == ["Cancelled"]
    assert bench.event(move).reason == f"the {cause} of web-2 did the work"
    assert bench.operation(move).phase is Phase.COMPLETED
    assert len(bench.effects("web-2")) == 1


def test_a_host_that_has_failed_cannot_be_called_degraded(bench: Bench):
    bench.fail("host-2")

    assert refusal(bench.degrade("host-2")).message == "host-2 has failed already."


def test_a_risk_and_a_notice_are_not_both_taken(bench: Bench):
    said = refusal(bench.degrade("host-2", Risk.HIGH, hours=3))

    assert said.code is Code.BAD_REQUEST
    assert bench.plane.world.hosts["host-2"].condition is Condition.UP


# The circuit breaker.


def many(hosts: int, **limits: float) -> Bench:
    return Bench(fleet(vm("solo"), hosts=hosts), Limits(**limits))  # type: ignore[arg-type]


def test_one_sick_host_too_many_is_refused_with_the_hosts_and_the_limit():
    bench = many(20)
    for number in range(4):
        bench.degrade(f"host-{number}")
    bench.fail("host-4")

    said = refusal(bench.degrade("host-5"))

    assert said.code is Code.LIMIT_REACHED
    assert said.message == (
        "host-5 is not called degraded: 5 hosts are sick already, host-0 (degraded), host-1 (degraded), "
        "host-2 (degraded), host-3 (degraded), host-4 (failed), and the limit is 5 (10 % of 20 hosts, and never "
        "fewer than 5)."
    )
    assert bench.plane.world.hosts["host-5"].condition is Condition.UP


@pytest.mark.parametrize(("hosts", "percent", "limit"), [(20, 10, 5), (70, 10, 7), (79, 10, 7), (20, 50, 10)])
def test_the_limit_is_a_share_of_the_hosts_and_never_fewer_than_five(hosts: int, percent: float, limit: int):
    bench = many(hosts, sick_host_percent=percent)

    accepted = [isinstance(bench.degrade(f"host-{n}"), Accepted) for n in range(limit + 1)]

    assert accepted == [True] * limit + [False]


def test_a_limit_of_0_lets_any_number_be_sick():
    bench = many(12, sick_host_percent=0)

    assert all(isinstance(bench.degrade(f"host-{n}"), Accepted) for n in range(12))


def test_who_says_anyway_is_believed_and_a_known_incident_is_never_one_too_many():
    bench = many(12)
    for number in range(5):
        bench.degrade(f"host-{number}")

    anyway, known = bench.degrade("host-5", anyway=True), bench.degrade("host-0", Risk.HIGH)

    assert isinstance(anyway, Accepted)
    assert isinstance(known, Accepted)


def test_a_host_that_recovers_is_not_counted_any_more_and_one_that_fails_is_never_refused():
    bench = many(12)
    for number in range(5):
        bench.degrade(f"host-{number}")
    recover_host(bench.plane, "host-0", "operator")

    accepted, failed = bench.degrade("host-5"), bench.fail("host-6")

    assert isinstance(accepted, Accepted)
    assert isinstance(failed, Accepted)


# Failed hosts.


@pytest.mark.parametrize("kind", [Kind.REBOOT, Kind.REDEPLOY])
def test_who_says_that_a_host_failed_may_say_what_its_guests_are_told(bench: Bench, kind: Kind):
    failure = bench.fail("host-2", kind)

    told = bench.event(failure)
    bench.advance(seconds=130)

    assert (told.kind, told.phase) == (kind, Phase.STARTED)
    assert bench.phases(failure) == ["Completed"]
    assert bench.vm("web-2").host != "host-2"


def test_a_failed_host_is_told_as_the_rules_say_when_nobody_says_otherwise():
    bench = Bench(WEB, Limits(failed_host_kind=Kind.REBOOT))

    assert bench.event(bench.fail("host-2")).kind is Kind.REBOOT
