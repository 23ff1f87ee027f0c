"""Events that change after their preparation has begun: what was chosen and said was for what they were."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.case import Case, Consent
from forewarn.agent.orders import Order, Verb
from forewarn.agent.policy import Approval, Profile, Rule, Together
from tests.agent.azure import Azure, event
from tests.agent.kept import Gate, Stage, kept
from tests.agent.little_world import a_profile, a_step
from tests.waiting import wait_until

LIGHT = a_profile(a_step("note"), name="light", together=Together.EACH)
NEVER = a_profile(name="never", approval=Approval.NEVER)
FREEZE = event("E1", EventType="Freeze")


def rules(*rules: Rule, light: Profile = LIGHT) -> dict[str, Any]:
    """Settings by which an event is met lightly if a rule says so, and otherwise never approved."""
    return {"rules": (*rules, Rule("never")), "profiles": {"light": light, "never": NEVER}}


def by_name(stage: Stage) -> list[str]:
    """What was run, whatever name it was kept under."""
    return [f"{task.step.partition(' as done')[0]} {task.direction}" for task in stage.tasks]


def is_changed(case: Case) -> bool:
    return case.profile != "light"


@pytest.mark.parametrize(
    ("rule", "first", "then"),
    [
        (Rule("light", types=("Freeze",)), FREEZE, event("E1", EventType="Terminate")),
        (Rule("light", max_resources=1), event("E1"), event("E1", Resources=["web-0", "db-1"])),
        (Rule("light", sources=("User",)), event("E1"), event("E1", EventSource="Platform")),
        (
            Rule("light", max_duration_seconds=9),
            event("E1", DurationInSeconds=5),
            event("E1", DurationInSeconds=300),
        ),
        (Rule("light"), event("E1"), event("E1", Resources=["db-7"])),
    ],
    ids=["its type", "its resources", "its source", "its duration", "whose it is"],
)
def test_an_event_whose_rule_is_another_after_its_preparation_began_is_not_approved_by_the_agent(
    azure: Azure, tmp_path: Path, rule: Rule, first: dict[str, Any], then: dict[str, Any]
):
    stage = Stage({"note do": (gate := Gate())})
    with kept(azure.url, tmp_path, stage, LIGHT, **rules(rule)) as agent:
        azure.show(first)
        wait_until(lambda: agent.outcome("note") == "begun", "the preparation")
        azure.show(then)
        agent.wait_for(is_changed, "the change")
        gate.is_open.set()
        wait_until(lambda: agent.outcome("note") == "done", "the end of what was begun")
        azure.wait_for_polls(10)
        azure.show()
        agent.wait_until_closed()

    assert azure.approved == []
    assert stage.ran() == ["E1 note do", "E1 note undo"], "what was done is undone"


HEAVY = a_profile(a_step("save"), a_step("note"), name="heavy", together=Together.EACH)


def test_an_event_that_changes_after_its_preparation_began_is_prepared_for_anew_before_it_is_approved(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    stage = Stage({"note do": (note := Gate()), "save do": (save := Gate())})
    told = {
        "rules": (Rule("light", types=("Freeze",)), Rule("heavy")),
        "profiles": {"light": LIGHT, "heavy": HEAVY},
    }
    with kept(azure.url, tmp_path, stage, LIGHT, **told) as agent:
        azure.show(FREEZE)
        wait_until(lambda: agent.outcome("note") == "begun", "the preparation")
        azure.show(event("E1", EventType="Terminate"))
        wait_until(lambda: agent.outcome("save") == "begun", "the preparation for what it is now")
        note.is_open.set()
        wait_until(lambda: agent.outcome("note") == "done", "the end of what was begun")
        azure.wait_for_polls(3)
        too_early = list(azure.approved)
        save.is_open.set()
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
        azure.show()
        agent.wait_until_closed()

    assert too_early == []
    assert sorted(by_name(stage)) == sorted(2 * ["note do", "note undo"] + ["save do", "save undo"])
    assert "event is met with another profile now" in caplog.messages


def test_what_still_runs_for_an_event_as_it_was_ends_before_it_is_approved_as_it_is(azure: Azure, tmp_path: Path):
    stage = Stage({"note do": (gate := Gate())})
    quick = a_profile(name="quick", together=Together.EACH)
    told = {
        "rules": (Rule("light", types=("Freeze",)), Rule("quick")),
        "profiles": {"light": LIGHT, "quick": quick},
    }
    with kept(azure.url, tmp_path, stage, LIGHT, **told) as agent:
        azure.show(FREEZE)
        wait_until(lambda: agent.outcome("note") == "begun", "the preparation")
        azure.show(event("E1", EventType="Reboot"))
        agent.wait_for(lambda case: case.profile == "quick", "the change")
        azure.wait_for_polls(3)
        too_early = list(azure.approved)
        gate.is_open.set()
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert too_early == []


def test_an_event_that_changes_and_keeps_its_rule_is_approved_after_its_preparation(azure: Azure, tmp_path: Path):
    stage = Stage({"note do": (gate := Gate())})
    with kept(azure.url, tmp_path, stage, LIGHT) as agent:
        azure.show(FREEZE)
        wait_until(lambda: agent.outcome("note") == "begun", "the preparation")
        azure.show(event("E1", EventType="Freeze", DurationInSeconds=300))
        agent.wait_for(lambda case: case.event.duration_seconds == 300, "the change")
        gate.is_open.set()
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert stage.ran() == ["E1 note do"]


def test_what_was_told_of_another_type_of_event_is_done_again_before_the_approval(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, replace(LIGHT, approval=Approval.BEFORE_DEADLINE)) as agent:
        azure.show(FREEZE)
        wait_until(lambda: agent.outcome("note") == "done", "the preparation")
        azure.show(event("E1", EventType="Redeploy"))
        wait_until(lambda: stage.ran() == ["E1 note do", "E1 note do"], "the preparation for what it is now")
        azure.show()
        agent.wait_until_closed()

    assert by_name(stage) == ["note do", "note do", "note undo", "note undo"]
    assert azure.approved == []


@pytest.mark.parametrize(
    ("then", "is_void"),
    [
        (event("E1", Resources=["db-7"]), True),
        (event("E1", Resources=["web-0", "db-7"]), True),
        (event("E1", EventType="Terminate"), True),
        (event("E1", NotBefore="Mon, 02 Mar 2037 12:45:00 GMT"), False),
    ],
    ids=["another VM", "another VM too", "another type", "another time"],
)
def test_an_operators_approval_is_void_when_the_event_is_for_other_vms_or_of_another_type(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture, then: dict[str, Any], *, is_void: bool
):
    stage = Stage({"note do": (gate := Gate())})
    manual = a_profile(a_step("note"), name="light", approval=Approval.MANUAL, together=Together.EACH)
    with kept(azure.url, tmp_path, stage, manual) as agent:
        azure.show(event("E1"))
        wait_until(lambda: agent.outcome("note") == "begun", "the preparation")
        before = agent.case().event
        agent.keeper.say(Order(Verb.APPROVE, "E1", "ann"))
        azure.show(then)
        changed = agent.wait_for(lambda case: case.event != before, "the change")
        gate.is_open.set()
        agent.wait_for(lambda case: case.prepared_at is not None, "the end of the preparation")
        if not is_void:
            agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
        azure.wait_for_polls(10)

    assert (changed.told_to_approve_by == "") is is_void
    assert (azure.approved == []) is is_void
    assert ("operator's approval is void" in caplog.messages) is is_void
