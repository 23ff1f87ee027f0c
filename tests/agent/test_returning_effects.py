"""Events that come back and share what was done with others: nothing that was undone counts as done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from forewarn.agent.case import Case, Ending
from forewarn.agent.effects import bringer_of, undone_by
from forewarn.agent.policy import Approval, Profile, Rule, Step
from forewarn.agent.returning import what_is_left
from forewarn.agent.scene import Scene
from tests.agent.azure import Azure, event
from tests.agent.kept import Gate, Kept, Stage, kept
from tests.agent.little_world import DO, NOW, UNDO, a_case, a_policy, a_profile, a_run, a_step, an_event
from tests.waiting import wait_until

FREEZE = event("E1", EventType="Freeze")


def a_state(name: str = "drain", **said: Any) -> Step:
    return a_step(name, uses="readiness", options={"notice_seconds": 5}, is_for_all_events=True, **said)


def by_type(frozen: Profile, rest: Profile) -> dict[str, Any]:
    rules = (Rule(frozen.name, types=("Freeze",)), Rule(rest.name))
    return {"rules": rules, "profiles": {each.name: each for each in (frozen, rest)}}


def is_prepared(case: Case) -> bool:
    return case.is_open and case.prepared_at is not None


def drains(stage: Stage) -> list[str]:
    return [each for each in stage.ran() if "slow" not in each and "more" not in each]


def share(azure: Azure, agent: Kept) -> None:
    """E1 drains, and E2 relies on that."""
    azure.show(FREEZE)
    agent.wait_for(is_prepared, "the drain")
    azure.show(FREEZE, event("E2"))
    agent.wait_for(is_prepared, "the other's reliance on it", "E2")


def test_an_event_that_comes_back_does_not_rely_on_what_was_undone_for_it():
    shared = a_profile(a_state())
    policy = a_policy(shared)
    own = {("drain", DO): a_run(order=1), ("drain", UNDO): a_run(order=3)}
    gone = a_case(an_event("E1"), ending=Ending.FINISHED, runs=own, policy=policy)
    theirs = a_run(order=2, of_event="E1")
    other = a_case(an_event("E2"), ending=Ending.FINISHED, runs={("drain", DO): theirs}, policy=policy)

    left = what_is_left(Scene(gone, shared, [gone, other], NOW))
    back = a_case(an_event("E1"), runs=left, policy=policy)
    scene = Scene(back, shared, [back, other], NOW)

    assert bringer_of(shared.steps[0], scene) is None
    assert undone_by(shared.steps[0], replace(scene, case=other)) == "E1"


def test_what_is_done_in_a_second_life_is_undone_though_the_first_was_undone_for_another(
    azure: Azure, tmp_path: Path
):
    one = a_profile(a_state(group=2), name="one", approval=Approval.NEVER)
    two = a_profile(a_step("slow"), a_state(group=2), name="two", approval=Approval.NEVER)
    stage = Stage({"slow undo": (gate := Gate())})
    with kept(azure.url, tmp_path, stage, one, **by_type(one, two)) as agent:
        share(azure, agent)
        azure.show(event("E2"))
        agent.wait_until_closed("E1")
        azure.show()
        wait_until(lambda: agent.outcome("slow", UNDO, "E2") == "begun", "the undo of the rest")
        azure.show(FREEZE)
        agent.wait_for(is_prepared, "its second life")
        azure.show()
        agent.wait_until_closed("E1")
        gate.is_open.set()
        agent.wait_until_closed("E2")

    assert drains(stage) == ["E1 drain do", "E2 drain undo", "E1 drain do", "E1 drain undo"]


def test_one_effect_under_two_names_is_brought_about_and_undone_once(azure: Azure, tmp_path: Path):
    one = a_profile(a_state(), name="one", approval=Approval.NEVER)
    two = a_profile(a_state("offline"), name="two", approval=Approval.NEVER)
    stage = Stage()
    with kept(azure.url, tmp_path, stage, one, **by_type(one, two)) as agent:
        azure.show(FREEZE)
        agent.wait_for(is_prepared, "the drain")
        azure.show(event("E1"))
        agent.wait_for(lambda case: is_prepared(case) and case.profile == "two", "the same under another name")
        azure.show()
        agent.wait_until_closed()

    assert stage.ran() == ["E1 drain do", "E1 offline undo"]


def test_one_effect_under_two_names_that_was_undone_under_one_is_not_there_under_the_other(
    azure: Azure, tmp_path: Path
):
    one = a_profile(a_state(), name="one", approval=Approval.NEVER)
    two = a_profile(a_state("offline"), a_step("more"), name="two", approval=Approval.NEVER)
    stage = Stage({"more undo": (gate := Gate())})
    with kept(azure.url, tmp_path, stage, one, **by_type(one, two)) as agent:
        azure.show(FREEZE)
        agent.wait_for(is_prepared, "the drain")
        azure.show(event("E1"))
        agent.wait_for(lambda case: is_prepared(case) and case.profile == "two", "the same under another name")
        azure.show()
        wait_until(
            lambda: agent.outcome("offline", UNDO) == "done" and agent.outcome("more", UNDO) == "begun", "the undo"
        )
        azure.show(FREEZE)
        azure.wait_for_polls(3)
        gate.is_open.set()
        agent.wait_for(is_prepared, "its second life")

    assert drains(stage)[:3] == ["E1 drain do", "E1 offline undo", "E1 drain do"]
