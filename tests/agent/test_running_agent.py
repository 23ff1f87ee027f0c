"""The commands with a real agent between them and the endpoint."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pytest

from tests.agent.azure import Azure, event
from tests.agent.outputs import full_pipe
from tests.agent.running_command import AGENT, Outcome, agent, bare, process
from tests.waiting import as_typed, free_port, wait_until

ID = "4F1C9A02-6B0E-4C53-9A1D-0C5B7E21D9AA"
FILE = """
poll_seconds = 0.2
[[rules]]
profile = "drain"
[profiles.drain]
approval = "manual"
[[profiles.drain.steps]]
name = "note"
uses = "command"
command = ["/bin/sh", "-c", "echo do >> {notes}"]
undo = ["/bin/sh", "-c", "echo undo >> {notes}"]
"""
# What a signal's handler does while its thread holds the lock that stopping takes.
SIGNALLED = """
import signal
from contextlib import ExitStack
from forewarn.agent.daemon import Agent
from forewarn.agent.journal import Journal
from forewarn.agent.settings import Settings
settings = Settings(endpoints=("http://127.0.0.1:9",), is_dry_run=True, listen=None)
with ExitStack() as at_the_end:
    agent = Agent(settings, "b-1", Journal, at_the_end)
    agent._heed_signals()
    with agent._stop._cond:
        signal.raise_signal(signal.SIGTERM)
    agent.run()
"""


class Running:
    """A real agent, and the commands that talk to it."""

    def __init__(self, tmp_path: Path, endpoint: str) -> None:
        self.notes = tmp_path / "notes"
        self.file = tmp_path / "agent.toml"
        self.file.write_text(FILE.replace("{notes}", str(self.notes)), encoding="utf-8")
        self._where = ("--config", str(self.file), "--state-dir", str(tmp_path / "state"))
        self._where += ("--listen", f"127.0.0.1:{free_port()}")
        self._endpoint = endpoint
        self.log = ""  # of the last one that ran
        self.pid = 0

    @contextmanager
    def run(
        self,
        *arguments: str,
        stderr: int | TextIO = subprocess.PIPE,
        ending: signal.Signals = signal.SIGTERM,
        before: Sequence[str] = (),
    ) -> Iterator[Running]:
        run = [*before, *AGENT, "run", *self._where, "--endpoint", self._endpoint, *arguments]
        command = as_typed(*run)
        running = subprocess.Popen(command, env=bare(), stderr=stderr)
        try:
            wait_until(lambda: self.tell("status").code == 0, "the agent to answer")
            self.pid = running.pid
            yield self
        finally:
            running.send_signal(ending)
            _, err = running.communicate(timeout=60)
        self.log = (err or b"").decode()
        assert running.returncode == 0, self.log

    def tell(self, *arguments: str) -> Outcome:
        return agent(*arguments, *self._where)

    def wait_for(self, condition: Callable[[dict[str, Any]], bool], what: str) -> None:
        def holds() -> bool:
            events = self.tell("status", "--json").json["events"]
            return bool(events) and condition(events[0])

        wait_until(holds, what)


@pytest.fixture
def running(tmp_path: Path, azure: Azure) -> Running:
    azure.show(event(ID, Resources=["web-0"]))
    return Running(tmp_path, azure.url)


def test_an_operator_holds_releases_and_approves_an_event_by_the_beginning_of_its_id(
    running: Running, azure: Azure
):
    with running.run() as there:
        there.wait_for(lambda case: case["phase"] == "prepared", "it to be prepared")
        held = there.tell("hold", "4f1c")
        there.wait_for(lambda case: bool(case["held_by"]), "the hold to be shown")
        seen = there.tell("status")
        released = there.tell("release", "4F1C")
        approved = there.tell("approve", "4f1c9a02")
        wait_until(lambda: azure.approved == [ID], "the approval")
        unknown = there.tell("approve", "zz")

    assert (held.code, released.code, approved.code) == (0, 0, 0)
    assert f"Reboot {ID} of web-0: prepared" in seen.out
    assert "note: done" in seen.out
    assert (unknown.code, unknown.err) == (1, "error: There is no event zz. See: forewarn agent status.\n")
    assert azure.approved == [ID]


def test_a_dry_run_touches_nothing_and_says_so(running: Running, azure: Azure, tmp_path: Path):
    with running.run("--dry-run") as there:
        there.wait_for(lambda case: case["vm"] == "web-0", "it to be seen")
        azure.wait_for_polls(3)
        seen = there.tell("status")

    assert "This is a dry run: nothing is run, nothing is approved." in seen.out
    assert not running.notes.exists()
    assert not (tmp_path / "state").exists()
    assert azure.approved == []


def test_a_signal_ends_the_agent_whatever_lock_its_thread_holds():
    ended = subprocess.run([sys.executable, "-c", SIGNALLED], env=bare(), timeout=30, check=False)

    assert ended.returncode == 0


def test_an_agent_whose_log_nobody_reads_prepares_answers_and_stops_as_any_other(running: Running, azure: Azure):
    with full_pipe() as pipe, running.run(stderr=pipe.stream) as there:
        there.wait_for(lambda case: case["phase"] == "prepared", "it to be prepared")
        there.tell("approve", "4f1c")
        wait_until(lambda: azure.approved == [ID], "the approval")

    assert running.notes.read_text() == "do\n"


def test_what_is_doubtful_in_the_file_is_said_in_a_line_of_log(tmp_path: Path):
    file = tmp_path / "agent.toml"
    file.write_text("[profiles.unused]\n")

    ended = process([*AGENT, "run", "--config", str(file), "--state-dir", f"{file}/none"])

    doubt, refusal = [json.loads(line) for line in ended.err.splitlines()]
    assert (doubt["level"], doubt["message"].startswith(f"{file}:1: No rule leads to")) == ("warning", True)
    assert (ended.code, refusal["level"]) == (1, "error")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_agent_cleanly_and_the_last_line_of_its_log_says_so(
    running: Running, ending: signal.Signals
):
    with running.run(ending=ending) as there:
        there.wait_for(lambda case: case["phase"] == "prepared", "it to be prepared")

    assert json.loads(running.log.splitlines()[-1])["message"] == "stopped"


def test_a_command_that_fails_has_failed_also_for_an_agent_whose_parent_ignored_the_end_of_children(
    running: Running, azure: Azure
):
    said = running.file.read_text().replace('"manual"', '"after_success"').replace("echo do", "exit 3; echo do")
    running.file.write_text(said)
    with running.run(before=("/bin/sh", "-c", "trap '' CHLD; exec \"$@\"", "sh")) as there:
        there.wait_for(lambda case: bool(case["runs"]) and case["runs"][0]["outcome"] == "failed", "its failure")
        azure.wait_for_polls(3)

    assert azure.approved == []


def test_an_agent_that_is_to_outlive_its_terminal_does(running: Running):
    with running.run(before=("/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh")) as there:
        there.wait_for(lambda case: case["phase"] == "prepared", "it to be prepared")
        lines = Path(f"/proc/{there.pid}/status").read_text().splitlines()
        ignored = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn:"))

    assert ignored & 1 << signal.SIGHUP - 1
