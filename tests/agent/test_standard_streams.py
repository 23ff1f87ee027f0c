"""Commands whose standard streams are closed, or have no room."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.agent.running_command import AGENT, Outcome, bare, process

AS_A_MODULE = (sys.executable, "-m", "forewarn.agent")
FULL = "/dev/full"

both = pytest.mark.parametrize("beginning", [AGENT, AS_A_MODULE], ids=["installed", "as a module"])


def redirected(beginning: tuple[str, ...], how: str, *arguments: str, unbuffered: str = "") -> Outcome:
    """Run a command as a shell does that redirects."""
    command = ["/bin/sh", "-c", f'exec "$@" {how}', "sh", *beginning, *arguments]
    return process(command, PYTHONUNBUFFERED=unbuffered)


@both
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_no_accident(beginning: tuple[str, ...], closed: str):
    shown = redirected(beginning, closed, "explain", "--type", "Reboot")

    assert (shown.code, shown.err) == (0, "")


@both
@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("explain", "--type", "Reboot")])
def test_a_result_that_there_is_no_room_for_is_a_failure_that_says_so(
    beginning: tuple[str, ...], arguments: tuple[str, ...]
):
    shown = redirected(beginning, f">{FULL}", *arguments)

    assert (shown.code, shown.err) == (1, "error: The result cannot be written: No space left on device.\n")


@both
def test_help_that_there_is_no_room_for_is_a_failure_also_without_a_buffer(beginning: tuple[str, ...]):
    shown = redirected(beginning, f">{FULL}", "--help", unbuffered="1")

    assert (shown.code, shown.err) == (1, "error: The result cannot be written: No space left on device.\n")


@both
def test_a_complaint_that_there_is_no_room_for_changes_no_exit_code(beginning: tuple[str, ...]):
    shown = redirected(beginning, f"2>{FULL}", "approve")

    assert (shown.code, shown.out) == (2, "")


@both
def test_a_reader_that_has_seen_enough_is_no_failure(beginning: tuple[str, ...]):
    command = [*beginning, "explain", "--type", "Reboot"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=bare()) as running:
        assert running.stdout is not None
        running.stdout.close()
        _, err = running.communicate(timeout=60)

    assert (running.returncode, err) == (0, b"")
