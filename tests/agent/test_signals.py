"""The signal handler, with real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.case import Direction
from forewarn.agent.handlers import find
from forewarn.agent.handlers.proc import process
from forewarn.agent.handlers.records import keep
from tests.agent.lone_agent import lone_agent
from tests.agent.tasks import attempt
from tests.waiting import wait_until

SIGNAL = find("signal")
SAVES = """
import signal, sys, pathlib
place = pathlib.Path(sys.argv[1])
def save(number, frame):
    (place / "saved").open("a").write(signal.Signals(number).name + "\\n")
    if number == signal.SIGTERM and sys.argv[2] == "ends":
        sys.exit()
for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, save)
(place / "ready").touch()
while True:
    signal.pause()
"""


@contextmanager
def job(place: Path, on_sigterm: str = "ends") -> Iterator[subprocess.Popen[bytes]]:
    """A job that notes its signals; its pid file lies beside."""
    with subprocess.Popen([sys.executable, "-c", SAVES, str(place), on_sigterm]) as running:
        try:
            (place / "pid").write_text(f"{running.pid}\n")
            wait_until((place / "ready").exists, "the job to be ready")
            yield running
        finally:
            running.kill()


def saved(place: Path) -> list[str]:
    return (place / "saved").read_text().split() if (place / "saved").exists() else []


def test_the_process_of_a_pid_file_gets_the_signal_and_its_end_is_waited_for(tmp_path):
    with job(tmp_path):
        task = attempt(tmp_path, {"pid_file": str(tmp_path / "pid"), "wait_for_exit_seconds": 20})

        result = SIGNAL.run(task)

    assert result.is_done, result.note
    assert "ended after" in result.note
    assert saved(tmp_path) == ["SIGTERM"]


def test_a_process_that_does_not_end_is_a_failure(tmp_path):
    with job(tmp_path, "stays") as running:
        task = attempt(tmp_path, {"pid_file": str(tmp_path / "pid"), "wait_for_exit_seconds": 0.3})

        result = SIGNAL.run(task)

        assert (result.is_done, result.note) == (
            False,
            f"process {running.pid} did not end: its time of 0.3 s was up",
        )
        assert running.poll() is None


def test_every_process_of_a_name_gets_the_signal(tmp_path):
    program = tmp_path / "a-program-with-a-long-name"
    program.write_bytes(Path("/bin/sleep").resolve().read_bytes())
    program.chmod(0o755)
    sleepers = [subprocess.Popen([program, "300"]) for _ in range(2)]
    other = subprocess.Popen(["sleep", "300"])
    try:
        result = SIGNAL.run(attempt(tmp_path, {"process": program.name, "wait_for_exit_seconds": 20}))

        assert result.is_done, result.note
        assert [each.wait(60) for each in sleepers] == [-15, -15]
        assert other.poll() is None
    finally:
        for each in (*sleepers, other):
            each.kill()
            each.wait()


def test_the_main_process_of_a_unit_gets_the_signal(tmp_path):
    with job(tmp_path) as running:
        systemctl = tmp_path / "systemctl"
        systemctl.write_text(
            f'#!/bin/sh\n[ "$*" = "show --property=MainPID --value job.service" ] && echo {running.pid}\n'
        )
        systemctl.chmod(0o755)
        options = {"unit": "job.service", "systemctl": str(systemctl), "signal": "SIGUSR1"}

        result = SIGNAL.run(attempt(tmp_path, options))

        assert (result.is_done, result.note) == (True, f"SIGUSR1 sent to process {running.pid}")
        wait_until(lambda: saved(tmp_path) == ["SIGUSR1"], "the signal")


@pytest.mark.parametrize("content", [None, "", "0\n", "1\n", "-1\n", "nonsense\n", "999999999999\n"], ids=repr)
def test_a_pid_file_that_names_nobody_is_a_failure_unless_that_is_fine(tmp_path, content):
    path = tmp_path / "pid"
    if content is not None:
        path.write_text(content)
    options = {"pid_file": str(path)}

    strict = SIGNAL.run(attempt(tmp_path, options))
    easy = SIGNAL.run(attempt(tmp_path, options | {"may_be_missing": True}))

    assert (strict.is_done, easy.is_done) == (False, True)
    assert strict.note == f"{path} names no process that runs"


def test_the_undo_sends_its_signal_and_does_not_mind_when_nobody_is_there(tmp_path):
    options = {"pid_file": str(tmp_path / "pid"), "signal": "SIGUSR1", "undo_signal": "USR2"}
    with job(tmp_path):
        result = SIGNAL.run(attempt(tmp_path, options, direction=Direction.UNDO))
        wait_until(lambda: saved(tmp_path) == ["SIGUSR2"], "the signal")
    gone = SIGNAL.run(attempt(tmp_path, options, direction=Direction.UNDO))

    assert (result.is_done, gone.is_done) == (True, True)
    assert SIGNAL.undoes(options)


def test_the_undo_may_be_a_command(tmp_path):
    options = {"process": "x", "undo": ["touch", str(tmp_path / "started")]}

    result = SIGNAL.run(attempt(tmp_path, options, direction=Direction.UNDO))

    assert result.is_done
    assert (tmp_path / "started").exists()
    assert SIGNAL.undoes(options)
    assert not SIGNAL.undoes({"process": "x"})


def test_a_signal_that_an_agent_sent_before_it_died_is_not_sent_again_but_the_end_is_waited_for(tmp_path):
    with job(tmp_path, "stays") as running:
        options = {"pid_file": str(tmp_path / "pid"), "wait_for_exit_seconds": 60}
        with lone_agent(tmp_path, "signal", options) as agent:
            wait_until(lambda: bool(saved(tmp_path)), "the signal")
            wait_until(lambda: '"is_sent": true' in next(tmp_path.rglob("sent.json")).read_text(), "its record")
            agent.kill()
            agent.wait(60)
        running.kill()
        running.wait(60)

        result = SIGNAL.take_over(attempt(tmp_path, options))

    assert result is not None
    assert result.is_done
    assert saved(tmp_path) == ["SIGTERM"]


def test_whether_a_signal_was_sent_may_not_be_known_and_is_then_a_failure(tmp_path):
    task = attempt(tmp_path, {"process": "x"})
    ourselves = process(os.getpid())
    assert ourselves is not None
    keep(task.scratch / "sent.json", {"targets": [(ourselves.pid, ourselves.started)], "is_sent": False})

    result = SIGNAL.take_over(task)

    assert result is not None
    assert "not known" in result.note
    assert SIGNAL.take_over(replace(task, scratch=tmp_path / "none")) is None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "Say who gets the signal"),
        ({"process": "x", "unit": "y"}, "by one of pid_file, process and unit"),
        ({"process": "x", "signal": "SIGNONSENSE"}, "which is no signal here"),
        ({"process": "x", "undo_signal": "9"}, "which is no signal here"),
        ({"process": "x", "undo_signal": "CONT", "undo": ["a"]}, "Take one of them out"),
        ({"process": "x", "undo": "a b"}, "undo is one text"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_that_cannot_work_are_refused(options, problem):
    assert any(problem in each for each in SIGNAL.check(options)), SIGNAL.check(options)


def test_good_options_are_not_refused():
    assert SIGNAL.check({"unit": "job.service", "signal": "SIGUSR1", "undo_signal": "SIGUSR2"}) == []
