"""A command whose minder is killed: it does not outlive its attempt, and nobody else is ended for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from forewarn.agent.handlers import find
from forewarn.agent.handlers.base import Result
from forewarn.agent.handlers.minding import MARK
from forewarn.agent.handlers.proc import has_variable, members, process
from tests.agent.lone_agent import lone_agent
from tests.agent.shell import until_there
from tests.agent.tasks import attempt
from tests.waiting import wait_until

COMMAND = find("command")
SLOW = {"plainly": "sleep 300; sleep 300", "in a group of its own": "timeout 300 sleep 300; sleep 300"}


def slow(then: str, **more) -> dict:
    command = f"echo begun; echo > /proc/$PPID/cwd/runs; {then}"
    return {"command": command, "shell": True, "grace_seconds": 60, **more}


class Awaited(threading.Event):
    """A task's stop event that knows whether anybody waits, as a handler does that looks again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.is_awaited = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.is_awaited.set()
        return super().wait(timeout)


def minder_in(place: Path) -> int:
    """The minder of a command, once that runs."""
    wait_until(lambda: any(place.rglob("runs")), "the command to run")
    return int(next(place.rglob("claim")).read_text().split()[0])


def run_and(place: Path, options: dict, deed) -> Result:
    """What an agent says of a command to whose minder that is done while it runs."""
    results = []
    running = threading.Thread(target=lambda: results.append(COMMAND.run(attempt(place, options, seconds=60))))
    running.start()
    deed(minder_in(place))
    running.join(60)
    return results[0]


def orphaned(place: Path, options: dict) -> int:
    """Begin a command in an agent, and kill the agent and the minder; the session of what is left."""
    with lone_agent(place, "command", options) as agent:
        minder = minder_in(place)
        agent.kill()
        agent.wait(60)
    os.kill(minder, signal.SIGKILL)
    wait_until(lambda: process(minder) is None, "the minder to end")
    return minder


def killed(session: int) -> int:
    """End what a test has left running; how many there were."""
    left = members(session)
    for each in left:
        os.kill(each.pid, signal.SIGKILL)
    return len(left)


@pytest.mark.parametrize("then", SLOW.values(), ids=SLOW)
def test_a_command_is_ended_when_its_minder_was_and_only_then_it_has_failed(tmp_path, then):
    sessions = []

    result = run_and(tmp_path, slow(then), lambda minder: (sessions.append(minder), os.kill(minder, 9)))

    note = "its minder was ended by signal 9 while it ran, and SIGTERM ended it: begun"
    assert (result.is_done, result.note) == (False, note)
    assert members(sessions[0]) == []


def test_a_command_that_kills_its_minder_does_not_outlive_its_attempt(tmp_path):
    went_on = tmp_path / "went_on"
    options = slow(f"echo $$ > {tmp_path}/pid; kill -9 $PPID; {until_there(tmp_path / 'never')}; touch {went_on}")

    result = COMMAND.run(attempt(tmp_path, options))

    assert (result.is_done, "its minder was ended by signal 9" in result.note) == (False, True)
    assert process(int((tmp_path / "pid").read_text())) is None
    assert not went_on.exists()


def test_a_command_that_is_killed_with_its_minder_was_ended_by_that_signal(tmp_path):
    result = run_and(tmp_path, slow("sleep 300"), lambda minder: os.killpg(minder, signal.SIGKILL))

    # The minder may be seen dead when the command is only dying.
    assert (result.is_done, "was ended by signal 9" in result.note) == (False, True)


def test_a_program_that_made_a_group_of_its_own_ends_too_when_its_time_is_up(tmp_path):
    result = COMMAND.run(attempt(tmp_path, slow(SLOW["in a group of its own"]), seconds=3))

    assert result.note == "its time of 3 s was up, and SIGTERM ended it: begun"
    assert members(minder_in(tmp_path)) == []


@pytest.mark.parametrize("then", SLOW.values(), ids=SLOW)
def test_the_next_agent_ends_a_command_that_has_lost_agent_and_minder(tmp_path, then):
    options = slow(then)
    session = orphaned(tmp_path, options)
    assert members(session)

    result = COMMAND.take_over(attempt(tmp_path, options))

    assert not result.is_done
    assert result.note.startswith("its minder was ended while it ran, and SIGTERM ended it")
    assert members(session) == []


def test_the_next_agent_ends_what_was_given_up_and_has_lost_its_minder(tmp_path):
    options = slow(SLOW["plainly"])
    session = orphaned(tmp_path, options)
    (next(tmp_path.rglob("begun.json")).parent / "given_up.json").write_text("{}")

    result = COMMAND.take_over(attempt(tmp_path, options))

    assert (result.is_done, "given up" in result.note) == (False, True)
    assert members(session) == []


def test_a_session_with_the_minders_number_that_is_not_the_commands_is_left_alone(tmp_path):
    options = slow(SLOW["plainly"])
    killed(orphaned(tmp_path, options))
    # The number has come round: its new owner led a session too, and is gone too.
    other = subprocess.Popen(["sh", "-c", "sleep 300 & exit 0"], start_new_session=True)
    other.wait(60)
    claim = next(tmp_path.rglob("claim"))
    claim.write_text(claim.read_text().replace(claim.read_text().split()[0], str(other.pid)))

    result = COMMAND.take_over(attempt(tmp_path, options))

    assert killed(other.pid) == 1
    assert (result.is_done, "may be left of it" in result.note, result.is_uncertain) == (False, True, True)


def test_a_process_that_has_got_the_minders_number_is_left_alone(tmp_path):
    options = slow(SLOW["plainly"])
    killed(orphaned(tmp_path, options))
    claim = next(tmp_path.rglob("claim"))
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as other:
        claim.write_text(claim.read_text().replace(claim.read_text().split()[0], str(other.pid)))

        result = COMMAND.take_over(attempt(tmp_path, options))

        lives_on = other.poll() is None
        other.kill()
    assert lives_on
    assert not result.is_done
    assert result.note.startswith("it died with the agent, or was ended")


def test_what_is_left_is_not_ended_where_it_is_not_of_the_commands_user(tmp_path):
    options = slow(SLOW["plainly"])
    session = orphaned(tmp_path, options)
    begun = next(tmp_path.rglob("begun.json"))
    begun.write_text(json.dumps(json.loads(begun.read_text()) | {"user": os.geteuid() + 1}))

    result = COMMAND.take_over(attempt(tmp_path, options))

    assert killed(session) > 0
    assert (result.is_done, "may be left of it" in result.note) == (False, True)


def test_what_is_not_known_to_be_the_commands_is_waited_for_and_not_ended(tmp_path):
    go = tmp_path / "go"
    options = slow(f"exec env -i sh -c '{until_there(go)}'")
    session = orphaned(tmp_path, options)
    place = str(next(tmp_path.rglob("begun.json")).parent)
    wait_until(lambda: not any(has_variable(each.pid, MARK, place) for each in members(session)), "the mark to go")
    results, stop = [], Awaited()
    task = attempt(tmp_path, options, seconds=60, stop=stop)
    next_agent = threading.Thread(target=lambda: results.append(COMMAND.take_over(task)))
    next_agent.start()
    assert stop.is_awaited.wait(60), "the next agent does not wait"

    is_running = bool(members(session))
    go.touch()
    next_agent.join(60)

    assert is_running
    assert (results[0].is_done, "what it left has ended since" in results[0].note) == (False, True)
    assert not results[0].is_uncertain


@pytest.mark.system
def test_the_next_agent_ends_what_is_left_of_a_command_of_another_user(tmp_path):
    options = slow(SLOW["plainly"], user="nobody")
    session = orphaned(tmp_path, options)

    result = COMMAND.take_over(attempt(tmp_path, options))

    assert members(session) == []
    assert result.note.startswith("its minder was ended while it ran, and SIGTERM ended it")
    assert not result.is_uncertain, "it is over: an undo may be tried again"
