"""`forewarn scenario`: the output of a play, and its exit code."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import pytest

from forewarn.scenario.file import library
from tests.cli.command import forewarn, shown
from tests.cli.meanwhile import Meanwhile
from tests.running import call, free_port

SCENE = """\
[scenario]
description = "a restart"

[[vms]]
name = "app-0"

[[guests]]
vm = "app-0"
every = "30s"
approve_after = "1m"

[[at]]
time = "1m"
do = "restart"
vm = "app-0"

[[expect]]
time = "2m"
vm = "app-0"
phase = "Started"
incarnation = 3

[[expect]]
time = "10m"
open = 0
"""
GHOST = """\
[[availability_sets]]
name = "s"

[[vms]]
name = "a"
availability_set = "s"

[[vms]]
name = "z"
availability_set = "s"

[[guests]]
vm = "z"
every = "5s"
approve_after = "10s"
others = true

[[at]]
time = "1m"
do = "delete"
vm = "z"

[[at]]
time = "2m"
do = "restart"
vm = "a"

[[expect]]
time = "5m"
vm = "a"
phase = "Scheduled"
approved_by = ""

[[expect]]
time = "5m"
guest = "z"
status = 404
"""
LONG = SCENE.replace('description = "a restart"', 'length = "1h"')


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(SCENE)
    return path


class Playing(Meanwhile):
    """`forewarn scenario play`."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        super().__init__(directory, "scenario", "play", *arguments)


def test_list_names_every_scenario_of_the_library():
    outcome = forewarn("scenario", "list")

    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["NAME", *library.names()]
    assert re.search(r"^spot-eviction +0:02:00 +\S", outcome.out, re.MULTILINE)


def test_output_of_show_can_be_played(tmp_path: Path):
    mine = tmp_path / "mine.toml"
    mine.write_text(forewarn("scenario", "show", "hardware-failure").out)

    outcome = forewarn("scenario", "play", str(mine), "--virtual")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith("mine: 6 of 6 as expected\n")


def test_show_as_json_has_the_contents():
    found = json.loads(forewarn("scenario", "show", "user-reboot", "--json").out)

    assert (found["length_seconds"], found["guests"], found["acts"]) == (300, ["web-0", "web-1"], 1)
    assert found["text"] == forewarn("scenario", "show", "user-reboot").out


def test_play_prints_a_line_for_everything_that_happens(file: Path):
    outcome = forewarn("scenario", "play", str(file), "--virtual")

    event = outcome.out.split()[outcome.out.split().index("sees") + 2]
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == shown(
        "mine: a restart",
        "  0:01:00  restart app-0",
        f"  0:01:00  {event} Reboot of app-0 Scheduled, not before 09:16:00Z",
        f"  0:01:00  app-0 sees Reboot {event} Scheduled",
        f"  0:02:00  app-0 approves Reboot {event}",
        f"  0:02:00  {event} Reboot of app-0 Scheduled, not before 09:16:00Z, approved by app-0",
        f"  0:02:00  {event} Reboot of app-0 Started",
        "  0:02:00  as expected: app-0: phase Started, incarnation 3",
        f"  0:02:30  app-0 sees Reboot {event} Started",
        f"  0:03:05  {event} Reboot of app-0 Completed",
        f"  0:03:30  app-0 sees Reboot {event} gone",
        "  0:10:00  as expected: the fleet: open 0",
        "mine: 2 of 2 as expected",
    )


@pytest.mark.parametrize("name", library.names())
def test_library_scenario_passes_when_the_command_plays_it(name: str):
    outcome = forewarn("scenario", "play", name, "--virtual")

    assert (outcome.code, outcome.err) == (0, "")
    assert re.search(rf"^{name}: (\d+) of \1 as expected\n\Z", outcome.out, re.MULTILINE)


@pytest.mark.parametrize("named", [(), ("--guest", "a")], ids=["nobody named", "a client named"])
def test_guest_of_a_deleted_vm_counts_as_no_other_vm(tmp_path: Path, named: tuple[str, ...]):
    file = tmp_path / "ghost.toml"
    file.write_text(GHOST)

    outcome = forewarn("scenario", "play", str(file), "--virtual", *named)

    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (('phase = "Started"', 'phase = "Cancelled"'), 17),
        (('phase = "Started"', 'kind = "Preempt"\nphase = "Scheduled"'), 17),
        (('time = "2m"', 'time = "110s"'), 17),
        (('do = "restart"', 'do = "cancel"'), 12),
    ],
    ids=["nothing cancels the event", "nothing makes such an event", "too early", "nothing to cancel"],
)
def test_an_expectation_that_cannot_come_true_fails_in_the_play_with_its_line(
    file: Path, change: tuple[str, str], line: int
):
    file.write_text(SCENE.replace(*change))

    outcome = forewarn("scenario", "play", str(file), "--virtual")
    as_json = forewarn("scenario", "play", str(file), "--virtual", "--json")

    told = [each for each in map(json.loads, as_json.out.splitlines()) if each["what"] == "failed"]
    assert (outcome.code, as_json.code) == (1, 1)
    assert f"\n{file}:{line}: " in outcome.err
    assert told[0]["line"] == f"{file}:{line}"


def test_local_client_gets_404_if_no_guest_is_outside(tmp_path: Path):
    file = tmp_path / "long.toml"
    file.write_text(LONG)
    port = free_port()
    playing = Playing(
        tmp_path, str(file), "--rate", "60", "--metadata", f"127.0.0.1:{port}", "--operator", "127.0.0.1:0"
    )
    try:
        playing.wait_for("operators")

        target = "/metadata/scheduledevents?api-version=2020-07-01"
        reply = call("127.0.0.1", port, "GET", target, None, {"Metadata": "true"})
    finally:
        playing.process.send_signal(signal.SIGINT)
        playing.ends()

    assert reply.status == 404
    assert f"http://127.0.0.1:{port}/metadata/scheduledevents" in playing.out
    assert "--guest" in playing.out


def test_failed_expectation_is_shown_as_a_difference_and_exits_with_1(file: Path):
    file.write_text(SCENE.replace("incarnation = 3", "incarnation = 4"))

    outcome = forewarn("scenario", "play", str(file), "--virtual")

    assert outcome.code == 1
    assert "  0:02:00  NOT as expected: app-0: incarnation is 3, not 4\n" in outcome.out
    assert outcome.err == shown(
        "",
        f"{file}:17: app-0 at 0:02:00",
        "  incarnation  expected  4",
        "               seen      3",
        "mine: 1 not as expected, 1 as expected",
    )


def test_json_has_a_line_for_everything_that_happens(file: Path):
    outcome = forewarn("scenario", "play", str(file), "--virtual", "--json")

    lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert outcome.code == 0
    assert lines[0]["what"] == "begin"
    assert [line["what"] for line in lines[1:4]] == ["act", "event", "seen"]
    assert (lines[1]["at"], lines[1]["at_seconds"], lines[1]["line"]) == ("0:01:00", 60.0, f"{file}:12")
    assert lines[-1] == {
        "what": "end",
        "at": "0:10:00",
        "at_seconds": 600.0,
        "result": "passed",
        "held": 2,
        "failed": 0,
    }


def test_json_failure_has_what_was_expected_and_seen(file: Path):
    file.write_text(SCENE.replace("incarnation = 3", "incarnation = 4"))

    outcome = forewarn("scenario", "play", str(file), "--virtual", "--json")

    failed = [line for line in map(json.loads, outcome.out.splitlines()) if line["what"] == "failed"]
    assert outcome.code == 1
    assert [each["differences"] for each in failed] == [[{"key": "incarnation", "expected": "4", "seen": "3"}]]
    assert failed[0]["line"] == f"{file}:17"


def test_same_seed_prints_the_same_and_another_does_not(file: Path):
    def play(seed: str) -> str:
        return forewarn("scenario", "play", str(file), "--virtual", "--seed", seed).out

    assert play("1") == play("1") != play("2")


def test_ctrl_c_ends_the_play_and_prints_how_far_it_came(tmp_path: Path):
    file = tmp_path / "long.toml"
    file.write_text(LONG)
    port = free_port()
    playing = Playing(
        tmp_path, str(file), "--rate", "600", "--metadata", f"127.0.0.1:{port}", "--operator", "127.0.0.1:0"
    )
    playing.wait_for("as expected")

    playing.process.send_signal(signal.SIGINT)

    assert playing.ends() == 130
    assert playing.err.startswith("stopped at 0:")
    assert re.search(r" of 1:00:00: 1 as expected, 0 not, 1 not \w+\n\Z", playing.err)
    with socket.create_server(("127.0.0.1", port)):
        pass  # nobody listens there any more


def test_local_client_is_the_guest_outside_and_may_approve(tmp_path: Path):
    file = tmp_path / "outside.toml"
    text = SCENE.replace('every = "30s"\napprove_after = "1m"', "outside = true")
    text = text.replace('"Started"\nincarnation = 3', '"Completed"\napproved_by = "app-0"')
    file.write_text(text.replace("2m", "0:15:59").replace("10m", "16m"))
    port = free_port()
    playing = Playing(
        tmp_path, str(file), "--rate", "120", "--metadata", f"127.0.0.1:{port}", "--operator", "127.0.0.1:0"
    )
    playing.wait_for("Scheduled")

    target, header = "/metadata/scheduledevents?api-version=2020-07-01", {"Metadata": "true"}
    (event,) = call("127.0.0.1", port, "GET", target, None, header).json["Events"]
    body = json.dumps({"StartRequests": [{"EventId": event["EventId"]}]}).encode()
    call("127.0.0.1", port, "POST", target, body, header)

    assert (playing.ends(), playing.err) == (0, "")
    assert "approved by app-0" in playing.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("mine.toml", "--virtual", "--rate", "2"), 2, "--virtual and --rate"),
        (("user-rebot", "--virtual"), 2, "user-rebot"),
        (("nowhere.toml", "--virtual"), 1, "nowhere.toml"),
        (("user-reboot", "--rate", "0"), 2, "'--rate'"),
        (("user-reboot", "--rate", "nan"), 2, "nan"),
        (("user-reboot", "--rate", "1e300"), 2, "1e+300"),
        (("user-reboot", "--metadata", "here"), 2, "'here'"),
        (("user-reboot", "--virtual", "--guest", "web-9"), 2, "web-9"),
    ],
    ids=[
        "both",
        "no such scenario",
        "no such file",
        "rate 0",
        "rate nan",
        "rate too large",
        "no address",
        "no such guest",
    ],
)
def test_unusable_arguments_are_refused(arguments: tuple[str, ...], code: int, said: str):
    outcome = forewarn("scenario", "play", *arguments)

    assert (outcome.code, outcome.out) == (code, "")
    assert said in outcome.err


def test_operator_api_of_a_play_listens_on_loopback_only():
    outcome = forewarn("scenario", "play", "user-reboot", "--virtual", "--operator", "0.0.0.0:0")

    assert (outcome.code, outcome.out) == (2, "")
    assert "--operator" in outcome.err


def test_guest_outside_is_refused_with_virtual(tmp_path: Path):
    file = tmp_path / "outside.toml"
    file.write_text('[[vms]]\nname = "app-0"\n[[guests]]\nvm = "app-0"\noutside = true\n')

    outcome = forewarn("scenario", "play", str(file), "--virtual")

    assert outcome.code == 2
    assert "app-0" in outcome.err
    assert "--virtual" in outcome.err


def test_busy_port_is_reported(file: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        outcome = forewarn("scenario", "play", str(file), "--virtual", "--metadata", address)

    assert outcome.code == 1
    assert address in outcome.err
