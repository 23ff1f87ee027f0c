"""A VM as its users know it: an agent and other programs in it, and a platform that takes it down."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.agent.running_command import bare
from tests.running import ROOT, RunningService, call, free_port, running, wait_until

VM = "web-0"
FLEET: dict[str, Any] = {
    "hosts": [{"name": "host-0"}, {"name": "host-1"}],
    "availability_sets": [{"name": "web"}],
    "vms": [{"name": f"web-{n}", "host": f"host-{n}", "availability_set": "web"} for n in range(2)],
}
_WITH_BOOT = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'


class Machine:
    """web-0, and the service that announces what happens to it."""

    def __init__(self, service: RunningService, place: Path, port: int = 0) -> None:
        self.service = service
        self.place = place
        self.port = port or free_port()  # where its agent listens
        self._log = place / "agent.log"
        self._config = place / "agent.toml"
        self._boot = place / "boot_id"
        self._agent: subprocess.Popen[bytes] | None = None
        self._programs = ExitStack()

    # Its programs.

    def configure(self, text: str) -> None:
        self._config.write_text(text, encoding="utf-8")

    def boot(self) -> None:
        """The machine comes up, and its agent with it."""
        self._boot.write_text(f"{uuid.uuid4()}\n", encoding="ascii")
        self._start_agent()

    def crash(self) -> None:
        """All that is known to run in it is gone at once."""
        if self._agent is not None:
            self._agent.kill()
            self._agent.wait(60)
            self._agent = None
        self._programs.close()

    def shut(self) -> None:
        """The end of the test: the agent is told to stop, and has to do so in good order."""
        agent, self._agent = self._agent, None
        if agent is not None:
            agent.terminate()
            assert agent.wait(60) == 0, self._log.read_text()
        self._programs.close()
        assert not [line for line in self.log if "trace" in line], self._log.read_text()

    def start(self, *command: object, user: str | None = None) -> subprocess.Popen[bytes]:
        """A program that runs in it, until the machine goes down."""
        words = [str(word) for word in command]
        with (self.place / "programs.log").open("ab") as said:
            process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=said, stderr=said, user=user)
        self._programs.callback(end, process)
        return process

    def start_again(self) -> None:
        """Kill the agent, and let another one go on."""
        assert self._agent is not None
        self._agent.kill()
        self._agent.wait(60)
        self._start_agent()

    def _start_agent(self) -> None:
        command = [sys.executable, "-m", "forewarn.agent", "run", "--config", str(self._config)]
        command += ["--endpoint", f"http://127.0.0.1:{self.service.metadata_port}"]
        command += ["--state-dir", str(self.place / "state"), "--listen", f"127.0.0.1:{self.port}"]
        # A question that is held does not hear that a virtual clock was put forward.
        command += ["--poll-seconds", "0.2", "--wait-seconds", "0"]
        if _can_tell_boots():
            command = ["unshare", "--mount", "/bin/sh", "-c", _WITH_BOOT, str(self._boot), *command]
        with self._log.open("ab") as said:
            self._agent = subprocess.Popen(command, cwd=ROOT, env=bare(), stderr=said, stdin=subprocess.DEVNULL)
        wait_until(lambda: self.sees, "the agent to have asked the endpoint")

    # What its agent says.

    @property
    def sees(self) -> bool:
        assert self._agent is not None
        assert self._agent.poll() is None, self._log.read_text()
        try:
            said = call("127.0.0.1", self.port, "GET", "/events").json
        except OSError:
            return False
        return said["poll_age_seconds"] is not None and bool(said["vm"])

    @property
    def log(self) -> list[dict[str, Any]]:
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        return [json.loads(line) for line in lines]

    def case(self, event: str) -> dict[str, Any]:
        """All that the agent says of an event."""
        said = call("127.0.0.1", self.port, "GET", "/events?all=1").json["events"]
        return next((each for each in said if each["event"]["id"].lower() == event.lower()), {})

    def step(self, event: str, name: str, direction: str = "do") -> dict[str, Any]:
        runs = self.case(event).get("runs", ())
        return next((each for each in runs if (each["step"], each["direction"]) == (name, direction)), {})

    def wait_for(self, event: str, phase: str) -> None:
        def is_there() -> bool:
            return self.case(event).get("phase") == phase

        try:
            wait_until(is_there, f"the event to be {phase}")
        except AssertionError as late:
            raise AssertionError(f"{late}\n{json.dumps(self.case(event), indent=1)}") from late

    # What the platform does.

    def announce(self) -> str:
        """A restart of it is announced; the event's id."""
        return self.service.post(f"/v1/vms/{VM}/restart", {})["event"]["id"]

    def approver(self, event: str) -> str | None:
        return self.service.get(f"/v1/events/{event}")["approved_by"]

    def has_started(self, event: str) -> bool:
        return self.service.get(f"/v1/events/{event}")["phase"] == "Started"

    def wait_for_approval(self, event: str) -> None:
        """Until its agent lets the event begin, which it does at once."""
        try:
            wait_until(lambda: self.has_started(event), "the approval")
        except AssertionError as late:
            raise AssertionError(f"{late}\n{json.dumps(self.case(event), indent=1)}") from late
        assert self.approver(event) == VM

    def finish(self, event: str) -> None:
        """The platform is done, and the agent, which has seen it at work, sees to the rest."""
        self.wait_for(event, "started")
        self.service.advance(minutes=5)
        self.wait_for(event, "finished")


@cache
def _can_tell_boots() -> bool:
    """Whether a process may be told of a boot of its own, as root can; for others every boot is the same."""
    if shutil.which("unshare") is None:
        return False
    trial = ["unshare", "--mount", "/bin/sh", "-c", _WITH_BOOT, "/dev/null", "/bin/true"]
    return subprocess.run(trial, check=False, capture_output=True).returncode == 0


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill one that this test started."""
    process.kill()
    process.wait(60)
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def end_of(pid_file: Path) -> None:
    """Kill one that the agent started."""
    with suppress(FileNotFoundError, ProcessLookupError, ValueError):
        os.kill(int(pid_file.read_text()), signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether there is such a process, which has not ended without anybody taking note."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


@contextmanager
def a_machine(place: Path, config: str, port: int = 0) -> Iterator[Machine]:
    """web-0 with an agent that has this file, in front of a service whose clock stands still."""
    with running(FLEET, guest=VM) as service:
        machine = Machine(service, place, port)
        machine.configure(config)
        try:
            machine.boot()
            yield machine
            machine.shut()
        finally:
            machine.crash()


def program(name: str, *arguments: object) -> Sequence[str]:
    """A program of these tests."""
    return [sys.executable, "-m", f"tests.uses.programs.{name}", *map(str, arguments)]
