"""Events that come back after they were gone: what was said of them holds, what was undone is done again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.case import Case, Consent, Ending, Outcome, Run
from forewarn.agent.effects import Scene
from forewarn.agent.handlers.base import Result, Task
from forewarn.agent.orders import Order, Verb
from forewarn.agent.policy import Approval, Profile
from forewarn.agent.returning import what_is_left
from tests.agent.azure import Azure, event
from tests.agent.kept import BAD, Gate, Kept, Stage, kept
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
    a_policy,
    a_profile,
    a_run,
    a_step,
    an_event,
)
from tests.agent.test_keeper_after_a_restart import left_behind, now, run_of
from tests.waiting import wait_until

DRAIN = a_profile(a_step())
STATE = a_profile(a_step(is_for_all_events=True))
OTHER = a_case(an_event("E2"), runs={("drain", DO): a_run()}, policy=a_policy(DRAIN))


def is_prepared(case: Case) -> bool:
    return case.prepared_at is not None


def say(agent: Kept, verb: Verb) -> None:
    agent.keeper.say(Order(verb, "E1", "ann"))


# What counts of an end that is under way.


def left_of(*others: Case, profile: Profile = DRAIN, **runs: Run) -> Run | None:
    """What is left of the attempt."""
    known = {("drain", DO if name == "do" else UNDO): run for name, run in runs.items()}
    policy = a_policy(profile)
    case = a_case(ending=Ending.CANCELLED, runs=known, policy=policy)
    others = tuple(replace(each, policy=policy) for each in others)
    left = what_is_left(Scene(case, profile, [case, *others], NOW))
    assert left is not None
    return left.get(("drain", DO))


@pytest.mark.parametrize(
    ("do", "undo", "outcome"),
    [
        (DONE, None, DONE),
        (DONE, FAILED, FAILED),
        (FAILED, None, FAILED),
        (FAILED, FAILED, FAILED),
        (DONE, DONE, None),
        (DONE, SKIPPED, None),
        (SKIPPED, None, None),
    ],
    ids=[
        "what is whole counts",
        "what may be half undone is done again",
        "what failed is tried again",
        "what failed both ways is tried again",
        "what is undone is done as if for the first time",
        "what was left to another event is asked for again",
        "what was left out is asked for again",
    ],
)
def test_what_counts_of_an_attempt_when_its_event_comes_back(
    do: Outcome, undo: Outcome | None, outcome: Outcome | None
):
    left = left_of(do=a_run(do), **({} if undo is None else {"undo": a_run(undo)}))

    assert (left and left.outcome) == outcome
    if left is not None and outcome is FAILED:
        assert left.tries == 0, "it has all its tries again"


def test_an_effect_that_another_event_is_undoing_is_not_taken_for_there():
    later = {"order": 1}
    moving = replace(
        OTHER, ending=Ending.FINISHED, runs={("drain", DO): a_run(), ("drain", UNDO): a_run(BEGUN, **later)}
    )
    sharing = replace(moving, runs={("drain", DO): a_run(of_event="E1"), ("drain", UNDO): a_run(**later)})

    assert left_of(moving, do=a_run()).outcome is FAILED
    assert left_of(sharing, profile=STATE, do=a_run()) is None, "it is undone already"


def test_what_is_done_for_another_event_meanwhile_is_no_reason_to_do_it_twice():
    doing = replace(OTHER, runs={("drain", DO): a_run(BEGUN, order=1)})

    assert left_of(doing, do=a_run()) == a_run()


def test_nothing_is_taken_up_while_an_attempt_is_under_way():
    case = a_case(ending=Ending.CANCELLED, runs={("drain", DO): a_run(), ("drain", UNDO): a_run(BEGUN)})

    assert what_is_left(Scene(case, DRAIN, [case], NOW)) is None


def test_what_may_be_half_undone_and_cannot_be_done_again_in_time_is_undone_in_the_end():
    world = World.of(DRAIN).see(an_event(minutes=0))
    world.change("E1", runs={("drain", DO): replace(a_run(FAILED), tries=0)})

    assert world.outcome("E1") is FAILED
    assert world.approved == []
    world.go("E1").end("E1", "drain", UNDO)
    assert world.is_closed("E1")


def test_an_event_that_was_prepared_for_once_is_again_though_the_platform_is_at_it():
    started = an_event(status="Started", minutes=None)

    assert World.of(DRAIN).see(started).running() == []
    again = World.of(DRAIN).see(started).change("E1", was_prepared_for=True)
    assert again.running() == [("E1", "drain", DO)]


# In the keeper.


def test_a_hold_survives_that_the_event_is_gone_for_a_while(azure: Azure, tmp_path: Path):
    with kept(azure.url, tmp_path, Stage({"drain do": (gate := Gate())}), DRAIN) as agent:
        azure.show(event("E1"))
        wait_until(lambda: agent.outcome() == "begun", "the handler")
        say(agent, Verb.HOLD)
        gate.is_open.set()
        agent.wait_for(is_prepared, "the preparation")
        azure.show()
        agent.wait_until_closed()
        azure.show(event("E1"))
        again = agent.wait_for(lambda case: case.closed_at is None and is_prepared(case), "its second preparation")
        azure.wait_for_polls(10)
        meanwhile = list(azure.approved)
        say(agent, Verb.RELEASE)
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert (again.held_by, meanwhile) == ("ann", [])
    assert azure.approved == ["E1"]


def test_an_operators_approval_survives_that_the_event_is_gone_for_a_while(azure: Azure, tmp_path: Path):
    profile = a_profile(a_step(), approval=Approval.MANUAL)
    with kept(azure.url, tmp_path, Stage({"drain do": (gate := Gate())}), profile) as agent:
        azure.show(event("E1"))
        wait_until(lambda: agent.outcome() == "begun", "the handler")
        say(agent, Verb.APPROVE)
        azure.show()
        agent.wait_until_closed()
        gate.is_open.set()
        azure.show(event("E1"))
        case = agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert case.consent_by == "ann"


def test_a_list_that_is_empty_for_a_moment_ends_no_event_that_has_started(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN, doubt_seconds=5.0) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
        azure.start("E1")
        agent.wait_for(lambda case: case.started_at is not None, "Started")
        there = azure._events
        azure.show()
        azure.wait_for_polls(10)
        azure.show(*there)
        azure.wait_for_polls(3)

        assert agent.case().is_open
    assert stage.ran() == ["E1 drain do"]


def test_an_event_that_is_there_again_started_after_its_undo_is_drained_again(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
        azure.start("E1")
        agent.wait_for(lambda case: case.started_at is not None, "Started")
        there = azure._events
        azure.show()
        agent.wait_until_closed()
        azure.show(*there)
        agent.wait_for(lambda case: case.closed_at is None and is_prepared(case), "the second preparation")
        azure.show()
        agent.wait_until_closed()

    assert stage.ran() == ["E1 drain do", "E1 drain undo"] * 2
    assert azure.approved == ["E1"]


def test_an_event_that_comes_back_while_its_undo_fails_is_prepared_for_again_at_once(azure: Azure, tmp_path: Path):
    stage = Stage({"drain undo": lambda _: BAD})
    stubborn = a_profile(a_step(retry_pause_seconds=60), approval=Approval.NEVER)
    with kept(azure.url, tmp_path, stage, stubborn) as agent:
        azure.show(event("E1"))
        agent.wait_for(is_prepared, "the preparation")
        azure.show()
        wait_until(lambda: agent.outcome("drain", UNDO) == "failed", "an undo that fails")
        scratch = stage.tasks[0].scratch
        (scratch / "of its first life").touch()
        stage.parts["drain do"] = gate = Gate()
        azure.show(event("E1"))
        back = agent.wait_for(lambda case: case.is_open, "it to be taken up")
        forgotten = not (scratch / "of its first life").exists()
        wait_until(lambda: len(stage.tasks) == 3, "the second preparation", 30)
        gate.is_open.set()
        agent.wait_for(is_prepared, "the end of it")
        stage.parts["drain undo"] = lambda _: Result(is_done=True)
        azure.show()
        agent.wait_until_closed()

    assert stage.ran() == ["E1 drain do", "E1 drain undo"] * 2
    assert (back.prepared_at, forgotten) == (None, True)


@pytest.mark.parametrize(
    ("tries", "ran"),
    [(1, []), (2, ["E1 drain do"])],
    ids=["what never began is called off", "what may be half undone is done again"],
)
def test_an_undo_that_never_began_is_not_begun_after_a_restart_if_its_event_is_there_again(
    azure: Azure, tmp_path: Path, tries: int, ran: list[str]
):
    runs = {("drain", DO): run_of(Outcome.DONE), ("drain", UNDO): run_of(Outcome.BEGUN, tries=tries)}
    left_behind(tmp_path, runs=runs, ending=Ending.CANCELLED, ended_at=now())
    azure.show(event("E1"))
    gate = Gate()

    def never_began(task: Task) -> None:
        gate(task)  # before it is known, the event is seen

    stage = Stage(after_a_restart=never_began)
    with kept(azure.url, tmp_path, stage, a_profile(a_step(), approval=Approval.NEVER)) as agent:
        words = ("what is under way for its end: it is there again",)
        wait_until(lambda: agent.keeper.standing.waiting_for.get("E1") == words, "it to be seen again")
        gate.is_open.set()
        agent.wait_for(lambda case: case.is_open and is_prepared(case), "its preparation")
        meanwhile = stage.ran()
        azure.show()
        agent.wait_until_closed()

    assert meanwhile == ran
    assert stage.ran() == [*ran, "E1 drain undo"]


def test_an_event_that_comes_back_during_its_undo_waits_for_that_alone(azure: Azure, tmp_path: Path):
    undoing = Gate()

    def undo(task: Task) -> Result:
        return undoing(task)

    stage = Stage({"drain undo": undo})
    steps = a_step("save", group=1), a_step("drain", group=2)
    with kept(azure.url, tmp_path, stage, a_profile(*steps, approval=Approval.NEVER)) as agent:
        azure.show(event("E1"))
        agent.wait_for(is_prepared, "the preparation")
        azure.show()
        wait_until(lambda: agent.outcome("drain", UNDO) == "begun", "the undo")
        azure.show(event("E1"))
        azure.wait_for_polls(5)
        wait_until(
            lambda: (
                agent.keeper.standing.waiting_for["E1"] == ("what is under way for its end: it is there again",)
            ),
            "it to be seen again",
        )
        undoing.is_open.set()
        agent.wait_for(lambda case: case.is_open and is_prepared(case), "the second preparation")

    assert stage.ran() == ["E1 save do", "E1 drain do", "E1 drain undo", "E1 drain do"], "what is whole counts"
