"""`kill -9` of the agent at every entry of its journal, before and after: nothing twice, nothing forgotten."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forewarn.agent.case import Consent, Ending, Outcome
from tests.agent.azure import Asked, Azure, event
from tests.agent.little_world import DO, UNDO
from tests.agent.mortal_agent import Orders, Process, mortal
from tests.agent.shell import until_there
from tests.waiting import wait_until

# The entries of an event's whole life, in order; that it appeared is written with its first step.
ENTRIES = (
    "one begun",
    "one done",
    "two begun",
    "two done",
    "prepared",
    "approval asked",
    "approval given",
    "started",
    "gone",
    "undo of two begun",
    "undo of two done",
    "undo of one begun",
    "undo of one done",
    "closed",
)
LIFE = ["do one", "do two", "undo two", "undo one"]


def a_step(name: str, notes: Path, **said: Any) -> dict[str, Any]:
    """A step that writes down that it is done, and undone."""
    options = {
        "command": ["/bin/sh", "-c", f"echo do {name} >> {notes}"],
        "undo": ["/bin/sh", "-c", f"echo undo {name} >> {notes}"],
    }
    return {"name": name, "options": options} | said


class Drill:
    """An endpoint that goes through an event's life, whatever becomes of the agent."""

    def __init__(self, azure: Azure, place: Path) -> None:
        self.azure = azure
        self.notes = place / "notes"
        self.notes.touch()
        self.at_approval: list[list[str]] = []  # what was done by the time of each approval
        self.orders = Orders(
            azure.url,
            str(place / "state"),
            (a_step("one", self.notes), a_step("two", self.notes, group=2)),
        )
        azure.fail_always(self._look)
        azure.show(event("E1"))

    def _look(self, asked: Asked) -> None:
        if asked.method == "POST":
            self.at_approval.append(self.lines())

    def lines(self) -> list[str]:
        return self.notes.read_text().splitlines()

    def move_on(self) -> None:
        """As the platform does: what is approved starts, what has started and was seen ends."""
        if self.azure.approved and not self._has("Started") and self.azure._events:
            self.azure.start("E1")
            self.seen = len(self.azure.polls())
        elif self._has("Started") and len(self.azure.polls()) > self.seen + 5:
            self.azure.show()

    def _has(self, status: str) -> bool:
        return any(each["EventStatus"] == status for each in self.azure._events)


@pytest.mark.long
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, len(ENTRIES) + 1), ids=ENTRIES)
def test_an_agent_that_is_killed_at_an_entry_of_its_journal_goes_on_from_there(
    azure: Azure, tmp_path: Path, number: int, *, is_before: bool
):
    drill = Drill(azure, tmp_path)

    with mortal(replace(drill.orders, dies_at=number, dies_before=is_before)) as first:

        def is_over() -> bool:
            drill.move_on()
            return first.is_dead

        wait_until(is_over, f"its death at entry {number}", 60)
    with mortal(drill.orders) as second:

        def is_closed() -> bool:
            drill.move_on()
            return any(case.closed_at for case in second.cases())

        wait_until(is_closed, f"the end of the event; the log says {second.log.read_text()}", 60)
        azure.wait_for_polls(5)
        [case] = second.cases()
        assert second.stop() == 0

    assert drill.lines() == LIFE
    assert all(done == ["do one", "do two"] for done in drill.at_approval)
    # Only where nobody can know whether the first one arrived, it is asked twice; the endpoint takes it as one.
    is_unknowable = (ENTRIES[number - 1], is_before) == ("approval given", True)
    assert len(azure.approved) <= 1 + is_unknowable
    assert set(azure.approved) == {"E1"}
    assert case.ending is Ending.FINISHED
    assert [json.loads(line)["event"] for line in (tmp_path / "audit").read_text().splitlines()] == ["E1"]
    assert not list((tmp_path / "state" / "runs").iterdir())


def test_the_entries_are_all_that_an_events_life_has(azure: Azure, tmp_path: Path):
    drill = Drill(azure, tmp_path)

    with mortal(replace(drill.orders, dies_at=len(ENTRIES) + 1)) as agent:

        def is_closed() -> bool:
            drill.move_on()
            return any(case.closed_at for case in agent.cases())

        wait_until(is_closed, "the end of the event", 60)
        azure.wait_for_polls(5)

        assert not agent.is_dead, "there are more entries than are killed at"
        assert agent.stop() == 0


def test_a_command_goes_on_while_its_agent_is_dead_and_is_not_run_again(azure: Azure, tmp_path: Path):
    drill = Drill(azure, tmp_path)
    gate = tmp_path / "gate"
    script = f"echo begin >> {drill.notes}; {until_there(gate)}; echo end >> {drill.notes}"
    slow = {"name": "slow", "options": {"command": ["/bin/sh", "-c", script]}, "has_undo": False}
    orders = replace(drill.orders, steps=(slow,))

    with mortal(orders) as first:
        wait_until(lambda: drill.lines() == ["begin"], "the command")
        first.kill()
    with mortal(orders) as second:
        azure.wait_for_polls(5)
        before = list(azure.approved)
        gate.touch()
        second.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert before == []
    assert drill.lines() == ["begin", "end"]
    assert drill.at_approval == [["begin", "end"]]


def test_a_command_that_failed_while_its_agent_was_dead_is_not_approved(azure: Azure, tmp_path: Path):
    drill = Drill(azure, tmp_path)
    gate = tmp_path / "gate"
    script = f"echo begin >> {drill.notes}; {until_there(gate)}; exit 3"
    slow = {"name": "slow", "options": {"command": ["/bin/sh", "-c", script]}, "has_undo": False}
    orders = replace(drill.orders, steps=(slow,))

    with mortal(orders) as first:
        wait_until(lambda: drill.lines() == ["begin"], "the command")
        first.kill()
    gate.touch()
    with mortal(orders) as second:
        second.wait_for(lambda case: case.run("slow").outcome is Outcome.FAILED, "the failure")
        azure.wait_for_polls(10)

    assert drill.lines() == ["begin"]
    assert azure.approved == []


def test_after_a_reboot_what_was_done_is_undone_and_nothing_else(azure: Azure, tmp_path: Path):
    drill = Drill(azure, tmp_path)

    with mortal(drill.orders) as first:
        first.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
        first.kill()
    azure.show()
    with mortal(replace(drill.orders, boot="b-2")) as second:
        second.wait_for(lambda case: case.closed_at is not None, "the end")
        [case] = second.cases()

    assert drill.lines() == LIFE
    assert case.ending is Ending.FINISHED


def test_a_reboot_in_the_middle_of_the_preparation_undoes_what_was_begun(azure: Azure, tmp_path: Path):
    drill = Drill(azure, tmp_path)
    orders = replace(drill.orders, dies_at=ENTRIES.index("two begun") + 1)

    with mortal(orders) as first:
        wait_until(lambda: first.is_dead, "its death")
    azure.show()
    with mortal(replace(drill.orders, boot="b-2")) as second:
        second.wait_for(lambda case: case.closed_at is not None, "the end")
        [case] = second.cases()

    assert drill.lines() == ["do one", "undo two", "undo one"], "two was not begun after the reboot, and is undone"
    assert case.run("two", DO).outcome is Outcome.FAILED
    assert case.run("one", UNDO).outcome is Outcome.DONE
    assert azure.approved == []


def test_a_second_agent_on_the_same_journal_is_refused_and_told_who_has_it(azure: Azure, tmp_path: Path):
    drill = Drill(azure, tmp_path)

    with mortal(drill.orders) as first:
        first.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")
        with mortal(drill.orders) as second:
            wait_until(lambda: second.is_dead, "the second to give up")
            code = second.code

    assert code == 1
    assert f"Another agent keeps its journal in {drill.orders.state_dir}: process" in first.log.read_text()
    assert drill.lines() == ["do one", "do two"]


def test_sigterm_ends_the_agent_within_seconds_and_lets_a_command_go_on(azure: Azure, tmp_path: Path):
    drill = Drill(azure, tmp_path)
    gate = tmp_path / "gate"
    script = f"echo begin >> {drill.notes}; {until_there(gate)}; echo end >> {drill.notes}"
    slow = {"name": "slow", "options": {"command": ["/bin/sh", "-c", script]}, "has_undo": False}
    orders = replace(drill.orders, steps=(slow,))

    with mortal(orders) as first:
        wait_until(lambda: drill.lines() == ["begin"], "the command")
        code = first.stop()
    gate.touch()
    with mortal(orders) as second:
        second.wait_for(lambda case: case.consent is Consent.GIVEN, "the approval")

    assert code == 0
    assert drill.lines() == ["begin", "end"]


def test_a_dry_run_runs_no_command_sends_no_approval_and_writes_nothing(azure: Azure, tmp_path: Path):
    drill = Drill(azure, tmp_path)

    with mortal(replace(drill.orders, is_dry_run=True)) as agent:
        wait_until(lambda: "event would be approved" in agent.log.read_text(), "what would be the approval")
        azure.show()
        wait_until(lambda: "event over" in agent.log.read_text(), "the end")
        assert agent.stop() == 0

    assert drill.lines() == []
    assert not [each for each in azure.asked if each.method == "POST"]
    assert not (tmp_path / "state").exists()
    assert not (tmp_path / "audit").exists()
    assert "step would begin" in agent.log.read_text()


def test_a_directory_that_cannot_be_written_is_a_sentence(azure: Azure, tmp_path: Path):
    (tmp_path / "file").touch()
    orders = Orders(azure.url, str(tmp_path / "file" / "state"))
    log = tmp_path / "file.log"

    agent = Process(orders, log)
    wait_until(lambda: agent.is_dead, "the agent to give up")

    assert agent.code == 1
    assert "cannot write there: Not a directory. Run it as a user who may" in log.read_text()
