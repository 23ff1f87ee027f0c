"""Orders to apply an edited file to an open event, and to run steps again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.case import Case, Outcome
from forewarn.agent.orders import Order, Refusal, Verb, give
from forewarn.agent.policy import Approval, Policy, Rule
from forewarn.agent.superseded import profile_of
from tests.agent.azure import Azure, event
from tests.agent.kept import BAD, Stage, kept
from tests.agent.little_world import (
    DO,
    DONE,
    FAILED,
    NOW,
    SKIPPED,
    UNDO,
    World,
    a_case,
    a_policy,
    a_run,
    a_step,
    an_event,
)
from tests.agent.test_kept_policy import (
    DRAIN,
    EDITED,
    NOTHING,
    RETRY,
    by_options,
    finish,
    is_prepared,
    prepare,
)

RESET = Order(Verb.RESET, "E1", "ann")


# Reset.


def test_reset_prepares_by_the_edited_file_and_undoes_each_as_it_was_done(azure: Azure, tmp_path: Path):
    stage = Stage()
    prepare(azure, tmp_path, stage)

    with kept(azure.url, tmp_path, stage, EDITED) as agent:
        agent.wait_for(is_prepared, "the journaled preparation")
        before = len(stage.tasks)
        agent.keeper.say(RESET)
        agent.wait_for(lambda case: len(case.runs) > 1 and is_prepared(case), "the edited step")
        finish(azure, agent, "E1")

    assert before == 1
    assert [each[1:] for each in by_options(stage)] == [
        ("undrain", "do"),
        ("new", "do"),
        ("new", "undo"),
        ("undrain", "undo"),
    ]
    memories = [task.memory for task in stage.tasks]
    assert memories[0] == memories[3] != memories[1] == memories[2]


def test_reset_outlives_the_agent(azure: Azure, tmp_path: Path):
    stage = Stage()
    prepare(azure, tmp_path, stage)
    with kept(azure.url, tmp_path, stage, EDITED) as agent:
        agent.wait_for(is_prepared, "the journaled preparation")
        agent.keeper.say(RESET)
        agent.wait_for(lambda case: len(case.runs) > 1 and is_prepared(case), "the edited step")
    azure.show()

    with kept(azure.url, tmp_path, stage, NOTHING) as agent:
        agent.wait_until_closed()

    assert [each[1:] for each in by_options(stage)[2:]] == [("new", "undo"), ("undrain", "undo")]


def test_reset_does_not_repeat_a_step_that_was_not_edited():
    world = World.of(DRAIN).see(an_event()).end("E1", "drain")
    longer = replace(DRAIN, steps=(*DRAIN.steps, a_step("save", group=2)))

    told, _ = give(world.cases["E1"], RESET, DRAIN, approves=True, policy=replace(a_policy(longer), rules=RULES))
    world.cases["E1"] = told
    world.settle()

    assert world.acted == [("E1", "drain", DO), ("E1", "save", DO)]


RULES = (Rule("drain"),)


@pytest.mark.parametrize(
    ("case", "policy"),
    [
        (a_case(policy=Policy(RULES, {"drain": DRAIN})), Policy(RULES, {"drain": DRAIN})),
        (a_case(started_at=NOW), Policy(RULES, {"drain": EDITED})),
        (a_case(ending="finished"), Policy(RULES, {"drain": EDITED})),
    ],
    ids=["nothing was edited", "it has started", "it is over"],
)
def test_reset_is_refused(case: Case, policy: Policy):
    refusal = give(case, RESET, profile_of(case), approves=True, policy=policy)

    assert isinstance(refusal, Refusal)
    assert refusal.status == 409


# Retry.


def test_retry_runs_what_failed_again_with_all_its_tries():
    world = (
        World.of(replace(DRAIN, approval=Approval.AFTER_SUCCESS))
        .see(an_event())
        .end("E1", "drain", outcome=FAILED)
    )

    told, _ = give(world.cases["E1"], RETRY, DRAIN, approves=True)
    world.cases["E1"] = told
    world.settle().end("E1", "drain")

    assert world.acted == 2 * [("E1", "drain", DO)]
    assert world.approved == ["E1"]


def test_retry_of_a_named_step_runs_it_again_though_it_was_done():
    world = World.of(DRAIN).see(an_event()).end("E1", "drain")

    told, _ = give(world.cases["E1"], replace(RETRY, step="drain"), DRAIN, approves=True)
    world.cases["E1"] = told
    world.settle()

    assert world.running() == [("E1", "drain", DO)]
    assert world.cases["E1"].prepared_at is None


def test_retry_of_an_event_that_is_over_runs_its_failed_undo_again(azure: Azure, tmp_path: Path):
    stage = Stage({"drain undo": lambda _: replace(BAD, is_uncertain=True)})
    azure.show(event("E1"))
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        agent.wait_for(is_prepared, "the preparation")
        finish(azure, agent, "E1")
        stage.parts = {}
        agent.keeper.say(RETRY)
        agent.wait_for(lambda case: case.run("drain", UNDO).outcome is DONE, "the undo")
        agent.wait_until_closed()

    assert [each[2] for each in by_options(stage)] == ["do", "undo", "undo"]


@pytest.mark.parametrize(
    ("runs", "step", "status"),
    [
        ({("drain", DO): a_run()}, "", 409),
        ({("drain", DO): a_run(Outcome.BEGUN)}, "drain", 409),
        ({}, "drain", 404),
        ({("drain", DO): a_run(FAILED)}, "save", 404),
    ],
    ids=["nothing failed", "it runs", "it never ran", "there is no such step"],
)
def test_retry_is_refused(runs: dict[Any, Any], step: str, status: int):
    case = a_case(runs=runs, policy=a_policy(DRAIN))

    refusal = give(case, replace(RETRY, step=step), DRAIN, approves=True)

    assert isinstance(refusal, Refusal)
    assert refusal.status == status


def test_a_step_that_was_left_out_is_asked_for_again_by_retry():
    case = a_case(runs={("drain", DO): a_run(SKIPPED)}, policy=a_policy(DRAIN))

    told, _ = give(case, replace(RETRY, step="drain"), DRAIN, approves=True)

    assert told.run("drain") is None
