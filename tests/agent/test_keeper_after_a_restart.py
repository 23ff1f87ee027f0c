"""What an agent finds in the journal of an earlier one, and what it does about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.case import Case, Consent, Direction, Ending, Outcome, Run
from forewarn.agent.events import read_event
from forewarn.agent.handlers.base import Result
from forewarn.agent.journal import Journal
from forewarn.agent.orders import Order, Verb
from forewarn.agent.policy import Approval
from tests.agent.azure import Azure, Fault, event
from tests.agent.kept import BAD, OK, Gate, Stage, kept
from tests.agent.little_world import DO, UNDO, a_profile, a_step
from tests.waiting import wait_until

DRAIN = a_profile(a_step())
CAREFUL = a_profile(a_step(), approval=Approval.NEVER)


def now() -> datetime:
    return datetime.now(timezone.utc)


def run_of(outcome: Outcome, **said: Any) -> Run:
    at = now() - timedelta(seconds=1)
    return Run(**{"outcome": outcome, "tries": 1, "begun_at": at, "boot": "b-1"} | said)


def left_behind(place: Path, **said: Any) -> Case:
    """What an earlier agent wrote down before it died."""
    seen_at = now() - timedelta(seconds=2)
    known = {"vm": "web-0", "profile": "drain", "why": "", "first_seen_at": seen_at, "last_seen_at": seen_at}
    case = Case(read_event(event("E1")), **(known | {"boot": "b-1"} | said))
    journal = Journal(place)
    journal.save(case)
    journal.close()
    return case


def ended(direction: Direction = DO):
    def is_so(case: Case) -> bool:
        run = case.run("drain", direction)
        return run is not None and run.outcome is not Outcome.BEGUN

    return is_so


def test_an_attempt_that_went_on_without_the_agent_is_taken_over_and_not_begun_again(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.BEGUN)})
    azure.show(event("E1"))
    stage = Stage(after_a_restart=lambda _: OK)

    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert [task.step for task in stage.taken_over] == ["drain"]
    assert stage.ran() == []
    assert azure.approved == ["E1"]


def test_an_attempt_that_never_began_is_begun_as_the_same_try(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.BEGUN, tries=2)})
    azure.show(event("E1"))
    stage = Stage()

    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        case = agent.wait_for(ended(), "the end of the step")

    assert [(task.step, task.try_number) for task in stage.tasks] == [("drain", 2)]
    assert stage.tasks[0].scratch == stage.taken_over[0].scratch
    assert case.run("drain").outcome is Outcome.DONE
    assert case.run("drain").tries == 2


def test_what_was_prepared_before_the_machine_booted_is_done_anew_and_approved_only_then(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    azure.show(event("E1"))
    stage, gate = Stage(), Gate()
    manual = a_profile(a_step(), approval=Approval.MANUAL)
    with kept(azure.url, tmp_path, stage, manual) as agent:
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
    stage.parts["drain do"] = gate

    with kept(azure.url, tmp_path, stage, manual, boot="b-2") as agent:
        agent.keeper.say(Order(Verb.APPROVE, "E1", "ann"))
        wait_until(lambda: len(stage.tasks) > 1, "the second preparation")
        azure.wait_for_polls(10)
        before = list(azure.approved)
        gate.is_open.set()
        wait_until(lambda: azure.approved == ["E1"], "the approval")

    assert before == []
    assert stage.ran() == ["E1 drain do", "E1 drain do"]
    assert "the machine has booted since it was prepared: that counts as lost, and is done anew" in caplog.text


def test_what_was_done_before_and_after_an_edit_is_undone_by_what_was_remembered_of_each(
    azure: Azure, tmp_path: Path
):
    azure.show(event("E1"))
    stage = Stage()
    first_file = a_profile(a_step(is_for_all_events=True), approval=Approval.NEVER)
    with kept(azure.url, tmp_path, stage, first_file) as agent:
        agent.wait_for(ended(), "the end of the step")
        azure.show(event("E1"), event("E2"))
        agent.wait_for(ended(), "the second event to rely on it", "E2")
    azure.show(event("E2"))
    options = {"command": ["drain"], "environment": {"LEVEL": "2"}}
    edited = a_profile(a_step(options=options, is_for_all_events=True), approval=Approval.NEVER)

    with kept(azure.url, tmp_path, stage, edited) as agent:
        agent.wait_until_closed("E1")
        agent.keeper.say(Order(Verb.RESET, "E2", "ann"))
        agent.wait_for(lambda case: len(case.runs) > 1 and case.prepared_at is not None, "the edited step", "E2")
        azure.show()
        agent.wait_until_closed("E2")

    first, second, *undone = stage.tasks
    assert [(task.event.id, task.direction) for task in (first, second)] == [("E1", DO), ("E2", DO)]
    assert [task.direction for task in undone] == [UNDO, UNDO]
    assert {task.memory for task in undone} == {first.memory, second.memory}
    assert all(task.was_done for task in undone)


def test_an_attempt_of_which_nothing_can_be_known_has_failed_and_is_not_approved(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.BEGUN)})
    azure.show(event("E1"))
    unknown = Result(is_done=False, note="what came of it is not known")
    stage = Stage(after_a_restart=lambda _: unknown)

    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        case = agent.wait_for(ended(), "the verdict")
        azure.wait_for_polls(10)

    assert case.run("drain").outcome is Outcome.FAILED
    assert stage.ran() == []
    assert azure.approved == []


def test_an_attempt_of_which_nothing_can_be_known_is_tried_again_if_it_may_be(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.BEGUN)})
    azure.show(event("E1"))
    stage = Stage(after_a_restart=lambda _: BAD)

    with kept(azure.url, tmp_path, stage, a_profile(a_step(retries=1, retry_pause_seconds=0.01))) as agent:
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert [task.try_number for task in stage.tasks] == [2]


def test_what_was_done_before_is_not_done_again(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.DONE)})
    azure.show(event("E1"))
    stage = Stage()

    with kept(azure.url, tmp_path, stage, a_profile(a_step(), a_step("stop", group=2))) as agent:
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert stage.ran() == ["E1 stop do"]


@pytest.mark.parametrize("boot", ["b-1", "b-2"], ids=["the same boot", "after a reboot"])
def test_what_was_done_is_undone_when_the_event_has_gone_meanwhile(azure: Azure, tmp_path: Path, boot: str):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.DONE)}, started_at=now())
    stage = Stage()

    with kept(azure.url, tmp_path, stage, DRAIN, boot) as agent:
        over = agent.wait_until_closed()

    assert stage.ran() == ["E1 drain undo"]
    assert over.ending is Ending.FINISHED


def test_a_reboot_in_which_the_event_went_away_was_the_event(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.DONE)})

    with kept(azure.url, tmp_path, Stage(), DRAIN, "b-2") as agent:
        over = agent.wait_until_closed()

    assert over.ending is Ending.FINISHED


def test_an_attempt_whose_event_has_gone_is_not_begun_again_but_undone(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.BEGUN)}, ending=Ending.CANCELLED, ended_at=now())
    stage = Stage()

    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        over = agent.wait_until_closed()

    assert stage.ran() == ["E1 drain undo"]
    assert over.run("drain").note == "the agent ended while it ran, and its event is gone"


def test_an_undo_that_never_began_is_begun(azure: Azure, tmp_path: Path):
    runs = {("drain", DO): run_of(Outcome.DONE), ("drain", UNDO): run_of(Outcome.BEGUN)}
    left_behind(tmp_path, runs=runs, ending=Ending.FINISHED, ended_at=now())
    stage = Stage()

    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        agent.wait_until_closed()

    assert stage.ran() == ["E1 drain undo"]


def test_an_undo_that_fails_is_tried_again_because_the_network_may_come_up_later(azure: Azure, tmp_path: Path):
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.DONE)}, started_at=now())
    results = iter([BAD, BAD, OK])
    stage = Stage({"drain undo": lambda _: next(results)})

    with kept(azure.url, tmp_path, stage, a_profile(a_step(retry_pause_seconds=0.01)), "b-2") as agent:
        over = agent.wait_until_closed()

    assert stage.ran() == ["E1 drain undo"] * 3
    assert over.run("drain", UNDO).outcome is Outcome.DONE


def test_an_approval_of_which_nobody_knows_whether_it_left_is_asked_again_while_it_is_scheduled(
    azure: Azure, tmp_path: Path
):
    asked = {"consent": Consent.ASKED, "consent_at": now(), "consent_tries": 1, "consent_by": "agent"}
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.DONE)}, prepared_at=now(), **asked)
    azure.show(event("E1"))

    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
        azure.wait_for_polls(10)

    assert azure.approved == ["E1"]


def test_an_approval_of_which_nobody_knows_is_not_asked_again_once_it_has_started(azure: Azure, tmp_path: Path):
    asked = {"consent": Consent.ASKED, "consent_at": now() - timedelta(minutes=1), "consent_tries": 1}
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.DONE)}, prepared_at=now(), **asked)
    azure.show(event("E1", EventStatus="Started", NotBefore=""))

    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        agent.wait_for(lambda case: case.started_at is not None, "Started")
        azure.wait_for_polls(10)

    assert azure.approved == []


def test_an_approval_that_was_given_is_not_asked_again(azure: Azure, tmp_path: Path):
    given = {"consent": Consent.GIVEN, "consent_at": now(), "consent_tries": 1}
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.DONE)}, prepared_at=now(), **given)
    azure.show(event("E1"))

    with kept(azure.url, tmp_path, Stage(), DRAIN):
        azure.wait_for_polls(20)

    assert azure.approved == []


def test_a_step_that_the_profile_no_longer_has_is_failed_and_said(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    left_behind(tmp_path, runs={("gone", DO): run_of(Outcome.BEGUN)}, profile="old")
    azure.show()

    with kept(azure.url, tmp_path, Stage(), DRAIN) as agent:
        over = agent.wait_until_closed()

    assert over.run("gone").outcome is Outcome.FAILED
    assert "step unrecoverable" in caplog.messages


def test_a_clean_stop_leaves_a_step_that_cannot_go_on_alone_to_the_next_agent(azure: Azure, tmp_path: Path):
    profile = a_profile(a_step(uses="http"))
    azure.show(event("E1"))
    first = Stage({"drain do": Gate()})
    with kept(azure.url, tmp_path, first, profile):
        wait_until(lambda: bool(first.tasks), "the handler")
    was_told = first.tasks[0].stop.is_set()

    second = Stage()
    with kept(azure.url, tmp_path, second, profile) as agent:
        case = agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert was_told
    assert second.ran() == ["E1 drain do"]
    assert case.run("drain").tries == 1, "an agent that ends is no failure of a step"


def test_a_clean_stop_lets_a_command_go_on(azure: Azure, tmp_path: Path):
    azure.show(event("E1"))
    gate = Gate()
    first = Stage({"drain do": gate})
    with kept(azure.url, tmp_path, first, DRAIN):
        wait_until(lambda: bool(first.tasks), "the command")

    second = Stage(after_a_restart=lambda _: OK)
    with kept(azure.url, tmp_path, second, DRAIN) as agent:
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert not first.tasks[0].stop.is_set()
    assert second.ran() == []
    gate.is_open.set()


def test_a_result_that_comes_while_the_agent_stops_is_kept(azure: Azure, tmp_path: Path):
    profile = a_profile(a_step(uses="http"), approval=Approval.NEVER)
    azure.show(event("E1"))

    def done_when_told(task) -> Result:
        task.stop.wait(60)
        return OK

    first = Stage({"drain do": done_when_told})
    with kept(azure.url, tmp_path, first, profile):
        wait_until(lambda: bool(first.tasks), "the handler")

    second = Stage()
    with kept(azure.url, tmp_path, second, profile) as agent:
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")

    assert second.ran() == []
    assert second.taken_over == []


def test_an_event_that_comes_back_after_it_was_over_is_prepared_for_anew(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, CAREFUL) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.show()
        agent.wait_until_closed()
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.is_open and case.prepared_at is not None, "the second preparation")

    assert stage.ran() == ["E1 drain do", "E1 drain undo", "E1 drain do"]


def test_an_agent_that_is_blind_says_so_and_sees_again(azure: Azure, tmp_path: Path):
    azure.show(event("E1"))
    with kept(azure.url, tmp_path, Stage(), CAREFUL, blind_after_seconds=0.2) as agent:
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.fail_always(lambda _: Fault(500))
        wait_until(lambda: agent.keeper.standing.is_blind, "blindness")
        still = agent.case()
        azure.fail_always(lambda _: None)
        wait_until(lambda: agent.keeper.standing.trouble is None, "sight")

    assert still.is_open
    assert agent.keeper.metrics.total("poll_errors") > 0


def test_cases_that_are_long_over_are_forgotten(azure: Azure, tmp_path: Path):
    over = left_behind(tmp_path, ending=Ending.FINISHED)
    journal = Journal(tmp_path)
    journal.save(replace(over, closed_at=now() - timedelta(days=31)))
    journal.close()

    with kept(azure.url, tmp_path, Stage(), CAREFUL) as agent:
        azure.wait_for_polls(3)
        wait_until(lambda: agent.keeper.standing.good_at is not None, "a round")

        assert agent.case() is None


@pytest.mark.parametrize("outcome", [Outcome.DONE, Outcome.BEGUN], ids=["before the next group", "in a step"])
def test_nothing_is_begun_after_a_reboot_before_it_is_known_whether_the_event_is_still_there(
    azure: Azure, tmp_path: Path, outcome: Outcome
):
    left_behind(tmp_path, runs={("drain", DO): run_of(outcome)})
    stage = Stage()
    azure.fail(*[Fault(500)] * 20)

    with kept(azure.url, tmp_path, stage, a_profile(a_step(), a_step("stop", group=2)), "b-2") as agent:
        wait_until(lambda: azure.faults_left == 0, "the faults to be over")
        agent.wait_until_closed()

    assert stage.ran() == ["E1 drain undo"]


def test_a_case_that_cannot_be_planned_is_told_and_does_not_stop_the_others(azure: Azure, tmp_path: Path):
    the_end_of_time = datetime.max.replace(tzinfo=timezone.utc)
    left_behind(tmp_path, runs={("drain", DO): run_of(Outcome.DONE)}, prepared_at=the_end_of_time)
    azure.show(event("E1"), event("E2"))

    with kept(azure.url, tmp_path, Stage(), replace(DRAIN, pause_before_approval_seconds=1)) as agent:
        agent.wait_for(lambda case: case.consent is Consent.GIVEN, "the other's approval", "E2")
        standing = agent.keeper.standing
        wait_until(lambda: "E1" in standing.stuck, "the trouble to be told")

    assert "OverflowError" in standing.stuck["E1"]
    assert azure.approved == ["E2"]
