"""Postponing planned work: once per event, for the whole operation, and not beyond a deadline."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.control.commands.events import postpone_event
from forewarn.control.commands.fleet import apply_fleet
from forewarn.core.notice import Limits
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.postpone import Postponement
from forewarn.core.terms import Cause, Kind, Risk
from forewarn.wire.fleet_file import read_json
from tests.control.bench import NOON, WEB, Bench


def refusal(outcome: object) -> Refusal:
    assert isinstance(outcome, Refusal), outcome
    return outcome


def after(**duration: float):
    return NOON + timedelta(**duration)


@pytest.fixture
def bench() -> Bench:
    made = Bench(WEB)
    made.turn_on("web-0", "solo", "spot")
    return made


def test_a_postponed_event_takes_all_events_of_its_operation_along(bench: Bench):
    freeze = bench.maintain("host-0")
    web, _ = bench.events(freeze)

    outcome = bench.postpone(web, hours=2, reason="we sell tickets at noon")

    moved = bench.events(freeze)
    assert outcome is None
    assert [event.not_before for event in moved] == [after(hours=2, minutes=15)] * 2
    assert [event.promised_at for event in moved] == [after(hours=2, minutes=15)] * 2
    assert [(event.postponed_by, event.postponed_at) for event in moved] == [("owner", NOON), (None, None)]
    assert [event.postponed_from for event in moved] == [after(minutes=15)] * 2
    assert bench.audit(freeze)[-1] == (
        "postpone",
        "Freeze of host-0",
        "not before 14:15:00Z instead of 12:15:00Z: we sell tickets at noon",
    )


def test_postponed_work_starts_at_its_new_not_before_and_no_sooner(bench: Bench):
    freeze = bench.maintain("host-2")
    bench.postpone(bench.event(freeze), after(hours=3))

    bench.advance(hours=2, minutes=59, seconds=59)
    waits, said = bench.phases(freeze), bench.waiting_for(freeze)
    bench.advance(seconds=1)

    assert waits == ["Scheduled"]
    assert said == ["approval from web-2 (scope web) until 15:00:00Z"]
    assert bench.phases(freeze) == ["Started"]


def test_postponed_work_can_still_be_approved(bench: Bench):
    freeze = bench.maintain("host-2")
    bench.postpone(bench.event(freeze), after(hours=3))

    bench.approve("web-0", bench.event(freeze))

    assert bench.phases(freeze) == ["Started"]


def test_who_postponed_is_waited_for_also_where_the_scope_is_off():
    bench = Bench(WEB)
    bench.turn_on("web-0")
    freeze = bench.maintain("host-0")
    web, solo = bench.events(freeze)
    bench.postpone(solo, after(hours=3))

    bench.approve("web-0", web)
    held = bench.phases(freeze)
    bench.advance(hours=3)

    assert held == ["Scheduled", "Scheduled"]
    assert bench.phases(freeze) == ["Started", "Started"]


def test_an_event_can_be_postponed_once(bench: Bench):
    freeze = bench.maintain("host-2")
    bench.postpone(bench.event(freeze), hours=1, by="alice")

    said = refusal(bench.postpone(bench.event(freeze), hours=1))

    assert said.code is Code.NOT_ALLOWED
    assert "was postponed already, by alice at 12:00:00Z; an event can be postponed once" in said.message


def test_each_event_of_an_operation_can_be_postponed_once_within_the_same_deadline():
    bench = Bench(WEB, Limits(postpone_limit=timedelta(hours=2)))
    freeze = bench.maintain("host-0")
    web, solo = bench.events(freeze)

    outcomes = [bench.postpone(web, hours=1), bench.postpone(solo, after(hours=2, minutes=15))]

    assert outcomes == [None, None]
    assert [event.not_before for event in bench.events(freeze)] == [after(hours=2, minutes=15)] * 2


def test_work_is_not_postponed_beyond_its_deadline_counted_from_the_first_not_before():
    bench = Bench(WEB, Limits(postpone_limit=timedelta(hours=2)))
    freeze = bench.maintain("host-0")
    web, solo = bench.events(freeze)
    bench.postpone(web, hours=2)

    said = refusal(bench.postpone(solo, seconds=1))

    assert said.message == ("14:15:01Z is too late: Freeze of host-0 can be put off to 14:15:00Z at the latest.")


@pytest.mark.parametrize(
    ("until", "code", "words"),
    [
        (after(minutes=15), Code.NOT_ALLOWED, "12:15:00Z is not later"),
        (after(minutes=5), Code.NOT_ALLOWED, "12:05:00Z is not later"),
        (after(days=8), Code.NOT_ALLOWED, "2026-03-10 12:00:00Z is too late"),
    ],
    ids=["the same", "sooner", "after the deadline"],
)
def test_an_instant_that_will_not_do_is_refused_and_nothing_moves(bench: Bench, until, code: Code, words: str):
    freeze = bench.maintain("host-2")
    number = bench.plane.world.number

    said = refusal(bench.postpone(bench.event(freeze), until))

    assert said.code is code
    assert said.message.startswith(words)
    assert bench.plane.world.number == number


def test_a_new_not_before_gives_the_least_notice_of_its_kind(bench: Bench):
    freeze = bench.maintain("host-2")
    bench.advance(minutes=9)

    said = refusal(bench.postpone(bench.event(freeze), after(minutes=20)))

    assert said.code is Code.NOTICE_TOO_SHORT
    assert said.hint == "Postpone it to 12:24:00Z or later."
    assert bench.postpone(bench.event(freeze), after(minutes=24)) is None


def test_in_the_last_five_minutes_it_is_too_late(bench: Bench):
    first, second = bench.maintain("host-2"), bench.maintain("host-1")
    bench.advance(minutes=10)

    in_time = bench.postpone(bench.event(first), hours=1)
    bench.advance(seconds=1)
    late = bench.postpone(bench.events(second)[0], hours=1)

    assert in_time is None
    assert "may start at 12:15:00Z; it is too late to postpone it" in refusal(late).message


def test_what_is_approved_has_started_or_has_ended_cannot_be_postponed(bench: Bench):
    freeze = bench.maintain("host-0")
    web, _ = bench.events(freeze)
    bench.approve("web-0", web)
    approved = refusal(bench.postpone(web, hours=1))
    bench.advance(minutes=15)
    started = refusal(bench.postpone(web, hours=1))
    bench.advance(minutes=1)
    ended = refusal(bench.postpone(web, hours=1))

    assert "was approved by web-0; what is approved cannot be postponed" in approved.message
    assert "is Started; only what is Scheduled can be postponed" in started.message
    assert started.hint == f"Follow it: forewarn event watch {web.short_id}"
    assert "is not open; it cannot be postponed" in ended.message
    assert (started.code, ended.code) == (Code.ILLEGAL_STEP, Code.ILLEGAL_STEP)


@pytest.mark.parametrize("what", ["restart", "eviction"])
def test_only_the_platforms_planned_work_can_be_postponed(bench: Bench, what: str):
    asked = bench.ask(Cause.RESTART, "spot") if what == "restart" else bench.evict("spot")

    said = refusal(bench.postpone(bench.event(asked), hours=1))

    assert said.code is Code.NOT_ALLOWED
    assert "only the platform's planned work can" in said.message


@pytest.mark.parametrize(
    "asked", [Postponement(), Postponement(after(hours=1), timedelta(hours=1))], ids=["neither", "both"]
)
def test_until_and_by_are_one_or_the_other(bench: Bench, asked: Postponement):
    freeze = bench.maintain("host-2")

    assert refusal(postpone_event(bench.plane, bench.event(freeze).id, asked, "owner")).code is Code.BAD_REQUEST


def test_a_vm_that_lands_on_the_host_later_keeps_its_own_notice_and_nobody_elses_is_shortened(bench: Bench):
    freeze = bench.maintain("host-2")
    bench.postpone(bench.event(freeze), hours=2)
    moved = [{**each, "host": "host-2"} if each["name"] == "solo" else each for each in WEB["vms"]]
    apply_fleet(bench.plane, read_json({**WEB, "vms": moved}).spec, "operator")

    bench.advance(minutes=30)
    waits = bench.phases(freeze)
    bench.advance(hours=2)

    assert waits == ["Scheduled", "Scheduled"]
    assert bench.phases(freeze) == ["Completed", "Completed"]


def test_a_growing_risk_overrides_a_postponement_and_the_right_to_it_is_used_up(bench: Bench):
    move = bench.degrade("host-2", hours=1)
    bench.postpone(bench.event(move), days=1)

    bench.degrade("host-2", Risk.IMMINENT)

    event = bench.event(move)
    assert event.not_before == after(minutes=10)
    assert (event.postponed_by, event.postponed_from) == ("owner", None)
    assert "postponed already" in refusal(bench.postpone(event, hours=1)).message


def test_a_postponement_that_may_never_have_been_shown_is_given_the_least_notice_after_a_restart(bench: Bench):
    freeze = bench.maintain("host-2")
    bench.plane.flush()
    bench.postpone(bench.event(freeze), hours=1)
    bench.clock.move_to(after(hours=1, minutes=14))

    bench.start_plane()

    assert bench.event(freeze).not_before == after(hours=1, minutes=29)
    assert bench.event(freeze).postponed_by == "owner"


def test_history_counts_the_notice_to_the_not_before_in_force(bench: Bench):
    freeze = bench.maintain("host-2", Kind.FREEZE)

    bench.postpone(bench.event(freeze), hours=1)

    assert bench.event(freeze).notice == timedelta(hours=1, minutes=15)


@pytest.mark.parametrize("cause", [Cause.STOP, Cause.REDEPLOY])
def test_an_owner_who_stops_or_moves_the_vm_does_the_postponed_work_then(bench: Bench, cause: Cause):
    reboot = bench.maintain("host-2", Kind.REBOOT)
    bench.postpone(bench.event(reboot), days=2)
    own = bench.ask(cause, "web-2")
    if bench.events(own):
        bench.approve("web-0", bench.event(own))

    bench.advance(minutes=3)

    assert bench.phases(reboot) == ["Cancelled"]
    assert bench.event(reboot).reason == f"the {cause} of web-2 did the work"
