"""When an event is prepared for and when it is approved; and above all, when not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from forewarn.agent.case import Case, Consent, Ending
from forewarn.agent.course import Approve, Close, NotePrepared, NoteUnconfirmed, plan
from forewarn.agent.events import STARTED
from forewarn.agent.orders import Order, Verb, give
from forewarn.agent.policy import LOG_ONLY, Approval, Profile, Together
from tests.agent.little_world import (
    BEGUN,
    DO,
    FAILED,
    NOW,
    SKIPPED,
    Occasion,
    World,
    a_case,
    a_profile,
    a_run,
    a_step,
    an_event,
)

STEP = a_step()
DONE_RUNS = {("drain", DO): a_run()}


def approves(case: Case, profile: Profile, ready: tuple[str, ...] = (), seconds: float = 0) -> bool:
    """Whether the approval is among the next moves, for a case that was seen just now."""
    now = NOW + timedelta(seconds=seconds)
    moves = plan(replace(case, last_seen_at=now), profile, [case], now, ready).moves
    return any(isinstance(move, Approve) for move in moves)


def prepared(**said) -> Case:
    return a_case(said.pop("event", None), **({"runs": DONE_RUNS, "prepared_at": NOW} | said))


def test_an_event_is_approved_after_its_preparation_has_succeeded_and_not_before():
    world = World.of(a_profile(STEP)).see(an_event())

    before = list(world.approved)
    world.end("E1", "drain")

    assert before == []
    assert world.approved == ["E1"]
    assert world.words("E1") == "the platform, to start it"


def test_an_event_is_approved_once_however_often_it_is_looked_at():
    world = World.of(a_profile(STEP)).see(an_event()).end("E1", "drain")

    for _ in range(50):
        world.advance(60)

    assert world.approved == ["E1"]


def test_an_approval_that_led_to_nothing_is_sent_again_once_an_operator_says_so():
    world = World.of(a_profile(STEP)).see(an_event()).end("E1", "drain").advance(20)
    now = Order(Verb.APPROVE, "E1", "ann", is_urgent=True)

    again, _ = give(world.cases["E1"], now, world.profiles["drain"], approves=True)
    world.change("E1", **{name: getattr(again, name) for name in ("consent", "unconfirmed_at")})
    world.change("E1", told_to_approve_by="ann", is_urgent=True).advance(5)

    assert world.approved == ["E1", "E1"]


@pytest.mark.parametrize("outcome", [FAILED, SKIPPED, BEGUN])
def test_a_preparation_that_has_not_succeeded_is_not_approved_even_when_time_runs_out(outcome):
    case = a_case(runs={("drain", DO): a_run(outcome)})

    assert not any(approves(case, a_profile(STEP), seconds=seconds) for seconds in (0, 890, 899, 900, 2000))


@pytest.mark.parametrize(
    ("case", "profile"),
    [
        (prepared(event=an_event(status=STARTED, minutes=None)), a_profile(STEP)),
        (prepared(started_at=NOW), a_profile(STEP)),
        (prepared(event=an_event(status="Completed")), a_profile(STEP)),
        (prepared(consent=Consent.GIVEN), a_profile(STEP)),
        (prepared(held_by="ann"), a_profile(STEP)),
        (prepared(vm=""), a_profile(STEP)),
        (prepared(), a_profile(STEP, approval=Approval.NEVER)),
        (prepared(), a_profile(STEP, approval=Approval.MANUAL)),
        (prepared(), a_profile(STEP, approval=Approval.BEFORE_DEADLINE)),
        (prepared(event=an_event(minutes=None)), a_profile(STEP, approval=Approval.BEFORE_DEADLINE)),
        (prepared(), a_profile(STEP, pause_before_approval_seconds=5)),
        (a_case(), LOG_ONLY),
        (a_case(), a_profile(STEP, approval=Approval.AT_ONCE_FOR_USER)),
        (prepared(event=an_event(resources=("web-0", "web-1"))), a_profile(STEP)),
        (
            prepared(event=an_event(resources=("web-0", "web-1")), vm=""),
            a_profile(STEP, approves_others=True, together=Together.LEADER),
        ),
        (prepared(ending=Ending.CANCELLED), a_profile(STEP)),
        (prepared(told_to_approve_by="ann", started_at=NOW), a_profile(STEP)),
        (a_case(told_to_approve_by="ann", runs={("drain", DO): a_run(FAILED)}), a_profile(STEP)),
    ],
    ids=[
        "it has started",
        "it had started once",
        "its status is unheard of",
        "it is approved",
        "somebody holds it",
        "it does not name this VM",
        "the profile says never",
        "nobody has said so",
        "it is not yet time",
        "nobody says when its time is",
        "the pause is not over",
        "there is no rule for it",
        "the platform wants it, not a user",
        "it names several and nobody speaks for all",
        "it names several others",
        "it is gone",
        "somebody said so but it has started",
        "somebody said so but its preparation failed",
    ],
)
def test_it_is_not_approved(case: Case, profile: Profile):
    assert not approves(case, profile)


@pytest.mark.parametrize(
    ("case", "profile", "seconds"),
    [
        (prepared(), a_profile(STEP), 0),
        (prepared(), a_profile(STEP, pause_before_approval_seconds=5), 5),
        (prepared(), a_profile(STEP, approval=Approval.BEFORE_DEADLINE, reserve_seconds=30), 870),
        (prepared(told_to_approve_by="ann"), a_profile(STEP, approval=Approval.BEFORE_DEADLINE), 0),
        (prepared(told_to_approve_by="ann"), a_profile(STEP, approval=Approval.MANUAL), 0),
        (prepared(told_to_approve_by="ann"), a_profile(STEP, approval=Approval.NEVER), 0),
        (prepared(told_to_approve_by="ann", vm=""), a_profile(STEP), 0),
        (prepared(vm=""), a_profile(STEP, approves_others=True), 0),
        (a_case(an_event(source="User")), a_profile(STEP, approval=Approval.AT_ONCE_FOR_USER), 0),
        (a_case(an_event(source="user")), a_profile(STEP, approval=Approval.AT_ONCE_FOR_USER), 0),
        (prepared(event=an_event(source="")), a_profile(STEP, approval=Approval.AT_ONCE_FOR_USER), 0),
        (prepared(event=an_event(resources=("web-1", "web-0"))), a_profile(STEP, together=Together.EACH), 0),
        (
            prepared(event=an_event(resources=("web-0", "web-1")), told_to_approve_by="ann", is_urgent=True),
            a_profile(STEP, together=Together.REFUSE),
            0,
        ),
        (a_case(told_to_approve_by="ann", is_urgent=True), a_profile(STEP), 0),
    ],
    ids=[
        "prepared",
        "after the pause",
        "just before the deadline",
        "somebody did not want to wait for the deadline",
        "somebody said so",
        "somebody said so though the profile says never",
        "somebody said so though it names others",
        "it names others and the profile takes them",
        "a user asked for it",
        "a user in small letters",
        "nobody said who wants it, and it is prepared",
        "each for itself",
        "somebody speaks for all",
        "somebody does not want to wait for the preparation",
    ],
)
def test_it_is_approved(case: Case, profile: Profile, seconds: float):
    if case.prepared_at is None:
        case = replace(case, runs={("drain", DO): a_run(BEGUN)})

    assert not seconds or not approves(case, profile, seconds=seconds - 1)
    assert approves(case, profile, seconds=seconds)


def test_who_said_so_is_the_one_who_approves():
    [move] = plan(prepared(told_to_approve_by="ann"), a_profile(STEP), [], NOW).moves

    assert move == Approve("ann")


def three(vm: str, **said) -> Case:
    return prepared(event=an_event(resources=("web-0", "web-1", "web-2")), vm=vm, **said)


TOGETHER = a_profile(STEP, together=Together.LEADER)


@pytest.mark.parametrize(
    ("ready", "is_approved"),
    [((), False), (("web-1",), False), (("web-2", "db-0"), False), (("web-1", "web-2"), True)],
    ids=["nobody", "one of two", "one and a stranger", "all"],
)
def test_the_leader_approves_only_when_all_named_are_ready(ready: tuple[str, ...], *, is_approved: bool):
    assert approves(three("web-0"), TOGETHER, ready) is is_approved


def test_the_leader_says_for_whom_it_waits():
    assert plan(three("web-0"), TOGETHER, [], NOW, {"web-1"}).waiting_for == ("web-2 to be ready",)


def test_who_does_not_lead_tells_the_leader_when_it_is_ready_and_never_approves():
    ready = plan(three("web-1"), TOGETHER, [], NOW, {"web-0", "web-2"})
    unready = plan(a_case(an_event(resources=("web-0", "web-1")), vm="web-1"), TOGETHER, [], NOW)

    assert ready.moves == ()
    assert ready.tells_leader == "web-0"
    assert ready.waiting_for == ("web-0, who approves for all",)
    assert unready.tells_leader == ""


@pytest.mark.parametrize(
    "case",
    [
        three("web-1", held_by="ann"),
        three("web-1", runs={("drain", DO): a_run(FAILED)}),
        three("web-1", started_at=NOW),
    ],
    ids=["held", "failed", "started"],
)
def test_who_is_not_ready_any_more_no_longer_tells_the_leader(case: Case):
    assert plan(case, TOGETHER, [], NOW).tells_leader == ""


def test_an_agent_that_never_approves_does_not_tell_the_leader_either():
    assert plan(three("web-1"), replace(TOGETHER, approval=Approval.NEVER), [], NOW).tells_leader == ""


def test_an_approval_that_failed_is_asked_again_with_growing_pauses_while_it_is_still_seen():
    asked = prepared(consent=Consent.ASKED, consent_at=NOW, consent_tries=1)
    unseen = plan(asked, a_profile(STEP), [], NOW + timedelta(seconds=60))

    assert unseen.moves == (), "nobody knows whether it is still there"
    assert not approves(asked, a_profile(STEP), seconds=0.9)
    assert approves(asked, a_profile(STEP), seconds=1)
    assert not approves(replace(asked, consent_tries=9), a_profile(STEP), seconds=14)
    assert approves(replace(asked, consent_tries=9), a_profile(STEP), seconds=15)


def test_an_approval_is_asked_again_though_the_clock_was_put_back():
    asked = prepared(consent=Consent.ASKED, consent_at=NOW + timedelta(hours=1), consent_tries=1)

    assert approves(asked, a_profile(STEP))


def test_preparation_begins_at_its_lead_and_says_so_before():
    world = World.of(a_profile(STEP, lead_seconds=300)).see(an_event(minutes=15))

    words, wake_at = world.words("E1"), world.plan("E1").wake_at
    world.advance(599)
    before = world.running()
    world.advance(1)

    assert words == "its preparation, which begins at 12:10:00Z"
    assert wake_at == NOW + timedelta(minutes=10)
    assert before == []
    assert world.running() == [("E1", "drain", DO)]


def test_preparation_that_has_begun_goes_on_when_the_event_is_postponed():
    profile = a_profile(STEP, a_step("stop", group=2), lead_seconds=60)
    world = World.of(profile).see(an_event(minutes=1)).end("E1", "drain")

    world.change("E1", event=an_event(minutes=120)).end("E1", "stop")

    assert world.approved == ["E1"]


def test_an_event_that_comes_forward_is_prepared_for_at_once():
    world = World.of(a_profile(STEP, lead_seconds=300)).see(an_event(minutes=60))

    world.change("E1", event=an_event(minutes=4))

    assert world.running() == [("E1", "drain", DO)]


def test_somebody_in_a_hurry_does_not_wait_for_the_lead():
    world = World.of(a_profile(STEP, lead_seconds=60)).see(an_event())

    world.change("E1", told_to_approve_by="ann", is_urgent=True)

    assert world.approved == ["E1"]
    assert world.running() == [("E1", "drain", DO)]


@pytest.mark.parametrize("prepares", [False, True])
def test_an_event_that_has_started_when_it_is_first_seen_is_prepared_for_only_if_asked(*, prepares: bool):
    world = World.of(a_profile(STEP, prepares_when_started=prepares))

    world.see(an_event(status=STARTED, minutes=None))

    assert bool(world.running()) is prepares
    assert world.cases["E1"].prepared_at is None
    assert world.approved == []


def test_preparation_that_is_under_way_when_the_event_starts_goes_on():
    world = World.of(a_profile(STEP, a_step("stop", group=2))).see(an_event())

    world.start("E1").end("E1", "drain")

    assert world.running() == [("E1", "stop", DO)]
    assert world.approved == []


def test_preparation_is_noted_for_an_event_that_is_never_approved_too():
    world = World.of(a_profile(STEP, approval=Approval.NEVER)).see(an_event()).end("E1", "drain")

    assert world.cases["E1"].prepared_at == NOW
    assert [move for _, move in world.made if isinstance(move, NotePrepared)] == [NotePrepared()]
    assert world.words("E1") == ""


@pytest.mark.parametrize(
    ("ending", "step"),
    [(Ending.FINISHED, "back"), (Ending.CANCELLED, "called off")],
    ids=["finished", "cancelled"],
)
def test_finished_and_cancelled_have_hooks_of_their_own_after_the_undo(ending: Ending, step: str):
    profile = a_profile(
        STEP,
        a_step("back", on=Occasion.FINISHED, has_undo=False),
        a_step("called off", on=Occasion.CANCELLED, has_undo=False),
    )
    world = World.of(profile).see(an_event()).end("E1", "drain")

    world.go("E1", ending=ending)
    world.end("E1", "drain", world.running()[0][2])
    then = world.running()
    world.end("E1", step)

    assert [name for _, name, _ in then] == [step]
    assert world.is_closed("E1")


def test_what_is_closed_wants_nothing():
    closed = prepared(ending=Ending.FINISHED, closed_at=NOW)

    assert plan(closed, a_profile(STEP), [], NOW).moves == ()


def test_an_event_for_which_nothing_was_done_is_simply_closed():
    assert plan(a_case(ending=Ending.CANCELLED), LOG_ONLY, [], NOW).moves == (Close(),)


@pytest.mark.parametrize(
    ("profile", "waits_until"),
    [
        (replace(TOGETHER, pause_before_approval_seconds=30), 30),
        (replace(TOGETHER, approval=Approval.BEFORE_DEADLINE, reserve_seconds=60), 840),
    ],
    ids=["after the pause", "not before the deadline"],
)
def test_who_does_not_lead_gives_its_word_only_when_it_would_approve_itself(profile: Profile, waits_until: float):
    due_at = NOW + timedelta(seconds=waits_until)
    early, due = (
        plan(replace(three("web-1"), last_seen_at=at), profile, [], at)
        for at in (due_at - timedelta(seconds=1), due_at)
    )

    assert (early.tells_leader, early.wake_at) == ("", due_at)
    assert due.tells_leader == "web-0"


def test_an_approval_that_is_not_followed_by_a_start_is_doubted_once():
    world = World.of(a_profile(STEP)).see(an_event()).end("E1", "drain")
    world.advance(14)
    before = list(world.made)

    world.advance(1).advance(60)

    assert NoteUnconfirmed() not in [move for _, move in before]
    assert [move for _, move in world.made if isinstance(move, NoteUnconfirmed)] == [NoteUnconfirmed()]
    assert world.words("E1") == "the platform, which has taken the approval and not started it"


def test_an_event_without_a_status_is_prepared_for_and_not_approved():
    world = World.of(a_profile(STEP)).see(an_event(status="")).end("E1", "drain")

    assert world.approved == []
    assert world.words("E1") == "an answer of the endpoint that says its EventStatus"
