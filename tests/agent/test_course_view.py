"""What the agent goes by: a fresh answer, the boot it lives in, a deadline that may move."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.agent.case import Case, Outcome
from forewarn.agent.course import Approve, LookAgain, plan
from forewarn.agent.policy import Approval, OnFailure, Profile, Together
from forewarn.agent.scene import View
from forewarn.agent.steps import Begin
from tests.agent.little_world import (
    BEGUN,
    DO,
    DONE,
    FAILED,
    NOW,
    SKIPPED,
    UNDO,
    World,
    a_case,
    a_profile,
    a_run,
    a_step,
    an_event,
)

DRAIN = a_profile(a_step())
TOGETHER = a_profile(a_step(), together=Together.LEADER)


def prepared(**said) -> Case:
    runs = {("drain", DO): a_run(boot="b-1")}
    return a_case(said.pop("event", None), **({"runs": runs, "prepared_at": NOW} | said))


def moved(world: World, minutes: float) -> World:
    """NotBefore is another one."""
    case = world.cases["E1"]
    not_before = world.now + timedelta(minutes=minutes)
    return world.change("E1", event=replace(case.event, not_before=not_before))


@pytest.mark.parametrize(
    ("case", "profile"),
    [
        (prepared(), DRAIN),
        (prepared(), a_profile(a_step(), approval=Approval.BEFORE_DEADLINE)),
        (prepared(told_to_approve_by="ann"), a_profile(a_step(), approval=Approval.MANUAL)),
        (a_case(told_to_approve_by="ann", is_urgent=True), DRAIN),
        (a_case(an_event(source="User")), a_profile(a_step(), approval=Approval.AT_ONCE_FOR_USER)),
    ],
    ids=["after success", "before the deadline", "told by an operator", "told to hurry", "a user's own"],
)
def test_nothing_is_approved_by_an_answer_that_is_old(case: Case, profile: Profile):
    now = NOW + timedelta(seconds=898)
    old, fresh = (
        plan(replace(case, last_seen_at=now - timedelta(seconds=age)), profile, [], now) for age in (6, 5)
    )

    assert LookAgain() in old.moves
    assert not any(isinstance(move, Approve) for move in old.moves)
    assert "an answer of the endpoint to approve it by; the last one is of 12:14:52Z" in old.waiting_for
    assert any(isinstance(move, Approve) for move in fresh.moves)


def test_an_answer_from_later_than_now_is_no_answer_to_approve_by():
    ahead = prepared(last_seen_at=NOW + timedelta(hours=1))

    assert plan(ahead, DRAIN, [], NOW).moves == (LookAgain(),)


@pytest.mark.parametrize("names", [("web-0",), ("web-1", "web-0")], ids=["alone", "as a follower"])
def test_an_agent_that_is_to_approve_nothing_gives_no_word_either_whatever_was_said_before(names: tuple[str, ...]):
    case = prepared(event=an_event(resources=names), told_to_approve_by="ann")
    silent = plan(case, TOGETHER, [], NOW, view=View(approves=False))
    usual = plan(case, TOGETHER, [], NOW)

    assert (silent.moves, silent.tells_leader) == ((), "")
    assert usual.moves or usual.tells_leader


def test_a_follower_gives_its_word_only_while_its_view_is_fresh_and_looks_again_in_time():
    case = prepared(event=an_event(resources=("web-1", "web-0")))
    new, older, blind = (plan(case, TOGETHER, [], NOW + timedelta(seconds=age)) for age in (0, 5, 5.1))

    assert (new.tells_leader, new.moves, new.wake_at) == ("web-1", (), NOW + timedelta(seconds=2.5))
    assert (older.tells_leader, older.moves) == ("web-1", (LookAgain(is_early=True),))
    assert older.wake_at == NOW + timedelta(seconds=5)
    assert (blind.tells_leader, blind.moves) == ("", (LookAgain(),))
    assert blind.waiting_for == ("an answer of the endpoint, before its word to web-1",)


def test_what_was_prepared_before_a_boot_is_done_anew_before_it_is_approved():
    profile = a_profile(a_step(), approval=Approval.BEFORE_DEADLINE)
    world = World.of(profile).see(an_event()).end("E1", "drain")

    world.reboot()
    after_the_boot = world.cases["E1"].prepared_at, world.running()
    world.advance(894)
    unprepared = list(world.approved)
    world.end("E1", "drain").advance(1)

    assert after_the_boot == (None, [("E1", "drain", DO)])
    assert unprepared == []
    assert world.approved == ["E1"]


def test_what_started_before_a_boot_is_left_as_it_is_and_undone_when_it_is_over():
    world = World.of(DRAIN).see(an_event()).end("E1", "drain").start("E1")

    world.reboot()
    after_the_boot = world.outcome("E1"), world.running()
    world.go("E1")

    assert after_the_boot == (DONE, [])
    assert world.running() == [("E1", "drain", UNDO)]


def test_what_was_lost_by_a_boot_is_undone_though_it_was_not_done_anew():
    world = World.of(a_profile(a_step("one"), a_step("two", group=2), approval=Approval.NEVER)).see(an_event())
    world.end("E1", "one").end("E1", "two").reboot().end("E1", "one", outcome=FAILED)

    lost = world.outcome("E1", "two")
    world.go("E1")

    assert lost is Outcome.LOST
    assert world.running() == [("E1", "two", UNDO)]
    world.end("E1", "two", UNDO)
    assert world.running() == [("E1", "one", UNDO)]


def test_who_does_not_lead_takes_its_word_back_until_it_is_prepared_anew():
    world = World.of(TOGETHER).see(an_event(resources=("web-1", "web-0"))).end("E1", "drain")

    before = world.plan("E1").tells_leader
    world.reboot()
    unprepared = world.plan("E1").tells_leader
    world.end("E1", "drain")

    assert (before, unprepared, world.plan("E1").tells_leader) == ("web-1", "", "web-1")


def test_no_event_relies_on_what_another_did_before_a_boot():
    step = a_step(is_for_all_events=True)
    world = World.of(a_profile(step, approval=Approval.NEVER)).see(an_event("E1")).end("E1", "drain")
    world.see(an_event("E2")).start("E1")

    world.reboot()

    assert world.running() == [("E2", "drain", DO)]


def test_tries_of_before_a_boot_do_not_count():
    world = World.of(a_profile(a_step(retries=1))).see(an_event()).end("E1", "drain").reboot()

    world.end("E1", "drain", outcome=FAILED).advance(2)

    assert world.running() == [("E1", "drain", DO)]
    assert world.cases["E1"].run("drain").tries == 3, "each attempt has a place of its own"


@pytest.mark.parametrize("boots", [("", "b-2"), ("b-1", "")])
def test_where_the_boot_is_not_known_nothing_counts_as_lost(boots: tuple[str, str]):
    run = a_run(boot=boots[0])

    plan_ = plan(prepared(runs={("drain", DO): run}), DRAIN, [], NOW, view=View(boots[1]))

    assert plan_.moves == (Approve("agent"),)


def test_what_was_left_out_for_lack_of_time_is_done_when_its_event_is_postponed():
    steps = a_step("one"), a_step("two", needs=("one",))
    world = World.of(a_profile(*steps)).see(an_event(minutes=0.05))

    left_out = world.outcome("E1", "one"), world.outcome("E1", "two")
    moved(world, 60)
    begun = world.running()
    world.end("E1", "one").end("E1", "two")

    assert left_out == (SKIPPED, SKIPPED)
    assert begun == [("E1", "one", DO)]
    assert world.approved == ["E1"]


def test_what_was_left_out_by_a_clock_that_was_wrong_is_done_when_that_is_right_again():
    world = World.of(DRAIN)
    world.now = NOW + timedelta(hours=1)
    world.see(an_event())

    left_out = world.outcome("E1")
    world.advance(-3600)

    assert left_out is SKIPPED
    assert world.running() == [("E1", "drain", DO)]


def test_what_was_left_out_is_not_begun_when_its_event_has_started():
    world = World.of(DRAIN).see(an_event(minutes=0.05))

    world.start("E1").advance(60)

    assert world.outcome("E1") is SKIPPED
    assert world.acted == []


def test_a_postponed_event_is_prepared_for_at_its_lead_if_nothing_was_begun():
    world = World.of(a_profile(a_step(), lead_seconds=300)).see(an_event(minutes=0.05))

    moved(world, 60)
    early = world.running()
    world.advance(55 * 60)

    assert early == []
    assert world.running() == [("E1", "drain", DO)]


def test_a_step_that_runs_is_given_up_at_the_deadline_that_came_nearer():
    profile = a_profile(a_step(timeout_seconds=600), reserve_seconds=5)
    world = World.of(profile).see(an_event(minutes=15))

    moved(world, 1)
    wake_at = world.plan("E1").wake_at
    world.advance(54)
    before = list(world.stopped)
    world.advance(1)

    assert wake_at == NOW + timedelta(seconds=55)
    assert before == []
    assert set(world.stopped) == {("E1", "drain")}


def test_a_step_is_not_given_up_by_a_clock_that_is_wrong_for_one_answer():
    world = World.of(a_profile(a_step(timeout_seconds=600))).see(an_event(minutes=15))

    world.advance(3600).advance(-3600)

    assert world.stopped == []
    assert world.outcome("E1") is BEGUN


def test_a_step_that_may_fail_is_done_anew_too_and_does_not_hold_the_others():
    profile = a_profile(a_step("mail", on_failure=OnFailure.CONTINUE), a_step())
    world = World.of(profile).see(an_event()).end("E1", "mail").end("E1", "drain").reboot()

    world.end("E1", "mail", outcome=FAILED).end("E1", "drain")

    begun = [move for _, move in world.made if isinstance(move, Begin)]
    assert [(each.step.name, each.try_number) for each in begun] == [
        ("mail", 1),
        ("drain", 1),
        ("mail", 2),
        ("drain", 2),
    ]
    assert world.cases["E1"].prepared_at is not None
