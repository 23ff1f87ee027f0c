"""Questions before destructive commands, on a terminal only; and dry runs."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import FOREWARN, CommandLine, Outcome, environment
from tests.cli.conftest import command_line
from tests.fleets import SMALL
from tests.push.receiver import receiving
from tests.rollouts.bench import grid
from tests.running import RunningService, running, wait_until

QUESTION = b"[y/N]"
END_OF_INPUT = b"\x04"


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, url: str, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [FOREWARN, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(FOREWARN_URL=url, NO_COLOR="1"),
            start_new_session=True,
        )
        os.close(theirs)
        self._shown = b""

    def _read(self) -> bool:
        try:
            block = os.read(self._ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self._shown += block
        return bool(block)

    def answer(self, keys: bytes | signal.Signals) -> Outcome:
        """Wait for the question and answer it; how the command ended."""
        while QUESTION not in self._shown:
            assert self._read(), f"the command ended without a question:\n{self._shown.decode()}"
        if isinstance(keys, signal.Signals):
            self._process.send_signal(keys)
        else:
            os.write(self._ours, keys)
        return self.end()

    def end(self) -> Outcome:
        """How the command ended, and all that it showed."""
        while self._read():
            pass
        os.close(self._ours)
        return Outcome(self._process.wait(60), self._shown.decode(errors="replace").replace("\r\n", "\n"), "")


@pytest.fixture(scope="module")
def settled() -> Iterator[RunningService]:
    """A service of which no test changes anything."""
    with running(SMALL) as service:
        for name in ("solo", "brief", "web-0"):
            service.guest(name).document()
        yield service


@pytest.fixture
def empty_file(tmp_path: Path) -> str:
    file = tmp_path / "empty.toml"
    file.touch()
    return str(file)


# What is asked, and what becomes of the answer.


@pytest.mark.parametrize(
    ("keys", "code"),
    [(b"n\n", 1), (b"\n", 1), (b"maybe\n", 1), (b"\xff\n", 1), (END_OF_INPUT, 1), (signal.SIGINT, 130)],
    ids=["n", "return", "something else", "no text", "end of input", "Ctrl-C"],
)
def test_every_answer_but_yes_changes_nothing(settled: RunningService, keys: bytes | signal.Signals, code: int):
    number = settled.service.plane.world.number

    outcome = Terminal(command_line(settled).url, "vm", "delete", "twin").answer(keys)

    assert (outcome.code, outcome.out.endswith("Nothing was changed.\n")) == (code, True), outcome.out
    assert settled.service.plane.world.number == number


@pytest.mark.parametrize("keys", [b"y\n", b"YES\n"])
def test_yes_carries_the_command_out(service: RunningService, keys: bytes):
    outcome = Terminal(command_line(service).url, "vm", "delete", "solo").answer(keys)

    assert outcome.code == 0
    assert service.get("/v1/vms/solo")["operations"] != []


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["vm", "delete", "brief"], "1 VM affected, 1 event announced."),
        (["vm", "evict", "frugal"], "1 VM affected, 1 event announced."),
        (["host", "maintain", "host-0"], "2 VMs affected, 2 events announced."),
        (["host", "degrade", "host-0"], "2 VMs affected, 2 events announced."),
        (["host", "fail", "host-0"], "2 VMs affected, 2 events announced."),
        (["host", "reclaim", "host-1", "--vms", "1"], "1 VM affected, 1 event announced."),
        (["rollout", "start"], "6 hosts with 14 VMs"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_destructive_command_shows_its_consequence_in_numbers_and_asks(
    settled: RunningService, arguments: list[str], numbers: str
):
    number = settled.service.plane.world.number

    outcome = Terminal(command_line(settled).url, *arguments).answer(b"n\n")

    assert (outcome.code, numbers in outcome.out) == (1, True), outcome.out
    assert settled.service.plane.world.number == number


def test_a_rollout_of_the_whole_fleet_is_called_one(settled: RunningService):
    url = command_line(settled).url

    whole = Terminal(url, "rollout", "start").answer(b"n\n")
    part = Terminal(url, "rollout", "start", "--host", "host-0").answer(b"n\n")

    assert "the whole fleet" in whole.out
    assert "the whole fleet" not in part.out


def test_a_fleet_that_removes_something_is_asked_about_with_counts_and_names(
    settled: RunningService, empty_file: str
):
    outcome = Terminal(command_line(settled).url, "fleet", "apply", empty_file).answer(b"n\n")

    assert outcome.code == 1
    assert "This removes" in outcome.out
    assert "14 VMs" in outcome.out
    assert "6 hosts" in outcome.out
    assert "- VM web-0" in outcome.out
    assert len(settled.get("/v1/vms")["vms"]) == 14


def test_aborting_a_rollout_is_asked_about(tmp_path: Path):
    with running(grid(domains=2, hosts_per_domain=2)) as service:
        cli = command_line(service)
        name = cli.json("rollout", "start", "--kind", "Reboot")["id"]

        outcome = Terminal(cli.url, "rollout", "abort", name).answer(b"n\n")

        assert (outcome.code, "0 done, 4 left" in outcome.out) == (1, True), outcome.out
        assert service.get(f"/v1/rollouts/{name}")["state"] == "Running"


def test_removing_a_webhook_is_asked_about_when_messages_would_be_lost(service: RunningService):
    with receiving() as receiver:
        receiver.answer = lambda _: 500
        cli = command_line(service)
        cli("webhook", "add", receiver.url)
        (webhook,) = service.get("/v1/webhooks")["webhooks"]
        service.guest("solo").document()
        service.post("/v1/vms/solo/restart")
        wait_until(lambda: service.get("/v1/webhooks")["webhooks"][0]["waiting"] == 1, "a message to wait")

        outcome = Terminal(cli.url, "webhook", "remove", webhook["id"]).answer(b"n\n")

    assert (outcome.code, "1 undelivered message would be lost." in outcome.out) == (1, True)
    assert len(service.get("/v1/webhooks")["webhooks"]) == 1


# When nothing is asked.


@pytest.mark.parametrize(
    "arguments",
    [
        ["vm", "delete", "solo", "--yes"],
        ["host", "fail", "host-0", "--yes"],
        ["rollout", "start", "--yes"],
        ["vm", "restart", "solo"],
        ["vm", "stop", "solo"],
        ["host", "maintain", "host-3", "--kind", "Freeze", "--dry-run"],
    ],
    ids=" ".join,
)
def test_yes_and_restarts_of_one_vm_skip_the_question(service: RunningService, arguments: list[str]):
    outcome = Terminal(command_line(service).url, *arguments).end()

    assert (outcome.code, "[y/N]" in outcome.out) == (0, False), outcome.out


def test_a_fleet_that_removes_nothing_is_applied_without_a_question(service: RunningService, tmp_path: Path):
    file = tmp_path / "fleet.toml"
    cli = command_line(service)
    file.write_text(cli.says("fleet", "export") + '\n[[hosts]]\nname = "host-6"\n')

    outcome = Terminal(cli.url, "fleet", "apply", str(file)).end()

    assert (outcome.code, outcome.out.endswith("1 change applied.\n")) == (0, True), outcome.out


@pytest.mark.parametrize("piped", ["stdin", "stdout", "stderr"])
def test_without_a_whole_terminal_nothing_is_asked_and_the_command_acts(service: RunningService, piped: str):
    ours, theirs = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs) | {piped: subprocess.DEVNULL}
    url = command_line(service).url
    process = subprocess.Popen(
        [FOREWARN, "vm", "delete", "solo"],
        env=environment(FOREWARN_URL=url, NO_COLOR="1"),
        start_new_session=True,
        **streams,
    )
    os.close(theirs)

    code = process.wait(60)

    os.close(ours)
    assert code == 0
    assert service.get("/v1/vms/solo")["operations"] != []


def test_refused_request_asks_no_question(settled: RunningService):
    outcome = Terminal(command_line(settled).url, "vm", "evict", "solo").end()

    assert (outcome.code, "[y/N]" in outcome.out) == (1, False)
    assert outcome.out.startswith("error: solo cannot be evicted")


# Dry runs.


def test_a_dry_run_shows_events_and_times_and_says_that_nothing_was_changed(settled: RunningService):
    number = settled.service.plane.world.number

    shown = command_line(settled).says("host", "maintain", "host-0", "--kind", "Reboot", "--dry-run")

    assert shown == (
        "Would maintain host-0: 2 VMs affected, 2 events announced.\n"
        "KIND    SCOPE  VMS    STARTS BY  NOTICE\n"
        "Reboot  web    web-0  12:15:00Z  15 min\n"
        "Reboot  solo   solo   12:15:00Z  15 min\n"
        "Nothing was changed.\n"
    )
    assert settled.service.plane.world.number == number


@pytest.mark.parametrize(
    "arguments",
    [
        *(["vm", verb, "solo"] for verb in ("restart", "redeploy", "delete", "stop")),
        ["vm", "evict", "frugal"],
        *(["host", verb, "host-0"] for verb in ("maintain", "degrade", "fail")),
        ["host", "reclaim", "host-1", "--vms", "1"],
        ["rollout", "start"],
    ],
    ids=" ".join,
)
def test_every_changing_command_of_vm_host_and_rollout_has_a_dry_run_that_changes_nothing(
    settled: RunningService, arguments: list[str]
):
    cli, number = command_line(settled), settled.service.plane.world.number

    told = cli.json(*arguments, "--dry-run")

    assert told["hosts_total"] == 6 if arguments[0] == "rollout" else told["vms"] != []
    assert settled.service.plane.world.number == number


def test_a_dry_run_of_work_without_an_event_says_so(settled: RunningService):
    shown = command_line(settled).says("vm", "restart", "twin", "--dry-run")

    assert "now, without an event" in shown


def test_a_dry_run_of_a_fleet_lists_the_differences(settled: RunningService, empty_file: str):
    shown = command_line(settled).says("fleet", "apply", empty_file, "--dry-run")

    assert "- VM solo\n" in shown
    assert shown.endswith(" would be applied. Nothing was changed.\n")
    assert len(settled.get("/v1/vms")["vms"]) == 14


@pytest.mark.parametrize(("verb", "state"), [("pause", "Paused"), ("abort", "Aborted")])
def test_a_dry_run_of_stopping_a_rollout_names_the_events(verb: str, state: str):
    with running(grid(domains=2, hosts_per_domain=2)) as service:
        cli = command_line(service)
        name = cli.json("rollout", "start", "--kind", "Reboot")["id"]

        shown = cli.says("rollout", verb, name, "--dry-run")

        announced = [event["id"][:8].lower() for event in service.get("/v1/events")["events"]]
        assert state in shown
        assert announced != []
        assert all(event in shown for event in announced)
        assert service.get(f"/v1/rollouts/{name}")["state"] == "Running"


def test_a_dry_run_of_recover_and_of_resume_is_told(service: RunningService):
    cli = command_line(service)
    cli.says("host", "degrade", "host-0")
    name = cli.json("rollout", "start", "--host", "host-3")["id"]
    cli.says("rollout", "pause", name)

    recover = cli.says("host", "recover", "host-0", "--dry-run")
    resume = cli.says("rollout", "resume", name, "--dry-run")

    assert "2 events cancelled" in recover
    assert "Running" in resume
    assert service.get("/v1/hosts/host-0")["condition"] == "degraded"
    assert service.get(f"/v1/rollouts/{name}")["state"] == "Paused"


# Cancelling.


def test_cancelling_an_event_names_every_event_that_goes_with_it(service: RunningService):
    cli: CommandLine = command_line(service)
    for name in ("solo", "web-0"):
        service.guest(name).document()
    events = service.post("/v1/hosts/host-0/maintain", {"kind": "Freeze"})["events"]

    shown = cli.says("event", "cancel", events[0]["id"])

    assert "2 events cancelled:\n" in shown
    rows = shown.partition("2 events cancelled:\n")[2]
    assert all(event["id"][:8].lower() in rows and event["resources"][0] in rows for event in events)
