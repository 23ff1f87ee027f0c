"""A command, when the agent that began it is killed: the next one finds out what came of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from forewarn.agent.handlers import find
from forewarn.agent.handlers.minding import MINDER
from forewarn.agent.handlers.proc import boot_id, members, process
from forewarn.agent.handlers.records import keep
from tests.agent.dying_agent import killed_at_every_line
from tests.agent.lone_agent import lone_agent
from tests.agent.shell import until_there
from tests.agent.tasks import attempt
from tests.waiting import wait_until

COMMAND = find("command")


def sh(text: str, **more) -> dict:
    return {"command": text, "shell": True, **more}


def waits_for_go(place: Path, then: str = "") -> dict:
    """A command that says that it runs, waits for a file, and does something."""
    return sh(
        f"echo $$ > {place}/pid; echo begun >> {place}/begun; {until_there(place / 'go')}; echo going on; {then}"
    )


def killed_in_the_middle(place: Path, options: dict) -> int:
    """Begin a command in an agent, kill the agent, and tell the command's process."""
    with lone_agent(place, "command", options) as agent:
        wait_until((place / "begun").exists, "the command to run")
        agent.kill()
        agent.wait(60)
    return int((place / "pid").read_text())


def test_a_command_lives_on_when_its_agent_is_killed_and_the_next_agent_waits_for_it(tmp_path):
    options = waits_for_go(tmp_path)
    pid = killed_in_the_middle(tmp_path, options)
    assert process(pid) is not None
    results = []
    thread = threading.Thread(target=lambda: results.append(COMMAND.take_over(attempt(tmp_path, options))))
    thread.start()

    (tmp_path / "go").touch()
    thread.join(60)

    assert results[0].is_done, results[0].note
    assert (tmp_path / "begun").read_text() == "begun\n", "it was run once"


def test_a_command_that_ended_while_no_agent_was_there_has_the_result_that_it_had(tmp_path):
    options = waits_for_go(tmp_path, "exit 5")
    pid = killed_in_the_middle(tmp_path, options)
    (tmp_path / "go").touch()
    wait_until(lambda: process(pid) is None, "the command to end")
    wait_until(lambda: any(tmp_path.rglob("status")), "its minder to write the status")

    result = COMMAND.take_over(attempt(tmp_path, options))

    assert result is not None
    assert not result.is_done
    assert result.note.startswith("exit status 5")


def test_a_flood_goes_on_when_its_agent_is_killed_and_does_not_die_of_a_broken_pipe(tmp_path):
    options = waits_for_go(tmp_path, "yes flood | head -c 99999996; echo last")
    killed_in_the_middle(tmp_path, options)
    (tmp_path / "go").touch()

    result = COMMAND.take_over(attempt(tmp_path, options, seconds=60))

    assert result is not None
    assert result.is_done, result.note


def test_at_whatever_line_its_agent_is_killed_a_command_finds_a_reader_or_is_not_begun(tmp_path):
    ends = killed_at_every_line(tmp_path, 36)

    assert {(has_ended, said) for _where, has_ended, said in ends} == {(False, "not begun"), (True, "done")}, ends


def test_a_taken_over_command_that_hangs_ends_with_all_that_it_started_when_its_time_is_up(tmp_path):
    options = waits_for_go(tmp_path)
    pid = killed_in_the_middle(tmp_path, options)

    result = COMMAND.take_over(attempt(tmp_path, options, seconds=0.3))

    assert result is not None
    assert result.note.startswith("its time of 0.3 s was up, and SIGTERM ended it")
    assert process(pid) is None


def test_a_process_that_is_not_the_commands_is_not_ended_whatever_its_claim_says(tmp_path):
    options = waits_for_go(tmp_path)
    pid = killed_in_the_middle(tmp_path, options)
    own_group = {"preexec_fn": os.setpgrp}  # `process_group` came with Python 3.11
    with subprocess.Popen(["sleep", "300"], **own_group) as other:
        stat = Path(f"/proc/{other.pid}/stat").read_text()
        next(tmp_path.rglob("claim")).write_text(f"{other.pid} {stat}")

        result = COMMAND.take_over(attempt(tmp_path, options, seconds=0.3))

        lives_on = other.poll() is None
        other.kill()
    os.killpg(os.getpgid(pid), signal.SIGKILL)
    assert lives_on
    assert result is not None
    assert (result.is_done, "is not its user's" in result.note) == (False, True)


@pytest.mark.parametrize("name", ["claim", "status"])
def test_a_pipe_where_a_word_of_the_minder_should_be_holds_nothing_up(tmp_path, name):
    options = waits_for_go(tmp_path)
    pid = killed_in_the_middle(tmp_path, options)
    claim = next(tmp_path.rglob("claim"))
    os.killpg(os.getpgid(pid), signal.SIGKILL)
    (claim.parent / name).unlink(missing_ok=True)
    os.mkfifo(claim.parent / name)
    results = []

    asking = threading.Thread(
        target=lambda: results.append(COMMAND.take_over(attempt(tmp_path, options))), daemon=True
    )
    asking.start()
    asking.join(60)

    assert [each.is_done for each in results] == [False]


def test_a_command_that_was_killed_with_its_agent_has_failed_and_is_not_begun_again(tmp_path):
    options = waits_for_go(tmp_path)
    session = os.getsid(killed_in_the_middle(tmp_path, options))
    os.killpg(session, signal.SIGKILL)
    wait_until(lambda: not members(session), "the command to end")

    result = COMMAND.take_over(attempt(tmp_path, options))

    assert result is not None
    assert (result.is_done, result.note) == (False, "it died with the agent, or was ended")


def test_a_command_that_ran_when_the_machine_went_down_has_failed(tmp_path):
    options = waits_for_go(tmp_path)
    pid = killed_in_the_middle(tmp_path, options)
    os.killpg(os.getpgid(pid), signal.SIGKILL)
    begun = next(tmp_path.rglob("run-1/begun.json"))
    begun.write_text(json.dumps(json.loads(begun.read_text()) | {"boot": "another"}))

    result = COMMAND.take_over(attempt(tmp_path, options))

    assert result is not None
    assert (result.is_done, result.note) == (False, "the machine went down while it ran")


@pytest.mark.parametrize(
    ("name", "boot", "note"),
    [
        ("begun.json", "another", "the machine went down while it ran"),
        ("begun.json.part", "another", "the machine went down while it ran"),
        ("begun.json.part", boot_id(), None),
    ],
    ids=["marked in an earlier boot", "its name got lost with the machine", "killed before it was marked"],
)
def test_a_mark_tells_what_may_have_begun_before_the_machine_went_down(tmp_path, name, boot, note):
    task = attempt(tmp_path, {"command": ["true"]})
    (task.scratch / "run-1").mkdir()
    (task.scratch / "run-1" / name).write_text(json.dumps({"boot": boot, "is_minded": True}))

    result = COMMAND.take_over(task)

    assert (result.note if result else None) == note


def test_half_a_mark_was_never_flushed_so_nothing_has_begun(tmp_path):
    task = attempt(tmp_path, {"command": ["true"]})
    (task.scratch / "run-1").mkdir()
    (task.scratch / "run-1/begun.json.part").write_text("{")

    assert COMMAND.take_over(task) is None


def test_a_command_that_was_not_begun_may_be_begun(tmp_path):
    assert COMMAND.take_over(attempt(tmp_path, {"command": ["true"]})) is None


def test_a_minder_that_comes_late_does_not_begin_what_the_next_agent_may_begin(tmp_path):
    # The agent died between starting the minder and the minder's first line; the next agent looks first.
    task = attempt(tmp_path, {"command": ["touch", str(tmp_path / "ran")]})
    place = task.scratch / "run-1"
    keep(place / "begun.json", {"boot": boot_id(), "is_minded": True})

    looked = COMMAND.take_over(task)
    late = subprocess.run(
        ["/bin/sh", "-c", MINDER, "minder", "/", *task.options["command"]], cwd=place / "minder", check=False
    )

    assert looked is None
    assert late.returncode == 125
    assert not (tmp_path / "ran").exists()
    assert COMMAND.take_over(task) is None, "asked twice, it says the same"


@pytest.mark.parametrize("moment", range(0, 60, 6), ids=lambda each: f"{each} ms")
def test_killed_at_any_moment_a_command_runs_at_most_once_and_is_never_forgotten(tmp_path, moment):
    options = sh(f"echo ran >> {tmp_path}/ran")
    with lone_agent(tmp_path, "command", options) as agent:
        wait_until(lambda: any(tmp_path.rglob("begun.json")), "the agent to begin")
        threading.Event().wait(moment / 1000)
        agent.kill()
        agent.wait(60)

    task = attempt(tmp_path, options)
    result = COMMAND.take_over(task) or COMMAND.run(task)

    assert result.is_done, result.note
    assert (tmp_path / "ran").read_text() == "ran\n"
