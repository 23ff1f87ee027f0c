"""`forewarn rollout watch`: follows a rollout to its end, and leaving it stops nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.drivers.machines import Trouble
from tests.cli.command import FOREWARN, CommandLine, environment, shown
from tests.cli.conftest import command_line
from tests.cli.meanwhile import Meanwhile
from tests.cli.test_rollout import started
from tests.rollouts.bench import grid
from tests.running import RunningService, running

_NOTICE = "the notice to end at 12:15:00Z (scope set0 is off, nobody there can approve)"


@pytest.fixture
def service() -> Iterator[RunningService]:
    """Two update domains with one host each."""
    with running(grid(domains=2)) as made:
        yield made


class Watch(Meanwhile):
    """`forewarn rollout watch`, on a terminal or not."""

    def __init__(self, directory: Path, url: str, *arguments: str, columns: int = 0) -> None:
        self._out, self._err = directory / "out", directory / "err"
        self._terminal: int | None = None
        self._seen = b""
        variables = {"COLUMNS": str(columns)} if columns else {}
        with self._out.open("w") as out, self._err.open("w") as err:
            theirs = out.fileno()
            if columns:
                self._terminal, theirs = pty.openpty()
            self.process = subprocess.Popen(
                [FOREWARN, "rollout", "watch", *arguments, "--url", url],
                stdout=theirs,
                stderr=err,
                env=environment(**variables),
            )
            if columns:
                os.close(theirs)
                os.set_blocking(self._terminal, False)

    @property
    def out(self) -> str:
        """All that it has shown so far."""
        if self._terminal is None:
            return self._out.read_text()
        try:
            while block := os.read(self._terminal, 65536):
                self._seen += block
        except BlockingIOError:
            pass
        except OSError:  # how Linux says that the other side is closed
            os.close(self._terminal)
            self._terminal = None
            self._out.write_bytes(self._seen)
        return self._seen.decode()


def test_a_watched_rollout_is_told_line_by_line_until_it_ends(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    watch = Watch(tmp_path, cli.url, started(cli))
    watch.wait_for("0/2")
    service.advance(minutes=15)
    watch.wait_for("to end\n")
    service.advance(minutes=5)
    watch.wait_for("1/2")
    service.advance(hours=1)

    assert (watch.ends(), watch.err) == (0, "")
    lines = watch.out.splitlines()
    assert lines[0] == f"[{'-' * 30}] 0/2  wave 1 of 2  Running  waiting for host-0-0: {_NOTICE}"
    assert f"[{'-' * 30}] 0/2  wave 1 of 2  Running  waiting for host-0-0: the reboot of its VMs to end" in lines
    assert (
        f"[{'#' * 15}{'-' * 15}] 1/2  wave 2 of 2  Running  waiting for update domain 0 of set0 to recover until "
        "12:46:05Z (host-1-0 is announced at 12:31:05Z)"
    ) in lines
    assert lines[-1] == f"[{'#' * 30}] 2/2  Completed"


def on_screen(drawn: str) -> list[str]:
    """The lines that a terminal shows in the end."""
    lines, row = [""], 0
    for part in re.split(r"(\r\n|\r|\x1b\[A|\x1b\[J)", drawn):
        if part == "\r\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[A":
            row -= 1
        elif part == "\x1b[J":
            del lines[row + 1 :]
            lines[row] = ""
        elif part != "\r":
            lines[row] += part
    return lines


def test_on_a_terminal_a_bar_is_drawn_over_and_over_and_anew_for_another_state(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    rollout = started(cli)
    watch = Watch(tmp_path, cli.url, rollout, columns=64)
    watch.wait_for("0/2")
    service.advance(minutes=20)
    watch.wait_for("1/2")
    cli.says("rollout", "pause", rollout, "--reason", "lunch")
    watch.wait_for("lunch")
    cli.says("rollout", "resume", rollout)
    watch.wait_for("12:46:05Z")
    service.advance(hours=2)
    watch.wait_for("Completed")

    assert (watch.ends(), watch.err) == (0, "")
    half = f"[{'#' * 15}{'-' * 15}] 1/2  wave 2 of 2"
    waits = "waiting for update domain 0 of set0 to recover until 12:46:05Z …"
    lines = on_screen(watch.out)
    assert lines[:4] == [f"{half}  Running", waits[:62] + "…", f"{half}  Paused", _PAUSED]
    assert lines[-2:] == [f"[{'#' * 30}] 2/2  Completed", ""]
    assert max(map(len, lines)) <= 63


_PAUSED = "waiting for somebody to resume it: lunch"


def test_a_watch_of_a_rollout_that_failed_somewhere_ends_with_exit_1(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    service.service.machines.order("vm0-0-0", Trouble.FAILS)
    watch = Watch(tmp_path, cli.url, started(cli, "--max-failures", "1"))
    watch.wait_for("0/2")

    service.advance(days=1)

    assert watch.ends() == 1
    assert watch.out.splitlines()[-1] == f"[{'#' * 30}] 2/2, 1 failed  Failed  failed on host-0-0"


def test_a_watch_of_a_rollout_that_is_aborted_ends_with_exit_1(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    rollout = started(cli)
    watch = Watch(tmp_path, cli.url, rollout)
    watch.wait_for("0/2")

    cli.says("rollout", "abort", rollout)

    assert watch.ends() == 1
    assert watch.out.endswith("Aborted  aborted by operator\n")


def test_a_watch_of_a_rollout_that_has_ended_already_ends_at_once(service: RunningService, cli: CommandLine):
    rollout = started(cli)
    service.advance(days=1)

    assert cli.says("rollout", "watch", rollout) == f"[{'#' * 30}] 2/2  Completed\n"


def test_a_program_is_given_the_rollout_on_a_line_for_every_change(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    watch = Watch(tmp_path, cli.url, started(cli), "--json")
    watch.wait_for("hosts_done")

    service.advance(days=1)

    assert watch.ends() == 0
    told = [json.loads(line) for line in watch.out.splitlines()]
    assert (told[0]["hosts_done"], told[0]["state"]) == (0, "Running")
    assert (told[-1]["hosts_done"], told[-1]["state"]) == (2, "Completed")


@pytest.mark.parametrize("columns", [0, 80], ids=["a pipe", "a terminal"])
def test_ctrl_c_ends_the_watch_and_stops_nothing(
    service: RunningService, cli: CommandLine, tmp_path: Path, columns: int
):
    rollout = started(cli)
    watch = Watch(tmp_path, cli.url, rollout, columns=columns)
    watch.wait_for("0/2")

    watch.process.send_signal(signal.SIGINT)

    assert watch.ends() == 130
    assert watch.err == f"the rollout goes on; to stop it: forewarn rollout pause {rollout}\n"
    assert watch.out.endswith("\n")
    assert cli.json("rollout", "show", rollout)["state"] == "Running"
    service.advance(days=1)
    assert cli.json("rollout", "show", rollout)["state"] == "Completed"


def test_another_rollout_is_not_told_of(service: RunningService, cli: CommandLine, tmp_path: Path):
    watched = started(cli, "--host", "host-0-0")
    watch = Watch(tmp_path, cli.url, watched, "--json")
    watch.wait_for(watched)

    other = started(cli, "--host", "host-1-0")
    cli.says("rollout", "abort", other)
    cli.says("rollout", "abort", watched)

    assert watch.ends() == 1
    assert {json.loads(line)["id"][:8] for line in watch.out.splitlines()} == {watched}


def test_a_watch_whose_service_stops_says_how_to_go_on_and_ends_with_exit_3(tmp_path: Path):
    service = RunningService(grid(domains=2)).start()
    cli = command_line(service)
    rollout = started(cli)
    watch = Watch(tmp_path, cli.url, rollout)
    watch.wait_for("0/2")

    service.stop()

    assert (watch.ends(), watch.err) == (
        3,
        shown(
            f"error: The service at {cli.url} has ended the stream.",
            f"hint:  Once it is back: forewarn rollout watch {rollout}",
        ),
    )
