"""The keeper among real threads, a real journal and a real socket."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from forewarn.agent.case import Consent, Ending, Outcome
from forewarn.agent.company import Promise, TakenBack
from forewarn.agent.events import Event
from forewarn.agent.handlers.base import Result, Task
from forewarn.agent.orders import Order, Refusal, Verb
from forewarn.agent.policy import Approval
from tests.agent.azure import Azure, event
from tests.agent.kept import BAD, OK, Gate, Stage, kept
from tests.agent.little_world import a_profile, a_step
from tests.waiting import wait_until

DRAIN = a_profile(a_step())


def is_approved(case) -> bool:
    return case.consent is Consent.GIVEN


def failed(case) -> bool:
    run = case.run("drain")
    return run is not None and run.outcome is Outcome.FAILED


def test_an_event_is_prepared_for_approved_once_and_undone_when_it_is_over(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        agent.wait_for(is_approved, "the approval")
        azure.wait_for_polls(5)
        azure.start("E1")
        agent.wait_for(lambda case: case.started_at is not None, "Started")
        azure.show()
        over = agent.wait_until_closed()

    assert stage.ran() == ["E1 drain do", "E1 drain undo"]
    assert azure.approved == ["E1"]
    assert over.ending is Ending.FINISHED


def test_an_event_that_is_called_off_is_cancelled_and_undone(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, a_profile(a_step(), approval=Approval.NEVER)) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.show()
        over = agent.wait_until_closed()

    assert stage.ran() == ["E1 drain do", "E1 drain undo"]
    assert over.ending is Ending.CANCELLED
    assert azure.approved == []


def test_polling_goes_on_while_a_handler_is_at_work(azure: Azure, tmp_path: Path):
    stage, gate = Stage(), Gate()
    stage.parts["drain do"] = gate
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        wait_until(lambda: bool(stage.tasks), "the handler")

        azure.wait_for_polls(20)
        azure.show(event("E1"), event("E2", Resources=["db-0"]))
        agent.wait_for(lambda _: True, "the other event", "E2")

        assert agent.outcome() == "begun"
        gate.is_open.set()
        agent.wait_for(is_approved, "the approval")


def test_an_event_whose_preparation_failed_is_not_approved(azure: Azure, tmp_path: Path):
    stage = Stage({"drain do": lambda _: BAD})
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        agent.wait_for(failed, "the failure")
        azure.wait_for_polls(20)

        assert azure.approved == []
        assert agent.keeper.standing.waiting_for["E1"] == (
            "its start, unapproved, as step drain failed (exit status 3)",
        )


def test_a_handler_that_breaks_has_failed_and_the_agent_lives(azure: Azure, tmp_path: Path):
    def explode(task: Task) -> Result:
        raise RuntimeError("no such thing as a drain")

    stage = Stage({"drain do": explode})
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        case = agent.wait_for(failed, "the failure")
        azure.wait_for_polls(5)

    assert case.run("drain").note == "the handler broke: RuntimeError('no such thing as a drain')"
    assert azure.approved == []


def test_a_failed_step_is_tried_again_and_only_its_success_is_remembered(azure: Azure, tmp_path: Path):
    results = iter([BAD, BAD, OK])
    stage = Stage({"drain do": lambda _: next(results)})
    with kept(azure.url, tmp_path, stage, a_profile(a_step(retries=3, retry_pause_seconds=0.01))) as agent:
        azure.show(event("E1"))
        case = agent.wait_for(is_approved, "the approval")

    assert [task.try_number for task in stage.tasks] == [1, 2, 3]
    assert case.run("drain").tries == 3


def test_each_of_several_events_is_approved_after_its_own_preparation(azure: Azure, tmp_path: Path):
    gate = Gate()
    stage = Stage({"drain do": lambda task: gate(task) if task.event.id == "E1" else OK})
    with kept(azure.url, tmp_path, stage, a_profile(a_step(has_undo=False))) as agent:
        azure.show(event("E1"), event("E2"))
        agent.wait_for(is_approved, "the approval of E2", "E2")
        azure.wait_for_polls(10)
        first = list(azure.approved)
        gate.is_open.set()
        agent.wait_for(is_approved, "the approval of E1")

    assert first == ["E2"]
    assert azure.approved == ["E2", "E1"]


def test_an_event_that_does_not_name_this_vm_is_neither_prepared_for_nor_approved(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1", Resources=["db-0"]), event("E2", Resources=[]))
        agent.wait_for(lambda _: True, "the event", "E2")
        azure.wait_for_polls(10)

    assert stage.ran() == []
    assert azure.approved == []


def test_a_started_event_is_never_approved(azure: Azure, tmp_path: Path):
    stage, gate = Stage(), Gate()
    stage.parts["drain do"] = gate
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        wait_until(lambda: bool(stage.tasks), "the handler")
        azure.start("E1")
        agent.wait_for(lambda case: case.started_at is not None, "Started")
        gate.is_open.set()
        agent.wait_for(lambda case: case.prepared_at is not None, "the end of the preparation")
        azure.wait_for_polls(10)

    assert azure.approved == []


def test_what_runs_when_its_event_goes_is_stopped_and_undone(azure: Azure, tmp_path: Path):
    stage = Stage({"drain do": Gate()})
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("E1"))
        wait_until(lambda: bool(stage.tasks), "the handler")
        azure.show()
        over = agent.wait_until_closed()

    assert over.run("drain").note == "its event is gone: told to stop"
    assert stage.ran() == ["E1 drain do", "E1 drain undo"]


def test_a_step_that_had_no_time_left_is_tried_again_when_not_before_moves_away(azure: Azure, tmp_path: Path):
    soon = f"{datetime.now(timezone.utc) + timedelta(seconds=3):%a, %d %b %Y %H:%M:%S GMT}"
    stage = Stage({"drain do": (gate := Gate())})
    with kept(azure.url, tmp_path, stage, a_profile(a_step(retry_pause_seconds=0.1))) as agent:
        azure.show(event("E1"))
        wait_until(lambda: bool(stage.tasks), "the handler")
        azure.show(event("E1", NotBefore=soon))
        stopped = agent.wait_for(failed, "it to be given up")
        azure.wait_for_polls(3)
        ran = stage.ran()
        gate.is_open.set()
        azure.show(event("E1"))
        case = agent.wait_for(is_approved, "the approval")

    assert stopped.run("drain").note == "NotBefore came nearer, and its time was up: told to stop"
    assert ran == ["E1 drain do"], "there was no time for another"
    assert (case.run("drain").outcome, case.run("drain").tries) == (Outcome.DONE, 2)


def test_an_agent_that_approves_nothing_approves_nothing(azure: Azure, tmp_path: Path):
    with kept(azure.url, tmp_path, Stage(), DRAIN, approves=False) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        answer = agent.keeper.say(Order(Verb.APPROVE, "E1", "ann", is_urgent=True))
        azure.wait_for_polls(10)

    assert isinstance(answer, Refusal)
    assert not [each for each in azure.asked if each.method == "POST"]


def test_a_dry_run_touches_nothing_and_says_everything(
    azure: Azure, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO", "forewarn.agent")
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN, is_dry_run=True) as agent:
        azure.show(event("E1"))
        agent.wait_for(is_approved, "what would be the approval")
        azure.start("E1")
        agent.wait_for(lambda case: case.started_at is not None, "Started")
        azure.show()
        agent.wait_until_closed()

    assert stage.ran() == []
    assert not [each for each in azure.asked if each.method == "POST"]
    assert list(tmp_path.iterdir()) == []
    assert "step would begin" in caplog.messages
    assert "event would be approved" in caplog.messages


def test_in_a_dry_run_an_event_that_goes_before_it_starts_is_cancelled(azure: Azure, tmp_path: Path):
    with kept(azure.url, tmp_path, Stage(), DRAIN, is_dry_run=True) as agent:
        azure.show(event("E1"))
        agent.wait_for(is_approved, "what would be the approval")
        azure.show()
        over = agent.wait_until_closed()

    assert over.ending is Ending.CANCELLED


def test_an_operator_approves_what_waits_for_a_word_and_holds_what_does_not(azure: Azure, tmp_path: Path):
    with kept(azure.url, tmp_path, Stage(), a_profile(a_step(), approval=Approval.MANUAL)) as agent:
        azure.show(event("E1"))
        agent.wait_for(lambda case: case.prepared_at is not None, "the preparation")
        azure.wait_for_polls(5)
        before = list(azure.approved)
        held = agent.keeper.say(Order(Verb.HOLD, "E1", "bob"))
        refused = agent.keeper.say(Order(Verb.APPROVE, "e1", "ann"))
        agent.keeper.say(Order(Verb.RELEASE, "E1", "bob"))
        agent.keeper.say(Order(Verb.APPROVE, "e1", "ann"))
        case = agent.wait_for(is_approved, "the approval")

    assert before == []
    assert held == "Event E1 is held: it is not approved until it is released."
    assert isinstance(refused, Refusal)
    assert case.consent_by == "ann"


def test_the_directories_of_attempts_are_taken_away_when_the_case_is_closed(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        azure.show(event("../../E1"))
        agent.wait_for(is_approved, "the approval", "../../E1")
        places = [task.scratch for task in stage.tasks]
        were_there = [place.is_dir() for place in places]
        azure.show()
        agent.wait_until_closed("../../E1")
        wait_until(lambda: not any((tmp_path / "memory").iterdir()), "the memory to be forgotten")

    assert were_there == [True]
    assert all(place.is_relative_to(tmp_path / "runs") and ".." not in place.parts for place in places)
    assert not any(place.exists() for place in places)


def test_nothing_is_begun_or_approved_while_the_journal_cannot_be_written(azure: Azure, tmp_path: Path):
    stage = Stage()
    with kept(azure.url, tmp_path, stage, DRAIN) as agent:
        journal, real = agent.journal, agent.journal._rows
        journal._rows = Full(real)
        azure.show(event("E1"))
        agent.wait_for(lambda _: True, "the event")
        azure.wait_for_polls(20)
        meanwhile = stage.ran()

        journal._rows = real
        case = agent.wait_for(is_approved, "the approval")

    assert meanwhile == []
    assert stage.ran() == ["E1 drain do"]
    assert case.prepared_at is not None


class Full:
    """A disk without room."""

    def __init__(self, rows) -> None:
        self._rows = rows

    def execute(self, statement: str, *values):
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            raise sqlite3.OperationalError("database or disk is full")
        return self._rows.execute(statement, *values)

    def close(self) -> None:
        self._rows.close()


class Deaf:
    """Company that cannot be told anything."""

    def __init__(self) -> None:
        self.told = 0

    def ready_for(self, event: Event) -> frozenset[str]:
        return frozenset()

    def tell(self, promises: frozenset[Promise]) -> None:
        self.told += 1
        raise RuntimeError("a test breaks the round")

    def take_back(self, event: str, seconds: float) -> TakenBack | None:
        raise NotImplementedError


def test_an_agent_whose_rounds_fail_does_not_look_alive(azure: Azure, tmp_path: Path):
    deaf = Deaf()
    with kept(azure.url, tmp_path, Stage(), DRAIN, company=deaf) as agent:
        wait_until(lambda: deaf.told > 1, "a round to fail")
        ticked_at = agent.keeper.standing.ticked_at
        wait_until(lambda: deaf.told > 5, "more rounds")

        assert agent.keeper.standing.ticked_at == ticked_at
