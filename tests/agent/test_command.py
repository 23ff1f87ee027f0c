"""The command handler, with real programs."""

from __future__ import annotations

import json
import os
import pwd
import resource
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.case import Direction
from forewarn.agent.handlers import find
from forewarn.agent.handlers.minding import Program
from forewarn.agent.handlers.proc import is_alive, is_session_of, process
from forewarn.agent.handlers.processes import run_minded
from tests.agent.shell import until_there
from tests.agent.tasks import EVENT, attempt
from tests.waiting import wait_until

COMMAND = find("command")


def sh(text: str, **more) -> dict:
    return {"command": text, "shell": True, **more}


def pid_in(path: Path) -> int:
    """The process that writes its number there."""
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"), f"a process to write {path.name}")
    return int(path.read_text())


def is_gone(pid: int) -> bool:
    return process(pid) is None


def test_a_command_that_exits_with_0_has_succeeded_and_its_last_lines_are_the_note(tmp_path):
    result = COMMAND.run(attempt(tmp_path, {"command": ["printf", "one\ntwo\n\nthree\nfour\n"]}))

    assert (result.is_done, result.note) == (True, "two | three | four")


def test_without_a_shell_a_command_runs_and_is_ended_but_not_taken_over(tmp_path):
    program = Program(("sh", "-c", 'echo "$COLOUR"; cat; sleep "$1"', "x", "0"), "/", {"COLOUR": "green"})
    task = attempt(tmp_path, {})

    done = run_minded(program, task, shell="/no/shell")
    slow = replace(program, arguments=(*program.arguments[:-1], "300"))
    late = run_minded(slow, replace(task, seconds=3), shell="/no/shell")
    taken_over = COMMAND.take_over(task)

    assert done.is_done
    assert "DurationInSeconds" in done.note
    assert "its time of 3 s was up, and SIGTERM ended it" in late.note
    assert taken_over is not None
    assert "what came of it is not known" in taken_over.note


def test_a_command_that_exits_with_another_status_has_failed_and_says_so(tmp_path):
    result = COMMAND.run(attempt(tmp_path, sh("echo cannot drain >&2; exit 3")))

    assert (result.is_done, result.note) == (False, "exit status 3: cannot drain")


def test_arguments_reach_the_program_as_they_are_and_no_shell_reads_them(tmp_path):
    strange = ["$HOME", "a b", "*", "'\"", "", "-n", ";rm"]
    program = "import sys, json; print(json.dumps(sys.argv[1:]))"

    result = COMMAND.run(attempt(tmp_path, {"command": [sys.executable, "-c", program, *strange]}))

    assert json.loads(result.note) == strange


def test_a_program_that_does_not_exist_is_a_failure(tmp_path):
    result = COMMAND.run(attempt(tmp_path, {"command": ["no-such-program-here"]}))

    assert not result.is_done
    assert result.note == "it could not be run: no-such-program-here: not found"


def test_the_event_comes_as_variables_with_the_names_that_webdevops_uses(tmp_path):
    result = COMMAND.run(attempt(tmp_path, sh(f"env -0 > {tmp_path}/all"), seconds=33))

    said = dict(each.split("=", 1) for each in (tmp_path / "all").read_text().split("\0") if each)
    assert result.is_done
    assert {name: said[name] for name in said if name.startswith("EVENT_")} == {
        "EVENT_ID": EVENT.id,
        "EVENT_SOURCE": "Platform",
        "EVENT_STATUS": "Scheduled",
        "EVENT_TYPE": "Reboot",
        "EVENT_NOTBEFORE": "Mon, 02 Mar 2026 12:15:00 GMT",
        "EVENT_RESOURCES": "web-3 web-4",
        "EVENT_RESOURCETYPE": "VirtualMachine",
        "EVENT_DESCRIPTION": EVENT.description,
        "EVENT_DURATION_SECONDS": "120",
        "EVENT_VM": "web-3",
        "EVENT_STEP": "drain",
        "EVENT_DIRECTION": "do",
        "EVENT_TRY": "1",
        "EVENT_KEY": f"{EVENT.id}/drain/do",
        "EVENT_TEST": "false",
        "EVENT_SECONDS_LEFT": "33",
        "EVENT_SECONDS_TO_NOTBEFORE": "900",
    }


def test_the_event_comes_as_json_on_the_input_with_azures_names(tmp_path):
    COMMAND.run(attempt(tmp_path, sh(f"cat > {tmp_path}/said")))

    assert json.loads((tmp_path / "said").read_text()) == {
        "EventId": EVENT.id,
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-3", "web-4"],
        "EventStatus": "Scheduled",
        "NotBefore": "Mon, 02 Mar 2026 12:15:00 GMT",
        "Description": EVENT.description,
        "EventSource": "Platform",
        "DurationInSeconds": 120,
    }


@pytest.mark.parametrize(
    "description",
    ["nul \0 inside", "half \ud800 a character", "x" * 3_000_000],
    ids=["a NUL", "half a character", "three million letters"],
)
def test_a_description_that_no_variable_can_hold_does_not_stop_the_command(tmp_path, description):
    event = replace(EVENT, description=description)

    result = COMMAND.run(attempt(tmp_path, {"command": ["true"]}, event=event))

    assert result.is_done, result.note


def test_variables_and_directory_are_what_the_options_say(tmp_path):
    options = sh("echo $COLOUR; pwd", environment={"COLOUR": "red"}, cwd=str(tmp_path))

    assert COMMAND.run(attempt(tmp_path, options)).note == f"red | {tmp_path}"


KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("echo token is $TOKEN", "token is [secret]"),
        ('echo "$KEY"; exit 3', "exit status 3: [secret]"),
        ('echo "$KEY" | tail -n 2', "[secret] | [secret]"),
    ],
)
def test_what_the_environment_holds_is_not_told_in_the_note(tmp_path, text, note):
    options = sh(text, environment={"TOKEN": "s3cr3t", "KEY": KEY})
    task = attempt(tmp_path, options)

    assert COMMAND.run(task).note == note
    assert COMMAND.take_over(task).note == note


@pytest.mark.parametrize("length", [290, 295, 300, 2395, 2400, 2405, 2410])
def test_half_a_secret_is_not_told_where_the_output_is_cut(tmp_path, length):
    options = sh(
        f"printf '%s' \"$TOKEN\"; printf '%{length}s' . | tr ' ' '\\n'", environment={"TOKEN": "qqqqqqqppppppp"}
    )

    note = COMMAND.run(attempt(tmp_path, options)).note

    assert "p" not in note.replace("[secret]", "")


def test_what_systemd_tells_the_agent_alone_is_kept_from_commands(tmp_path, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/notify")

    assert COMMAND.run(attempt(tmp_path, sh("echo [$NOTIFY_SOCKET]"))).note == "[]"


def test_the_undo_runs_its_own_command(tmp_path):
    options = {"command": ["echo", "out"], "undo": ["echo", "back"]}

    result = COMMAND.run(attempt(tmp_path, options, direction=Direction.UNDO))

    assert (result.is_done, result.note) == (True, "back")
    assert COMMAND.undoes(options)
    assert not COMMAND.undoes({"command": ["echo"]})


def test_a_command_that_hangs_ends_with_all_that_it_started_when_its_time_is_up(tmp_path):
    options = sh(f"sleep 300 & echo $! > {tmp_path}/child; echo waiting; wait")

    result = COMMAND.run(attempt(tmp_path, options, seconds=3))

    assert (result.is_done, result.note) == (False, "its time of 3 s was up, and SIGTERM ended it: waiting")
    assert is_gone(pid_in(tmp_path / "child"))


def test_a_command_that_ignores_sigterm_is_killed_and_so_are_its_grandchildren(tmp_path):
    child = f"sh -c 'echo $$ > {tmp_path}/grandchild; sleep 300; sleep 300'"
    options = sh(f"trap '' TERM; {child} & echo $$ > {tmp_path}/self; wait; wait", grace_seconds=0.3)

    result = COMMAND.run(attempt(tmp_path, options, seconds=3))

    assert not result.is_done
    assert "SIGKILL" in result.note
    assert is_gone(pid_in(tmp_path / "self"))
    assert is_gone(pid_in(tmp_path / "grandchild"))


def test_a_command_may_tidy_up_within_its_grace(tmp_path):
    options = sh(f"trap 'echo tidy > {tmp_path}/done; exit 0' TERM; sleep 300 & wait", grace_seconds=10)

    result = COMMAND.run(attempt(tmp_path, options, seconds=3))

    assert not result.is_done, "what was ended has not succeeded, whatever it says"
    assert (tmp_path / "done").read_text() == "tidy\n"


def test_the_word_to_stop_ends_a_command_at_once(tmp_path):
    stop = threading.Event()
    results = []
    task = attempt(tmp_path, sh(f"echo $$ > {tmp_path}/self; sleep 300"), seconds=300, stop=stop)
    thread = threading.Thread(target=lambda: results.append(COMMAND.run(task)))
    thread.start()
    pid = pid_in(tmp_path / "self")

    stop.set()
    thread.join(60)

    assert results[0].note == "it was told to stop, and SIGTERM ended it"
    assert is_gone(pid)


def test_a_flood_of_output_costs_neither_memory_nor_disk_and_holds_nothing_up(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    task = attempt(tmp_path, sh("echo first; yes flood | head -c 99999996; echo last"), seconds=60)

    result = COMMAND.run(task)

    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    kept = sum(each.stat().st_size for each in task.scratch.rglob("*"))
    assert result.is_done
    assert result.note == "flood | flood | last"
    assert next(task.scratch.rglob("output")).read_text().startswith("first\n")
    assert grown_kib < 2_000
    assert kept < 500_000


def test_a_flood_that_never_ends_is_ended(tmp_path):
    result = COMMAND.run(attempt(tmp_path, {"command": ["yes", "flood"]}, seconds=3))

    assert not result.is_done
    assert "flood | flood" in result.note


def test_a_daemon_that_a_command_leaves_behind_holds_nothing_up_and_lives_on(tmp_path):
    options = sh(f"(echo $$; exec sleep 300) & echo $! > {tmp_path}/daemon; echo started")

    result = COMMAND.run(attempt(tmp_path, options))

    pid = pid_in(tmp_path / "daemon")
    assert result.is_done
    assert "started" in result.note
    assert not is_gone(pid)
    os.kill(pid, signal.SIGKILL)


def test_what_a_daemon_writes_later_does_not_kill_it(tmp_path):
    loop = f"{until_there(tmp_path / 'go')}; echo late; echo late; touch {tmp_path}/lived"
    COMMAND.run(attempt(tmp_path, sh(f"({loop}) &")))

    (tmp_path / "go").touch()

    wait_until((tmp_path / "lived").exists, "the daemon to write and to go on")
    assert (tmp_path / "lived").exists()


def test_a_command_ended_by_a_signal_has_failed(tmp_path):
    result = COMMAND.run(attempt(tmp_path, sh("kill -SEGV $$")))

    assert (result.is_done, "signal 11" in result.note) == (False, True)


def test_what_is_begun_a_second_time_in_the_same_place_has_its_own_result(tmp_path):
    task = attempt(tmp_path, sh(f"test -e {tmp_path}/there"))
    first = COMMAND.run(task)
    (tmp_path / "there").touch()

    second = COMMAND.run(task)

    assert (first.is_done, second.is_done) == (False, True)
    assert COMMAND.take_over(task) == second


@pytest.mark.system
def test_a_command_runs_as_another_user_and_its_status_is_found(tmp_path):
    task = attempt(tmp_path, sh("id -un; id -gn; echo $HOME; exit 4", user="nobody"))
    task.scratch.chmod(0o700)

    result = COMMAND.run(task)

    assert result.note == "exit status 4: nobody | nogroup | /nonexistent"
    assert next(task.scratch.rglob("status")).read_text() == "exit 4\n"


@pytest.mark.system
def test_a_hanging_command_of_another_user_is_ended(tmp_path):
    result = COMMAND.run(attempt(tmp_path, sh("sleep 300", user="nobody"), seconds=3))

    assert result.note == "its time of 3 s was up, and SIGTERM ended it"


@pytest.mark.system
@pytest.mark.parametrize("name", ["given_up.json.part", "given_up.json", "output", "event.json"])
def test_the_user_of_a_command_cannot_have_the_agent_write_to_a_file_of_its_own(tmp_path, name):
    precious = tmp_path / "precious"
    precious.write_text("root's\n")
    links = "; ".join(f"ln -sf {precious} /proc/$PPID/cwd/{place}{name}" for place in ("", "../"))

    result = COMMAND.run(attempt(tmp_path, sh(f"{links}; sleep 300", user="nobody"), seconds=2))

    assert "its time of 2 s was up" in result.note
    assert precious.read_text() == "root's\n"


@pytest.mark.system
def test_a_session_is_somebodys_only_if_all_of_it_is_theirs():
    with subprocess.Popen(["sleep", "300"], start_new_session=True, user="nobody") as theirs:
        nobody = pwd.getpwnam("nobody").pw_uid
        told = is_session_of(theirs.pid, nobody), is_session_of(theirs.pid, 0), is_session_of(1, nobody)
        theirs.kill()

    assert told == (True, False, False)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"command": "drain --now"}, "command is one text. Write it as a list"),
        ({"command": []}, "has to be a list of texts"),
        ({"command": ["-x"]}, "names no program"),
        ({"command": ["x"], "shell": True}, "has to be one text where shell = true"),
        ({"command": ["x"], "undo": "y"}, "undo is one text"),
        ({"command": ["x"], "environment": {"A-B": "1"}}, "'A-B', which is no name of a variable"),
        ({"command": ["x"], "user": "nobody-of-that-name"}, "there is no such user"),
        ({"command": ["x"], "user": "\0"}, "user is '\\x00', and there is no such user"),
        ({"command": ["x"], "cwd": "/no/such/place"}, "where there is no directory"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_cannot_work_are_refused(options, problem):
    assert any(problem in each for each in COMMAND.check(options)), COMMAND.check(options)


def test_good_options_are_not_refused():
    assert COMMAND.check({"command": ["true", "--now"], "undo": ["/bin/sh"], "environment": {"A_1": "x"}}) == []
    assert COMMAND.check({"command": "drain | tee log", "shell": True}) == []


def test_a_process_is_not_taken_for_a_later_one_with_its_number():
    ourselves = process(os.getpid())

    assert ourselves is not None
    assert is_alive(ourselves)
    assert not is_alive(replace(ourselves, started=ourselves.started - 1))
