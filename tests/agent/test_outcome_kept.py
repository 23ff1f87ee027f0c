"""What came of a step is kept beside it, for the next agent; and counts, also where the disk takes nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.agent.handlers import find
from forewarn.agent.handlers.base import Result
from forewarn.agent.handlers.proc import members
from forewarn.agent.handlers.records import settled, settled_result
from tests.agent.tasks import attempt

COMMAND = find("command")


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def filling(disk: Path, then: str) -> dict:
    """A command that leaves no room on the disk, not for one letter."""
    fill = f"dd if=/dev/zero of={disk}/fill bs=4k 2> /dev/null; echo x 2> /dev/null > {disk}/letter && exit 99"
    return {"command": f"{fill}; {then}", "shell": True}


@pytest.mark.system
def test_a_command_that_succeeds_while_the_disk_is_full_has_succeeded(tmp_path, small_disk):
    result = COMMAND.run(attempt(small_disk, filling(small_disk, f"echo done >> {tmp_path}/acts; exit 0")))

    assert result.is_done, result.note
    assert (tmp_path / "acts").read_text() == "done\n"


@pytest.mark.system
def test_a_command_whose_time_is_up_is_ended_though_the_disk_is_full(tmp_path, small_disk):
    task = attempt(small_disk, filling(small_disk, "trap 'exit 0' TERM; sleep 300 & wait"), seconds=2)

    result = COMMAND.run(task)

    session = int(next(task.scratch.rglob("claim")).read_text().split()[0])
    assert (result.is_done, "its time of 2 s was up, and SIGTERM ended it" in result.note) == (False, True)
    assert members(session) == []
    (small_disk / "fill").unlink()
    next_agents = COMMAND.take_over(task)
    assert not next_agents.is_done, (
        "that it said success when it was ended is no success for the next agent either"
    )


def test_what_came_of_a_step_counts_though_it_cannot_be_written_beside_it(tmp_path):
    task = attempt(tmp_path, {})
    (task.scratch / "result.json.part/in the way").mkdir(parents=True)

    result = settled(task, lambda: Result(is_done=True, note="drained"))

    assert (result.is_done, result.note) == (True, "drained")
    assert settled_result(task) is None


def test_a_command_whose_time_is_up_is_ended_though_that_cannot_be_noted(tmp_path):
    options = {"command": "mkdir -p /proc/$PPID/cwd/../given_up.json/x; sleep 300", "shell": True}
    task = attempt(tmp_path, options, seconds=2)

    result = COMMAND.run(task)

    session = int(next(task.scratch.rglob("claim")).read_text().split()[0])
    assert result.note == "its time of 2 s was up, and SIGTERM ended it"
    assert members(session) == []


@pytest.mark.parametrize("is_uncertain", [True, False])
def test_the_next_agent_reads_of_a_step_what_came_of_it(tmp_path, *, is_uncertain):
    task = attempt(tmp_path, {})
    ended = Result(is_done=False, note="no answer", is_uncertain=is_uncertain)

    settled(task, lambda: ended)

    assert settled_result(task) == ended
